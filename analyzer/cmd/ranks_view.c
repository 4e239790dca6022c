/* The document of `ranks` (cgtrace/ranks/1). */
#include "analyzer/cmd/query.h"
#include "analyzer/cmd/ranks_input.h"

static const struct ranks_view *view_of(const struct query *query)
{
    return query->state;
}

static void member_name(struct json_doc *doc, const struct ranks_view *view, const char *key, cg_str name)
{
    doc_member_text(doc, key, strings_text(view->input->names, name));
}

static void member_rank(struct json_doc *doc, const struct ranks_view *view, const char *key, uint32_t rank)
{
    doc_member_string(doc, key, rank == CG_NONE ? NULL : view->input->runs[rank].name);
}

static uint64_t on_axis(const struct ranks_view *view, size_t rank, uint64_t trace_ns)
{
    int64_t time = rank_axis_time(&view->axis->clocks[rank], trace_ns);
    return time > 0 ? (uint64_t)time : 0;
}

/* ---- the axis ---- */

static void emit_machine(struct json_doc *doc, const struct ranks_view *view, size_t i)
{
    const struct rank_machine *machine = &view->axis->machines[i];
    size_t ranks = 0;

    for (size_t k = 0; k < view->axis->count; k++)
        ranks += view->axis->clocks[k].machine == i;
    doc_object(doc);
    doc_member_string(doc, "host", view->input->runs[machine->rank].origin.host);
    doc_member_u64(doc, "ranks", ranks);
    /* Against the first machine, as collectives tell. */
    doc_member_u64(doc, "clock_ahead_ns", machine->shift_ns < 0 ? (uint64_t)-machine->shift_ns : 0);
    doc_member_u64(doc, "clock_behind_ns", machine->shift_ns > 0 ? (uint64_t)machine->shift_ns : 0);
    doc_member_u64(doc, "clock_moved_ns", (uint64_t)(machine->highest_ns - machine->lowest_ns));
    doc_member_u64_or_null(doc, "uncertainty_ns", machine->bounded, machine->bound_ns);
    doc_object_end(doc);
}

static const char *unbounded_reason(const struct ranks_view *view, bool bounded)
{
    if (bounded) return NULL;
    return view->ranks->clocks_conflict
               ? "no offset of the machines' clocks makes all of --collective possible within "
                 "--clock-error-ns: does "
                 "each end only when all ranks have come?"
               : "the ranks are of several machines: name blocking collectives that they share with "
                 "--collective, or say with --clock-error-ns how well their clocks agree";
}

static void emit_axis(struct json_doc *doc, const struct ranks_view *view)
{
    const struct rank_axis *axis = view->axis;
    uint64_t uncertainty, latest_start = 0, earliest_end = UINT64_MAX;
    bool bounded = rank_axis_uncertainty_across(axis, &uncertainty);

    for (size_t i = 0; i < axis->count; i++) {
        uint64_t start = on_axis(view, i, 0), end = on_axis(view, i, view->input->runs[i].end_ns);
        if (start > latest_start) latest_start = start;
        if (end < earliest_end) earliest_end = end;
    }
    doc_object(doc);
    doc_member_string(doc, "clock", axis->machine_count == 1 ? "monotonic" : "realtime");
    doc_member_u64(doc, "zero_realtime_ns", (uint64_t)axis->zero_realtime_ns);
    doc_member_u64_or_null(doc, "uncertainty_ns", bounded, uncertainty);
    doc_member_u64(doc, "uncertainty_of_one_machine_ns", rank_axis_uncertainty(axis));
    doc_member_string(doc, "unbounded_reason", unbounded_reason(view, bounded));
    doc_member_u64(doc, "collectives_aligned", view->ranks->collectives_aligned);
    bool shared = latest_start < earliest_end;
    doc_member_u64_or_null(doc, "all_ranks_from_ns", shared, latest_start);
    doc_member_u64_or_null(doc, "all_ranks_to_ns", shared, earliest_end);
    doc_key(doc, "machines");
    doc_array(doc);
    for (size_t i = 0; i < axis->machine_count; i++)
        emit_machine(doc, view, i);
    doc_array_end(doc);
    doc_object_end(doc);
}

static void emit_criteria(struct json_doc *doc, const struct ranks_criteria *criteria)
{
    doc_object(doc);
    doc_member_u64(doc, "slower_percent", criteria->slower_percent);
    doc_member_u64(doc, "min_excess_ns", criteria->min_excess_ns);
    doc_member_u64_or_null(doc, "clock_error_ns", criteria->clock_error_known, criteria->clock_error_ns);
    doc_key(doc, "collective_prefixes");
    doc_array(doc);
#define EMIT_PREFIX(prefix) doc_string(doc, prefix);
    RANK_COLLECTIVES(EMIT_PREFIX)
#undef EMIT_PREFIX
    if (criteria->collective) doc_string(doc, criteria->collective);
    doc_array_end(doc);
    doc_object_end(doc);
}

/* ---- ranks and their memory ---- */

static void emit_rank(struct json_doc *doc, const struct ranks_view *view, size_t i)
{
    const struct rank_run *run = &view->input->runs[i];
    const struct rank_columns *columns = &view->input->ranks[i].columns;
    const struct rank_totals *totals = &view->ranks->totals[i];

    doc_object(doc);
    doc_member_string(doc, "name", run->name);
    doc_member_u64_or_null(doc, "rank", run->origin.rank_known, (uint64_t)run->origin.rank);
    doc_member_string(doc, "host", run->origin.host[0] ? run->origin.host : NULL);
    doc_member_u64_or_null(doc, "pid", run->origin.pid_known, (uint64_t)run->origin.pid);
    doc_member_string(doc, "path", run->path);
    member_name(doc, view, "run_id", run->run_id);
    doc_member_string(doc, "outcome", cg_name_OUTCOME[run->outcome]);
    member_name(doc, view, "reason", run->reason);
    doc_member_u64(doc, "start_ns", on_axis(view, i, 0));
    doc_member_u64(doc, "end_ns", on_axis(view, i, run->end_ns));
    doc_member_u64(doc, "uncertainty_ns", view->axis->clocks[i].uncertainty_ns);
    doc_member_u64(doc, "spans", columns->occurrence_count);
    doc_member_u64(doc, "open_spans", columns->open_spans);
    member_name(doc, view, "open_in", columns->open_label);
    doc_member_u64_or_null(doc, "open_since_ns", columns->open_spans > 0,
                           on_axis(view, i, columns->open_since_ns));
    doc_member_u64(doc, "last_to_collectives", totals->last_in);
    doc_member_u64(doc, "delay_ns", totals->delay_ns);
    doc_member_u64(doc, "waited_ns", totals->waited_ns);
    doc_member_u64(doc, "failed_allocations", run->out_of_memory);
    doc_object_end(doc);
}

static void emit_device(struct json_doc *doc, const struct ranks_view *view, uint32_t rank,
                        const struct rank_device *device)
{
    const struct memory_device *storages = &device->storages;
    const struct physical_device *samples = &device->samples;

    doc_object(doc);
    member_rank(doc, view, "rank", rank);
    member_name(doc, view, "device", device->device);
    doc_member_u64_or_null(doc, "peak_live_bytes", device->logical && storages->peak_known,
                           storages->peak_live_bytes);
    doc_member_u64_or_null(doc, "peak_ns", device->logical && storages->peak_known,
                           on_axis(view, rank, storages->peak_timestamp_ns));
    doc_member_u64_or_null(doc, "at_end_bytes", device->logical, device->at_end_bytes);
    doc_member_u64_or_null(doc, "at_end_storages", device->logical, device->at_end_storages);
    doc_member_u64_or_null(doc, "peak_used_bytes", samples->used_known, samples->peak_used_bytes);
    doc_member_u64_or_null(doc, "minimum_free_bytes", samples->free_known, samples->minimum_free_bytes);
    doc_member_u64_or_null(doc, "peak_reserved_bytes", samples->reserved_known, samples->peak_reserved_bytes);
    doc_member_u64_or_null(doc, "capacity_bytes", samples->capacity_known, samples->maximum_capacity_bytes);
    doc_object_end(doc);
}

static void emit_memory_rows(struct json_doc *doc, const struct ranks_view *view)
{
    doc_array(doc);
    for (uint32_t i = 0; i < view->input->count; i++)
        for (size_t k = 0; k < view->input->runs[i].memory.count; k++)
            emit_device(doc, view, i, &view->input->runs[i].memory.devices[k]);
    doc_array_end(doc);
}

/* ---- findings ---- */

static void emit_straggler(struct json_doc *doc, const void *object, uint64_t i)
{
    const struct ranks_view *view = object;
    const struct rank_straggler *slow = &view->ranks->stragglers[i];

    doc_object(doc);
    member_rank(doc, view, "rank", slow->rank);
    doc_member_string(doc, "host", view->input->runs[slow->rank].origin.host);
    member_name(doc, view, "label", slow->label);
    doc_member_string(doc, "time", slow->plane == RANK_HOST ? "host_self" : "device");
    doc_member_double(doc, "slower_by", (double)slow->median_ns / (double)slow->others_ns);
    doc_member_u64(doc, "median_ns", slow->median_ns);
    doc_member_u64(doc, "others_median_ns", slow->others_ns);
    doc_member_u64(doc, "excess_ns", slow->excess_ns);
    doc_member_u64(doc, "slow_in", slow->slow_in);
    doc_member_u64(doc, "occurrences", slow->occurrences);
    doc_object_end(doc);
}

static void emit_collective(struct json_doc *doc, const void *object, uint64_t i)
{
    const struct ranks_view *view = object;
    const struct rank_collective *collective = &view->ranks->collectives[i];
    const struct rank_label_row *row = &view->ranks->labels[collective->row];

    doc_object(doc);
    member_name(doc, view, "label", row->label);
    doc_member_string(doc, "told_by", row->role == RANK_ROLE_COLLECTIVE ? "name" : "times");
    doc_member_u64(doc, "ranks", row->ranks);
    doc_member_u64(doc, "occurrences", collective->occurrences);
    member_rank(doc, view, "last_rank", collective->last_rank);
    doc_member_u64(doc, "last_in", collective->last_in);
    doc_member_u64(doc, "undecided", collective->undecided);
    doc_member_u64(doc, "delay_ns", collective->delay_ns);
    doc_member_u64(doc, "waited_ns", collective->waited_ns);
    doc_object_end(doc);
}

/* ---- labels, in pages ---- */

static uint64_t label_count(const struct query *query)
{
    return view_of(query)->ranks->label_count;
}

static struct cg_text label_name(const struct query *query, uint64_t row)
{
    const struct ranks_view *view = view_of(query);
    return strings_text(view->input->names, view->ranks->labels[row].label);
}

static bool label_matches(const struct query *query, uint64_t row)
{
    struct cg_text name = label_name(query, row);
    return query_keeps(query, &name, 1);
}

static void label_emit(struct json_doc *doc, const struct query *query, uint64_t number)
{
#define ROLE_WORD(suffix, word, meaning) word,
    static const char *const roles[] = {RANK_ROLES(ROLE_WORD)};
    const struct ranks_view *view = view_of(query);
    const struct rank_label_row *row = &view->ranks->labels[number];

    doc_object(doc);
    member_name(doc, view, "label", row->label);
    doc_member_string(doc, "role", roles[row->role]);
    doc_member_u64(doc, "ranks", row->ranks);
    doc_member_u64(doc, "fewest", row->fewest);
    doc_member_u64(doc, "most", row->most);
    doc_member_bool(doc, "matched", row->matched);
    doc_member_u64_or_null(doc, "start_skew_median_ns", row->skew_known, row->start.median_ns);
    doc_member_u64_or_null(doc, "start_skew_greatest_ns", row->skew_known, row->start.greatest_ns);
    doc_member_u64_or_null(doc, "end_skew_median_ns", row->skew_known, row->end.median_ns);
    doc_member_u64_or_null(doc, "end_skew_greatest_ns", row->skew_known, row->end.greatest_ns);
    member_rank(doc, view, "slowest_rank", row->slowest);
    doc_member_u64(doc, "slowest_self_median_ns", row->slowest_ns);
    member_rank(doc, view, "fastest_rank", row->fastest);
    doc_member_u64(doc, "fastest_self_median_ns", row->fastest_ns);
    doc_object_end(doc);
}

static const struct query_rows label_rows = {
    .count = label_count, .name = label_name, .matches = label_matches, .emit = label_emit};
const struct query_kind ranks_labels = {.name = "labels", .pages = &label_rows};

static void emit_labels(struct json_doc *doc, const struct query *query)
{
    static const struct json_member members[] = {PAGE_MEMBERS};
    struct page page = page_of(query);
    doc_members(doc, members, sizeof members / sizeof *members, &page);
}

/* ---- all of it ---- */

void emit_ranks(struct json_doc *doc, const void *object)
{
    const struct query *query = object;
    const struct ranks_view *view = view_of(query);
    uint64_t cap = query->all ? UINT64_MAX : query->limit;

    doc_object(doc);
    doc_member_string(doc, "schema", "cgtrace/ranks/1");
    doc_key(doc, "tool");
    emit_tool(doc);
    doc_key(doc, "axis");
    emit_axis(doc, view);
    doc_key(doc, "criteria");
    emit_criteria(doc, view->criteria);
    doc_key(doc, "stragglers");
    emit_bounded(doc, view->ranks->straggler_count, cap, emit_straggler, view);
    doc_key(doc, "collectives");
    emit_bounded(doc, view->ranks->collective_count, cap, emit_collective, view);
    doc_key(doc, "ranks");
    doc_array(doc);
    for (size_t i = 0; i < view->input->count; i++)
        emit_rank(doc, view, i);
    doc_array_end(doc);
    doc_key(doc, "memory");
    emit_memory_rows(doc, view);
    doc_key(doc, "labels");
    emit_labels(doc, query);
    doc_object_end(doc);
}
