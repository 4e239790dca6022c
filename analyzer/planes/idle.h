/* Where the time of a device went: busy, and idle by cause, on each of its clocks. Suspect intervals are left
 * out. What needs the host's clock is there only where the trace has anchors for the device's. */
#ifndef CGTRACE_ANALYZER_PLANES_IDLE_H
#define CGTRACE_ANALYZER_PLANES_IDLE_H

#include "analyzer/planes/suspects.h"

/* Why a device is idle: C(constant suffix, "cause", "meaning"). They are disjoint and make up all idle time;
 * a moment belongs to the first that fits, but for `other`, which comes before those of the host. */
#define IDLE_CAUSES(C)                                                                                       \
    C(KERNEL_WAIT, "kernel_wait", "a gap shorter than kernel_wait_ns between two pieces of work")            \
    C(INPUT, "host_input", "nothing was enqueued, and the host was in a span of the input")                  \
    C(LAUNCHING, "host_launching",                                                                           \
      "nothing was enqueued, and the host was in a call that issues work, or at most launch_gap_ns long "    \
      "between two such calls of a thread")                                                                  \
    C(HOST, "host_elsewhere", "nothing was enqueued, and the host was elsewhere")                            \
    C(OTHER, "other", "work was enqueued, or it is not known when the next work was: unattributed")
#define IDLE_CAUSE(suffix, cause, meaning) IDLE_##suffix,
enum idle_cause { IDLE_CAUSES(IDLE_CAUSE) IDLE_CAUSE_COUNT };
#undef IDLE_CAUSE

enum { IDLE_KERNEL_WAIT_NS = 30, IDLE_LAUNCH_GAP_NS = 20000, IDLE_QUEUE_FULL = 1024 };

struct idle_options {
    cg_str input; /* name of spans; CG_ABSENT: no input is known */
    uint64_t kernel_wait_ns, launch_gap_ns;
};

/* The time that work of one kind takes, and how much of it while kernels compute. */
struct idle_overlap {
    uint64_t total_ns, computing_ns;
};

struct idle_clock {
    uint32_t clock;                         /* of the device work */
    uint64_t intervals;                     /* that count */
    uint64_t busy_ns;                       /* their union; with anchors, of what lies in the window */
    uint64_t busy_uncertain_ns;             /* the sum of what they may be too long */
    uint64_t idle_ns, gaps, longest_gap_ns; /* gaps: with anchors only */
    struct idle_overlap copies, communication;

    bool anchored; /* all below: with anchors only */
    uint64_t anchor_uncertainty_ns;
    uint64_t cause_ns[IDLE_CAUSE_COUNT];
    uint64_t *delays; /* ascending, of calls: from its end to the start of its first work, 0 when that began
                         before */
    size_t delay_count;
    uint64_t began_before; /* how many did */
    uint64_t *at_depth;    /* by queue depth, from 0: for how long */
    size_t depth_count;    /* the greatest depth + 1 */
};

struct idle {
    struct interval window; /* the measured region on the host's clock */
    bool whole_run;         /* there is not exactly one measured span: the window is the run */
    bool input_known;       /* some span has the input's name */
    uint64_t input_ns;      /* of the window, in spans of the input */
    uint64_t untimed_calls; /* launches and copies without an interval: idle time may hold their work */
    struct idle_clock *clocks;
    size_t clock_count; /* those of the device work, in its order */
};

/* n log n in the records. False when memory is short. */
bool idle_make(const struct cg_trace *trace, const struct device_work *work, const struct suspects *suspects,
               const struct idle_options *options, struct idle *idle);
void idle_free(struct idle *idle);

/* The depth that is not exceeded for a share q of the window, 0 < q <= 1. */
uint64_t idle_depth_quantile(const struct idle_clock *clock, double q);

#endif
