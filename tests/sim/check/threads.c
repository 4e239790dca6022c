/* Several threads at once on one context: every road from issue to worker, under whatever sanitizer the build
 * has. Exits 0 when each thread has got the results that its stream's order promises. */
#include <cuda.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define MUST(x)                                                                                              \
    do {                                                                                                     \
        CUresult code = (x);                                                                                 \
        if (code) {                                                                                          \
            fprintf(stderr, "line %d: %d\n", __LINE__, (int)code);                                           \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

enum { THREADS = 6, STEPS = 100, WORDS = 1024 };

static const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                          ".visible .entry bump(.param .u64 p, .param .u32 n) { ret; }\n"
                          ".visible .entry nothing() { ret; }\n";
static CUcontext context;
static CUfunction bump, nothing;

static void CUDA_CB count(void *data)
{
    ++*(int *)data;
}

static void step(CUstream s, CUevent *events, void **args, int *counted, int i)
{
    CUdeviceptr scratch;
    MUST(cuEventRecord(events[0], s));
    MUST(cuLaunchKernel(bump, 1, 1, 1, 1, 1, 1, 0, s, args, NULL));
    MUST(cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL));
    if (i % 10 == 0) MUST(cuLaunchHostFunc(s, count, counted));
    MUST(cuMemAllocAsync(&scratch, 1000, s));
    MUST(cuMemsetD8Async(scratch, 3, 1000, s));
    MUST(cuMemFreeAsync(scratch, s));
    MUST(cuEventRecord(events[1], s));
    if (i % 7 == 0) MUST(cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    if (i % 5) return;
    float ms;
    MUST(cuStreamSynchronize(s));
    MUST(cuEventElapsedTime(&ms, events[0], events[1]));
}

static void *run(void *arg)
{
    CUstream s;
    CUdeviceptr p;
    CUevent events[2];
    int counted = 0, words = WORDS, out[WORDS];
    void *args[] = {&p, &words};
    MUST(cuCtxSetCurrent(context));
    MUST(cuStreamCreate(&s, (uintptr_t)arg & 1 ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT));
    MUST(cuMemAlloc(&p, sizeof out));
    MUST(cuMemsetD32Async(p, 1, WORDS, s));
    for (int i = 0; i < 2; i++)
        MUST(cuEventCreate(&events[i], CU_EVENT_DEFAULT));
    for (int i = 0; i < STEPS; i++)
        step(s, events, args, &counted, i);
    MUST(cuMemcpyDtoHAsync(out, p, sizeof out, s));
    MUST(cuStreamSynchronize(s));
    if (out[0] != 1 + STEPS || out[WORDS - 1] != 1 + STEPS || counted != STEPS / 10) {
        fprintf(stderr, "%d %d, counted %d\n", out[0], out[WORDS - 1], counted);
        exit(1);
    }
    MUST(cuMemFree(p));
    MUST(cuStreamDestroy(s));
    return NULL;
}

int main(void)
{
    CUmodule module;
    pthread_t threads[THREADS];
    MUST(cuInit(0));
    MUST(cuDevicePrimaryCtxRetain(&context, 0));
    MUST(cuCtxSetCurrent(context));
    MUST(cuModuleLoadData(&module, ptx));
    MUST(cuModuleGetFunction(&bump, module, "bump"));
    MUST(cuModuleGetFunction(&nothing, module, "nothing"));
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, run, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    MUST(cuDevicePrimaryCtxRelease(0));
    return 0;
}
