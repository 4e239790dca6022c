/* The graph, its rows and its summary (doc/spec/evidence.md 1 and 3), and tensor statistics. */
#include "analyzer/evidence/emit.h"
#include "analyzer/evidence/evidence_private.h"

/* ---- ids ---- */

static void add_str(struct json_doc *doc, const struct cg_trace *trace, cg_str string)
{
    struct cg_text text = trace_text(trace, string);
    doc_string_add(doc, text.bytes, text.length);
}

static void emit_op_id(struct json_doc *doc, const struct cg_trace *trace, cg_str span_id, uint32_t op_index)
{
    char suffix[GRAPH_OP_SUFFIX_SIZE];
    size_t length = graph_op_suffix(suffix, op_index);
    doc_string_begin(doc);
    add_str(doc, trace, span_id);
    doc_string_add(doc, suffix, length);
    doc_string_end(doc);
}

static void emit_node_id(struct json_doc *doc, const struct evidence *evidence, uint32_t node)
{
    const struct cg_trace *trace = evidence->trace;
    const struct graph *graph = &evidence->graph;
    if (node < graph->span_count) {
        emit_str(doc, trace, trace->span.id[node]);
        return;
    }
    node -= graph->span_count;
    if (node < graph->op_count) {
        emit_op_id(doc, trace, trace->op.span_id[node], graph->op_index[node]);
        return;
    }
    doc_string_begin(doc);
    doc_string_add(doc, "tensor/", 7);
    add_str(doc, trace, graph->tensors[node - graph->op_count].id);
    doc_string_end(doc);
}

void emit_activation_id(struct json_doc *doc, const struct evidence *evidence,
                        const struct activation_operation *operation)
{
    cg_str span_id = evidence->trace->op.span_id[operation->op];
    if (operation->dedicated)
        emit_str(doc, evidence->trace, span_id);
    else
        emit_op_id(doc, evidence->trace, span_id, operation->op_index);
}

/* ---- nodes ---- */

static void span_times(struct json_doc *doc, const struct evidence *evidence, uint32_t span)
{
    const struct cg_trace *trace = evidence->trace;
    const struct graph *graph = &evidence->graph;
    doc_member_u64(doc, "start_ns", trace->span.start_ns[span]);
    doc_member_u64(doc, "host_self_time_ns", graph->self_ns[span]);
    doc_member_u64(doc, "host_total_time_ns", graph->effective_ns[span]);
    struct cg_list timings = graph_device_timings(trace, &evidence->timing, span);
    if (!timings.count) return;
    doc_key(doc, "device_timings");
    doc_array(doc);
    for (uint32_t i = 0; i < timings.count; i++) {
        const struct timing_span *timing = &evidence->timing.spans[timings.first + i];
        doc_object(doc);
        member_str(doc, trace, "device", timing->device);
        member_str(doc, trace, "clock_id", timing->clock_id);
        doc_member_u64(doc, "busy_ns", timing->busy_ns);
        doc_object_end(doc);
    }
    doc_array_end(doc);
}

static void span_members(struct json_doc *doc, const struct evidence *evidence, uint32_t span)
{
    const struct node_memory *memory = &evidence->graph.memory;
    span_times(doc, evidence, span);
    member_opt_u64(doc, "allocated_bytes", memory->allocated_set[span], memory->allocated_bytes[span]);
    member_opt_u64(doc, "peak_live_bytes", memory->subtree_set[span], memory->peak_live_bytes[span]);
    member_opt_u64(doc, "residual_bytes", memory->subtree_set[span], memory->residual_bytes[span]);
}

static void shape_members(struct json_doc *doc, const struct cg_trace *trace, struct cg_list shape,
                          cg_str dtype, cg_str device)
{
    if (shape.count) member_shape(doc, trace, shape);
    member_str(doc, trace, "dtype", dtype);
    member_str(doc, trace, "device", device);
}

static void op_members(struct json_doc *doc, const struct evidence *evidence, uint32_t op)
{
    const struct cg_trace *trace = evidence->trace;
    const struct node_memory *memory = &evidence->graph.memory;
    doc_member_u64(doc, "start_ns", trace->op.timestamp_ns[op]);
    doc_member_u64(doc, "host_self_time_ns", trace->op.duration_ns[op]);
    doc_member_u64(doc, "host_total_time_ns", trace->op.duration_ns[op]);
    shape_members(doc, trace, trace->op.shape[op], trace->op.dtype[op], trace->op.device[op]);
    member_opt_u64(doc, "allocated_bytes", memory->op_allocated_set[op], memory->op_allocated_bytes[op]);
    member_opt_u64(doc, "dense_bytes", trace->op.output_dense_bytes_set[op],
                   trace->op.output_dense_bytes[op]);
}

static void tensor_members(struct json_doc *doc, const struct cg_trace *trace, uint32_t event)
{
    doc_member_u64(doc, "start_ns", 0);
    doc_member_u64(doc, "host_self_time_ns", 0);
    doc_member_u64(doc, "host_total_time_ns", 0);
    if (event == CG_NONE) return;
    shape_members(doc, trace, trace->tensor.shape[event], trace->tensor.dtype[event],
                  trace->tensor.device[event]);
    member_opt_u64(doc, "dense_bytes", trace->tensor.dense_bytes_set[event],
                   trace->tensor.dense_bytes[event]);
}

static cg_str node_parent(const struct evidence *evidence, uint32_t node)
{
    const struct cg_trace *trace = evidence->trace;
    const struct graph *graph = &evidence->graph;
    if (node < graph->span_count) return trace->span.parent_id[node];
    node -= graph->span_count;
    if (node < graph->op_count) return trace->op.span_id[node];
    uint32_t event = graph->tensors[node - graph->op_count].event;
    return event == CG_NONE ? CG_ABSENT : trace->tensor.span_id[event];
}

static void emit_node(struct json_doc *doc, const struct evidence *evidence, uint32_t node)
{
    const struct cg_trace *trace = evidence->trace;
    const struct graph *graph = &evidence->graph;
    doc_object(doc);
    doc_key(doc, "id");
    emit_node_id(doc, evidence, node);
    member_str(doc, trace, "parent_id", node_parent(evidence, node));
    member_text(doc, "name", graph_node_name(trace, graph, node));
    doc_member_string(doc, "kind", node_kind_name[graph_node_kind(trace, graph, node)]);
    if (node < graph->span_count)
        span_members(doc, evidence, node);
    else if (node < graph->span_count + graph->op_count)
        op_members(doc, evidence, node - graph->span_count);
    else
        tensor_members(doc, trace, graph->tensors[node - graph->span_count - graph->op_count].event);
    doc_object_end(doc);
}

/* ---- edges ---- */

static void emit_edge(struct json_doc *doc, const struct evidence *evidence, const struct graph_edge *edge)
{
    const struct cg_trace *trace = evidence->trace;
    const struct graph *graph = &evidence->graph;
    bool call = edge->from < graph->span_count, to_span = edge->to < graph->span_count;
    bool to_op = !to_span && edge->to < graph->span_count + graph->op_count;
    doc_object(doc);
    doc_member_string(doc, "kind", call ? "call" : "data");
    doc_key(doc, call ? "from_span" : "from_tensor");
    emit_node_id(doc, evidence, edge->from);
    doc_key(doc, call ? "to_span" : "to_tensor");
    emit_node_id(doc, evidence, edge->to);
    if (call && edge->explicit_row != CG_NONE) {
        doc_member_u64(doc, "host_duration_ns", trace->edge.host_duration_ns[edge->explicit_row]);
    } else if (call && to_span) {
        doc_member_u64(doc, "host_duration_ns", graph->effective_ns[edge->to]);
    } else if (call) {
        uint32_t op = edge->to - graph->span_count;
        doc_member_u64(doc, "host_duration_ns", trace->op.duration_ns[op]);
        member_str(doc, trace, "label", trace->op.op_name[op]);
    } else if (edge->explicit_row == CG_NONE) {
        doc_member_string(doc, "label", to_op ? "input" : "output");
    }
    doc_object_end(doc);
}

/* ---- records ---- */

static void emit_tensor(struct json_doc *doc, const struct cg_trace *trace, size_t row)
{
    const struct cg_tensors *tensor = &trace->tensor;
    doc_object(doc);
    member_str(doc, trace, "span_id", tensor->span_id[row]);
    member_str(doc, trace, "tensor_id", tensor->tensor_id[row]);
    member_opt_str(doc, trace, "label", tensor->label[row]);
    member_shape(doc, trace, tensor->shape[row]);
    member_str(doc, trace, "dtype", tensor->dtype[row]);
    member_str(doc, trace, "device", tensor->device[row]);
    doc_member_bool(doc, "requires_grad", tensor->requires_grad[row]);
    member_opt_u64(doc, "dense_bytes", tensor->dense_bytes_set[row], tensor->dense_bytes[row]);
    doc_member_string(doc, "category", cg_name_CATEGORY[tensor->category[row]]);
    doc_object_end(doc);
}

static void emit_gradient(struct json_doc *doc, const struct cg_trace *trace, size_t row)
{
    const struct cg_gradients *gradient = &trace->gradient;
    doc_object(doc);
    member_str(doc, trace, "root", gradient->root[row]);
    member_str(doc, trace, "key", gradient->key[row]);
    doc_member_string(doc, "state", cg_name_GRADIENT_STATE[gradient->state[row]]);
    if (gradient->norm_set[row]) doc_member_double(doc, "norm", gradient->norm[row]);
    doc_object_end(doc);
}

static void emit_tensor_stats(struct json_doc *doc, const struct cg_trace *trace, size_t row)
{
    const struct cg_tensor_stats *stats = &trace->tensor_stats;
    doc_object(doc);
    member_str(doc, trace, "span_id", stats->span_id[row]);
    member_str(doc, trace, "label", stats->label[row]);
    member_shape(doc, trace, stats->shape[row]);
    member_str(doc, trace, "dtype", stats->dtype[row]);
    doc_member_u64(doc, "elements", stats->elements[row]);
    doc_member_u64(doc, "non_finite", stats->non_finite[row]);
    doc_member_double(doc, "rms", stats->rms[row]);
    doc_member_double(doc, "abs_max", stats->abs_max[row]);
    doc_member_double(doc, "mean", stats->mean[row]);
    doc_object_end(doc);
}

void emit_row(struct json_doc *doc, const struct evidence *evidence, enum evidence_list list, uint64_t row)
{
    if (evidence->stored) {
        stored_emit_row(doc, evidence, list, row);
        return;
    }
    switch (list) {
    case LIST_NODES:
        emit_node(doc, evidence, (uint32_t)row);
        break;
    case LIST_EDGES:
        emit_edge(doc, evidence, &evidence->graph.edges[row]);
        break;
    case LIST_TENSORS:
        emit_tensor(doc, evidence->trace, row);
        break;
    case LIST_GRADIENTS:
        emit_gradient(doc, evidence->trace, row);
        break;
    case LIST_TENSOR_STATS:
        emit_tensor_stats(doc, evidence->trace, row);
        break;
    }
}

/* ---- summary ---- */

void emit_host_cost(struct json_doc *doc, const struct evidence *evidence, const struct host_cost *cost)
{
    if (evidence->stored) {
        stored_emit_host_cost(doc, evidence, (size_t)(cost - evidence->graph.host));
        return;
    }
    const struct cg_trace *trace = evidence->trace;
    doc_object(doc);
    member_str(doc, trace, "id", trace->span.id[cost->span]);
    member_str(doc, trace, "name", trace->span.name[cost->span]);
    doc_member_string(doc, "scope", host_scope_name[cost->scope]);
    doc_member_u64(doc, "host_self_time_ns", cost->self_ns);
    doc_member_u64(doc, "measured_overlap_self_time_ns", cost->overlap_self_ns);
    doc_member_u64(doc, "full_duration_ns", cost->full_ns);
    doc_member_u64(doc, "measured_overlap_duration_ns", cost->overlap_ns);
    doc_object_end(doc);
}

void emit_device_cost(struct json_doc *doc, const struct evidence *evidence, const struct device_cost *cost)
{
    if (evidence->stored) {
        stored_emit_device_cost(doc, evidence, (size_t)(cost - evidence->graph.device));
        return;
    }
    const struct cg_trace *trace = evidence->trace;
    const struct timing_span *timing = &evidence->timing.spans[cost->timing];
    doc_object(doc);
    member_str(doc, trace, "id", trace->span.id[cost->span]);
    member_str(doc, trace, "name", trace->span.name[cost->span]);
    member_str(doc, trace, "device", timing->device);
    member_str(doc, trace, "clock_id", timing->clock_id);
    doc_member_u64(doc, "device_busy_ns", timing->busy_ns);
    doc_object_end(doc);
}

void emit_heavy_span(struct json_doc *doc, const struct evidence *evidence, uint32_t span)
{
    if (evidence->stored) {
        stored_emit_heavy_span(doc, evidence, span);
        return;
    }
    const struct cg_trace *trace = evidence->trace;
    const struct node_memory *memory = &evidence->graph.memory;
    doc_object(doc);
    member_str(doc, trace, "id", trace->span.id[span]);
    member_str(doc, trace, "name", trace->span.name[span]);
    doc_member_u64(doc, "allocated_bytes", memory->allocated_bytes[span]);
    doc_member_u64_or_null(doc, "peak_live_bytes", memory->subtree_set[span], memory->peak_live_bytes[span]);
    doc_object_end(doc);
}

void emit_graph_summary(struct json_doc *doc, const struct evidence *evidence)
{
    if (evidence->stored) {
        stored_emit(doc, evidence, STORED_GRAPH_SUMMARY);
        return;
    }
    const struct graph *graph = &evidence->graph;
    doc_object(doc);
    member_str(doc, evidence->trace, "entrypoint", evidence->trace->run.entrypoint);
    doc_member_u64(doc, "outer_wall_time_ns", graph->effective_ns[graph->measured]);
    doc_key(doc, "slowest_host_spans");
    doc_array(doc);
    for (size_t i = 0; i < graph->host_count; i++)
        emit_host_cost(doc, evidence, &graph->host[i]);
    doc_array_end(doc);
    doc_key(doc, "slowest_device_spans");
    doc_array(doc);
    for (size_t i = 0; i < graph->device_count; i++)
        emit_device_cost(doc, evidence, &graph->device[i]);
    doc_array_end(doc);
    doc_key(doc, "heaviest_spans");
    doc_array(doc);
    for (size_t i = 0; i < graph->heaviest_count; i++)
        emit_heavy_span(doc, evidence, graph->heaviest[i]);
    doc_array_end(doc);
    doc_object_end(doc);
}

/* ---- the whole ---- */

static void emit_list(struct json_doc *doc, const struct evidence *evidence, enum evidence_list list)
{
    uint64_t rows = evidence_rows(evidence, list);
    doc_array(doc);
    for (uint64_t row = 0; row < rows; row++)
        emit_row(doc, evidence, list, row);
    doc_array_end(doc);
}

static void graph_schema(struct json_doc *doc, const void *object)
{
    (void)object;
    doc_string(doc, EVIDENCE_GRAPH_SCHEMA);
}
static void graph_nodes(struct json_doc *doc, const void *object)
{
    emit_list(doc, object, LIST_NODES);
}
static void graph_edges(struct json_doc *doc, const void *object)
{
    emit_list(doc, object, LIST_EDGES);
}
static void graph_tensors(struct json_doc *doc, const void *object)
{
    emit_list(doc, object, LIST_TENSORS);
}
static void graph_gradients(struct json_doc *doc, const void *object)
{
    emit_list(doc, object, LIST_GRADIENTS);
}
static void graph_summary(struct json_doc *doc, const void *object)
{
    emit_graph_summary(doc, object);
}

void emit_graph(struct json_doc *doc, const struct evidence *evidence)
{
    if (evidence->stored) {
        stored_emit(doc, evidence, STORED_GRAPH);
        return;
    }
    static const struct json_member members[] = {
        {"schema", graph_schema, NULL},       {"spans", graph_nodes, NULL},
        {"edges", graph_edges, NULL},         {"tensors", graph_tensors, NULL},
        {"gradients", graph_gradients, NULL}, {"summary", graph_summary, NULL}};
    doc_members(doc, members, COUNT_OF(members), evidence);
}

void emit_tensor_stats_list(struct json_doc *doc, const struct evidence *evidence)
{
    emit_list(doc, evidence, LIST_TENSOR_STATS);
}
