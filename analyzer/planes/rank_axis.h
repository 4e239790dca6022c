/* Host times of several processes on one axis, from the clock anchors of their traces. */
#ifndef CGTRACE_ANALYZER_PLANES_RANK_AXIS_H
#define CGTRACE_ANALYZER_PLANES_RANK_AXIS_H

#include <stddef.h>

#include "analyzer/trace/origin.h"

/* Where the host times of one rank lie on the axis. */
struct rank_clock {
    int64_t base_ns;         /* of the trace's time 0 */
    int64_t correction_ns;   /* what the axis gained on the trace's clock up to span_ns */
    uint64_t span_ns;        /* 0: nothing is corrected */
    uint64_t uncertainty_ns; /* of a time against others of the same machine */
    uint32_t machine;        /* into rank_axis.machines */
};

/* Processes that share CLOCK_MONOTONIC: one host name, and real-time clocks that agree. */
struct rank_machine {
    uint32_t rank;                 /* the first one there */
    int64_t offset_ns;             /* real time - monotonic time, of that rank's first anchor */
    int64_t lowest_ns, highest_ns; /* of all anchors: how far its real-time clock was moved */
    int64_t shift_ns;              /* added to its real time, as collectives asked for */
    bool bounded;                  /* against machine 0, to within: */
    uint64_t bound_ns;
};

struct rank_axis {
    struct rank_clock *clocks; /* of each rank */
    struct rank_machine *machines;
    size_t count, machine_count;
    int64_t zero_realtime_ns; /* real time of the axis' 0, which is the earliest time 0 of all */
};

/* Whether both processes, whose clocks are known, ran on one machine since one boot. */
bool rank_axis_one_machine(const struct cg_origin *one, const struct cg_origin *other);

/* All origins must have clock_known; end_ns are the last times of their traces. One machine: the axis is its
 * monotonic clock; several: real time, each machine's monotonic clock shifted by one offset. False when
 * memory is short. */
bool rank_axis_make(const struct cg_origin *const *origins, const uint64_t *end_ns, size_t count,
                    struct rank_axis *axis);
void rank_axis_free(struct rank_axis *axis);

/* Shifts a machine's times; rank_axis_settle() after the last shift puts the axis' 0 where it belongs. */
void rank_axis_shift(struct rank_axis *axis, uint32_t machine, int64_t shift_ns);
void rank_axis_settle(struct rank_axis *axis);

/* Time on the axis, linear between the two anchors of the rank and beyond them. */
int64_t rank_axis_time(const struct rank_clock *clock, uint64_t trace_ns);

/* How far the difference of two times may be wrong, of ranks of one machine, or else of any; false when
 * nothing bounds the real-time clocks of the machines. */
uint64_t rank_axis_uncertainty(const struct rank_axis *axis);
bool rank_axis_uncertainty_across(const struct rank_axis *axis, uint64_t *uncertainty_ns);

#endif
