#include "analyzer/cmd/gpu_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/cmd/query.h"

struct gpu_availability gpu_available(const struct gpu_evidence *gpu, enum gpu_report report)
{
    struct gpu_availability is = {.status = GPU_AVAILABLE};
    if (gpu->coverage[report] && !gpu->parse_failed[report]) return is;
    bool failed = gpu->parse_failed[report] || gpu->status == GPU_FAILED;
    is.status = failed ? GPU_FAILED : GPU_UNAVAILABLE;
    snprintf(is.reason, sizeof is.reason, "report %s %s: its population is unknown, not zero",
             gpu_report_kind[report], failed ? "could not be normalised" : "was not normalised");
    return is;
}

struct gpu_availability gpu_all_available(const struct gpu_evidence *gpu, const enum gpu_report *reports,
                                          size_t count)
{
    struct gpu_availability all = {.status = GPU_AVAILABLE};
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        struct gpu_availability one = gpu_available(gpu, reports[i]);
        if (one.status == GPU_AVAILABLE) continue;
        if (all.status != GPU_FAILED) all.status = one.status;
        used += (size_t)snprintf(
            all.reason + used, sizeof all.reason - used, "%s%s",
            used ? ", " : "needs reports that are not available: ", gpu_report_kind[reports[i]]);
    }
    return all;
}

uint64_t gpu_kept_rows(const struct gpu_evidence *gpu, enum gpu_report report)
{
    switch (report) {
#define KEPT_ROWS(constant, coverage, kind, rows)                                                            \
    case GPU_REPORT_##constant:                                                                              \
        return gpu->rows.count;
        GPU_REPORTS(KEPT_ROWS)
#undef KEPT_ROWS
    case GPU_REPORT_COUNT:
        break;
    }
    return 0;
}

static bool contains(struct cg_text text, const char *part)
{
    return text.bytes && memmem(text.bytes, text.length, part, strlen(part)) != NULL;
}

uint64_t gpu_total_rows(const struct gpu_evidence *gpu, enum gpu_report report)
{
    uint64_t total = 0, kept = gpu_kept_rows(gpu, report);
    for (size_t i = 0; i < gpu->limit_count; i++)
        if (contains(gpu->limits[i].file, gpu_report_kind[report]))
            total = cg_sat_add(total, gpu->limits[i].total_rows);
    return total > kept ? total : kept;
}

void emit_gpu_availability(struct json_doc *doc, const struct gpu_availability *availability)
{
    doc_member_string(doc, "reason", availability->reason[0] ? availability->reason : NULL);
    doc_member_string(doc, "status", gpu_status_name(availability->status));
}

static void emit_attributed_phases(struct json_doc *doc, const struct gpu_evidence *gpu)
{
    static const enum gpu_report reports[] = {GPU_REPORT_NVTX_RANGES, GPU_REPORT_TIMELINE};
    struct gpu_availability both = gpu_all_available(gpu, reports, 2);
    doc_object(doc);
    emit_gpu_availability(doc, &both);
    doc_member_u64_or_null(doc, "total", both.status == GPU_AVAILABLE, gpu->phase_attribution.count);
    doc_object_end(doc);
}

static void emit_correlation_brief(struct json_doc *doc, const struct gpu_evidence *gpu)
{
    struct gpu_availability ranges = gpu_available(gpu, GPU_REPORT_NVTX_RANGES);
    doc_object(doc);
    doc_member_bool_or_null(doc, "complete", ranges.status == GPU_AVAILABLE, gpu->correlation.complete);
    emit_gpu_availability(doc, &ranges);
    doc_object_end(doc);
}

static void emit_normalized_rows(struct json_doc *doc, const struct gpu_evidence *gpu)
{
    static const struct {
        const char *name;
        enum gpu_report report;
    } rows[] = {{"gpu_timeline", GPU_REPORT_TIMELINE},
                {"kernels", GPU_REPORT_KERNELS},
                {"memory_operations", GPU_REPORT_MEMORY_OPERATIONS},
                {"projected_ranges", GPU_REPORT_NVTX_RANGES},
                {"runtime_calls", GPU_REPORT_RUNTIME_CALLS}};
    doc_object(doc);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct gpu_availability is = gpu_available(gpu, rows[i].report);
        doc_key(doc, rows[i].name);
        doc_object(doc);
        emit_gpu_availability(doc, &is);
        doc_member_u64_or_null(doc, "total", is.status == GPU_AVAILABLE, gpu_total_rows(gpu, rows[i].report));
        doc_object_end(doc);
    }
    doc_object_end(doc);
}

void emit_gpu_report_members(struct json_doc *doc, const struct gpu_evidence *gpu)
{
    doc_key(doc, "correlation");
    emit_correlation_brief(doc, gpu);
    doc_key(doc, "coverage");
    emit_gpu_coverage(doc, gpu);
    doc_key(doc, "normalized_rows");
    emit_normalized_rows(doc, gpu);
}

static void begin_overview(struct json_doc *doc, const struct gpu_evidence *gpu)
{
    doc_object(doc);
    doc_member_string(doc, "status", gpu_status_name(gpu->status));
    doc_key(doc, "reason");
    emit_text(doc, gpu->reason);
    doc_member_string(doc, "provenance_binding", gpu_binding_name(gpu->binding));
    doc_member_u64(doc, "diagnostic_count", gpu->diagnostics.count + gpu->provenance_diagnostics.count);
}

void emit_gpu_absence(struct json_doc *doc, const struct gpu_evidence *gpu)
{
    begin_overview(doc, gpu);
    doc_object_end(doc);
}

void emit_gpu_overview(struct json_doc *doc, const struct gpu_evidence *gpu)
{
    begin_overview(doc, gpu);
    doc_key(doc, "attributed_phases");
    emit_attributed_phases(doc, gpu);
    emit_gpu_report_members(doc, gpu);
    doc_object_end(doc);
}

void emit_gpu_required_reports(struct json_doc *doc, const struct gpu_evidence *gpu,
                               const enum gpu_report *reports, size_t count)
{
    doc_object(doc);
    for (size_t i = 0; i < count; i++) {
        struct gpu_availability is = gpu_available(gpu, reports[i]);
        doc_key(doc, gpu_report_kind[reports[i]]);
        doc_object(doc);
        if (is.status != GPU_AVAILABLE) doc_member_string(doc, "reason", is.reason);
        doc_member_string(doc, "status", gpu_status_name(is.status));
        doc_object_end(doc);
    }
    doc_object_end(doc);
}

static int compare_texts(const void *a, const void *b)
{
    return text_compare(*(const struct cg_text *)a, *(const struct cg_text *)b);
}

bool gpu_sorted_diagnostics(const struct gpu_evidence *gpu, struct gpu_texts *texts)
{
    const struct gpu_texts *const sources[] = {&gpu->provenance_diagnostics, &gpu->diagnostics};
    size_t count = 0, distinct = 0;
    struct cg_text *all = calloc(sources[0]->count + sources[1]->count + 1, sizeof *all);
    if (!all) return false;
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < sources[k]->count; i++)
            all[count++] = sources[k]->at[i];
    qsort(all, count, sizeof *all, compare_texts);
    for (size_t i = 0; i < count; i++)
        if (distinct == 0 || text_compare(all[i], all[distinct - 1]) != 0) all[distinct++] = all[i];
    *texts = (struct gpu_texts){all, distinct};
    return true;
}

static void emit_one_text(struct json_doc *doc, const void *list, uint64_t i)
{
    emit_text(doc, ((const struct gpu_texts *)list)->at[i]);
}

void emit_bounded_texts(struct json_doc *doc, const struct gpu_texts *texts, uint64_t cap)
{
    emit_bounded(doc, texts->count, cap, emit_one_text, texts);
}
