/* A set of strings of a trace. */
#ifndef CGTRACE_ANALYZER_PLANES_STRING_SET_H
#define CGTRACE_ANALYZER_PLANES_STRING_SET_H

#include <stdlib.h>

#include "analyzer/trace/trace.h"

/* One bit for each. */
struct string_set {
    uint64_t *bits;
};
/* Empty; false when memory is short. */
static inline bool string_set_make(struct string_set *set, const struct cg_trace *trace)
{
    set->bits = calloc((size_t)trace_string_count(trace) / 64 + 1, sizeof *set->bits);
    return set->bits != NULL;
}
static inline void string_set_free(struct string_set *set)
{
    free(set->bits);
}
static inline bool string_set_has(const struct string_set *set, cg_str string)
{
    return set->bits[string / 64] >> string % 64 & 1;
}
/* Was it new? */
static inline bool string_set_add(struct string_set *set, cg_str string)
{
    bool had = string_set_has(set, string);
    set->bits[string / 64] |= (uint64_t)1 << string % 64;
    return !had;
}

#endif
