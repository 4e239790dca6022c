/* What the recorder adds to a launch: cuLaunchKernel on a driver that does nothing, and on the simulated one,
 * bare, recorded without times, and with the recorder disabled; on the simulated one also timed, against a
 * program that does that itself: it records a pair of events around each launch, and reads them behind the
 * round. Each is a program of its own, all of them in turns. A round is smaller than a ring and than the
 * pairs that there are, and behind it there is time for the writer and the reader, which sleep while it runs.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <signal.h>
#include <stdint.h>
#include <unistd.h>

#include "tests/bench/child.h"
#include "tests/bench/turns.h"

/* COUNT launches twice in a round. */
enum { COUNT = 500, TRIES = 8 };

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

typedef int elapsed_fn(float *, void *, void *);

static struct {
    launch_fn *launch;
    event_fn *record;
    elapsed_fn *elapsed;
    void *kernel;
    void *events[2 * COUNT][2];
    int next;
} driver;

static void run_launches(void)
{
    for (int i = 0; i < COUNT; i++)
        if (driver.launch(driver.kernel, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL)) exit(1);
}

static void run_pairs(void)
{
    for (int i = 0; i < COUNT; i++) {
        void **events = driver.events[driver.next++];
        if (driver.record(events[0], NULL) ||
            driver.launch(driver.kernel, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL) ||
            driver.record(events[1], NULL))
            exit(1);
    }
}

static void read_pairs(void)
{
    float ms;
    while (driver.next) {
        void **events = driver.events[--driver.next];
        if (driver.elapsed(&ms, events[0], events[1])) exit(1);
    }
}

/* how: "launch", or "pair" with events of the program's own. */
static int child(const char *path, const char *how)
{
    void *library = dlopen(path, RTLD_NOW);
    if (!library) return 1;
    driver.launch = (launch_fn *)dlsym(library, "cuLaunchKernel");
    driver.kernel = kernel_of(library);
    if (!strcmp(how, "launch")) {
        run_launches(); /* the recorder's threads begin */
        return turn_serve(run_launches, COUNT, NULL);
    }
    int (*create)(void **, unsigned) = (int (*)(void **, unsigned))dlsym(library, "cuEventCreate");
    driver.record = (event_fn *)dlsym(library, "cuEventRecord");
    driver.elapsed = (elapsed_fn *)dlsym(library, "cuEventElapsedTime");
    for (int i = 0; i < 2 * COUNT; i++)
        if (create(&driver.events[i][0], 0) || create(&driver.events[i][1], 0)) return 1;
    return turn_serve(run_pairs, COUNT, read_pairs);
}

/* The three programs of a comparison: what is in their environment, and child()'s how. */
struct programs {
    const char *environment[ROUNDS_THINGS], *how[ROUNDS_THINGS];
};

static bool measure(const char *self, const char *path, const struct programs *programs, struct turn *turns,
                    struct rounds *rounds)
{
    char commands[ROUNDS_THINGS][2048];
    const char *list[ROUNDS_THINGS];
    for (int i = 0; i < ROUNDS_THINGS; i++) {
        snprintf(commands[i], sizeof commands[i], "exec env -u LD_PRELOAD SIM_KERNEL_US=0 %s %s child %s %s",
                 programs->environment[i], self, path, programs->how[i]);
        list[i] = commands[i];
    }
    return turns_measure(list, ROUNDS_THINGS, turns, rounds);
}

/* Whether each launch of the child whose trace lies in the folder was timed; takes the trace away. */
static bool all_timed(const char *folder, const struct turn *turn)
{
    char command[1024];
    snprintf(
        command, sizeof command,
        "tail -qn 1 %s/*.jsonl | grep -c '\"timed\":%d,\"untimed\":{}' | sed 's/^/WHOLE /'; rm -f %s/*.jsonl",
        folder, (1 + 2 * turn->rounds) * COUNT, folder);
    return child_number(command, "WHOLE ") == 1;
}

/* On the simulated driver: the costs are its own, what counts is ours against what the two calls cost alone.
 */
static bool bench_timed(const char *self, const char *path, const char *folder)
{
    char timed[1024];
    snprintf(timed, sizeof timed,
             "CGTRACE_TIMING=events CGTRACE_QUIET=1 CGTRACE_OUTPUT=%s/%%p.jsonl LD_PRELOAD=%s/libcgtrace.so",
             folder, child_build());
    const struct programs programs = {{"", "", timed}, {"launch", "pair", "launch"}};
    struct turn turns[ROUNDS_THINGS];
    struct rounds rounds;
    bool whole = false;
    /* Where the reader gets no processor its pairs run out, and launches are cheap. */
    for (int tries = 0; !whole && tries < TRIES; tries++) {
        if (!measure(self, path, &programs, turns, &rounds)) return false;
        whole = all_timed(folder, &turns[2]);
    }
    if (!whole) {
        fprintf(stderr, "%s: never had each of its launches timed\n", path);
        return false;
    }
    double bare = rounds_ns(&rounds, 0), pair = rounds_ns(&rounds, 1) - bare,
           ours = rounds_ns(&rounds, 2) - bare;
    rounds_say(&rounds, "launch_timed_simulated");
    printf("# simulated driver: bare %.1f ns, with a pair of events of its own %.1f ns, timed %.1f ns a "
           "launch\n",
           bare, bare + pair, bare + ours);
    printf("BENCH launch_timed_simulated %.1f %.1f %.3f <=2 ns\n", ours, pair, ours / pair);
    return true;
}

static bool bench_untimed(const char *self, const char *path, const char *name, const char *folder)
{
    char recorded[1024], disabled[1024];
    snprintf(recorded, sizeof recorded,
             "CGTRACE_TIMING=off CGTRACE_QUIET=1 CGTRACE_OUTPUT=%s/%%p.jsonl LD_PRELOAD=%s/libcgtrace.so",
             folder, child_build());
    snprintf(disabled, sizeof disabled, "CGTRACE_DISABLE=1 LD_PRELOAD=%s/libcgtrace.so", child_build());
    const struct programs programs = {{"", recorded, disabled}, {"launch", "launch", "launch"}};
    struct turn turns[ROUNDS_THINGS];
    struct rounds rounds;
    if (!measure(self, path, &programs, turns, &rounds)) return false;
    double bare = rounds_ns(&rounds, 0), with = rounds_ns(&rounds, 1), off = rounds_ns(&rounds, 2);
    rounds_say(&rounds, name);
    printf("# %s driver: bare %.1f ns, recorded %.1f ns, disabled %.1f ns a launch\n", name, bare, with, off);
    /* The goals are 60 ns and 5 ns: they stand in the place of a floor. */
    printf("BENCH launch_added_%s %.1f 60 %.3f <=1 ns\n", name, with - bare, (with - bare) / 60);
    printf("BENCH launch_disabled_%s %.1f 5 %.3f <=1 ns\n", name, off - bare, (off - bare) / 5);
    return true;
}

int main(int argc, char **argv)
{
    if (argc > 3 && !strcmp(argv[1], "child")) return child(argv[2], argv[3]);
    if (!turn_possible()) {
        printf("SKIP launch one processor\n");
        return 0;
    }
    char folder[] = "/tmp/bench_launch.XXXXXX", path[512];
    if (!mkdtemp(folder)) return 1;
    static const char *const drivers[][2] = {{"null", "tests/resolve"}, {"simulated", "sim"}};
    bool good = true;
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s/libcuda.so.1", child_build(), drivers[i][1]);
        good &= bench_untimed(argv[0], path, drivers[i][0], folder);
    }
    snprintf(path, sizeof path, "rm -f %s/*.jsonl", folder);
    good &= system(path) == 0;
    snprintf(path, sizeof path, "%s/sim/libcuda.so.1", child_build());
    good &= bench_timed(argv[0], path, folder);
    snprintf(path, sizeof path, "rm -rf %s", folder);
    return system(path) || !good;
}
