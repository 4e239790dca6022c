/* A lock of the fast paths. Signals are not held back while it is held, so a handler may jump out of there
 * for good, or end the thread: whose it is stands in it, and its owner's record_thread says that it has it.
 * So it is given back when the thread calls the next time (record_is_still_inside()) or ends, and whoever
 * takes it next is told and puts right what it guards. Until then others wait for it a moment once, and then
 * do without.
 *
 * Not taken while another one is held. */
#ifndef CGTRACE_PRELOAD_RECORD_OWNED_H
#define CGTRACE_PRELOAD_RECORD_OWNED_H

#include <stdatomic.h>
#include <stdint.h>

#include "preload/record/lock.h"
#include "preload/record/ring.h"

/* In the lock, beside the owner's number as the kernel has it (below 2^22, PID_MAX_LIMIT). */
enum {
    OWNED_WAITED = 1 << 30, /* others sleep until it is opened */
    OWNED_LOST = 1 << 29,   /* others have waited in vain */
    OWNED_LEFT = 1 << 28,   /* of an open one: its last owner was taken away from inside */
    OWNED_BY = (1 << 22) - 1,
};

enum owned {
    OWNED_REFUSED, /* its owner is away, or is the thread itself, in a call that a handler's has interrupted
                    */
    OWNED_TAKEN,
    OWNED_AS_LEFT, /* taken; what it guards may be half done */
};
enum owned owned_take_slow(_Atomic uint32_t *lock);
static inline enum owned owned_take(_Atomic uint32_t *lock)
{
    struct record_thread *thread = &record_self;
    uint32_t open = 0, owner = (uint32_t)thread_tid(thread);

    if (unlikely(thread->holds != NULL)) return OWNED_REFUSED;
    thread->holds = lock;
    atomic_signal_fence(memory_order_seq_cst);
    /* Acquire: what the last holder stored under the lock is seen. */
    if (likely(atomic_compare_exchange_strong_explicit(lock, &open, owner, memory_order_acquire,
                                                       memory_order_relaxed)))
        return OWNED_TAKEN;
    return owned_take_slow(lock);
}

static inline void owned_give(_Atomic uint32_t *lock)
{
    /* Release: what was stored under the lock comes before its opening. */
    if (unlikely(atomic_exchange_explicit(lock, 0, memory_order_release) & OWNED_WAITED)) futex_wake(lock, 1);
    atomic_signal_fence(memory_order_seq_cst);
    record_self.holds = NULL;
}

/* The calling thread was taken away from inside, or may have been: opens the lock that it has then. */
void owned_leave(struct record_thread *thread);

/* A peer's stack, which is never half done: an entry is there or is not. False: its owner is away. */
static inline bool peer_hold(struct record_peer *peer)
{
    return owned_take(&peer->lock) != OWNED_REFUSED;
}
static inline void peer_let_go(struct record_peer *peer)
{
    owned_give(&peer->lock);
}

#endif
