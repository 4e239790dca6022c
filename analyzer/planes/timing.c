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
    uint32_t next;  /* of the same span, which the trace knows; CG_NONE: none */
};

struct maker {
    const struct cg_trace *trace;
    struct timing *timing;
    struct pair_map clock_map; /* (device, clock id) to its row */
    uint32_t *of_span;         /* by row of the trace's span: row of its first clock; CG_NONE: none yet */
    bool unknown;              /* there are spans that the trace does not know */
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
    maker->spans[row] = (struct span_clock){span_id, clock, CG_NONE};
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
    if (!entry || !made) return entry ? entry->value : CG_NONE;
    uint32_t added = entry->value = add_span(maker, span_id, clock);
    maker->unknown |= span == CG_NONE;
    if (span != CG_NONE && added != CG_NONE) {
        struct span_clock *first = &maker->spans[maker->of_span[span]];
        maker->spans[added].next = first->next;
        first->next = added;
    }
    return added;
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
    return gather(&maker->by_span, records->rows, maker->timing->span_count) &&
           gather(&maker->by_clock, records->rows, maker->timing->clock_count);
}

static struct interval interval_of(const struct cg_device_intervals *records, uint32_t row)
{
    return (struct interval){records->start_ns[row],
                             cg_sat_add(records->start_ns[row], records->duration_ns[row])};
}

/* The length of the union of rows that come by time; false, and no length, when they do not. */
static bool busy_by_time(const struct cg_device_intervals *records, const uint32_t *rows, size_t count,
                         uint64_t *length)
{
    struct interval joined = interval_of(records, rows[0]);
    uint64_t before = joined.start;
    *length = 0;
    for (size_t i = 1; i < count; i++) {
        struct interval next = interval_of(records, rows[i]);
        if (next.start < before) return false;
        before = next.start;
        if (next.start > joined.end) {
            *length += joined.end - joined.start;
            joined = next;
        } else if (next.end > joined.end) {
            joined.end = next.end;
        }
    }
    *length += joined.end - joined.start;
    return true;
}

static uint64_t busy(struct maker *maker, const uint32_t *rows, size_t count)
{
    const struct cg_device_intervals *records = &maker->trace->device_interval;
    uint64_t length;
    if (busy_by_time(records, rows, count, &length)) return length;
    for (size_t i = 0; i < count; i++)
        maker->intervals[i] = interval_of(records, rows[i]);
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

static struct timing_span measure_span(struct maker *maker, uint32_t number)
{
    const struct cg_device_intervals *records = &maker->trace->device_interval;
    const uint32_t *rows = maker->by_span.row + maker->by_span.first[number];
    size_t count = maker->by_span.first[number + 1] - maker->by_span.first[number];
    const struct timing_clock *clock = &maker->timing->clocks[maker->spans[number].clock];
    return (struct timing_span){
        .span_id = maker->spans[number].span_id,
        .device = clock->device,
        .clock_id = clock->clock_id,
        .interval_count = count,
        .busy_ns = busy(maker, rows, count),
        .backends = distinct(maker, records->backend, rows, count),
        .streams = distinct(maker, records->stream_id, rows, count),
    };
}

/* Spans of the trace stand in the byte order of their ids: those that it knows are measured in that order. */
static void measure_spans(struct maker *maker)
{
    size_t count = 0;
    for (size_t row = 0; row < maker->trace->span.rows; row++)
        for (uint32_t i = maker->of_span[row]; i != CG_NONE; i = maker->spans[i].next)
            maker->timing->spans[count++] = measure_span(maker, i);
    for (uint32_t i = 0; count < maker->timing->span_count; i++)
        if (trace_span(maker->trace, maker->spans[i].span_id) == CG_NONE)
            maker->timing->spans[count++] = measure_span(maker, i);
}

static void measure_clocks(struct maker *maker)
{
    for (size_t i = 0; i < maker->timing->clock_count; i++) {
        const uint32_t *rows = maker->by_clock.row + maker->by_clock.first[i];
        size_t count = maker->by_clock.first[i + 1] - maker->by_clock.first[i];
        maker->timing->clocks[i].interval_count = count;
        maker->timing->clocks[i].busy_ns = busy(maker, rows, count);
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

/* Texts are compared among the clocks of one span alone, unless there are spans that the trace does not know.
 */
static void sort_spans(const struct maker *maker)
{
    struct timing_span *spans = maker->timing->spans;
    size_t count = maker->timing->span_count;
    if (maker->unknown) sort_rows(maker->trace, spans, count);
    for (size_t i = 0, end; !maker->unknown && i < count; i = end) {
        for (end = i + 1; end < count && spans[end].span_id == spans[i].span_id;)
            end++;
        sort_rows(maker->trace, spans + i, end - i);
    }
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
        measure_spans(&maker);
        measure_clocks(&maker);
        sort_spans(&maker);
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
