/* Live bytes by what storages have in common: the span that allocated, the call, the call site (the frame
 * that made the call). */
#ifndef CGTRACE_ANALYZER_VIEWER_GROUPS_H
#define CGTRACE_ANALYZER_VIEWER_GROUPS_H

#include "analyzer/planes/planes.h"

enum grouping { BY_SPAN, BY_CALL, BY_SITE, BY_CATEGORY, GROUPING_COUNT };

struct group {
    uint32_t key;      /* string of a span or call, number of a frame + 1, value of a category + 1; 0: none */
    uint64_t bytes;    /* at the peak */
    uint64_t storages; /* at the peak */
    uint64_t allocated_bytes, allocations; /* over the whole run */
};
struct groups {
    struct group *list; /* by bytes at the peak, then allocated bytes, descending; then byte order */
    size_t count, room;
    uint32_t *place; /* by key: place in list + 1; 0: no group; a block: of many keys few are met */
};

/* The key by which a storage is grouped. */
uint32_t storage_key(const struct cg_trace *trace, enum grouping grouping, uint32_t memory_row);
/* The groups of every grouping. False when memory is short; groups_free() takes each then too. */
bool groups_make(const struct cg_trace *trace, const struct logical_memory *logical,
                 struct groups groups[GROUPING_COUNT]);
void groups_free(struct groups *groups);

#endif
