/* What the recorder adds to a launch: cuLaunchKernel on a driver that does nothing, and on the simulated one,
 * bare, recorded without times, and with the recorder disabled; on the simulated one also timed, against a
 * program that does that itself: it records a pair of events around each launch of a batch, and reads them
 * behind it. Batches smaller than a ring and than the pairs that there are, with time for the writer and the
 * reader between them; the least of the batches' means, since everything else on the machine only adds. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include "tests/bench/child.h"

enum { BATCH = 20000, TIMED_BATCH = 1000, BATCHES = 40, RUNS = 3 };

typedef int launch_fn(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
                      void **, void **);
typedef int retain_fn(void **, int);
typedef int event_fn(void *, void *);

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

typedef int elapsed_fn(float *, void *, void *);
static void *events[TIMED_BATCH][2];

static bool read_events(elapsed_fn *elapsed)
{
    float ms;
    for (int i = 0; i < TIMED_BATCH; i++)
        if (elapsed(&ms, events[i][0], events[i][1])) return false;
    return true;
}

/* how: "" batches for recording; "timed" small ones; "pair" those with events of the program's own. */
static int child(const char *path, const char *how)
{
    void *driver = dlopen(path, RTLD_NOW);
    if (!driver) return 1;
    launch_fn *launch = (launch_fn *)dlsym(driver, "cuLaunchKernel");
    event_fn *record = (event_fn *)dlsym(driver, "cuEventRecord");
    int (*create)(void **, unsigned) = (int (*)(void **, unsigned))dlsym(driver, "cuEventCreate");
    elapsed_fn *elapsed = (elapsed_fn *)dlsym(driver, "cuEventElapsedTime");
    void *kernel = kernel_of(driver);
    bool pair = !strcmp(how, "pair");
    int count = *how ? TIMED_BATCH : BATCH;
    double least = 1e9;
    for (int i = 0; pair && i < 2 * TIMED_BATCH; i++)
        if (create(&events[i / 2][i % 2], 0)) return 1;
    for (int batch = 0; batch < BATCHES; batch++) {
        uint64_t begin = now_ns();
        for (int i = 0; i < count; i++) {
            if (pair && record(events[i][0], NULL)) return 1;
            if (launch(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL)) return 1;
            if (pair && record(events[i][1], NULL)) return 1;
        }
        double mean = (double)(now_ns() - begin) / count;
        if (mean < least) least = mean;
        if (pair && !read_events(elapsed)) return 1;
        usleep(12000);
    }
    printf("NS %.3f\n", least);
    return 0;
}

static double least_of(const char *self, const char *driver, const char *environment, const char *how)
{
    char command[2048];
    double least = -1;
    snprintf(command, sizeof command, "env -u LD_PRELOAD %s %s child %s '%s' 2>&1", environment, self, driver,
             how);
    for (int run = 0; run < RUNS; run++) {
        double ns = child_number(command, "NS ");
        if (ns >= 0 && (least < 0 || ns < least)) least = ns;
    }
    return least;
}

/* Whether each launch of the run whose trace lies in the folder was timed; takes the trace away. */
static bool all_timed(const char *folder)
{
    char command[1024];
    snprintf(
        command, sizeof command,
        "tail -qn 1 %s/*.jsonl | grep -c '\"timed\":%d,\"untimed\":{}' | sed 's/^/WHOLE /'; rm -f %s/*.jsonl",
        folder, BATCHES * TIMED_BATCH, folder);
    return child_number(command, "WHOLE ") == 1;
}

/* On the simulated driver: the costs are its own, what counts is ours against what the two calls cost alone.
 */
static int bench_timed(const char *self, const char *driver, const char *folder)
{
    char environment[1024], command[2048];
    snprintf(environment, sizeof environment,
             "CGTRACE_TIMING=events CGTRACE_QUIET=1 CGTRACE_OUTPUT=%s/%%p.jsonl SIM_KERNEL_US=0 "
             "LD_PRELOAD=%s/libcgtrace.so",
             folder, child_build());
    snprintf(command, sizeof command, "rm -f %s/*.jsonl", folder);
    if (system(command)) return 1;
    double bare = least_of(self, driver, "SIM_KERNEL_US=0", "timed"),
           pair = least_of(self, driver, "SIM_KERNEL_US=0", "pair"), timed = -1;
    /* Where the reader gets no processor its pairs run out, and launches are cheap. */
    snprintf(command, sizeof command, "env -u LD_PRELOAD %s %s child %s timed 2>&1", environment, self,
             driver);
    for (int run = 0, whole = 0; run < 4 * RUNS && whole < RUNS; run++) {
        double ns = child_number(command, "NS ");
        if (!all_timed(folder)) continue;
        whole++;
        if (ns >= 0 && (timed < 0 || ns < timed)) timed = ns;
    }
    if (bare < 0 || pair < 0 || timed < 0) {
        fprintf(stderr, "%s: a child failed, or never had each of its launches timed\n", driver);
        return 1;
    }
    printf("# simulated driver: bare %.1f ns, with a pair of events of its own %.1f ns, timed %.1f ns a "
           "launch\n",
           bare, pair, timed);
    printf("BENCH launch_timed_simulated %.1f %.1f %.3f <=2.5 ns\n", timed - bare, pair - bare,
           (timed - bare) / (pair - bare));
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 3 && !strcmp(argv[1], "child")) return child(argv[2], argv[3]);
    char folder[] = "/tmp/bench_launch.XXXXXX", recorded[1024], disabled[1024], driver[512];
    if (!mkdtemp(folder)) return 1;
    snprintf(recorded, sizeof recorded,
             "CGTRACE_TIMING=off CGTRACE_QUIET=1 CGTRACE_OUTPUT=%s/%%p.jsonl SIM_KERNEL_US=0 "
             "LD_PRELOAD=%s/libcgtrace.so",
             folder, child_build());
    snprintf(disabled, sizeof disabled, "CGTRACE_DISABLE=1 SIM_KERNEL_US=0 LD_PRELOAD=%s/libcgtrace.so",
             child_build());
    static const char *const drivers[][2] = {{"null", "tests/resolve"}, {"simulated", "sim"}};
    int failed = 0;
    for (int i = 0; i < 2; i++) {
        snprintf(driver, sizeof driver, "%s/%s/libcuda.so.1", child_build(), drivers[i][1]);
        double bare = least_of(argv[0], driver, "SIM_KERNEL_US=0", ""),
               with = least_of(argv[0], driver, recorded, ""), off = least_of(argv[0], driver, disabled, "");
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
    failed |= bench_timed(argv[0], driver, folder);
    snprintf(driver, sizeof driver, "rm -rf %s", folder);
    return system(driver) || failed;
}
