/* usage: leaving THREADS PAIRS MS HOW CALL: threads make so many allocations and frees, then go on with CALL,
 * and end the process with 7, by HOW, at their first error; the first thread returns 3 once all have got
 * there and MS are over. */
#include <cuda.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static CUcontext context;
static CUstream stream;
static const char *how, *call;
static int pairs;
static atomic_int ready;

static bool pair(void)
{
    CUdeviceptr pointer;

    return cuMemAlloc(&pointer, 1024) == CUDA_SUCCESS && cuMemFree(pointer) == CUDA_SUCCESS;
}

static void *work(void *unused)
{
    bool polls = strcmp(call, "poll") == 0, good = cuCtxSetCurrent(context) == CUDA_SUCCESS;

    for (int i = 0; i < pairs; i++)
        good &= pair();
    ready++;
    while (good)
        good = polls ? cuStreamQuery(stream) != CUDA_ERROR_DEINITIALIZED : pair();
    if (!strcmp(how, "exit")) exit(7);
    if (!strcmp(how, "abort")) abort();
    _exit(7);
    return unused;
}

int main(int argc, char **argv)
{
    CUdevice device;
    pthread_t thread;
    int threads = argc == 6 ? atoi(argv[1]) : 0;

    if (!threads || cuInit(0) || cuDeviceGet(&device, 0) || cuDevicePrimaryCtxRetain(&context, device) ||
        cuCtxSetCurrent(context) || cuStreamCreate(&stream, 0))
        return 99;
    pairs = atoi(argv[2]);
    how = argv[4];
    call = argv[5];
    for (int i = 0; i < threads; i++)
        if (pthread_create(&thread, NULL, work, NULL)) return 99;
    while (ready < threads)
        usleep(1000);
    usleep((unsigned)atoi(argv[3]) * 1000);
    return 3;
}
