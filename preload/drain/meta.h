/* The first line of a trace. Its place is kept while recording; it is written last, when what it says is
 * known. */
#ifndef CGTRACE_PRELOAD_DRAIN_META_H
#define CGTRACE_PRELOAD_DRAIN_META_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/event_table.h"

enum { META_RESERVE = 8192 }; /* room for what is not known yet when the session opens */

/* The contract's levels, from the event table: those of its members whose values are levels. */
#define META_LEVEL_SCOPE(id)
#define META_LEVEL_GRADIENT_CONTRACT(id)
#define META_LEVEL_NONE(id)
#define META_LEVEL_COVERAGE(id)                                 META_##id,
#define META_LEVEL(id, wire, type, presence, argument, meaning) META_LEVEL_##argument(id)
enum meta_level { CG_CONTRACT_FIELDS(META_LEVEL) META_LEVELS };

struct meta_settled {
    enum cg_value_PHASE phase;
    uint32_t first_device; /* 1 + ordinal; 0: none was used */
    bool synchronised;     /* at both ends of the region */
    bool names;            /* those that the program gave are written too; they are frozen then */
    /* What was seen; and the limit of those that nobody has declared. */
    enum cg_value_COVERAGE seen[META_LEVELS], undeclared[META_LEVELS];
};

/* Reads the files that CGTRACE_IDENTITY and CGTRACE_CONTRACT name. NULL, or what is wrong with which: one
 * line. */
const char *meta_read_files(char *error, size_t error_size);
/* Size that meta_write() needs at most. */
size_t meta_bound(void);
/* The object, without an end of line; returns the cursor behind it. */
char *meta_write(char *out, const struct meta_settled *settled);

#endif
