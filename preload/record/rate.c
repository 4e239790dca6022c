/* The rate of the session's clock: fixed once, before the first line is written and the first time is told.
 */
#include <time.h>

#include "preload/record/clock.h"
#include "preload/record/lock.h"
#include "preload/record/session.h"

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
    struct timespec rest = {.tv_nsec = 0};
    struct cap_anchor now;
    int64_t past;

    if (atomic_load_explicit(&session.rate_known, memory_order_acquire)) return;
    clock_anchor(&now);
    past = now.monotonic_ns - session.header->first.monotonic_ns;
    if (past >= 0 && past < CLOCK_RATE_NS) rest.tv_nsec = CLOCK_RATE_NS - past;
    /* A signal cuts it short: then the rate is a little less exact. The C library's own function would be a
     * point at which the thread can be cancelled. */
    syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &rest, NULL);
    session_fix_rate();
}
