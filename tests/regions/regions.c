/* A program whose regions are captured, in one way. usage: regions WAY [NUMBER] */
#include <cuda.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CU(call)                                                                                             \
    do {                                                                                                     \
        CUresult result_ = (call);                                                                           \
        if (result_) {                                                                                       \
            fprintf(stderr, "%s: %d\n", #call, (int)result_);                                                \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry nothing() { ret; }\n";
static CUcontext context;
static CUfunction kernel;
static int number;
static sem_t ready, over;

static void open_device(void)
{
    CUmodule module;

    CU(cuInit(0));
    CU(cuDevicePrimaryCtxRetain(&context, 0));
    CU(cuCtxSetCurrent(context));
    CU(cuModuleLoadData(&module, ptx));
    CU(cuModuleGetFunction(&kernel, module, "nothing"));
}

static void launch(CUstream stream)
{
    CU(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
}

static CUdeviceptr allocate(size_t bytes)
{
    CUdeviceptr pointer;

    CU(cuMemAlloc(&pointer, bytes));
    return pointer;
}

static int push_in(nvtxDomainHandle_t domain, const char *name)
{
    nvtxEventAttributes_t event = {.version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE};

    event.messageType = NVTX_MESSAGE_TYPE_ASCII;
    event.message.ascii = name;
    return nvtxDomainRangePushEx(domain, &event);
}

static void work(const char *name, int launches)
{
    nvtxRangePushA(name);
    for (int i = 0; i < launches; i++)
        launch(NULL);
    nvtxRangePop();
}

/* Steps of a training run: two storages of the model, one of a step's activations. */
static void training(void)
{
    CUdeviceptr model[2] = {allocate(4096), allocate(512)};

    nvtxRangePushA("epoch");
    for (int step = 0; step < (number ? number : 24); step++) {
        nvtxRangePushA("train_step");
        nvtxRangePushA("forward");
        CUdeviceptr activations = allocate(1024);
        launch(NULL);
        launch(NULL);
        nvtxRangePop();
        work("backward", 3);
        work("optimizer", 1);
        CU(cuMemFree(activations));
        nvtxRangePop();
    }
    nvtxRangePop();
    CU(cuMemFree(model[0]));
}

static void *beside(void *name)
{
    CU(cuCtxSetCurrent(context));
    work(name, 1);
    return NULL;
}

/* Four occurrences: one around another one and around one of another thread, and one behind. */
static void nested(void)
{
    pthread_t thread;

    nvtxRangePushA("step");
    work("step", 2);
    pthread_create(&thread, NULL, beside, "step");
    pthread_join(thread, NULL);
    nvtxRangePop();
    work("step", 4);
}

static void *captured_there(void *unused)
{
    CU(cuCtxSetCurrent(context));
    sem_wait(&ready);
    work("step", 3);
    sem_post(&over);
    return unused;
}

/* The region is another thread's; this one has two ranges open, and does nothing. */
static void other_thread(void)
{
    pthread_t thread;

    pthread_create(&thread, NULL, captured_there, NULL);
    nvtxRangePushA("waiting");
    nvtxRangePushA("forward");
    sem_post(&ready);
    sem_wait(&over);
    nvtxRangePop();
    nvtxRangePop();
    pthread_join(thread, NULL);
}

static void *joins_in(void *unused)
{
    CU(cuCtxSetCurrent(context));
    nvtxRangePushA("open before");
    launch(NULL);
    sem_post(&ready);
    sem_wait(&over);
    launch(NULL);
    nvtxRangePushA("open behind");
    nvtxRangePop();
    nvtxRangePop();
    nvtxRangePushA("not ended");
    sem_post(&ready);
    sem_wait(&over);
    nvtxRangePop();
    return unused;
}

/* Another thread's ranges are cut at both borders. */
static void clipped(void)
{
    pthread_t thread;

    pthread_create(&thread, NULL, joins_in, NULL);
    sem_wait(&ready);
    nvtxRangePushA("step");
    sem_post(&over);
    sem_wait(&ready);
    nvtxRangePop();
    sem_post(&over);
    pthread_join(thread, NULL);
}

/* Ranges around the region, one of a domain that ends first, and one that outlives the region. */
static void enclosing(void)
{
    nvtxDomainHandle_t domain = nvtxDomainCreateA("library");

    nvtxRangePushA("outermost");
    push_in(domain, "of the library");
    nvtxRangePushA("inner");
    nvtxRangePushA("step");
    launch(NULL);
    push_in(domain, "longer");
    launch(NULL);
    printf("%d\n", nvtxDomainRangePop(domain)); /* longer */
    printf("%d\n", nvtxDomainRangePop(domain)); /* of the library, from below */
    push_in(domain, "outlives");
    printf("%d\n", nvtxRangePop()); /* step */
    launch(NULL);
    printf("%d\n", nvtxDomainRangePop(domain)); /* outlives */
    printf("%d\n", nvtxRangePop());
    printf("%d\n", nvtxRangePop());
    printf("%d\n", nvtxRangePop() < 0);
}

static nvtxRangeId_t started_range;

static void *end_there(void *unused)
{
    nvtxRangeEnd(started_range);
    return unused;
}

/* Ranges that were started: one is the region, and ends on another thread; one is open before, one behind. */
static void started(void)
{
    pthread_t thread;
    nvtxRangeId_t before = nvtxRangeStartA("before");

    nvtxRangePushA("around");
    started_range = nvtxRangeStartA("step");
    nvtxRangeId_t behind = nvtxRangeStartA("behind");
    launch(NULL);
    nvtxRangePushA("pushed");
    launch(NULL);
    nvtxRangeEnd(before);
    pthread_create(&thread, NULL, end_there, NULL);
    pthread_join(thread, NULL);
    nvtxRangePop();
    nvtxRangePop();
    nvtxRangeEnd(behind);
    started_range = nvtxRangeStartA("step");
    launch(NULL);
    nvtxRangeEnd(started_range);
}

/* Two steps: storages that are freed in the first, between, in the second, and never. */
static void storages(void)
{
    CUdeviceptr in_first = allocate(100), between = allocate(200), in_second = allocate(300);
    CUcontext other;

    allocate(400);
    nvtxRangePushA("step");
    CU(cuMemFree(in_first));
    CUdeviceptr made = allocate(500);
    nvtxRangePop();
    CU(cuMemFree(between));
    CU(cuCtxCreate(&other, NULL, 0, 0)); /* its storage ends with it, outside */
    allocate(600);
    CU(cuCtxDestroy(other));
    CU(cuCtxSetCurrent(context));
    nvtxRangePushA("step");
    CU(cuMemFree(in_second));
    CU(cuMemFree(made));
    nvtxRangePop();
}

static CUstream slow;
static sem_t slow_ends;
static _Atomic pid_t waiting; /* the thread, once its next wait is the one inside the call */

static void *waits(void *unused)
{
    CU(cuCtxSetCurrent(context));
    CU(cuStreamSynchronize(slow)); /* so that it has joined */
    sem_post(&ready);
    sem_wait(&over);
    atomic_store(&waiting, gettid());
    CU(cuStreamSynchronize(slow));
    return unused;
}

static void CUDA_CB holds(void *unused)
{
    (void)unused;
    sem_wait(&slow_ends);
}

/* Whether the kernel has the thread wait; its state stands behind its name, which is in brackets. */
static bool sleeps(pid_t thread)
{
    char path[64], line[256] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)thread);
    FILE *file = fopen(path, "r");
    if (!file || !fgets(line, sizeof line, file)) exit(1);
    fclose(file);
    const char *state = strrchr(line, ')');
    return state && state[2] == 'S';
}

/* Another thread is inside a call when the region ends, and comes back in the next one. */
static void straddling(void)
{
    pthread_t thread;

    sem_init(&slow_ends, 0, 0);
    CU(cuStreamCreate(&slow, CU_STREAM_NON_BLOCKING));
    nvtxRangePushA("step");
    pthread_create(&thread, NULL, waits, NULL);
    sem_wait(&ready);
    CU(cuLaunchHostFunc(slow, holds, NULL));
    sem_post(&over);
    while (!atomic_load(&waiting) || !sleeps(waiting))
        usleep(1000);
    nvtxRangePop();
    nvtxRangePushA("step");
    launch(NULL);
    sem_post(&slow_ends);
    pthread_join(thread, NULL);
    nvtxRangePop();
}

static void killed(void)
{
    allocate(100);
    nvtxRangePushA("around");
    nvtxRangePushA("step");
    nvtxRangePushA("inside");
    launch(NULL);
    raise(SIGKILL);
}

static void exits(void)
{
    nvtxRangePushA("step");
    nvtxRangePushA("inside");
    launch(NULL);
    exit(5);
}

/* The child's first range is the third occurrence. */
static void forked(void)
{
    work("step", 1);
    nvtxRangePushA("step");
    launch(NULL);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        nvtxRangePop(); /* the parent's */
        nvtxRangePushA("step");
        nvtxMarkA("in the child");
        nvtxRangePop();
        exit(0);
    }
    waitpid(child, NULL, 0);
    nvtxRangePop();
}

static void *ends_inside(void *unused)
{
    CU(cuCtxSetCurrent(context));
    nvtxRangePushA("step");
    nvtxRangePushA("inside");
    launch(NULL);
    return unused;
}

static void thread_ends(void)
{
    pthread_t thread;

    pthread_create(&thread, NULL, ends_inside, NULL);
    pthread_join(thread, NULL);
    work("step", 1);
}

/* A stream is being captured when the region begins: there is no waiting for the device then. */
static void stream_capture(void)
{
    CUstream stream;
    CUgraph graph;

    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    nvtxRangePushA("step");
    launch(stream);
    nvtxRangePop();
    CU(cuStreamEndCapture(stream, &graph));
    CU(cuGraphDestroy(graph));
    work("step", 1);
}

static void CUDA_CB is_region(void *unused)
{
    nvtxRangePushA("step");
    nvtxRangePop();
    (void)unused;
}

/* A host function whose range is the region: waiting for the device there would be waiting for itself. */
static void host_function(void)
{
    CUstream stream;

    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU(cuLaunchHostFunc(stream, is_region, NULL));
    CU(cuStreamSynchronize(stream));
    work("step", 1);
}

static void domains(void)
{
    nvtxDomainHandle_t domain = nvtxDomainCreateA("library");

    work("step", 1);
    push_in(domain, "step");
    launch(NULL);
    launch(NULL);
    nvtxDomainRangePop(domain);
    push_in(domain, "other");
    nvtxDomainRangePop(domain);
}

static void *last(void *unused)
{
    usleep(100000);
    return unused;
}

/* Ends with its last thread, which ends after the region. */
static void last_thread(void)
{
    pthread_t thread;

    work("step", 5);
    pthread_create(&thread, NULL, last, NULL);
    pthread_exit(NULL);
}

static void nothing(void)
{
    work("other", 1);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } ways[] = {{"training", training},
                {"nested", nested},
                {"other-thread", other_thread},
                {"clipped", clipped},
                {"enclosing", enclosing},
                {"started", started},
                {"storages", storages},
                {"straddling", straddling},
                {"killed", killed},
                {"exits", exits},
                {"forked", forked},
                {"thread-ends", thread_ends},
                {"capture", stream_capture},
                {"host-function", host_function},
                {"domains", domains},
                {"last-thread", last_thread},
                {"nothing", nothing}};

    number = argc > 2 ? atoi(argv[2]) : 0;
    sem_init(&ready, 0, 0);
    sem_init(&over, 0, 0);
    for (unsigned i = 0; argc > 1 && i < sizeof ways / sizeof *ways; i++)
        if (strcmp(ways[i].name, argv[1]) == 0) {
            open_device();
            ways[i].run();
            return 0;
        }
    fprintf(stderr, "usage: regions WAY [NUMBER]\n");
    return 2;
}
