/* Threads of ours in a process that is not ours. */
#ifndef CGTRACE_PRELOAD_OWN_THREAD_H
#define CGTRACE_PRELOAD_OWN_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

/* Begins one that handles no signal of the program's. how: PTHREAD_CREATE_DETACHED or _JOINABLE. False: it
 * cannot be had. */
static inline bool own_thread_begin(pthread_t *thread, int how, void *(*run)(void *), void *argument)
{
    enum { STACK_BYTES = 256 << 10 };
    pthread_attr_t attributes;
    sigset_t all, past;
    bool begun;

    if (pthread_attr_init(&attributes)) return false;
    pthread_attr_setdetachstate(&attributes, how);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &past);
    begun = pthread_create(thread, &attributes, run, argument) == 0;
    pthread_sigmask(SIG_SETMASK, &past, NULL);
    pthread_attr_destroy(&attributes);
    return begun;
}

#endif
