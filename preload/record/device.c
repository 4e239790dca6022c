#include "preload/record/device.h"

#include <string.h>

#include "preload/record/lock.h"
#include "preload/record/record.h"
#include "preload/record/session.h"

enum { LIMIT_MS = 5000 };

/* Of the session that was opened last. */
static struct {
    _Atomic uint64_t generation;
    _Atomic uint64_t untimed[CAP_UNTIMED_COUNT];
    _Atomic uint64_t cost_before; /* record_timing_costs() when the session began */
    _Atomic uint64_t mult, tick0; /* of the session's clock, whose shift is 32 */
    _Atomic bool rate_known;
    struct cap_device_clock clocks[CAP_CLOCKS_MAX]; /* these two under record_page->device_lock */
    uint32_t clock_count;
} sums;
/* Of threads that have never recorded. */
static _Atomic uint64_t cost_of_others;

static const struct record_backend *_Atomic backend;
_Atomic bool record_backend_thread;

/* ---- the backend ---- */

void record_backend_set(const struct record_backend *set)
{
    /* Release: what it needs is there before it is called. */
    atomic_store_explicit(&backend, set, memory_order_release);
}

void record_device_drain(unsigned limit_ms)
{
    const struct record_backend *known = atomic_load_explicit(&backend, memory_order_acquire);

    if (known) known->drain(limit_ms ? limit_ms : LIMIT_MS);
}

void record_device_retire(void)
{
    const struct record_backend *known = atomic_load_explicit(&backend, memory_order_acquire);

    if (known) known->retire();
}

/* ---- records ---- */

static struct cap_record interval_slot(const struct record_interval *interval)
{
    const struct record_work *work = interval->work;
    struct cap_record record = {.begin = work->bytes,
                                .span = work->span,
                                .type = CAP_INTERVAL,
                                .slots = 1,
                                .device = work->device,
                                .api = work->api,
                                .flags = work->activity,
                                .ticks = (uint64_t)interval->clock << 32 | work->name};

    record.interval.start_ns = interval->start_ns;
    record.interval.duration_ns = interval->duration_ns;
    record.interval.correlation = work->correlation;
    record.interval.stream = work->stream;
    record.interval.uncertainty_ns = interval->uncertainty_ns;
    return record;
}

static struct cap_record memory_slot(const struct record_device_memory *memory)
{
    struct cap_record record = {.begin = record_tick(),
                                .span = CAP_SPAN_ROOT,
                                .type = CAP_SAMPLE,
                                .slots = 1,
                                .device = memory->device,
                                .ticks = memory->pool_used == UINT64_MAX ? 0 : memory->pool_used + 1};

    record.sample.used = memory->used;
    record.sample.free = memory->free;
    record.sample.reserved = memory->reserved;
    record.sample.capacity = memory->capacity;
    return record;
}

static bool put(const struct cap_record *record)
{
    struct record_thread *thread = &record_self;
    struct cap_record *slot = thread->ring != &record_no_ring ? ring_slot(thread, RING_MAY_DROP) : NULL;

    if (!slot) {
        if (thread->generation == atomic_load_explicit(&record_page->generation, memory_order_relaxed))
            atomic_fetch_add_explicit(&session.lost_type[record->type], 1, memory_order_relaxed);
        return false;
    }
    *slot = *record;
    ring_commit(thread);
    return true;
}

bool record_interval(const struct record_interval *interval)
{
    const struct cap_record record = interval_slot(interval);

    return record_self.generation == interval->work->generation && put(&record);
}

void record_interval_late(const struct record_interval *interval)
{
    const struct cap_record record = interval_slot(interval);

    deferred_add(interval->work->generation, &record, 0, thread_tid(&record_self));
}

void record_device_memory(const struct record_device_memory *memory)
{
    const struct cap_record record = memory_slot(memory);

    put(&record);
}

void record_device_memory_late(const struct record_device_memory *memory)
{
    const struct cap_record record = memory_slot(memory);

    deferred_add(record_session(), &record, 0, thread_tid(&record_self));
}

/* ---- counts ---- */

uint64_t record_session(void)
{
    uint32_t state = atomic_load_explicit(&record_page->state, memory_order_acquire);

    return state == SESSION_OPEN || state == SESSION_CLOSING
               ? atomic_load_explicit(&sums.generation, memory_order_relaxed)
               : 0;
}

static bool counts(uint64_t generation)
{
    return atomic_load_explicit(&sums.generation, memory_order_relaxed) == generation;
}

void record_untimed(uint64_t generation, enum cap_untimed why)
{
    if (counts(generation)) atomic_fetch_add_explicit(&sums.untimed[why], 1, memory_order_relaxed);
}

void record_timing_cost(uint64_t ticks)
{
    if (likely(record_self.peer != &record_nobody))
        peer_spend(record_self.peer, RECORD_COST_TIMING, ticks);
    else
        atomic_fetch_add_explicit(&cost_of_others, ticks, memory_order_relaxed);
}

uint64_t record_timing_costs(void)
{
    return peers_cost_ticks(RECORD_COST_TIMING) + atomic_load_explicit(&cost_of_others, memory_order_relaxed);
}

uint64_t record_roughly_ns(uint64_t tick)
{
    const struct cap_clock clock = {.shift = 32,
                                    .mult = atomic_load_explicit(&sums.mult, memory_order_relaxed),
                                    .tick0 = atomic_load_explicit(&sums.tick0, memory_order_relaxed)};

    return record_session() ? cap_ns(&clock, tick) : 0;
}

bool record_rate_known(void)
{
    /* Acquire: the rate comes before. */
    return atomic_load_explicit(&sums.rate_known, memory_order_acquire);
}

uint64_t record_roughly_ticks(uint64_t ns)
{
    uint64_t mult = atomic_load_explicit(&sums.mult, memory_order_relaxed);

    return mult ? (uint64_t)(((unsigned __int128)ns << 32) / mult) : ns;
}

/* ---- clocks ---- */

void record_clock(uint8_t device, uint32_t number, const struct cap_device_anchor *anchor)
{
    uint32_t i = 0;

    lock_take(&record_page->device_lock);
    while (i < sums.clock_count && sums.clocks[i].number != number)
        i++;
    if (i < CAP_CLOCKS_MAX) {
        struct cap_device_clock *clock = &sums.clocks[i];
        if (i == sums.clock_count) {
            *clock = (struct cap_device_clock){.number = number, .device = device};
            sums.clock_count++;
        }
        if (anchor) {
            clock->anchor[clock->anchors > 0] = *anchor;
            clock->anchors = clock->anchors > 0 ? 2 : 1;
        }
    }
    lock_give(&record_page->device_lock);
}

/* ---- the session's part ---- */

void record_device_reset(uint64_t generation, const struct cap_clock *clock)
{
    lock_take(&record_page->device_lock);
    for (int why = 0; why < CAP_UNTIMED_COUNT; why++)
        atomic_store_explicit(&sums.untimed[why], 0, memory_order_relaxed);
    atomic_store_explicit(&sums.cost_before, record_timing_costs(), memory_order_relaxed);
    atomic_store_explicit(&sums.rate_known, false, memory_order_relaxed);
    atomic_store_explicit(&sums.mult, clock->mult << (32 - clock->shift), memory_order_relaxed);
    atomic_store_explicit(&sums.tick0, clock->tick0, memory_order_relaxed);
    sums.clock_count = 0;
    atomic_store_explicit(&sums.generation, generation, memory_order_relaxed);
    lock_give(&record_page->device_lock);
}

void record_device_publish(void)
{
    struct cap_header *header = session.header;
    const struct record_backend *known = atomic_load_explicit(&backend, memory_order_acquire);
    uint64_t cost = record_timing_costs() - atomic_load_explicit(&sums.cost_before, memory_order_relaxed);

    for (int why = 0; why < CAP_UNTIMED_COUNT; why++)
        atomic_store_explicit(&header->untimed[why],
                              atomic_load_explicit(&sums.untimed[why], memory_order_relaxed),
                              memory_order_relaxed);
    atomic_store_explicit(&header->pending, known ? known->pending() : 0, memory_order_relaxed);
    atomic_store_explicit(&header->timing_ns, cap_ns(&header->clock, header->clock.tick0 + cost),
                          memory_order_relaxed);
    if (atomic_load_explicit(&session.rate_known, memory_order_acquire) && !record_rate_known()) {
        atomic_store_explicit(&sums.mult, header->clock.mult << (32 - header->clock.shift),
                              memory_order_relaxed);
        /* Release: behind the rate. */
        atomic_store_explicit(&sums.rate_known, true, memory_order_release);
    }
    lock_take(&record_page->device_lock);
    memcpy(header->device_clock, sums.clocks, sums.clock_count * sizeof *sums.clocks);
    /* Release: the clocks come before their number. */
    atomic_store_explicit(&header->device_clocks, sums.clock_count, memory_order_release);
    lock_give(&record_page->device_lock);
}
