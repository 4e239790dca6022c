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

/* A counting sort by group; of_row is filled already and is not needed further. */
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
    free(groups->of_row);
    groups->of_row = NULL;
    return true;
}

/* A (span, clock) pair. */
struct span_clock {
    cg_str span_id;
    uint32_t clock; /* row of timing->clocks, before they are sorted */
};

struct maker {
    const struct cg_trace *trace;
    struct timing *timing;
    struct pair_map clock_map; /* (device, clock id) to its row */
    uint32_t *of_span;         /* by row of the trace's span: row of its first clock; CG_NONE: none yet */
    struct pair_map span_map;  /* (span id, clock) to their rows, beyond those */
    size_t clock_capacity, span_capacity;
    struct span_clock *spans;
    struct groups by_span, by_clock;
    struct interval *intervals; /* of one group */
    size_t string_count;
};

/* The row of a clock, entered when it is new; CG_NONE when memory is short. */
static uint32_t find_clock(struct maker *maker, cg_str device, cg_str clock_id)
{
    struct timing *timing = maker->timing;
    bool made;
    struct pair_entry *entry = pair_map_insert(&maker->clock_map, device, clock_id, &made);
    if (!entry) return CG_NONE;
    if (!made) return entry->value;
    if (!array_room(&timing->clocks, timing->clock_count, &maker->clock_capacity, sizeof *timing->clocks))
        return CG_NONE;
    timing->clocks[timing->clock_count] = (struct timing_clock){.device = device, .clock_id = clock_id};
    return entry->value = (uint32_t)timing->clock_count++;
}

static uint32_t add_span(struct maker *maker, cg_str span_id, uint32_t clock)
{
    size_t row = maker->timing->span_count;
    if (!array_room(&maker->spans, row, &maker->span_capacity, sizeof *maker->spans)) return CG_NONE;
    maker->spans[row] = (struct span_clock){span_id, clock};
    maker->timing->span_count++;
    return (uint32_t)row;
}

/* The same for a span on a clock. Nearly every span is known and has one clock. */
static uint32_t find_span(struct maker *maker, cg_str span_id, uint32_t clock)
{
    bool made;
    uint32_t span = trace_span(maker->trace, span_id);
    if (span != CG_NONE && maker->of_span[span] == CG_NONE)
        return maker->of_span[span] = add_span(maker, span_id, clock);
    if (span != CG_NONE && maker->spans[maker->of_span[span]].clock == clock) return maker->of_span[span];
    struct pair_entry *entry = pair_map_insert(&maker->span_map, span_id, clock, &made);
    if (!entry) return CG_NONE;
    return made ? entry->value = add_span(maker, span_id, clock) : entry->value;
}

/* Finds the distinct clocks and (span, clock) pairs, in order of appearance, and gathers the intervals by
 * them. */
static bool find_groups(struct maker *maker)
{
    const struct cg_device_intervals *records = &maker->trace->device_interval;
    maker->by_span.of_row = array_raw(records->rows, sizeof(uint32_t));
    maker->by_clock.of_row = array_raw(records->rows, sizeof(uint32_t));
    maker->of_span = array_raw(maker->trace->span.rows, sizeof *maker->of_span);
    if (!maker->by_span.of_row || !maker->by_clock.of_row || !maker->of_span) return false;
    for (size_t i = 0; i < maker->trace->span.rows; i++)
        maker->of_span[i] = CG_NONE;
    for (size_t i = 0; i < records->rows; i++) {
        uint32_t clock = find_clock(maker, records->device[i], records->clock_id[i]);
        if (clock == CG_NONE) return false;
        uint32_t span = find_span(maker, records->span_id[i], clock);
        if (span == CG_NONE) return false;
        maker->by_clock.of_row[i] = clock;
        maker->by_span.of_row[i] = span;
    }
    pair_map_free(&maker->clock_map);
    pair_map_free(&maker->span_map);
    free(maker->of_span);
    maker->of_span = NULL;
    return gather(&maker->by_span, records->rows, maker->timing->span_count) &&
           gather(&maker->by_clock, records->rows, maker->timing->clock_count);
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
        const struct timing_clock *clock = &timing->clocks[maker->spans[i].clock];
        timing->spans[i] = (struct timing_span){
            .span_id = maker->spans[i].span_id,
            .device = clock->device,
            .clock_id = clock->clock_id,
            .interval_count = count,
            .busy_ns = busy(maker, rows, count),
        };
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

static void sort_rows(const struct cg_trace *trace, struct timing_span *spans, size_t count)
{
    if (count > 1) qsort_r(spans, count, sizeof *spans, compare_spans, (void *)(uintptr_t)trace);
}

/* Spans of the trace stand in the byte order of their ids already: where all are known they are sorted by
 * their rows, and texts compared only among the clocks of one span. */
static bool sort_spans(const struct cg_trace *trace, struct timing *timing)
{
    size_t count = timing->span_count;
    struct timing_span *spans = timing->spans, *sorted = array_raw(count, sizeof *sorted);
    uint64_t *rows = array_raw(count, sizeof *rows);
    uint32_t *order = NULL;
    bool known = true, good = sorted && rows;
    for (size_t i = 0; i < count && good; i++) {
        rows[i] = trace_span(trace, spans[i].span_id);
        known &= rows[i] != CG_NONE;
    }
    good = good && (!known || order_by_time(rows, count, &order));
    for (size_t i = 0; i < count && good; i++)
        sorted[i] = spans[ordered_row(order, i)];
    free(rows);
    free(order);
    if (!good) {
        free(sorted);
        return false;
    }
    free(spans);
    timing->spans = sorted;
    if (!known) sort_rows(trace, sorted, count);
    for (size_t i = 0, end; known && i < count; i = end) {
        for (end = i + 1; end < count && sorted[end].span_id == sorted[i].span_id;)
            end++;
        sort_rows(trace, sorted + i, end - i);
    }
    return true;
}

bool timing_make(const struct cg_trace *trace, struct timing *timing)
{
    size_t rows = trace->device_interval.rows;
    *timing = (struct timing){
        .device_coverage = coverage_raise(trace->run.capture_contract.device_timing, rows),
    };
    if (!rows) return true;
    struct maker maker = {.trace = trace, .timing = timing};
    bool made = find_groups(&maker);
    if (made) {
        maker.intervals = array_raw(rows, sizeof *maker.intervals);
        timing->spans = array_raw(timing->span_count, sizeof *timing->spans);
        timing->strings = array_raw(rows * 2, sizeof *timing->strings);
        made = maker.intervals && timing->spans && timing->strings;
    }
    if (made) {
        measure(&maker);
        made = sort_spans(trace, timing);
        qsort_r(timing->clocks, timing->clock_count, sizeof *timing->clocks, compare_clocks,
                (void *)(uintptr_t)trace);
        array_trim(&timing->strings, maker.string_count, sizeof *timing->strings);
    }
    pair_map_free(&maker.clock_map);
    pair_map_free(&maker.span_map);
    free(maker.of_span);
    groups_free(&maker.by_span);
    groups_free(&maker.by_clock);
    free(maker.spans);
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
