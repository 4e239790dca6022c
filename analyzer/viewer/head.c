#include "analyzer/viewer/head.h"

#include "analyzer/trace/devices.h"

static void member_text(struct json_doc *doc, const struct cg_trace *trace, const char *key, cg_str string)
{
    struct cg_text text = text_beginning(trace_text(trace, string), NAME_BYTES_MAX);
    if (text.bytes)
        doc_member_bytes(doc, key, text.bytes, text.length);
    else
        doc_member_null(doc, key);
}

static void member_shown(struct json_doc *doc, const char *key, struct shown shown)
{
    doc_key(doc, key);
    doc_object(doc);
    doc_member_u64(doc, "displayed", shown.displayed);
    doc_member_u64(doc, "total", shown.total);
    doc_object_end(doc);
}

static void member_signed(struct json_doc *doc, const char *key, int64_t value)
{
    doc_key(doc, key);
    doc_double(doc, (double)value);
}

static void emit_run(struct json_doc *doc, const struct viewer_run *run)
{
    const struct cg_trace *trace = run->trace;
    const struct cg_run *meta = &trace->run;
    doc_object(doc);
    member_text(doc, trace, "entrypoint", meta->entrypoint);
    member_text(doc, trace, "run_id", meta->run_id);
    doc_member_string(doc, "phase", cg_name_PHASE[meta->phase]);
    member_text(doc, trace, "device", meta->device);
    doc_key(doc, "devices");
    doc_array(doc);
    for (size_t i = 0; trace->devices && i < trace->devices->count; i++) {
        doc_object(doc);
        doc_member_string(doc, "device", trace->devices->items[i].device);
        doc_member_string(doc, "name", trace->devices->items[i].name);
        doc_object_end(doc);
    }
    doc_array_end(doc);
    member_text(doc, trace, "timestamp", meta->timestamp);
    doc_member_u64(doc, "capture_step", meta->capture_step);
    doc_member_string(doc, "outcome", cg_name_OUTCOME[trace->terminal.outcome]);
    member_text(doc, trace, "reason", trace->terminal.reason);
    doc_member_u64(doc, "end_ns", trace->terminal.timestamp_ns);
    doc_member_bool(doc, "valid", run->evidence->health.structurally_valid);
    doc_object_end(doc);
}

static void emit_counts(struct json_doc *doc, const struct viewer_run *run)
{
    const struct cg_trace *trace = run->trace;
    doc_object(doc);
    doc_member_u64(doc, "spans", trace->span.rows);
    doc_member_u64(doc, "operations", trace->op.rows);
    doc_member_u64(doc, "device_intervals", trace->device_interval.rows);
    doc_member_u64(doc, "memory_events", trace->memory.rows);
    doc_member_u64(doc, "device_memory_samples", trace->device_memory.rows);
    doc_member_u64(doc, "tensors", trace->tensor.rows);
    doc_member_u64(doc, "tensor_statistics", trace->tensor_stats.rows);
    doc_member_u64(doc, "gradients", trace->gradient.rows);
    doc_member_u64(doc, "edges", trace->edge.rows);
    doc_object_end(doc);
}

static void emit_track(struct json_doc *doc, const struct cg_trace *trace, const struct track *track)
{
    doc_object(doc);
    doc_member_bool(doc, "rest", track->rest);
    if (track->device != CG_ABSENT) {
        doc_member_u64(doc, "clock", track->clock);
        member_text(doc, trace, "stream", track->stream);
    } else if (track->known) {
        doc_member_u64(doc, "tid", track->tid);
    }
    doc_member_u64(doc, "lanes", track->lanes);
    doc_member_u64(doc, "slices", track->count);
    doc_object_end(doc);
}

static void emit_clock(struct json_doc *doc, const struct cg_trace *trace, const struct device_clock *clock)
{
    doc_object(doc);
    member_text(doc, trace, "device", clock->device);
    member_text(doc, trace, "clock_id", clock->clock_id);
    doc_member_u64(doc, "first_ns", clock->first_ns);
    doc_member_u64(doc, "last_ns", clock->last_ns);
    doc_member_bool(doc, "joined", clock->joined);
    member_signed(doc, "shift_ns", clock->shift_ns);
    /* Where its first slice stands in host time; and how long it goes on from there. */
    member_signed(doc, "origin_ns",
                  clock->joined ? (int64_t)(clock->first_ns + (uint64_t)clock->shift_ns) : 0);
    doc_member_u64(doc, "length_ns", clock->last_ns - clock->first_ns);
    doc_object_end(doc);
}

static void emit_timeline(struct json_doc *doc, const struct cg_trace *trace, const struct slices *slices,
                          const struct levels *levels)
{
    doc_object(doc);
    doc_key(doc, "tracks");
    doc_array(doc);
    for (size_t i = 0; i < slices->track_count; i++)
        emit_track(doc, trace, &slices->tracks[i]);
    doc_array_end(doc);
    doc_key(doc, "clocks");
    doc_array(doc);
    for (size_t i = 0; i < slices->clock_count; i++)
        emit_clock(doc, trace, &slices->clocks[i]);
    doc_array_end(doc);
    doc_key(doc, "levels");
    doc_array(doc);
    for (size_t i = 0; i < levels->count; i++) {
        doc_object(doc);
        doc_member_u64(doc, "bucket_ns", levels->list[i].merged ? UINT64_C(1) << levels->list[i].bits : 0);
        doc_member_u64(doc, "entries", levels->list[i].entries);
        doc_object_end(doc);
    }
    doc_array_end(doc);
    doc_member_u64(doc, "slices", slices->count);
    doc_member_u64(doc, "untimed", slices->untimed);
    doc_object_end(doc);
}

/* The measured span; null when there is none that ended. */
static void emit_measured(struct json_doc *doc, const struct cg_trace *trace)
{
    for (size_t i = 0; i < trace->span.rows; i++) {
        if (!trace->span.measured[i] || !trace->span.closed[i]) continue;
        doc_object(doc);
        doc_member_u64(doc, "start_ns", trace->span.start_ns[i]);
        doc_member_u64(doc, "duration_ns", trace->span.duration_ns[i]);
        doc_object_end(doc);
        return;
    }
    doc_null(doc);
}

void head_emit(struct json_doc *doc, const struct head *head, const struct viewer_run *run,
               const struct slices *slices, const struct levels *levels, struct names *names)
{
    const struct cg_trace *trace = run->trace;
    doc_object(doc);
    doc_member_string(doc, "schema", VIEWER_SCHEMA);
    doc_member_string(doc, "version", CGT_VERSION);
    doc_member_string(doc, "input", run->input);
    doc_member_bool(doc, "compared", head->compared);
    doc_key(doc, "run");
    emit_run(doc, run);
    doc_key(doc, "counts");
    emit_counts(doc, run);
    doc_key(doc, "measured");
    emit_measured(doc, trace);
    doc_key(doc, "timeline");
    emit_timeline(doc, trace, slices, levels);
    member_shown(doc, "costs", head->costs);
    member_shown(doc, "feeds", head->feeds);
    member_shown(doc, "blocks", head->blocks);
    doc_member_u64(doc, "merged_paths", head->merged_paths);
    doc_key(doc, "documents");
    doc_array(doc);
    for (size_t i = 0; i < run->document_count; i++)
        doc_string(doc, run->documents[i].name);
    doc_array_end(doc);
    doc_member_u64(doc, "names", names->count);
    doc_object_end(doc);
}
