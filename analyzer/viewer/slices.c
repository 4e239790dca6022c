#include "analyzer/viewer/slices.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/planes/array.h"
#include "analyzer/planes/correlation.h"
#include "analyzer/planes/order.h"
#include "analyzer/planes/pair_map.h"

/* A slice before it has its place: the rest is looked up when it gets that. */
struct reference {
    uint32_t row;
    uint16_t track; /* at most 2 x (TRACKS_MAX + 1) */
    uint8_t kind;
};

/* Tracks while they are found: the map's value is the track's number + 1. */
struct finder {
    const struct cg_trace *trace;
    struct slices *slices;
    struct pair_map threads, clocks, streams;
    size_t track_capacity, clock_capacity, lane_capacity, host_tracks;
    uint32_t *track_of_span;
    struct reference *references; /* by time: of the host, then of devices */
};

#define NO_TRACK  UINT32_MAX
#define UNDER_WAY (UINT32_MAX - 1)

static uint32_t add_track(struct finder *finder, const struct track *track)
{
    struct slices *slices = finder->slices;
    if (!array_room(&slices->tracks, slices->track_count, &finder->track_capacity, sizeof *slices->tracks))
        return NO_TRACK;
    slices->tracks[slices->track_count] = *track;
    return (uint32_t)slices->track_count++;
}

/* Beyond TRACKS_MAX everything shares one track more. */
static bool find_track(struct finder *finder, struct pair_map *map, uint32_t first, uint32_t second,
                       size_t begin, const struct track *track, uint32_t *number)
{
    struct pair_entry *entry = pair_map_find(map, first, second);
    if (entry) {
        *number = entry->value;
        return true;
    }
    struct slices *slices = finder->slices;
    if (slices->track_count - begin > TRACKS_MAX) {
        *number = (uint32_t)(slices->track_count - 1);
        return true;
    }
    struct track made = *track;
    made.rest = slices->track_count - begin == TRACKS_MAX;
    *number = add_track(finder, &made);
    if (*number == NO_TRACK) return false;
    entry = made.rest ? NULL : pair_map_insert(map, first, second, NULL);
    if (entry) entry->value = *number;
    return made.rest || entry;
}

/* Numbers that no system gives to a thread (from 2^64 - 2^32 on) are taken as unknown. */
static bool find_thread(struct finder *finder, bool known, uint64_t tid, uint32_t *number)
{
    uint32_t high = (uint32_t)(tid >> 32), unknown = UINT32_MAX;
    known = known && high != unknown;
    struct track track = {.known = known, .tid = known ? tid : 0};
    return find_track(finder, &finder->threads, known ? high + 1 : unknown, known ? (uint32_t)tid : 0, 0,
                      &track, number);
}

/* The thread of a span that names none is that of the span around it. */
static bool thread_of_span(struct finder *finder, uint32_t span, uint32_t *number)
{
    const struct cg_spans *spans = &finder->trace->span;
    uint32_t at = span, found = NO_TRACK;
    while (at != CG_NONE && finder->track_of_span[at] >= UNDER_WAY) {
        if (finder->track_of_span[at] == UNDER_WAY) break; /* a cycle */
        if (spans->tid_set[at]) {
            if (!find_thread(finder, true, spans->tid[at], &found)) return false;
            break;
        }
        finder->track_of_span[at] = UNDER_WAY;
        at = spans->parent[at];
    }
    if (found == NO_TRACK && at != CG_NONE && finder->track_of_span[at] < UNDER_WAY)
        found = finder->track_of_span[at];
    if (found == NO_TRACK && !find_thread(finder, false, 0, &found)) return false;
    for (at = span; at != CG_NONE && finder->track_of_span[at] >= UNDER_WAY; at = spans->parent[at]) {
        finder->track_of_span[at] = found;
        if (spans->tid_set[at]) break;
    }
    *number = finder->track_of_span[span];
    return true;
}

static bool thread_of_op(struct finder *finder, uint32_t op, uint32_t *number)
{
    const struct cg_ops *ops = &finder->trace->op;
    if (ops->tid_set[op]) return find_thread(finder, true, ops->tid[op], number);
    uint32_t span = trace_span(finder->trace, ops->span_id[op]);
    return span == CG_NONE ? find_thread(finder, false, 0, number) : thread_of_span(finder, span, number);
}

static bool find_clock(struct finder *finder, uint32_t interval, uint32_t *number)
{
    const struct cg_device_intervals *intervals = &finder->trace->device_interval;
    struct slices *slices = finder->slices;
    bool made;
    struct pair_entry *entry =
        pair_map_insert(&finder->clocks, intervals->device[interval], intervals->clock_id[interval], &made);
    if (!entry) return false;
    if (made) {
        entry->value = (uint32_t)slices->clock_count;
        if (!array_room(&slices->clocks, slices->clock_count, &finder->clock_capacity,
                        sizeof *slices->clocks))
            return false;
        slices->clocks[slices->clock_count++] = (struct device_clock){intervals->device[interval],
                                                                      intervals->clock_id[interval],
                                                                      intervals->start_ns[interval],
                                                                      0,
                                                                      false,
                                                                      0};
    }
    *number = entry->value;
    return true;
}

/* Intervals come by time, so the first of a clock is its earliest. */
static bool stream_of(struct finder *finder, uint32_t row, uint32_t *number)
{
    const struct cg_trace *trace = finder->trace;
    const struct cg_device_intervals *intervals = &trace->device_interval;
    uint32_t clock, op = finder->slices->issuer[row];
    if (!find_clock(finder, row, &clock)) return false;
    struct device_clock *of = &finder->slices->clocks[clock];
    uint64_t end = cg_sat_add(intervals->start_ns[row], intervals->duration_ns[row]);
    if (end > of->last_ns) of->last_ns = end;
    if (op != CG_NONE) {
        int64_t shift = (int64_t)(trace->op.timestamp_ns[op] - intervals->start_ns[row]);
        if (!of->joined || shift > of->shift_ns) of->shift_ns = shift;
        of->joined = true;
    }
    struct track track = {
        .device = of->device, .clock_id = of->clock_id, .stream = intervals->stream_id[row], .clock = clock};
    return find_track(finder, &finder->streams, clock + 1, intervals->stream_id[row], finder->host_tracks,
                      &track, number);
}

/* ---- the slices in the order of their times, and their tracks ---- */

static void append(struct finder *finder, enum slice_kind kind, uint32_t row, uint32_t track)
{
    struct slices *slices = finder->slices;
    finder->references[slices->count++] = (struct reference){row, (uint16_t)track, (uint8_t)kind};
    slices->tracks[track].count++;
}

static bool append_span(struct finder *finder, uint32_t row)
{
    uint32_t track;
    if (!thread_of_span(finder, row, &track)) return false;
    append(finder, SLICE_SPAN, row, track);
    return true;
}

static bool append_op(struct finder *finder, uint32_t row)
{
    const struct cg_ops *ops = &finder->trace->op;
    uint32_t track, span = trace_span(finder->trace, ops->span_id[row]);
    if (ops->timestamp_ns[row] == 0 && (span == CG_NONE || finder->trace->span.start_ns[span] > 0)) {
        finder->slices->untimed++;
        return true;
    }
    if (!thread_of_op(finder, row, &track)) return false;
    append(finder, SLICE_OP, row, track);
    return true;
}

static struct slice slice_of(const struct cg_trace *trace, struct reference reference)
{
    uint32_t row = reference.row;
    uint64_t start, duration;
    switch ((enum slice_kind)reference.kind) {
    case SLICE_SPAN:
        start = trace->span.start_ns[row];
        duration = trace->span.duration_ns[row];
        /* An open span lasts to the end of the capture. */
        if (!trace->span.closed[row]) duration = cg_sat_sub(trace->terminal.timestamp_ns, start);
        break;
    case SLICE_OP:
        start = trace->op.timestamp_ns[row];
        duration = trace->op.duration_ns[row];
        break;
    default:
        start = trace->device_interval.start_ns[row];
        duration = trace->device_interval.duration_ns[row];
    }
    return (struct slice){start, duration, duration, row, 0, reference.kind};
}

static bool append_host(struct finder *finder)
{
    const struct cg_trace *trace = finder->trace;
    uint32_t *span_order, *op_order;
    if (!order_by_time(trace->span.start_ns, trace->span.rows, &span_order)) return false;
    if (!order_by_time(trace->op.timestamp_ns, trace->op.rows, &op_order)) {
        free(span_order);
        return false;
    }
    bool good = true;
    for (size_t s = 0, o = 0; good && (s < trace->span.rows || o < trace->op.rows);) {
        uint32_t span = s < trace->span.rows ? ordered_row(span_order, s) : CG_NONE;
        uint32_t op = o < trace->op.rows ? ordered_row(op_order, o) : CG_NONE;
        bool first =
            op == CG_NONE || (span != CG_NONE && trace->span.start_ns[span] <= trace->op.timestamp_ns[op]);
        good = first ? append_span(finder, span) : append_op(finder, op);
        s += first;
        o += !first;
    }
    free(span_order);
    free(op_order);
    return good;
}

/* Where one thread did everything, spans that name no thread (the session, the measured region) are its own.
 */
static void join_lone_thread(struct finder *finder)
{
    struct slices *slices = finder->slices;
    if (slices->track_count != 2 || slices->tracks[0].known == slices->tracks[1].known) return;
    const struct track *known = &slices->tracks[slices->tracks[1].known];
    slices->tracks[0] = (struct track){.known = true, .tid = known->tid, .count = slices->count};
    slices->track_count = 1;
    for (size_t i = 0; i < slices->count; i++)
        finder->references[i].track = 0;
}

static bool append_device(struct finder *finder)
{
    const struct cg_device_intervals *intervals = &finder->trace->device_interval;
    uint32_t *order;
    bool good = correlation_issuers(finder->trace, &finder->slices->issuer) &&
                order_by_time(intervals->start_ns, intervals->rows, &order);
    if (!good) return false;
    finder->host_tracks = finder->slices->track_count;
    for (size_t i = 0; i < intervals->rows && good; i++) {
        uint32_t row = ordered_row(order, i), track;
        good = stream_of(finder, row, &track);
        if (good) append(finder, SLICE_INTERVAL, row, track);
    }
    free(order);
    return good;
}

/* ---- tracks and lanes ---- */

static int compare_starts(const void *left, const void *right)
{
    const struct slice *a = left, *b = right;
    if (a->duration != b->duration) return a->duration > b->duration ? -1 : 1;
    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

/* Sorts the slices from `first` on that begin at one time: the longer encloses the shorter. Returns the
 * number of the one behind them. */
static size_t sort_equal_starts(struct slice *list, size_t first, size_t count)
{
    size_t end = first + 1;
    while (end < count && list[end].start == list[first].start)
        end++;
    if (end - first > 1) qsort(list + first, end - first, sizeof *list, compare_starts);
    return end;
}

/* A lane of a track while its slices get their lanes. */
struct lane {
    size_t count, occupant; /* the slice that came last */
};

/* The lane of a slice is the one below the lowest that is still occupied when it begins. What is counted of
 * the lanes is counted here, where the slices are at hand: each further pass over 3 million takes 6 ms. */
static void assign_lanes(struct slice *list, struct track *track, struct lane lanes[LANES_MAX],
                         size_t borders[65])
{
    uint32_t occupied = 0;
    track->lanes = 0;
    for (size_t i = 0, sorted = 0; i < track->count; i++) {
        struct slice *slice = &list[i];
        if (i == sorted) sorted = sort_equal_starts(list, i, track->count);
        uint64_t end = cg_sat_add(slice->start, slice->duration);
        while (occupied > 0) {
            const struct slice *last = &list[lanes[occupied - 1].occupant];
            if (cg_sat_add(last->start, last->duration) > slice->start) break;
            occupied--;
        }
        if (occupied == LANES_MAX) occupied--;
        if (occupied > 0) {
            struct slice *above = &list[lanes[occupied - 1].occupant];
            uint64_t above_end = cg_sat_add(above->start, above->duration);
            above->self = cg_sat_sub(above->self, (end < above_end ? end : above_end) - slice->start);
        }
        slice->lane = (uint16_t)occupied;
        if (occupied == track->lanes) {
            lanes[track->lanes++] = (struct lane){0, i};
        } else {
            uint64_t differ = slice->start ^ list[lanes[occupied].occupant].start;
            borders[differ ? 64 - __builtin_clzll(differ) : 0]++;
        }
        lanes[occupied].count++;
        lanes[occupied++].occupant = i;
    }
}

/* Enters the lanes of a track, with their counts, in those of all. */
static bool add_lanes(struct finder *finder, struct track *track, const struct lane *lanes)
{
    struct slices *slices = finder->slices;
    track->first_lane = (uint32_t)slices->lane_count;
    for (uint32_t lane = 0; lane < track->lanes; lane++) {
        if (!array_room(&slices->lane_first, slices->lane_count + 1, &finder->lane_capacity,
                        sizeof *slices->lane_first))
            return false;
        slices->lane_first[slices->lane_count++] = lanes[lane].count;
    }
    return true;
}

/* Puts the slices of each track together, keeping their order. */
static bool gather_tracks(struct finder *finder)
{
    struct slices *slices = finder->slices;
    struct slice *sorted = slices->list = array_raw(slices->count, sizeof *sorted);
    struct lane lanes[LANES_MAX];
    if (!sorted || !array_room(&slices->lane_first, 0, &finder->lane_capacity, sizeof *slices->lane_first))
        return false;
    size_t first = 0;
    for (size_t t = 0; t < slices->track_count; t++) {
        slices->tracks[t].first = first;
        first += slices->tracks[t].count;
        slices->tracks[t].count = 0;
    }
    for (size_t i = 0; i < slices->count; i++) {
        struct track *track = &slices->tracks[finder->references[i].track];
        sorted[track->first + track->count++] = slice_of(finder->trace, finder->references[i]);
    }
    for (size_t t = 0; t < slices->track_count; t++) {
        struct track *track = &slices->tracks[t];
        assign_lanes(sorted + track->first, track, lanes, slices->borders);
        if (!add_lanes(finder, track, lanes)) return false;
    }
    return true;
}

/* Where the lanes of a track begin, from its slices' numbers on, of how many slices they have; returns the
 * one with the most. */
static uint32_t find_lane_firsts(const struct track *track, size_t *first, size_t *most)
{
    uint32_t largest = 0;
    size_t sum = 0;
    *most = 0;
    for (uint32_t lane = 0; lane < track->lanes; lane++) {
        size_t count = first[lane];
        if (count > *most) largest = lane;
        if (count > *most) *most = count;
        first[lane] = sum;
        sum += count;
    }
    return largest;
}

/* Then those of each lane of a track. The slices of its largest lane move within the list, and only the
 * others need room of their own, which for 3 million slices on one thread is 40 MB and not 100. first: of its
 * lanes. */
static bool gather_track_lanes(const struct slices *slices, const struct track *track, size_t *first)
{
    struct slice *list = slices->list + track->first;
    size_t most, kept = 0;
    uint32_t largest = find_lane_firsts(track, first, &most);
    if (track->lanes > 1) {
        struct slice *spare = array_raw(track->count - most, sizeof *spare);
        if (!spare) return false;
        size_t before = first[largest], after = track->count - before - most;
        for (size_t i = 0; i < track->count; i++) {
            uint32_t lane = list[i].lane;
            if (lane == largest)
                list[kept++] = list[i];
            else
                spare[first[lane]++ - (lane > largest ? most : 0)] = list[i];
        }
        memmove(list + before, list, most * sizeof *list);
        memcpy(list, spare, before * sizeof *list);
        memcpy(list + before + most, spare + before, after * sizeof *list);
        free(spare);
        first[largest] += most;
        memmove(first + 1, first, (track->lanes - 1) * sizeof *first);
        first[0] = 0;
    }
    for (uint32_t lane = 0; lane < track->lanes; lane++)
        first[lane] += track->first;
    return true;
}

static bool gather_lanes(struct slices *slices)
{
    bool good = true;
    for (size_t t = 0; t < slices->track_count && good; t++)
        good =
            gather_track_lanes(slices, &slices->tracks[t], slices->lane_first + slices->tracks[t].first_lane);
    slices->lane_first[slices->lane_count] = slices->count;
    return good;
}

bool slices_make(const struct cg_trace *trace, struct slices *slices)
{
    size_t most = trace->span.rows + trace->op.rows + trace->device_interval.rows;
    *slices = (struct slices){0};
    struct finder finder = {.trace = trace,
                            .slices = slices,
                            .track_of_span = array_raw(trace->span.rows, sizeof(uint32_t)),
                            .references = array_raw(most, sizeof *finder.references)};
    bool good = finder.track_of_span && finder.references;
    if (good) {
        memset(finder.track_of_span, 0xff, trace->span.rows * sizeof(uint32_t));
        good = append_host(&finder);
        if (good) join_lone_thread(&finder);
        good = good && append_device(&finder) && gather_tracks(&finder);
    }
    free(finder.track_of_span);
    free(finder.references);
    pair_map_free(&finder.threads);
    pair_map_free(&finder.clocks);
    pair_map_free(&finder.streams);
    return good && gather_lanes(slices);
}

void slices_free(struct slices *slices)
{
    free(slices->list);
    free(slices->tracks);
    free(slices->clocks);
    free(slices->lane_first);
    free(slices->issuer);
    *slices = (struct slices){0};
}

cg_str slice_name(const struct cg_trace *trace, const struct slices *slices, const struct slice *slice)
{
    const struct cg_device_intervals *intervals = &trace->device_interval;
    if (slice->kind == SLICE_SPAN) return trace->span.name[slice->row];
    if (slice->kind == SLICE_OP) return trace->op.op_name[slice->row];
    if (intervals->name[slice->row] != CG_ABSENT) return intervals->name[slice->row];
    uint32_t op = slices->issuer[slice->row];
    if (op != CG_NONE) return trace->op.op_name[op];
    if (intervals->activity[slice->row] != CG_ABSENT) return intervals->activity[slice->row];
    return intervals->stream_id[slice->row];
}
