/* What a process in which regions are selected pays outside of them: launches and copies, which only pass
 * through, on a driver that does nothing; allocations, whose storages are kept track of, and ranges, which
 * are counted, on the simulated one. Each against the same program without the library; the least of the
 * batches' means, since everything else on the machine only adds. */
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include "tests/bench/child.h"

enum { BATCH = 5000, BATCHES = 60, RUNS = 3 };

typedef int launch_fn(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
                      void **, void **);
typedef int copy_fn(uint64_t, uint64_t, size_t, void *);

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void *driver;

static void *function(const char *name)
{
    void *found = dlsym(driver, name);
    if (!found) exit(1);
    return found;
}

static void launches(void)
{
    static launch_fn *launch;
    if (!launch) launch = (launch_fn *)function("cuLaunchKernel");
    for (int i = 0; i < BATCH; i++)
        launch((void *)0x1230, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL);
}

static void copies(void)
{
    static copy_fn *copy;
    if (!copy) copy = (copy_fn *)function("cuMemcpyAsync");
    for (int i = 0; i < BATCH; i++)
        copy(0x1000, 0x2000, 64, NULL);
}

/* A call: an allocation or its free. */
static void allocations(void)
{
    static int (*allocate)(uint64_t *, size_t), (*release)(uint64_t);
    uint64_t address;
    if (!allocate) {
        int (*init)(unsigned) = (int (*)(unsigned))function("cuInit");
        int (*retain)(void **, int) = (int (*)(void **, int))function("cuDevicePrimaryCtxRetain");
        int (*current)(void *) = (int (*)(void *))function("cuCtxSetCurrent");
        void *context;
        if (init(0) || retain(&context, 0) || current(context)) exit(1);
        allocate = (int (*)(uint64_t *, size_t))function("cuMemAlloc_v2");
        release = (int (*)(uint64_t))function("cuMemFree_v2");
    }
    for (int i = 0; i < BATCH / 2; i++)
        if (allocate(&address, 4096) || release(address)) exit(1);
}

/* A call: a push or its pop. */
static void ranges(void)
{
    for (int i = 0; i < BATCH / 2; i++) {
        nvtxRangePushA("forward");
        nvtxRangePop();
    }
}

static int child(const char *path, const char *what)
{
    void (*const run)(void) = !strcmp(what, "launch")  ? launches
                              : !strcmp(what, "copy")  ? copies
                              : !strcmp(what, "range") ? ranges
                                                       : allocations;
    double least = 1e9;

    driver = dlopen(path, RTLD_NOW);
    if (!driver) return 1;
    for (int batch = 0; batch < BATCHES; batch++) {
        uint64_t begin = now_ns();
        run();
        double mean = (double)(now_ns() - begin) / BATCH;
        if (mean < least) least = mean;
        usleep(1000);
    }
    printf("NS %.3f\n", least);
    return 0;
}

static double least_of(const char *self, const char *path, const char *what, const char *environment)
{
    char command[2048];
    double least = -1;
    snprintf(command, sizeof command, "env -u LD_PRELOAD %s %s child %s %s 2>&1", environment, self, path,
             what);
    for (int run = 0; run < RUNS; run++) {
        double ns = child_number(command, "NS ");
        if (ns >= 0 && (least < 0 || ns < least)) least = ns;
    }
    return least;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name, *driver;
        double goal; /* ns a call that it may add: it stands in the place of a floor */
    } rows[] = {{"launch", "tests/resolve", 15},
                {"copy", "tests/resolve", 15},
                {"alloc", "sim", 500},
                {"range", "tests/resolve", 60}};
    char waiting[1024], path[512];
    int failed = 0;

    if (argc > 3 && !strcmp(argv[1], "child")) return child(argv[2], argv[3]);
    snprintf(waiting, sizeof waiting, "CGTRACE_RANGE=nowhere CGTRACE_QUIET=1 LD_PRELOAD=%s/libcgtrace.so",
             child_build());
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(path, sizeof path, "%s/%s/libcuda.so.1", child_build(), rows[i].driver);
        double bare = least_of(argv[0], path, rows[i].name, "A=1"),
               with = least_of(argv[0], path, rows[i].name, waiting);
        if (bare < 0 || with < 0) {
            fprintf(stderr, "%s: a child failed\n", rows[i].name);
            failed = 1;
            continue;
        }
        printf("# %s: bare %.1f ns, outside of a region %.1f ns a call\n", rows[i].name, bare, with);
        printf("BENCH outside_%s %.1f %.0f %.3f <=1 ns\n", rows[i].name, with - bare, rows[i].goal,
               (with - bare) / rows[i].goal);
    }
    return failed;
}
