/* What explicit spans and numbers cost a program that is recorded: a span's begin and end through cgtrace.h
 * against two bare slots of a prefaulted shared mapping with one clock read each, in turns, the writer
 * running. And what they cost one that is not: instructions of a call that finds no library. The program is
 * this one, started again. */
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "common/capture.h"
#include "preload/cgtrace.h"
#include "tests/bench/child.h"

enum { ROUNDS = 41, PAIRS = 4096, SLOTS = 1 << 16, CALLS = 100000 };

static double now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static uint64_t tick(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    return (uint64_t)now_ns();
#endif
}

static struct cap_record *slots;
static _Atomic uint64_t *head;
static uint64_t at;

static void run_floor(void)
{
    for (int i = 0; i < 2 * PAIRS; i++) {
        struct cap_record *slot = &slots[at & (SLOTS - 1)];
        uint64_t begin = tick();

        memset(slot, 0, sizeof *slot);
        slot->begin = begin;
        atomic_store_explicit(head, ++at, memory_order_release);
    }
}

static void run_spans(void)
{
    for (int i = 0; i < PAIRS; i++)
        cgtrace_span_end(cgtrace_span_begin("forward"));
}

static void run_scalars(void)
{
    for (int i = 0; i < 2 * PAIRS; i++)
        cgtrace_scalar("loss", i);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* records: of each, two for each of PAIRS. */
static void compare(const char *name, void (*ours)(void), const char *goal)
{
    const struct timespec pause = {0, 25 * 1000000};
    double of_ours[ROUNDS], of_floor[ROUNDS];

    for (int i = 0; i < ROUNDS; i++) {
        double begin = now_ns();
        run_floor();
        double middle = now_ns();
        ours();
        of_floor[i] = (middle - begin) / PAIRS;
        of_ours[i] = (now_ns() - middle) / PAIRS;
        nanosleep(&pause, NULL);
    }
    qsort(of_ours, ROUNDS, sizeof *of_ours, ascending);
    qsort(of_floor, ROUNDS, sizeof *of_floor, ascending);
    double a = of_ours[ROUNDS / 2], b = of_floor[ROUNDS / 2];
    printf("BENCH %s %.2f %.2f %.3f %s ns\n", name, a, b, a / b, goal);
}

static int child(void)
{
    char *map = mmap(NULL, (SLOTS + 64) * CAP_SLOT, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

    if (map == MAP_FAILED || cgtrace_scalar("recorded?", 0) != CGTRACE_OK) return 1;
    head = (_Atomic uint64_t *)map;
    slots = (struct cap_record *)(map + 64 * CAP_SLOT);
    compare("api.span", run_spans, "<=1.5");
    compare("api.scalar", run_scalars, "<=3");
    return 0;
}

/* ---- without the library ---- */

static int call_often(const char *what, long count)
{
    if (strcmp(what, "spans") == 0)
        for (long i = 0; i < count; i++)
            cgtrace_span_end(cgtrace_span_begin("forward"));
    else
        for (long i = 0; i < count; i++)
            __asm__ volatile("" : : : "memory");
    return 0;
}

/* Instructions that this program executes for so many calls. */
static double instructions(const char *self, const char *what, long count)
{
    char command[1024];

    snprintf(
        command, sizeof command,
        "env -u LD_PRELOAD valgrind --tool=callgrind --callgrind-out-file=/dev/null %s often %s %ld 2>&1",
        self, what, count);
    return child_number(command, "Collected : ");
}

static int absent(const char *self)
{
    double of[2];
    static const char *const what[] = {"nothing", "spans"};

    for (int i = 0; i < 2; i++) {
        double once = instructions(self, what[i], CALLS), twice = instructions(self, what[i], 2 * CALLS);

        if (once < 0 || twice < 0) {
            puts("SKIP api.absent no valgrind to count instructions with");
            return 0;
        }
        of[i] = (twice - once) / CALLS;
    }
    double one = (of[1] - of[0]) / 2;
    printf("BENCH api.absent %.2f 8 %.3f <=1 instructions/call\n", one, one / 8);
    return 0;
}

int main(int argc, char **argv)
{
    char folder[] = "/tmp/bench_api.XXXXXX", command[2048];

    if (argc > 1 && !strcmp(argv[1], "child")) return child();
    if (argc > 3 && !strcmp(argv[1], "often")) return call_often(argv[2], atol(argv[3]));
    if (!mkdtemp(folder)) return 1;
    snprintf(command, sizeof command,
             "CGTRACE_QUIET=1 CGTRACE_OUTPUT=%s/trace.jsonl LD_PRELOAD=%s/libcgtrace.so %s child", folder,
             child_build(), argv[0]);
    int failed = system(command);
    fflush(stdout);
    failed |= absent(argv[0]);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) || failed;
}
