/* Kind gpu-attribution-gaps: where labels, projected ranges and attributed GPU time do not meet. */
#include <stdlib.h>

#include "analyzer/cmd/gpu_view.h"
#include "analyzer/cmd/query.h"

struct gaps {
    struct gpu_texts diagnostics;
    struct gpu_texts attributed_unexpected; /* byte order */
    struct gpu_texts matched_without_busy;  /* order of the ledger */
    struct gpu_limit *truncated;            /* byte order of files */
    size_t truncated_count;
};

static int compare_texts(const void *a, const void *b)
{
    return text_compare(*(const struct cg_text *)a, *(const struct cg_text *)b);
}

static bool holds(const struct cg_text *sorted, size_t count, struct cg_text text)
{
    return count > 0 && bsearch(&text, sorted, count, sizeof *sorted, compare_texts) != NULL;
}

/* Phases that nobody expected, and labels that were matched but got no GPU time. */
static bool cross_check(const struct gpu_evidence *gpu, struct gaps *gaps)
{
    const struct gpu_texts *expected = &gpu->correlation.ledger.expected;
    const struct gpu_texts *matched = &gpu->correlation.ledger.matched;
    size_t phase_count = gpu->phase_attribution.count;
    struct cg_text *phases = calloc(phase_count + 1, sizeof *phases);
    struct cg_text *wanted = calloc(expected->count + 1, sizeof *wanted);
    gaps->attributed_unexpected.at = calloc(phase_count + 1, sizeof *phases);
    gaps->matched_without_busy.at = calloc(matched->count + 1, sizeof *phases);
    bool good = phases && wanted && gaps->attributed_unexpected.at && gaps->matched_without_busy.at;
    if (good) {
        for (size_t i = 0; i < phase_count; i++)
            phases[i] = gpu->phase_attribution.at[i].semantic_key;
        for (size_t i = 0; i < expected->count; i++)
            wanted[i] = expected->at[i];
        qsort(phases, phase_count, sizeof *phases, compare_texts);
        qsort(wanted, expected->count, sizeof *wanted, compare_texts);
        for (size_t i = 0; i < phase_count; i++)
            if ((i == 0 || text_compare(phases[i], phases[i - 1]) != 0) &&
                !holds(wanted, expected->count, phases[i]))
                gaps->attributed_unexpected.at[gaps->attributed_unexpected.count++] = phases[i];
        for (size_t i = 0; i < matched->count; i++)
            if (!holds(phases, phase_count, matched->at[i]))
                gaps->matched_without_busy.at[gaps->matched_without_busy.count++] = matched->at[i];
    }
    free(phases);
    free(wanted);
    return good;
}

static bool find_truncated(const struct gpu_evidence *gpu, struct gaps *gaps)
{
    gaps->truncated = calloc(gpu->limit_count + 1, sizeof *gaps->truncated);
    if (!gaps->truncated) return false;
    for (size_t i = 0; i < gpu->limit_count; i++)
        if (gpu->limits[i].truncated) gaps->truncated[gaps->truncated_count++] = gpu->limits[i];
    return true;
}

static void release(struct query *query)
{
    struct gaps *gaps = query->state;
    if (!gaps) return;
    free(gaps->diagnostics.at);
    free(gaps->attributed_unexpected.at);
    free(gaps->matched_without_busy.at);
    free(gaps->truncated);
    free(gaps);
}

static int prepare(struct query *query, struct cg_error *error)
{
    const struct gpu_evidence *gpu = &query->input->evidence.gpu;
    struct gaps *gaps = calloc(1, sizeof *gaps);
    query->state = gaps;
    if (gaps && gpu_sorted_diagnostics(gpu, &gaps->diagnostics) && cross_check(gpu, gaps) &&
        find_truncated(gpu, gaps))
        return 0;
    release(query);
    return cg_out_of_memory(error);
}

static void emit_duplicate(struct json_doc *doc, const void *list, uint64_t i)
{
    emit_gpu_duplicate(doc, &((const struct gpu_ledger *)list)->duplicates[i]);
}

static void emit_truncated(struct json_doc *doc, const void *list, uint64_t i)
{
    const struct gpu_limit *limit = &((const struct gpu_limit *)list)[i];
    doc_object(doc);
    doc_member_text(doc, "report", limit->file);
    doc_member_u64(doc, "displayed_rows", limit->displayed_rows);
    doc_member_u64(doc, "total_rows", limit->total_rows);
    doc_object_end(doc);
}

static void emit_labels(struct json_doc *doc, const char *key, const struct gpu_texts *texts)
{
    doc_key(doc, key);
    emit_bounded_texts(doc, texts, QUERY_LABELS);
}

static void emit_known(struct json_doc *doc, const struct gpu_evidence *gpu, const struct gaps *gaps)
{
    const struct gpu_ledger *ledger = &gpu->correlation.ledger;
    doc_member_bool(doc, "correlation_complete", gpu->correlation.complete);
    doc_member_text(doc, "correlation_reason", gpu->correlation.reason);
    doc_member_u64(doc, "exactly_attributed_phase_rows", gpu->phase_attribution.count);
    doc_member_u64(doc, "projected_range_rows", gpu_total_rows(gpu, GPU_REPORT_NVTX_RANGES));
    emit_labels(doc, "attributed_unexpected", &gaps->attributed_unexpected);
    emit_labels(doc, "matched_without_exact_gpu_busy_attribution", &gaps->matched_without_busy);
    emit_labels(doc, "missing_expected", &ledger->missing_expected);
    emit_labels(doc, "unexpected_cpu_only", &ledger->unexpected_cpu_only);
    emit_labels(doc, "unexpected_observed", &ledger->unexpected_observed);
    doc_key(doc, "duplicate_labels");
    emit_bounded(doc, ledger->duplicate_count, QUERY_LABELS, emit_duplicate, ledger);
    doc_key(doc, "truncated_reports");
    emit_bounded(doc, gaps->truncated_count, QUERY_ROWS, emit_truncated, gaps->truncated);
}

static void emit_unknown(struct json_doc *doc)
{
    static const char *const keys[] = {"attributed_unexpected",
                                       "correlation_complete",
                                       "correlation_reason",
                                       "duplicate_labels",
                                       "exactly_attributed_phase_rows",
                                       "matched_without_exact_gpu_busy_attribution",
                                       "missing_expected",
                                       "projected_range_rows",
                                       "truncated_reports",
                                       "unexpected_cpu_only",
                                       "unexpected_observed"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        doc_member_null(doc, keys[i]);
}

static void emit_attribution_gaps(struct json_doc *doc, const void *object)
{
    static const enum gpu_report reports[] = {GPU_REPORT_NVTX_RANGES, GPU_REPORT_TIMELINE};
    const struct query *query = object;
    const struct gpu_evidence *gpu = &query->input->evidence.gpu;
    const struct gaps *gaps = query->state;
    struct gpu_availability both = gpu_all_available(gpu, reports, 2);
    doc_object(doc);
    emit_gpu_availability(doc, &both);
    doc_member_string(doc, "provenance_binding", gpu_binding_name(gpu->binding));
    doc_key(doc, "required_reports");
    emit_gpu_required_reports(doc, gpu, reports, 2);
    if (both.status == GPU_AVAILABLE)
        emit_known(doc, gpu, gaps);
    else
        emit_unknown(doc);
    doc_key(doc, "diagnostics");
    emit_bounded_texts(doc, &gaps->diagnostics, QUERY_DIAGNOSTICS);
    doc_object_end(doc);
}

const struct query_kind query_gpu_attribution_gaps = {
    .name = "gpu-attribution-gaps",
    .about = "where labels, projected ranges and attributed GPU time do not meet",
    .prepare = prepare,
    .release = release,
    .emit = emit_attribution_gaps,
};
