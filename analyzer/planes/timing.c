/* Device time by span and by clock (doc/spec/planes.md 2). Clocks are never mixed. */
#include <stdlib.h>

#include "analyzer/planes/array.h"
#include "analyzer/planes/capability.h"
#include "analyzer/planes/order.h"
#include "analyzer/planes/pair_map.h"
#include "analyzer/planes/planes.h"

/* The intervals gathered by a group number: those of group g are row[first[g]] .. row[first[g + 1] - 1]. */
struct groups {
    uint32_t *of_row; /* the group of each interval */
    uint32_t *first, *row;
};

static void groups_free(struct groups *groups)
{
    free(groups->of_row);
    free(groups->first);
    free(groups->row);
}

/* A counting sort by group; of_row is filled already. */
static bool gather(struct groups *groups, size_t rows, size_t count)
{
    groups->first = array_zeroed(count + 2, sizeof *groups->first);
    groups->row = array_raw(rows, sizeof *groups->row);
    if (!groups->first || !groups->row) return false;
    for (size_t i = 0; i < rows; i++)
        groups->first[groups->of_row[i] + 2]++;
    for (size_t i = 2; i < count + 2; i++)
        groups->first[i] += groups->first[i - 1];
    for (size_t i = 0; i < rows; i++)
        groups->row[groups->first[groups->of_row[i] + 1]++] = (uint32_t)i;
    return true;
}

struct maker {
    const struct cg_trace *trace;
    struct timing *timing;
    struct pair_map clock_map, span_map; /* (device, clock id) and (span id, clock) to their rows */
    size_t clock_capacity, span_capacity;
    struct groups by_span, by_clock;
    struct interval *intervals; /* of one group */
    size_t string_count;
};

/* Finds the distinct clocks and (span, clock) pairs, in order of appearance, and says of each interval to
 * which it belongs. */
static bool find_groups(struct maker *maker)
{
    const struct cg_device_intervals *records = &maker->trace->device_interval;
    struct timing *timing = maker->timing;
    for (size_t i = 0; i < records->rows; i++) {
        bool made;
        struct pair_entry *clock =
            pair_map_insert(&maker->clock_map, records->device[i], records->clock_id[i], &made);
        if (!clock) return false;
        if (made) {
            if (!array_room(&timing->clocks, timing->clock_count, &maker->clock_capacity,
                            sizeof *timing->clocks))
                return false;
            clock->value = (uint32_t)timing->clock_count;
            timing->clocks[timing->clock_count++] =
                (struct timing_clock){.device = records->device[i], .clock_id = records->clock_id[i]};
        }
        struct pair_entry *span = pair_map_insert(&maker->span_map, records->span_id[i], clock->value, &made);
        if (!span) return false;
        if (made) {
            if (!array_room(&timing->spans, timing->span_count, &maker->span_capacity, sizeof *timing->spans))
                return false;
            span->value = (uint32_t)timing->span_count;
            timing->spans[timing->span_count++] = (struct timing_span){.span_id = records->span_id[i],
                                                                       .device = records->device[i],
                                                                       .clock_id = records->clock_id[i]};
        }
        maker->by_clock.of_row[i] = clock->value;
        maker->by_span.of_row[i] = span->value;
    }
    return true;
}

static uint64_t busy(struct maker *maker, const uint32_t *rows, size_t count)
{
    const struct cg_device_intervals *records = &maker->trace->device_interval;
    for (size_t i = 0; i < count; i++) {
        uint64_t start = records->start_ns[rows[i]];
        maker->intervals[i] = (struct interval){start, cg_sat_add(start, records->duration_ns[rows[i]])};
    }
    return interval_union(maker->intervals, count);
}

/* The distinct strings of a column over some rows, appended to the pool in byte order. */
static struct cg_list distinct(struct maker *maker, const cg_str *column, const uint32_t *rows, size_t count)
{
    cg_str *strings = maker->timing->strings + maker->string_count;
    for (size_t i = 0; i < count; i++)
        strings[i] = column[rows[i]];
    struct cg_list list = {(uint32_t)maker->string_count,
                           (uint32_t)sort_strings(maker->trace, strings, count, true)};
    maker->string_count += list.count;
    return list;
}

static void measure(struct maker *maker)
{
    const struct cg_device_intervals *records = &maker->trace->device_interval;
    struct timing *timing = maker->timing;
    for (size_t i = 0; i < timing->span_count; i++) {
        const uint32_t *rows = maker->by_span.row + maker->by_span.first[i];
        size_t count = maker->by_span.first[i + 1] - maker->by_span.first[i];
        timing->spans[i].interval_count = count;
        timing->spans[i].busy_ns = busy(maker, rows, count);
        timing->spans[i].backends = distinct(maker, records->backend, rows, count);
        timing->spans[i].streams = distinct(maker, records->stream_id, rows, count);
    }
    for (size_t i = 0; i < timing->clock_count; i++) {
        const uint32_t *rows = maker->by_clock.row + maker->by_clock.first[i];
        size_t count = maker->by_clock.first[i + 1] - maker->by_clock.first[i];
        timing->clocks[i].interval_count = count;
        timing->clocks[i].busy_ns = busy(maker, rows, count);
    }
}

static int compare_clocks(const void *a, const void *b, void *trace)
{
    const struct timing_clock *left = a, *right = b;
    int order = trace_compare(trace, left->device, right->device);
    return order ? order : trace_compare(trace, left->clock_id, right->clock_id);
}

static int compare_spans(const void *a, const void *b, void *trace)
{
    const struct timing_span *left = a, *right = b;
    int order = trace_compare(trace, left->span_id, right->span_id);
    if (!order) order = trace_compare(trace, left->device, right->device);
    return order ? order : trace_compare(trace, left->clock_id, right->clock_id);
}

bool timing_make(const struct cg_trace *trace, struct timing *timing)
{
    size_t rows = trace->device_interval.rows;
    *timing = (struct timing){
        .device_coverage = coverage_raise(trace->run.capture_contract.device_timing, rows),
    };
    if (!rows) return true;
    struct maker maker = {.trace = trace, .timing = timing};
    maker.by_span.of_row = array_raw(rows, sizeof(uint32_t));
    maker.by_clock.of_row = array_raw(rows, sizeof(uint32_t));
    bool made = maker.by_span.of_row && maker.by_clock.of_row && find_groups(&maker);
    pair_map_free(&maker.clock_map);
    pair_map_free(&maker.span_map);
    made = made && gather(&maker.by_span, rows, timing->span_count) &&
           gather(&maker.by_clock, rows, timing->clock_count);
    if (made) {
        maker.intervals = array_raw(rows, sizeof *maker.intervals);
        timing->strings = array_raw(rows * 2, sizeof *timing->strings);
        made = maker.intervals && timing->strings;
    }
    if (made) {
        measure(&maker);
        qsort_r(timing->spans, timing->span_count, sizeof *timing->spans, compare_spans,
                (void *)(uintptr_t)trace);
        qsort_r(timing->clocks, timing->clock_count, sizeof *timing->clocks, compare_clocks,
                (void *)(uintptr_t)trace);
        array_trim(&timing->strings, maker.string_count, sizeof *timing->strings);
    }
    groups_free(&maker.by_span);
    groups_free(&maker.by_clock);
    free(maker.intervals);
    if (!made) timing_free(timing);
    return made;
}

void timing_free(struct timing *timing)
{
    free(timing->spans);
    free(timing->clocks);
    free(timing->strings);
    *timing = (struct timing){0};
}
