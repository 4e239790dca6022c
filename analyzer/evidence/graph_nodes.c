/* Identity of nodes: ids, their order, and that no two are the same. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/evidence/graph.h"
#include "analyzer/evidence/graph_private.h"
#include "analyzer/evidence/text.h"

static const char tensor_prefix[] = "tensor/";
#define TENSOR_PREFIX_LENGTH (sizeof tensor_prefix - 1)
static const char op_mark[] = "/op/";
#define OP_MARK_LENGTH (sizeof op_mark - 1)

size_t graph_op_suffix(char suffix[GRAPH_OP_SUFFIX_SIZE], uint32_t op_index)
{
    return (size_t)snprintf(suffix, GRAPH_OP_SUFFIX_SIZE, "/op/%u", op_index);
}

void graph_each_tensor(const struct cg_trace *trace, void (*visit)(void *context, cg_str id, uint32_t event),
                       void *context)
{
    for (size_t i = 0; i < trace->tensor.rows; i++)
        visit(context, trace->tensor.tensor_id[i], (uint32_t)i);
    for (size_t i = 0; i < trace->op.rows; i++) {
        struct cg_list inputs = trace->op.inputs[i];
        for (uint32_t k = 0; k < inputs.count; k++)
            visit(context, trace->str_pool[inputs.first + k], CG_NONE);
        if (trace->op.output[i] != CG_ABSENT) visit(context, trace->op.output[i], CG_NONE);
    }
}

struct cg_text graph_node_name(const struct cg_trace *trace, const struct graph *graph, uint32_t node)
{
    if (node < graph->span_count) return trace_text(trace, trace->span.name[node]);
    node -= graph->span_count;
    if (node < graph->op_count) return trace_text(trace, trace->op.op_name[node]);
    const struct graph_tensor *tensor = &graph->tensors[node - graph->op_count];
    cg_str label = tensor->event == CG_NONE ? CG_ABSENT : trace->tensor.label[tensor->event];
    return trace_text(trace, label == CG_ABSENT ? tensor->id : label);
}

/* ---- order ---- */

/* An id as the two pieces that it is put together from. */
struct id_pieces {
    struct cg_text piece[2];
    char suffix[GRAPH_OP_SUFFIX_SIZE];
};

static void node_id(const struct cg_trace *trace, const struct graph *graph, uint32_t node,
                    struct id_pieces *id)
{
    id->piece[1] = (struct cg_text){"", 0};
    if (node < graph->span_count) {
        id->piece[0] = trace_text(trace, trace->span.id[node]);
        return;
    }
    node -= graph->span_count;
    if (node < graph->op_count) {
        id->piece[0] = trace_text(trace, trace->op.span_id[node]);
        id->piece[1].length = graph_op_suffix(id->suffix, graph->op_index[node]);
        id->piece[1].bytes = id->suffix;
        return;
    }
    id->piece[0] = (struct cg_text){tensor_prefix, TENSOR_PREFIX_LENGTH};
    id->piece[1] = trace_text(trace, graph->tensors[node - graph->op_count].id);
}

int graph_node_compare(const struct cg_trace *trace, const struct graph *graph, uint32_t a, uint32_t b)
{
    if (a < graph->span_count && b < graph->span_count) return (a > b) - (a < b);
    struct id_pieces left, right;
    node_id(trace, graph, a, &left);
    node_id(trace, graph, b, &right);
    struct cg_text l = left.piece[0], r = right.piece[0];
    unsigned next_l = 1, next_r = 1;
    for (;;) {
        size_t length = l.length < r.length ? l.length : r.length;
        int order = length ? memcmp(l.bytes, r.bytes, length) : 0;
        if (order) return order;
        l = (struct cg_text){l.bytes + length, l.length - length};
        r = (struct cg_text){r.bytes + length, r.length - length};
        if (!l.length && next_l < 2) l = left.piece[next_l++];
        if (!r.length && next_r < 2) r = right.piece[next_r++];
        if (!l.length || !r.length) return (l.length > 0) - (r.length > 0);
    }
}

/* ---- no id twice ---- */

struct id_check {
    const struct cg_trace *trace;
    const struct span_ops *ops;
    uint8_t *is_tensor; /* by string number */
    uint32_t tensors;
    uint32_t clashing_op;   /* least row of an op whose id is that of a span */
    cg_str clashing_tensor; /* least tensor id whose node id is that of a span or an op */
};

static void count_tensor(void *context, cg_str id, uint32_t event)
{
    struct id_check *check = context;
    (void)event;
    check->tensors += !check->is_tensor[id];
    check->is_tensor[id] = 1;
}

static void tensor_clashes(struct id_check *check, const char *bytes, size_t length)
{
    cg_str id = trace_find(check->trace, bytes, length);
    if (id == CG_ABSENT || !check->is_tensor[id]) return;
    if (check->clashing_tensor == CG_ABSENT || trace_compare(check->trace, id, check->clashing_tensor) < 0)
        check->clashing_tensor = id;
}

/* Is this span's id that of an op node, <span>/op/<index> with the index in plain decimal? */
static void span_against_op(struct id_check *check, struct cg_text id)
{
    size_t at = id.length;
    uint64_t index = 0, power = 1;
    while (at > 0 && id.bytes[at - 1] >= '0' && id.bytes[at - 1] <= '9' && id.length - at < 10) {
        index += power * (uint64_t)(id.bytes[--at] - '0');
        power *= 10;
    }
    bool canonical = at < id.length && (id.bytes[at] != '0' || at + 1 == id.length);
    if (!canonical || at < OP_MARK_LENGTH ||
        memcmp(id.bytes + at - OP_MARK_LENGTH, op_mark, OP_MARK_LENGTH) != 0)
        return;
    cg_str span_id = trace_find(check->trace, id.bytes, at - OP_MARK_LENGTH);
    uint32_t span = span_id == CG_ABSENT ? CG_NONE : trace_span(check->trace, span_id);
    if (span == CG_NONE || index >= check->ops->first[span + 1] - check->ops->first[span]) return;
    uint32_t op = check->ops->op[check->ops->first[span] + index];
    if (op < check->clashing_op) check->clashing_op = op;
}

/* Are this span's id, or those of its ops, ids of tensor nodes? Only a span named tensor/<x> can be. */
static bool span_against_tensors(struct id_check *check, uint32_t span, struct cg_text id)
{
    if (id.length < TENSOR_PREFIX_LENGTH || memcmp(id.bytes, tensor_prefix, TENSOR_PREFIX_LENGTH) != 0)
        return true;
    const char *rest = id.bytes + TENSOR_PREFIX_LENGTH;
    size_t length = id.length - TENSOR_PREFIX_LENGTH;
    tensor_clashes(check, rest, length);
    char *op_id = malloc(length + GRAPH_OP_SUFFIX_SIZE);
    if (!op_id) return false;
    memcpy(op_id, rest, length);
    uint32_t ops = check->ops->first[span + 1] - check->ops->first[span];
    for (uint32_t k = 0; k < ops; k++)
        tensor_clashes(check, op_id, length + graph_op_suffix(op_id + length, k));
    free(op_id);
    return true;
}

static int duplicate_node(const struct id_check *check, struct cg_error *error)
{
    const struct cg_trace *trace = check->trace;
    char name[TEXT_NAME_SIZE], suffix[GRAPH_OP_SUFFIX_SIZE] = "";
    const char *prefix = "";
    struct cg_text id;
    if (check->clashing_op != CG_NONE) {
        uint32_t op = check->clashing_op, span = trace_span(trace, trace->op.span_id[op]);
        uint32_t index = 0;
        while (check->ops->op[check->ops->first[span] + index] != op)
            index++;
        graph_op_suffix(suffix, index);
        id = trace_text(trace, trace->op.span_id[op]);
    } else {
        prefix = tensor_prefix;
        id = trace_text(trace, check->clashing_tensor);
    }
    return cg_fail(
        error, CG_EXIT_INPUT,
        "two nodes of the graph have the id \"%s%s%s\": a span id must not look like <span>/op/<n> "
        "or tensor/<id> of something else in the trace",
        prefix, text_name(id, name), suffix);
}

int graph_check_ids(const struct cg_trace *trace, const struct span_ops *ops, uint32_t *tensor_node_count,
                    struct cg_error *error)
{
    struct id_check check = {.trace = trace, .ops = ops, .clashing_op = CG_NONE};
    check.is_tensor = calloc((size_t)trace_string_count(trace) + 1, 1);
    bool enough = check.is_tensor != NULL;
    if (enough) graph_each_tensor(trace, count_tensor, &check);
    for (size_t s = 0; enough && s < trace->span.rows; s++) {
        struct cg_text id = trace_text(trace, trace->span.id[s]);
        span_against_op(&check, id);
        enough = span_against_tensors(&check, (uint32_t)s, id);
    }
    free(check.is_tensor);
    *tensor_node_count = check.tensors;
    uint64_t nodes = (uint64_t)trace->span.rows + trace->op.rows + check.tensors;
    if (!enough) return cg_fail(error, CG_EXIT_IO, "out of memory for the graph");
    if (nodes >= CG_NONE)
        return cg_fail(error, CG_EXIT_INPUT, "the graph would have %llu nodes; at most %u are supported",
                       (unsigned long long)nodes, CG_NONE - 1);
    if (check.clashing_op != CG_NONE || check.clashing_tensor != CG_ABSENT)
        return duplicate_node(&check, error);
    return 0;
}

bool graph_count_tensors(const struct cg_trace *trace, struct graph *graph)
{
    struct id_check check = {.is_tensor = calloc((size_t)trace_string_count(trace) + 1, 1)};

    if (!check.is_tensor) return false;
    graph_each_tensor(trace, count_tensor, &check);
    free(check.is_tensor);
    graph->tensor_node_count = check.tensors;
    return true;
}

/* ---- lists ---- */

struct tensor_list {
    struct graph *graph;
    uint8_t *seen; /* by string number */
    uint32_t count;
};

static void list_tensor(void *context, cg_str id, uint32_t event)
{
    struct tensor_list *list = context;
    if (list->seen[id]) return;
    list->seen[id] = 1;
    list->graph->tensors[list->count++] = (struct graph_tensor){id, event};
}

static int compare_tensors(const void *left, const void *right, void *trace)
{
    return trace_compare(trace, ((const struct graph_tensor *)left)->id,
                         ((const struct graph_tensor *)right)->id);
}

bool graph_list(const struct cg_trace *trace, struct graph *graph, bool edges)
{
    struct span_ops ops = {0};
    struct tensor_list list = {.graph = graph};
    list.seen = calloc((size_t)trace_string_count(trace) + 1, 1);
    graph->op_index = malloc(((size_t)graph->op_count + 1) * sizeof *graph->op_index);
    graph->tensors = malloc(((size_t)graph->tensor_node_count + 1) * sizeof *graph->tensors);
    bool enough = list.seen && graph->op_index && graph->tensors && span_ops_make(trace, &ops);
    if (enough) {
        for (uint32_t s = 0; s < graph->span_count; s++)
            for (uint32_t i = ops.first[s]; i < ops.first[s + 1]; i++)
                graph->op_index[ops.op[i]] = i - ops.first[s];
        graph_each_tensor(trace, list_tensor, &list);
        qsort_r(graph->tensors, list.count, sizeof *graph->tensors, compare_tensors,
                (void *)(uintptr_t)trace);
        enough = !edges || graph_edges_make(trace, graph, &ops);
    }
    free(list.seen);
    span_ops_free(&ops);
    return enough;
}
