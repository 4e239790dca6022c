/* The graph of a complete and valid trace: candle-graph/graph/5 (doc/spec/evidence.md 1 to 3).
 *
 * Nodes have numbers in emission order: spans (their rows), then ops (span rows + op row), then tensors by
 * id. Nothing is kept per node but what cannot be looked up in the trace: a span costs 16 bytes, an op 4. */
#ifndef CGTRACE_ANALYZER_EVIDENCE_GRAPH_H
#define CGTRACE_ANALYZER_EVIDENCE_GRAPH_H

#include "analyzer/planes/planes.h"

#define GRAPH_SUMMARY_ROWS 8

enum node_kind { NODE_ROOT, NODE_FUNCTION, NODE_MODULE, NODE_OP, NODE_TENSOR };
extern const char *const node_kind_name[];

struct graph_tensor {
    cg_str id;
    uint32_t event; /* row of the first tensor event; CG_NONE when only ops name it */
};

/* An edge between nodes. explicit_row is the row of trace->edge that gave it, CG_NONE when it was derived:
 * then its duration and label follow from its ends. */
struct graph_edge {
    uint32_t from, to;
    uint32_t explicit_row;
};

enum host_scope { SCOPE_MEASURED_SUBTREE, SCOPE_CONCURRENT_OVERLAP };
extern const char *const host_scope_name[];

struct host_cost {
    uint32_t span; /* row, and number of its node */
    enum host_scope scope;
    uint64_t self_ns, overlap_self_ns, full_ns, overlap_ns;
};
struct device_cost {
    uint32_t span;
    uint32_t timing; /* row of timing.spans: device, clock, busy time */
};

struct graph {
    uint32_t span_count, op_count;
    uint32_t tensor_node_count; /* distinct ids */
    uint32_t measured;          /* row of the measured span */
    uint64_t *effective_ns;     /* by span: effective duration (1.3) */
    uint64_t *self_ns;          /* by span: self time (1.4) */
    struct node_memory memory;

    struct host_cost host[GRAPH_SUMMARY_ROWS];
    struct device_cost device[GRAPH_SUMMARY_ROWS];
    uint32_t heaviest[GRAPH_SUMMARY_ROWS]; /* spans */
    size_t host_count, device_count, heaviest_count;

    /* graph_list() only. */
    uint32_t *op_index; /* by op: among the ops of its span, from 0 */
    struct graph_tensor *tensors;
    struct graph_edge *edges; /* sorted by ids of from and to, calls before data */
    size_t edge_count;
};

/* Durations, metrics and summary. The trace must be complete and valid. *memory, the metrics of its nodes, is
 * taken over, whatever the result, and left empty. CG_EXIT_INPUT when two nodes have the same id, CG_EXIT_IO
 * when memory is short. */
int graph_make(const struct cg_trace *trace, const struct timing *timing, struct node_memory *memory,
               struct graph *graph, struct cg_error *error);
/* Counts the tensors of a graph that was not made here: graph_list() relies on their number. False when
 * memory is short. */
bool graph_count_tensors(const struct cg_trace *trace, struct graph *graph);
/* What nodes and edges need beyond that; edges only when asked for. False when memory is short. */
bool graph_list(const struct cg_trace *trace, struct graph *graph, bool edges);
void graph_free(struct graph *graph);

static inline uint64_t graph_node_count(const struct graph *graph)
{
    return (uint64_t)graph->span_count + graph->op_count + graph->tensor_node_count;
}
enum node_kind graph_node_kind(const struct cg_trace *trace, const struct graph *graph, uint32_t node);
/* The name of a node (needs graph_list() for tensors). */
struct cg_text graph_node_name(const struct cg_trace *trace, const struct graph *graph, uint32_t node);
/* Byte order of the ids of two nodes (needs graph_list() for ops and tensors). */
int graph_node_compare(const struct cg_trace *trace, const struct graph *graph, uint32_t a, uint32_t b);
/* Rows of timing.spans of a span: the first, and how many. */
struct cg_list graph_device_timings(const struct cg_trace *trace, const struct timing *timing, uint32_t span);

/* Length of a decimal "/op/<index>" and its text; ids of op nodes are the span's id with this behind. */
#define GRAPH_OP_SUFFIX_SIZE 16
size_t graph_op_suffix(char suffix[GRAPH_OP_SUFFIX_SIZE], uint32_t op_index);

#endif
