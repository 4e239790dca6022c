/* Comparing the ranks of a job: processor time for each byte as traces grow, and memory against all of them.
 * Small and whole traces are read in turns, on processors whose core nobody shares when that begins, until
 * the least time of both was seen twice, or ROUNDS_MOST times.
 *
 * 16 ranks of 100 MB each, against 16 of 25 MB; CGTRACE_BENCH_SMALL=1 takes a tenth. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>

#include "tests/bench/child.h"
#include "tests/bench/core.h"
#include "tests/bench/sizes.h"

enum { RANKS = 16, ROUNDS = 3, ROUNDS_MOST = 9, SEEK_MS = 2000, LAYERS = 24 };

static void span(FILE *file, uint64_t *id, uint64_t parent, const char *name, uint64_t begin,
                 uint64_t duration)
{
    (*id)++;
    fprintf(file,
            "{\"kind\":\"span_start\",\"id\":\"span:%" PRIu64 "\",\"parent_id\":\"span:%" PRIu64
            "\",\"name\":\"%s\",\"start_ns\":%" PRIu64 ",\"span_kind\":\"function\",\"source\":\"nvtx\"}\n"
            "{\"kind\":\"span_end\",\"id\":\"span:%" PRIu64 "\",\"duration_ns\":%" PRIu64 "}\n",
            *id, parent, name, begin, *id, duration);
}

/* A step has a span for each layer, in each an allocation, a launch, its interval and a free; then all ranks
 * wait for each other. Rank 5 is slow in one layer. */
static uint64_t step(FILE *file, uint64_t *id, unsigned rank, uint64_t number, uint64_t now)
{
    for (unsigned layer = 0; layer < LAYERS; layer++) {
        uint64_t duration =
            10000 + (rank == 5 && layer == 7 ? 2000u : 0u) + (number * 31 + rank * 7 + layer) % 50;
        char name[32];
        snprintf(name, sizeof name, "layer.%u", layer);
        span(file, id, 1, name, now, duration);
        fprintf(
            file,
            "{\"kind\":\"op\",\"span_id\":\"span:%" PRIu64
            "\",\"op_name\":\"gemm\",\"inputs\":[],\"shape\":[],\"dtype\":\"unknown\",\"device\":\"cuda:0\","
            "\"duration_ns\":10,\"timestamp_ns\":%" PRIu64 ",\"input_dense_bytes\":0,\"correlation\":%" PRIu64
            "}\n"
            "{\"kind\":\"device_interval\",\"span_id\":\"span:%" PRIu64
            "\",\"device\":\"cuda:0\",\"stream_id\":\"7\",\"clock_id\":\"cuda:0/"
            "ctx:1\",\"backend\":\"events\","
            "\"start_ns\":%" PRIu64 ",\"duration_ns\":%" PRIu64 ",\"name\":\"gemm\"}\n",
            *id, now + 1, *id, *id, now + 1, duration - 1000);
        for (int i = 0; i < 2; i++)
            fprintf(file,
                    "{\"kind\":\"memory\",\"timestamp_ns\":%" PRIu64 ",\"storage_id\":\"s%" PRIu64
                    "\",\"tensor_id\":\"s%" PRIu64 "\",\"span_id\":\"span:%" PRIu64
                    "\",\"device\":\"cuda:0\",\"bytes\":4096,\"action\":\"%s\",\"dtype\":\"u8\"}\n",
                    now + 2 + (uint64_t)i, *id, *id, *id, i ? "free" : "alloc");
        now += duration;
    }
    uint64_t together = (number + 1) * 300000;
    span(file, id, 1, "ncclAllReduce", now, together - now);
    return together;
}

static double write_rank(const char *path, unsigned rank, long bytes)
{
    FILE *file = fopen(path, "w");
    uint64_t id = 1, now = 0, number = 0;

    if (!file) exit(1);
    fprintf(
        file,
        "{\"kind\":\"meta\",\"schema\":\"candle-graph/trace/10\",\"run_id\":\"r%u\",\"correlation_id\":\"c\","
        "\"entrypoint\":\"e\",\"phase\":\"train\",\"timestamp\":\"t\",\"capture_step\":1,\"warmup_steps\":0,"
        "\"device\":\"cuda:0\",\"timing_mode\":\"host\",\"capture_contract\":{\"measurement_scope\":"
        "\"unknown\","
        "\"operations\":\"partial\",\"logical_memory\":\"partial\",\"physical_memory\":\"none\","
        "\"device_timing\":\"partial\"},\"tags\":{},\"host\":\"h\",\"pid\":%u,\"rank\":%u,\"clock\":{"
        "\"mult\":4294967296,\"shift\":32,\"first\":{\"tick\":1,\"monotonic_ns\":%u,\"realtime_ns\":%u,"
        "\"spread_ticks\":40}}}\n"
        "{\"kind\":\"span_start\",\"id\":\"span:1\",\"name\":\"job\",\"start_ns\":0,\"span_kind\":"
        "\"function\","
        "\"measured\":true}\n",
        rank, rank + 1, rank, 1000 + rank, 1000 + rank);
    while (ftell(file) < bytes)
        now = step(file, &id, rank, number++, now);
    fprintf(file,
            "{\"kind\":\"span_end\",\"id\":\"span:1\",\"duration_ns\":%" PRIu64
            "}\n{\"kind\":\"terminal\",\"outcome\":\"complete\",\"timestamp_ns\":%" PRIu64 "}\n",
            now, now);
    double size = (double)ftell(file);
    if (fclose(file) != 0) exit(1);
    return size;
}

/* A job's traces, and what it took to compare them. */
struct job {
    char paths[RANKS][64];
    double bytes, peak;
    struct least cpu;
};

static void make(struct job *job, const char *folder, const char *name, long bytes)
{
    for (unsigned rank = 0; rank < RANKS; rank++) {
        snprintf(job->paths[rank], sizeof job->paths[rank], "%s/%s%u.jsonl", folder, name, rank);
        job->bytes += write_rank(job->paths[rank], rank, bytes);
    }
}

static void measure(struct job *job)
{
    char program[512];
    const char *words[RANKS + 3] = {program, "ranks"};

    snprintf(program, sizeof program, "%s/cg-analyze", child_build());
    for (unsigned rank = 0; rank < RANKS; rank++)
        words[rank + 2] = job->paths[rank];
    core_seek(SEEK_MS);
    struct child_cost cost = child_run(words, NULL);
    core_anywhere();
    least_add(&job->cpu, cost.cpu);
    if (cost.peak > job->peak) job->peak = cost.peak;
}

static double ns_a_byte(const struct job *job)
{
    return job->cpu.best / job->bytes * 1e9;
}

int main(void)
{
    static struct job small, whole;
    long bytes = bench_full_size("ranks", 16 * 125e6) ? 100000000 : 10000000;
    char folder[] = "/tmp/bench_ranks.XXXXXX", command[64];

    if (!mkdtemp(folder)) return 1;
    make(&small, folder, "small", bytes / 4);
    make(&whole, folder, "whole", bytes);
    for (int i = 0; i < ROUNDS_MOST; i++) {
        if (i >= ROUNDS && least_settled(&small.cpu) && least_settled(&whole.cpu)) break;
        measure(&small);
        measure(&whole);
    }
    least_say(&whole.cpu, "ranks_16_growth");
    least_say(&small.cpu, "ranks_16_growth");
    printf("BENCH ranks_16_growth %.3g %.3g %.3f <=1.3 ns_a_byte\n", ns_a_byte(&whole), ns_a_byte(&small),
           ns_a_byte(&whole) / ns_a_byte(&small));
    printf("BENCH ranks_16_memory %.4g %.4g %.3f <=0.5 MB\n", whole.peak / 1e6, whole.bytes / 1e6,
           whole.peak / whole.bytes);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}
