/* overview: a bounded first look (doc/spec/cli.md 5.2). */
#include "analyzer/cmd/overview.h"

#include <string.h>

#include "analyzer/cmd/gpu_view.h"
#include "analyzer/cmd/query.h"

enum { OVERVIEW_ROWS = 20, OVERVIEW_SPANS = 5 };

static const struct evidence *evidence_of(const void *object)
{
    return &((const struct overview *)object)->input->evidence;
}

static void emit_overview_schema(struct json_doc *doc, const void *object)
{
    (void)object;
    doc_string(doc, "candle-graph/overview/2");
}

static void emit_overview_tool(struct json_doc *doc, const void *object)
{
    (void)object;
    emit_tool(doc);
}

static void emit_overview_input(struct json_doc *doc, const void *object)
{
    emit_input(doc, ((const struct overview *)object)->input);
}

static void emit_overview_provenance(struct json_doc *doc, const void *object)
{
    emit_provenance_bounded(doc, evidence_of(object));
}

static void emit_health_counts(struct json_doc *doc, const void *object)
{
    const struct evidence *evidence = evidence_of(object);
    doc_object(doc);
    doc_member_bool(doc, "structurally_valid", evidence->health.structurally_valid);
    doc_member_bool(doc, "capture_complete", evidence->health.capture_complete);
    doc_member_u64(doc, "error_count", evidence_issue_count(evidence, HEALTH_ERROR));
    doc_member_u64(doc, "warning_count", evidence_issue_count(evidence, HEALTH_WARNING));
    doc_object_end(doc);
}

static void emit_matrix(struct json_doc *doc, const void *object)
{
    emit_capabilities(doc, evidence_of(object));
}

static void emit_counts(struct json_doc *doc, const void *object)
{
    const struct evidence *evidence = evidence_of(object);
    doc_object(doc);
    doc_key(doc, "graph_spans");
    if (evidence->has_graph)
        doc_u64(doc, graph_node_count(&evidence->graph));
    else
        doc_null(doc);
    doc_member_u64(doc, "tensor_stat_events", evidence_rows(evidence, LIST_TENSOR_STATS));
    doc_member_u64(doc, "tensor_stat_non_finite_events", evidence_non_finite_events(evidence));
    doc_object_end(doc);
}

/* ---- timing ---- */

static void emit_cost(struct json_doc *doc, const void *list, uint64_t i)
{
    const struct evidence *evidence = list;
    emit_host_cost(doc, evidence, &evidence->graph.host[i]);
}

static void emit_overview_timing(struct json_doc *doc, const void *object)
{
    const struct evidence *evidence = evidence_of(object);
    const struct graph *graph = &evidence->graph;
    if (!evidence->has_graph) {
        doc_null(doc);
        return;
    }
    doc_object(doc);
    doc_member_text(doc, "entrypoint", trace_text(evidence->trace, evidence->trace->run.entrypoint));
    doc_member_u64(doc, "outer_wall_time_ns", graph->effective_ns[graph->measured]);
    doc_key(doc, "slowest_host_spans");
    emit_bounded(doc, graph->host_count, OVERVIEW_SPANS, emit_cost, evidence);
    doc_object_end(doc);
}

static void emit_timing_reason(struct json_doc *doc, const void *object)
{
    const struct evidence *evidence = evidence_of(object);
    if (evidence->has_graph)
        doc_null(doc);
    else if (!evidence->health.structurally_valid)
        doc_string(doc, "the capture is not structurally valid, so its spans cannot be timed");
    else
        doc_string(doc, "the capture did not complete, so its spans cannot be timed");
}

/* ---- memory ---- */

static void emit_memory_totals(struct json_doc *doc, const void *object)
{
    const struct logical_memory *logical = &evidence_of(object)->logical;
    doc_object(doc);
    doc_member_bool(doc, "logical", logical->present);
    doc_member_bool(doc, "physical", evidence_of(object)->physical.present);
    doc_key(doc, "logical_totals");
    if (!logical->present) {
        doc_null(doc);
        doc_object_end(doc);
        return;
    }
    doc_object(doc);
    doc_member_u64_or_null(doc, "peak_live_bytes", logical->peak_known, logical->peak_live_bytes);
    doc_member_u64_or_null(doc, "peak_timestamp_ns", logical->peak_known, logical->peak_timestamp_ns);
    doc_member_u64(doc, "storage_allocation_count", logical->storage_allocation_count);
    doc_member_u64(doc, "matched_storage_free_count", logical->matched_storage_free_count);
    doc_member_u64(doc, "total_allocated_bytes", logical->total_allocated_bytes);
    doc_object_end(doc);
    doc_object_end(doc);
}

/* ---- findings, gaps ---- */

static void emit_one_finding(struct json_doc *doc, const void *list, uint64_t i)
{
    emit_finding(doc, &((const struct evidence *)list)->findings[i]);
}

static void emit_bounded_findings(struct json_doc *doc, const void *object)
{
    emit_bounded(doc, evidence_of(object)->finding_count, OVERVIEW_ROWS, emit_one_finding,
                 evidence_of(object));
}

static void emit_one_gap(struct json_doc *doc, const void *list, uint64_t i)
{
    emit_text(doc, ((const struct evidence *)list)->gaps[i]);
}

static void emit_bounded_gaps(struct json_doc *doc, const void *object)
{
    emit_bounded(doc, evidence_of(object)->gap_count, OVERVIEW_ROWS, emit_one_gap, evidence_of(object));
}

static void emit_overview_gpu(struct json_doc *doc, const void *object)
{
    const struct gpu_evidence *gpu = &evidence_of(object)->gpu;
    /* Without any report the rest only repeats that. */
    if (((const struct overview *)object)->people && gpu->status == GPU_UNAVAILABLE)
        emit_gpu_absence(doc, gpu);
    else
        emit_gpu_overview(doc, gpu);
}

/* ---- activations: the heads of the rankings ---- */

static const struct activation_operation *begin_head(struct json_doc *doc, const struct evidence *evidence,
                                                     uint32_t row)
{
    const struct activation_operation *operation = &evidence->activations.operations[row];
    doc_object(doc);
    doc_key(doc, "id");
    emit_activation_id(doc, evidence, operation);
    doc_member_text(doc, "name", trace_text(evidence->trace, evidence->trace->op.op_name[operation->op]));
    return operation;
}

static void emit_head(struct json_doc *doc, const struct evidence *evidence, enum ranking ranking,
                      const struct ranked *ranked)
{
    if (ranked->total == 0) {
        doc_null(doc);
        return;
    }
    const struct activation_operation *operation = begin_head(doc, evidence, ranked->rows[0]);
    const struct cg_ops *op = &evidence->trace->op;
    switch (ranking) {
    case RANKING_dense_output:
        doc_member_u64(doc, "dense_output_bytes", op->output_dense_bytes[operation->op]);
        break;
    case RANKING_host_duration:
        doc_member_u64(doc, "observed_host_duration_ns", op->duration_ns[operation->op]);
        break;
    case RANKING_logical_allocated:
        doc_member_u64(doc, "logical_allocated_bytes", operation->allocated_bytes);
        break;
    case RANKING_logical_byte_nanoseconds:
        doc_key(doc, "logical_byte_nanoseconds");
        doc_u128(doc, operation->byte_nanoseconds);
        break;
    case RANKING_logical_retained:
        doc_member_u64(doc, "logical_retained_bytes_at_measured_end", operation->retained_bytes);
        break;
    case RANKING_COUNT:
        break;
    }
    doc_object_end(doc);
}

/* Clocks are never compared: this is the first of the lists, and it names its clock. */
static void emit_device_head(struct json_doc *doc, const struct overview *overview)
{
    const struct evidence *evidence = &overview->input->evidence;
    if (overview->rankings.device_count == 0) {
        doc_null(doc);
        return;
    }
    const struct ranked_device *first = &overview->rankings.devices[0];
    const struct activation_operation *operation = begin_head(doc, evidence, first->ranked.rows[0]);
    uint64_t busy_ns = 0;
    activation_busy(evidence, operation, first->device, first->clock_id, &busy_ns);
    doc_member_text(doc, "device", trace_text(evidence->trace, first->device));
    doc_member_text(doc, "clock_id", trace_text(evidence->trace, first->clock_id));
    doc_member_u64(doc, "busy_ns", busy_ns);
    doc_object_end(doc);
}

static void emit_activation_heads(struct json_doc *doc, const void *object)
{
    const struct overview *overview = object;
    const struct evidence *evidence = evidence_of(object);
    doc_object(doc);
    doc_member_u64(doc, "operation_count", evidence->activations.operation_count);
    doc_member_u64(doc, "unattributed_activation_storages", evidence->activations.unattributed_storages);
    doc_key(doc, "coverage");
    emit_activation_state(doc, evidence, &evidence->activations.coverage);
    doc_key(doc, "top");
    doc_object(doc);
    doc_key(doc, "device_busy");
    emit_device_head(doc, overview);
    for (unsigned i = 0; i < RANKING_COUNT; i++) {
        doc_key(doc, ranking_name[i]);
        emit_head(doc, evidence, (enum ranking)i, &overview->rankings.by[i]);
    }
    doc_object_end(doc);
    doc_object_end(doc);
}

/* ---- the document; the order is that of the table for people, who do not see the first members ---- */

enum { ENVELOPE_MEMBERS = 2 };
static void emit_out_of_memory(struct json_doc *doc, const void *object)
{
    emit_oom_briefs(doc, ((const struct overview *)object)->oom);
}

static bool ran_out_of_memory(const void *object)
{
    return ((const struct overview *)object)->oom != NULL;
}

static void emit_device_names(struct json_doc *doc, const void *object)
{
    emit_device_list(doc, evidence_of(object)->trace->devices);
}

/* Not in the document, which the format fixes. */
static bool shows_device_names(const void *object)
{
    return ((const struct overview *)object)->people && evidence_of(object)->trace->devices;
}

static const struct json_member members[] = {
    {"schema", emit_overview_schema, NULL},
    {"tool", emit_overview_tool, NULL},
    {"timing_unavailable_reason", emit_timing_reason, NULL},
    {"input", emit_overview_input, NULL},
    {"provenance", emit_overview_provenance, NULL},
    {"devices", emit_device_names, shows_device_names},
    {"health", emit_health_counts, NULL},
    {"counts", emit_counts, NULL},
    {"capabilities", emit_matrix, NULL},
    {"timing", emit_overview_timing, NULL},
    {"memory", emit_memory_totals, NULL},
    {"out_of_memory", emit_out_of_memory, ran_out_of_memory},
    {"activations", emit_activation_heads, NULL},
    {"gpu", emit_overview_gpu, NULL},
    {"findings", emit_bounded_findings, NULL},
    {"gaps", emit_bounded_gaps, NULL},
};

void emit_overview(struct json_doc *doc, const void *object)
{
    doc_members(doc, members, sizeof members / sizeof *members, object);
}

static void emit_people(struct json_doc *doc, const void *object)
{
    struct overview overview = *(const struct overview *)object;
    size_t skipped = ENVELOPE_MEMBERS + evidence_of(object)->has_graph; /* then there is no reason to give */
    overview.people = true;
    doc_members(doc, members + skipped, sizeof members / sizeof *members - skipped, &overview);
}

/* Writes it, with the failed allocations of the trace, which has its extra fields; NULL: there are none. */
static int write_overview(const struct arguments *arguments, const struct command_input *input,
                          const struct cg_trace *failed, struct cg_error *error)
{
    struct overview overview = {.input = input};
    struct oom_view oom;
    int status = rankings_make(&input->evidence, &overview.rankings, error);
    if (status != 0) return status;
    if (failed && !oom_view_make(failed, &input->evidence, NULL, &oom))
        status = cg_out_of_memory(error);
    else if (failed)
        overview.oom = &oom;
    struct document document = {
        .order = DOC_SORTED, .emit = emit_overview, .people = emit_people, .object = &overview};
    if (status == 0) status = document_write(arguments, input, &document, error);
    if (overview.oom) oom_view_free(&oom);
    rankings_free(&overview.rankings);
    return status;
}

static int run(const struct arguments *arguments, struct cg_error *error)
{
    int status = document_check_format(arguments, "an overview", false, error);
    if (status != 0) return status;
    struct command_input input;
    struct cg_trace *again = NULL;
    /* Standard input cannot be read again, so its extra fields are kept at once. */
    bool once = arguments->input && strcmp(arguments->input, "-") == 0;
    struct input_needs needs = {
        .extras = once, .threads = argument_threads(arguments), .index = command_index_use(arguments)};
    status = command_input_open(arguments->input, needs, &input, error);
    if (status != 0) return status;
    if (input.out_of_memory_count > 0 && !once) status = command_input_extras(&input, &again, error);
    const struct cg_trace *failed = input.out_of_memory_count == 0 ? NULL : once ? input.trace : again;
    if (status == 0) status = write_overview(arguments, &input, failed, error);
    trace_free(again);
    command_input_close(&input);
    return status;
}

static const struct option_spec options[] = {OPTION_OUTPUT, OPTION_FORMAT, OPTION_THREADS, OPTION_INDEX};
static const struct command_example examples[] = {
    {"cg-analyze overview", "from a terminal, look at the newest trace in this directory"},
    {"cg-analyze overview step10.jsonl --format json | jq .capabilities", "what the capture can say"},
};

const struct command command_overview = {
    .name = "overview",
    .positional = "INPUT",
    .positional_optional = true,
    .about = "take a first look at a capture",
    .description =
        "Shows INPUT, a trace or a bundle, on one page that stays short whatever the size of the capture "
        "(candle-graph/overview/2): the run, its health, what it can and cannot say, where the time of the "
        "measured region went, peak memory, the heads of the activation rankings, findings and gaps; where "
        "allocations failed for want of memory, the first of them (more: query --kind oom).",
    OPTION_LIST(options),
    EXAMPLE_LIST(examples),
    .run = run,
};
