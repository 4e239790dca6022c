/* usage: threads THREADS LAUNCHES [ALLOCATIONS]: so many of each on every thread, each thread with a stream
 * of its own. */
#include "target.h"

#include <pthread.h>

static CUcontext context;
static CUfunction nothing;
static long launches, allocations;

static void *worker(void *index)
{
    CUstream stream;
    CUdeviceptr pointer;
    unsigned block = 1 + (unsigned)(uintptr_t)index;
    CU(cuCtxSetCurrent(context));
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (long i = 0; i < launches || i < allocations; i++) {
        if (i < launches)
            CU(cuLaunchKernel(nothing, 1 + (unsigned)i % 1000, 1 + (unsigned)i / 1000, 1, block, 1, 1, 0,
                              stream, NULL, NULL));
        if (i < allocations) {
            CU(cuMemAlloc(&pointer, 512 + 16 * (size_t)(i % 64)));
            if (i % 10 != 9) CU(cuMemFree(pointer));
        }
    }
    CU(cuStreamSynchronize(stream));
    CU(cuStreamDestroy(stream));
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[64];
    CUmodule module = NULL;
    int count = argc > 1 ? atoi(argv[1]) : 4;
    launches = argc > 2 ? atol(argv[2]) : 1000;
    allocations = argc > 3 ? atol(argv[3]) : 100;
    if (count < 1 || count > 64) return 2;
    context = target_open(0);
    nothing = target_kernel(&module, "nothing");
    for (intptr_t i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, worker, (void *)i);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    printf("%d threads, %ld launches, %ld allocations each\n", count, launches, allocations);
    return 0;
}
