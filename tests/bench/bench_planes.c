/* What the planes cost: nanoseconds a record, and how that grows when a trace has ten times the records. n
 * log n and a cache that no longer holds everything make it grow a little; a quadratic step would make it
 * grow tenfold.
 *
 * usage: bench_planes [FILE...]   with files: the figures of each plane, and the greatest memory in use */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "analyzer/planes/activations.h"
#include "analyzer/planes/array.h"
#include "analyzer/planes/planes.h"

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* The planes in the order in which a packet makes them. */
enum plane { HEALTH, TIMING, LOGICAL, PHYSICAL, SUMMARY, POINTS, NODES, ACTIVATIONS, PLANE_COUNT };
static const char *const plane_name[PLANE_COUNT] = {"health",  "timing", "logical", "physical",
                                                    "summary", "points", "nodes",   "activations"};

struct measurement {
    double time[PLANE_COUNT], total;
    size_t records;
};

static void no_visit(void *context, const struct memory_point *point)
{
    *(uint64_t *)context += point->timestamp_ns;
}

static size_t record_count(const struct cg_trace *trace)
{
    return trace->span.rows * 2 + trace->op.rows + trace->tensor.rows + trace->tensor_stats.rows +
           trace->memory.rows + trace->device_memory.rows + trace->device_interval.rows +
           trace->gradient.rows + trace->edge.rows;
}

static bool measure(const struct cg_trace *trace, struct measurement *result)
{
    struct health health = {0};
    struct timing timing = {0};
    struct logical_memory logical = {0};
    struct physical_memory physical = {0};
    struct trace_summary summary;
    struct node_memory nodes = {0};
    struct activations activations = {0};
    uint64_t sum = 0;
    bool made = true;
    double begin = seconds();
    for (enum plane plane = HEALTH; made && plane < PLANE_COUNT; plane++) {
        const struct activation_inputs inputs = {&health, &timing, &logical, CAPABILITY_PARTIAL,
                                                 CAPABILITY_PARTIAL};
        double start = seconds();
        made = plane == HEALTH     ? health_make(trace, &health)
               : plane == TIMING   ? timing_make(trace, &timing)
               : plane == LOGICAL  ? logical_memory_make(trace, &logical)
               : plane == PHYSICAL ? physical_memory_make(trace, &physical)
               : plane == SUMMARY  ? trace_summary_make(trace, &logical, &summary)
               : plane == POINTS   ? logical_memory_points(trace, &logical, no_visit, &sum)
               : plane == NODES    ? node_memory_make(trace, &logical, &nodes)
                                   : activations_make(trace, &inputs, &activations);
        result->time[plane] = seconds() - start;
    }
    result->total = seconds() - begin;
    result->records = record_count(trace);
    health_free(&health);
    timing_free(&timing);
    logical_memory_free(&logical);
    physical_memory_free(&physical);
    node_memory_free(&nodes);
    activations_free(&activations);
    return made;
}

static long peak_kib(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

static struct cg_trace *load_file(const char *path)
{
    struct cg_trace *trace = NULL;
    struct cg_error error;
    if (trace_load(path, NULL, &trace, &error) == 0) return trace;
    fprintf(stderr, "bench_planes: %s\n", error.message);
    exit(error.status);
}

static void show_file(const char *path)
{
    struct measurement result = {0};
    double start = seconds();
    struct cg_trace *trace = load_file(path);
    double loaded = seconds() - start;
    long before = peak_kib();
    if (!measure(trace, &result)) exit(CG_EXIT_IO);
    double records = (double)result.records;
    printf("%s: %zu records, load %.0f ns, planes %.0f ns a record; peak %.2f of the file after load, %.2f "
           "after planes\n",
           path, result.records, loaded / records * 1e9, result.total / records * 1e9,
           (double)before * 1024 / (double)trace->file_bytes,
           (double)peak_kib() * 1024 / (double)trace->file_bytes);
    for (enum plane plane = HEALTH; plane < PLANE_COUNT; plane++)
        printf("  %-12s %7.1f ns a record\n", plane_name[plane], result.time[plane] / records * 1e9);
    trace_free(trace);
}

/* ---- growth ---- */

enum shape { CHAIN, FAN, TREE, SHAPE_COUNT };
static const char *const shape_name[SHAPE_COUNT] = {"chain", "fan", "tree"};

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX generator */
    return *state >> 33;
}

static void write_memory(FILE *out, uint64_t time, unsigned storage, unsigned span, const char *action)
{
    fprintf(out,
            "{\"kind\":\"memory\",\"timestamp_ns\":%llu,\"storage_id\":\"m%u\",\"tensor_id\":\"t%u\","
            "\"span_id\":\"s%u\",\"device\":\"d\",\"bytes\":%u,\"action\":\"%s\",\"dtype\":\"f32\","
            "\"category\":\"activation\"}\n",
            (unsigned long long)time, storage, storage, span, storage % 61 + 1, action);
}

/* A span for each number below count, with an op, a device interval and a storage that outlives it. */
static void write_trace(FILE *out, enum shape shape, unsigned count)
{
    uint64_t random = 1, end = 3 * (uint64_t)count;
    fputs(
        "{\"kind\":\"meta\",\"schema\":\"candle-graph/trace/10\",\"run_id\":\"r\",\"correlation_id\":\"c\","
        "\"entrypoint\":\"e\",\"phase\":\"infer\",\"timestamp\":\"t\",\"capture_step\":1,\"warmup_steps\":0,"
        "\"device\":\"d\",\"timing_mode\":\"host\",\"tags\":{},\"capture_contract\":{"
        "\"measurement_scope\":\"unknown\",\"operations\":\"none\",\"logical_memory\":\"complete\","
        "\"physical_memory\":\"none\",\"device_timing\":\"none\"}}\n",
        out);
    for (unsigned i = 0; i < count; i++) {
        unsigned back = shape == CHAIN ? 1 : shape == FAN ? i : 1 + (unsigned)(next_random(&random) % 20);
        fprintf(out, "{\"kind\":\"span_start\",\"id\":\"s%u\",", i);
        if (i) fprintf(out, "\"parent_id\":\"s%u\",", back < i ? i - back : 0);
        fprintf(out,
                "\"name\":\"n\",\"start_ns\":0,\"span_kind\":\"op\",\"measured\":%s}\n"
                "{\"kind\":\"span_end\",\"id\":\"s%u\",\"duration_ns\":%llu}\n",
                i ? "false" : "true", i, (unsigned long long)end);
    }
    for (unsigned i = 0; i < count; i++) {
        unsigned freed = i < 5000 ? 0 : i - 5000;
        write_memory(out, 2 * (uint64_t)i, i, i, "alloc");
        if (i >= 5000) write_memory(out, 2 * (uint64_t)i + 1, freed, 0, "free");
        fprintf(out,
                "{\"kind\":\"op\",\"span_id\":\"s%u\",\"op_name\":\"mm\",\"output\":\"t%u\",\"shape\":[],"
                "\"dtype\":\"f32\",\"device\":\"d\",\"duration_ns\":1,\"input_dense_bytes\":0}\n"
                "{\"kind\":\"device_interval\",\"span_id\":\"s%u\",\"device\":\"d\",\"stream_id\":\"%u\","
                "\"clock_id\":\"k\",\"backend\":\"b\",\"start_ns\":%u,\"duration_ns\":3}\n",
                i, i, i, i % 4, i * 2);
    }
    fprintf(out, "{\"kind\":\"terminal\",\"outcome\":\"complete\",\"timestamp_ns\":%llu}\n",
            (unsigned long long)end);
}

/* Nanoseconds a record, the least of three runs. */
static double cost(enum shape shape, unsigned count)
{
    char *text;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    if (!out) exit(CG_EXIT_IO);
    write_trace(out, shape, count);
    if (fclose(out) != 0) exit(CG_EXIT_IO);
    struct cg_trace *trace = NULL;
    struct cg_error error;
    if (trace_load_bytes(shape_name[shape], text, length, NULL, &trace, &error) != 0) {
        fprintf(stderr, "bench_planes: %s\n", error.message);
        exit(error.status);
    }
    free(text);
    double least = 0;
    for (int run = 0; run < 3; run++) {
        struct measurement result = {0};
        if (!measure(trace, &result)) exit(CG_EXIT_IO);
        double each = result.total / (double)result.records * 1e9;
        if (run == 0 || each < least) least = each;
    }
    trace_free(trace);
    return least;
}

int main(int argc, char **argv)
{
    arrays_keep_memory(); /* as cg-analyze does */
    for (int i = 1; i < argc; i++)
        show_file(argv[i]);
    for (enum shape shape = CHAIN; argc == 1 && shape < SHAPE_COUNT; shape++) {
        double small = cost(shape, 20000), large = cost(shape, 200000);
        printf("BENCH planes_%s %.1f %.1f %.2f <=2 ns/record\n", shape_name[shape], large, small,
               large / small);
    }
    return 0;
}
