/* Reading a trace into columns against other readers of the same file: jansson, simdjson and yyjson, line by
 * line, parsing alone; two threads against one; overview against a scan for line feeds.
 *
 * Every measurement is a process of its own and the best of several, taken in turn. Times are processor time,
 * so that other work on the machine counts as little as it can. What has one thread begins on a processor
 * whose core nobody shares. Rates are MB of text a second.
 *
 * Two threads are held against one by wall time, each at its best of many: where other guests share the
 * machine, both cores are seldom ours alone (of 40 times three took 0.31 to 0.32 s, most 0.40 to 0.48; one
 * thread mostly 0.52).
 *
 * The trace has 1 GB, and growth goes on to 4 GB; with CGTRACE_BENCH_SMALL=1 it has 100 MB. */
#include <fcntl.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "analyzer/trace/trace.h"
#include "tests/bench/child.h"
#include "tests/bench/core.h"
#include "tests/bench/sizes.h"
#include "tests/bench/warm.h"

enum { ROUNDS = 3, TRIES = 5, SEEK_MS = 500, SMALL_MEMORY = 64 << 20 };

struct times {
    double cpu, wall; /* s */
};
struct measurement {
    struct times times;
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

static double seconds_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static struct times times_now(void)
{
    return (struct times){seconds_of(CLOCK_PROCESS_CPUTIME_ID), seconds_of(CLOCK_MONOTONIC)};
}

static struct times times_since(struct times begin)
{
    struct times now = times_now();
    return (struct times){now.cpu - begin.cpu, now.wall - begin.wall};
}

/* what is measured */

typedef struct times reader(const char *path);

static struct times read_with(const char *path, unsigned threads)
{
    struct cg_load_options options = {.threads = threads};
    struct cg_trace *trace;
    struct cg_error error;
    struct times begin = times_now();
    if (trace_load(path, &options, &trace, &error) != 0) fail(error.message);
    return times_since(begin); /* the process ends: freeing is not reading */
}

static struct times read_one_thread(const char *path)
{
    return read_with(path, 1);
}

static struct times read_two_threads(const char *path)
{
    return read_with(path, 2);
}

/* Two processes at once, each with one thread. */
static struct times read_twice_apart(const char *path)
{
    int status;
    struct times begin = times_now();
    pid_t other = fork();
    if (other < 0) fail("no process");
    read_one_thread(path);
    if (other == 0) _exit(0);
    if (waitpid(other, &status, 0) != other || status != 0) fail("the other process failed");
    return times_since(begin);
}

static struct times read_jansson(const char *path)
{
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t size = 0;
    ssize_t length;
    if (file == NULL) fail("jansson: the trace cannot be opened");
    struct times begin = times_now();
    while ((length = getline(&line, &size, file)) > 0) {
        json_t *value = json_loadb(line, (size_t)length, JSON_ALLOW_NUL, NULL);
        if (value == NULL) fail("jansson refuses a line");
        json_decref(value);
    }
    return times_since(begin);
}

/* A parser in a program of its own, which prints its processor time. */
static struct times read_peer(const char *tool, const char *path)
{
    char command[600];
    struct times times = {0};
    snprintf(command, sizeof command, "%s/bench-tools/%s '%s'", build_folder(), tool, path);
    FILE *program = popen(command, "r");
    if (program == NULL || fscanf(program, "%lf", &times.cpu) != 1 || pclose(program) != 0) fail(tool);
    return times;
}

static struct times read_simdjson(const char *path)
{
    return read_peer("parse-simdjson", path);
}

static struct times read_yyjson(const char *path)
{
    return read_peer("parse-yyjson", path);
}

static const struct peer {
    const char *tool;
    reader *read;
    const char *row, *absent;
} peers[] = {
    {"parse-simdjson", read_simdjson, "ingest-against-simdjson",
     "simdjson.h not found when this was built (package libsimdjson-dev)"},
    {"parse-yyjson", read_yyjson, "ingest-against-yyjson",
     "no yyjson.h and no sources of yyjson when this was built (package libyyjson-dev; scripts/deps bench "
     "fetches "
     "them, YYJSON_HOME names them)"},
};
enum { PEERS = sizeof peers / sizeof *peers };

static bool is_built(const struct peer *peer)
{
    char tool[512];
    snprintf(tool, sizeof tool, "%s/bench-tools/%s", build_folder(), peer->tool);
    return access(tool, X_OK) == 0;
}

/* What any reader does at least: the bytes from the system, and where the lines end. */
static struct times read_line_feeds(const char *path)
{
    enum { BLOCK = 128 << 10 };
    char *block = malloc(BLOCK);
    int file = open(path, O_RDONLY);
    size_t lines = 0;
    ssize_t length;
    if (block == NULL || file < 0) fail("the trace cannot be opened");
    struct times begin = times_now();
    while ((length = read(file, block, BLOCK)) > 0)
        for (const char *at = block; (at = memchr(at, '\n', (size_t)(block + length - at))) != NULL; at++)
            lines++;
    if (lines == 0) fail("a trace without a line");
    return times_since(begin);
}

/* cg-analyze as people run it; its peak memory is that of the process. */
static struct times run_tool(const char *const *words)
{
    char tool[512];
    int status;
    struct rusage usage;
    struct times begin = times_now();
    snprintf(tool, sizeof tool, "%s/cg-analyze", build_folder());
    pid_t child = fork();
    if (child < 0) fail("no process");
    if (child == 0) {
        int nowhere = open("/dev/null", O_WRONLY);
        if (dup2(nowhere, STDOUT_FILENO) >= 0) execv(tool, (char *const *)(size_t)words);
        _exit(127);
    }
    if (wait4(child, &status, 0, &usage) != child || status != 0) fail("cg-analyze failed");
    struct times times = times_since(begin);
    times.cpu = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
    return times;
}

/* The analysis that everybody begins with. */
static struct times run_overview(const char *path)
{
    return run_tool((const char *const[]){"cg-analyze", "overview", path, NULL});
}

static struct times run_query_memory(const char *path)
{
    return run_tool((const char *const[]){"cg-analyze", "query", path, "--kind", "memory", NULL});
}

static struct measurement measure_once(reader *read_path, const char *path)
{
    struct measurement result = {0};
    struct rusage usage;
    int ends[2], status;
    if (pipe(ends) != 0) fail("no pipe");
    fflush(stdout); /* what waits there is not the child's to write */
    pid_t child = fork();
    if (child < 0) fail("no process");
    if (child == 0) {
        result.times = read_path(path);
        /* Of this process, or of the one that it ran. */
        getrusage(RUSAGE_SELF, &usage);
        result.peak_kib = usage.ru_maxrss;
        getrusage(RUSAGE_CHILDREN, &usage);
        if (usage.ru_maxrss > result.peak_kib) result.peak_kib = usage.ru_maxrss;
        _exit(write(ends[1], &result, sizeof result) == (ssize_t)sizeof result ? 0 : 1);
    }
    close(ends[1]);
    ssize_t got = read(ends[0], &result, sizeof result);
    close(ends[0]);
    if (waitpid(child, &status, 0) != child || status != 0 || got != (ssize_t)sizeof result)
        fail("a measurement failed");
    return result;
}

static void warm_for(const char *path)
{
    struct stat file;
    if (stat(path, &file) != 0) fail("the trace is gone");
    warm_memory((size_t)file.st_size / 2 + SMALL_MEMORY); /* no reader of ours may need more */
}

/* One more time, wherever the process is put. */
static struct measurement measure_anywhere(reader *read_path, const char *path)
{
    warm_for(path);
    return measure_once(read_path, path);
}

/* Each time for itself: what disturbs one may leave the other alone. */
static void keep_best(struct measurement *best, struct measurement now)
{
    bool first = best->peak_kib == 0;
    if (first || now.times.cpu < best->times.cpu) best->times.cpu = now.times.cpu;
    if (first || now.times.wall < best->times.wall) best->times.wall = now.times.wall;
    if (now.peak_kib > best->peak_kib) best->peak_kib = now.peak_kib;
}

static void measure(struct measurement *best, reader *read_path, const char *path)
{
    warm_for(path);
    core_seek(SEEK_MS); /* last: who shares a core changes within milliseconds */
    keep_best(best, measure_once(read_path, path));
    core_anywhere();
}

/* Of several threads. */
static void measure_several(struct measurement *best, reader *read_path, const char *path)
{
    keep_best(best, measure_anywhere(read_path, path));
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

static double rate(uint64_t bytes, double seconds)
{
    return (double)bytes * 1e-6 / seconds;
}

static void print_row(const char *name, double ours, double floor, const char *goal, const char *unit)
{
    printf("BENCH %s %.1f %.1f %.3f %s %s\n", name, ours, floor, ours / floor, goal, unit);
}

/* A trace that is generated, and what is measured of it. */
struct trace {
    const char *label;
    unsigned long records;
    char path[48];
    uint64_t bytes;
    struct measurement ours;
};

static void make(struct trace *trace)
{
    strcpy(trace->path, "/tmp/cgtrace-ingest.XXXXXX");
    if (mkstemp(trace->path) < 0) fail("no temporary file");
    trace->bytes = make_trace(trace->path, trace->records);
}

static void print_growth(const struct trace *small, const struct trace *large)
{
    char name[64];
    snprintf(name, sizeof name, "ingest-growth-10MB-to-%s", large->label);
    print_row(name, large->ours.times.cpu * 1e9 / (double)large->records,
              small->ours.times.cpu * 1e9 / (double)small->records, "<=1.3", "ns/record");
}

/* Against the file's size. */
static void print_memory(struct trace *trace)
{
    struct measurement overview = {0}, memory = {0};
    double file = (double)trace->bytes * 1e-6;
    measure_several(&overview, run_overview, trace->path);
    measure_several(&memory, run_query_memory, trace->path);
    print_row("ingest-peak-memory", (double)trace->ours.peak_kib * 1024e-6, file, "<=0.5", "MB");
    print_row("overview-peak-memory", (double)overview.peak_kib * 1024e-6, file, "<=0.5", "MB");
    print_row("query-memory-peak-memory", (double)memory.peak_kib * 1024e-6, file, "<=0.5", "MB");
}

/* Other readers on one trace: as many times each, jansson but ROUNDS times. Returns jansson's wall time, s.
 */
static double compare_readers(const struct trace *trace)
{
    struct measurement one = {0}, jansson = {0}, of_peers[PEERS] = {{.peak_kib = 0}}, floor = {0},
                       overview = {0};
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < TRIES; i++) {
            measure(&one, read_one_thread, trace->path);
            for (size_t peer = 0; peer < PEERS; peer++)
                if (is_built(&peers[peer])) measure(&of_peers[peer], peers[peer].read, trace->path);
            measure(&floor, read_line_feeds, trace->path);
            measure_several(&overview, run_overview, trace->path);
        }
        measure(&jansson, read_jansson, trace->path);
    }
    double ours = rate(trace->bytes, one.times.cpu);
    print_row("ingest-against-jansson", ours, rate(trace->bytes, jansson.times.cpu), ">=20", "MB/s");
    for (size_t peer = 0; peer < PEERS; peer++)
        if (is_built(&peers[peer]))
            print_row(peers[peer].row, ours, rate(trace->bytes, of_peers[peer].times.cpu), ">=1.0", "MB/s");
        else
            printf("SKIP %s %s\n", peers[peer].row, peers[peer].absent);
    print_row("overview-against-newline-scan", overview.times.cpu * 1e3, floor.times.cpu * 1e3, "<=15", "ms");
    return jansson.times.wall;
}

/* Two threads and one in turn, by wall time; and two processes with a thread each, which tell whether there
 * were two cores at all. */
static void compare_threads(const struct trace *trace, double jansson_wall)
{
    static const char row[] = "ingest-two-threads-against-one";
    enum { TURNS = 60 };
    const double TWO_CORES = 1.7; /* at most 1.85 was seen, since memory is shared, too */
    struct least one = {.count = 0}, two = {.count = 0}, apart = {.count = 0};
    if (CPU_COUNT(core_allowed()) < 2) {
        printf("SKIP %s this process may use one processor only\n", row);
        return;
    }
    for (int i = 0; i < TURNS; i++) {
        least_add(&one, measure_anywhere(read_one_thread, trace->path).times.wall);
        least_add(&two, measure_anywhere(read_two_threads, trace->path).times.wall);
        least_add(&apart, measure_anywhere(read_twice_apart, trace->path).times.wall);
    }
    double together = rate(trace->bytes, two.best), most = 2 * one.best / apart.best;
    if (most < TWO_CORES)
        printf(
            "SKIP %s others used the machine: two processes with a thread each came to %.2f of one at most "
            "(two threads to %.2f), where two cores give 1.75 to 1.85\n",
            row, most, one.best / two.best);
    else
        print_row(row, together, rate(trace->bytes, one.best), ">=1.5", "MB/s");
    least_say(&one, row);
    least_say(&two, row);
    print_row("ingest-two-threads-against-jansson", together, rate(trace->bytes, jansson_wall), ">=20",
              "MB/s");
}

int main(void)
{
    struct trace traces[] = {{.label = "10MB", .records = 49000},
                             {.label = "100MB", .records = 490000},
                             {.label = "1GB", .records = 4900000},
                             {.label = "4GB", .records = 19600000}};
    size_t count = bench_full_size("ingest", 4.2e9) ? 4 : 2, compared = count > 2 ? 2 : 1;
    for (size_t i = 0; i < count; i++) {
        make(&traces[i]);
        for (int round = 0; round < (i < 2 ? ROUNDS * TRIES : ROUNDS); round++)
            measure(&traces[i].ours, read_one_thread, traces[i].path);
        if (i == compared) compare_threads(&traces[i], compare_readers(&traces[i]));
        if (i == 2) print_memory(&traces[i]); /* of a small one, the program itself is a large part */
        if (i > 0) print_growth(&traces[0], &traces[i]);
        unlink(traces[i].path);
    }
    return 0;
}
