/* From a device's clock to the host's, by the anchors that the trace has. */
#ifndef CGTRACE_ANALYZER_PLANES_DEVICE_CLOCK_H
#define CGTRACE_ANALYZER_PLANES_DEVICE_CLOCK_H

#include "analyzer/trace/devices.h"
#include "analyzer/trace/trace.h"

/* Two clocks that nothing compares may drift apart by 1/8192 (122 ppm): the recorder's own allowance for
 * crystals. */
enum { CLOCK_DRIFT_SHIFT = 13 };

/* The clock with this id, else NULL: then its times cannot be told on the host's clock. */
const struct cg_device_clock *device_clock_find(const struct cg_trace *trace, cg_str clock_id);

/* A moment on the host's clock, which may lie before the capture's time 0, and how far it may be off. */
struct host_time {
    __int128 ns;
    uint64_t uncertainty_ns;
};
/* Between two anchors time runs evenly from one to the other. Outside of them, or with one alone, both clocks
 * run alike from the nearest on, and may drift apart. */
struct host_time device_clock_host(const struct cg_device_clock *clock, uint64_t device_ns);

#endif
