#include "analyzer/planes/idle.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/planes/array.h"
#include "analyzer/planes/interval_set.h"
#include "analyzer/planes/order.h"
#include "analyzer/planes/pair_map.h"

/* What one clock is worked out from. The sets are of host times in the window, where there are anchors. */
struct maker {
    const struct cg_trace *trace;
    const struct device_work *work;
    const struct suspects *suspects;
    const struct idle_options *options;
    struct idle *idle;
    struct interval_set input;  /* of all clocks */
    uint8_t *issues;            /* by operation: it issues work */
    uint32_t *op_order;         /* operations by time */
    struct interval *issued_by; /* by operation: its work on this clock, from its first start to its last end;
                                   end 0: none. A call may issue much, as a graph does.
                                   NULL until a clock has a place on the host's. */

    struct idle_clock *clock;
    struct interval_set busy, pending, launching;
    struct interval_set unknown; /* starts of work of which no call is known, one nanosecond each */
    uint64_t *issued, *finished; /* of work whose call is known */
    size_t queued;
};

/* ---- calls that issue work ---- */

static bool find_issuers(struct maker *maker)
{
    const struct cg_ops *op = &maker->trace->op;
    const struct device_work *work = maker->work;
    maker->issues = array_zeroed(op->rows, 1);
    if (!maker->issues || !order_by_time(op->timestamp_ns, op->rows, &maker->op_order)) return false;
    for (size_t i = 0; i < maker->trace->device_interval.rows; i++)
        if (work->issuer[i] != CG_NONE) maker->issues[work->issuer[i]] = 1;
    for (size_t row = 0; row < op->rows; row++) {
        bool failed = op->error_set[row] && op->error[row] != 0;
        if (work->op_class[row] == WORK_OTHER || maker->issues[row] || failed) continue;
        maker->issues[row] = 1;
        maker->idle->untimed_calls++;
    }
    return true;
}

/* ---- the window ---- */

static void find_window(const struct cg_trace *trace, struct idle *idle)
{
    uint32_t measured = CG_NONE;
    idle->window = (struct interval){0, trace->terminal.timestamp_ns};
    idle->whole_run = true;
    for (uint32_t row = 0; row < trace->span.rows; row++) {
        if (!trace->span.measured[row]) continue;
        idle->whole_run = measured != CG_NONE;
        measured = row;
        if (idle->whole_run) return;
    }
    if (measured == CG_NONE) return;
    idle->window.start = trace->span.start_ns[measured];
    if (trace->span.closed[measured]) idle->window.end = trace_span_end(trace, measured);
}

/* An interval as far as it lies in the window. */
static bool add_clipped(const struct idle *idle, struct interval_set *set, uint64_t start, uint64_t end)
{
    if (start < idle->window.start) start = idle->window.start;
    if (end > idle->window.end) end = idle->window.end;
    return interval_set_add(set, start, end);
}

static bool find_input(struct maker *maker)
{
    const struct cg_trace *trace = maker->trace;
    for (uint32_t row = 0; maker->options->input != CG_ABSENT && row < trace->span.rows; row++) {
        if (trace->span.name[row] != maker->options->input) continue;
        uint64_t end = trace->span.closed[row] ? trace_span_end(trace, row) : trace->terminal.timestamp_ns;
        maker->idle->input_known = true;
        if (!add_clipped(maker->idle, &maker->input, trace->span.start_ns[row], end)) return false;
    }
    interval_set_settle(&maker->input);
    maker->idle->input_ns = interval_set_length(&maker->input);
    return true;
}

/* ---- work ---- */

static uint64_t end_of_interval(const struct cg_trace *trace, uint32_t row)
{
    return cg_sat_add(trace->device_interval.start_ns[row], trace->device_interval.duration_ns[row]);
}

/* On the host's clock; what lies before its 0 is cut off. */
static uint64_t host_ns(struct idle_clock *clock, const struct cg_device_clock *anchors, uint64_t device_ns)
{
    struct host_time time = device_clock_host(anchors, device_ns);
    if (time.uncertainty_ns > clock->anchor_uncertainty_ns)
        clock->anchor_uncertainty_ns = time.uncertainty_ns;
    return time.ns < 0 ? 0 : time.ns > UINT64_MAX ? UINT64_MAX : (uint64_t)time.ns;
}

static uint64_t call_end(const struct cg_trace *trace, size_t op)
{
    return cg_sat_add(trace->op.timestamp_ns[op], trace->op.duration_ns[op]);
}

/* A piece of work on the host's clock, and since when it was enqueued. */
static bool add_placed(struct maker *maker, uint32_t row, const struct cg_device_clock *anchors)
{
    const struct cg_trace *trace = maker->trace;
    struct idle_clock *clock = maker->clock;
    uint32_t op = maker->work->issuer[row];
    uint64_t start = host_ns(clock, anchors, trace->device_interval.start_ns[row]);
    uint64_t end = host_ns(clock, anchors, end_of_interval(trace, row));
    if (!add_clipped(maker->idle, &maker->busy, start, end)) return false;
    if (op == CG_NONE) return start == UINT64_MAX || interval_set_add(&maker->unknown, start, start + 1);
    struct interval *whole = &maker->issued_by[op];
    if (whole->end == 0 || start < whole->start) whole->start = start;
    if (end >= whole->end) whole->end = end > 0 ? end : 1;
    return add_clipped(maker->idle, &maker->pending, call_end(trace, op), start);
}

/* How long each call's work waited, and when it was in the queue. */
static void take_calls(struct maker *maker)
{
    const struct cg_trace *trace = maker->trace;
    struct idle_clock *clock = maker->clock;
    for (size_t op = 0; clock->anchored && op < trace->op.rows; op++) {
        struct interval whole = maker->issued_by[op];
        uint64_t returned = call_end(trace, op);
        if (whole.end == 0) continue;
        maker->issued_by[op] = (struct interval){0, 0};
        clock->delays[clock->delay_count++] = cg_sat_sub(whole.start, returned);
        clock->began_before += whole.start < returned;
        maker->issued[maker->queued] = whole.start < returned ? whole.start : returned;
        maker->finished[maker->queued++] = whole.end;
    }
}

static bool add_work(struct maker *maker)
{
    const struct device_work *work = maker->work;
    const struct work_clock *of = &work->clocks[maker->clock->clock];
    const struct cg_device_intervals *interval = &maker->trace->device_interval;
    for (size_t i = 0; i < of->stream_count; i++) {
        const struct work_stream *stream = &work->streams[of->first_stream + i];
        for (size_t at = stream->first; at < stream->first + stream->count; at++) {
            uint32_t row = work->order[at];
            if (suspect_is(maker->suspects, SUSPECT_INTERVALS, row)) continue;
            maker->clock->intervals++;
            if (interval->uncertainty_ns_set[row])
                maker->clock->busy_uncertain_ns =
                    cg_sat_add(maker->clock->busy_uncertain_ns, interval->uncertainty_ns[row]);
            if (of->anchors ? !add_placed(maker, row, of->anchors)
                            : !interval_set_add(&maker->busy, interval->start_ns[row],
                                                end_of_interval(maker->trace, row)))
                return false;
        }
    }
    take_calls(maker);
    interval_set_settle(&maker->busy);
    interval_set_settle(&maker->pending);
    interval_set_settle(&maker->unknown);
    return true;
}

/* ---- overlap ---- */

static bool is_communication(const struct cg_trace *trace, uint32_t row)
{
    struct cg_text name = trace_text(trace, trace->device_interval.name[row]);
    return name.bytes && memmem(name.bytes, name.length, "nccl", 4) != NULL;
}

static bool overlap_with(struct interval_set *set, const struct interval_set *computing,
                         struct idle_overlap *overlap)
{
    struct interval_set alone = {0};
    interval_set_settle(set);
    bool ok = interval_set_subtract(set, computing, &alone);
    overlap->total_ns = interval_set_length(set);
    overlap->computing_ns = overlap->total_ns - interval_set_length(&alone);
    interval_set_free(&alone);
    return ok;
}

/* Which of the sets a piece of work belongs to; NULL: none. */
struct overlaps {
    struct interval_set computing, copying, communicating;
};
static struct interval_set *set_of(const struct maker *maker, uint32_t row, struct overlaps *overlaps)
{
    enum work_class class = (enum work_class)maker->work->class[row];
    if (suspect_is(maker->suspects, SUSPECT_INTERVALS, row) || class == WORK_UNKNOWN) return NULL;
    if (class == WORK_KERNEL && is_communication(maker->trace, row)) return &overlaps->communicating;
    return class == WORK_COPY ? &overlaps->copying : &overlaps->computing;
}

/* Adds the clock's work to its sets: what computes, or all the rest. */
static bool add_overlapping(struct maker *maker, bool computing, struct overlaps *overlaps)
{
    const struct cg_trace *trace = maker->trace;
    const struct device_work *work = maker->work;
    const struct work_clock *of = &work->clocks[maker->clock->clock];
    for (size_t i = 0; i < of->stream_count; i++) {
        const struct work_stream *stream = &work->streams[of->first_stream + i];
        for (size_t at = stream->first; at < stream->first + stream->count; at++) {
            uint32_t row = work->order[at];
            struct interval_set *set = set_of(maker, row, overlaps);
            if (set && (set == &overlaps->computing) == computing &&
                !interval_set_add(set, trace->device_interval.start_ns[row], end_of_interval(trace, row)))
                return false;
        }
    }
    return true;
}

/* On the device's own clock. Most runs on one device neither copy beside kernels nor communicate: then what
 * computes is not looked at, which saves 15 ms of 1.2 million intervals. */
static bool find_overlaps(struct maker *maker)
{
    struct overlaps overlaps = {0};
    bool ok = add_overlapping(maker, false, &overlaps);
    if (ok && overlaps.copying.count + overlaps.communicating.count > 0) {
        ok = add_overlapping(maker, true, &overlaps);
        interval_set_settle(&overlaps.computing);
    }
    ok = ok && overlap_with(&overlaps.copying, &overlaps.computing, &maker->clock->copies) &&
         overlap_with(&overlaps.communicating, &overlaps.computing, &maker->clock->communication);
    interval_set_free(&overlaps.computing);
    interval_set_free(&overlaps.copying);
    interval_set_free(&overlaps.communicating);
    return ok;
}

/* ---- the host's calls ---- */

/* When the last call of each thread ended: (upper half of its tid + 1, lower half) to its place in ends. The
 * place 0 is of all calls whose thread is not known. */
struct last_calls {
    struct pair_map places;
    uint64_t *ends;
    bool *there;
    size_t count, room, there_room;
};

static bool add_place(struct last_calls *last)
{
    if (!array_room(&last->ends, last->count, &last->room, sizeof *last->ends) ||
        !array_room(&last->there, last->count, &last->there_room, sizeof *last->there))
        return false;
    last->there[last->count++] = false;
    return true;
}

/* The place of the operation's thread; SIZE_MAX when memory is short. */
static size_t place_of(struct last_calls *last, const struct cg_ops *op, size_t row)
{
    bool made;
    if (!op->tid_set[row] || op->tid[row] >> 32 == UINT32_MAX) return 0;
    struct pair_entry *entry =
        pair_map_insert(&last->places, (uint32_t)(op->tid[row] >> 32) + 1, (uint32_t)op->tid[row], &made);
    if (!entry || (made && !add_place(last))) return SIZE_MAX;
    if (made) entry->value = (uint32_t)last->count - 1;
    return entry->value;
}

/* Calls that issue work for the clock's device, in the order of their times, and what lies between two of a
 * thread. */
static bool find_launching(struct maker *maker)
{
    const struct cg_ops *op = &maker->trace->op;
    cg_str device = maker->work->clocks[maker->clock->clock].device;
    struct last_calls last = {0};
    bool ok = add_place(&last);
    for (size_t place = 0; ok && place < op->rows; place++) {
        uint32_t row = ordered_row(maker->op_order, place);
        if (op->device[row] != device || !maker->issues[row]) continue;
        uint64_t start = op->timestamp_ns[row], end = cg_sat_add(start, op->duration_ns[row]);
        size_t at = place_of(&last, op, row);
        if (at == SIZE_MAX) {
            ok = false;
            break;
        }
        bool follows =
            last.there[at] && last.ends[at] < start && start - last.ends[at] <= maker->options->launch_gap_ns;
        ok = add_clipped(maker->idle, &maker->launching, follows ? last.ends[at] : start, end);
        if (!last.there[at] || end > last.ends[at]) last.ends[at] = end;
        last.there[at] = true;
    }
    interval_set_settle(&maker->launching);
    pair_map_free(&last.places);
    free(last.ends);
    free(last.there);
    return ok;
}

/* ---- causes ---- */

/* Takes those gaps out that end otherwise than by the host's doing: short ones, and those before work of
 * which nothing is known. */
static void sort_out_gaps(struct maker *maker, struct interval_set *gaps)
{
    struct idle_clock *clock = maker->clock;
    size_t kept = 0, next = 0;
    for (size_t i = 0; i < gaps->count; i++) {
        struct interval gap = gaps->at[i];
        uint64_t length = gap.end - gap.start;
        bool inner = gap.start > maker->idle->window.start && gap.end < maker->idle->window.end;
        while (next < maker->unknown.count && maker->unknown.at[next].end <= gap.end)
            next++;
        bool unknown = next < maker->unknown.count && maker->unknown.at[next].start <= gap.end;
        if (length > clock->longest_gap_ns) clock->longest_gap_ns = length;
        if (inner && length < maker->options->kernel_wait_ns)
            clock->cause_ns[IDLE_KERNEL_WAIT] += length;
        else if (unknown && gap.end < maker->idle->window.end)
            clock->cause_ns[IDLE_OTHER] += length;
        else
            gaps->at[kept++] = gap;
    }
    gaps->count = kept;
}

/* Takes what lies in the set out of the gaps, and says how much that was. */
static bool take_out(struct interval_set *gaps, const struct interval_set *set, uint64_t *taken)
{
    struct interval_set rest = {0};
    bool ok = interval_set_subtract(gaps, set, &rest);
    *taken += interval_set_length(gaps) - interval_set_length(&rest);
    interval_set_free(gaps);
    *gaps = rest;
    return ok;
}

static bool find_causes(struct maker *maker)
{
    struct interval_set window = {0}, gaps = {0};
    struct idle_clock *clock = maker->clock;
    bool ok = interval_set_add(&window, maker->idle->window.start, maker->idle->window.end) &&
              interval_set_subtract(&window, &maker->busy, &gaps);
    clock->gaps = gaps.count;
    clock->idle_ns = interval_set_length(&gaps);
    if (ok) sort_out_gaps(maker, &gaps);
    ok = ok && take_out(&gaps, &maker->pending, &clock->cause_ns[IDLE_OTHER]) &&
         take_out(&gaps, &maker->input, &clock->cause_ns[IDLE_INPUT]) &&
         take_out(&gaps, &maker->launching, &clock->cause_ns[IDLE_LAUNCHING]);
    clock->cause_ns[IDLE_HOST] = interval_set_length(&gaps);
    interval_set_free(&window);
    interval_set_free(&gaps);
    return ok;
}

/* ---- queue depth ---- */

static bool add_at_depth(struct idle_clock *clock, size_t *room, size_t depth, uint64_t ns)
{
    for (; clock->depth_count <= depth; clock->depth_count++) {
        if (!array_room(&clock->at_depth, clock->depth_count, room, sizeof *clock->at_depth)) return false;
        clock->at_depth[clock->depth_count] = 0;
    }
    clock->at_depth[depth] += ns;
    return true;
}

/* Along all beginnings and ends of being queued; of equal times ends come first. */
static bool find_depths(struct maker *maker)
{
    const struct interval window = maker->idle->window;
    size_t issued = 0, finished = 0, room = 0, count = maker->queued;
    uint64_t now = window.start;
    if (!sort_times(maker->issued, count) || !sort_times(maker->finished, count) ||
        !sort_times(maker->clock->delays, count))
        return false;
    while (now < window.end) {
        while (finished < count && maker->finished[finished] <= now)
            finished++;
        while (issued < count && maker->issued[issued] <= now)
            issued++;
        uint64_t next = window.end;
        if (issued < count && maker->issued[issued] < next) next = maker->issued[issued];
        if (finished < count && maker->finished[finished] < next) next = maker->finished[finished];
        if (!add_at_depth(maker->clock, &room, issued > finished ? issued - finished : 0, next - now))
            return false;
        now = next;
    }
    return true;
}

uint64_t idle_depth_quantile(const struct idle_clock *clock, double q)
{
    uint64_t total = 0, below = 0;
    for (size_t depth = 0; depth < clock->depth_count; depth++)
        total += clock->at_depth[depth];
    for (size_t depth = 0; depth < clock->depth_count; depth++) {
        below += clock->at_depth[depth];
        if ((double)below >= q * (double)total) return depth;
    }
    return clock->depth_count ? clock->depth_count - 1 : 0;
}

/* ---- all of it ---- */

static bool place_on_host(struct maker *maker)
{
    size_t count = maker->work->clocks[maker->clock->clock].interval_count;
    maker->clock->delays = array_raw(count, sizeof *maker->clock->delays);
    maker->issued = array_raw(count, sizeof *maker->issued);
    maker->finished = array_raw(count, sizeof *maker->finished);
    if (!maker->issued_by) maker->issued_by = array_zeroed(maker->trace->op.rows, sizeof *maker->issued_by);
    return maker->clock->delays && maker->issued && maker->finished && maker->issued_by;
}

static bool make_clock(struct maker *maker, uint32_t number)
{
    const struct idle *idle = maker->idle;
    struct idle_clock *clock = &idle->clocks[number];
    maker->clock = clock;
    clock->clock = number;
    clock->anchored = maker->work->clocks[number].anchors != NULL;
    bool ok = (!clock->anchored || place_on_host(maker)) && add_work(maker) && find_overlaps(maker);
    clock->busy_ns = interval_set_length(&maker->busy);
    if (clock->anchored)
        ok = ok && find_launching(maker) && find_causes(maker) && find_depths(maker);
    else
        clock->idle_ns = cg_sat_sub(cg_sat_sub(idle->window.end, idle->window.start), clock->busy_ns);
    interval_set_free(&maker->busy);
    interval_set_free(&maker->pending);
    interval_set_free(&maker->launching);
    interval_set_free(&maker->unknown);
    free(maker->issued);
    free(maker->finished);
    maker->issued = maker->finished = NULL;
    maker->queued = 0;
    return ok;
}

bool idle_make(const struct cg_trace *trace, const struct device_work *work, const struct suspects *suspects,
               const struct idle_options *options, struct idle *idle)
{
    struct maker maker = {
        .trace = trace, .work = work, .suspects = suspects, .options = options, .idle = idle};
    *idle = (struct idle){.clocks = array_zeroed(work->clock_count, sizeof *idle->clocks),
                          .clock_count = work->clock_count};
    if (!idle->clocks) return false;
    find_window(trace, idle);
    bool ok = find_issuers(&maker) && find_input(&maker);
    for (size_t i = 0; ok && i < work->clock_count; i++)
        ok = make_clock(&maker, (uint32_t)i);
    interval_set_free(&maker.input);
    free(maker.issues);
    free(maker.issued_by);
    free(maker.op_order);
    if (!ok) idle_free(idle);
    return ok;
}

void idle_free(struct idle *idle)
{
    for (size_t i = 0; idle->clocks && i < idle->clock_count; i++) {
        free(idle->clocks[i].delays);
        free(idle->clocks[i].at_depth);
    }
    free(idle->clocks);
    *idle = (struct idle){0};
}
