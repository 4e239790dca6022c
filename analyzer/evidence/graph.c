#include "analyzer/evidence/graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/evidence/graph_private.h"
#include "analyzer/evidence/text.h"

const char *const node_kind_name[] = {"root", "function", "module", "op", "tensor"};
const char *const host_scope_name[] = {"measured_subtree", "concurrent_overlap"};

enum node_kind graph_node_kind(const struct cg_trace *trace, const struct graph *graph, uint32_t node)
{
    static const enum node_kind of_span[] = {[CG_SPAN_KIND_FUNCTION] = NODE_FUNCTION,
                                             [CG_SPAN_KIND_OP] = NODE_OP,
                                             [CG_SPAN_KIND_MODULE] = NODE_MODULE};
    if (node >= graph->span_count) return node < graph->span_count + graph->op_count ? NODE_OP : NODE_TENSOR;
    if (trace->span.parent_id[node] == CG_ABSENT) return NODE_ROOT;
    return of_span[trace->span.span_kind[node]];
}

struct cg_list graph_device_timings(const struct cg_trace *trace, const struct timing *timing, uint32_t span)
{
    cg_str id = trace->span.id[span];
    size_t low = 0, high = timing->span_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (trace_compare(trace, timing->spans[middle].span_id, id) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    struct cg_list list = {(uint32_t)low, 0};
    while (low + list.count < timing->span_count && timing->spans[low + list.count].span_id == id)
        list.count++;
    return list;
}

/* ---- what only graph_make() needs ---- */

struct work {
    const struct cg_trace *trace;
    const struct timing *timing;
    struct graph *graph;
    struct span_children children;
    struct span_ops ops;
    uint32_t *order;      /* spans, each after its parent */
    uint8_t *subtree;     /* by span: in the measured subtree */
    uint8_t *ancestor;    /* by span: strictly above the measured one */
    struct interval *own; /* children of one span */
    struct interval measured;
};

bool span_ops_make(const struct cg_trace *trace, struct span_ops *ops)
{
    size_t spans = trace->span.rows, rows = trace->op.rows;
    ops->first = calloc(spans + 2, sizeof *ops->first);
    ops->op = malloc((rows + 1) * sizeof *ops->op);
    if (!ops->first || !ops->op) return false;
    /* Counted two places further on, so that filling leaves each first where it belongs. */
    for (size_t i = 0; i < rows; i++)
        ops->first[trace_span(trace, trace->op.span_id[i]) + 2]++;
    for (size_t s = 2; s < spans + 2; s++)
        ops->first[s] += ops->first[s - 1];
    for (size_t i = 0; i < rows; i++)
        ops->op[ops->first[trace_span(trace, trace->op.span_id[i]) + 1]++] = (uint32_t)i;
    return true;
}

void span_ops_free(struct span_ops *ops)
{
    free(ops->first);
    free(ops->op);
    *ops = (struct span_ops){0};
}

/* Parents first: the children of the spans of a valid trace hang under its one root. */
static void order_spans(struct work *work)
{
    const struct span_children *children = &work->children;
    uint32_t spans = work->graph->span_count, count = 0;
    for (uint32_t i = children->first[spans]; i < children->first[spans + 1]; i++)
        work->order[count++] = children->child[i];
    for (uint32_t done = 0; done < count; done++) {
        uint32_t span = work->order[done];
        for (uint32_t i = children->first[span]; i < children->first[span + 1]; i++)
            work->order[count++] = children->child[i];
    }
}

/* doc/spec/evidence.md 1.3: children before their parents, each adding itself to a parent of length 0. */
static void effective_durations(struct work *work)
{
    const struct cg_trace *trace = work->trace;
    uint64_t *effective = work->graph->effective_ns;
    for (size_t i = 0; i < trace->op.rows; i++) {
        uint64_t *sum = &effective[trace_span(trace, trace->op.span_id[i])];
        *sum = cg_sat_add(*sum, trace->op.duration_ns[i]);
    }
    for (uint32_t i = work->graph->span_count; i-- > 0;) {
        uint32_t span = work->order[i], parent = trace->span.parent[span];
        if (trace->span.duration_ns[span] > 0) effective[span] = trace->span.duration_ns[span];
        if (parent != CG_NONE) effective[parent] = cg_sat_add(effective[parent], effective[span]);
    }
}

static void mark_subtree(struct work *work)
{
    uint32_t measured = work->graph->measured;
    for (uint32_t i = 0; i < work->graph->span_count; i++) {
        uint32_t span = work->order[i], parent = work->trace->span.parent[span];
        work->subtree[span] = span == measured || (parent != CG_NONE && work->subtree[parent]);
    }
    for (uint32_t s = work->trace->span.parent[measured]; s != CG_NONE; s = work->trace->span.parent[s])
        work->ancestor[s] = 1;
}

/* Intervals of the child spans and ops of a span, into work->own; returns their number. */
static size_t gather(struct work *work, uint32_t span)
{
    const struct cg_trace *trace = work->trace;
    size_t count = 0;
    for (uint32_t i = work->children.first[span]; i < work->children.first[span + 1]; i++) {
        uint32_t child = work->children.child[i];
        uint64_t start = trace->span.start_ns[child];
        work->own[count++] = (struct interval){start, cg_sat_add(start, work->graph->effective_ns[child])};
    }
    for (uint32_t i = work->ops.first[span]; i < work->ops.first[span + 1]; i++) {
        uint32_t op = work->ops.op[i];
        uint64_t start = trace->op.timestamp_ns[op];
        work->own[count++] = (struct interval){start, cg_sat_add(start, trace->op.duration_ns[op])};
    }
    return count;
}

static struct interval clip(struct interval interval, struct interval to)
{
    if (interval.start < to.start) interval.start = to.start;
    if (interval.end > to.end) interval.end = to.end;
    if (interval.end < interval.start) interval.end = interval.start;
    return interval;
}

/* ---- the summary's lists: the best rows, earlier ones first among equals ---- */

static void top_insert(void *rows, size_t *count, size_t width, const void *row,
                       bool (*better)(const void *a, const void *b))
{
    char *base = rows;
    size_t at = *count;
    while (at > 0 && better(row, base + (at - 1) * width))
        at--;
    if (at == GRAPH_SUMMARY_ROWS) return;
    if (*count < GRAPH_SUMMARY_ROWS) ++*count;
    memmove(base + (at + 1) * width, base + at * width, (*count - 1 - at) * width);
    memcpy(base + at * width, row, width);
}

static bool host_better(const void *left, const void *right)
{
    const struct host_cost *a = left, *b = right;
    if (a->overlap_self_ns != b->overlap_self_ns) return a->overlap_self_ns > b->overlap_self_ns;
    return a->self_ns > b->self_ns;
}

struct ranked {
    uint32_t span, timing;
    uint64_t value;
};

static bool ranked_better(const void *left, const void *right)
{
    return ((const struct ranked *)left)->value > ((const struct ranked *)right)->value;
}

static bool is_scope_span(const struct work *work, uint32_t span)
{
    return graph_node_kind(work->trace, work->graph, span) != NODE_OP;
}

/* Self times of all spans, and the host spans that take part in the measured interval
 * (doc/spec/evidence.md 1.4, 3.1, 3.2). */
static void host_times(struct work *work)
{
    struct graph *graph = work->graph;
    for (uint32_t span = 0; span < graph->span_count; span++) {
        uint64_t start = work->trace->span.start_ns[span], total = graph->effective_ns[span];
        size_t count = gather(work, span);
        graph->self_ns[span] = cg_sat_sub(total, interval_union(work->own, count));
        struct interval overlap = clip((struct interval){start, cg_sat_add(start, total)}, work->measured);
        if (overlap.start == overlap.end || work->ancestor[span] || !is_scope_span(work, span)) continue;
        for (size_t i = 0; i < count; i++)
            work->own[i] = clip(work->own[i], work->measured);
        struct host_cost cost = {.span = span,
                                 .scope =
                                     work->subtree[span] ? SCOPE_MEASURED_SUBTREE : SCOPE_CONCURRENT_OVERLAP,
                                 .self_ns = graph->self_ns[span],
                                 .full_ns = total,
                                 .overlap_ns = overlap.end - overlap.start};
        cost.overlap_self_ns = cg_sat_sub(cost.overlap_ns, interval_union(work->own, count));
        top_insert(graph->host, &graph->host_count, sizeof cost, &cost, host_better);
    }
}

static void device_spans(struct work *work)
{
    struct graph *graph = work->graph;
    struct ranked rows[GRAPH_SUMMARY_ROWS];
    for (size_t i = 0; i < work->timing->span_count; i++) {
        uint32_t span = trace_span(work->trace, work->timing->spans[i].span_id);
        struct ranked row = {span, (uint32_t)i, work->timing->spans[i].busy_ns};
        if (span != CG_NONE && work->subtree[span])
            top_insert(rows, &graph->device_count, sizeof row, &row, ranked_better);
    }
    for (size_t i = 0; i < graph->device_count; i++)
        graph->device[i] = (struct device_cost){rows[i].span, rows[i].timing};
}

static void heaviest_spans(struct work *work)
{
    struct graph *graph = work->graph;
    struct ranked rows[GRAPH_SUMMARY_ROWS];
    for (uint32_t span = 0; span < graph->span_count; span++) {
        struct ranked row = {span, 0, graph->memory.allocated_bytes[span]};
        if (graph->memory.allocated_set[span] && work->subtree[span] && is_scope_span(work, span))
            top_insert(rows, &graph->heaviest_count, sizeof row, &row, ranked_better);
    }
    for (size_t i = 0; i < graph->heaviest_count; i++)
        graph->heaviest[i] = rows[i].span;
}

/* ---- */

static uint32_t measured_span(const struct cg_trace *trace)
{
    uint32_t span = 0;
    while (!trace->span.measured[span])
        span++;
    return span;
}

static bool work_make(struct work *work)
{
    struct graph *graph = work->graph;
    size_t spans = work->trace->span.rows, most = 0;
    if (!span_children_make(work->trace, &work->children) || !span_ops_make(work->trace, &work->ops))
        return false;
    for (size_t s = 0; s < spans; s++) {
        size_t own = (work->children.first[s + 1] - work->children.first[s]) +
                     (work->ops.first[s + 1] - work->ops.first[s]);
        most = own > most ? own : most;
    }
    work->order = malloc((spans + 1) * sizeof *work->order);
    work->subtree = calloc(spans + 1, 1);
    work->ancestor = calloc(spans + 1, 1);
    work->own = malloc((most + 1) * sizeof *work->own);
    graph->effective_ns = calloc(spans + 1, sizeof *graph->effective_ns);
    graph->self_ns = calloc(spans + 1, sizeof *graph->self_ns);
    return work->order && work->subtree && work->ancestor && work->own && graph->effective_ns &&
           graph->self_ns;
}

static void work_free(struct work *work)
{
    span_children_free(&work->children);
    span_ops_free(&work->ops);
    free(work->order);
    free(work->subtree);
    free(work->ancestor);
    free(work->own);
}

int graph_make(const struct cg_trace *trace, const struct timing *timing, struct node_memory *memory,
               struct graph *graph, struct cg_error *error)
{
    *graph = (struct graph){
        .span_count = (uint32_t)trace->span.rows, .op_count = (uint32_t)trace->op.rows, .memory = *memory};
    *memory = (struct node_memory){0};
    struct work work = {.trace = trace, .timing = timing, .graph = graph};
    int status = 0;
    if (!work_make(&work)) {
        status = cg_fail(error, CG_EXIT_IO, "out of memory for the graph");
    } else {
        status = graph_check_ids(trace, &work.ops, &graph->tensor_node_count, error);
    }
    if (!status) {
        graph->measured = measured_span(trace);
        order_spans(&work);
        effective_durations(&work);
        mark_subtree(&work);
        uint64_t start = trace->span.start_ns[graph->measured];
        work.measured = (struct interval){start, cg_sat_add(start, graph->effective_ns[graph->measured])};
        host_times(&work);
        device_spans(&work);
        heaviest_spans(&work);
    }
    work_free(&work);
    if (status) graph_free(graph);
    return status;
}

void graph_free(struct graph *graph)
{
    free(graph->effective_ns);
    free(graph->self_ns);
    node_memory_free(&graph->memory);
    free(graph->op_index);
    free(graph->tensors);
    free(graph->edges);
    *graph = (struct graph){0};
}
