/* A segment tree over the times of memory records that holds a changing set of lifetimes and answers the
 * sweep of doc/spec/planes.md 4.3 for any interval in logarithmic time, by the maps of 4.4.
 *
 * Sums of bytes are exact, so the saturating additions of 4.3 need no map: until the first one that acts the
 * values are equal, and from it on the peak is 2^64-1, as the exact peak, clamped, is too. */
#ifndef CGTRACE_ANALYZER_PLANES_LIFETIME_TREE_H
#define CGTRACE_ANALYZER_PLANES_LIFETIME_TREE_H

#include "analyzer/planes/planes.h"

/* Exact sums of bytes by leaf. */
struct leaf_sums {
    uint64_t *low;
    uint32_t *high; /* what is beyond 64 bits; NULL where the bytes of all lifetimes stay within them */
};

/* A leaf is a point of the timeline: a distinct time of memory records, ascending. The one after the last
 * stands for 2^64-1, the end of what never ends. */
struct lifetime_tree {
    const struct cg_trace *trace;
    const struct logical_memory *memory;
    uint32_t *place; /* of the first record of each point, in time order; NULL when each has one */
    uint32_t *start_leaf, *end_leaf; /* by lifetime */
    struct leaf_sums added, freed;   /* by leaf, of the lifetimes in the set */
    struct leaf_sums instant;    /* the part of both whose start is its end; low is NULL when there is none */
    struct lifetime_node *nodes; /* an implicit binary tree over blocks of leaves; 1 is the root */
    size_t blocks;               /* a power of two */
};

/* An empty set. False when memory is short. */
bool lifetime_tree_make(struct lifetime_tree *tree, const struct cg_trace *trace,
                        const struct logical_memory *memory);
void lifetime_tree_free(struct lifetime_tree *tree);
/* Puts lifetimes that are not in the set into it, or takes out those that are. */
void lifetime_tree_add(struct lifetime_tree *tree, const uint32_t *lifetimes, size_t count);
void lifetime_tree_remove(struct lifetime_tree *tree, const uint32_t *lifetimes, size_t count);

struct lifetime_sweep {
    uint64_t peak, residual;
};
/* The sweep over [start, end), start < end, of the lifetimes in the set. */
struct lifetime_sweep lifetime_tree_sweep(const struct lifetime_tree *tree, uint64_t start, uint64_t end);

/* The same without a tree for at most LIFETIME_FEW lifetimes, step by step as 4.3 has it. */
#define LIFETIME_FEW 32
struct lifetime_sweep lifetime_sweep_few(const struct cg_trace *trace, const struct logical_memory *memory,
                                         const uint32_t *lifetimes, size_t count, uint64_t start,
                                         uint64_t end);

#endif
