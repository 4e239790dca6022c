/* The core that a bench runs on, and whether it has it for itself.
 *
 * A hardware thread beside ours on the same core (another guest's, on a virtual machine) takes half of its
 * units. A floor that waits for the clock does not feel that, and what has more instructions does, so such
 * rounds compare nothing. It shows in whether four chains of additions take a quarter of the time of one.
 * Seen for a span: 23 ns against 19 where they take up to 0.30 of it, 38 against 20 where they take more than
 * 0.38, and nothing between. How long a core is shared is anything from milliseconds to minutes, and the
 * processors of a machine differ in it: of 100 s in which two were looked at, one was alone for 37, the other
 * for 33, one of them for 59. */
#ifndef CGTRACE_TESTS_BENCH_CORE_H
#define CGTRACE_TESTS_BENCH_CORE_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

static inline double now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static inline void pause_ms(long ms)
{
    const struct timespec time = {ms / 1000, ms % 1000 * 1000000};

    nanosleep(&time, NULL);
}

#if defined(__x86_64__)
/* Ticks of a thousand times eight additions: each waits for the one before, or they are four chains. */
static inline uint64_t additions(bool chains)
{
    uint64_t a = 0, b = 0, c = 0, d = 0, begin = __builtin_ia32_rdtsc();

    for (int i = 0; i < 1000 && !chains; i++)
        __asm__ volatile("add $1, %0\n add $1, %0\n add $1, %0\n add $1, %0\n"
                         "add $1, %0\n add $1, %0\n add $1, %0\n add $1, %0"
                         : "+r"(a));
    for (int i = 0; i < 1000 && chains; i++)
        __asm__ volatile("add $1, %0\n add $1, %1\n add $1, %2\n add $1, %3\n"
                         "add $1, %0\n add $1, %1\n add $1, %2\n add $1, %3"
                         : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
    return __builtin_ia32_rdtsc() - begin;
}

static inline bool core_is_alone(void)
{
    uint64_t before = additions(false), chains = additions(true), behind = additions(false);

    /* The shorter one: an interrupt in it would make the chains look fast. A third: between the quarter that
     * they take alone and the half. */
    return chains * 3 < (before < behind ? before : behind);
}
#else
static inline bool core_is_alone(void)
{
    return true;
}
#endif

/* The processors that the bench was given. */
static inline const cpu_set_t *core_allowed(void)
{
    static cpu_set_t allowed;

    if (CPU_COUNT(&allowed) == 0 && sched_getaffinity(0, sizeof allowed, &allowed)) exit(1);
    return &allowed;
}

static inline void core_take(int processor)
{
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET((size_t)processor, &one);
    if (sched_setaffinity(0, sizeof one, &one)) exit(1);
}

/* Moves the calling thread, and what it starts from now on, to a processor whose core nobody shares just now:
 * each is looked at in turn, for about so long. Returns that processor; where none is, the last one that was
 * looked at. */
static inline int core_seek(int ms)
{
    static int at = -1; /* the next time begins where the last one ended */
    double end = now_ns() + ms * 1e6;

    for (;;) {
        if (at >= 0) {
            core_take(at);
            if ((core_is_alone() && core_is_alone()) || now_ns() > end) return at;
        }
        do
            at = (at + 1) % CPU_SETSIZE;
        while (!CPU_ISSET((size_t)at, core_allowed()));
        pause_ms(1);
    }
}

/* Any processor again. */
static inline void core_anywhere(void)
{
    if (sched_setaffinity(0, sizeof(cpu_set_t), core_allowed())) exit(1);
}

#endif
