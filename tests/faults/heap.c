/* The first record of a thread, with its call stack, made by a signal's handler that has interrupted the heap. Prints
 * how often the heap was entered from inside of itself: it would wait for its own lock, or find itself half done. */
#include <cuda.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/faults/entered_heap.h"

void *__libc_realloc(void *old, size_t size);

static volatile bool armed, result_is_good;
static volatile int entered;
static _Thread_local volatile bool inside __attribute__((tls_model("initial-exec")));
static CUcontext context;

static void enter(void)
{
    if (inside) entered++;
    if (!armed || inside) return;
    armed = false;
    inside = true;
    raise(SIGUSR1);
    inside = false;
}

void *realloc(void *old, size_t size)
{
    enter();
    return __libc_realloc(old, size);
}

static void handler(int number)
{
    CUdeviceptr address;

    (void)number;
    result_is_good = cuMemAlloc(&address, 7777) == CUDA_SUCCESS;
}

static void *run(void *unused)
{
    void *volatile block;

    if (cuCtxSetCurrent(context)) exit(2);
    armed = true;
    block = malloc(100);
    free(block);
    return unused;
}

int main(void)
{
    CUdeviceptr address;
    CUdevice device;
    pthread_t thread;

    signal(SIGUSR1, handler);
    if (cuInit(0) || cuDeviceGet(&device, 0) || cuCtxCreate(&context, NULL, 0, device)) return 2;
    if (cuMemAlloc(&address, 100) || pthread_create(&thread, NULL, run, NULL)) return 2;
    pthread_join(thread, NULL);
    printf("entered %d good %d\n", entered, result_is_good);
    return 0;
}
