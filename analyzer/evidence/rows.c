/* The packet's lists by row, for filters, pages and rankings. */
#include <stdlib.h>

#include "analyzer/evidence/evidence_private.h"

uint64_t evidence_rows(const struct evidence *evidence, enum evidence_list list)
{
    if (evidence->stored) return stored_rows(evidence, list);
    const struct cg_trace *trace = evidence->trace;
    if (list == LIST_TENSOR_STATS) return trace->tensor_stats.rows;
    if (!evidence->has_graph) return 0;
    switch (list) {
    case LIST_NODES:
        return graph_node_count(&evidence->graph);
    case LIST_EDGES:
        return evidence->graph.edge_count;
    case LIST_TENSORS:
        return trace->tensor.rows;
    default:
        return trace->gradient.rows;
    }
}

static struct cg_text stored_label(const struct evidence *evidence, enum evidence_list list, uint64_t row)
{
    static const char *const members[] = {[LIST_NODES] = "name",
                                          [LIST_EDGES] = "",
                                          [LIST_TENSORS] = "label",
                                          [LIST_GRADIENTS] = "key",
                                          [LIST_TENSOR_STATS] = "label"};
    struct cg_text label = stored_row_text(evidence, list, row, members[list]);
    if (!label.bytes && list == LIST_TENSORS) label = stored_row_text(evidence, list, row, "tensor_id");
    return label;
}

struct cg_text evidence_row_label(const struct evidence *evidence, enum evidence_list list, uint64_t row)
{
    if (evidence->stored) return stored_label(evidence, list, row);
    const struct cg_trace *trace = evidence->trace;
    switch (list) {
    case LIST_NODES:
        return graph_node_name(trace, &evidence->graph, (uint32_t)row);
    case LIST_TENSORS: {
        cg_str label = trace->tensor.label[row];
        return trace_text(trace, label == CG_ABSENT ? trace->tensor.tensor_id[row] : label);
    }
    case LIST_TENSOR_STATS:
        return trace_text(trace, trace->tensor_stats.label[row]);
    case LIST_GRADIENTS:
        return trace_text(trace, trace->gradient.key[row]);
    default:
        return trace_text(trace, CG_ABSENT);
    }
}

struct cg_text evidence_gradient_root(const struct evidence *evidence, uint64_t row)
{
    if (evidence->stored) return stored_row_text(evidence, LIST_GRADIENTS, row, "root");
    return trace_text(evidence->trace, evidence->trace->gradient.root[row]);
}

uint64_t evidence_non_finite_events(const struct evidence *evidence)
{
    uint64_t rows = evidence_rows(evidence, LIST_TENSOR_STATS), count = 0, non_finite;
    for (uint64_t row = 0; row < rows; row++) {
        if (!evidence->stored)
            non_finite = evidence->trace->tensor_stats.non_finite[row];
        else if (!stored_row_u64(evidence, LIST_TENSOR_STATS, row, "non_finite", &non_finite))
            non_finite = 0;
        count += non_finite > 0;
    }
    return count;
}

/* ---- heaviest ops ---- */

/* Allocated bytes of a node of kind op: a span of kind op or an op event. */
static bool op_bytes(const struct evidence *evidence, uint32_t node, uint64_t *bytes)
{
    if (evidence->stored) {
        struct cg_text kind = stored_row_text(evidence, LIST_NODES, node, "kind");
        return stored_row_u64(evidence, LIST_NODES, node, "allocated_bytes", bytes) &&
               text_compare(kind, text_of("op")) == 0;
    }
    const struct graph *graph = &evidence->graph;
    const struct node_memory *memory = &graph->memory;
    if (node < graph->span_count) {
        *bytes = memory->allocated_bytes[node];
        return memory->allocated_set[node] && graph_node_kind(evidence->trace, graph, node) == NODE_OP;
    }
    *bytes = memory->op_allocated_bytes[node - graph->span_count];
    return memory->op_allocated_set[node - graph->span_count];
}

/* Does a stand before b? */
static bool heavier(const struct evidence *evidence, uint32_t a, uint32_t b)
{
    uint64_t bytes_a, bytes_b;
    op_bytes(evidence, a, &bytes_a);
    op_bytes(evidence, b, &bytes_b);
    if (bytes_a != bytes_b) return bytes_a > bytes_b;
    if (evidence->stored)
        return text_compare(stored_row_text(evidence, LIST_NODES, a, "id"),
                            stored_row_text(evidence, LIST_NODES, b, "id")) < 0;
    return graph_node_compare(evidence->trace, &evidence->graph, a, b) < 0;
}

/* Lets the node at place sink below heavier ones: the root of the heap is the lightest that is kept. */
static void sift_down(const struct evidence *evidence, uint32_t *heap, size_t count, size_t place)
{
    for (;;) {
        size_t child = 2 * place + 1;
        if (child >= count) return;
        if (child + 1 < count && heavier(evidence, heap[child], heap[child + 1])) child++;
        if (!heavier(evidence, heap[place], heap[child])) return;
        uint32_t node = heap[place];
        heap[place] = heap[child];
        heap[child] = node;
        place = child;
    }
}

size_t evidence_heaviest_ops(const struct evidence *evidence, uint32_t *nodes, size_t room, uint64_t *total)
{
    const struct graph *graph = &evidence->graph;
    size_t count = 0;
    uint64_t bytes;
    *total = 0;
    for (uint32_t node = 0; node < graph->span_count + graph->op_count; node++) {
        if (!op_bytes(evidence, node, &bytes)) continue;
        ++*total;
        if (count < room) {
            nodes[count++] = node;
            if (count == room)
                for (size_t place = room / 2; place-- > 0;)
                    sift_down(evidence, nodes, count, place);
        } else if (room && heavier(evidence, node, nodes[0])) {
            nodes[0] = node;
            sift_down(evidence, nodes, count, 0);
        }
    }
    for (size_t place = count / 2; count < room && place-- > 0;)
        sift_down(evidence, nodes, count, place);
    for (size_t left = count; left > 1; left--) {
        uint32_t lightest = nodes[0];
        nodes[0] = nodes[left - 1];
        nodes[left - 1] = lightest;
        sift_down(evidence, nodes, left - 1, 0);
    }
    return count;
}
