/* What a backend that times the work of devices is to the recorder: where its results go, and what it is
 * asked at the end of a session. Counts and clocks are kept in ordinary memory, which outlives every session,
 * and go into the capture file with each round of the writer. */
#ifndef CGTRACE_PRELOAD_RECORD_DEVICE_H
#define CGTRACE_PRELOAD_RECORD_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/capture.h"

/* Work of a device, as its call knows it. */
struct record_work {
    uint64_t generation; /* of the session that its call was recorded in */
    uint64_t correlation, bytes;
    uint32_t span, name, stream;
    uint16_t api;
    uint8_t device, activity; /* enum cap_activity */
};
struct record_interval {
    const struct record_work *work;
    uint64_t start_ns, duration_ns;
    uint32_t clock, uncertainty_ns;
};

/* Writes it into the calling thread's ring. Only inside of a hook (thread busy). False: no room, or the
 * thread records in another session. */
bool record_interval(const struct record_interval *interval);
/* The same through memory, for the thread that ends the session, when rings may be closed already. */
void record_interval_late(const struct record_interval *interval);
/* A sample of a device's memory at this moment, of UINT64_MAX what is not known. Late: likewise. */
struct record_device_memory {
    uint8_t device;
    uint64_t used, free, reserved, capacity, pool_used;
};
void record_device_memory(const struct record_device_memory *memory);
void record_device_memory_late(const struct record_device_memory *memory);

/* The session that counts are kept for: the one that was opened last; 0: none yet, or it has ended. */
uint64_t record_session(void);
/* Work of this session has no interval. */
void record_untimed(uint64_t generation, enum cap_untimed why);
/* Timing has cost the calling thread so many ticks of host time; and what it has cost all threads of the
 * process, which takes a look at each of them. */
void record_timing_cost(uint64_t ticks);
uint64_t record_timing_costs(void);
/* Where a clock of this session stands to the host's. Without an anchor (NULL): that there is this clock. */
void record_clock(uint8_t device, uint32_t number, const struct cap_device_anchor *anchor);
/* Nanoseconds since the session began, roughly: the rate may not be final. 0 without a session. */
uint64_t record_roughly_ns(uint64_t tick);
/* It is: from now on those differ by no more than the clock drifts. */
bool record_rate_known(void);
/* So many nanoseconds in ticks, as roughly. */
uint64_t record_roughly_ticks(uint64_t ns);

struct record_backend {
    /* Reads what can be read of the session, for limit_ms at most, and gives up the rest. Called by the
     * thread that ends the session, before the last line is written. */
    void (*drain)(unsigned limit_ms);
    /* Ends the backend's own thread. */
    void (*retire)(void);
    /* How much work of the session whose events are recorded and not yet read. Any thread's. */
    uint64_t (*pending)(void);
};
void record_backend_set(const struct record_backend *backend);
/* The backend has a thread of its own in this process. */
extern _Atomic bool record_backend_thread;

/* To be called by the thread that ends a session, before the writer ends the trace: intervals of work that is
 * done come into it, the rest is counted. Waits for work under way for limit_ms at most, 0: 5 s. */
void record_device_drain(unsigned limit_ms);
void record_device_retire(void);
/* Part of opening a session: counts and clocks begin anew. */
void record_device_reset(uint64_t generation, const struct cap_clock *clock);
/* Counts and clocks into the capture file. The writer's, while the session's mapping is there. */
void record_device_publish(void);

#endif
