/* The work of devices as kinds of ours see it: what each interval is, which call issued it, and the intervals
 * of each stream in the order of their starts. Made once and read by all that need it. */
#ifndef CGTRACE_ANALYZER_PLANES_DEVICE_WORK_H
#define CGTRACE_ANALYZER_PLANES_DEVICE_WORK_H

#include "analyzer/planes/device_clock.h"

enum work_class { WORK_UNKNOWN, WORK_KERNEL, WORK_COPY, WORK_OTHER };

/* A stream on one clock: order[first .. first + count - 1] are its intervals. */
struct work_stream {
    cg_str device, clock_id, stream_id;
    uint32_t clock;
    size_t first, count;
};
/* streams[first_stream .. first_stream + stream_count - 1] are those of the clock. */
struct work_clock {
    cg_str device, clock_id;
    const struct cg_device_clock *anchors; /* NULL: none */
    size_t first_stream, stream_count;
    uint64_t interval_count, duration_ns; /* sum of the durations, saturating */
};
struct device_work {
    uint32_t *issuer;  /* by interval: row of the operation that issued it; CG_NONE: not known */
    uint8_t *class;    /* by interval: what it says of itself, else what the call was; enum work_class */
    uint8_t *op_class; /* by operation: WORK_KERNEL: has a grid; WORK_COPY: a copy or memset */
    uint32_t *order;   /* rows of intervals by stream, start, file order */
    uint32_t *stream;  /* by interval */
    struct work_stream *streams; /* byte order of device, clock, stream */
    size_t stream_count;
    struct work_clock *clocks; /* byte order of device, clock */
    size_t clock_count;
};

/* The trace must have been loaded with its extra fields. Linear, but for the sorting of streams by name.
 * False when memory is short. */
bool device_work_make(const struct cg_trace *trace, struct device_work *work);
void device_work_free(struct device_work *work);

#endif
