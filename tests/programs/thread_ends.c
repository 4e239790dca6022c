/* usage: thread_ends HOW: threads that are cancelled inside of calls, that still call from their thread-local
 * destructors, handlers around fork() that call. */
#include "target.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static CUcontext context;
static _Atomic long calls;

static void some_calls(void)
{
    CUdeviceptr pointer;
    CU(cuCtxSetCurrent(context));
    CU(cuMemAlloc(&pointer, 256));
    CU(cuMemFree(pointer));
    calls += 3;
}

/* Cancelled where cancellation is asked for: between calls. */
static void *endless(void *unused)
{
    for (;;) {
        some_calls();
        pthread_testcancel();
    }
    return unused;
}

static void cancelled(void)
{
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        void *result;
        pthread_create(&thread, NULL, endless, NULL);
        usleep(1000);
        pthread_cancel(thread);
        pthread_join(thread, &result);
        if (result != PTHREAD_CANCELED) exit(1);
    }
    printf("20 threads cancelled\n");
}

static pthread_key_t first_key, last_key;

/* Called anew as long as it sets its key again: four rounds, as the standard has it at least. */
static void destroy(void *round)
{
    some_calls();
    if ((intptr_t)round < 4) pthread_setspecific(last_key, (void *)((intptr_t)round + 1));
}

static void *with_destructors(void *unused)
{
    pthread_setspecific(first_key, (void *)4);
    pthread_setspecific(last_key, (void *)1);
    some_calls();
    return unused;
}

static void destructors(void)
{
    pthread_key_create(&first_key, destroy);
    target_open(0); /* the recorder's key, where there is one, is between the two at the earliest */
    pthread_key_create(&last_key, destroy);
    for (int i = 0; i < 100; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, with_destructors, NULL);
        pthread_join(thread, NULL);
    }
    printf("%ld calls of 100 threads\n", calls);
}

static void around_fork(void)
{
    some_calls();
}

static void forks(void)
{
    pthread_atfork(around_fork, around_fork, NULL);
    some_calls();
    pid_t child = fork();
    if (child == 0) _exit(0);
    waitpid(child, NULL, 0);
    printf("%ld calls around a fork\n", calls);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    context = target_open(0);
    if (strcmp(how, "cancel") == 0)
        cancelled();
    else if (strcmp(how, "destructors") == 0)
        destructors();
    else if (strcmp(how, "atfork") == 0)
        forks();
    else
        return 2;
    return 0;
}
