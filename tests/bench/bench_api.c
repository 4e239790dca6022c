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
#include "tests/bench/pairs.h"

enum { CALLS = 100000 };

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

static int child(void)
{
    if (!open_floor() || cgtrace_scalar("recorded?", 0) != CGTRACE_OK) return 1;
    compare("api.span", run_spans, "<=1.25");
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
