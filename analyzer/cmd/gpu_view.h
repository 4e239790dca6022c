/* GPU evidence as overview, summary and the gpu-* kinds of query show it (doc/spec/cli.md 4.4). */
#ifndef CGTRACE_ANALYZER_CMD_GPU_VIEW_H
#define CGTRACE_ANALYZER_CMD_GPU_VIEW_H

#include "analyzer/evidence/evidence.h"

/* Whether one report, or several together, can be relied on. */
struct gpu_availability {
    enum gpu_status status;
    char reason[320]; /* empty when available */
};
struct gpu_availability gpu_available(const struct gpu_evidence *gpu, enum gpu_report report);
struct gpu_availability gpu_all_available(const struct gpu_evidence *gpu, const enum gpu_report *reports,
                                          size_t count);

/* Rows that a report had, and rows of it that are kept. */
uint64_t gpu_total_rows(const struct gpu_evidence *gpu, enum gpu_report report);
uint64_t gpu_kept_rows(const struct gpu_evidence *gpu, enum gpu_report report);

/* The members `reason` and `status` of the object being written. */
void emit_gpu_availability(struct json_doc *doc, const struct gpu_availability *availability);
/* The values of the members of these names. */
void emit_gpu_overview(struct json_doc *doc, const struct gpu_evidence *gpu); /* "gpu summary" */
void emit_gpu_absence(struct json_doc *doc, const struct gpu_evidence *gpu);  /* its first members alone */
/* The members `correlation`, `coverage` and `normalized_rows` of the object being written. */
void emit_gpu_report_members(struct json_doc *doc, const struct gpu_evidence *gpu);
void emit_gpu_required_reports(struct json_doc *doc, const struct gpu_evidence *gpu,
                               const enum gpu_report *reports, size_t count);
/* All diagnostics, sorted, each once: texts->at is the caller's to free, the texts stay those of gpu. False
 * when memory is short. */
bool gpu_sorted_diagnostics(const struct gpu_evidence *gpu, struct gpu_texts *texts);
/* A bounded list of texts; for emit_bounded(). */
void emit_bounded_texts(struct json_doc *doc, const struct gpu_texts *texts, uint64_t cap);

#endif
