/* Ranges that belong to no thread: open ones in a table, by the number that the program holds. They are
 * written when they end, whole, since the thread that ends one may be written before the one that started it.
 * The table outlives sessions: those that a session's border cuts are written with what of them lies inside.
 */
#include <sys/mman.h>

#include "preload/record/owned.h"
#include "preload/record/record.h"
#include "preload/record/region.h"
#include "preload/record/session.h"
#include "preload/unnoticed.h"

/* A number is uses << 20 | place: a place is used again, a number is not. */
enum { PLACE_BITS = 20, PLACES = 1 << PLACE_BITS };

struct open_range {
    uint64_t begin;
    uint64_t uses; /* how often the place was given out; odd: it is now */
    uint32_t next; /* while it is free: 1 + the next free one */
    int32_t tid;
    struct record_range range;
};

/* A thread may be taken away in the midst of a change (owned.h): at worst a place is nobody's then, since it
 * is taken before it is filled and filled before it counts as given out. */
static struct open_range *places; /* a reservation, of which only what is used takes memory */
static uint32_t places_used, free_place;
static uint32_t looked_at; /* by ranges_next() */

void ranges_reset(void)
{
    if (places) munmap(places, PLACES * sizeof *places);
    places = NULL;
    places_used = free_place = looked_at = 0;
}

/* Called with ranges_lock held. */
static struct open_range *take_place(void)
{
    struct open_range *place;
    ERRNO_KEPT;

    if (!places) {
        void *map = mmap(NULL, PLACES * sizeof *places, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        if (map == MAP_FAILED) return NULL;
        places = map;
    }
    if (free_place) {
        place = &places[free_place - 1];
        free_place = place->next;
    } else if (places_used < PLACES) {
        place = &places[places_used++];
    } else {
        return NULL;
    }
    atomic_signal_fence(memory_order_seq_cst);
    return place;
}

/* Gives it out; its number. */
static uint64_t fill_place(struct open_range *place, struct record_call *call,
                           const struct record_range *range)
{
    place->begin = call->begin;
    place->tid = thread_tid(call->thread);
    place->range = *range;
    atomic_signal_fence(memory_order_seq_cst);
    place->uses++;
    return place->uses << PLACE_BITS | (uint64_t)(place - places);
}

uint64_t record_range_start(struct record_call *call, const struct record_range *range)
{
    uint64_t number = 0;

    if (owned_take(&record_page->ranges_lock) != OWNED_REFUSED) {
        struct open_range *place = take_place();

        if (place) number = fill_place(place, call, range);
        owned_give(&record_page->ranges_lock);
    }
    if (!number && !call->outside)
        atomic_fetch_add_explicit(&session.lost_type[CAP_SPAN], 1, memory_order_relaxed);
    if (number && unlikely(region_is(range->name, range->domain)))
        region_met(call, CAP_SOURCE_NVTX, range, number);
    record_leave(call);
    return number;
}

/* Called with ranges_lock held. */
static void give_place(uint32_t index)
{
    places[index].uses++;
    places[index].next = free_place;
    atomic_signal_fence(memory_order_seq_cst);
    free_place = index + 1;
}

static bool take_range(uint64_t number, struct open_range *range)
{
    uint32_t index = (uint32_t)(number & (PLACES - 1));
    bool found;

    if (owned_take(&record_page->ranges_lock) == OWNED_REFUSED) return false;
    found = index < places_used && (places[index].uses & 1) && places[index].uses == number >> PLACE_BITS;
    if (found) {
        *range = places[index];
        give_place(index);
    }
    owned_give(&record_page->ranges_lock);
    return found;
}

/* What of a range lies in the open session, as a complete span but for its end. */
static void fill_range(struct cap_record *slot, const struct open_range *range, uint32_t span)
{
    uint64_t opened = atomic_load_explicit(&session.opened, memory_order_relaxed);
    bool before = range->begin < opened;

    *slot = span_record(CAP_SPAN, before ? opened : range->begin, span, session.region.outside,
                        CAP_SOURCE_NVTX, &range->range);
    slot->flags |= before ? CAP_FLAG_CLIPPED_START : 0;
}

void record_range_end(struct record_call *call, uint64_t number)
{
    struct record_thread *thread = call->thread;
    struct open_range range;
    struct cap_record *slot, deferred;

    if (unlikely(region_is_range(number))) region_ends(call);
    if (!take_range(number, &range))
        record_gap(RECORD_GAP_UNKNOWN_SPAN_END, 1);
    else if (!call->outside) {
        slot = ring_slot(thread, RING_MUST);
        if (unlikely(!slot)) slot = &deferred;
        fill_range(slot, &range, span_number(thread));
        slot->result = range.tid == thread->tid ? 0 : range.tid;
        slot->ticks = call->begin > slot->begin ? call->begin - slot->begin : 0;
        if (likely(slot != &deferred))
            ring_commit(thread);
        else
            deferred_add(thread->generation, slot, thread->ring_index, thread->tid);
    }
    record_leave(call);
}

void ranges_rewind(void)
{
    looked_at = 0;
}

bool ranges_next(struct cap_record *record, uint64_t end_tick, int32_t *tid)
{
    bool found = false;

    if (owned_take(&record_page->ranges_lock) == OWNED_REFUSED) {
        /* Those that are open cannot be told. record_gap() counts for an open session alone. */
        atomic_fetch_add_explicit(&session.header->gaps[CAP_GAP_ABANDONED], 1, memory_order_relaxed);
        return false;
    }
    while (!found && looked_at < places_used) {
        const struct open_range *range = &places[looked_at++];
        uint64_t number = range->uses << PLACE_BITS | (uint64_t)(range - places);

        if (!(range->uses & 1) || range->begin >= end_tick || region_is_range(number)) continue;
        fill_range(record, range, atomic_fetch_add_explicit(&session.span_block, 1, memory_order_relaxed));
        record->flags |= CAP_FLAG_CLIPPED_END;
        record->ticks = end_tick > record->begin ? end_tick - record->begin : 0;
        *tid = range->tid;
        found = true;
    }
    owned_give(&record_page->ranges_lock);
    return found;
}
