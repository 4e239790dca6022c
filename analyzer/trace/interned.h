/* What the records of a trace share: strings and lists of numbers, each once, and lists of strings. */
#ifndef CGTRACE_ANALYZER_TRACE_INTERNED_H
#define CGTRACE_ANALYZER_TRACE_INTERNED_H

#include "analyzer/trace/strings.h"

struct interned {
    struct cg_strings *strings; /* not owned */
    uint64_t *u64_pool;         /* equal lists are there once */
    size_t u64_count, u64_capacity;
    cg_str *str_pool;
    size_t str_count, str_capacity;
    struct cg_list *lists; /* open addressing over the lists of u64_pool; count 0 is free */
    size_t list_count, list_mask;
};

/* False when memory is short; interned_free() frees what was made. */
bool interned_init(struct interned *interned, struct cg_strings *strings);
void interned_free(struct interned *interned);
/* The pools are the trace's from now on. */
void interned_give(struct interned *interned, struct cg_trace *trace);

/* The place of a list with these numbers in u64_pool, new if need be; an empty list is {0, 0}. False when
 * memory is short or 2^32-1 numbers are there. */
bool interned_numbers(struct interned *interned, const uint64_t *numbers, size_t count, struct cg_list *list);
/* Room for that many strings at str_pool[str_count]; false like interned_numbers(). */
bool interned_reserve(struct interned *interned, size_t count);

#endif
