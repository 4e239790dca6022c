/* The two ends of a timed call. */
#include <errno.h>

#include "preload/device/context.h"
#include "preload/hooks/ask.h"
#include "preload/hooks/state.h"
#include "preload/record/session.h"

_Static_assert((int)CAP_ACTIVITY_MEMSET == (int)RECORD_COPY_MEMSET, "copies are numbered alike");

/* The context that the stream belongs to, ready; else why not. */
static struct device_context *ready_context(const struct device_stream *stream, uint8_t *untimed)
{
    struct device_context *context = device_context(stream->slot);
    uint32_t state;

    if (!context) {
        *untimed = 1 + CAP_UNTIMED_ERROR;
        return NULL;
    }
    /* Acquire: pairs come before the state that says that they are there. */
    state = atomic_load_explicit(&context->state, memory_order_acquire);
    if (state == DEVICE_SLOT_KNOWN && atomic_load_explicit(&hook_captures, memory_order_relaxed) <= 0) {
        device_supply(context);
        state = atomic_load_explicit(&context->state, memory_order_acquire);
    }
    if (state == DEVICE_SLOT_READY) return context;
    /* It has ended, and another one may be current by now; or it is the poller's turn to make the pairs. */
    if (state == DEVICE_SLOT_ENDED) hook_context_unknown();
    if (state == DEVICE_SLOT_KNOWN) {
        atomic_store_explicit(&context->wanted, 1, memory_order_relaxed);
        device_poller_wake();
    }
    *untimed = 1 + (state == DEVICE_SLOT_KNOWN ? CAP_UNTIMED_POOL_EMPTY : CAP_UNTIMED_ERROR);
    return NULL;
}

/* Other threads may take all that this one has made before it comes to it: it makes more. */
static struct device_pair *take(struct device_context *context)
{
    struct device_pair *pair = device_take(context);
    uint32_t made = DEVICE_PAIRS;

    while (!pair && context->made != DEVICE_PAIRS && context->made != made) {
        if (atomic_load_explicit(&hook_captures, memory_order_relaxed) > 0) {
            atomic_store_explicit(&context->wanted, 1, memory_order_relaxed);
            device_poller_wake();
            return NULL;
        }
        made = context->made;
        device_supply(context);
        pair = device_take(context);
    }
    return pair;
}

static bool is_capturing(CUstream stream)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;

    return ASK(cuStreamIsCapturing, stream, &status) != CUDA_SUCCESS ||
           status != CU_STREAM_CAPTURE_STATUS_NONE;
}

static void begin(struct device_timer *timer, const struct device_stream *stream)
{
    struct device_context *context;
    struct device_pair *pair;
    uint64_t before;

    if (!stream->string) {
        timer->untimed = 1 + CAP_UNTIMED_FORM;
        return;
    }
    if (atomic_load_explicit(&device_exiting, memory_order_relaxed)) {
        timer->untimed = 1 + CAP_UNTIMED_SESSION_END;
        return;
    }
    if (!(context = ready_context(stream, &timer->untimed))) return;
    pair = take(context);
    if (is_capturing(stream->handle)) {
        if (pair) device_give(context, pair);
        timer->untimed = 1 + CAP_UNTIMED_CAPTURED;
        return;
    }
    if (!pair) {
        timer->untimed = 1 + CAP_UNTIMED_POOL_EMPTY;
        return;
    }
    before = record_tick();
    if (ASK(cuEventRecord, device_start_event(context, pair), stream->handle) != CUDA_SUCCESS) {
        device_give(context, pair);
        hook_context_unknown(); /* perhaps another context is current than we believe */
        timer->untimed = 1 + CAP_UNTIMED_ERROR;
        return;
    }
    pair->before = before;
    timer->pair = pair;
    timer->context = context;
}

void device_begin_slow(struct device_timer *timer, const struct device_stream *stream)
{
    uint8_t mode = atomic_load_explicit(&device_mode, memory_order_relaxed);
    uint64_t entered = timer->call->begin; /* a few nanoseconds ago: another reading would cost as many */
    int kept = errno;

    if (mode < DEVICE_BUDGET) return;
    begin(timer, stream);
    timer->head = ring_head(timer->call->thread);
    device_thread.skip = device_gap();
    errno = kept;
    timer->call->begin = record_tick();
    timer->cost = timer->call->begin - entered;
}

/* The second event, and the pair to those that wait to be read. The tick until which that took time: what
 * comes behind the event is a few stores, which would take less than another reading of the clock. */
static uint64_t end(struct device_timer *timer, enum cap_activity activity, uint32_t name, uint64_t bytes,
                    const struct device_stream *stream)
{
    const struct record_call *call = timer->call;
    struct device_context *context = timer->context;
    struct device_pair *pair = timer->pair;
    CUresult result = ASK(cuEventRecord, device_events(context, pair)->end, stream->handle);
    uint64_t after = record_tick();

    if (result != CUDA_SUCCESS) {
        device_give(context, pair);
        record_untimed(timer->generation, CAP_UNTIMED_ERROR);
        return after;
    }
    pair->after = after;
    pair->work = (struct record_work){.generation = timer->generation,
                                      .correlation = cap_correlation(call->thread->ring_index, timer->head),
                                      .bytes = bytes,
                                      .span = call->thread->span,
                                      .name = name,
                                      .stream = stream->string,
                                      .api = call->api,
                                      .device = context->device,
                                      .activity = (uint8_t)activity};
    if (atomic_load_explicit(&context->last, memory_order_relaxed) != stream->handle)
        atomic_store_explicit(&context->last, stream->handle, memory_order_relaxed);
    device_put_pending(context, pair);
    return device_poller_wake() ? record_tick() : after;
}

void device_end_slow(struct device_timer *timer, CUresult result, enum cap_activity activity, uint32_t name,
                     uint64_t bytes, const struct device_stream *stream)
{
    struct record_thread *thread = timer->call->thread;
    bool work = result == CUDA_SUCCESS && !timer->call->captured;
    bool recorded = ring_head(thread) != timer->head && thread->generation == timer->generation;
    uint64_t entered = recorded ? timer->call->last : record_tick(), left = entered;
    int kept = errno;

    if (timer->untimed) {
        if (work) record_untimed(timer->generation, (enum cap_untimed)(timer->untimed - 1));
    } else if (!work || !recorded) {
        device_give(timer->context, timer->pair); /* no work, or a call that is not in the trace */
    } else {
        thread->busy = record_frame();
        /* For a signal handler on this thread, as in record_enter(). */
        atomic_signal_fence(memory_order_seq_cst);
        left = end(timer, activity, name, bytes, stream);
        atomic_signal_fence(memory_order_seq_cst);
        thread->busy = 0;
    }
    device_paid(entered - timer->cost, left);
    errno = kept;
}

void device_untimed(const struct record_call *call, enum cap_untimed why)
{
    if (atomic_load_explicit(&device_mode, memory_order_relaxed) >= DEVICE_BUDGET)
        record_untimed(call->thread->generation, why);
}

void device_synchronized(const struct device_stream *stream)
{
    struct device_context *context = device_context(stream->slot);
    struct patience none = {0};
    int kept = errno;

    device_touch();
    if (!context || !record_session() ||
        atomic_load_explicit(&device_mode, memory_order_relaxed) < DEVICE_BUDGET ||
        atomic_load_explicit(&device_exiting, memory_order_relaxed))
        return;
    device_synchronize_clocks(context, stream);
    if (!device_poller_runs() && atomic_load_explicit(&context->under_way, memory_order_relaxed) > 0)
        device_read_within(context, DEVICE_TO_RING, &none);
    errno = kept;
}
