/* A loop whose device waits for something, or does not, within the range "train"; the program prints for how
 * long it slept. usage: waits busy | host | input | launch | queue ROUNDS */
#include "target.h"

#include <nvtx3/nvToolsExt.h>
#include <time.h>

enum { SLEEP_NS = 3000000, SPIN_NS = 10000 };

static uint64_t slept;

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void sleep_counted(void)
{
    uint64_t began = now_ns();
    nanosleep(&(struct timespec){.tv_nsec = SLEEP_NS}, NULL);
    slept += now_ns() - began;
}

static void spin(void)
{
    for (uint64_t until = now_ns() + SPIN_NS; now_ns() < until;)
        ;
}

static void launch(CUfunction nothing)
{
    CU(cuLaunchKernel(nothing, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
}

static void turn(const char *mode, CUfunction nothing)
{
    launch(nothing);
    if (strcmp(mode, "launch") == 0) spin();
    if (strcmp(mode, "host") != 0 && strcmp(mode, "input") != 0) return;
    CU(cuCtxSynchronize());
    if (strcmp(mode, "input") == 0) nvtxRangePushA("next_batch");
    sleep_counted();
    if (strcmp(mode, "input") == 0) nvtxRangePop();
}

int main(int argc, char **argv)
{
    if (argc != 3) return 2;
    CUcontext context = target_open(0);
    CUmodule module;
    CUfunction nothing = target_kernel(&module, "nothing");
    (void)context;
    launch(nothing);
    CU(cuCtxSynchronize());
    nvtxRangePushA("train");
    for (int i = 0; i < atoi(argv[2]); i++)
        turn(argv[1], nothing);
    CU(cuCtxSynchronize());
    nvtxRangePop();
    CU(cuModuleUnload(module));
    printf("slept %llu\n", (unsigned long long)slept);
    return 0;
}
