/* Work off the hot path opens, writes and waits, which are cancellation points: a thread of the program that
 * was cancelled in there would end with our locks taken and our files half made. Its cancellation waits until
 * the end of the block. */
#ifndef CGTRACE_PRELOAD_RECORD_CANCEL_H
#define CGTRACE_PRELOAD_RECORD_CANCEL_H

#include <pthread.h>

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

#define CANCEL_HELD __attribute__((cleanup(cancel_release), unused)) const int cancel_past = cancel_hold()

#endif
