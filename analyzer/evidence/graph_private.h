/* Shared by the files of the graph. */
#ifndef CGTRACE_ANALYZER_EVIDENCE_GRAPH_PRIVATE_H
#define CGTRACE_ANALYZER_EVIDENCE_GRAPH_PRIVATE_H

#include "analyzer/evidence/graph.h"

/* Ops by span: those of span s are op[first[s]] .. op[first[s + 1] - 1], in file order, so that the index of
 * an op among those of its span is its place there. Every op's span must be known. */
struct span_ops {
    uint32_t *first, *op;
};
bool span_ops_make(const struct cg_trace *trace, struct span_ops *ops);
void span_ops_free(struct span_ops *ops);

/* Counts the tensor nodes and refuses two nodes of the same id (doc/spec/evidence.md 1.2). */
int graph_check_ids(const struct cg_trace *trace, const struct span_ops *ops, uint32_t *tensor_node_count,
                    struct cg_error *error);

/* Fills graph->edges; graph_list() has made the rest. */
bool graph_edges_make(const struct cg_trace *trace, struct graph *graph, const struct span_ops *ops);

/* Calls visit for every mention of a tensor that makes a node: tensor events (event is their row), then the
 * inputs and outputs of ops (event is CG_NONE). */
void graph_each_tensor(const struct cg_trace *trace, void (*visit)(void *context, cg_str id, uint32_t event),
                       void *context);

#endif
