/* What the recorder adds to an allocation whose stack of 20 frames it takes: cuMemAlloc on the simulated
 * driver under so many calls, the same ones each time, with and without the library, in turns. Frees are made
 * between rounds, and are not measured. A round is smaller than a ring. Programs are started anew some times,
 * and the median counts: where their memory comes to lie makes 30 ns more or less, which stays as it is for
 * the life of a process.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <unistd.h>

#include "tests/bench/child.h"
#include "tests/bench/turns.h"

/* COUNT allocations twice in a round. */
enum { COUNT = 500, CALLS_AROUND = 17, STARTS = 7 };

static int (*allocate)(uint64_t *, size_t), (*release)(uint64_t);
static uint64_t addresses[2 * COUNT];
static int allocated;

/* Under so many calls more than there are; no tail call. */
static __attribute__((noinline)) void allocate_under(unsigned calls)
{
    if (calls > 0)
        allocate_under(calls - 1);
    else
        for (int i = 0; i < COUNT; i++)
            if (allocate(&addresses[allocated++], 4096)) exit(1);
    __asm__ volatile("" ::: "memory");
}

static void run_allocations(void)
{
    allocate_under(CALLS_AROUND);
}

static void free_all(void)
{
    while (allocated > 0)
        if (release(addresses[--allocated])) exit(1);
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
    if (!driver) return 1;
    int (*init)(unsigned) = (int (*)(unsigned))function(driver, "cuInit");
    int (*retain)(void **, int) = (int (*)(void **, int))function(driver, "cuDevicePrimaryCtxRetain");
    int (*current)(void *) = (int (*)(void *))function(driver, "cuCtxSetCurrent");
    allocate = (int (*)(uint64_t *, size_t))function(driver, "cuMemAlloc_v2");
    release = (int (*)(uint64_t))function(driver, "cuMemFree_v2");
    if (init(0) || retain(&context, 0) || current(context)) return 1;
    run_allocations(); /* the recorder's threads begin */
    free_all();
    return turn_serve(run_allocations, COUNT, free_all);
}

int main(int argc, char **argv)
{
    char folder[] = "/tmp/bench_alloc.XXXXXX", bare[2048], recorded[2048], driver[512];
    const char *const commands[] = {bare, recorded};
    struct turn turns[2];
    struct rounds rounds;
    double added[STARTS];
    int starts = 0;
    if (argc > 2 && !strcmp(argv[1], "child")) return child(argv[2]);
    if (!turn_possible()) {
        printf("SKIP alloc_stack20_added one processor\n");
        return 0;
    }
    if (!mkdtemp(folder)) return 1;
    snprintf(driver, sizeof driver, "%s/sim/libcuda.so.1", child_build());
    snprintf(bare, sizeof bare, "exec env -u LD_PRELOAD %s child %s", argv[0], driver);
    snprintf(recorded, sizeof recorded,
             "CGTRACE_STACKS=alloc CGTRACE_STACK_DEPTH=20 CGTRACE_TIMING=off CGTRACE_QUIET=1 "
             "CGTRACE_OUTPUT=%s/%%p.jsonl LD_PRELOAD=%s/libcgtrace.so exec %s child %s",
             folder, child_build(), argv[0], driver);
    for (; starts < STARTS && turns_measure(commands, 2, turns, &rounds); starts++) {
        double of_bare = rounds_ns(&rounds, 0), of_recorded = rounds_ns(&rounds, 1);
        rounds_say(&rounds, "alloc_stack20_added");
        printf("# an allocation: bare %.1f ns, recorded with its stack of 20 frames %.1f ns\n", of_bare,
               of_recorded);
        added[starts] = of_recorded - of_bare;
    }
    if (starts == STARTS) {
        double median = part(added, STARTS, 2);
        /* The goal stands in the place of a floor. */
        printf("BENCH alloc_stack20_added %.1f 400 %.3f <=1 ns\n", median, median / 400);
    }
    snprintf(bare, sizeof bare, "rm -rf %s", folder);
    return system(bare) || starts < STARTS;
}
