/* Reading a trace into columns against other readers of the same file: jansson and simdjson, line by line,
 * parsing alone.
 *
 * Every measurement is a process of its own and the best of several, taken in turn; times are processor time,
 * so that other work on the machine counts as little as it can. Rates are MB of text a second.
 *
 * CGTRACE_BENCH_LARGE=1 adds the trace of 1 GB, which growth and peak memory are held against; without it
 * that is 100 MB. */
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "analyzer/trace/trace.h"

enum { ROUNDS = 3 };

struct measurement {
    double seconds;
    long peak_kib;
};

static const char *build_folder(void)
{
    const char *build = getenv("BUILD");
    return build != NULL ? build : "build";
}

static void fail(const char *what)
{
    fprintf(stderr, "bench_ingest: %s\n", what);
    exit(1);
}

static double processor_time(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* what is measured; each returns its processor time */

static double read_ours(const char *path)
{
    struct cg_trace *trace;
    struct cg_error error;
    double begin = processor_time();
    if (trace_load(path, NULL, &trace, &error) != 0) fail(error.message);
    return processor_time() - begin; /* the process ends: freeing is not reading */
}

static double read_jansson(const char *path)
{
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t size = 0;
    ssize_t length;
    if (file == NULL) fail("jansson: the trace cannot be opened");
    double begin = processor_time();
    while ((length = getline(&line, &size, file)) > 0) {
        json_t *value = json_loadb(line, (size_t)length, JSON_ALLOW_NUL, NULL);
        if (value == NULL) fail("jansson refuses a line");
        json_decref(value);
    }
    return processor_time() - begin;
}

/* A program of its own, since it is C++: prints its time. */
static double read_simdjson(const char *path)
{
    char command[600];
    double seconds = -1;
    snprintf(command, sizeof command, "%s/bench-tools/parse-simdjson '%s'", build_folder(), path);
    FILE *program = popen(command, "r");
    if (program == NULL || fscanf(program, "%lf", &seconds) != 1 || pclose(program) != 0)
        fail("simdjson failed");
    return seconds;
}

static struct measurement measure_once(double (*reader)(const char *), const char *path)
{
    struct measurement result = {0};
    struct rusage usage;
    int ends[2], status;
    if (pipe(ends) != 0) fail("no pipe");
    pid_t child = fork();
    if (child < 0) fail("no process");
    if (child == 0) {
        double seconds = reader(path);
        _exit(write(ends[1], &seconds, sizeof seconds) == (ssize_t)sizeof seconds ? 0 : 1);
    }
    close(ends[1]);
    ssize_t got = read(ends[0], &result.seconds, sizeof result.seconds);
    close(ends[0]);
    if (wait4(child, &status, 0, &usage) != child || status != 0 || got != (ssize_t)sizeof result.seconds)
        fail("a measurement failed");
    result.peak_kib = usage.ru_maxrss;
    return result;
}

/* Peak memory of `cg-analyze overview`, the analysis that everybody begins with. */
static long overview_peak_kib(const char *path)
{
    char tool[512];
    struct rusage usage;
    int status;
    snprintf(tool, sizeof tool, "%s/cg-analyze", build_folder());
    pid_t child = fork();
    if (child < 0) fail("no process");
    if (child == 0) {
        int nowhere = open("/dev/null", O_WRONLY);
        if (dup2(nowhere, STDOUT_FILENO) >= 0) execl(tool, tool, "overview", path, (char *)NULL);
        _exit(127);
    }
    if (wait4(child, &status, 0, &usage) != child || status != 0) fail("cg-analyze overview failed");
    return usage.ru_maxrss;
}

static void keep_best(struct measurement *best, struct measurement other)
{
    if (best->seconds == 0 || other.seconds < best->seconds) *best = other;
}

static uint64_t make_trace(const char *path, unsigned long records)
{
    char command[600];
    struct stat status;
    snprintf(command, sizeof command, "%s/bench-tools/generate-trace mixed %lu > '%s'", build_folder(),
             records, path);
    if (system(command) != 0 || stat(path, &status) != 0) fail("generate-trace failed");
    return (uint64_t)status.st_size;
}

static double rate(uint64_t bytes, struct measurement measurement)
{
    return (double)bytes * 1e-6 / measurement.seconds;
}

static void print_row(const char *name, double ours, double floor, const char *goal, const char *unit)
{
    printf("BENCH %s %.1f %.1f %.3f %s %s\n", name, ours, floor, ours / floor, goal, unit);
}

int main(void)
{
    static const unsigned long medium_records = 490000, small_records = 49000;
    bool large = getenv("CGTRACE_BENCH_LARGE") != NULL;
    unsigned long most_records = large ? 4900000 : medium_records;
    char small[] = "/tmp/cgtrace-ingest-small.XXXXXX", medium[] = "/tmp/cgtrace-ingest-medium.XXXXXX",
         most[] = "/tmp/cgtrace-ingest-large.XXXXXX", tool[512];
    if (mkstemp(small) < 0 || mkstemp(medium) < 0 || mkstemp(most) < 0) fail("no temporary file");
    uint64_t medium_bytes = make_trace(medium, medium_records);
    uint64_t most_bytes = make_trace(most, most_records);
    make_trace(small, small_records);
    snprintf(tool, sizeof tool, "%s/bench-tools/parse-simdjson", build_folder());
    bool simdjson = access(tool, X_OK) == 0;

    struct measurement ours = {0}, ours_small = {0}, ours_most = {0}, jansson = {0}, peer = {0};
    for (int round = 0; round < ROUNDS; round++) {
        keep_best(&ours, measure_once(read_ours, medium));
        if (simdjson) keep_best(&peer, measure_once(read_simdjson, medium));
        keep_best(&jansson, measure_once(read_jansson, medium));
        keep_best(&ours_small, measure_once(read_ours, small));
        keep_best(&ours_most, measure_once(read_ours, most));
    }
    print_row("ingest-against-jansson", rate(medium_bytes, ours), rate(medium_bytes, jansson), ">=20",
              "MB/s");
    if (simdjson)
        print_row("ingest-against-simdjson", rate(medium_bytes, ours), rate(medium_bytes, peer), ">=1.0",
                  "MB/s");
    else
        puts("SKIP ingest-against-simdjson simdjson.h not found when this was built (package "
             "libsimdjson-dev)");
    print_row(large ? "ingest-growth-10MB-to-1GB" : "ingest-growth-10MB-to-100MB",
              ours_most.seconds * 1e9 / (double)most_records,
              ours_small.seconds * 1e9 / (double)small_records, "<=1.3", "ns/record");
    if (large) {
        print_row("ingest-peak-memory-1GB", (double)ours_most.peak_kib * 1024e-6, (double)most_bytes * 1e-6,
                  "<=0.5", "MB");
        print_row("overview-peak-memory-1GB", (double)overview_peak_kib(most) * 1024e-6,
                  (double)most_bytes * 1e-6, "<=0.46", "MB");
    }
    unlink(small);
    unlink(medium);
    unlink(most);
    return 0;
}
