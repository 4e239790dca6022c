/* Timing the work of devices with pairs of events, and samples of their memory: what hooks call.
 *
 * Around each timed call one event is recorded into the call's own stream before it and one after it. The
 * pair is read later: by a thread of ours that looks once a millisecond while there is something to read, by
 * the program's own thread before it destroys a context, and by the thread that ends a session. Nothing that
 * a trace needs depends on the driver at the end of the process: what is not read by then is counted.
 *
 * An interval is an upper bound of the work between its events: it holds the gaps around it, and whatever
 * else was put into the stream in between by other threads.
 *
 * Events are recorded into streams that the program itself is using at that moment, never into one that is
 * being captured, and nothing is ever put into a stream of ours. Only the driver's own functions are called,
 * never the runtime's; whatever they answer stays here. */
#ifndef CGTRACE_PRELOAD_DEVICE_DEVICE_H
#define CGTRACE_PRELOAD_DEVICE_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/hooks/cuda.h"
#include "preload/record/record.h"

/* The stream of a call. */
struct device_stream {
    CUstream handle; /* never NULL for one that work is put into: CU_STREAM_LEGACY, CU_STREAM_PER_THREAD */
    uint32_t string; /* its name in the trace; 0: the call has none */
    uint8_t slot;    /* of its context; 0: not known */
};

/* Timing of one call, on the stack of its hook. */
struct device_timer {
    struct record_call *call;
    struct device_pair *pair; /* NULL: not timed */
    struct device_context *context;
    uint64_t head; /* of the thread's ring before the call was recorded */
    uint64_t generation;
    uint64_t cost;   /* ticks */
    uint8_t untimed; /* 1 + enum cap_untimed; 0: timed, or nobody asks */
};

enum device_mode { DEVICE_OFF, DEVICE_UNASKED, DEVICE_SAMPLES, DEVICE_BUDGET, DEVICE_ALL };
extern HIDDEN _Atomic uint8_t device_mode;

struct device_thread {
    uint32_t skip;   /* calls to leave out before the next is timed */
    uint32_t random; /* state of the generator of those numbers */
};
extern HIDDEN _Thread_local struct device_thread device_thread __attribute__((tls_model("initial-exec")));

extern HIDDEN _Atomic bool device_touched; /* there was work since the poller looked */
void device_touch_slow(void);
void device_begin_slow(struct device_timer *timer, const struct device_stream *stream);
void device_end_slow(struct device_timer *timer, CUresult result, enum cap_activity activity, uint32_t name,
                     uint64_t bytes, const struct device_stream *stream);

/* There is work on a device: keeps samples of its memory coming. */
static inline void device_touch(void)
{
    if (unlikely(!atomic_load_explicit(&device_touched, memory_order_relaxed)) &&
        atomic_load_explicit(&device_mode, memory_order_relaxed) != DEVICE_OFF)
        device_touch_slow();
}

/* Stream-ordered memory was allocated on this device: its pool is worth a look. */
extern HIDDEN _Atomic uint64_t device_pools[256 / 64];
static inline void device_uses_pool(uint8_t device)
{
    _Atomic uint64_t *set = &device_pools[device / 64];
    uint64_t bit = UINT64_C(1) << device % 64;

    if (unlikely(!(atomic_load_explicit(set, memory_order_relaxed) & bit)))
        atomic_fetch_or_explicit(set, bit, memory_order_relaxed);
}

/* What the pool of stream-ordered allocations holds, and what of that is allocated; UINT64_MAX: not known, as
 * where the program makes none. A driver call or two: not for fast paths. */
void device_ask_pool(uint8_t device, uint64_t *reserved, uint64_t *used);

/* Right before the real call. Reads the clock anew, so that the call's host time does not hold ours. */
static inline void device_begin(struct device_timer *timer, struct record_call *call,
                                const struct device_stream *stream)
{
    timer->pair = NULL;
    timer->untimed = 0;
    if (likely(atomic_load_explicit(&device_mode, memory_order_relaxed) == DEVICE_OFF)) return;
    device_touch();
    if (atomic_load_explicit(&device_mode, memory_order_relaxed) < DEVICE_BUDGET) return;
    timer->call = call;
    timer->generation = call->thread->generation;
    if (device_thread.skip > 0) {
        device_thread.skip--;
        call->skipped = true;
        return;
    }
    device_begin_slow(timer, stream);
}

/* Behind the call's record. name: string of the kernel's name, 0 for other work. */
static inline void device_end(struct device_timer *timer, CUresult result, enum cap_activity activity,
                              uint32_t name, uint64_t bytes, const struct device_stream *stream)
{
    if (likely(!timer->pair && !timer->untimed)) return;
    device_end_slow(timer, result, activity, name, bytes, stream);
}

/* Work of a call in the open session that is not timed at all. */
void device_untimed(const struct record_call *call, enum cap_untimed why);

/* A slot for a context that has just become known, by which streams and threads know it; 0: none is left. No
 * driver call. */
uint8_t device_context_opens(CUcontext context, uint8_t device);
/* Before the real call that ends it, or may end it: what is under way in it is waited for and read, its
 * events are given back. */
void device_context_ends(uint8_t slot);
/* Before the real call that ends it. */
void device_stream_ends(CUstream stream, uint8_t slot);
/* After the program has waited for this stream, or with handle NULL for all of the context's: a moment at
 * which the device's clock and the host's can be held against each other. */
void device_synchronized(const struct device_stream *stream);
/* In a forked child: all of it is the parent's. */
void device_forked(void);

#endif
