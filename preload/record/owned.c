#include "preload/record/owned.h"

#include <errno.h>

#include "preload/patience.h"
#include "preload/unnoticed.h"

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

/* Of an owner that is away: it has ended, and could not say so (by the system call, or before it recorded).
 */
static enum owned inherit(_Atomic uint32_t *lock)
{
    uint32_t value = atomic_load_explicit(lock, memory_order_relaxed), owner = value & OWNED_BY;

    /* Acquire: what it stored last. */
    return owner && syscall(SYS_tgkill, getpid(), owner, 0) != 0 && errno == ESRCH &&
                   atomic_compare_exchange_strong_explicit(
                       lock, &value, (uint32_t)thread_tid(&record_self) | (value & OWNED_WAITED),
                       memory_order_acquire, memory_order_relaxed)
               ? OWNED_AS_LEFT
               : OWNED_REFUSED;
}

static enum owned wait_for(_Atomic uint32_t *lock)
{
    struct patience patience = patience_ms(LIMIT_MS);
    enum owned result;

    while (!take_open(lock, OWNED_WAITED, &result)) {
        uint32_t value;

        if (!patience_lasts(&patience)) {
            if (mark(lock, OWNED_LOST)) return inherit(lock);
            continue;
        }
        mark(lock, OWNED_WAITED);
        value = atomic_load_explicit(lock, memory_order_relaxed);
        if (value & OWNED_LOST) return inherit(lock);
        if (value & OWNED_WAITED) futex_wait(lock, value, LOOK_NS);
    }
    return result;
}

static enum owned spin_or_wait(_Atomic uint32_t *lock, uint32_t self)
{
    enum owned result;

    for (int i = 0; i < SPINS; i++) {
        uint32_t value;

        if (take_open(lock, 0, &result)) return result;
        value = atomic_load_explicit(lock, memory_order_relaxed);
        if ((value & OWNED_BY) == self) return OWNED_REFUSED;
        if (value & OWNED_LOST) return inherit(lock);
        cpu_relax();
    }
    return wait_for(lock);
}

enum owned owned_take_slow(_Atomic uint32_t *lock)
{
    struct record_thread *thread = &record_self;
    ERRNO_KEPT;
    enum owned result = spin_or_wait(lock, (uint32_t)thread->tid);

    if (result == OWNED_REFUSED) thread->holds = NULL;
    return result;
}

void owned_leave(struct record_thread *thread)
{
    _Atomic uint32_t *lock = thread->holds;

    if (lock &&
        (int32_t)(atomic_load_explicit(lock, memory_order_relaxed) & OWNED_BY) == thread_tid(thread) &&
        /* Release: what was stored before the thread was taken away comes before the opening. */
        atomic_exchange_explicit(lock, OWNED_LEFT, memory_order_release) & OWNED_WAITED)
        futex_wake(lock, 1);
    thread->holds = NULL;
}
