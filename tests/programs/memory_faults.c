/* Training steps with one planted fault of memory, which the program prints: what it leaked, or what was
 * asked for when memory ran out. usage: memory_faults leak | oom | fragmented | pool | oom-fork | oom-kill */
#include "target.h"

#include <nvtx3/nvToolsExt.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STEPS = 6, PARAMETERS = 4, LAYERS = 3, MIB = 1 << 20 };
enum {
    PARAMETER_BYTES = 3 * MIB,
    ACTIVATION_BYTES = 2 * MIB,
    WORKSPACE_BYTES = 512 << 10,
    LEAK_BYTES = 300 << 10
};

static CUdeviceptr parameters[PARAMETERS], activations[LAYERS];
static long long leaked;

static void load_model(void)
{
    nvtxRangePushA("load_model");
    for (int i = 0; i < PARAMETERS; i++)
        CU(cuMemAlloc(&parameters[i], PARAMETER_BYTES));
    nvtxRangePop();
}

static void forward(int step, bool leak)
{
    CUdeviceptr workspace, lost;
    nvtxRangePushA("forward");
    for (int i = 0; i < LAYERS; i++) {
        CU(cuMemAlloc(&activations[i], ACTIVATION_BYTES));
        nvtxRangePushA("attention");
        CU(cuMemAlloc(&workspace, WORKSPACE_BYTES));
        CU(cuMemFree(workspace));
        nvtxRangePop();
    }
    if (leak && step % 2 == 0) {
        nvtxRangePushA("mask");
        CU(cuMemAlloc(&lost, LEAK_BYTES));
        leaked += LEAK_BYTES;
        nvtxRangePop();
    }
    nvtxRangePop();
}

static void backward(void)
{
    nvtxRangePushA("backward");
    for (int i = LAYERS - 1; i >= 0; i--)
        CU(cuMemFree(activations[i]));
    nvtxRangePop();
}

static void train(bool leak)
{
    for (int step = 0; step < STEPS; step++) {
        nvtxRangePushA("train_step");
        forward(step, leak);
        backward();
        nvtxRangePushA("optimizer");
        nvtxRangePop();
        nvtxRangePop();
    }
}

static void unload_model(void)
{
    for (int i = 0; i < PARAMETERS; i++)
        CU(cuMemFree(parameters[i]));
}

/* In the middle of a step: parameters and activations are alive when more is asked for than there is. */
static void run_out(size_t bytes)
{
    CUdeviceptr large;
    nvtxRangePushA("train_step");
    forward(1, false);
    nvtxRangePushA("logits");
    SHOW(cuMemAlloc(&large, bytes));
    long long alive = (long long)PARAMETERS * PARAMETER_BYTES + (long long)LAYERS * ACTIVATION_BYTES;
    printf("asked %zu alive %lld\n", bytes, alive);
    fflush(stdout);
    nvtxRangePop();
    backward();
    nvtxRangePop();
}

/* A pool that keeps what is freed: what it holds back is missing elsewhere. */
static void pool_keeps(void)
{
    cuuint64_t everything = UINT64_MAX;
    CUdeviceptr kept, freed, large;
    CUmemoryPool pool;
    CUstream stream;
    CU(cuDeviceGetDefaultMemPool(&pool, 0));
    CU(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &everything));
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    nvtxRangePushA("batch");
    CU(cuMemAllocAsync(&kept, 4 * MIB, stream));
    CU(cuMemAllocAsync(&freed, 20 * MIB, stream));
    CU(cuMemFreeAsync(freed, stream));
    CU(cuStreamSynchronize(stream));
    SHOW(cuMemAlloc(&large, 40 * MIB));
    printf("held %d kept %d\n", 20 * MIB, 4 * MIB);
    CU(cuMemFreeAsync(kept, stream));
    CU(cuStreamSynchronize(stream));
    nvtxRangePop();
    CU(cuStreamDestroy(stream));
}

static void in_child(size_t bytes)
{
    pid_t child = fork();
    int status = 0;
    if (child == 0) {
        target_open(0);
        load_model();
        run_out(bytes);
        unload_model();
        exit(0);
    }
    waitpid(child, &status, 0);
    printf("child %d\n", status);
}

int main(int count, char **words)
{
    const char *fault = count > 1 ? words[1] : "";
    size_t bytes = (size_t)48 * MIB;
    if (strcmp(fault, "oom-fork") == 0) {
        in_child(bytes);
        return 0;
    }
    target_open(0);
    load_model();
    if (strcmp(fault, "leak") == 0) {
        train(true);
        printf("leaked %lld\n", leaked);
    } else if (strcmp(fault, "pool") == 0) {
        pool_keeps();
    } else if (strcmp(fault, "fragmented") == 0) {
        run_out((size_t)8 * MIB); /* less than is free: the driver is told to fail this call */
    } else {
        train(false);
        run_out(bytes);
        if (strcmp(fault, "oom-kill") == 0) raise(SIGKILL);
    }
    unload_model();
    return 0;
}
