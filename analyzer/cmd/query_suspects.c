/* Kind beyond the format: suspects: the records that cannot be true, which kinds of ours leave out. */
#include "analyzer/cmd/query.h"
#include "analyzer/cmd/suspect_view.h"

static const struct suspects *of(const struct query *query)
{
    return &query->input->suspects;
}

/* ---- rows ---- */

static uint64_t row_count(const struct query *query)
{
    return of(query)->count;
}

static cg_str interval_name(const struct query *query, uint32_t row)
{
    const struct cg_trace *trace = query->input->trace;
    uint32_t op = query->input->work.issuer[row];
    if (trace->device_interval.name[row] != CG_ABSENT) return trace->device_interval.name[row];
    return op != CG_NONE ? trace->op.op_name[op] : trace->device_interval.activity[row];
}

static struct cg_text row_name(const struct query *query, uint64_t number)
{
    const struct cg_trace *trace = query->input->trace;
    const struct suspect *suspect = &of(query)->found[number];
    cg_str name = CG_ABSENT;
    switch ((enum suspect_plane)suspect->plane) {
    case SUSPECT_INTERVALS:
        name = interval_name(query, suspect->row);
        break;
    case SUSPECT_STORAGES:
        name = trace->memory.storage_id[suspect->row];
        break;
    case SUSPECT_SAMPLES:
    case SUSPECT_PLANE_COUNT:
        break;
    }
    return trace_text(trace, name);
}

static bool row_matches(const struct query *query, uint64_t row)
{
    struct cg_text name = row_name(query, row);
    return query_keeps(query, &name, 1);
}

/* What only intervals have. */
static void emit_interval(struct json_doc *doc, const struct query *query, const struct suspect *suspect)
{
    const struct cg_trace *trace = query->input->trace;
    const struct cg_device_intervals *interval = &trace->device_interval;
    bool is = suspect->plane == SUSPECT_INTERVALS;
    uint32_t row = suspect->row, op = is ? query->input->work.issuer[row] : CG_NONE;
    doc_member_text(doc, "clock_id", trace_text(trace, is ? interval->clock_id[row] : CG_ABSENT));
    doc_member_text(doc, "stream_id", trace_text(trace, is ? interval->stream_id[row] : CG_ABSENT));
    doc_member_u64_or_null(doc, "duration_ns", is, suspect->amount);
    doc_member_u64_or_null(doc, "correlation", is && interval->correlation_set[row],
                           is ? interval->correlation[row] : 0);
    doc_member_u64_or_null(doc, "launched_ns", op != CG_NONE, op != CG_NONE ? trace->op.timestamp_ns[op] : 0);
}

static void emit_suspect(struct json_doc *doc, const struct query *query, uint64_t number)
{
    const struct cg_trace *trace = query->input->trace;
    const struct suspect *suspect = &of(query)->found[number];
    uint32_t row = suspect->row;
    cg_str device = CG_ABSENT;
    uint64_t time = 0;
    switch ((enum suspect_plane)suspect->plane) {
    case SUSPECT_INTERVALS:
        device = trace->device_interval.device[row];
        time = trace->device_interval.start_ns[row];
        break;
    case SUSPECT_STORAGES:
        device = trace->memory.device[row];
        time = trace->memory.timestamp_ns[row];
        break;
    case SUSPECT_SAMPLES:
    case SUSPECT_PLANE_COUNT:
        device = trace->device_memory.device[row];
        time = trace->device_memory.timestamp_ns[row];
        break;
    }
    doc_object(doc);
    doc_member_string(doc, "rule", suspect_rules[suspect->rule].rule);
    doc_member_string(doc, "record", suspect_plane_kind[suspect->plane]);
    doc_member_text(doc, "name", row_name(query, number));
    doc_member_text(doc, "device", trace_text(trace, device));
    doc_member_u64(doc, "timestamp_ns", time);
    emit_interval(doc, query, suspect);
    doc_member_u64_or_null(doc, "bytes", suspect->plane == SUSPECT_STORAGES,
                           suspect->plane == SUSPECT_STORAGES ? trace->memory.bytes[row] : 0);
    doc_member_u64_or_null(doc, "excess", suspect->excess > 0, suspect->excess);
    doc_object_end(doc);
}

static const struct query_rows rows = {
    .count = row_count, .name = row_name, .matches = row_matches, .emit = emit_suspect};

/* ---- what stands beside the rows ---- */

static const struct query *query_of(const void *page)
{
    return ((const struct page *)page)->query;
}

static void emit_definition(struct json_doc *doc, const void *page)
{
    (void)page;
    doc_string(
        doc, "A record is suspect when it breaks a rule that no run can break; `excess` says by how many "
             "nanoseconds or bytes. Times of intervals are those of their clock. share_of_time is what the "
             "suspect intervals would have made up of the durations of all. Kinds kernels, copies, api, "
             "oom, leaks, temporaries, peak, churn, ledger and idle leave them out; the kinds of the format "
             "take every record as it is. Storages that were there before the capture are stamped 0 and "
             "are not suspect.");
}

static void emit_records(struct json_doc *doc, const void *page)
{
    const struct suspects *suspects = of(query_of(page));
    doc_object(doc);
    for (enum suspect_plane plane = 0; plane < SUSPECT_PLANE_COUNT; plane++) {
        doc_key(doc, suspect_plane_kind[plane]);
        emit_suspect_tally(doc, plane, &suspects->tally[plane]);
    }
    doc_object_end(doc);
}

static void emit_rules(struct json_doc *doc, const void *page)
{
    (void)page;
    doc_array(doc);
    for (unsigned i = 0; i < SUSPECT_RULE_COUNT; i++) {
        doc_object(doc);
        doc_member_string(doc, "rule", suspect_rules[i].rule);
        doc_member_string(doc, "record", suspect_plane_kind[suspect_rules[i].plane]);
        doc_member_string(doc, "meaning", suspect_rules[i].meaning);
        doc_object_end(doc);
    }
    doc_array_end(doc);
}

static void emit_clocks(struct json_doc *doc, const void *page)
{
    const struct query *query = query_of(page);
    const struct cg_trace *trace = query->input->trace;
    const struct device_work *work = &query->input->work;
    doc_array(doc);
    for (size_t i = 0; i < work->clock_count; i++) {
        const struct work_clock *clock = &work->clocks[i];
        const struct suspect_clock *suspects = &of(query)->clocks[i];
        doc_object(doc);
        doc_member_text(doc, "device", trace_text(trace, clock->device));
        doc_member_text(doc, "clock_id", trace_text(trace, clock->clock_id));
        doc_member_u64(doc, "intervals", clock->interval_count);
        doc_member_u64(doc, "suspects", suspects->count);
        doc_member_u64(doc, "duration_ns", clock->duration_ns);
        doc_member_u64(doc, "suspect_duration_ns", suspects->duration_ns);
        doc_member_double_or_null(doc, "share_of_time", clock->duration_ns > 0,
                                  (double)suspects->duration_ns / (double)clock->duration_ns);
        doc_member_bool(doc, "anchored", clock->anchors != NULL);
        doc_object_end(doc);
    }
    doc_array_end(doc);
}

static void emit_launches(struct json_doc *doc, const void *page)
{
    doc_u64(doc, of(query_of(page))->launches_compared);
}

static void emit(struct json_doc *doc, const void *object)
{
    static const struct json_member members[] = {{"definition", emit_definition, NULL},
                                                 {"rules", emit_rules, NULL},
                                                 {"records", emit_records, NULL},
                                                 {"clocks", emit_clocks, NULL},
                                                 {"launches_compared", emit_launches, NULL},
                                                 PAGE_MEMBERS};
    struct page page = page_of(object);
    doc_members(doc, members, sizeof members / sizeof *members, &page);
}

const struct query_kind query_suspects = {
    .name = "suspects",
    .about = "records that cannot be true, and the share of time that they would have made up",
    .pages = &rows,
    .needs = {.extras = true, .work = true},
    .rows = "rows",
    .emit = emit,
};
