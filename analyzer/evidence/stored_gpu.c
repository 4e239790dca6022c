/* The GPU object of a stored packet. Queries look deep into it, so it becomes the struct. */
#include <stdlib.h>

#include "analyzer/evidence/stored.h"

struct reading {
    struct shape_reader *reader;
    struct gpu_evidence *gpu;
    bool enough;
};

static const char *member(struct reading *reading, const char *object, const char *name)
{
    return shape_member(reading->reader, object, name);
}

static struct cg_text text(struct reading *reading, const char *object, const char *name)
{
    return shape_text(reading->reader, member(reading, object, name));
}

static uint64_t u64(struct reading *reading, const char *object, const char *name)
{
    return shape_u64(reading->reader, member(reading, object, name));
}

static struct gpu_u64 optional(struct reading *reading, const char *object, const char *name)
{
    const char *value = member(reading, object, name);
    return (struct gpu_u64){value != NULL, shape_u64(reading->reader, value)};
}

/* Room for the elements of a list, zeroed; NULL when memory is short. */
static void *rows_of(struct reading *reading, const char *list, size_t width, struct places *places)
{
    void *rows = NULL;
    if (places_make(reading->reader, list, places)) rows = calloc(places->count + 1, width);
    if (!rows) {
        reading->enough = false;
        places->count = 0;
    }
    return rows;
}

/* Runs the body for each element of a list: `element` is the object, `row` its place in `rows`. */
#define READ_ROWS(reading, list, rows, how_many, body)                                                       \
    do {                                                                                                     \
        struct places places;                                                                                \
        (rows) = rows_of(reading, list, sizeof *(rows), &places);                                            \
        for (size_t row = 0; row < places.count; row++) {                                                    \
            const char *element = places.at[row];                                                            \
            body;                                                                                            \
        }                                                                                                    \
        (how_many) = places.count;                                                                           \
        free(places.at);                                                                                     \
    } while (0)

static void read_texts(struct reading *reading, const char *list, struct gpu_texts *texts)
{
    READ_ROWS(reading, list, texts->at, texts->count, texts->at[row] = shape_text(reading->reader, element));
}

static struct gpu_artifact artifact(struct reading *reading, const char *object)
{
    return (struct gpu_artifact){text(reading, object, "path"), u64(reading, object, "size_bytes"),
                                 text(reading, object, "sha256")};
}

static int compare_revisions(const void *a, const void *b)
{
    return text_compare(((const struct gpu_pair *)a)->key, ((const struct gpu_pair *)b)->key);
}

/* By component; of equal ones the last in the text, which alone is kept. */
static void read_revisions(struct reading *reading, const char *map, struct gpu_manifest *manifest)
{
    struct cg_text key;
    size_t count = 1, kept = 0;
    for (const char *at = shape_first_pair(reading->reader, map, &key); at;
         at = shape_next_pair(reading->reader, at, &key))
        count++;
    struct gpu_pair *pairs = manifest->source_revisions = calloc(count, sizeof *pairs);
    if (!pairs) {
        reading->enough = false;
        return;
    }
    for (const char *at = shape_first_pair(reading->reader, map, &key); at;
         at = shape_next_pair(reading->reader, at, &key)) {
        size_t same = 0;
        while (same < kept && text_compare(pairs[same].key, key) != 0)
            same++;
        pairs[same] = (struct gpu_pair){key, shape_text(reading->reader, at)};
        kept += same == kept;
    }
    qsort(pairs, kept, sizeof *pairs, compare_revisions);
    manifest->source_revision_count = kept;
}

static void read_manifest(struct reading *reading, const char *object)
{
    struct gpu_manifest *manifest = &reading->gpu->manifest;
    manifest->present = object != NULL;
    if (!object) return;
    const char *run = member(reading, object, "run"), *tool = member(reading, object, "tool"),
               *hardware = member(reading, object, "hardware");
    manifest->schema = text(reading, object, "schema");
    manifest->run_id = text(reading, run, "id");
    manifest->started_at = text(reading, run, "started_at");
    manifest->correlation_id = text(reading, member(reading, object, "correlation"), "id");
    manifest->tool_name = text(reading, tool, "name");
    manifest->tool_version = text(reading, tool, "version");
    manifest->host = text(reading, hardware, "host");
    read_texts(reading, member(reading, hardware, "devices"), &manifest->devices);
    read_texts(reading, member(reading, object, "commands"), &manifest->commands);
    read_revisions(reading, member(reading, object, "source_revisions"), manifest);
    read_texts(reading, member(reading, object, "required_semantic_labels"), &manifest->required_labels);
    read_texts(reading, member(reading, object, "gpu_expected_semantic_labels"),
               &manifest->gpu_expected_labels);
    read_texts(reading, member(reading, object, "cpu_only_semantic_labels"), &manifest->cpu_only_labels);
    READ_ROWS(reading, member(reading, object, "artifacts"), manifest->artifacts.at,
              manifest->artifacts.count, manifest->artifacts.at[row] = artifact(reading, element));
}

bool stored_manifest(struct shape_reader *reader, const char *object, struct gpu_evidence *gpu)
{
    struct reading reading = {reader, gpu, true};
    read_manifest(&reading, object);
    return reading.enough && !reader->scan.no_memory;
}

static void read_ledger(struct reading *reading, const char *object, struct gpu_ledger *ledger)
{
    read_texts(reading, member(reading, object, "expected"), &ledger->expected);
    read_texts(reading, member(reading, object, "cpu_only"), &ledger->cpu_only);
    read_texts(reading, member(reading, object, "observed"), &ledger->observed);
    read_texts(reading, member(reading, object, "matched"), &ledger->matched);
    read_texts(reading, member(reading, object, "missing_expected"), &ledger->missing_expected);
    read_texts(reading, member(reading, object, "unexpected_observed"), &ledger->unexpected_observed);
    read_texts(reading, member(reading, object, "unexpected_cpu_only"), &ledger->unexpected_cpu_only);
    READ_ROWS(reading, member(reading, object, "duplicates"), ledger->duplicates, ledger->duplicate_count,
              (ledger->duplicates[row].semantic_key = text(reading, element, "semantic_key"),
               ledger->duplicates[row].occurrences = u64(reading, element, "occurrences")));
}

static void read_correlation(struct reading *reading, const char *object)
{
    struct gpu_correlation *correlation = &reading->gpu->correlation;
    correlation->mode = text(reading, object, "mode");
    correlation->clock_aligned = shape_bool(member(reading, object, "clock_aligned"));
    correlation->complete = shape_bool(member(reading, object, "complete"));
    correlation->reason = text(reading, object, "reason");
    correlation->label_form = text(reading, object, "label_form");
    read_ledger(reading, member(reading, object, "ledger"), &correlation->ledger);
}

static int compare_limits(const void *a, const void *b)
{
    return text_compare(((const struct gpu_limit *)a)->file, ((const struct gpu_limit *)b)->file);
}

static void read_limits(struct reading *reading, const char *map)
{
    struct gpu_evidence *gpu = reading->gpu;
    struct cg_text file;
    size_t count = 1;
    for (const char *at = shape_first_pair(reading->reader, map, &file); at;
         at = shape_next_pair(reading->reader, at, &file))
        count++;
    gpu->limits = calloc(count, sizeof *gpu->limits);
    if (!gpu->limits) {
        reading->enough = false;
        return;
    }
    for (const char *at = shape_first_pair(reading->reader, map, &file); at;
         at = shape_next_pair(reading->reader, at, &file))
        gpu->limits[gpu->limit_count++] =
            (struct gpu_limit){file, u64(reading, at, "total_rows"), u64(reading, at, "displayed_rows"),
                               shape_bool(member(reading, at, "truncated"))};
    qsort(gpu->limits, gpu->limit_count, sizeof *gpu->limits, compare_limits);
}

/* ---- rows ---- */

static struct gpu_summary_row summary_row(struct reading *reading, const char *object)
{
    return (struct gpu_summary_row){.name = text(reading, object, "name"),
                                    .total_ns = u64(reading, object, "total_ns"),
                                    .count = optional(reading, object, "count"),
                                    .average_ns = optional(reading, object, "average_ns"),
                                    .minimum_ns = optional(reading, object, "minimum_ns"),
                                    .maximum_ns = optional(reading, object, "maximum_ns"),
                                    .category = text(reading, object, "category")};
}

static struct gpu_timeline_row timeline_row(struct reading *reading, const char *object)
{
    return (struct gpu_timeline_row){.name = text(reading, object, "name"),
                                     .kind = text(reading, object, "kind"),
                                     .device = text(reading, object, "device"),
                                     .context = text(reading, object, "context"),
                                     .stream = text(reading, object, "stream"),
                                     .correlation_id = text(reading, object, "correlation_id"),
                                     .semantic_key = text(reading, object, "semantic_key"),
                                     .start_ns = u64(reading, object, "start_ns"),
                                     .duration_ns = u64(reading, object, "duration_ns"),
                                     .projected_start_ns = optional(reading, object, "projected_start_ns"),
                                     .projected_duration_ns =
                                         optional(reading, object, "projected_duration_ns"),
                                     .gpu_operations = optional(reading, object, "gpu_operations")};
}

static struct gpu_phase_row phase_row(struct reading *reading, const char *object)
{
    static const char *const keys[] = {"correlation_id", "device", "context", "stream", NULL};
    struct gpu_phase_row row = {.semantic_key = text(reading, object, "semantic_key"),
                                .projected_start_ns = u64(reading, object, "projected_start_ns"),
                                .projected_duration_ns = u64(reading, object, "projected_duration_ns"),
                                .gpu_busy_ns = u64(reading, object, "gpu_busy_ns"),
                                .gpu_operation_count = u64(reading, object, "gpu_operation_count")};
    const char *list = member(reading, object, "join_keys");
    for (const char *at = shape_first(reading->reader, list); at; at = shape_next(reading->reader, at))
        row.join_keys |= 1u << stored_word(reading->reader, at, keys);
    return row;
}

static void read_rows(struct reading *reading, const char *gpu)
{
    struct gpu_evidence *into = reading->gpu;
#define SUMMARY_ROWS(rows)                                                                                   \
    READ_ROWS(reading, member(reading, gpu, #rows), into->rows.at, into->rows.count,                         \
              into->rows.at[row] = summary_row(reading, element))
#define TIMELINE_ROWS(rows)                                                                                  \
    READ_ROWS(reading, member(reading, gpu, #rows), into->rows.at, into->rows.count,                         \
              into->rows.at[row] = timeline_row(reading, element))
    SUMMARY_ROWS(kernels);
    SUMMARY_ROWS(runtime_calls);
    SUMMARY_ROWS(memory_operations);
    TIMELINE_ROWS(nvtx_ranges);
    TIMELINE_ROWS(gpu_timeline);
    READ_ROWS(reading, member(reading, gpu, "phase_attribution"), into->phase_attribution.at,
              into->phase_attribution.count, into->phase_attribution.at[row] = phase_row(reading, element));
}

/* A report failed when a diagnostic holds its name (doc/spec/nsight.md 5): the packet says no more. */
static void read_failures(struct gpu_evidence *gpu)
{
    for (unsigned report = 0; report < GPU_REPORT_COUNT; report++)
        for (size_t i = 0; i < gpu->diagnostics.count; i++)
            if (memmem(gpu->diagnostics.at[i].bytes, gpu->diagnostics.at[i].length, gpu_report_kind[report],
                       strlen(gpu_report_kind[report])))
                gpu->parse_failed[report] = true;
}

bool stored_gpu(struct shape_reader *reader, const char *object, struct gpu_evidence *gpu)
{
    static const char *const statuses[] = {"available", "unavailable", "failed", NULL};
    static const char *const bindings[] = {"bound", "partial", "mismatch", NULL};
    struct reading reading = {reader, gpu, true};
    const char *provenance = shape_member(reader, object, "provenance");
    const char *coverage = shape_member(reader, object, "coverage");
    const char *raw_report = shape_member(reader, object, "raw_report");
    gpu->status = (enum gpu_status)stored_word(reader, shape_member(reader, object, "status"), statuses);
    gpu->reason = text(&reading, object, "reason");
    if (raw_report) gpu->raw_report = artifact(&reading, raw_report);
    READ_ROWS(&reading, shape_member(reader, object, "source_csv"), gpu->source_csv.at, gpu->source_csv.count,
              gpu->source_csv.at[row] = artifact(&reading, element));
    gpu->binding =
        (enum gpu_binding)stored_word(reader, shape_member(reader, provenance, "binding"), bindings);
    read_manifest(&reading, shape_member(reader, provenance, "manifest"));
    read_texts(&reading, shape_member(reader, provenance, "diagnostics"), &gpu->provenance_diagnostics);
#define READ_COVERAGE(constant, flag, kind, rows)                                                            \
    gpu->coverage[GPU_REPORT_##constant] = shape_bool(shape_member(reader, coverage, #flag));
    GPU_REPORTS(READ_COVERAGE)
    read_correlation(&reading, shape_member(reader, object, "correlation"));
    read_texts(&reading, shape_member(reader, object, "diagnostics"), &gpu->diagnostics);
    read_limits(&reading, shape_member(reader, object, "limits"));
    read_rows(&reading, object);
    read_failures(gpu);
    return reading.enough && !reader->scan.no_memory;
}
