/* Sums by path: every span's path of names, with its operations as leaves; and the call stacks of operations
 * and storages. What the flame graphs and the callers and callees of a name come from; exact for the whole
 * trace. */
#ifndef CGTRACE_ANALYZER_VIEWER_TREE_H
#define CGTRACE_ANALYZER_VIEWER_TREE_H

#include "analyzer/planes/planes.h"
#include "analyzer/viewer/names.h"
#include "analyzer/viewer/slices.h"

/* Paths beyond this many count for the one above them. */
enum { TREE_NODES_MAX = 60000 };

struct tree_node {
    uint32_t parent; /* number; the root is 0, its own parent */
    uint32_t name;   /* a string; of call stacks the number of a frame + 1 */
    uint64_t count, total_ns, self_ns;
    uint64_t allocations, bytes, peak_bytes; /* allocated here; of them alive at the peak */
};
struct tree {
    struct tree_node *nodes; /* a parent comes before its children */
    size_t count;
    uint64_t merged; /* spans and operations that count for the node above */
};

bool tree_make(const struct cg_trace *trace, const struct slices *slices,
               const struct logical_memory *logical, struct tree *tree);
/* The same of the call stacks of operations and storages; a root alone when the trace has none. */
bool stack_tree_make(const struct cg_trace *trace, const struct logical_memory *logical, struct tree *tree);
void tree_free(struct tree *tree);
/* The part "tree". */
bool tree_pack(const struct tree *tree, struct names *names, struct parts *parts);
/* The parts "stacks" and "frames", when there are stacks. */
bool stack_tree_pack(const struct cg_trace *trace, const struct tree *tree, struct parts *parts);

#endif
