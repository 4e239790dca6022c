#include "analyzer/evidence/oom_view.h"

#include <errno.h>

#include "analyzer/evidence/bounded.h"

enum { OWNERS = 10 };

static bool make_groupers(struct oom_view *view)
{
    for (int by = 0; by < OOM_GROUPINGS; by++) {
        view->groupers[by] =
            storage_grouper_new(view->trace, &view->memory, &view->paths, (enum storage_grouping)by);
        if (!view->groupers[by]) return false;
    }
    return true;
}

bool oom_view_make(const struct cg_trace *trace, const struct evidence *evidence,
                   const struct suspects *suspects, struct oom_view *view)
{
    *view = (struct oom_view){.trace = trace, .evidence = evidence, .suspects = suspects};
    bool made = suspects || suspects_make(trace, NULL, &view->own_suspects);
    if (!suspects) view->suspects = &view->own_suspects;
    made = made && oom_failures_make(trace, &view->failures);
    /* The rest is asked of failures alone, which most traces have none of. */
    if (made && view->failures.count > 0)
        made = evidence_trusted_logical(evidence, trace, view->suspects, &view->memory) &&
               span_paths_make(trace, &view->paths) && live_index_make(trace, &view->memory, &view->index) &&
               make_groupers(view);
    if (made) return true;
    oom_view_free(view);
    return false;
}

void oom_view_free(struct oom_view *view)
{
    for (int by = 0; by < OOM_GROUPINGS; by++)
        storage_grouper_free(view->groupers[by]);
    live_index_free(&view->index);
    oom_failures_free(&view->failures);
    span_paths_free(&view->paths);
    if (view->evidence) evidence_logical_free(view->evidence, &view->memory);
    suspects_free(&view->own_suspects);
}

/* A failure and its details. */
struct failure {
    const struct oom_view *view;
    uint32_t op;
    struct oom_detail detail;
};

static void member_str(struct json_doc *doc, const struct cg_trace *trace, const char *key, cg_str string)
{
    struct cg_text text = trace_text(trace, string);
    doc_key(doc, key);
    if (text.bytes)
        doc_string_bytes(doc, text.bytes, text.length);
    else
        doc_null(doc);
}

static uint32_t path_of_span(const struct oom_view *view, cg_str span_id)
{
    uint32_t span = trace_span(view->trace, span_id);
    return span == CG_NONE ? CG_NONE : view->paths.of_span[span];
}

/* ---- the call and the device ---- */

static const char *verdict_word(enum oom_verdict verdict)
{
    static const char *const words[] = {"not_known", "more_than_free", "fits_in_free"};
    return words[verdict];
}

static void emit_pool(struct json_doc *doc, const struct failure *failure)
{
    const struct cg_device_memory *samples = &failure->view->trace->device_memory;
    uint32_t row = failure->detail.sample;
    bool known = row != CG_NONE && samples->reserved_bytes_set[row];
    doc_key(doc, "pool");
    if (!known) {
        doc_null(doc);
        return;
    }
    doc_object(doc);
    doc_member_u64(doc, "reserved_bytes", samples->reserved_bytes[row]);
    doc_member_u64(doc, "live_bytes", failure->detail.live_pool_bytes);
    doc_member_u64(doc, "held_back_bytes",
                   cg_sat_sub(samples->reserved_bytes[row], failure->detail.live_pool_bytes));
    doc_object_end(doc);
}

static void emit_call(struct json_doc *doc, const struct failure *failure)
{
    const struct cg_trace *trace = failure->view->trace;
    const struct cg_ops *op = &trace->op;
    uint32_t row = failure->op;
    member_str(doc, trace, "operation", op->op_name[row]);
    member_str(doc, trace, "api", op->api[row]);
    doc_member_u64(doc, "timestamp_ns", op->timestamp_ns[row]);
    member_str(doc, trace, "device", op->device[row]);
    doc_member_u64_or_null(doc, "tid", op->tid_set[row], op->tid[row]);
    doc_member_u64_or_null(doc, "requested_bytes", op->requested_bytes_set[row], op->requested_bytes[row]);
    doc_member_string(doc, "verdict", verdict_word(failure->detail.verdict));
    emit_frames(doc, trace, op->stack[row]);
    emit_pool(doc, failure);
    emit_span_path(doc, trace, &failure->view->paths, path_of_span(failure->view, op->span_id[row]));
}

static void emit_device(struct json_doc *doc, const struct failure *failure)
{
    const struct cg_device_memory *samples = &failure->view->trace->device_memory;
    uint32_t row = failure->detail.sample;
    doc_key(doc, "device_memory");
    if (row == CG_NONE) {
        doc_null(doc);
        return;
    }
    doc_object(doc);
    doc_member_u64(doc, "timestamp_ns", samples->timestamp_ns[row]);
    doc_member_u64(doc, "changes_before_sample", failure->detail.changes);
    doc_member_u64_or_null(doc, "used_bytes", samples->used_bytes_set[row], samples->used_bytes[row]);
    doc_member_u64_or_null(doc, "free_bytes", samples->free_bytes_set[row], samples->free_bytes[row]);
    doc_member_u64_or_null(doc, "reserved_bytes", samples->reserved_bytes_set[row],
                           samples->reserved_bytes[row]);
    doc_member_u64_or_null(doc, "capacity_bytes", samples->capacity_bytes_set[row],
                           samples->capacity_bytes[row]);
    doc_object_end(doc);
}

/* ---- who held the memory ---- */

struct owners {
    struct storage_view view;
    uint64_t live_bytes;
};

static void emit_owner(struct json_doc *doc, const void *list, uint64_t i)
{
    const struct owners *owners = list;
    const struct storage_group *group = &owners->view.groups->groups[i];
    char name[STORAGE_NAME_SIZE];
    size_t length = storage_group_name(&owners->view, group, name);
    doc_object(doc);
    doc_member_bytes(doc, "name", name, length);
    doc_member_u64(doc, "storages", group->selected);
    doc_member_u64(doc, "bytes", group->selected_bytes);
    doc_member_double_or_null(doc, "share_of_live", owners->live_bytes > 0,
                              (double)group->selected_bytes / (double)owners->live_bytes);
    emit_storage_group_place(doc, &owners->view, group);
    doc_object_end(doc);
}

/* Storages of one layer. */
struct layer {
    const struct failure *failure;
    const uint32_t *lifetimes;
    size_t count;
    uint64_t bytes;
    uint32_t largest[OOM_LARGEST];
};

static void emit_owners(struct json_doc *doc, const struct layer *layer, const char *key,
                        enum storage_grouping by)
{
    const struct oom_view *view = layer->failure->view;
    struct storage_groups groups;
    if (!storage_grouper_list(view->groupers[by], layer->lifetimes, layer->count, &groups)) {
        doc_fail(doc, ENOMEM);
        return;
    }
    struct owners owners = {{view->trace, &view->paths, &groups, view->people}, layer->bytes};
    doc_key(doc, key);
    emit_bounded(doc, groups.count, OWNERS, emit_owner, &owners);
    storage_groups_free(&groups);
}

static void emit_storage(struct json_doc *doc, const void *list, uint64_t i)
{
    const struct layer *layer = list;
    const struct oom_view *view = layer->failure->view;
    const struct cg_trace *trace = view->trace;
    const struct lifetime *lifetime = &view->memory.lifetimes[layer->largest[i]];
    const struct cg_memory *records = &trace->memory;
    uint64_t start = lifetime_start(trace, lifetime);
    doc_object(doc);
    member_str(doc, trace, "storage_id", records->storage_id[lifetime->row]);
    doc_member_u64(doc, "bytes", records->bytes[lifetime->row]);
    doc_member_string(doc, "category", cg_name_CATEGORY[records->category[lifetime->row]]);
    doc_member_u64(doc, "age_ns", cg_sat_sub(layer->failure->detail.time_ns, start));
    member_str(doc, trace, "operation", storage_call(trace, lifetime->row));
    emit_span_path(doc, trace, &view->paths, path_of_span(view, records->span_id[lifetime->row]));
    emit_frames(doc, trace, storage_stack(trace, lifetime->row));
    doc_object_end(doc);
}

/* Who holds the storages of a layer, into an open object. */
static void emit_layer(struct json_doc *doc, struct layer *layer)
{
    size_t largest =
        oom_largest(&layer->failure->view->index, layer->lifetimes, layer->count, layer->largest);
    emit_owners(doc, layer, "by_call_site", GROUP_BY_STACK);
    emit_owners(doc, layer, "by_span", GROUP_BY_SPAN);
    emit_owners(doc, layer, "by_category", GROUP_BY_CATEGORY);
    doc_key(doc, "largest");
    doc_object(doc);
    emit_bounded_members(doc, layer->count, largest, emit_storage, layer);
    doc_object_end(doc);
}

static void emit_live(struct json_doc *doc, const struct failure *failure)
{
    const struct oom_detail *detail = &failure->detail;
    const struct cg_device_memory *samples = &failure->view->trace->device_memory;
    bool used = detail->sample != CG_NONE && samples->used_bytes_set[detail->sample];
    struct layer layer = {failure, detail->live, detail->live_count, detail->live_bytes, {0}};
    doc_key(doc, "live");
    doc_object(doc);
    doc_member_u64(doc, "storages", detail->live_count);
    doc_member_u64(doc, "bytes", detail->live_bytes);
    doc_member_u64_or_null(doc, "used_and_in_no_storage_bytes", used,
                           used ? cg_sat_sub(samples->used_bytes[detail->sample], detail->live_bytes) : 0);
    emit_layer(doc, &layer);
    doc_object_end(doc);
}

/* What a framework's allocator has given out of the driver's storages; null where it says nothing of it. */
static void emit_framework(struct json_doc *doc, const struct failure *failure)
{
    const struct oom_detail *detail = &failure->detail;
    const struct cg_trace *trace = failure->view->trace;
    struct layer layer = {failure, detail->live + detail->live_count, detail->framework_count, 0, {0}};
    doc_key(doc, "live_of_framework");
    if (layer.count == 0) {
        doc_null(doc);
        return;
    }
    for (size_t i = 0; i < layer.count; i++)
        layer.bytes = cg_sat_add(
            layer.bytes, trace->memory.bytes[failure->view->memory.lifetimes[layer.lifetimes[i]].row]);
    doc_object(doc);
    doc_member_u64(doc, "storages", layer.count);
    doc_member_u64(doc, "bytes", layer.bytes);
    emit_layer(doc, &layer);
    doc_object_end(doc);
}

/* ---- what happened before ---- */

static void emit_event(struct json_doc *doc, const struct cg_trace *trace, const struct oom_event *event)
{
    const struct cg_memory *records = &trace->memory;
    const struct cg_ops *ops = &trace->op;
    uint32_t row = event->memory_row, op = event->op_row;
    bool memory = row != CG_NONE, call = op != CG_NONE;
    doc_object(doc);
    doc_member_u64(doc, "timestamp_ns", event->time_ns);
    doc_member_string(doc, "event", memory ? cg_name_ACTION[records->action[row]] : "operation");
    member_str(doc, trace, "name", memory ? storage_call(trace, row) : ops->op_name[op]);
    doc_member_u64_or_null(doc, "tid", memory ? records->tid_set[row] : ops->tid_set[op],
                           memory ? records->tid[row] : ops->tid[op]);
    doc_member_u64_or_null(doc, "bytes", memory || ops->bytes_set[op] || ops->requested_bytes_set[op],
                           memory               ? records->bytes[row]
                           : ops->bytes_set[op] ? ops->bytes[op]
                                                : ops->requested_bytes[op]);
    doc_member_u64_or_null(doc, "duration_ns", call, call ? ops->duration_ns[op] : 0);
    doc_member_u64_or_null(doc, "error", call && ops->error_set[op], call ? ops->error[op] : 0);
    doc_object_end(doc);
}

static void emit_events(struct json_doc *doc, const struct failure *failure)
{
    doc_key(doc, "last_events");
    doc_array(doc);
    for (size_t i = 0; i < failure->detail.event_count; i++)
        emit_event(doc, failure->view->trace, &failure->detail.events[i]);
    doc_array_end(doc);
}

void emit_oom_failure(struct json_doc *doc, const struct oom_view *view, uint64_t number)
{
    struct failure failure = {.view = view, .op = view->failures.ops[number]};
    if (!oom_detail_make(&view->index, &view->failures, failure.op, &failure.detail)) {
        doc_fail(doc, ENOMEM);
        doc_null(doc);
        return;
    }
    doc_object(doc);
    emit_call(doc, &failure);
    emit_device(doc, &failure);
    emit_live(doc, &failure);
    if (failure.detail.framework_count > 0 || !view->people) emit_framework(doc, &failure);
    emit_events(doc, &failure);
    doc_object_end(doc);
    oom_detail_free(&failure.detail);
}

/* ---- in brief ---- */

enum { BRIEFS = 5 };

static bool find_owner(const struct oom_view *view, const struct oom_detail *detail, struct oom_brief *brief)
{
    struct storage_groups groups;
    if (!storage_grouper_list(view->groupers[GROUP_BY_STACK], detail->live, detail->live_count, &groups))
        return false;
    struct storage_view named = {.trace = view->trace, .paths = &view->paths, .groups = &groups};
    if (groups.count > 0) {
        brief->owner_bytes = groups.groups[0].selected_bytes;
        storage_group_name(&named, &groups.groups[0], brief->owner);
    }
    storage_groups_free(&groups);
    return true;
}

bool oom_brief_make(const struct oom_view *view, uint64_t number, struct oom_brief *brief)
{
    struct oom_detail detail;
    *brief = (struct oom_brief){.op = view->failures.ops[number]};
    if (!oom_detail_make(&view->index, &view->failures, brief->op, &detail)) return false;
    brief->sample = detail.sample;
    brief->verdict = verdict_word(detail.verdict);
    brief->live_bytes = detail.live_bytes;
    bool ok = find_owner(view, &detail, brief);
    oom_detail_free(&detail);
    uint32_t path = path_of_span(view, view->trace->op.span_id[brief->op]);
    if (path != CG_NONE) span_path_name(view->trace, &view->paths, path, brief->span_path);
    return ok;
}

void emit_oom_brief(struct json_doc *doc, const void *list, uint64_t i)
{
    const struct oom_view *view = list;
    const struct cg_ops *op = &view->trace->op;
    const struct cg_device_memory *samples = &view->trace->device_memory;
    struct oom_brief brief;
    if (!oom_brief_make(view, i, &brief)) {
        doc_fail(doc, ENOMEM);
        doc_null(doc);
        return;
    }
    bool free_known = brief.sample != CG_NONE && samples->free_bytes_set[brief.sample];
    doc_object(doc);
    member_str(doc, view->trace, "operation", op->op_name[brief.op]);
    doc_member_u64(doc, "timestamp_ns", op->timestamp_ns[brief.op]);
    member_str(doc, view->trace, "device", op->device[brief.op]);
    doc_member_u64_or_null(doc, "requested_bytes", op->requested_bytes_set[brief.op],
                           op->requested_bytes[brief.op]);
    doc_member_u64_or_null(doc, "free_bytes", free_known, free_known ? samples->free_bytes[brief.sample] : 0);
    doc_member_string(doc, "verdict", brief.verdict);
    doc_member_u64(doc, "live_bytes", brief.live_bytes);
    doc_member_string(doc, "largest_owner", brief.owner_bytes ? brief.owner : NULL);
    doc_member_u64_or_null(doc, "largest_owner_bytes", brief.owner_bytes > 0, brief.owner_bytes);
    doc_member_string(doc, "span", brief.span_path[0] ? brief.span_path : NULL);
    doc_object_end(doc);
}

void emit_oom_briefs(struct json_doc *doc, const struct oom_view *view)
{
    emit_bounded(doc, view->failures.count, BRIEFS, emit_oom_brief, view);
}
