/* Times of events as nanoseconds of a device's clock.
 *
 * The driver tells the time between two events alone, in milliseconds of 32-bit floating point: 0.49 us apart
 * at 8 s, 250 us apart at an hour. So each context has an anchor, an event whose place on the context's time
 * line is known, and every pair is measured from it. When a pair stands REANCHOR_NS away from the anchor, its
 * first event becomes the next one. Only events that timed calls recorded anyway become anchors, so nothing
 * is put into a stream for that.
 *
 * Rounding at each step moves what follows against what was before, all alike: by 0.25 us in 4 s at most,
 * which is 61 parts in a billion; after a pause it is the rounding at the pause's length. */
#include "preload/device/context.h"

#include <string.h>

#include "preload/hooks/ask.h"
#include "preload/hooks/state.h"
#include "preload/record/lock.h"
#include "preload/unnoticed.h"

#define REANCHOR_NS     (INT64_C(4) * 1000 * 1000 * 1000)
#define RESOLUTION_NS   500u /* of an event: cuEventElapsedTime's documentation */
#define ANCHOR_EVERY_NS (UINT64_C(8) * 1000 * 1000 * 1000)
#define ANCHOR_WAIT_NS  (200u * 1000)

/* The distance in ns, and how far a float may be from it: the step of floats there. False: not a distance. */
static __attribute__((noinline)) bool in_ns(float ms, int64_t *ns, uint64_t *step_ns)
{
    float size, next;
    uint32_t bits;

    size = ms < 0 ? -ms : ms;
    if (!(size < 1e9f)) return false; /* 11 days, or not a number */
    memcpy(&bits, &size, sizeof bits);
    bits++;
    memcpy(&next, &bits, sizeof next);
    *step_ns = (uint64_t)((double)(next - size) * 1e6) + 1;
    *ns = (int64_t)((double)ms * 1e6 + (ms < 0 ? -0.5 : 0.5));
    return true;
}

static CUresult elapsed(CUevent from, CUevent to, int64_t *ns, uint64_t *step_ns)
{
    FLOATS_HELD;
    float ms = 0;
    CUresult result = ASK(cuEventElapsedTime, &ms, from, to);

    if (result != CUDA_SUCCESS) return result;
    return in_ns(ms, ns, step_ns) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* The first event of a pair becomes the anchor, at this place, and the last anchor the pair's. */
static void move_anchor(struct device_context *context, const struct device_pair *pair, uint64_t device_ns)
{
    struct device_clock *clock = &context->clock;
    CUevent event = device_start_event(context, pair);

    atomic_store_explicit(&device_events(context, pair)->start, clock->anchor, memory_order_relaxed);
    clock->anchor = event;
    clock->device_ns = device_ns;
}

/* The clock begins with the first event that is known to be done. Its place is the host's time at which that
 * was found out: later than the event, so no event of the session has a negative time. */
static void start(struct device_context *context, const struct device_pair *pair)
{
    move_anchor(context, pair, record_roughly_ns(record_tick()));
    context->clock.running = true;
}

/* A session learns of the clock. Anchors are of one session: their host times count from its beginning. */
static void announce(struct device_context *context)
{
    struct device_clock *clock = &context->clock;
    uint64_t generation = record_session();

    if (clock->announced == generation) return;
    clock->announced = generation;
    clock->host.host_tick = 0;
    record_clock(context->device, clock->number, NULL);
}

/* The work waited in its stream until all three calls had been made, so that none of its interval is the
 * host's: its first event is later than their end by the anchor that ties the clocks, at 122 parts in a
 * million of drift. An event that would lie in the future says that the clocks are not tied any more: one of
 * them was set, or stood still. */
static bool was_queued(const struct device_clock *clock, const struct device_pair *pair, int64_t start_ns,
                       uint64_t slack_ns)
{
    int64_t since = start_ns - (int64_t)clock->host.device_ns;
    int64_t slack = ((since < 0 ? -since : since) >> 13) + (int64_t)(clock->host.uncertainty_ns + slack_ns);
    int64_t host_ns = (int64_t)record_roughly_ns(clock->host.host_tick) + since;

    return clock->host.host_tick && record_rate_known() &&
           host_ns - slack > (int64_t)record_roughly_ns(pair->after) &&
           host_ns - slack <= (int64_t)record_roughly_ns(record_tick());
}

static enum device_answer refusal(CUresult result)
{
    return result == CUDA_ERROR_DEINITIALIZED || result == CUDA_ERROR_CONTEXT_IS_DESTROYED ||
                   result == CUDA_ERROR_NOT_INITIALIZED
               ? DEVICE_GONE
               : DEVICE_FAILED;
}

enum device_answer device_times(struct device_context *context, const struct device_pair *pair,
                                struct record_interval *interval)
{
    const struct device_clock *clock = &context->clock;
    CUevent first = device_start_event(context, pair), second = device_events(context, pair)->end;
    int64_t duration, distance = 0, start_ns;
    uint64_t duration_step, distance_step = 0, uncertainty, host;
    CUresult result = ASK(cuEventQuery, second);

    if (result == CUDA_ERROR_NOT_READY) return DEVICE_NOT_YET;
    if (!result) result = elapsed(first, second, &duration, &duration_step);
    if (!result && clock->running) result = elapsed(clock->anchor, first, &distance, &distance_step);
    if (result) return refusal(result);
    if (!clock->running) start(context, pair);
    announce(context);
    start_ns = (int64_t)clock->device_ns + distance;
    if (distance >= REANCHOR_NS) move_anchor(context, pair, (uint64_t)start_ns);
    if (duration <= 0 || start_ns < 0) return DEVICE_NO_TIME;
    uncertainty = RESOLUTION_NS + duration_step + distance_step;
    host = record_roughly_ns(pair->after) - record_roughly_ns(pair->before);
    if (!was_queued(clock, pair, start_ns, uncertainty)) uncertainty += host;
    if (uncertainty > (uint64_t)duration + RESOLUTION_NS) uncertainty = (uint64_t)duration + RESOLUTION_NS;
    *interval = (struct record_interval){.work = &pair->work,
                                         .start_ns = (uint64_t)start_ns,
                                         .duration_ns = (uint64_t)duration,
                                         .uncertainty_ns =
                                             uncertainty < UINT32_MAX ? (uint32_t)uncertainty : UINT32_MAX,
                                         .clock = clock->number};
    return DEVICE_DONE;
}

/* ---- the host's clock ---- */

/* Where on the device's clock an event is that is done; the clock begins with it when it does not run. */
static bool place(struct device_context *context, const struct device_pair *pair, uint64_t *device_ns,
                  uint64_t *step_ns)
{
    int64_t distance = 0;

    *step_ns = 0;
    if (!context->clock.running)
        start(context, pair);
    else if (elapsed(context->clock.anchor, device_start_event(context, pair), &distance, step_ns) !=
             CUDA_SUCCESS)
        return false;
    *device_ns = context->clock.device_ns + (uint64_t)distance;
    return true;
}

/* Records an event into an idle stream and waits for it, which holds up nobody but this thread. */
static void take_anchor(struct device_context *context, CUstream stream, const struct device_pair *pair)
{
    CUevent event = device_start_event(context, pair);
    struct cap_device_anchor anchor;
    uint64_t began = monotonic_ns(), before = record_tick(), after, step;

    if (ASK(cuEventRecord, event, stream) != CUDA_SUCCESS) return;
    while (ASK(cuEventQuery, event) != CUDA_SUCCESS)
        if (monotonic_ns() - began > ANCHOR_WAIT_NS) return;
    after = record_tick();
    if (!place(context, pair, &anchor.device_ns, &step)) return;
    anchor.host_tick = before + (after - before) / 2;
    anchor.uncertainty_ns =
        (record_roughly_ns(after) - record_roughly_ns(before)) / 2 + 1 + RESOLUTION_NS + step;
    announce(context);
    context->clock.host = anchor;
    atomic_store_explicit(&context->tied, true, memory_order_relaxed);
    atomic_store_explicit(&context->anchored_in, context->clock.announced, memory_order_relaxed);
    atomic_store_explicit(&context->anchored, anchor.host_tick, memory_order_relaxed);
    record_clock(context->device, context->clock.number, &anchor);
}

/* The stream to use: the one that was waited for, if it was timed last, or after a wait for the whole context
 * the one that was timed last. The calling thread's default stream must exist already. */
static CUstream idle_stream(struct device_context *context, const struct device_stream *waited)
{
    CUstream last = atomic_load_explicit(&context->last, memory_order_relaxed);

    if (!last || (waited->string && waited->handle != last)) return NULL;
    if (last == CU_STREAM_PER_THREAD && !hook_thread.per_thread) return NULL;
    return last;
}

static void anchor_in(struct device_context *context, const struct device_stream *waited)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    struct device_visit visit;
    struct device_pair *pair;
    CUstream stream = idle_stream(context, waited);

    if (!stream || ASK(cuStreamIsCapturing, stream, &status) != CUDA_SUCCESS ||
        status != CU_STREAM_CAPTURE_STATUS_NONE || !(pair = device_take(context)))
        return;
    if (device_visit(context, &visit)) {
        take_anchor(context, stream, pair);
        device_leave(&visit);
    }
    device_give(context, pair);
}

/* Without any anchor the reader is waited for a little: a batch of its. */
static bool lock_for_anchor(struct device_context *context)
{
    enum { TRIES = 400 };

    for (int i = 0; !lock_try(&context->lock); i++) {
        if (i == TRIES || atomic_load_explicit(&context->tied, memory_order_relaxed)) return false;
        nap_ns(1000);
    }
    return true;
}

/* Looks without the lock, which costs more than most waits have to do here. */
static bool may_be_due(const struct device_context *context, uint64_t tick)
{
    uint64_t last = atomic_load_explicit(&context->anchored, memory_order_relaxed);

    return atomic_load_explicit(&context->state, memory_order_relaxed) == DEVICE_SLOT_READY &&
           (!last || atomic_load_explicit(&context->anchored_in, memory_order_relaxed) != record_session() ||
            record_roughly_ns(tick) - record_roughly_ns(last) >= ANCHOR_EVERY_NS);
}

void device_synchronize_clocks(struct device_context *context, const struct device_stream *waited)
{
    uint64_t begin = record_tick();

    if (atomic_load_explicit(&hook_captures, memory_order_relaxed) > 0 || !may_be_due(context, begin) ||
        !idle_stream(context, waited) || !lock_for_anchor(context))
        return;
    if (atomic_load_explicit(&context->state, memory_order_relaxed) == DEVICE_SLOT_READY &&
        (!context->clock.host.host_tick || context->clock.announced != record_session() ||
         record_roughly_ns(begin) - record_roughly_ns(context->clock.host.host_tick) >= ANCHOR_EVERY_NS)) {
        anchor_in(context, waited);
        device_paid(begin, record_tick());
    }
    lock_give(&context->lock);
}
