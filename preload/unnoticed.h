/* What a program must not notice of its calls: that errno changed in them, or that there was arithmetic in
 * them. That they had points where a thread can be cancelled: see signals.h. */
#ifndef CGTRACE_PRELOAD_UNNOTICED_H
#define CGTRACE_PRELOAD_UNNOTICED_H

#include <errno.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static inline void errno_restore(const int *past)
{
    errno = *past;
}

/* Until the end of the block; a result that is read from errno is taken before that. */
#define ERRNO_KEPT __attribute__((cleanup(errno_restore), unused)) const int errno_past = errno

/* Floating-point arithmetic as a program begins with: to nearest, denormal numbers are numbers, nothing
 * traps. The program may have chosen otherwise, and threads of ours inherit it. What our arithmetic raises is
 * not seen. */
struct floats {
    uint64_t control, status;
};

static inline void floats_set(struct floats floats)
{
#if defined(__x86_64__)
    __asm__ volatile("ldmxcsr %0" : : "m"(floats.control) : "memory");
#elif defined(__aarch64__)
    __asm__ volatile("msr fpcr, %0\n\tmsr fpsr, %1" : : "r"(floats.control), "r"(floats.status) : "memory");
#endif
    (void)floats;
}

static inline struct floats floats_hold(void)
{
    struct floats past = {0, 0}, first = {0, 0};

#if defined(__x86_64__)
    first.control =
        0x1f80; /* the six exceptions masked, none raised (System V ABI, AMD64 supplement, 3.4.1) */
    uint32_t control;
    __asm__ volatile("stmxcsr %0" : "=m"(control) : : "memory");
    past.control = control;
#elif defined(__aarch64__)
    __asm__ volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(past.control), "=r"(past.status) : : "memory");
#endif
    floats_set(first);
    return past;
}

static inline void floats_restore(const struct floats *past)
{
    floats_set(*past);
}

/* Until the end of the block. Compilers move arithmetic across it, but not out of functions that they do not
 * inline. */
#define FLOATS_HELD                                                                                          \
    __attribute__((cleanup(floats_restore), unused)) const struct floats floats_past = floats_hold()

/* Sleeps, or less when a signal comes. The C library's own function would be a point of cancellation. */
static inline void nap_ns(uint64_t ns)
{
    const struct timespec rest = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    ERRNO_KEPT;

    syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &rest, NULL);
}

#endif
