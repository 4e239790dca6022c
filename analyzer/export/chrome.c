/* Trace Event JSON, as chrome://tracing and the Perfetto UI open it (Google, "Trace Event Format"). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyzer/export/counters.h"
#include "analyzer/export/export.h"
#include "analyzer/planes/array.h"

enum { HOST_PROCESS = 1, NAME_SIZE = 512 };

struct chrome {
    struct export_job *job;
    const struct cg_trace *trace;
    struct json_doc *doc;
    struct export_rows rows;
    uint32_t *op_thread; /* by op: the row it stands in + 1; 0: in none */
};

/* ---- members ---- */

static void member_text(struct chrome *chrome, const char *key, cg_str string)
{
    struct cg_text text = trace_text(chrome->trace, string);
    if (text.bytes) doc_member_bytes(chrome->doc, key, text.bytes, text.length);
}

static void member_u64(struct chrome *chrome, const char *key, bool known, uint64_t value)
{
    if (known) doc_member_u64(chrome->doc, key, value);
}

/* Microseconds, with the ns after the point. */
static void member_time(struct chrome *chrome, const char *key, uint64_t ns)
{
    doc_member_double(chrome->doc, key, (double)ns / 1e3);
}

/* The members that every event has; the object stays open. */
static void begin_event(struct chrome *chrome, const char *phase, uint64_t process, uint64_t thread)
{
    doc_object(chrome->doc);
    doc_member_string(chrome->doc, "ph", phase);
    doc_member_u64(chrome->doc, "pid", process);
    doc_member_u64(chrome->doc, "tid", thread);
}

/* ---- processes and threads ---- */

static uint64_t process_of(const struct chrome *chrome, const struct export_row *row)
{
    if (export_row_is_host(&chrome->rows, row)) return HOST_PROCESS;
    return HOST_PROCESS + 1 + chrome->rows.slices.tracks[row->track].clock;
}

static void name_it(struct chrome *chrome, const char *what, uint64_t process, uint64_t thread,
                    const char *name)
{
    begin_event(chrome, "M", process, thread);
    doc_member_string(chrome->doc, "name", what);
    doc_key(chrome->doc, "args");
    doc_object(chrome->doc);
    doc_member_string(chrome->doc, "name", name);
    doc_object_end(chrome->doc);
    doc_object_end(chrome->doc);
}

static void emit_names(struct chrome *chrome)
{
    const struct cg_trace *trace = chrome->trace;
    char name[NAME_SIZE];
    name_it(chrome, "process_name", HOST_PROCESS, 0, "host");
    for (size_t c = 0; c < chrome->rows.slices.clock_count; c++) {
        export_clock_name(trace, &chrome->rows.slices.clocks[c], name, sizeof name);
        name_it(chrome, "process_name", HOST_PROCESS + 1 + c, 0, name);
    }
    for (size_t r = 0; r < chrome->rows.count; r++) {
        export_row_name(trace, &chrome->rows, &chrome->rows.list[r], name, sizeof name);
        name_it(chrome, "thread_name", process_of(chrome, &chrome->rows.list[r]), r + 1, name);
    }
}

/* ---- slices ---- */

static void span_args(struct chrome *chrome, uint32_t row)
{
    const struct cg_spans *spans = &chrome->trace->span;
    member_text(chrome, "id", spans->id[row]);
    member_text(chrome, "parent_id", spans->parent_id[row]);
    doc_member_string(chrome->doc, "span_kind", cg_name_SPAN_KIND[spans->span_kind[row]]);
    if (spans->measured[row]) doc_member_bool(chrome->doc, "measured", true);
    if (spans->step[row]) doc_member_string(chrome->doc, "step", cg_name_STEP[spans->step[row] - 1]);
    member_text(chrome, "source", spans->source[row]);
    member_text(chrome, "domain", spans->domain[row]);
    member_text(chrome, "category", spans->category[row]);
}

static void op_args(struct chrome *chrome, uint32_t row)
{
    const struct cg_ops *ops = &chrome->trace->op;
    member_text(chrome, "span_id", ops->span_id[row]);
    member_text(chrome, "api", ops->api[row]);
    member_text(chrome, "device", ops->device[row]);
    member_text(chrome, "stream_id", ops->stream_id[row]);
    member_u64(chrome, "correlation", ops->correlation_set[row], ops->correlation[row]);
    member_u64(chrome, "bytes", ops->bytes_set[row], ops->bytes[row]);
    member_u64(chrome, "requested_bytes", ops->requested_bytes_set[row], ops->requested_bytes[row]);
    member_u64(chrome, "error", ops->error_set[row], ops->error[row]);
}

static void interval_args(struct chrome *chrome, uint32_t row)
{
    const struct cg_device_intervals *intervals = &chrome->trace->device_interval;
    member_text(chrome, "span_id", intervals->span_id[row]);
    member_text(chrome, "backend", intervals->backend[row]);
    member_u64(chrome, "start_ns", true, intervals->start_ns[row]);
    member_u64(chrome, "correlation", intervals->correlation_set[row], intervals->correlation[row]);
    member_u64(chrome, "bytes", intervals->bytes_set[row], intervals->bytes[row]);
    member_u64(chrome, "uncertainty_ns", intervals->uncertainty_ns_set[row], intervals->uncertainty_ns[row]);
}

static void emit_category(struct chrome *chrome, const struct slice *slice)
{
    cg_str activity =
        slice->kind == SLICE_INTERVAL ? chrome->trace->device_interval.activity[slice->row] : CG_ABSENT;
    if (activity != CG_ABSENT)
        member_text(chrome, "cat", activity);
    else
        doc_member_string(chrome->doc, "cat",
                          slice->kind == SLICE_SPAN ? "span"
                          : slice->kind == SLICE_OP ? "op"
                                                    : "device_interval");
}

/* A span that nobody ended begins (B) and never ends; all else is whole (X). */
static void emit_slice(struct chrome *chrome, const struct slice *slice, uint64_t process, uint64_t thread)
{
    static void (*const args[])(struct chrome *, uint32_t) = {
        [SLICE_SPAN] = span_args, [SLICE_OP] = op_args, [SLICE_INTERVAL] = interval_args};
    bool open = slice->kind == SLICE_SPAN && !chrome->trace->span.closed[slice->row];
    begin_event(chrome, open ? "B" : "X", process, thread);
    member_time(chrome, "ts", slice->start);
    if (!open) member_time(chrome, "dur", slice->duration);
    member_text(chrome, "name", slice_name(chrome->trace, &chrome->rows.slices, slice));
    emit_category(chrome, slice);
    doc_key(chrome->doc, "args");
    doc_object(chrome->doc);
    args[slice->kind](chrome, slice->row);
    doc_object_end(chrome->doc);
    doc_object_end(chrome->doc);
    chrome->job->records++;
}

static void emit_flow_end(struct chrome *chrome, const char *phase, uint64_t process, uint64_t thread,
                          uint64_t at, uint32_t id)
{
    begin_event(chrome, phase, process, thread);
    member_time(chrome, "ts", at);
    doc_member_string(chrome->doc, "name", "launch");
    doc_member_string(chrome->doc, "cat", "launch");
    doc_member_u64(chrome->doc, "id", id);
    if (*phase == 'f') doc_member_string(chrome->doc, "bp", "e");
    doc_object_end(chrome->doc);
}

/* From the call to the work that it issued. Host rows come first, so the call's row is known. */
static void emit_flow(struct chrome *chrome, const struct slice *slice, uint64_t process, uint64_t thread)
{
    if (slice->kind != SLICE_INTERVAL) return;
    uint32_t op = chrome->rows.slices.issuer[slice->row];
    if (op == CG_NONE || !chrome->op_thread[op]) return;
    uint64_t called = chrome->trace->op.timestamp_ns[op] - chrome->rows.origin_ns;
    emit_flow_end(chrome, "s", HOST_PROCESS, chrome->op_thread[op], called, slice->row + 1);
    emit_flow_end(chrome, "f", process, thread, slice->start, slice->row + 1);
}

static void emit_rows(struct chrome *chrome)
{
    for (size_t r = 0; r < chrome->rows.count; r++) {
        const struct export_row *row = &chrome->rows.list[r];
        uint64_t process = process_of(chrome, row);
        for (size_t i = row->first; i < row->first + row->count; i++) {
            const struct slice *slice = &chrome->rows.slices.list[i];
            if (slice->kind == SLICE_OP) chrome->op_thread[slice->row] = (uint32_t)r + 1;
            emit_slice(chrome, slice, process, r + 1);
            emit_flow(chrome, slice, process, r + 1);
        }
    }
}

/* ---- memory ---- */

/* A counter's event up to its open `args`. */
static void begin_counter(struct chrome *chrome, const char *what, cg_str device, uint64_t at)
{
    char name[NAME_SIZE];
    struct cg_text text = trace_text(chrome->trace, device);
    snprintf(name, sizeof name, "%s %.*s", what, (int)text.length, text.bytes);
    export_cut(name);
    begin_event(chrome, "C", HOST_PROCESS, 0);
    member_time(chrome, "ts", cg_sat_sub(at, chrome->rows.origin_ns));
    doc_member_string(chrome->doc, "name", name);
    doc_key(chrome->doc, "args");
    doc_object(chrome->doc);
}

static void end_counter(struct chrome *chrome)
{
    doc_object_end(chrome->doc);
    doc_object_end(chrome->doc);
}

static void on_live_bytes(void *context, cg_str device, uint64_t timestamp_ns, uint64_t bytes)
{
    struct chrome *chrome = context;
    begin_counter(chrome, "live storages", device, timestamp_ns);
    doc_member_u64(chrome->doc, "bytes", bytes);
    end_counter(chrome);
}

static bool emit_memory(struct chrome *chrome)
{
    const struct cg_device_memory *samples = &chrome->trace->device_memory;
    for (size_t i = 0; i < samples->rows; i++) {
        begin_counter(chrome, "device memory", samples->device[i], samples->timestamp_ns[i]);
        member_u64(chrome, "used_bytes", samples->used_bytes_set[i], samples->used_bytes[i]);
        member_u64(chrome, "reserved_bytes", samples->reserved_bytes_set[i], samples->reserved_bytes[i]);
        member_u64(chrome, "free_bytes", samples->free_bytes_set[i], samples->free_bytes[i]);
        end_counter(chrome);
    }
    return live_bytes_each(chrome->trace, on_live_bytes, chrome);
}

/* ---- the document ---- */

static void emit_run(struct chrome *chrome)
{
    const struct cg_run *run = &chrome->trace->run;
    doc_key(chrome->doc, "otherData");
    doc_object(chrome->doc);
    member_text(chrome, "run_id", run->run_id);
    member_text(chrome, "entrypoint", run->entrypoint);
    member_text(chrome, "timestamp", run->timestamp);
    doc_member_string(chrome->doc, "outcome", cg_name_OUTCOME[chrome->trace->terminal.outcome]);
    doc_member_u64(chrome->doc, "origin_ns", chrome->rows.origin_ns);
    doc_object_end(chrome->doc);
}

static bool emit_document(struct chrome *chrome)
{
    doc_object(chrome->doc);
    doc_member_string(chrome->doc, "displayTimeUnit", "ns");
    emit_run(chrome);
    doc_key(chrome->doc, "traceEvents");
    doc_array(chrome->doc);
    emit_names(chrome);
    emit_rows(chrome);
    bool good = emit_memory(chrome);
    doc_array_end(chrome->doc);
    doc_object_end(chrome->doc);
    return good;
}

static int write_chrome(struct export_job *job)
{
    struct chrome chrome = {.job = job, .trace = job->trace};
    bool good = export_rows_make(job->trace, &chrome.rows);
    if (good) {
        chrome.op_thread = array_zeroed(job->trace->op.rows, sizeof *chrome.op_thread);
        chrome.doc = doc_start(DOC_COMPACT, DOC_DECLARED, job->sink, job->context);
        good = chrome.op_thread && chrome.doc;
    }
    if (good && !emit_document(&chrome)) doc_fail(chrome.doc, ENOMEM);
    job->left_out = chrome.rows.left_out + chrome.rows.slices.untimed;
    int failure = chrome.doc ? doc_finish(chrome.doc) : 0;
    free(chrome.op_thread);
    export_rows_free(&chrome.rows);
    return failure ? failure : good ? 0 : ENOMEM;
}

static const char *const losses[] = {
    "device clocks are put on the host's time axis: moved by the least that puts no work before its call nor "
    "before the first host record",
    "times count from the first host record (otherData.origin_ns); memory from before stands at 0",
    "what overlaps on a thread or a stream without nesting stands on a thread of its own",
    "no tensors, statistics, gradients, edges, call stacks or storages by name; memory is counters alone",
    "operations without a time are left out",
    NULL,
};
const struct export_format export_chrome = {
    .name = "chrome",
    .about = "Trace Event JSON, for the Perfetto UI and chrome://tracing",
    .losses = losses,
    .write = write_chrome,
};
