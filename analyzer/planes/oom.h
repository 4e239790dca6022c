/* Allocations that failed for want of memory: what was asked for, what the device had, what was alive then
 * and what happened before. Works on failed and recovered captures; the trace must have been loaded with its
 * extra fields. */
#ifndef CGTRACE_ANALYZER_PLANES_OOM_H
#define CGTRACE_ANALYZER_PLANES_OOM_H

#include "analyzer/planes/live_index.h"

struct oom_failures {
    uint32_t *ops; /* rows of trace->op, by time, then in file order */
    size_t count;
    /* What the details of a failure are looked up in. */
    uint32_t *op_order, *sample_order; /* by time; NULL: as they stand */
};
/* n log n. False when memory is short. */
bool oom_failures_make(const struct cg_trace *trace, struct oom_failures *failures);
void oom_failures_free(struct oom_failures *failures);

enum oom_verdict {
    OOM_NOT_KNOWN,      /* no sample, or no size */
    OOM_MORE_THAN_FREE, /* more was asked for than was free */
    OOM_FITS_IN_FREE    /* less was asked for than was free: fragmented, or limited by something else */
};

enum { OOM_LARGEST = 10, OOM_EVENTS = 20 };

struct oom_event {
    uint64_t time_ns;
    uint32_t memory_row; /* an allocation or free; CG_NONE: another operation */
    uint32_t op_row;     /* the operation; CG_NONE: none is known to belong to the memory record */
};

struct oom_detail {
    uint64_t time_ns; /* start of the call */
    uint32_t sample;  /* row of trace->device_memory: the first one since the call began; CG_NONE: none */
    uint64_t changes; /* memory records of the device between the call and the sample */
    enum oom_verdict verdict;
    /* Lifetimes that are alive on the device when the call begins: those of the driver, and behind them,
     * where there are both, those of a framework's allocator, which lie within the driver's; else all. */
    uint32_t *live;
    size_t live_count, framework_count;
    uint64_t live_bytes, live_pool_bytes;
    struct oom_event events[OOM_EVENTS]; /* of all threads, ascending */
    size_t event_count;
};
/* The details of the failure that op row is, in a time that depends on what was alive and on what happened
 * until the sample. index: of the logical memory. False when memory is short. */
bool oom_detail_make(const struct live_index *index, const struct oom_failures *failures, uint32_t op,
                     struct oom_detail *detail);
void oom_detail_free(struct oom_detail *detail);

/* The largest of count lifetimes: largest first, then in their order. Returns how many there are, at most
 * OOM_LARGEST. */
size_t oom_largest(const struct live_index *index, const uint32_t *lifetimes, size_t count,
                   uint32_t largest[OOM_LARGEST]);

#endif
