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
}

static void write_interval(const struct record_interval *interval, enum device_road road)
{
    uint64_t generation = interval->work->generation;

    if (generation != record_session()) return;
    /* A ring is for a thread that is inside a hook of this session. */
    if (road == DEVICE_TO_MEMORY || !record_self.busy || record_self.generation != generation)
        record_interval_late(interval);
    else if (!record_interval(interval))
        record_untimed(generation, CAP_UNTIMED_LOST);
}

/* Reads a pair and deals with the answer; false: the pair stays. */
static bool settle(struct device_context *context, const struct device_pair *pair, enum device_road road)
{
    uint64_t generation = pair->work.generation;
    struct record_interval interval;
    enum device_answer answer = device_times(context, pair, &interval);

    switch (answer) {
    case DEVICE_NOT_YET:
        return false;
    case DEVICE_DONE:
        write_interval(&interval, road);
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
    return true;
}

/* With the lock: so many pairs are under way no more, some of them stale. */
static void take_off(struct device_context *context, uint32_t count, uint32_t stale)
{
    uint32_t past = atomic_load_explicit(&context->stale, memory_order_relaxed);

    atomic_fetch_sub_explicit(&context->under_way, count, memory_order_relaxed);
    /* Release: behind the store of under_way, so that device_pending() never takes a stale one for pending.
     */
    atomic_store_explicit(&context->stale, past - stale, memory_order_release);
}

/* What a round has read. It goes back at once: the line that timed calls change is taken from them twice a
 * round, not twice a pair. */
struct settled {
    struct device_pair *top, *bottom; /* NULL: none */
    uint32_t count, stale;
};

static void add_settled(struct settled *settled, const struct device_context *context,
                        struct device_pair *pair)
{
    settled->stale += pair->work.generation == 0;
    if (settled->top)
        atomic_store_explicit(&pair->next, device_number(context, settled->top), memory_order_relaxed);
    else
        settled->bottom = pair;
    settled->top = pair;
    settled->count++;
}

static void give_settled(const struct settled *settled, struct device_context *context)
{
    if (!settled->top) return;
    take_off(context, settled->count, settled->stale);
    device_give_all(context, settled->top, settled->bottom);
}

uint32_t device_read(struct device_context *context, enum device_road road, uint32_t limit)
{
    struct waiting waiting = {.count = 0};
    struct settled settled = {.top = NULL};
    uint32_t before = 0;
    uint64_t begin = record_tick();

    collect(context);
    for (uint32_t number = context->first, next; number && settled.count < limit; number = next) {
        struct device_pair *pair = &context->pairs[number - 1];
        uint32_t stream = pair->work.stream;

        next = pair->after_it;
        if (waits(&waiting, stream) || !settle(context, pair, road)) {
            if (waiting.count < STREAMS && !waits(&waiting, stream))
                waiting.strings[waiting.count++] = stream;
            before = number;
            continue;
        }
        unlink_pair(context, before, number);
        add_settled(&settled, context, pair);
    }
    give_settled(&settled, context);
    device_paid(begin, record_tick());
    return settled.count;
}

void device_give_up(struct device_context *context, enum cap_untimed why)
{
    uint32_t count = 0;

    collect(context);
    for (uint32_t number = context->first; number; number = context->pairs[number - 1].after_it) {
        struct device_pair *pair = &context->pairs[number - 1];

        if (pair->work.generation) record_untimed(pair->work.generation, why);
        pair->work.generation = 0;
        count++;
    }
    atomic_store_explicit(&context->stale, count, memory_order_release);
}

void device_forget(struct device_context *context)
{
    uint32_t stale = atomic_load_explicit(&context->stale, memory_order_relaxed);

    context->first = context->last_one = 0;
    take_off(context, stale, stale);
}

uint64_t device_pending(void)
{
    uint32_t used = atomic_load_explicit(&device_slots_used, memory_order_acquire);
    uint64_t pending = 0;

    for (uint32_t slot = 1; slot <= used; slot++) {
        const struct device_context *context = &device_contexts[slot];
        /* Acquire: before the load of under_way. */
        uint32_t stale = atomic_load_explicit(&context->stale, memory_order_acquire),
                 under_way = atomic_load_explicit(&context->under_way, memory_order_relaxed);

        if (under_way > stale) pending += under_way - stale;
    }
    return pending;
}

/* Whether something is under way that was put there before this tick. */
static bool is_left(const struct device_context *context, uint64_t tick)
{
    for (uint32_t number = context->first; number; number = context->pairs[number - 1].after_it) {
        const struct device_pair *pair = &context->pairs[number - 1];
        if (pair->work.generation && pair->after <= tick) return true;
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

void device_drain(unsigned limit_ms)
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
        device_give_up(context, CAP_UNTIMED_SESSION_END);
        lock_give(&context->lock);
    }
    errno = kept;
}
