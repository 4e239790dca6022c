#include "analyzer/planes/device_work.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/planes/array.h"
#include "analyzer/planes/correlation.h"
#include "analyzer/planes/order.h"
#include "analyzer/planes/pair_map.h"

/* ---- classes ---- */

static bool contains(struct cg_text text, const char *part)
{
    return text.bytes && memmem(text.bytes, text.length, part, strlen(part)) != NULL;
}

static enum work_class class_of_activity(struct cg_text text)
{
    if (contains(text, "kernel")) return WORK_KERNEL;
    return contains(text, "memcpy") || contains(text, "memset") ? WORK_COPY : WORK_OTHER;
}

static enum work_class class_of_api(struct cg_text text)
{
    return contains(text, "Memcpy") || contains(text, "Memset") ? WORK_COPY : WORK_OTHER;
}

/* Few texts stand in many rows: each is looked at once. known holds class + 1 by string. */
static enum work_class look(const struct cg_trace *trace, uint8_t *known, cg_str string,
                            enum work_class (*class_of)(struct cg_text text))
{
    if (!known[string]) known[string] = (uint8_t)(class_of(trace_text(trace, string)) + 1);
    return (enum work_class)(known[string] - 1);
}

static bool make_classes(const struct cg_trace *trace, struct device_work *work)
{
    size_t strings = (size_t)trace_string_count(trace) + 1;
    uint8_t *apis = array_zeroed(strings, 1), *activities = array_zeroed(strings, 1);
    work->class = array_raw(trace->device_interval.rows, 1);
    work->op_class = array_raw(trace->op.rows, 1);
    bool ok = apis && activities && work->class && work->op_class;
    for (size_t i = 0; ok && i < trace->op.rows; i++)
        work->op_class[i] = trace->op.grid[i].count > 0
                                ? WORK_KERNEL
                                : (uint8_t)look(trace, apis, trace->op.api[i], class_of_api);
    for (size_t i = 0; ok && i < trace->device_interval.rows; i++) {
        cg_str activity = trace->device_interval.activity[i];
        uint32_t op = work->issuer[i];
        if (activity != CG_ABSENT)
            work->class[i] = (uint8_t)look(trace, activities, activity, class_of_activity);
        else
            work->class[i] = op == CG_NONE ? WORK_UNKNOWN : work->op_class[op];
    }
    free(apis);
    free(activities);
    return ok;
}

/* ---- clocks and streams ---- */

struct finder {
    const struct cg_trace *trace;
    struct device_work *work;
    struct pair_map clocks, streams; /* (device, clock) to clock, (clock + 1, stream) to stream */
    size_t clock_room, stream_room;
};

/* The number of the clock; CG_NONE when memory is short. */
static uint32_t clock_number(struct finder *finder, cg_str device, cg_str clock_id)
{
    bool made;
    struct device_work *work = finder->work;
    struct pair_entry *entry = pair_map_insert(&finder->clocks, device, clock_id, &made);
    if (!entry) return CG_NONE;
    if (!made) return entry->value;
    if (!array_room(&work->clocks, work->clock_count, &finder->clock_room, sizeof *work->clocks))
        return CG_NONE;
    work->clocks[work->clock_count] = (struct work_clock){
        .device = device, .clock_id = clock_id, .anchors = device_clock_find(finder->trace, clock_id)};
    return entry->value = (uint32_t)work->clock_count++;
}

static uint32_t stream_number(struct finder *finder, size_t row)
{
    const struct cg_device_intervals *interval = &finder->trace->device_interval;
    struct device_work *work = finder->work;
    uint32_t clock = clock_number(finder, interval->device[row], interval->clock_id[row]);
    bool made;
    struct pair_entry *entry =
        clock == CG_NONE ? NULL
                         : pair_map_insert(&finder->streams, clock + 1, interval->stream_id[row], &made);
    if (!entry) return CG_NONE;
    if (!made) return entry->value;
    if (!array_room(&work->streams, work->stream_count, &finder->stream_room, sizeof *work->streams))
        return CG_NONE;
    work->streams[work->stream_count] = (struct work_stream){.device = interval->device[row],
                                                             .clock_id = interval->clock_id[row],
                                                             .stream_id = interval->stream_id[row],
                                                             .clock = clock};
    return entry->value = (uint32_t)work->stream_count++;
}

static bool find_streams(struct finder *finder)
{
    const struct cg_device_intervals *interval = &finder->trace->device_interval;
    struct device_work *work = finder->work;
    work->stream = array_raw(interval->rows, sizeof *work->stream);
    if (!work->stream) return false;
    for (size_t i = 0; i < interval->rows; i++) {
        bool same = i > 0 && interval->stream_id[i] == interval->stream_id[i - 1] &&
                    interval->clock_id[i] == interval->clock_id[i - 1] &&
                    interval->device[i] == interval->device[i - 1];
        work->stream[i] = same ? work->stream[i - 1] : stream_number(finder, i);
        if (work->stream[i] == CG_NONE) return false;
        struct work_stream *stream = &work->streams[work->stream[i]];
        struct work_clock *clock = &work->clocks[stream->clock];
        stream->count++;
        clock->interval_count++;
        clock->duration_ns = cg_sat_add(clock->duration_ns, interval->duration_ns[i]);
    }
    return true;
}

/* ---- their order ---- */

struct named_number {
    cg_str device, clock_id, stream_id;
    uint32_t number;
};

static int compare_names(const void *left, const void *right, void *context)
{
    const struct cg_trace *trace = context;
    const struct named_number *a = left, *b = right;
    int order = trace_compare(trace, a->device, b->device);
    if (order == 0) order = trace_compare(trace, a->clock_id, b->clock_id);
    if (order == 0) order = trace_compare(trace, a->stream_id, b->stream_id);
    return order;
}

static void sort_names(const struct cg_trace *trace, struct named_number *names, size_t count)
{
    /* qsort_r() hands the context back without const; the comparison reads it only. */
    if (count > 1) qsort_r(names, count, sizeof *names, compare_names, (void *)(uintptr_t)trace);
}

/* Puts the clocks in order; place[old number] is the new one. */
static bool order_clocks(const struct cg_trace *trace, struct device_work *work, struct named_number *names,
                         uint32_t *place)
{
    struct work_clock *ordered = array_raw(work->clock_count, sizeof *ordered);
    if (!ordered) return false;
    for (size_t i = 0; i < work->clock_count; i++)
        names[i] =
            (struct named_number){work->clocks[i].device, work->clocks[i].clock_id, CG_ABSENT, (uint32_t)i};
    sort_names(trace, names, work->clock_count);
    for (size_t i = 0; i < work->clock_count; i++) {
        ordered[i] = work->clocks[names[i].number];
        place[names[i].number] = (uint32_t)i;
    }
    free(work->clocks);
    work->clocks = ordered;
    return true;
}

static bool order_streams(const struct cg_trace *trace, struct device_work *work, struct named_number *names,
                          const uint32_t *clock_place, uint32_t *place)
{
    struct work_stream *ordered = array_raw(work->stream_count, sizeof *ordered);
    size_t next = 0;
    if (!ordered) return false;
    for (size_t i = 0; i < work->stream_count; i++) {
        const struct work_stream *stream = &work->streams[i];
        names[i] = (struct named_number){stream->device, stream->clock_id, stream->stream_id, (uint32_t)i};
    }
    sort_names(trace, names, work->stream_count);
    for (size_t i = 0; i < work->stream_count; i++) {
        ordered[i] = work->streams[names[i].number];
        place[names[i].number] = (uint32_t)i;
        ordered[i].clock = clock_place[ordered[i].clock];
        struct work_clock *clock = &work->clocks[ordered[i].clock];
        if (clock->stream_count++ == 0) clock->first_stream = i;
        ordered[i].first = next;
        next += ordered[i].count;
    }
    free(work->streams);
    work->streams = ordered;
    return true;
}

/* All intervals by start, dealt out to their streams: both steps are stable. */
static bool order_intervals(const struct cg_trace *trace, struct device_work *work, const uint32_t *place)
{
    size_t rows = trace->device_interval.rows;
    size_t *next = array_raw(work->stream_count, sizeof *next);
    uint32_t *by_start = NULL;
    work->order = array_raw(rows, sizeof *work->order);
    bool ok = next && work->order && order_by_time(trace->device_interval.start_ns, rows, &by_start);
    for (size_t i = 0; ok && i < work->stream_count; i++)
        next[i] = work->streams[i].first;
    for (size_t i = 0; ok && i < rows; i++)
        work->stream[i] = place[work->stream[i]];
    for (size_t i = 0; ok && i < rows; i++) {
        uint32_t row = ordered_row(by_start, i);
        work->order[next[work->stream[row]]++] = row;
    }
    free(by_start);
    free(next);
    return ok;
}

static bool make_order(const struct cg_trace *trace, struct device_work *work)
{
    struct named_number *names = array_raw(work->stream_count, sizeof *names);
    uint32_t *clock_place = array_raw(work->clock_count, sizeof *clock_place);
    uint32_t *place = array_raw(work->stream_count, sizeof *place);
    bool ok = names && clock_place && place && order_clocks(trace, work, names, clock_place) &&
              order_streams(trace, work, names, clock_place, place) && order_intervals(trace, work, place);
    free(names);
    free(clock_place);
    free(place);
    return ok;
}

bool device_work_make(const struct cg_trace *trace, struct device_work *work)
{
    struct finder finder = {.trace = trace, .work = work};
    *work = (struct device_work){0};
    bool ok = correlation_issuers(trace, &work->issuer) && make_classes(trace, work) &&
              find_streams(&finder) && make_order(trace, work);
    pair_map_free(&finder.clocks);
    pair_map_free(&finder.streams);
    if (!ok) device_work_free(work);
    return ok;
}

void device_work_free(struct device_work *work)
{
    free(work->issuer);
    free(work->class);
    free(work->op_class);
    free(work->order);
    free(work->stream);
    free(work->streams);
    free(work->clocks);
    *work = (struct device_work){0};
}
