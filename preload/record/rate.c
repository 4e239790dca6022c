/* The rate of the session's clock: fixed once, before the first line is written and the first time is told.
 */
#include "preload/record/clock.h"
#include "preload/record/lock.h"
#include "preload/record/session.h"
#include "preload/unnoticed.h"

void session_fix_rate(void)
{
    struct cap_header *header = session.header;
    struct cap_anchor now;

    /* Acquire: the rate was stored before it was said to be known. */
    if (atomic_load_explicit(&session.rate_known, memory_order_acquire)) return;
    clock_anchor(&now);
    lock_take(&record_page->rate_lock);
    if (!atomic_load_explicit(&session.rate_known, memory_order_relaxed)) {
        clock_rate(&header->clock, &header->first, &now);
        /* Release: the rate comes before the word that it is known. */
        atomic_store_explicit(&session.rate_known, true, memory_order_release);
    }
    lock_give(&record_page->rate_lock);
}

void session_wait_for_rate(void)
{
    struct cap_anchor now;
    int64_t past;

    if (atomic_load_explicit(&session.rate_known, memory_order_acquire)) return;
    clock_anchor(&now);
    past = now.monotonic_ns - session.header->first.monotonic_ns;
    /* A signal cuts it short: then the rate is a little less exact. */
    if (past >= 0 && past < CLOCK_RATE_NS) nap_ns((uint64_t)(CLOCK_RATE_NS - past));
    session_fix_rate();
}
