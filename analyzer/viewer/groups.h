/* Live bytes by a name that storages have: the span that allocated, or the call. */
#ifndef CGTRACE_ANALYZER_VIEWER_GROUPS_H
#define CGTRACE_ANALYZER_VIEWER_GROUPS_H

#include "analyzer/planes/planes.h"

enum grouping { BY_SPAN, BY_CALL, BY_CATEGORY, GROUPING_COUNT };

struct group {
    cg_str name;       /* CG_ABSENT: no name was recorded; for categories the enum's value + 1 */
    uint64_t bytes;    /* at the peak */
    uint64_t storages; /* at the peak */
    uint64_t allocated_bytes, allocations; /* over the whole run */
};
struct groups {
    struct group *list; /* by bytes at the peak, then allocated bytes, descending; then byte order */
    size_t count;
    uint32_t *place; /* by string: place in list + 1; 0: no group */
};

/* The name by which a storage is grouped. */
cg_str storage_name(const struct cg_trace *trace, enum grouping grouping, uint32_t memory_row);
bool groups_make(const struct cg_trace *trace, const struct logical_memory *logical, enum grouping grouping,
                 struct groups *groups);
void groups_free(struct groups *groups);

#endif
