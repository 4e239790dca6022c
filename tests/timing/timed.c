/* usage: timed MODE [NUMBER [NUMBER]]: programs whose device work is timed. They print nothing that depends
 * on times. */
#include "tests/programs/target.h"

#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The per-thread forms, which cuda.h gives other names only for a whole file. */
CUresult cuLaunchKernel_ptsz(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                             CUstream, void **, void **);
CUresult cuStreamSynchronize_ptsz(CUstream);
CUresult cuMemsetD32Async_ptsz(CUdeviceptr, unsigned, size_t, CUstream);

static CUcontext context;
static CUmodule module;
static CUfunction nothing;
static long first, second;

static void launch(CUstream stream)
{
    CU(cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
}

static void rest_us(unsigned us)
{
    struct timespec t = {us / 1000000, (long)(us % 1000000) * 1000};
    nanosleep(&t, NULL);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Kernels one by one and in bursts, copies and memsets of many sizes, in a stream of the thread's own. */
static void *busy_thread(void *index)
{
    uint64_t state = (uint64_t)(uintptr_t)index;
    size_t room = 1 << 20;
    CUdeviceptr at;
    CUstream stream;
    char *host = malloc(room);
    CU(cuCtxSetCurrent(context));
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU(cuMemAlloc(&at, room));
    memset(host, 1, room);
    for (long i = 0; i < second; i++) {
        uint32_t random = target_random(&state);
        size_t bytes = 4 + random % (room - 4);
        switch (random % 5) {
        case 0:
            CU(cuMemcpyHtoDAsync(at, host, bytes, stream));
            break;
        case 1:
            CU(cuMemsetD8Async(at, 7, bytes, stream));
            break;
        case 2:
            CU(cuStreamSynchronize(stream));
            launch(stream);
            break;
        default:
            launch(stream);
        }
    }
    CU(cuStreamSynchronize(stream));
    CU(cuMemFree(at));
    CU(cuStreamDestroy(stream));
    free(host);
    return NULL;
}

static void run_threads(void *(*body)(void *))
{
    pthread_t threads[64];
    for (intptr_t i = 0; i < first; i++)
        pthread_create(&threads[i], NULL, body, (void *)(i + 1));
    for (long i = 0; i < first; i++)
        pthread_join(threads[i], NULL);
}

static void busy(void)
{
    run_threads(busy_thread);
}

/* Three blocking streams, the legacy one between them, in two contexts by turns. */
static void streams(void)
{
    CUcontext contexts[2] = {context, target_new_context(0)};
    CUfunction kernels[2] = {nothing};
    CUstream mine[2][3];
    CUmodule other = NULL;
    for (int c = 0; c < 2; c++) {
        CU(cuCtxSetCurrent(contexts[c]));
        if (c) kernels[c] = target_kernel(&other, "nothing");
        for (int s = 0; s < 3; s++)
            CU(cuStreamCreate(&mine[c][s], s ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING));
    }
    for (long i = 0; i < first; i++) {
        int c = i & 1;
        CU(cuCtxSetCurrent(contexts[c]));
        nothing = kernels[c];
        for (int s = 0; s < 3; s++)
            launch(mine[c][s]);
        if (i % 3 == 0) launch(NULL);
        if (i % 7 == 0) CU(cuCtxSynchronize());
    }
    for (int c = 0; c < 2; c++) {
        CU(cuCtxSetCurrent(contexts[c]));
        CU(cuCtxSynchronize());
    }
}

static void *own_default(void *unused)
{
    CUdeviceptr at;
    CU(cuCtxSetCurrent(context));
    CU(cuMemAlloc(&at, 4096));
    for (long i = 0; i < second; i++) {
        CU(cuLaunchKernel_ptsz(nothing, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
        launch(CU_STREAM_PER_THREAD);
        CU(cuMemsetD32Async_ptsz(at, 3, 1024, NULL));
    }
    CU(cuStreamSynchronize_ptsz(NULL));
    CU(cuMemFree(at));
    return unused;
}

static void per_thread(void)
{
    run_threads(own_default);
}

/* A capture that another stream joins, while a third one goes on working; then launches of the graph. */
static void graphs(void)
{
    CUstream capturing, joined, other;
    CUevent fork_event, join_event;
    CUgraph graph;
    CUgraphExec executable;
    CU(cuStreamCreate(&capturing, CU_STREAM_NON_BLOCKING));
    CU(cuStreamCreate(&joined, CU_STREAM_NON_BLOCKING));
    CU(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    CU(cuEventCreate(&fork_event, CU_EVENT_DISABLE_TIMING));
    CU(cuEventCreate(&join_event, CU_EVENT_DISABLE_TIMING));
    launch(capturing);
    CU(cuStreamBeginCapture(capturing, CU_STREAM_CAPTURE_MODE_GLOBAL));
    launch(capturing);
    CU(cuEventRecord(fork_event, capturing));
    CU(cuStreamWaitEvent(joined, fork_event, 0));
    for (long i = 0; i < second; i++) {
        launch(capturing);
        launch(joined);
        launch(other); /* not captured: works, and the poller reads meanwhile */
        if (i % 64 == 0) rest_us(1500);
    }
    CU(cuEventRecord(join_event, joined));
    CU(cuStreamWaitEvent(capturing, join_event, 0));
    CU(cuStreamEndCapture(capturing, &graph));
    CU(cuGraphInstantiate(&executable, graph, 0));
    for (long i = 0; i < first; i++)
        CU(cuGraphLaunch(executable, capturing));
    CU(cuStreamSynchronize(capturing));
    CU(cuStreamSynchronize(other));
    CU(cuGraphExecDestroy(executable));
    CU(cuGraphDestroy(graph));
}

/* The first that the program does in a context is a capture: no event may be made meanwhile. */
static void captured_first(void)
{
    CUstream capturing;
    CUgraph graph;
    CU(cuStreamCreate(&capturing, CU_STREAM_NON_BLOCKING));
    CU(cuStreamBeginCapture(capturing, CU_STREAM_CAPTURE_MODE_GLOBAL));
    for (long i = 0; i < first; i++)
        launch(capturing);
    CU(cuStreamEndCapture(capturing, &graph));
    CU(cuGraphDestroy(graph));
    for (long i = 0; i < first; i++)
        launch(capturing);
    CU(cuStreamSynchronize(capturing));
}

/* Contexts that end with work under way. */
static void destroyed(void)
{
    for (long i = 0; i < first; i++) {
        CUcontext mine = target_new_context(0);
        CUmodule loaded = NULL;
        CUstream stream;
        nothing = target_kernel(&loaded, "nothing");
        CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        for (long k = 0; k < second; k++)
            launch(stream);
        CU(cuCtxDestroy(mine));
    }
}

static void reset(void)
{
    for (long i = 0; i < first; i++) {
        for (long k = 0; k < second; k++)
            launch(NULL);
        CU(cuDevicePrimaryCtxReset(0));
        context = target_open(0);
        module = NULL;
        nothing = target_kernel(&module, "nothing");
    }
}

static void released(void)
{
    CUdevice device;
    CUcontext again;
    CU(cuDeviceGet(&device, 0));
    for (long i = 0; i < first; i++) {
        CU(cuDevicePrimaryCtxRetain(&again, device));
        for (long k = 0; k < second; k++)
            launch(NULL);
        CU(cuDevicePrimaryCtxRelease(device)); /* not the last */
        launch(NULL);
    }
    CU(cuDevicePrimaryCtxRelease(device));
}

/* Launches without a pause for so many milliseconds. */
static void flood(void)
{
    double end = now() + (double)first / 1e3;
    CUstream stream;
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    while (now() < end) {
        for (int i = 0; i < 100; i++)
            launch(stream);
        CU(cuStreamSynchronize(stream));
    }
}

/* A step that lasts: launches, and a wait in which, simulated, long time passes. */
static void steps(void)
{
    CUstream stream;
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    launch(stream);
    CU(cuStreamSynchronize(stream));
    for (long i = 0; i < first; i++) {
        for (int k = 0; k < 3; k++)
            launch(stream);
        CU(cuCtxSynchronize());
    }
}

/* Work under way at the end, so many launches. */
static void unfinished(void)
{
    CUstream stream;
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (long i = 0; i < first; i++)
        launch(stream);
}

/* The clocks are tied by the first wait; then work that waits for the device, not for the host. */
static void queued(void)
{
    CUstream stream;
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    launch(stream);
    CU(cuStreamSynchronize(stream));
    rest_us(100000);
    launch(stream);
    CU(cuStreamSynchronize(stream));
    for (long i = 0; i < first; i++)
        launch(stream);
    CU(cuStreamSynchronize(stream));
}

static void killed(void)
{
    CUstream stream;
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (long i = 0; i < first; i++)
        launch(stream);
    /* More than once: none ties the clocks while the reader, which may wait for a processor, is at them. */
    for (int i = 0; i < 100; i++, rest_us(1000))
        CU(cuStreamSynchronize(stream));
    puts("done");
    fflush(stdout);
    for (;;) /* until who reads what is written kills it */
        pause();
}

/* The child has a driver of its own: this process has not touched its own before. */
static void forked(void)
{
    int status;
    if (fork() == 0) {
        context = target_open(0);
        nothing = target_kernel(&module, "nothing");
        unfinished();
        exit(0);
    }
    wait(&status);
    context = target_open(0);
    nothing = target_kernel(&module, "nothing");
    unfinished();
    if (fork() == 0) exit(0);
    wait(&status);
}

/* Work in a handler of exit(): one that runs before the recorder's last look at the device, one behind it,
 * and one when the driver is gone. */
static void more_work(void)
{
    for (long i = 0; i < first; i++)
        cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
}

static void at_exit(void)
{
    atexit(more_work);
    launch(NULL);
    atexit(more_work);
    CU(cuCtxSynchronize());
}

static void pools(void)
{
    CUdeviceptr at[2];
    CUstream stream;
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < 2; i++)
        CU(cuMemAllocAsync(&at[i], 1 << 20, stream));
    CU(cuMemFreeAsync(at[0], stream));
    for (long i = 0; i < first; i++) {
        launch(stream);
        rest_us(1000);
    }
    CU(cuStreamSynchronize(stream));
    rest_us(30000); /* nothing happens: no samples */
}

static const struct {
    const char *name;
    void (*run)(void);
} modes[] = {{"busy", busy},
             {"streams", streams},
             {"per-thread", per_thread},
             {"graphs", graphs},
             {"captured-first", captured_first},
             {"destroyed", destroyed},
             {"reset", reset},
             {"released", released},
             {"flood", flood},
             {"steps", steps},
             {"unfinished", unfinished},
             {"killed", killed},
             {"queued", queued},
             {"pools", pools},
             {"at-exit", at_exit}};

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    first = argc > 2 ? atol(argv[2]) : 1;
    second = argc > 3 ? atol(argv[3]) : 1;
    if (!strcmp(mode, "forked")) {
        forked();
        return 0;
    }
    if (!strcmp(mode, "at-exit")) atexit(more_work);
    context = target_open(0);
    nothing = target_kernel(&module, "nothing");
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (!strcmp(modes[i].name, mode)) {
            modes[i].run();
            return 0;
        }
    return 2;
}
