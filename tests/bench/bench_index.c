/* A second question on a large trace, answered from its index: against the time that 4 GB may take, and
 * against the same answer from the trace itself. Processor time, the least of several, taken in turn.
 *
 * The trace has 4 GB; CGTRACE_BENCH_SMALL=1 takes one of 400 MB. */
#include <stdbool.h>
#include <sys/stat.h>

#include "tests/bench/child.h"
#include "tests/bench/sizes.h"

enum { ROUNDS = 3 };
#define SECONDS_FOR_4_GB 1.0

int main(void)
{
    bool whole = bench_full_size("index", 4.2e9);
    char folder[] = "/tmp/bench_index.XXXXXX", trace[64], index[72], program[512], generator[512];
    struct stat status;

    if (!mkdtemp(folder)) return 1;
    snprintf(trace, sizeof trace, "%s/trace.jsonl", folder);
    snprintf(index, sizeof index, "%s.cgx", trace);
    snprintf(program, sizeof program, "%s/cg-analyze", child_build());
    snprintf(generator, sizeof generator, "%s/bench-tools/generate-trace", child_build());
    const char *const generate[] = {generator, "mixed", whole ? "19600000" : "1960000", NULL};
    const char *const make[] = {program, "index", trace, NULL};
    const char *const with[] = {program, "query", trace, "--kind", "slowest-host", NULL};
    const char *const without[] = {program, "query", trace, "--kind", "slowest-host", "--no-index", NULL};
    child_run(generate, trace);
    child_run(make, NULL);
    if (stat(trace, &status) != 0) return 1;
    struct least with_index = {.count = 0}, reading = {.count = 0};
    for (int i = 0; i < ROUNDS; i++) {
        least_add(&with_index, child_run(with, NULL).cpu);
        least_add(&reading, child_run(without, NULL).cpu);
    }
    double ours = with_index.best, plain = reading.best, bytes = (double)status.st_size;
    double allowed = SECONDS_FOR_4_GB * bytes / 4e9;
    printf("BENCH index_second_query %.3g %.3g %.3f <=1 s_of_processor\n", ours, allowed, ours / allowed);
    printf("BENCH index_against_reading %.3g %.3g %.2f >=3 s_of_processor\n", ours, plain, plain / ours);
    unlink(index);
    unlink(trace);
    rmdir(folder);
    return 0;
}
