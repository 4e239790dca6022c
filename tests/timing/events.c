/* What events cost and what captures make of them, on the driver that is there: for scripts/gpu-check. A line
 * for each figure or answer. On the simulated driver the figures are that driver's and say nothing of a GPU.
 */
#include "tests/programs/target.h"

#include <pthread.h>
#include <time.h>

enum { ROUNDS = 2000, KERNELS = 2000 };

static CUcontext context;
static CUfunction nothing;

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void launch(CUstream stream)
{
    CU(cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
}

/* ---- costs ---- */

static CUevent events[2 * ROUNDS];

/* Host time of one launch: of its calls alone, in bursts that no queue is too short for. */
static double launches(CUstream stream, bool pairs)
{
    enum { BURST = 200 };
    double spent = 0;
    for (int from = 0; from < ROUNDS; from += BURST) {
        CU(cuStreamSynchronize(stream));
        double begin = now_us();
        for (int i = from; i < from + BURST; i++) {
            if (pairs) CU(cuEventRecord(events[2 * i], stream));
            launch(stream);
            if (pairs) CU(cuEventRecord(events[2 * i + 1], stream));
        }
        spent += now_us() - begin;
    }
    CU(cuStreamSynchronize(stream));
    return spent / ROUNDS;
}

static void costs(CUstream stream)
{
    double begin = now_us(), bare, pair, query, elapsed, capturing, memory;
    size_t free_bytes, total;
    float ms, least = 1e9f, sum = 0;
    for (int i = 0; i < 2 * ROUNDS; i++)
        CU(cuEventCreate(&events[i], CU_EVENT_DEFAULT));
    printf("event create            %8.3f us\n", (now_us() - begin) / (2 * ROUNDS));
    launches(stream, true);
    bare = launches(stream, false);
    pair = launches(stream, true);
    printf("launch                  %8.3f us\nlaunch with a pair      %8.3f us, so a pair costs %.3f us\n",
           bare, pair, pair - bare);
    begin = now_us();
    for (int i = 0; i < ROUNDS; i++)
        CU(cuEventQuery(events[2 * i + 1]));
    query = (now_us() - begin) / ROUNDS;
    begin = now_us();
    for (int i = 0; i < ROUNDS; i++) {
        CU(cuEventElapsedTime(&ms, events[2 * i], events[2 * i + 1]));
        if (ms < least) least = ms;
        sum += ms;
    }
    elapsed = (now_us() - begin) / ROUNDS;
    printf("event query             %8.3f us\nevent elapsed time      %8.3f us, so to read a pair costs %.3f "
           "us\n",
           query, elapsed, query + 2 * elapsed);
    printf("interval of an empty kernel: %.3f us in the mean, %.3f us at least\n", (double)sum / ROUNDS * 1e3,
           (double)least * 1e3);
    begin = now_us();
    for (int i = 0; i < ROUNDS; i++) {
        CUstreamCaptureStatus status;
        CU(cuStreamIsCapturing(stream, &status));
    }
    capturing = (now_us() - begin) / ROUNDS;
    begin = now_us();
    for (int i = 0; i < 100; i++)
        CU(cuMemGetInfo(&free_bytes, &total));
    memory = (now_us() - begin) / 100;
    printf("stream is capturing     %8.3f us\nmemory info             %8.3f us\n", capturing, memory);
}

/* ---- overlap ---- */

/* So many kernels, by turns in each of these streams; the device's time for all of them. */
static double device_us(CUstream *streams, int count, bool pairs)
{
    CUevent begin, end;
    float ms;
    CU(cuEventCreate(&begin, CU_EVENT_DEFAULT));
    CU(cuEventCreate(&end, CU_EVENT_DEFAULT));
    CU(cuCtxSynchronize());
    CU(cuEventRecord(begin, streams[0]));
    for (int i = 0; i < KERNELS; i++) {
        if (pairs) CU(cuEventRecord(events[(2 * i) % (2 * ROUNDS)], streams[i % count]));
        launch(streams[i % count]);
        if (pairs) CU(cuEventRecord(events[(2 * i + 1) % (2 * ROUNDS)], streams[i % count]));
    }
    for (int i = 1; i < count; i++)
        CU(cuStreamSynchronize(streams[i]));
    CU(cuEventRecord(end, streams[0]));
    CU(cuEventSynchronize(end));
    CU(cuEventElapsedTime(&ms, begin, end));
    CU(cuEventDestroy(begin));
    CU(cuEventDestroy(end));
    return (double)ms * 1e3 / KERNELS;
}

static void overlap(void)
{
    CUstream streams[4];
    for (int i = 0; i < 4; i++)
        CU(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
    for (int count = 1; count <= 4; count *= 4) {
        double bare = device_us(streams, count, false), timed = device_us(streams, count, true);
        printf("%d stream%s: %.3f us of the device a kernel, %.3f us with pairs, so %.3f us are lost\n",
               count, count > 1 ? "s" : " ", bare, timed, timed - bare);
    }
    for (int i = 0; i < 4; i++)
        CU(cuStreamDestroy(streams[i]));
}

/* ---- captures ---- */

static CUevent past; /* recorded before the capture, done */

static void answers(const char *who, CUstreamCaptureMode mode)
{
    CUevent made = NULL;
    size_t free_bytes, total;
    CU(cuThreadExchangeStreamCaptureMode(&mode));
    printf("  %s: event query %d, memory info %d, event create %d\n", who, (int)cuEventQuery(past),
           (int)cuMemGetInfo(&free_bytes, &total), (int)cuEventCreate(&made, CU_EVENT_DEFAULT));
    if (made) cuEventDestroy(made);
    cuThreadExchangeStreamCaptureMode(&mode);
}

static void *other_thread(void *mode)
{
    CU(cuCtxSetCurrent(context));
    answers((intptr_t)mode == CU_STREAM_CAPTURE_MODE_RELAXED ? "another thread, relaxed"
                                                             : "another thread, global",
            (CUstreamCaptureMode)(intptr_t)mode);
    return NULL;
}

static void in_thread(CUstreamCaptureMode mode)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, other_thread, (void *)(intptr_t)mode) == 0) pthread_join(thread, NULL);
}

/* One capture: an event into the stream, its state, and what is asked beside it. strict: also what may end
 * it. */
static void capture(bool strict)
{
    CUstream stream;
    CUevent event;
    CUgraph graph = NULL;
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    size_t nodes = 0;
    CUresult result;
    float ms;
    CU(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
    CU(cuEventCreate(&event, CU_EVENT_DEFAULT));
    CU(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    printf("capture of a blocking stream:\n  is the legacy stream capturing: answer %d",
           (int)cuStreamIsCapturing(NULL, &status));
    printf(", status %d\n", (int)status);
    launch(stream);
    printf("  an event into it: %d\n", (int)cuEventRecord(event, stream));
    launch(stream);
    answers("the capturing thread, relaxed", CU_STREAM_CAPTURE_MODE_RELAXED);
    in_thread(CU_STREAM_CAPTURE_MODE_RELAXED);
    if (strict) in_thread(CU_STREAM_CAPTURE_MODE_GLOBAL);
    result = cuStreamEndCapture(stream, &graph);
    if (graph) cuGraphGetNodes(graph, NULL, &nodes);
    printf("  end of the capture: %d, %zu nodes of 2 kernels and the event\n", (int)result, nodes);
    printf("  afterwards the event: query %d, elapsed time %d\n", (int)cuEventQuery(event),
           (int)cuEventElapsedTime(&ms, past, event));
    if (graph) cuGraphDestroy(graph);
    CU(cuEventDestroy(event));
    CU(cuStreamDestroy(stream));
}

/* ---- what else the reading of events relies on ---- */

static void *without_context(void *unused)
{
    float ms;
    printf("without a context: event query %d, elapsed time %d\n", (int)cuEventQuery(events[1]),
           (int)cuEventElapsedTime(&ms, events[0], events[1]));
    return unused;
}

static void others(void)
{
    pthread_t thread;
    float forth = 0, back = 0;
    if (pthread_create(&thread, NULL, without_context, NULL) == 0) pthread_join(thread, NULL);
    CU(cuEventElapsedTime(&forth, events[0], events[2 * ROUNDS - 1]));
    printf("elapsed time backwards: answer %d",
           (int)cuEventElapsedTime(&back, events[2 * ROUNDS - 1], events[0]));
    printf(", %.6f ms for %.6f ms\n", (double)back, (double)forth);
}

int main(void)
{
    CUmodule module = NULL;
    CUstream stream;
    char name[128] = "";
    setvbuf(stdout, NULL, _IOLBF, 0);
    context = target_open(0);
    CU(cuDeviceGetName(name, sizeof name, 0));
    printf("device: %s\n", name);
    nothing = target_kernel(&module, "nothing");
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    costs(stream);
    overlap();
    launches(stream, true);
    others();
    CU(cuEventCreate(&past, CU_EVENT_DEFAULT));
    CU(cuEventRecord(past, stream));
    CU(cuStreamSynchronize(stream));
    capture(false);
    capture(true);
    return 0;
}
