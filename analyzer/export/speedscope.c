/* speedscope's own JSON, with a profile of events for each row (its schema: file-format-schema.json). */
#include <errno.h>
#include <stdlib.h>

#include "analyzer/export/export.h"
#include "analyzer/planes/array.h"

struct speedscope {
    struct export_job *job;
    struct json_doc *doc;
    struct export_rows rows;
    uint32_t *frame; /* by string: number of its frame + 1 */
    cg_str *frames;  /* by number */
    size_t frame_count;
    struct open_slices open;
};

static uint32_t frame_of(struct speedscope *made, cg_str name)
{
    if (!made->frame[name]) {
        made->frames[made->frame_count++] = name;
        made->frame[name] = (uint32_t)made->frame_count;
    }
    return made->frame[name] - 1;
}

static void emit_event(struct speedscope *made, const char *type, uint64_t at, uint32_t frame)
{
    doc_object(made->doc);
    doc_member_string(made->doc, "type", type);
    doc_member_u64(made->doc, "at", at);
    doc_member_u64(made->doc, "frame", frame);
    doc_object_end(made->doc);
}

/* Closes what has ended by `at`. */
static void close_until(struct speedscope *made, uint64_t at)
{
    for (const struct open_slice *ended; (ended = open_slices_pop(&made->open, at));)
        emit_event(made, "C", ended->end, ended->mark);
}

static uint64_t last_end(const struct export_rows *rows, const struct export_row *row)
{
    uint64_t last = 0;
    for (size_t i = row->first; i < row->first + row->count; i++)
        if (slice_end(&rows->slices.list[i]) > last) last = slice_end(&rows->slices.list[i]);
    return last;
}

static bool emit_profile(struct speedscope *made, const struct export_row *row)
{
    const struct cg_trace *trace = made->job->trace;
    char name[512];
    export_row_name(trace, &made->rows, row, name, sizeof name);
    doc_object(made->doc);
    doc_member_string(made->doc, "type", "evented");
    doc_member_string(made->doc, "name", name);
    doc_member_string(made->doc, "unit", "nanoseconds");
    doc_member_u64(made->doc, "startValue", 0);
    doc_member_u64(made->doc, "endValue", last_end(&made->rows, row));
    doc_key(made->doc, "events");
    doc_array(made->doc);
    for (size_t i = row->first; i < row->first + row->count; i++) {
        const struct slice *slice = &made->rows.slices.list[i];
        uint32_t frame = frame_of(made, slice_name(trace, &made->rows.slices, slice));
        close_until(made, slice->start);
        emit_event(made, "O", slice->start, frame);
        if (!open_slices_push(&made->open, slice_end(slice), frame)) return false;
        made->job->records++;
    }
    close_until(made, UINT64_MAX);
    doc_array_end(made->doc);
    doc_object_end(made->doc);
    return true;
}

static void emit_frames(struct speedscope *made)
{
    doc_key(made->doc, "shared");
    doc_object(made->doc);
    doc_key(made->doc, "frames");
    doc_array(made->doc);
    for (size_t i = 0; i < made->frame_count; i++) {
        struct cg_text name = trace_text(made->job->trace, made->frames[i]);
        doc_object(made->doc);
        doc_member_bytes(made->doc, "name", name.bytes, name.length);
        doc_object_end(made->doc);
    }
    doc_array_end(made->doc);
    doc_object_end(made->doc);
}

static bool emit_file(struct speedscope *made)
{
    struct cg_text name = trace_text(made->job->trace, made->job->trace->run.entrypoint);
    bool good = true;
    doc_object(made->doc);
    doc_member_string(made->doc, "$schema", "https://www.speedscope.app/file-format-schema.json");
    doc_member_string(made->doc, "exporter", "cg-analyze " CGT_VERSION);
    doc_member_bytes(made->doc, "name", name.bytes, name.length);
    doc_key(made->doc, "profiles");
    doc_array(made->doc);
    for (size_t r = 0; r < made->rows.count && good; r++)
        good = emit_profile(made, &made->rows.list[r]);
    doc_array_end(made->doc);
    emit_frames(made);
    doc_object_end(made->doc);
    return good;
}

static int write_speedscope(struct export_job *job)
{
    size_t strings = (size_t)trace_string_count(job->trace) + 1;
    struct speedscope made = {.job = job,
                              .frame = array_zeroed(strings, sizeof *made.frame),
                              .frames = array_raw(strings, sizeof *made.frames)};
    bool good = made.frame && made.frames && export_rows_make(job->trace, &made.rows);
    if (good) made.doc = doc_start(DOC_COMPACT, DOC_DECLARED, job->sink, job->context);
    good = good && made.doc;
    if (good && !emit_file(&made)) doc_fail(made.doc, ENOMEM);
    int failure = good ? doc_finish(made.doc) : ENOMEM;
    job->left_out = made.rows.left_out + made.rows.slices.untimed;
    export_rows_free(&made.rows);
    free(made.open.list);
    free(made.frame);
    free(made.frames);
    return failure;
}

static const char *const losses[] = {
    "names and times alone: no ids, bytes, devices of calls, memory, call stacks or joins of calls with "
    "their "
    "work",
    "a profile for each thread and stream, times since the first host record; device clocks are moved by the "
    "least that puts no work before its call nor before that record",
    "what overlaps on a thread or a stream without nesting stands in a profile of its own",
    "spans that nobody ended end with the capture",
    "operations without a time are left out",
    NULL,
};
const struct export_format export_speedscope = {
    .name = "speedscope",
    .about = "speedscope's JSON: a profile for each thread and stream",
    .losses = losses,
    .write = write_speedscope,
};
