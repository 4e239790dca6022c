#include "analyzer/planes/rank_axis.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/planes/array.h"
#include "analyzer/planes/device_clock.h"

/* Real-time clocks of one machine agree within this; another boot, or another time namespace, does not. */
enum { SAME_CLOCK_NS = 1000000000 };

/* Times of a trace and corrections beyond 18 years count as that, so that sums have room. */
#define TIME_LIMIT (INT64_C(1) << 59)

static int64_t offset_of(const struct cg_host_anchor *anchor)
{
    return anchor->realtime_ns - anchor->monotonic_ns;
}

static void widen(struct rank_machine *machine, int64_t offset)
{
    if (offset < machine->lowest_ns) machine->lowest_ns = offset;
    if (offset > machine->highest_ns) machine->highest_ns = offset;
}

bool rank_axis_one_machine(const struct cg_origin *one, const struct cg_origin *other)
{
    int64_t apart = offset_of(&one->first) - offset_of(&other->first);
    return apart <= SAME_CLOCK_NS && apart >= -SAME_CLOCK_NS && strcmp(one->host, other->host) == 0;
}

static uint32_t find_machine(const struct rank_axis *axis, const struct cg_origin *const *origins,
                             const struct cg_origin *origin)
{
    for (uint32_t i = 0; i < axis->machine_count; i++)
        if (rank_axis_one_machine(origin, origins[axis->machines[i].rank])) return i;
    return (uint32_t)axis->machine_count;
}

static void take_rank(struct rank_axis *axis, const struct cg_origin *const *origins, uint64_t end_ns,
                      uint32_t rank)
{
    const struct cg_origin *origin = origins[rank];
    const struct cg_host_anchor *first = &origin->first, *last = &origin->last;
    struct rank_clock *clock = &axis->clocks[rank];
    int64_t offset = offset_of(first);

    clock->machine = find_machine(axis, origins, origin);
    if (clock->machine == axis->machine_count)
        axis->machines[axis->machine_count++] = (struct rank_machine){
            .rank = rank, .offset_ns = offset, .lowest_ns = offset, .highest_ns = offset};
    widen(&axis->machines[clock->machine], offset);
    widen(&axis->machines[clock->machine], offset_of(last));
    clock->span_ns = last->trace_ns;
    clock->correction_ns =
        clock->span_ns ? last->monotonic_ns - first->monotonic_ns - (int64_t)last->trace_ns : 0;
    /* Between the anchors the two clocks part by no more than they have at the end; nothing tells of them
     * behind the last one. */
    clock->uncertainty_ns = (first->spread_ns > last->spread_ns ? first->spread_ns : last->spread_ns) +
                            (uint64_t)llabs(clock->correction_ns) +
                            (cg_sat_sub(end_ns, last->trace_ns) >> CLOCK_DRIFT_SHIFT);
}

bool rank_axis_make(const struct cg_origin *const *origins, const uint64_t *end_ns, size_t count,
                    struct rank_axis *axis)
{
    *axis = (struct rank_axis){.count = count,
                               .clocks = array_zeroed(count, sizeof *axis->clocks),
                               .machines = array_zeroed(count, sizeof *axis->machines)};
    if (!axis->clocks || !axis->machines) {
        rank_axis_free(axis);
        return false;
    }
    for (size_t i = 0; i < count; i++)
        take_rank(axis, origins, end_ns[i], (uint32_t)i);
    for (size_t i = 0; i < count; i++) {
        int64_t base = origins[i]->first.monotonic_ns + axis->machines[axis->clocks[i].machine].offset_ns;
        axis->clocks[i].base_ns = base;
    }
    rank_axis_settle(axis);
    if (count > 0) axis->machines[0].bounded = true;
    return true;
}

void rank_axis_free(struct rank_axis *axis)
{
    free(axis->clocks);
    free(axis->machines);
    *axis = (struct rank_axis){0};
}

void rank_axis_shift(struct rank_axis *axis, uint32_t machine, int64_t shift_ns)
{
    axis->machines[machine].shift_ns += shift_ns;
    for (size_t i = 0; i < axis->count; i++)
        if (axis->clocks[i].machine == machine) axis->clocks[i].base_ns += shift_ns;
}

void rank_axis_settle(struct rank_axis *axis)
{
    int64_t earliest = axis->count > 0 ? axis->clocks[0].base_ns : 0;
    for (size_t i = 1; i < axis->count; i++)
        if (axis->clocks[i].base_ns < earliest) earliest = axis->clocks[i].base_ns;
    for (size_t i = 0; i < axis->count; i++)
        axis->clocks[i].base_ns -= earliest;
    axis->zero_realtime_ns += earliest;
}

int64_t rank_axis_time(const struct rank_clock *clock, uint64_t trace_ns)
{
    int64_t time = trace_ns < (uint64_t)TIME_LIMIT ? (int64_t)trace_ns : TIME_LIMIT;
    if (clock->span_ns == 0) return clock->base_ns + time;
    __int128 correction = (__int128)clock->correction_ns * time / (int64_t)clock->span_ns;
    if (correction > TIME_LIMIT) correction = TIME_LIMIT;
    if (correction < -TIME_LIMIT) correction = -TIME_LIMIT;
    return clock->base_ns + time + (int64_t)correction;
}

uint64_t rank_axis_uncertainty(const struct rank_axis *axis)
{
    uint64_t greatest = 0, second = 0;
    for (size_t i = 0; i < axis->count; i++) {
        uint64_t own = axis->clocks[i].uncertainty_ns;
        if (own > greatest) {
            second = greatest;
            greatest = own;
        } else if (own > second) {
            second = own;
        }
    }
    return greatest + second;
}

bool rank_axis_uncertainty_across(const struct rank_axis *axis, uint64_t *uncertainty_ns)
{
    uint64_t greatest = 0, second = 0;
    *uncertainty_ns = rank_axis_uncertainty(axis);
    for (size_t i = 1; i < axis->machine_count; i++) {
        uint64_t own = axis->machines[i].bound_ns;
        if (!axis->machines[i].bounded) return false;
        if (own > greatest) {
            second = greatest;
            greatest = own;
        } else if (own > second) {
            second = own;
        }
    }
    *uncertainty_ns += greatest + second;
    return true;
}
