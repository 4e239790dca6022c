/* What the planes cost: nanoseconds a record of each, and how that grows from a small trace to one ten times
 * as large. No quadratic step may hide in a deep, a wide or a mixed trace.
 *
 * usage: bench_planes [FILE...]   with files: the figures of each, and the greatest memory in use
 *                                 without: the growth for each shape that generate-trace makes */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "analyzer/planes/activations.h"
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

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        show_file(argv[i]);
    return 0;
}
