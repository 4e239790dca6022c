/* What a program must not notice of its calls: that errno changed in them, or that they had points where a
 * thread can be cancelled. */
#ifndef CGTRACE_PRELOAD_UNNOTICED_H
#define CGTRACE_PRELOAD_UNNOTICED_H

#include <errno.h>
#include <pthread.h>
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

static inline int cancel_hold(void)
{
    int past = PTHREAD_CANCEL_ENABLE;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &past);
    return past;
}

static inline void cancel_release(const int *past)
{
    int held;

    pthread_setcancelstate(*past, &held);
}

/* Work off the hot path opens, writes and waits, which are cancellation points: a thread of the program that
 * was cancelled in there would end with our locks taken and our files half made. Its cancellation waits until
 * the end of the block. */
#define CANCEL_HELD __attribute__((cleanup(cancel_release), unused)) const int cancel_past = cancel_hold()

/* Sleeps, or less when a signal comes. The C library's own function would be a point of cancellation. */
static inline void nap_ns(uint64_t ns)
{
    const struct timespec rest = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    ERRNO_KEPT;

    syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &rest, NULL);
}

#endif
