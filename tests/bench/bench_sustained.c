/* Recording without a pause. Four threads that record 2 million records a second in all, for ten seconds,
 * into a sink that throws the lines away (discard.c): nothing may be lost with rings of the default size. And
 * as fast as the writer lets them, to disk: bytes a second from the first record to the trace in its place,
 * against dd's with as many bytes on the same file system. The program is this one, started again with the
 * recorder. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "preload/cgtrace.h"
#include "tests/bench/child.h"

enum {
    THREADS = 4,
    RATE = 2000000, /* records a second, of all threads */
    SECONDS = 10,
    SLICE_NS = 1000000,  /* between two bursts of a thread */
    DISK_SPANS = 500000, /* of a thread: two records each */
    DISK_RUNS = 11
};

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double begun;

/* Spans as they are due. */
static void *paced(void *unused)
{
    const long due_in_all = (long)RATE / 2 / THREADS * SECONDS;
    const struct timespec slice = {0, SLICE_NS};
    for (long done = 0; done < due_in_all;) {
        long due = (long)((now_s() - begun) * (RATE / 2 / THREADS));
        for (; done < due && done < due_in_all; done++)
            cgtrace_span_end(cgtrace_span_begin("forward"));
        nanosleep(&slice, NULL);
    }
    return unused;
}

static void *unpaced(void *unused)
{
    for (int i = 0; i < DISK_SPANS; i++)
        cgtrace_span_end(cgtrace_span_begin("forward"));
    return unused;
}

static int child(const char *how)
{
    void *(*run)(void *) = !strcmp(how, "paced") ? paced : unpaced;
    pthread_t threads[THREADS];
    if (cgtrace_scalar("recorded?", 0) != CGTRACE_OK) return 1;
    usleep(100000); /* rings are being made */
    begun = now_s();
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, run, NULL)) return 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("SECONDS %.3f\n", now_s() - begun);
    printf("BEGUN %.6f\n", begun);
    return 0;
}

static int bench_paced(const char *self, const char *folder)
{
    char command[4096], line[1024];
    double seconds = -1;
    long records = -1, lost = -1;
    snprintf(command, sizeof command,
             "CGTRACE_OUTPUT=%s/paced.jsonl LD_PRELOAD=%s/tests/bench/discard.so:%s/libcgtrace.so %s child "
             "paced 2>&1",
             folder, child_build(), child_build(), self);
    FILE *pipe = popen(command, "r");
    while (pipe && fgets(line, sizeof line, pipe)) {
        char *at = strstr(line, ".jsonl: ");
        sscanf(line, "SECONDS %lf", &seconds);
        if (at) sscanf(at, ".jsonl: %ld records, %ld lost", &records, &lost);
    }
    if (!pipe || pclose(pipe) || seconds < 0 || records < 0) return 1;
    printf("# %ld records from %d threads in %.2f s into a discarding sink, %ld lost\n", records, THREADS,
           seconds, lost);
    /* Nothing lost is the goal: one lost record is more than 1. */
    printf("BENCH sustained.lost %ld 1 %ld <=0 records\n", lost, lost);
    printf("BENCH sustained.rate %.0f %d %.3f >=0.99 records/s\n", (double)(records - 1) / seconds, RATE,
           (double)(records - 1) / seconds / RATE);
    return 0;
}

/* Bytes a second of dd, the data in place at the end. Taking the file away again is in neither's time. */
static double dd_rate(const char *folder, off_t bytes)
{
    char command[2048], path[1024];
    snprintf(path, sizeof path, "%s/dd", folder);
    snprintf(command, sizeof command, "dd if=/dev/zero of=%s bs=1M count=%ld conv=fsync status=none", path,
             (long)(bytes >> 20));
    double begin = now_s();
    int status = system(command);
    double seconds = now_s() - begin;
    return unlink(path) || status ? -1 : (double)(bytes >> 20 << 20) / seconds;
}

/* Waits until a file is on its disk, as dd does. */
static bool in_place(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool good = fd >= 0 && !fsync(fd);
    if (fd >= 0) close(fd);
    return good;
}

static double our_rate(const char *self, const char *folder, off_t *bytes)
{
    char command[4096], path[1024];
    struct stat made;
    snprintf(path, sizeof path, "%s/disk.jsonl", folder);
    snprintf(command, sizeof command,
             "CGTRACE_QUIET=1 CGTRACE_OVERFLOW=block CGTRACE_OUTPUT=%s LD_PRELOAD=%s/libcgtrace.so %s child "
             "unpaced",
             path, child_build(), self);
    double since = child_number(command, "BEGUN ");
    bool there = since >= 0 && in_place(path);
    double seconds = now_s() - since;
    if (!there || stat(path, &made) || unlink(path)) return -1;
    *bytes = made.st_size;
    return (double)made.st_size / seconds;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* In turns, the upper quartiles of both: where the machine is a guest that gives the memory of a file that is
 * gone back to its host, who comes next waits for that memory, dd or we, up to three times its time. */
static int bench_disk(const char *self, const char *folder)
{
    double ours[DISK_RUNS], theirs[DISK_RUNS];
    off_t bytes = 0;
    for (int i = 0; i < DISK_RUNS; i++) {
        ours[i] = our_rate(self, folder, &bytes);
        theirs[i] = ours[i] < 0 ? -1 : dd_rate(folder, bytes);
        if (theirs[i] < 0) return 1;
    }
    qsort(ours, DISK_RUNS, sizeof *ours, ascending);
    qsort(theirs, DISK_RUNS, sizeof *theirs, ascending);
    double a = ours[DISK_RUNS * 3 / 4] / 1e6, b = theirs[DISK_RUNS * 3 / 4] / 1e6;
    printf("BENCH sustained.disk %.1f %.1f %.3f >=0.8 MB/s\n", a, b, a / b);
    return 0;
}

int main(int argc, char **argv)
{
    char folder[] = "/var/tmp/bench_sustained.XXXXXX", command[1024];
    if (argc > 2 && !strcmp(argv[1], "child")) return child(argv[2]);
    if (!mkdtemp(folder)) return 1;
    int failed = bench_paced(argv[0], folder);
    failed |= bench_disk(argv[0], folder);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) || failed;
}
