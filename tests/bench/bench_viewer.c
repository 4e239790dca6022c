/* The page of a run of 10 million records (of uneven times, which pack badly): its size against 20 MB, the
 * time to make it against reading the trace alone, both with as many threads as help and both with one, and
 * how it behaves in headless Chromium: time until the timeline is shown, frames a second over 60 pans and
 * zooms, memory of scripts.
 *
 * CGTRACE_BENCH_RECORDS takes another number of records. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "analyzer/trace/trace.h"
#include "tests/bench/child.h"
#include "tests/bench/warm.h"

enum { ROUNDS = 3, ROUNDS_MOST = 25, MEMORY = 1536 << 20 };

static char folder[] = "/tmp/cgtrace-bench-XXXXXX", trace[64], page[64];

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Reads the trace as `view` does; seconds, negative when it failed. threads: 0 for as many as help. */
static double read_trace(unsigned threads)
{
    struct cg_trace *loaded;
    struct cg_error error;
    struct cg_load_options options = {.extras = true, .threads = threads};
    warm_memory(MEMORY);
    double begin = now();
    if (trace_load(trace, &options, &loaded, &error) != 0) {
        fprintf(stderr, "bench_viewer: %s\n", error.message);
        return -1;
    }
    double took = now() - begin;
    trace_free(loaded);
    return took;
}

static double make_page(unsigned threads)
{
    char command[256], option[32] = "";
    if (threads > 0) snprintf(option, sizeof option, "--threads %u", threads);
    snprintf(command, sizeof command, "%s/cg-analyze view %s %s -o %s", child_build(), trace, option, page);
    warm_memory(MEMORY);
    double begin = now();
    return system(command) == 0 ? now() - begin : -1;
}

/* The quickest of each, once both were seen twice, or of ROUNDS_MOST; name: of the row. */
static int measure_making(const char *name, unsigned threads, const char *goal)
{
    struct least reading = {.count = 0}, making = {.count = 0};
    for (int round = 0; round < ROUNDS_MOST; round++) {
        if (round >= ROUNDS && least_settled(&reading) && least_settled(&making)) break;
        double read = read_trace(threads), made = make_page(threads);
        if (read < 0 || made < 0) return 1;
        least_add(&reading, read);
        least_add(&making, made);
    }
    least_say(&making, name);
    least_say(&reading, name);
    printf("BENCH %s %.2f %.2f %.2f %s s\n", name, making.best, reading.best, making.best / reading.best,
           goal);
    return 0;
}

static int measure_size(void)
{
    struct stat found;
    if (stat(page, &found) != 0) return 1;
    printf("BENCH viewer_size %.3f 20 %.3f <=1 MB\n", (double)found.st_size / 1e6,
           (double)found.st_size / 2e7);
    return 0;
}

/* Members of the object that tests/browser/bench.mjs prints. */
static double member(const char *line, const char *name)
{
    const char *at = strstr(line, name);
    return at ? strtod(at + strlen(name) + 2, NULL) : -1;
}

static int measure_browser(void)
{
    char command[256], line[1024] = "";
    snprintf(command, sizeof command, "cd tests/browser && node bench.mjs %s 2>&1", page);
    FILE *pipe = popen(command, "r");
    while (pipe && fgets(line, sizeof line, pipe) && line[0] != '{') {
    }
    if (pipe) pclose(pipe);
    if (line[0] != '{') {
        printf("SKIP viewer_browser no Chromium or no playwright-core (scripts/deps browser)\n");
        return 0;
    }
    double shown = member(line, "ready_ms") / 1e3, frames = member(line, "frames_per_second"),
           heap = member(line, "heap_bytes") / 1e6;
    printf("BENCH viewer_shown %.2f 3 %.2f <=1 s\n", shown, shown / 3);
    printf("BENCH viewer_frames %.1f 30 %.2f >=1 1/s\n", frames, frames / 30);
    printf("BENCH viewer_heap %.0f 500 %.2f <=1 MB\n", heap, heap / 500);
    return 0;
}

int main(void)
{
    const char *records = getenv("CGTRACE_BENCH_RECORDS");
    char command[256];
    if (!mkdtemp(folder)) return 1;
    snprintf(trace, sizeof trace, "%s/t.jsonl", folder);
    snprintf(page, sizeof page, "%s/t.html", folder);
    snprintf(command, sizeof command, "%s/bench-tools/generate-trace noisy %s > %s", child_build(),
             records ? records : "10000000", trace);
    int status = system(command) == 0 ? measure_making("viewer_make", 0, "<=2") : 1;
    if (status == 0) status = measure_making("viewer_make_1_thread", 1, "<=2.5");
    if (status == 0) status = measure_size();
    if (status == 0) status = measure_browser();
    unlink(trace);
    unlink(page);
    rmdir(folder);
    return status;
}
