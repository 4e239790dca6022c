/* Which storages are alive at a time: found without looking at those that have long ended. */
#ifndef CGTRACE_ANALYZER_PLANES_LIVE_INDEX_H
#define CGTRACE_ANALYZER_PLANES_LIVE_INDEX_H

#include "analyzer/planes/planes.h"

/* The latest end within each block of lifetimes, and within each block of such blocks. */
struct live_index {
    const struct cg_trace *trace;
    const struct logical_memory *memory;
    uint64_t *block_end, *group_end;
};

/* Linear. False when memory is short. */
bool live_index_make(const struct cg_trace *trace, const struct logical_memory *memory,
                     struct live_index *index);
void live_index_free(struct live_index *index);

/* The lifetimes on the device that are alive once everything up to this time has happened, in their order.
 * *lifetimes is the caller's to free. False when memory is short. */
bool live_index_find(const struct live_index *index, cg_str device, uint64_t time, uint32_t **lifetimes,
                     size_t *count);

#endif
