/* The page's table of names: only what the page shows is in it, numbered in the order of first use. */
#ifndef CGTRACE_ANALYZER_VIEWER_NAMES_H
#define CGTRACE_ANALYZER_VIEWER_NAMES_H

#include "analyzer/viewer/parts.h"

/* Longer names are cut at a character's border; the page says so and uses them as prefixes. */
enum { NAME_BYTES_MAX = 4096 };

struct names {
    const struct cg_trace *trace;
    uint32_t *number; /* by string: place in order + 1; 0: not used; a block: few are used */
    cg_str *order;
    size_t count, capacity;
};

/* False when memory is short; names_free() takes it then too. */
bool names_start(struct names *names, const struct cg_trace *trace);
void names_free(struct names *names);
/* The number of a name, from 1; 0 for CG_ABSENT, and when memory is short (names->order is NULL then). */
uint32_t names_use(struct names *names, cg_str string);
/* The number of a name that is in use already; 0: it is not. Changes nothing. */
static inline uint32_t names_number(const struct names *names, cg_str string)
{
    return names->number[string];
}
/* Forgets the names from number count + 1 on. */
void names_cut(struct names *names, size_t count);
/* The part "names": columns of front-coded texts and of whether each was cut. */
bool names_pack(const struct names *names, struct parts *parts);

/* At most `most` bytes of a text, cut at a character's border. */
struct cg_text text_beginning(struct cg_text text, size_t most);

#endif
