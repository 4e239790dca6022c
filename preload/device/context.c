#include "preload/device/context.h"

#include <errno.h>
#include <sys/mman.h>

#include "preload/fetch.h"
#include "preload/hooks/ask.h"
#include "preload/hooks/state.h"
#include "preload/record/lock.h"

struct device_context device_contexts[DEVICE_SLOTS + 1];
_Atomic uint32_t device_slots_used;

/* ---- the stacks (Treiber, "Systems Programming: Coping with Parallelism", 1986) ---- */

/* What the next two calls will write to, the reader had last, and what the driver keeps of the events too,
 * whose handles are addresses: it comes while this call is under way. The next pair's own line was asked for
 * a call ago. Another thread may take either pair meanwhile: then nothing is gained. On the simulated driver
 * a launch takes 60 ns less, 15 of them because its events are asked for a call ahead. */
static void fetch_ahead(const struct device_context *context, const struct device_pair *pair)
{
    const char *start = (const char *)device_start_event(context, pair),
               *end = (const char *)device_events(context, pair)->end;
    uint32_t behind = atomic_load_explicit(&pair->next, memory_order_relaxed);

    for (size_t at = 0; at < 128; at += 64) {
        fetch_line(start + at);
        fetch_line(end + at);
    }
    if (!behind) return;
    fetch_line(&context->pairs[behind - 1]);
    __builtin_prefetch(&context->events[behind - 1]); /* to be read alone */
}

struct device_pair *device_take(struct device_context *context)
{
    /* Acquire: the pair's events were made, and its last reading ended, before it was put here. */
    uint64_t top = atomic_load_explicit(&context->free_top, memory_order_acquire), next;
    struct device_pair *pair;

    do {
        if ((uint32_t)top == 0) return NULL;
        pair = &context->pairs[(uint32_t)top - 1];
        /* Another thread may take this very pair and change it meanwhile: then the count of changes differs.
         */
        next = ((top >> 32) + 1) << 32 | atomic_load_explicit(&pair->next, memory_order_relaxed);
    } while (!atomic_compare_exchange_weak_explicit(&context->free_top, &top, next, memory_order_acquire,
                                                    memory_order_acquire));
    if ((uint32_t)next) fetch_ahead(context, &context->pairs[(uint32_t)next - 1]);
    return pair;
}

void device_give_all(struct device_context *context, struct device_pair *top, struct device_pair *bottom)
{
    uint64_t past = atomic_load_explicit(&context->free_top, memory_order_relaxed), next;

    do {
        atomic_store_explicit(&bottom->next, (uint32_t)past, memory_order_relaxed);
        next = ((past >> 32) + 1) << 32 | device_number(context, top);
        /* Release: what was done with the pairs comes before their next owners' taking them. */
    } while (!atomic_compare_exchange_weak_explicit(&context->free_top, &past, next, memory_order_release,
                                                    memory_order_relaxed));
}

void device_give(struct device_context *context, struct device_pair *pair)
{
    device_give_all(context, pair, pair);
}

/* Only ever emptied as a whole, so that an old top which is the top again is no danger. */
void device_put_pending(struct device_context *context, struct device_pair *pair)
{
    uint32_t top = atomic_load_explicit(&context->pending_top, memory_order_relaxed);

    atomic_fetch_add_explicit(&context->under_way, 1, memory_order_relaxed);
    do
        atomic_store_explicit(&pair->next, top, memory_order_relaxed);
    /* Release: the pair is filled in before the reader finds it. Sequentially consistent, because the look at
     * whether the poller sleeps, which follows, must not come before it. */
    while (!atomic_compare_exchange_weak_explicit(&context->pending_top, &top, device_number(context, pair),
                                                  memory_order_seq_cst, memory_order_relaxed));
}

/* ---- events ---- */

bool device_visit(struct device_context *context, struct device_visit *visit)
{
    visit->mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    if (ASK(cuThreadExchangeStreamCaptureMode, &visit->mode) != CUDA_SUCCESS) return false;
    if (ASK(cuCtxPushCurrent_v2, context->handle) == CUDA_SUCCESS) return true;
    ASK(cuThreadExchangeStreamCaptureMode, &visit->mode);
    return false;
}

void device_leave(struct device_visit *visit)
{
    CUcontext popped;

    ASK(cuCtxPopCurrent_v2, &popped);
    ASK(cuThreadExchangeStreamCaptureMode, &visit->mode);
}

static bool make_pairs(struct device_context *context)
{
    void *memory;

    if (context->pairs) return true;
    memory = mmap(NULL, DEVICE_PAIRS_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return false;
    context->pairs = memory;
    context->events = (struct device_events *)(context->pairs + DEVICE_PAIRS);
    return true;
}

bool device_fill(struct device_context *context)
{
    uint32_t had = atomic_load_explicit(&context->made, memory_order_relaxed), made = 0;

    if (!make_pairs(context)) return false;
    if (!context->clock.anchor &&
        ASK(cuEventCreate, &context->clock.anchor, CU_EVENT_DEFAULT) != CUDA_SUCCESS)
        return false;
    for (; made < DEVICE_FILL && had + made < DEVICE_PAIRS; made++) {
        struct device_events *events = &context->events[had + made];
        CUevent start;

        if (ASK(cuEventCreate, &start, CU_EVENT_DEFAULT) != CUDA_SUCCESS) break;
        if (ASK(cuEventCreate, &events->end, CU_EVENT_DEFAULT) != CUDA_SUCCESS) {
            ASK(cuEventDestroy_v2, start);
            break;
        }
        atomic_store_explicit(&events->start, start, memory_order_relaxed);
        device_give(context, &context->pairs[had + made]);
    }
    atomic_store_explicit(&context->made, had + made, memory_order_relaxed);
    return made > 0;
}

void device_empty(struct device_context *context)
{
    for (uint32_t i = 0; i < context->made; i++) {
        ASK(cuEventDestroy_v2, atomic_load_explicit(&context->events[i].start, memory_order_relaxed));
        ASK(cuEventDestroy_v2, context->events[i].end);
    }
    if (context->clock.anchor) ASK(cuEventDestroy_v2, context->clock.anchor);
    context->clock.anchor = NULL;
}

void device_supply(struct device_context *context)
{
    struct device_visit visit;
    uint32_t state;

    lock_take(&context->lock);
    state = atomic_load_explicit(&context->state, memory_order_relaxed);
    if (state == DEVICE_SLOT_KNOWN || (state == DEVICE_SLOT_READY && context->made < DEVICE_PAIRS)) {
        bool visiting = device_visit(context, &visit), good = visiting && device_fill(context);

        if (visiting) device_leave(&visit);
        if (state == DEVICE_SLOT_KNOWN)
            /* Release: the first pairs come before the state that lets hooks take them. */
            atomic_store_explicit(&context->state, good ? DEVICE_SLOT_READY : DEVICE_SLOT_REFUSED,
                                  memory_order_release);
    }
    atomic_store_explicit(&context->wanted, 0, memory_order_relaxed);
    lock_give(&context->lock);
}

/* ---- slots ---- */

static void open_slot(struct device_context *context, CUcontext handle, uint8_t device)
{
    static _Atomic uint32_t clocks;

    lock_take(&context->lock);
    device_give_up(context, CAP_UNTIMED_NOT_READY); /* what came too late for the context of before */
    atomic_store_explicit(&context->free_top, 0, memory_order_relaxed);
    atomic_store_explicit(&context->pending_top, 0, memory_order_relaxed);
    atomic_store_explicit(&context->under_way, 0, memory_order_relaxed);
    atomic_store_explicit(&context->stale, 0, memory_order_relaxed);
    atomic_store_explicit(&context->last, NULL, memory_order_relaxed);
    context->made = context->first = context->last_one = context->failures = 0;
    context->handle = handle;
    atomic_store_explicit(&context->tied, false, memory_order_relaxed);
    atomic_store_explicit(&context->anchored, 0, memory_order_relaxed);
    context->device = device;
    context->clock =
        (struct device_clock){.number = atomic_fetch_add_explicit(&clocks, 1, memory_order_relaxed) + 1};
    /* Release: the slot is whole before it is used. */
    atomic_store_explicit(&context->state, DEVICE_SLOT_KNOWN, memory_order_release);
    lock_give(&context->lock);
}

uint8_t device_context_opens(CUcontext handle, uint8_t device)
{
    /* In turn, so that a slot rests for long before it is another context's. */
    static _Atomic uint32_t turn;

    SIGNALS_HELD;

    if (!handle || device == CAP_NO_DEVICE) return 0;
    for (uint32_t tries = 0; tries < DEVICE_SLOTS; tries++) {
        uint32_t slot = atomic_fetch_add_explicit(&turn, 1, memory_order_relaxed) % DEVICE_SLOTS + 1;
        struct device_context *context = &device_contexts[slot];
        uint32_t state = atomic_load_explicit(&context->state, memory_order_relaxed);

        if ((state != DEVICE_SLOT_FREE && state != DEVICE_SLOT_ENDED) ||
            !atomic_compare_exchange_strong(&context->state, &state, DEVICE_SLOT_REFUSED))
            continue;
        open_slot(context, handle, device);
        for (uint32_t used = atomic_load(&device_slots_used);
             used < slot && !atomic_compare_exchange_weak(&device_slots_used, &used, slot);)
            ;
        return (uint8_t)slot;
    }
    return 0;
}

void device_context_ends(uint8_t slot)
{
    enum { LIMIT_MS = 1000 };
    struct device_context *context = device_context(slot);
    struct patience patience = patience_ms(LIMIT_MS);
    struct device_visit visit;
    int kept = errno;

    if (!context) return;
    if (atomic_load_explicit(&context->state, memory_order_acquire) == DEVICE_SLOT_READY)
        device_read_within(context, DEVICE_TO_RING, &patience);
    lock_take(&context->lock);
    if (atomic_load_explicit(&context->state, memory_order_relaxed) == DEVICE_SLOT_READY) {
        device_give_up(context, CAP_UNTIMED_NOT_READY);
        device_forget(context);
        if (device_visit(context, &visit)) {
            device_empty(context);
            device_leave(&visit);
        }
    }
    atomic_store_explicit(&context->state, DEVICE_SLOT_ENDED, memory_order_relaxed);
    lock_give(&context->lock);
    errno = kept;
}

void device_stream_ends(CUstream stream, uint8_t slot)
{
    struct device_context *context = device_context(slot);

    if (!context || atomic_load_explicit(&context->last, memory_order_relaxed) != stream) return;
    /* Under the lock, because an anchor may be on its way into the stream. */
    lock_take(&context->lock);
    if (atomic_load_explicit(&context->last, memory_order_relaxed) == stream)
        atomic_store_explicit(&context->last, NULL, memory_order_relaxed);
    lock_give(&context->lock);
}
