/* The edges of the graph (doc/spec/evidence.md 1.6), in time linear in nodes and edges but for the sorting
 * of ids that are out of order.
 *
 * The graph is that of a valid trace, which decides most of the "appended only if new": explicit calls are
 * between a span and its parent, so only they can repeat the derived call of a span; explicit data edges
 * join tensors, derived ones a tensor and an op, so only an op that names an input twice repeats one. */
#include <stdlib.h>
#include <string.h>

#include "analyzer/evidence/graph.h"
#include "analyzer/evidence/graph_private.h"

struct maker {
    const struct cg_trace *trace;
    struct graph *graph;
    const struct span_ops *ops;
    uint32_t *tensor_node; /* by string number */
    uint32_t *rank;        /* by node: place in the byte order of the ids */
};

/* ---- order of the ids ---- */

struct comparison {
    const struct cg_trace *trace;
    const struct graph *graph;
};

static int compare_nodes(const void *a, const void *b, void *context)
{
    const struct comparison *comparison = context;
    return graph_node_compare(comparison->trace, comparison->graph, *(const uint32_t *)a,
                              *(const uint32_t *)b);
}

/* The decimal after number in byte order (0 1 10 11 2 ...), of those below limit. */
static uint32_t next_decimal(uint32_t number, uint32_t limit)
{
    if (number > 0 && (uint64_t)number * 10 < limit) return number * 10;
    while (number % 10 == 9 || number + 1 >= limit)
        number /= 10;
    return number + 1;
}

/* Op nodes by id: by span and decimal, which is nearly always the order of the ids, else sorted. */
static void order_ops(const struct maker *maker, uint32_t *nodes)
{
    const struct graph *graph = maker->graph;
    uint32_t count = 0;
    for (uint32_t span = 0; span < graph->span_count; span++) {
        uint32_t first = maker->ops->first[span], ops = maker->ops->first[span + 1] - first;
        for (uint32_t k = 0, place = 0; place < ops; place++) {
            nodes[count++] = graph->span_count + maker->ops->op[first + k];
            if (place + 1 < ops) k = next_decimal(k, ops);
        }
    }
    struct comparison comparison = {maker->trace, graph};
    for (uint32_t i = 1; i < count; i++)
        if (compare_nodes(&nodes[i - 1], &nodes[i], &comparison) > 0) {
            qsort_r(nodes, count, sizeof *nodes, compare_nodes, &comparison);
            return;
        }
}

/* Merges spans, ops and tensors, each in order already. */
static bool order_nodes(struct maker *maker)
{
    const struct graph *graph = maker->graph;
    uint32_t spans = graph->span_count, nodes = (uint32_t)graph_node_count(graph);
    uint32_t *ops = malloc(((size_t)graph->op_count + 1) * sizeof *ops);
    if (!ops) return false;
    order_ops(maker, ops);
    uint32_t span = 0, op = 0, tensor = spans + graph->op_count;
    for (uint32_t place = 0; place < nodes; place++) {
        uint32_t least = span < spans ? span : CG_NONE;
        if (op < graph->op_count &&
            (least == CG_NONE || graph_node_compare(maker->trace, graph, ops[op], least) < 0))
            least = ops[op];
        if (tensor < nodes &&
            (least == CG_NONE || graph_node_compare(maker->trace, graph, tensor, least) < 0))
            least = tensor;
        maker->rank[least] = place;
        span += least < spans;
        op += least >= spans && least < spans + graph->op_count;
        tensor += least >= spans + graph->op_count;
    }
    free(ops);
    return true;
}

/* ---- building ---- */

static void add(struct graph *graph, uint32_t from, uint32_t to, uint32_t explicit_row)
{
    graph->edges[graph->edge_count++] = (struct graph_edge){from, to, explicit_row};
}

/* called: by span, set where an explicit call leads to it. */
static void add_calls(const struct maker *maker, uint8_t *called)
{
    const struct cg_trace *trace = maker->trace;
    struct graph *graph = maker->graph;
    for (size_t i = 0; i < trace->edge.rows; i++) {
        if (trace->edge.edge_kind[i] == CG_EDGE_KIND_DATA) {
            add(graph, maker->tensor_node[trace->edge.from_tensor[i]],
                maker->tensor_node[trace->edge.to_tensor[i]], (uint32_t)i);
            continue;
        }
        uint32_t to = trace_span(trace, trace->edge.to_span[i]);
        called[to] = 1;
        add(graph, trace_span(trace, trace->edge.from_span[i]), to, (uint32_t)i);
    }
    for (uint32_t span = 0; span < graph->span_count; span++)
        if (trace->span.parent[span] != CG_NONE && !called[span] &&
            graph_node_kind(trace, graph, span) != NODE_OP)
            add(graph, trace->span.parent[span], span, CG_NONE);
}

/* last_reader: by tensor node, the op that last read it. */
static void add_ops(const struct maker *maker, uint32_t *last_reader)
{
    const struct cg_trace *trace = maker->trace;
    struct graph *graph = maker->graph;
    uint32_t first_tensor = graph->span_count + graph->op_count;
    for (uint32_t op = 0; op < graph->op_count; op++) {
        uint32_t node = graph->span_count + op;
        add(graph, trace_span(trace, trace->op.span_id[op]), node, CG_NONE);
        struct cg_list inputs = trace->op.inputs[op];
        for (uint32_t k = 0; k < inputs.count; k++) {
            uint32_t tensor = maker->tensor_node[trace->str_pool[inputs.first + k]];
            if (last_reader[tensor - first_tensor] == op) continue;
            last_reader[tensor - first_tensor] = op;
            add(graph, tensor, node, CG_NONE);
        }
        if (trace->op.output[op] != CG_ABSENT)
            add(graph, node, maker->tensor_node[trace->op.output[op]], CG_NONE);
    }
}

static bool build(const struct maker *maker)
{
    struct graph *graph = maker->graph;
    size_t most = maker->trace->edge.rows + graph->span_count + 2 * (size_t)graph->op_count;
    for (uint32_t op = 0; op < graph->op_count; op++)
        most += maker->trace->op.inputs[op].count;
    graph->edges = malloc((most + 1) * sizeof *graph->edges);
    uint8_t *called = calloc((size_t)graph->span_count + 1, 1);
    uint32_t *last_reader = malloc(((size_t)graph->tensor_node_count + 1) * sizeof *last_reader);
    bool enough = graph->edges && called && last_reader && most < CG_NONE;
    if (enough) {
        memset(last_reader, 0xff, ((size_t)graph->tensor_node_count + 1) * sizeof *last_reader);
        add_calls(maker, called);
        add_ops(maker, last_reader);
    }
    free(called);
    free(last_reader);
    return enough;
}

/* ---- sorting ---- */

/* One pass of a counting sort by the rank of an end; keeps the order of equal ones. place has room for one
 * counter for each node. */
static void sort_pass(const struct maker *maker, const struct graph_edge *from, struct graph_edge *to,
                      uint32_t *place, bool by_from)
{
    size_t count = maker->graph->edge_count;
    uint32_t nodes = (uint32_t)graph_node_count(maker->graph), sum = 0;
    memset(place, 0, nodes * sizeof *place);
    for (size_t i = 0; i < count; i++)
        place[maker->rank[by_from ? from[i].from : from[i].to]]++;
    for (uint32_t n = 0; n < nodes; n++) {
        uint32_t here = place[n];
        place[n] = sum;
        sum += here;
    }
    for (size_t i = 0; i < count; i++)
        to[place[maker->rank[by_from ? from[i].from : from[i].to]]++] = from[i];
}

/* By (from, to). Two edges with the same ends are of one kind, as the ends decide it. */
static bool sort_edges(const struct maker *maker)
{
    struct graph *graph = maker->graph;
    struct graph_edge *other = malloc((graph->edge_count + 1) * sizeof *other);
    uint32_t *place = malloc(((size_t)graph_node_count(graph) + 1) * sizeof *place);
    bool enough = other && place;
    if (enough) {
        sort_pass(maker, graph->edges, other, place, false);
        sort_pass(maker, other, graph->edges, place, true);
    }
    free(other);
    free(place);
    return enough;
}

bool graph_edges_make(const struct cg_trace *trace, struct graph *graph, const struct span_ops *ops)
{
    struct maker maker = {.trace = trace, .graph = graph, .ops = ops};
    size_t nodes = graph_node_count(graph);
    maker.tensor_node = malloc(((size_t)trace_string_count(trace) + 1) * sizeof *maker.tensor_node);
    maker.rank = malloc((nodes + 1) * sizeof *maker.rank);
    bool enough = maker.tensor_node && maker.rank;
    if (enough) {
        for (uint32_t t = 0; t < graph->tensor_node_count; t++)
            maker.tensor_node[graph->tensors[t].id] = graph->span_count + graph->op_count + t;
        enough = order_nodes(&maker) && build(&maker) && sort_edges(&maker);
    }
    free(maker.tensor_node);
    free(maker.rank);
    return enough;
}
