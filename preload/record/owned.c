#include "preload/record/owned.h"

#include <errno.h>

#include "preload/patience.h"

/* Held for a few tens of nanoseconds, but the kernel may have taken the processor from its owner. */
enum { SPINS = 200, LIMIT_MS = 500, LOOK_NS = 20 * 1000 * 1000 };

/* waits: others may sleep for it, which is not known any more. */
static bool take_open(_Atomic uint32_t *lock, uint32_t waits, enum owned *result)
{
    uint32_t value = atomic_load_explicit(lock, memory_order_relaxed);

    if (value & OWNED_BY) return false;
    *result = value & OWNED_LEFT ? OWNED_AS_LEFT : OWNED_TAKEN;
    return atomic_compare_exchange_strong_explicit(lock, &value, (uint32_t)thread_tid(&record_self) | waits,
                                                   memory_order_acquire, memory_order_relaxed);
}

/* Sets the bit while somebody has the lock. False: nobody has. */
static bool mark(_Atomic uint32_t *lock, uint32_t bit)
{
    uint32_t value = atomic_load_explicit(lock, memory_order_relaxed);

    while (value & OWNED_BY)
        if (atomic_compare_exchange_weak_explicit(lock, &value, value | bit, memory_order_relaxed,
                                                  memory_order_relaxed))
            return true;
    return false;
}

static enum owned wait_for(_Atomic uint32_t *lock)
{
    struct patience patience = patience_ms(LIMIT_MS);
    enum owned result;

    while (!take_open(lock, OWNED_WAITED, &result)) {
        uint32_t value;

        if (!patience_lasts(&patience)) {
            if (mark(lock, OWNED_LOST)) return OWNED_REFUSED;
            continue;
        }
        mark(lock, OWNED_WAITED);
        value = atomic_load_explicit(lock, memory_order_relaxed);
        if (value & OWNED_LOST) return OWNED_REFUSED;
        if (value & OWNED_WAITED) futex_wait(lock, value, LOOK_NS);
    }
    return result;
}

enum owned owned_take_slow(_Atomic uint32_t *lock)
{
    struct record_thread *thread = &record_self;
    enum owned result;
    int past = errno;

    for (int i = 0; i < SPINS; i++) {
        uint32_t value;

        if (take_open(lock, 0, &result)) return result;
        value = atomic_load_explicit(lock, memory_order_relaxed);
        if (value & OWNED_LOST || (int32_t)(value & OWNED_BY) == thread->tid) {
            thread->holds = NULL;
            return OWNED_REFUSED;
        }
        cpu_relax();
    }
    result = wait_for(lock);
    if (result == OWNED_REFUSED) thread->holds = NULL;
    errno = past;
    return result;
}

void owned_leave(struct record_thread *thread)
{
    _Atomic uint32_t *lock = thread->holds;
    int past = errno;

    if (lock &&
        (int32_t)(atomic_load_explicit(lock, memory_order_relaxed) & OWNED_BY) == thread_tid(thread) &&
        /* Release: what was stored before the thread was taken away comes before the opening. */
        atomic_exchange_explicit(lock, OWNED_LEFT, memory_order_release) & OWNED_WAITED)
        futex_wake(lock, 1);
    thread->holds = NULL;
    errno = past;
}
