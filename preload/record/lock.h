/* A lock of 32 bits: spins shortly, then sleeps in the kernel. Signals are held back while it is held, so
 * never on the hot path (owned.h is for that), and never across a call into the program. Most stand in the
 * page that a forked child finds zeroed. */
#ifndef CGTRACE_PRELOAD_RECORD_LOCK_H
#define CGTRACE_PRELOAD_RECORD_LOCK_H

#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "preload/signals.h"
#include "preload/unnoticed.h"

static inline void cpu_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Sleeps while *word is value, at most timeout_ns (0: no limit). */
static inline void futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t timeout_ns)
{
    struct timespec limit = {(time_t)(timeout_ns / 1000000000u), (long)(timeout_ns % 1000000000u)};
    ERRNO_KEPT;

    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, timeout_ns ? &limit : NULL, NULL, 0);
}

static inline void futex_wake(_Atomic uint32_t *word, int count)
{
    ERRNO_KEPT;

    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

static inline bool lock_is_had(_Atomic uint32_t *lock)
{
    uint32_t open = 0;

    /* Acquire: what the last holder stored under the lock is seen. */
    return atomic_compare_exchange_strong_explicit(lock, &open, 1, memory_order_acquire,
                                                   memory_order_relaxed);
}

/* 0 open, 1 held, 2 held and waited for (Drepper, "Futexes Are Tricky", 2011, mutex 2). */
static inline void lock_take(_Atomic uint32_t *lock)
{
    signals_hold();
    for (int i = 0; i < 200; i++) {
        if (lock_is_had(lock)) return;
        cpu_relax();
    }
    /* Looks again after a while: a wake-up that the kernel refuses (a filter of system calls) must not leave
     * the program's thread here for good. */
    while (atomic_exchange_explicit(lock, 2, memory_order_acquire) != 0)
        futex_wait(lock, 2, 20 * 1000 * 1000);
}

/* Without waiting; false: another thread has it. */
static inline bool lock_try(_Atomic uint32_t *lock)
{
    bool had;

    signals_hold();
    had = lock_is_had(lock);
    if (!had) signals_release();
    return had;
}

static inline void lock_give(_Atomic uint32_t *lock)
{
    /* Release: what was stored under the lock comes before its opening. */
    if (atomic_exchange_explicit(lock, 0, memory_order_release) == 2) futex_wake(lock, 1);
    signals_release();
}

#endif
