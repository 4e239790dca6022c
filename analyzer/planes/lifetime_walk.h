/* The sweep of doc/spec/planes.md 4.3 for spans with many lifetimes, by walking over the memory records in
 * the order of their times: quickest where the spans with many lifetimes do not lie deep in one another, as
 * mostly. Bytes are summed exactly, in 64 bits: a walk is for runs that allocate less than that in all. */
#ifndef CGTRACE_ANALYZER_PLANES_LIFETIME_WALK_H
#define CGTRACE_ANALYZER_PLANES_LIFETIME_WALK_H

#include "analyzer/planes/lifetime_tree.h"

struct lifetime_walk {
    const struct cg_trace *trace;
    const struct logical_memory *memory;
    /* By row of trace->memory: the place in preorder of the span whose storage the record begins or ends;
     * CG_NONE: it does neither, or the span is on no root. */
    uint32_t *place;
};

/* A span's subtree: places from first up to, not with, last, and the lifetimes of their storages. */
struct lifetime_subtree {
    uint32_t first, last;
    const uint32_t *lifetimes;
    size_t count;
};

/* Can the walk be used? All bytes that are allocated must have a sum of 64 bits, and a record that frees must
 * have the bytes of its storage. */
static inline bool lifetime_walk_holds(const struct logical_memory *memory)
{
    return memory->total_allocated_bytes < UINT64_MAX && memory->frees_alike;
}

/* How many records and lifetimes the sweep over [start, end) looks at. */
uint64_t lifetime_walk_cost(const struct lifetime_walk *walk, const struct lifetime_subtree *subtree,
                            uint64_t start, uint64_t end);
/* The sweep over [start, end), start < end. */
struct lifetime_sweep lifetime_walk_sweep(const struct lifetime_walk *walk,
                                          const struct lifetime_subtree *subtree, uint64_t start,
                                          uint64_t end);

#endif
