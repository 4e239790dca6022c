/* A trace from a model (doc/spec/trace.md 13.1): root and measured region hold everything from the first to
 * the last time of the file. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/convert/writer.h"
#include "analyzer/planes/array.h"
#include "analyzer/planes/order.h"
#include "analyzer/planes/pair_map.h"

enum { ROOT = 1, MEASURED = 2, FIRST_SPAN = 3 };
static const char cut_reason[] = "the file that was converted ends in the middle";

/* ---- links between calls and work ---- */

static int compare_links(const void *left, const void *right)
{
    const struct link *a = left, *b = right;
    if (a->correlation != b->correlation) return a->correlation < b->correlation ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

static bool make_links(struct writer *writer)
{
    const struct model *model = writer->model;
    writer->calls = array_raw(model->call_count, sizeof *writer->calls);
    writer->intervals = array_raw(model->interval_count, sizeof *writer->intervals);
    if (!writer->calls || !writer->intervals) return false;
    for (size_t i = 0; i < model->call_count; i++)
        if (model->calls[i].correlated)
            writer->calls[writer->call_count++] = (struct link){model->calls[i].correlation, (uint32_t)i};
    for (size_t i = 0; i < model->interval_count; i++)
        if (model->intervals[i].correlated)
            writer->intervals[writer->interval_count++] =
                (struct link){model->intervals[i].correlation, (uint32_t)i};
    qsort(writer->calls, writer->call_count, sizeof *writer->calls, compare_links);
    qsort(writer->intervals, writer->interval_count, sizeof *writer->intervals, compare_links);
    return true;
}

/* The first link with this correlation, else NULL. */
static const struct link *linked(const struct link *links, size_t count, uint64_t correlation)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (links[middle].correlation < correlation)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && links[low].correlation == correlation ? &links[low] : NULL;
}

/* ---- times ---- */

static void widen(int64_t start, int64_t end, int64_t *first, int64_t *last)
{
    if (start < *first) *first = start;
    if (end > *last) *last = end;
}

/* Whether what was there before the file could not be seen at its first moment: a storage comes or goes then,
 * and a trace's memory at a time is what all its records leave. */
static bool begins_with_change(const struct model *model, int64_t first)
{
    bool before = false, change = false;
    for (size_t i = 0; i < model->storage_count; i++) {
        before |= model->storages[i].preexisting;
        change |= !model->storages[i].preexisting && model->storages[i].time == first;
    }
    return before && change;
}

/* Time 0 is the first of all times, or else just before it; a file without events has one moment. */
static void find_times(struct writer *writer)
{
    struct model *model = writer->model;
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (size_t i = 0; i < model->span_count; i++)
        widen(model->spans[i].start, model->spans[i].end, &first, &last);
    for (size_t i = 0; i < model->call_count; i++)
        widen(model->calls[i].start, model->calls[i].end, &first, &last);
    for (size_t i = 0; i < model->interval_count; i++)
        widen(model->intervals[i].start, model->intervals[i].end, &first, &last);
    for (size_t i = 0; i < model->storage_count; i++)
        if (!model->storages[i].preexisting)
            widen(model->storages[i].time, model->storages[i].time, &first, &last);
    for (size_t i = 0; i < model->sample_count; i++)
        widen(model->samples[i].time, model->samples[i].time, &first, &last);
    if (first > last) first = last = 0;
    if (begins_with_change(model, first)) first--;
    writer->zero = first;
    for (size_t i = 0; i < model->span_count; i++) {
        if (!model->spans[i].open) continue;
        model->spans[i].end = last;
        model->report->losses.clipped++;
    }
    for (size_t i = 0; i < model->storage_count; i++)
        if (model->storages[i].preexisting) model->storages[i].time = first;
    writer->total = (uint64_t)last - (uint64_t)first;
}

static uint64_t since(const struct writer *writer, int64_t time)
{
    return (uint64_t)time - (uint64_t)writer->zero;
}

/* ---- spans ---- */

static void write_id(struct lines *lines, const char *key, uint64_t number)
{
    char id[32];
    snprintf(id, sizeof id, "s%" PRIu64, number);
    line_word(lines, key, id);
}

/* The id of a span by its number, or of the measured region. */
static void write_owner(struct lines *lines, const char *key, uint32_t number)
{
    write_id(lines, key, number == CG_NONE ? MEASURED : (uint64_t)FIRST_SPAN + number);
}

static void write_tid(struct writer *writer, uint32_t thread)
{
    if (thread < writer->model->thread_count && writer->model->threads[thread].numbered)
        line_u64(&writer->lines, "tid", writer->model->threads[thread].tid);
}

static void write_whole(struct writer *writer, uint64_t number, const char *name, bool measured)
{
    struct lines *lines = &writer->lines;
    line_begin(lines, "span_start");
    write_id(lines, "id", number);
    if (measured) write_id(lines, "parent_id", ROOT);
    line_word(lines, "name", name);
    line_u64(lines, "start_ns", 0);
    line_word(lines, "span_kind", cg_name_SPAN_KIND[CG_SPAN_KIND_FUNCTION]);
    line_raw(lines, "measured", measured ? "true" : "false");
    line_end(lines);
}

static void write_span_end(struct lines *lines, uint64_t number, uint64_t duration)
{
    line_begin(lines, "span_end");
    write_id(lines, "id", number);
    line_u64(lines, "duration_ns", duration);
    line_end(lines);
}

static bool begins(struct cg_text text, const char *with)
{
    size_t length = strlen(with);
    return text.length >= length && memcmp(text.bytes, with, length) == 0;
}

static void write_spans(struct writer *writer)
{
    struct lines *lines = &writer->lines;
    const struct model *model = writer->model;
    for (uint32_t number = 0; number < model->span_count; number++) {
        uint32_t row = writer->nesting.order[number];
        const struct model_span *span = &model->spans[row];
        struct cg_text name = model_text(model, span->name);
        line_begin(lines, "span_start");
        write_owner(lines, "id", number);
        write_owner(lines, "parent_id", writer->nesting.parent[row]);
        line_text(lines, "name", name);
        line_u64(lines, "start_ns", since(writer, span->start));
        line_word(lines, "span_kind", cg_name_SPAN_KIND[span->kind]);
        /* What PyTorch's profiler calls the step of an optimizer. */
        if (begins(name, "Optimizer.step#")) line_word(lines, "step", cg_name_STEP[CG_STEP_OPTIMIZER]);
        write_tid(writer, span->thread);
        if (span->open) line_word(lines, "clipped", "end");
        line_end(lines);
        write_span_end(lines, (uint64_t)FIRST_SPAN + number, (uint64_t)span->end - (uint64_t)span->start);
    }
    model->report->spans = model->span_count;
}

/* ---- operations ---- */

static void write_stack(struct writer *writer, uint32_t stack)
{
    struct lines *lines = &writer->lines;
    const struct model *model = writer->model;
    char id[32];
    if (stack == CG_NONE) return;
    snprintf(id, sizeof id, "stack:%" PRIu32, stack + 1);
    line_open(lines, "stack", '{');
    line_word(lines, "id", id);
    if (!writer->stack_shown[stack]) {
        writer->stack_shown[stack] = 1;
        line_open(lines, "frames", '[');
        for (uint32_t i = 0; i < model->stacks[stack].count; i++) {
            const struct model_frame *frame = &model->frames[model->stacks[stack].first + i];
            line_open(lines, NULL, '{');
            line_text(lines, "module", model_text(model, frame->file));
            line_u64(lines, "offset", frame->line);
            line_text(lines, "symbol", model_text(model, frame->function));
            line_open(lines, "source", '[');
            line_open(lines, NULL, '{');
            line_text(lines, "function", model_text(model, frame->function));
            line_text(lines, "file", model_text(model, frame->file));
            line_u64(lines, "line", frame->line);
            line_close(lines, '}');
            line_close(lines, ']');
            line_close(lines, '}');
        }
        line_close(lines, ']');
        if (model->stacks[stack].count == CG_FRAMES_MAX) line_raw(lines, "truncated", "true");
    }
    line_close(lines, '}');
}

static void write_three(struct lines *lines, const char *key, const uint32_t three[3])
{
    char text[40];
    snprintf(text, sizeof text, "[%" PRIu32 ",%" PRIu32 ",%" PRIu32 "]", three[0], three[1], three[2]);
    line_raw(lines, key, text);
}

/* What the call's work says of it. */
static void write_launched(struct writer *writer, const struct model_interval *work)
{
    struct lines *lines = &writer->lines;
    line_text(lines, "stream_id", model_text(writer->model, work->stream));
    if (work->has_bytes) line_u64(lines, "bytes", work->bytes);
    if (!work->has_grid) return;
    write_three(lines, "grid", work->grid);
    write_three(lines, "block", work->block);
    line_u64(lines, "shared_bytes", work->shared);
}

/* Whether the interval is not the only one with its correlation. */
static bool has_more(const struct writer *writer, const struct link *first)
{
    return first + 1 < writer->intervals + writer->interval_count &&
           first[1].correlation == first->correlation;
}

static void write_call(struct writer *writer, uint32_t row)
{
    struct lines *lines = &writer->lines;
    const struct model *model = writer->model;
    const struct model_call *call = &model->calls[row];
    const struct link *first =
        call->correlated ? linked(writer->intervals, writer->interval_count, call->correlation) : NULL;
    /* A call with several pieces of work, such as the launch of a graph, is not the launch of the first. */
    const struct model_interval *work =
        first && !has_more(writer, first) ? &model->intervals[first->row] : NULL;
    bool kernel = work && work->activity == MODEL_KERNEL;
    cg_str device = call->device != CG_ABSENT ? call->device
                    : first                   ? model->intervals[first->row].device
                                              : writer->device;
    line_begin(lines, "op");
    write_owner(lines, "span_id", writer->nesting.of_call[row]);
    line_text(lines, "op_name", model_text(model, kernel ? work->name : call->api));
    line_raw(lines, "shape", "[]");
    line_word(lines, "dtype", "unknown");
    line_text(lines, "device", model_text(model, device));
    line_u64(lines, "duration_ns", (uint64_t)call->end - (uint64_t)call->start);
    line_u64(lines, "timestamp_ns", since(writer, call->start));
    line_u64(lines, "input_dense_bytes", 0);
    write_tid(writer, call->thread);
    line_text(lines, "api", model_text(model, call->api));
    if (call->correlated) line_u64(lines, "correlation", call->correlation);
    if (work) write_launched(writer, work);
    if (call->error) {
        line_u64(lines, "error", call->error);
        line_u64(lines, "requested_bytes", call->requested);
    }
    write_stack(writer, call->stack);
    line_end(lines);
    model->report->ops++;
}

/* ---- memory ---- */

static void write_storage(struct writer *writer, uint32_t row, cg_str id, uint64_t bytes, const char *action,
                          const char *reason, int64_t time)
{
    struct lines *lines = &writer->lines;
    const struct model *model = writer->model;
    const struct model_storage *storage = &model->storages[row];
    bool whole = storage->preexisting || reason;
    line_begin(lines, "memory");
    line_u64(lines, "timestamp_ns", since(writer, time));
    line_text(lines, "storage_id", model_text(model, id));
    line_text(lines, "tensor_id", model_text(model, id));
    write_owner(lines, "span_id", whole ? CG_NONE : writer->nesting.of_storage[row]);
    line_text(lines, "device", model_text(model, storage->device));
    line_u64(lines, "bytes", bytes);
    line_word(lines, "action", action);
    line_word(lines, "dtype", "unknown");
    if (!whole) write_tid(writer, storage->thread);
    line_text(lines, "address", model_text(model, id));
    if (reason) line_word(lines, "end_reason", reason);
    if (storage->preexisting) line_raw(lines, "preexisting", "true");
    if (strcmp(action, cg_name_ACTION[CG_ACTION_ALLOC]) == 0) write_stack(writer, storage->stack);
    line_end(lines);
    model->report->memory++;
}

/* An allocation at an address that is taken ends what was there; a free of what is not there is none. */
static bool take_storage(struct writer *writer, struct pair_map *live, uint32_t row)
{
    struct model *model = writer->model;
    const struct model_storage *storage = &model->storages[row];
    static const char *const alloc = "alloc", *const end = "free";
    char text[32];
    int length = snprintf(text, sizeof text, "0x%" PRIx64, storage->address);
    cg_str id = model_string(model, text, (size_t)length);
    struct pair_entry *entry;
    if (id == CG_ABSENT) return false;
    if (!storage->alloc) {
        entry = pair_map_find(live, storage->device, id);
        model->report->losses.unknown_frees += !entry;
        if (!entry) return true;
        write_storage(writer, row, id, model->storages[entry->value].bytes, end, NULL, storage->time);
        pair_map_remove(live, entry);
        return true;
    }
    bool made;
    entry = pair_map_insert(live, storage->device, id, &made);
    if (!entry) return false;
    if (!made) {
        model->report->losses.missing_frees++;
        write_storage(writer, entry->value, id, model->storages[entry->value].bytes, end, "address_reused",
                      storage->time);
    }
    entry->value = row;
    write_storage(writer, row, id, storage->bytes, alloc, NULL, storage->time);
    return true;
}

/* By time; of equal times in the order of the file. */
static bool write_storages(struct writer *writer)
{
    const struct model *model = writer->model;
    uint64_t *times = array_raw(model->storage_count, sizeof *times);
    uint32_t *order = NULL;
    struct pair_map live = {0};
    bool ok = times != NULL;
    for (size_t i = 0; ok && i < model->storage_count; i++)
        times[i] = since(writer, model->storages[i].time);
    ok = ok && order_by_time(times, model->storage_count, &order);
    for (size_t i = 0; ok && i < model->storage_count; i++)
        ok = take_storage(writer, &live, ordered_row(order, i));
    pair_map_free(&live);
    free(order);
    free(times);
    return ok;
}

static void write_samples(struct writer *writer)
{
    struct lines *lines = &writer->lines;
    const struct model *model = writer->model;
    for (size_t i = 0; i < model->sample_count; i++) {
        const struct model_sample *sample = &model->samples[i];
        line_begin(lines, "device_memory");
        line_u64(lines, "timestamp_ns", since(writer, sample->time));
        line_text(lines, "device", model_text(model, sample->device));
        if (sample->has_free) line_u64(lines, "free_bytes", sample->free);
        if (sample->has_reserved) line_u64(lines, "reserved_bytes", sample->reserved);
        line_end(lines);
    }
    model->report->device_memory = model->sample_count;
}

/* ---- device intervals ---- */

static void write_interval(struct writer *writer, const struct model_interval *interval)
{
    static const char *const activities[MODEL_ACTIVITY_COUNT] = {"kernel", "memcpy", "memset"};
    struct lines *lines = &writer->lines;
    const struct model *model = writer->model;
    char id[CLOCK_ID_SIZE];
    const struct link *call =
        interval->correlated ? linked(writer->calls, writer->call_count, interval->correlation) : NULL;
    if (interval->end <= interval->start) {
        model->report->losses.empty_intervals++;
        return;
    }
    line_begin(lines, "device_interval");
    write_owner(lines, "span_id", call ? writer->nesting.of_call[call->row] : CG_NONE);
    line_text(lines, "device", model_text(model, interval->device));
    line_text(lines, "stream_id", model_text(model, interval->stream));
    line_word(lines, "clock_id", clock_id(model, interval->device, id));
    line_word(lines, "backend", model->tool);
    line_u64(lines, "start_ns", since(writer, interval->start));
    line_u64(lines, "duration_ns", (uint64_t)interval->end - (uint64_t)interval->start);
    line_word(lines, "activity", activities[interval->activity]);
    line_text(lines, "name", model_text(model, interval->name));
    if (interval->correlated) line_u64(lines, "correlation", interval->correlation);
    if (interval->has_bytes) line_u64(lines, "bytes", interval->bytes);
    line_end(lines);
    model->report->device_intervals++;
}

/* ---- all of it ---- */

static void find_device(struct writer *writer)
{
    const struct model *model = writer->model;
    if (model->interval_count > 0)
        writer->device = model->intervals[0].device;
    else if (model->storage_count > 0)
        writer->device = model->storages[0].device;
    else
        writer->device = model_string(writer->model, "cpu", 3);
}

static void write_terminal(struct writer *writer)
{
    struct lines *lines = &writer->lines;
    bool cut = writer->model->report->cut;
    line_begin(lines, "terminal");
    line_word(lines, "outcome", cg_name_OUTCOME[cut ? CG_OUTCOME_FAILED : CG_OUTCOME_COMPLETE]);
    line_u64(lines, "timestamp_ns", writer->total);
    if (cut) line_word(lines, "reason", cut_reason);
    line_end(lines);
}

static bool write_all(struct writer *writer)
{
    struct model *model = writer->model;
    find_times(writer);
    find_device(writer);
    writer->stack_shown = array_zeroed(model->stack_count, 1);
    if (writer->device == CG_ABSENT || !writer->stack_shown || !make_links(writer) ||
        !nesting_make(model, &writer->nesting))
        return false;
    write_meta(writer);
    write_whole(writer, ROOT, "file", false);
    write_whole(writer, MEASURED, "converted", true);
    write_spans(writer);
    for (uint32_t i = 0; i < model->call_count; i++)
        write_call(writer, i);
    if (!write_storages(writer)) return false;
    write_samples(writer);
    for (size_t i = 0; i < model->interval_count; i++)
        write_interval(writer, &model->intervals[i]);
    write_span_end(&writer->lines, MEASURED, writer->total);
    write_span_end(&writer->lines, ROOT, writer->total);
    write_terminal(writer);
    return true;
}

int model_write(struct model *model, json_sink *sink, void *context, struct cg_error *error)
{
    struct writer writer = {.model = model, .lines = {.sink = sink, .context = context}};
    bool ok = write_all(&writer);
    ok = lines_finish(&writer.lines) && ok;
    int failure = writer.lines.failure;
    nesting_free(&writer.nesting);
    free(writer.calls);
    free(writer.intervals);
    free(writer.stack_shown);
    if (ok) return 0;
    return failure ? cg_fail(error, CG_EXIT_IO, "the trace cannot be written: %s", strerror(failure))
                   : cg_out_of_memory(error);
}
