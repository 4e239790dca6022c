/* The gpu-* kinds: what Nsight Systems reports say, never mixed with the trace's own device intervals
 * (doc/spec/cli.md 6.4). */
#include <stdlib.h>
#include <string.h>

#include "analyzer/cmd/gpu_view.h"
#include "analyzer/cmd/query.h"

static const struct gpu_evidence *gpu_of(const void *object)
{
    return &((const struct query *)object)->input->evidence.gpu;
}

static void emit_capability_pair(struct json_doc *doc, const void *object)
{
    const struct capability *capabilities = ((const struct query *)object)->input->evidence.capabilities;
    doc_key(doc, "capabilities");
    doc_object(doc);
    doc_key(doc, "gpu_correlation");
    emit_capability(doc, &capabilities[CAPABILITY_KIND_GPU_CORRELATION]);
    doc_key(doc, "provenance_binding");
    emit_capability(doc, &capabilities[CAPABILITY_KIND_PROVENANCE_BINDING]);
    doc_object_end(doc);
}

static void emit_binding(struct json_doc *doc, const struct gpu_evidence *gpu)
{
    doc_member_string(doc, "provenance_binding", gpu_binding_name(gpu->binding));
}

static void emit_required(struct json_doc *doc, const struct gpu_evidence *gpu,
                          const enum gpu_report *reports, size_t count)
{
    doc_key(doc, "required_reports");
    emit_gpu_required_reports(doc, gpu, reports, count);
}

/* Kinds that show diagnostics keep the sorted list as their state. */
static int prepare_diagnostics(struct query *query, struct cg_error *error)
{
    struct gpu_texts *texts = calloc(1, sizeof *texts);
    if (texts && gpu_sorted_diagnostics(gpu_of(query), texts)) {
        query->state = texts;
        return 0;
    }
    free(texts);
    return cg_out_of_memory(error);
}

static void release_diagnostics(struct query *query)
{
    free(((struct gpu_texts *)query->state)->at);
    free(query->state);
}

static void emit_query_diagnostics(struct json_doc *doc, const struct query *query)
{
    doc_key(doc, "diagnostics");
    emit_bounded_texts(doc, query->state, QUERY_DIAGNOSTICS);
}

/* ---- gpu-status ---- */

static void emit_status(struct json_doc *doc, const void *object)
{
    const struct gpu_evidence *gpu = gpu_of(object);
    doc_object(doc);
    doc_member_string(doc, "status", gpu_status_name(gpu->status));
    doc_key(doc, "reason");
    emit_text(doc, gpu->reason);
    emit_binding(doc, gpu);
    emit_capability_pair(doc, object);
    emit_gpu_report_members(doc, gpu);
    doc_key(doc, "source_artifacts");
    doc_object(doc);
    doc_member_u64(doc, "csv_files", gpu->source_csv.count);
    doc_member_bool(doc, "raw_report", gpu->raw_report.path.bytes != NULL);
    doc_object_end(doc);
    emit_query_diagnostics(doc, object);
    doc_object_end(doc);
}

const struct query_kind query_gpu_status = {
    .name = "gpu-status",
    .about = "which Nsight reports there are and how far they are bound to the capture",
    .prepare = prepare_diagnostics,
    .release = release_diagnostics,
    .emit = emit_status,
};

/* ---- gpu-correlation ---- */

static void emit_duplicate(struct json_doc *doc, const void *list, uint64_t i)
{
    emit_gpu_duplicate(doc, &((const struct gpu_ledger *)list)->duplicates[i]);
}

static void emit_ledger(struct json_doc *doc, const struct gpu_ledger *ledger)
{
#define LEDGER_LIST(name)                                                                                    \
    doc_key(doc, #name);                                                                                     \
    emit_bounded_texts(doc, &ledger->name, QUERY_LABELS);
    doc_object(doc);
    LEDGER_LIST(expected)
    LEDGER_LIST(cpu_only)
    LEDGER_LIST(observed)
    LEDGER_LIST(matched)
    LEDGER_LIST(missing_expected)
    LEDGER_LIST(unexpected_observed)
    LEDGER_LIST(unexpected_cpu_only)
#undef LEDGER_LIST
    doc_key(doc, "duplicates");
    emit_bounded(doc, ledger->duplicate_count, QUERY_LABELS, emit_duplicate, ledger);
    doc_object_end(doc);
}

static void emit_correlation(struct json_doc *doc, const void *object)
{
    static const enum gpu_report reports[] = {GPU_REPORT_NVTX_RANGES};
    const struct gpu_evidence *gpu = gpu_of(object);
    struct gpu_availability is = gpu_available(gpu, reports[0]);
    bool known = is.status == GPU_AVAILABLE;
    doc_object(doc);
    emit_gpu_availability(doc, &is);
    emit_binding(doc, gpu);
    emit_capability_pair(doc, object);
    emit_required(doc, gpu, reports, 1);
    doc_key(doc, "mode");
    emit_text(doc, known ? gpu->correlation.mode : (struct cg_text){0});
    doc_member_bool_or_null(doc, "clock_aligned", known, gpu->correlation.clock_aligned);
    doc_member_bool_or_null(doc, "complete", known, gpu->correlation.complete);
    doc_key(doc, "correlation_reason");
    emit_text(doc, known ? gpu->correlation.reason : (struct cg_text){0});
    doc_key(doc, "ledger");
    if (known)
        emit_ledger(doc, &gpu->correlation.ledger);
    else
        doc_null(doc);
    doc_object_end(doc);
}

const struct query_kind query_gpu_correlation = {
    .name = "gpu-correlation",
    .about = "which semantic labels were found among the ranges that Nsight projected on the GPU",
    .emit = emit_correlation,
};

/* ---- the longest rows of a list ---- */

/* The first QUERY_ROWS row numbers of a list by value, descending, then by text and by number. */
struct longest {
    size_t count;
    size_t rows[QUERY_ROWS];
};

struct sortable {
    uint64_t value;
    struct cg_text text;
    size_t row;
};

static bool precedes(const struct sortable *a, const struct sortable *b)
{
    if (a->value != b->value) return a->value > b->value;
    int order = text_compare(a->text, b->text);
    return order ? order < 0 : a->row < b->row;
}

/* Insertion into the few best: every list is at most some thousands long. */
static void longest_of(struct longest *longest, size_t count,
                       struct sortable (*row)(const struct gpu_evidence *gpu, size_t row),
                       const struct gpu_evidence *gpu)
{
    longest->count = 0;
    for (size_t i = 0; i < count; i++) {
        struct sortable candidate = row(gpu, i);
        size_t at = longest->count;
        while (at > 0) {
            struct sortable other = row(gpu, longest->rows[at - 1]);
            if (!precedes(&candidate, &other)) break;
            at--;
        }
        if (at == QUERY_ROWS) continue;
        size_t moved = longest->count < QUERY_ROWS ? longest->count - at : QUERY_ROWS - 1 - at;
        memmove(&longest->rows[at + 1], &longest->rows[at], moved * sizeof *longest->rows);
        longest->rows[at] = i;
        if (longest->count < QUERY_ROWS) longest->count++;
    }
}

static struct sortable range_row(const struct gpu_evidence *gpu, size_t row)
{
    const struct gpu_timeline_row *range = &gpu->nvtx_ranges.at[row];
    uint64_t value = range->projected_duration_ns.known ? range->projected_duration_ns.value : 0;
    return (struct sortable){value, range->name, row};
}

static struct sortable phase_row(const struct gpu_evidence *gpu, size_t row)
{
    const struct gpu_phase_row *phase = &gpu->phase_attribution.at[row];
    return (struct sortable){phase->gpu_busy_ns, phase->semantic_key, row};
}

static struct sortable kernel_row(const struct gpu_evidence *gpu, size_t row)
{
    return (struct sortable){gpu->kernels.at[row].total_ns, gpu->kernels.at[row].name, row};
}

/* The members that say how much of `of` rows is shown, and the rows. */
static void emit_longest(struct json_doc *doc, const struct gpu_evidence *gpu, const struct longest *longest,
                         bool known, uint64_t of,
                         void (*emit)(struct json_doc *doc, const struct gpu_evidence *gpu, size_t row))
{
    doc_member_bool_or_null(doc, "display_truncated", known, longest->count < of);
    doc_member_u64(doc, "displayed", longest->count);
    doc_key(doc, "rows");
    doc_array(doc);
    for (size_t i = 0; i < longest->count; i++)
        emit(doc, gpu, longest->rows[i]);
    doc_array_end(doc);
}

/* ---- gpu-phases ---- */

static void emit_range_row(struct json_doc *doc, const struct gpu_evidence *gpu, size_t row)
{
    const struct gpu_timeline_row *range = &gpu->nvtx_ranges.at[row];
    unsigned keys = (range->correlation_id.bytes ? GPU_JOIN_CORRELATION_ID : 0U) |
                    (range->device.bytes ? GPU_JOIN_DEVICE : 0U) |
                    (range->context.bytes ? GPU_JOIN_CONTEXT : 0U) |
                    (range->stream.bytes ? GPU_JOIN_STREAM : 0U);
    doc_object(doc);
    doc_member_text(doc, "name", range->name);
    doc_member_text(doc, "semantic_key", range->semantic_key);
    doc_member_u64_or_null(doc, "projected_duration_ns", range->projected_duration_ns.known,
                           range->projected_duration_ns.value);
    doc_member_u64_or_null(doc, "projected_start_ns", range->projected_start_ns.known,
                           range->projected_start_ns.value);
    doc_member_u64_or_null(doc, "declared_gpu_operations", range->gpu_operations.known,
                           range->gpu_operations.value);
    doc_key(doc, "join_keys");
    emit_gpu_join_keys(doc, keys);
    doc_object_end(doc);
}

static void emit_ranges(struct json_doc *doc, const struct gpu_evidence *gpu)
{
    struct gpu_availability is = gpu_available(gpu, GPU_REPORT_NVTX_RANGES);
    bool known = is.status == GPU_AVAILABLE;
    uint64_t kept = gpu->nvtx_ranges.count, total = gpu_total_rows(gpu, GPU_REPORT_NVTX_RANGES);
    struct longest longest = {0};
    if (known) longest_of(&longest, gpu->nvtx_ranges.count, range_row, gpu);
    doc_object(doc);
    emit_gpu_availability(doc, &is);
    doc_member_bool(doc, "global_duration_ranking", false);
    doc_member_string(doc, "ordering", "projected_duration_ns_desc_within_retained_sample");
    doc_member_string(doc, "sample_selection", "earliest_original_start_rows");
    doc_member_u64_or_null(doc, "population_total", known, total);
    doc_member_u64_or_null(doc, "retained_sample_total", known, kept);
    doc_member_bool_or_null(doc, "population_truncated_before_ranking", known, kept < total);
    emit_longest(doc, gpu, &longest, known, kept, emit_range_row);
    doc_object_end(doc);
}

static void emit_phase_row(struct json_doc *doc, const struct gpu_evidence *gpu, size_t row)
{
    emit_gpu_phase_row(doc, &gpu->phase_attribution.at[row]);
}

static void emit_attributed(struct json_doc *doc, const struct gpu_evidence *gpu,
                            const struct gpu_availability *both)
{
    bool known = both->status == GPU_AVAILABLE;
    uint64_t total = gpu->phase_attribution.count;
    struct longest longest = {0};
    if (known) longest_of(&longest, gpu->phase_attribution.count, phase_row, gpu);
    doc_object(doc);
    emit_gpu_availability(doc, both);
    doc_member_string(doc, "ordering", "gpu_busy_ns_desc_across_normalized_population");
    doc_member_u64_or_null(doc, "population_total", known, total);
    emit_longest(doc, gpu, &longest, known, total, emit_phase_row);
    doc_object_end(doc);
}

static void emit_phases(struct json_doc *doc, const void *object)
{
    static const enum gpu_report reports[] = {GPU_REPORT_NVTX_RANGES, GPU_REPORT_TIMELINE};
    const struct gpu_evidence *gpu = gpu_of(object);
    struct gpu_availability both = gpu_all_available(gpu, reports, 2);
    doc_object(doc);
    emit_gpu_availability(doc, &both);
    emit_binding(doc, gpu);
    doc_member_string(doc, "clock_plane", "nsight_projected_not_host_aligned");
    emit_required(doc, gpu, reports, 2);
    doc_key(doc, "attributed_phases");
    emit_attributed(doc, gpu, &both);
    doc_key(doc, "projected_ranges");
    emit_ranges(doc, gpu);
    doc_object_end(doc);
}

const struct query_kind query_gpu_phases = {
    .name = "gpu-phases",
    .about = "ranges projected on the GPU by Nsight, and the GPU time attributed to them",
    .rows = "*",
    .emit = emit_phases,
};

/* ---- gpu-kernels ---- */

static void emit_kernel_row(struct json_doc *doc, const struct gpu_evidence *gpu, size_t row)
{
    emit_gpu_summary_row(doc, &gpu->kernels.at[row]);
}

static void emit_kernels(struct json_doc *doc, const void *object)
{
    static const enum gpu_report reports[] = {GPU_REPORT_KERNELS};
    const struct gpu_evidence *gpu = gpu_of(object);
    struct gpu_availability is = gpu_available(gpu, reports[0]);
    bool known = is.status == GPU_AVAILABLE;
    uint64_t total = gpu_total_rows(gpu, reports[0]);
    struct longest longest = {0};
    if (known) longest_of(&longest, gpu->kernels.count, kernel_row, gpu);
    doc_object(doc);
    emit_gpu_availability(doc, &is);
    emit_binding(doc, gpu);
    doc_member_string(doc, "clock_plane", "nsight_gpu");
    emit_required(doc, gpu, reports, 1);
    doc_member_u64_or_null(doc, "population_total", known, total);
    emit_longest(doc, gpu, &longest, known, total, emit_kernel_row);
    doc_object_end(doc);
}

const struct query_kind query_gpu_kernels = {
    .name = "gpu-kernels",
    .about = "the 50 kernels with the most GPU time in Nsight's kernel summary",
    .rows = "rows",
    .emit = emit_kernels,
};
