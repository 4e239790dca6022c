/* What a process in which regions are selected pays outside of them, on a driver that does nothing: launches
 * and copies, which only pass through; allocations, whose storages are kept track of; and ranges, which are
 * counted. Each against the same program without the library, in turns. */
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <stdint.h>
#include <unistd.h>

#include "tests/bench/child.h"
#include "tests/bench/turns.h"

enum { BATCH = 5000 };

typedef int launch_fn(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
                      void **, void **);
typedef int copy_fn(uint64_t, uint64_t, size_t, void *);

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

struct row {
    const char *what;
    double goal; /* ns a call that it may add: it stands in the place of a floor */
};

static int child(const char *path, const char *what)
{
    void (*const run)(void) = !strcmp(what, "launch")  ? launches
                              : !strcmp(what, "copy")  ? copies
                              : !strcmp(what, "range") ? ranges
                                                       : allocations;

    driver = dlopen(path, RTLD_NOW);
    if (!driver) return 1;
    run();
    return turn_serve(run, BATCH, NULL);
}

/* A row: `waiting` is the environment of a program in which regions are selected. False: a child failed. */
static bool measure(const char *self, const struct row *row, const char *waiting)
{
    char bare[2048], with[2048];
    const char *const commands[] = {bare, with};
    struct turn turns[2];
    struct rounds rounds;
    snprintf(bare, sizeof bare, "exec env -u LD_PRELOAD %s child %s/tests/resolve/libcuda.so.1 %s", self,
             child_build(), row->what);
    snprintf(with, sizeof with, "%s exec %s child %s/tests/resolve/libcuda.so.1 %s", waiting, self,
             child_build(), row->what);
    if (!turns_measure(commands, 2, turns, &rounds)) return false;
    double of_bare = rounds_ns(&rounds, 0), of_waiting = rounds_ns(&rounds, 1), added = of_waiting - of_bare;
    rounds_say(&rounds, row->what);
    printf("# %s: bare %.1f ns, outside of a region %.1f ns a call\n", row->what, of_bare, of_waiting);
    printf("BENCH outside_%s %.1f %.0f %.3f <=1 ns\n", row->what, added, row->goal, added / row->goal);
    return true;
}

int main(int argc, char **argv)
{
    static const struct row rows[] = {{"launch", 15}, {"copy", 15}, {"alloc", 150}, {"range", 60}};
    char waiting[1024];
    int failed = 0;

    if (argc > 3 && !strcmp(argv[1], "child")) return child(argv[2], argv[3]);
    if (!turn_possible()) {
        printf("SKIP outside one processor\n");
        return 0;
    }
    snprintf(waiting, sizeof waiting, "CGTRACE_RANGE=nowhere CGTRACE_QUIET=1 LD_PRELOAD=%s/libcgtrace.so",
             child_build());
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!measure(argv[0], &rows[i], waiting)) {
            fprintf(stderr, "%s: a child failed\n", rows[i].what);
            failed = 1;
        }
    return failed;
}
