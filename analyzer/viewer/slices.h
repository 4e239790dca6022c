/* What the timeline shows: spans and operations by host thread, intervals by stream of a device clock, each
 * in a lane of its track so that what overlaps stands below one another. */
#ifndef CGTRACE_ANALYZER_VIEWER_SLICES_H
#define CGTRACE_ANALYZER_VIEWER_SLICES_H

#include "analyzer/trace/trace.h"

enum slice_kind { SLICE_SPAN, SLICE_OP, SLICE_INTERVAL };

struct slice {
    uint64_t start, duration;
    uint64_t self; /* what no slice of the lane below covers */
    uint32_t row;  /* of trace->span, op or device_interval */
    uint16_t lane; /* in its track */
    uint8_t kind;
};

/* A host thread (device CG_ABSENT), or a stream. */
struct track {
    bool known; /* the thread's number was recorded */
    bool rest;  /* stands for everything beyond TRACKS_MAX */
    uint64_t tid;
    cg_str device, clock_id, stream;
    uint32_t clock; /* number of the device clock */
    uint32_t lanes, first_lane;
    size_t first, count; /* slices */
};

/* A clock of a device: has nothing to do with host time. shift is the least that must be added to it so that
 * no interval begins before the call that issued it (when joined). */
struct device_clock {
    cg_str device, clock_id;
    uint64_t first_ns, last_ns;
    bool joined;
    int64_t shift_ns;
};

enum { TRACKS_MAX = 4096, LANES_MAX = 2048 };

struct slices {
    struct slice *list; /* by track, lane, start; then the longer first */
    size_t count;
    struct track *tracks; /* threads, then streams; by first slice */
    size_t track_count;
    struct device_clock *clocks;
    size_t clock_count;
    size_t *lane_first; /* by lane of all tracks: its first slice; one more than there are lanes */
    size_t lane_count;
    /* By bits: how many slices differ in their start from the one before in their lane in the bit of this
     * number, from 1, and in none above; 0: in none. */
    size_t borders[65];
    uint32_t *issuer; /* by interval: the op that issued it, else CG_NONE */
    uint64_t untimed; /* ops without a time: they are on no track */
};

/* The trace must have its extra fields. False when memory is short. */
bool slices_make(const struct cg_trace *trace, struct slices *slices);
void slices_free(struct slices *slices);

/* The name that a slice is shown by. */
cg_str slice_name(const struct cg_trace *trace, const struct slices *slices, const struct slice *slice);

#endif
