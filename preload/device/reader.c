/* Reading pairs: from the stack of pending ones into a queue, oldest first, and from there into records. */
#include "preload/device/context.h"

#include <errno.h>

#include "preload/record/lock.h"
#include "preload/record/session.h"
#include "preload/unnoticed.h"

enum { BATCH = 128, STREAMS = 32, FAILURES = 16 };

/* Streams whose oldest pair is not done in this round: what comes behind it is not either. */
struct waiting {
    uint32_t strings[STREAMS];
    unsigned count;
};

static bool waits(const struct waiting *waiting, uint32_t stream)
{
    for (unsigned i = 0; i < waiting->count; i++)
        if (waiting->strings[i] == stream) return true;
    return false;
}

/* What was pushed last stands on top: turned round behind the queue. */
static void collect(struct device_context *context)
{
    /* Acquire: pairs were filled in before they were pushed. */
    uint32_t top = atomic_exchange_explicit(&context->pending_top, 0, memory_order_acquire), head = 0,
             last = top;

    while (top) {
        struct device_pair *pair = &context->pairs[top - 1];

        pair->after_it = head;
        head = top;
        top = atomic_load_explicit(&pair->next, memory_order_relaxed);
    }
    if (!head) return;
    if (context->last_one)
        context->pairs[context->last_one - 1].after_it = head;
    else
        context->first = head;
    context->last_one = last;
}

static void unlink_pair(struct device_context *context, uint32_t before, uint32_t number)
{
    uint32_t behind = context->pairs[number - 1].after_it;

    if (before)
        context->pairs[before - 1].after_it = behind;
    else
        context->first = behind;
    if (context->last_one == number) context->last_one = before;
    atomic_fetch_sub_explicit(&context->under_way, 1, memory_order_relaxed);
}

static void write_interval(const struct record_interval *interval, enum device_road road)
{
    if (interval->generation != record_session()) return;
    /* A ring is for a thread that is inside a hook of this session. */
    if (road == DEVICE_TO_MEMORY || !record_self.busy || record_self.generation != interval->generation)
        record_interval_late(interval);
    else if (!record_interval(interval))
        record_untimed(interval->generation, CAP_UNTIMED_LOST);
}

/* Deals with the answer; false: the pair stays. */
static bool settle(struct device_context *context, struct device_pair *pair, enum device_answer answer,
                   enum device_road road)
{
    uint64_t generation = pair->interval.generation;

    switch (answer) {
    case DEVICE_NOT_YET:
        return false;
    case DEVICE_DONE:
        write_interval(&pair->interval, road);
        break;
    case DEVICE_NO_TIME:
        record_untimed(generation, CAP_UNTIMED_RESOLUTION);
        break;
    case DEVICE_FAILED:
        record_untimed(generation, CAP_UNTIMED_ERROR);
        break;
    case DEVICE_GONE:
        record_untimed(generation, CAP_UNTIMED_SESSION_END);
        break;
    }
    context->failures = answer == DEVICE_FAILED ? context->failures + 1 : 0;
    if (answer == DEVICE_GONE || context->failures >= FAILURES)
        atomic_store_explicit(&context->state, DEVICE_SLOT_REFUSED, memory_order_relaxed);
    record_pending(generation, -1);
    return true;
}

uint32_t device_read(struct device_context *context, enum device_road road, uint32_t limit)
{
    struct waiting waiting = {.count = 0};
    uint32_t before = 0, read = 0;
    uint64_t begin = record_tick();

    collect(context);
    for (uint32_t number = context->first, next; number && read < limit; number = next) {
        struct device_pair *pair = &context->pairs[number - 1];
        uint32_t stream = pair->interval.stream;

        next = pair->after_it;
        if (waits(&waiting, stream) || !settle(context, pair, device_times(context, pair), road)) {
            if (waiting.count < STREAMS && !waits(&waiting, stream))
                waiting.strings[waiting.count++] = stream;
            before = number;
            continue;
        }
        unlink_pair(context, before, number);
        device_give(context, pair);
        read++;
    }
    device_paid(begin);
    return read;
}

void device_give_up(struct device_context *context, uint64_t generation, enum cap_untimed why)
{
    uint32_t before = 0;

    collect(context);
    for (uint32_t number = context->first, next; number; number = next) {
        struct device_pair *pair = &context->pairs[number - 1];

        next = pair->after_it;
        if (generation && pair->interval.generation != generation) {
            before = number;
            continue;
        }
        if (pair->interval.generation) {
            record_untimed(pair->interval.generation, why);
            record_pending(pair->interval.generation, -1);
        }
        if (generation) { /* it is read all the same, for its events' sake */
            pair->interval.generation = 0;
            before = number;
        } else {
            unlink_pair(context, before, number);
        }
    }
}

/* Whether something is under way that was put there before this tick. */
static bool is_left(const struct device_context *context, uint64_t tick)
{
    for (uint32_t number = context->first; number; number = context->pairs[number - 1].after_it) {
        const struct device_pair *pair = &context->pairs[number - 1];
        if (pair->interval.generation && pair->after <= tick) return true;
    }
    return false;
}

static bool lock_within(_Atomic uint32_t *lock, struct patience *patience)
{
    while (!lock_try(lock)) {
        if (!patience_lasts(patience)) return false;
        nap_ns(200 * 1000);
    }
    return true;
}

void device_read_within(struct device_context *context, enum device_road road, struct patience *patience)
{
    uint64_t tick = record_tick(), pause = 50 * 1000;
    bool left = true;

    while (left && lock_within(&context->lock, patience)) {
        struct device_visit visit;
        uint32_t read = 0;

        left = atomic_load_explicit(&context->state, memory_order_relaxed) == DEVICE_SLOT_READY &&
               device_visit(context, &visit);
        if (left) {
            read = device_read(context, road, BATCH);
            device_leave(&visit);
            left = is_left(context, tick) && patience_lasts(patience);
        }
        lock_give(&context->lock);
        if (!left || read == BATCH) continue;
        nap_ns(pause);
        if (pause < 1000 * 1000) pause *= 2;
    }
}

void device_drain(uint64_t generation, unsigned limit_ms)
{
    struct patience patience = patience_ms(limit_ms);
    uint32_t used = atomic_load_explicit(&device_slots_used, memory_order_acquire);
    bool gone = atomic_load_explicit(&device_exiting, memory_order_relaxed); /* all is read that can be */
    int kept = errno;

    if (!gone && session.settings.memory_sample_ms) device_sample(DEVICE_TO_MEMORY);
    for (uint32_t slot = 1; slot <= used; slot++) {
        struct device_context *context = &device_contexts[slot];

        if (!context->pairs) continue;
        if (!gone) device_read_within(context, DEVICE_TO_MEMORY, &patience);
        if (!lock_within(&context->lock, &patience)) continue; /* what is in there is counted as unread */
        device_give_up(context, generation, CAP_UNTIMED_SESSION_END);
        lock_give(&context->lock);
    }
    errno = kept;
}
