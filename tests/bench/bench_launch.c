/* What the recorder adds to a launch: cuLaunchKernel on a driver that does nothing, and on the simulated one,
 * bare, recorded, and with the recorder disabled. Batches smaller than a ring, with time for the writer
 * between them; the least of the batches' means, since everything else on the machine only adds. */
#include <dlfcn.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include "tests/bench/child.h"

enum { BATCH = 20000, BATCHES = 40, RUNS = 3 };

typedef int launch_fn(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
                      void **, void **);
typedef int retain_fn(void **, int);

/* A kernel to launch, where the driver wants a true one. */
static void *kernel_of(void *driver)
{
    static const char ptx[] =
        ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry nothing() { ret; }\n";
    int (*init)(unsigned) = (int (*)(unsigned))dlsym(driver, "cuInit");
    retain_fn *retain = (retain_fn *)dlsym(driver, "cuDevicePrimaryCtxRetain");
    int (*current)(void *) = (int (*)(void *))dlsym(driver, "cuCtxSetCurrent");
    int (*load)(void **, const void *) = (int (*)(void **, const void *))dlsym(driver, "cuModuleLoadData");
    int (*function)(void **, void *, const char *) =
        (int (*)(void **, void *, const char *))dlsym(driver, "cuModuleGetFunction");
    void *context, *module, *kernel = (void *)0x1230;
    if (!retain) return kernel;
    if (init(0) || retain(&context, 0) || current(context) || load(&module, ptx) ||
        function(&kernel, module, "nothing"))
        exit(1);
    return kernel;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int child(const char *path)
{
    void *driver = dlopen(path, RTLD_NOW);
    if (!driver) return 1;
    launch_fn *launch = (launch_fn *)dlsym(driver, "cuLaunchKernel");
    void *kernel = kernel_of(driver);
    double least = 1e9;
    for (int batch = 0; batch < BATCHES; batch++) {
        uint64_t begin = now_ns();
        for (int i = 0; i < BATCH; i++)
            if (launch(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL)) return 1;
        double mean = (double)(now_ns() - begin) / BATCH;
        if (mean < least) least = mean;
        usleep(12000);
    }
    printf("NS %.3f\n", least);
    return 0;
}

static double least_of(const char *self, const char *driver, const char *environment)
{
    char command[2048];
    double least = -1;
    snprintf(command, sizeof command, "env -u LD_PRELOAD %s %s child %s 2>&1", environment, self, driver);
    for (int run = 0; run < RUNS; run++) {
        double ns = child_number(command, "NS ");
        if (ns >= 0 && (least < 0 || ns < least)) least = ns;
    }
    return least;
}

int main(int argc, char **argv)
{
    if (argc > 2 && !strcmp(argv[1], "child")) return child(argv[2]);
    char folder[] = "/tmp/bench_launch.XXXXXX", recorded[1024], disabled[1024], driver[512];
    if (!mkdtemp(folder)) return 1;
    snprintf(recorded, sizeof recorded,
             "CGTRACE_QUIET=1 CGTRACE_OUTPUT=%s/%%p.jsonl SIM_KERNEL_US=0 LD_PRELOAD=%s/libcgtrace.so",
             folder, child_build());
    snprintf(disabled, sizeof disabled, "CGTRACE_DISABLE=1 SIM_KERNEL_US=0 LD_PRELOAD=%s/libcgtrace.so",
             child_build());
    static const char *const drivers[][2] = {{"null", "tests/resolve"}, {"simulated", "sim"}};
    int failed = 0;
    for (int i = 0; i < 2; i++) {
        snprintf(driver, sizeof driver, "%s/%s/libcuda.so.1", child_build(), drivers[i][1]);
        double bare = least_of(argv[0], driver, "SIM_KERNEL_US=0"),
               with = least_of(argv[0], driver, recorded), off = least_of(argv[0], driver, disabled);
        if (bare < 0 || with < 0 || off < 0) {
            fprintf(stderr, "%s: a child failed\n", driver);
            failed = 1;
            continue;
        }
        printf("# %s driver: bare %.1f ns, recorded %.1f ns, disabled %.1f ns a launch\n", drivers[i][0],
               bare, with, off);
        /* The goals are 60 ns and 5 ns: they stand in the place of a floor. */
        printf("BENCH launch_added_%s %.1f 60 %.3f <=1 ns\n", drivers[i][0], with - bare, (with - bare) / 60);
        printf("BENCH launch_disabled_%s %.1f 5 %.3f <=1 ns\n", drivers[i][0], off - bare, (off - bare) / 5);
    }
    snprintf(driver, sizeof driver, "rm -rf %s", folder);
    return system(driver) || failed;
}
