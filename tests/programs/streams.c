/* Streams, events, waits, synchronisation, callbacks; work ordered across streams by events. */
#include "target.h"

enum { COUNT = 512, STREAMS = 4 };

static void CUDA_CB called(void *data)
{
    *(int *)data += 1;
}

int main(void)
{
    CUmodule module = NULL;
    CUstream streams[STREAMS];
    CUevent events[STREAMS];
    CUdeviceptr data;
    uint32_t values[COUNT];
    int calls = 0, least, greatest;
    target_open(0);
    CUfunction fill = target_kernel(&module, "fill");
    CU(cuMemAlloc(&data, sizeof values));
    CU(cuCtxGetStreamPriorityRange(&least, &greatest));
    for (int i = 0; i < STREAMS; i++) {
        if (i % 2)
            CU(cuStreamCreateWithPriority(&streams[i], CU_STREAM_NON_BLOCKING, greatest));
        else
            CU(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
        CU(cuEventCreate(&events[i], i % 2 ? CU_EVENT_DISABLE_TIMING : CU_EVENT_DEFAULT));
    }
    for (unsigned round = 0; round < 50; round++)
        for (unsigned i = 0; i < STREAMS; i++) {
            unsigned before = (i + STREAMS - 1) % STREAMS;
            if (round + i > 0) CU(cuStreamWaitEvent(streams[i], events[before], 0));
            target_fill(fill, data, COUNT, round * STREAMS + i, streams[i]);
            CU(cuEventRecord(events[i], streams[i]));
        }
    CU(cuLaunchHostFunc(streams[STREAMS - 1], called, &calls));
    CU(cuStreamSynchronize(streams[STREAMS - 1]));
    CU(cuEventSynchronize(events[STREAMS - 1]));
    SHOW(cuStreamQuery(streams[STREAMS - 1]));
    SHOW(cuEventQuery(events[0]));
    CU(cuMemcpyDtoH(values, data, sizeof values));
    printf("last value %u, host function called %d times\n", values[COUNT - 1], calls);
    float elapsed = -1;
    CU(cuEventRecord(events[0], streams[0]));
    target_fill(fill, data, COUNT, 9, streams[0]);
    CU(cuEventRecord(events[2], streams[0]));
    SHOW(cuEventElapsedTime(&elapsed, events[0], events[1]));
    CU(cuCtxSynchronize());
    CU(cuEventElapsedTime(&elapsed, events[0], events[2]));
    printf("elapsed is %s\n", elapsed >= 0 ? "not negative" : "negative");
    for (int i = 0; i < STREAMS; i++) {
        CU(cuEventDestroy(events[i]));
        CU(cuStreamDestroy(streams[i]));
    }
    CU(cuMemFree(data));
    return 0;
}
