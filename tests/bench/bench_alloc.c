/* What the recorder adds to an allocation whose stack of 20 frames it takes: cuMemAlloc on the simulated
 * driver under so many calls, with and without the library. Frees are made between batches, and are not
 * measured. The least of the batches' means, since everything else on the machine only adds. */
#include <dlfcn.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include "tests/bench/child.h"

enum { BATCH = 2000, BATCHES = 40, RUNS = 3, CALLS_AROUND = 17 };

typedef int allocate_fn(uint64_t *, size_t);
typedef int release_fn(uint64_t);

static uint64_t addresses[BATCH];

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Nanoseconds for one allocation under so many calls more than there are; no tail call. */
static __attribute__((noinline)) double batch(unsigned calls, allocate_fn *allocate)
{
    double ns;
    if (calls > 0) {
        ns = batch(calls - 1, allocate);
    } else {
        double begin = now_ns();
        for (int i = 0; i < BATCH; i++)
            if (allocate(&addresses[i], 4096)) exit(1);
        ns = (now_ns() - begin) / BATCH;
    }
    __asm__ volatile("" ::: "memory");
    return ns;
}

static void *function(void *driver, const char *name)
{
    void *found = dlsym(driver, name);
    if (!found) exit(1);
    return found;
}

static int child(const char *path)
{
    void *driver = dlopen(path, RTLD_NOW), *context;
    double least = 1e9;
    if (!driver) return 1;
    int (*init)(unsigned) = (int (*)(unsigned))function(driver, "cuInit");
    int (*retain)(void **, int) = (int (*)(void **, int))function(driver, "cuDevicePrimaryCtxRetain");
    int (*current)(void *) = (int (*)(void *))function(driver, "cuCtxSetCurrent");
    allocate_fn *allocate = (allocate_fn *)function(driver, "cuMemAlloc_v2");
    release_fn *release = (release_fn *)function(driver, "cuMemFree_v2");
    if (init(0) || retain(&context, 0) || current(context)) return 1;
    for (int i = 0; i < BATCHES; i++) {
        double ns = batch(CALLS_AROUND, allocate);
        if (ns < least) least = ns;
        for (int j = 0; j < BATCH; j++)
            if (release(addresses[j])) return 1;
        usleep(10000);
    }
    printf("NS %.3f\n", least);
    return 0;
}

int main(int argc, char **argv)
{
    char folder[] = "/tmp/bench_alloc.XXXXXX", bare[2048], recorded[2048], driver[512];
    double of_bare = -1, of_recorded = -1;
    if (argc > 2 && !strcmp(argv[1], "child")) return child(argv[2]);
    if (!mkdtemp(folder)) return 1;
    snprintf(driver, sizeof driver, "%s/sim/libcuda.so.1", child_build());
    snprintf(bare, sizeof bare, "env -u LD_PRELOAD %s child %s", argv[0], driver);
    snprintf(recorded, sizeof recorded,
             "CGTRACE_STACKS=alloc CGTRACE_STACK_DEPTH=20 CGTRACE_TIMING=off CGTRACE_QUIET=1 "
             "CGTRACE_OUTPUT=%s/%%p.jsonl LD_PRELOAD=%s/libcgtrace.so %s child %s",
             folder, child_build(), argv[0], driver);
    for (int run = 0; run < RUNS; run++) {
        double a = child_number(bare, "NS "), b = child_number(recorded, "NS ");
        if (a < 0 || b < 0) return 1;
        if (of_bare < 0 || a < of_bare) of_bare = a;
        if (of_recorded < 0 || b < of_recorded) of_recorded = b;
    }
    printf("# an allocation: bare %.1f ns, recorded with its stack of 20 frames %.1f ns\n", of_bare,
           of_recorded);
    /* The goal stands in the place of a floor. */
    printf("BENCH alloc_stack20_added %.1f 400 %.3f <=1 ns\n", of_recorded - of_bare,
           (of_recorded - of_bare) / 400);
    snprintf(bare, sizeof bare, "rm -rf %s", folder);
    return system(bare);
}
