/* The GPU object as it is written (doc/spec/nsight.md 3, 6 to 11). */
#include "analyzer/evidence/emit.h"

const char *gpu_status_name(enum gpu_status status)
{
    static const char *const names[] = {
        [GPU_AVAILABLE] = "available", [GPU_UNAVAILABLE] = "unavailable", [GPU_FAILED] = "failed"};
    return names[status];
}

const char *gpu_binding_name(enum gpu_binding binding)
{
    static const char *const names[] = {
        [GPU_BOUND] = "bound", [GPU_PARTIAL] = "partial", [GPU_MISMATCH] = "mismatch"};
    return names[binding];
}

void emit_text(struct json_doc *doc, struct cg_text text)
{
    if (text.bytes)
        doc_string_bytes(doc, text.bytes, text.length);
    else
        doc_null(doc);
}

void emit_texts(struct json_doc *doc, const struct gpu_texts *texts)
{
    doc_array(doc);
    for (size_t i = 0; i < texts->count; i++)
        emit_text(doc, texts->at[i]);
    doc_array_end(doc);
}

static void member_texts(struct json_doc *doc, const char *key, const struct gpu_texts *texts)
{
    doc_key(doc, key);
    emit_texts(doc, texts);
}
/* Left out when empty. */
static void member_some_texts(struct json_doc *doc, const char *key, const struct gpu_texts *texts)
{
    if (texts->count) member_texts(doc, key, texts);
}

/* ---- files and manifest ---- */

static void emit_artifact(struct json_doc *doc, const struct gpu_artifact *artifact)
{
    doc_object(doc);
    member_text(doc, "path", artifact->path);
    doc_member_u64(doc, "size_bytes", artifact->size_bytes);
    member_text(doc, "sha256", artifact->sha256);
    doc_object_end(doc);
}

static void member_artifacts(struct json_doc *doc, const char *key, const struct gpu_artifacts *artifacts)
{
    doc_key(doc, key);
    doc_array(doc);
    for (size_t i = 0; i < artifacts->count; i++)
        emit_artifact(doc, &artifacts->at[i]);
    doc_array_end(doc);
}

static void member_run(struct json_doc *doc, const struct gpu_manifest *manifest)
{
    doc_key(doc, "run");
    doc_object(doc);
    member_text(doc, "id", manifest->run_id);
    member_opt_text(doc, "started_at", manifest->started_at);
    doc_object_end(doc);
    doc_key(doc, "correlation");
    doc_object(doc);
    member_text(doc, "id", manifest->correlation_id);
    doc_object_end(doc);
    doc_key(doc, "tool");
    doc_object(doc);
    member_text(doc, "name", manifest->tool_name);
    member_text(doc, "version", manifest->tool_version);
    doc_object_end(doc);
}

void emit_gpu_manifest(struct json_doc *doc, const struct gpu_manifest *manifest)
{
    doc_object(doc);
    member_text(doc, "schema", manifest->schema);
    member_run(doc, manifest);
    member_texts(doc, "commands", &manifest->commands);
    doc_key(doc, "hardware");
    doc_object(doc);
    member_opt_text(doc, "host", manifest->host);
    member_texts(doc, "devices", &manifest->devices);
    doc_object_end(doc);
    doc_key(doc, "source_revisions");
    doc_object(doc);
    for (size_t i = 0; i < manifest->source_revision_count; i++) {
        const struct gpu_pair *pair = &manifest->source_revisions[i];
        doc_key_bytes(doc, pair->key.bytes, pair->key.length);
        emit_text(doc, pair->value);
    }
    doc_object_end(doc);
    member_texts(doc, "required_semantic_labels", &manifest->required_labels);
    member_some_texts(doc, "gpu_expected_semantic_labels", &manifest->gpu_expected_labels);
    member_some_texts(doc, "cpu_only_semantic_labels", &manifest->cpu_only_labels);
    member_artifacts(doc, "artifacts", &manifest->artifacts);
    doc_object_end(doc);
}

static void emit_binding(struct json_doc *doc, const struct gpu_evidence *gpu)
{
    doc_object(doc);
    doc_member_string(doc, "binding", gpu_binding_name(gpu->binding));
    if (gpu->manifest.present) {
        doc_key(doc, "manifest");
        emit_gpu_manifest(doc, &gpu->manifest);
    }
    member_texts(doc, "diagnostics", &gpu->provenance_diagnostics);
    doc_object_end(doc);
}

/* ---- coverage, correlation, limits ---- */

void emit_gpu_coverage(struct json_doc *doc, const struct gpu_evidence *gpu)
{
#define COVERAGE_MEMBER(constant, flag, kind, rows)                                                          \
    doc_member_bool(doc, #flag, gpu->coverage[GPU_REPORT_##constant]);
    doc_object(doc);
    GPU_REPORTS(COVERAGE_MEMBER)
    doc_object_end(doc);
}

void emit_gpu_duplicate(struct json_doc *doc, const struct gpu_duplicate *duplicate)
{
    doc_object(doc);
    member_text(doc, "semantic_key", duplicate->semantic_key);
    doc_member_u64(doc, "occurrences", duplicate->occurrences);
    doc_object_end(doc);
}

static void emit_ledger(struct json_doc *doc, const struct gpu_ledger *ledger)
{
    doc_object(doc);
    member_texts(doc, "expected", &ledger->expected);
    member_some_texts(doc, "cpu_only", &ledger->cpu_only);
    member_texts(doc, "observed", &ledger->observed);
    member_texts(doc, "matched", &ledger->matched);
    member_texts(doc, "missing_expected", &ledger->missing_expected);
    member_texts(doc, "unexpected_observed", &ledger->unexpected_observed);
    member_some_texts(doc, "unexpected_cpu_only", &ledger->unexpected_cpu_only);
    doc_key(doc, "duplicates");
    doc_array(doc);
    for (size_t i = 0; i < ledger->duplicate_count; i++)
        emit_gpu_duplicate(doc, &ledger->duplicates[i]);
    doc_array_end(doc);
    doc_object_end(doc);
}

static void emit_correlation(struct json_doc *doc, const struct gpu_correlation *correlation)
{
    doc_object(doc);
    member_text(doc, "mode", correlation->mode);
    doc_member_bool(doc, "clock_aligned", correlation->clock_aligned);
    doc_member_bool(doc, "complete", correlation->complete);
    doc_key(doc, "ledger");
    emit_ledger(doc, &correlation->ledger);
    member_opt_text(doc, "reason", correlation->reason);
    member_opt_text(doc, "label_form", correlation->label_form);
    doc_object_end(doc);
}

static void member_limits(struct json_doc *doc, const struct gpu_evidence *gpu)
{
    doc_key(doc, "limits");
    doc_object(doc);
    for (size_t i = 0; i < gpu->limit_count; i++) {
        const struct gpu_limit *limit = &gpu->limits[i];
        doc_key_bytes(doc, limit->file.bytes, limit->file.length);
        doc_object(doc);
        doc_member_u64(doc, "total_rows", limit->total_rows);
        doc_member_u64(doc, "displayed_rows", limit->displayed_rows);
        doc_member_bool(doc, "truncated", limit->truncated);
        doc_object_end(doc);
    }
    doc_object_end(doc);
}

/* ---- rows ---- */

void emit_gpu_summary_row(struct json_doc *doc, const struct gpu_summary_row *row)
{
    doc_object(doc);
    member_text(doc, "name", row->name);
    doc_member_u64(doc, "total_ns", row->total_ns);
    member_opt_u64(doc, "count", row->count.known, row->count.value);
    member_opt_u64(doc, "average_ns", row->average_ns.known, row->average_ns.value);
    member_opt_u64(doc, "minimum_ns", row->minimum_ns.known, row->minimum_ns.value);
    member_opt_u64(doc, "maximum_ns", row->maximum_ns.known, row->maximum_ns.value);
    member_opt_text(doc, "category", row->category);
    doc_object_end(doc);
}

void emit_gpu_timeline_row(struct json_doc *doc, const struct gpu_timeline_row *row)
{
    doc_object(doc);
    member_text(doc, "name", row->name);
    member_text(doc, "kind", row->kind);
    member_opt_text(doc, "device", row->device);
    member_opt_text(doc, "context", row->context);
    member_opt_text(doc, "stream", row->stream);
    member_opt_text(doc, "correlation_id", row->correlation_id);
    member_opt_text(doc, "semantic_key", row->semantic_key);
    doc_member_u64(doc, "start_ns", row->start_ns);
    doc_member_u64(doc, "duration_ns", row->duration_ns);
    member_opt_u64(doc, "projected_start_ns", row->projected_start_ns.known, row->projected_start_ns.value);
    member_opt_u64(doc, "projected_duration_ns", row->projected_duration_ns.known,
                   row->projected_duration_ns.value);
    member_opt_u64(doc, "gpu_operations", row->gpu_operations.known, row->gpu_operations.value);
    doc_object_end(doc);
}

void emit_gpu_join_keys(struct json_doc *doc, unsigned join_keys)
{
    static const char *const names[] = {"correlation_id", "device", "context", "stream"};
    doc_array(doc);
    for (unsigned i = 0; i < COUNT_OF(names); i++)
        if (join_keys >> i & 1) doc_string(doc, names[i]);
    doc_array_end(doc);
}

void emit_gpu_phase_row(struct json_doc *doc, const struct gpu_phase_row *row)
{
    doc_object(doc);
    member_text(doc, "semantic_key", row->semantic_key);
    doc_member_bool(doc, "clock_aligned", false);
    doc_member_u64(doc, "projected_start_ns", row->projected_start_ns);
    doc_member_u64(doc, "projected_duration_ns", row->projected_duration_ns);
    doc_member_u64(doc, "gpu_busy_ns", row->gpu_busy_ns);
    doc_member_u64(doc, "gpu_operation_count", row->gpu_operation_count);
    doc_key(doc, "join_keys");
    emit_gpu_join_keys(doc, row->join_keys);
    doc_object_end(doc);
}

#define MEMBER_ROWS(doc, key, rows, emit)                                                                    \
    do {                                                                                                     \
        doc_key(doc, key);                                                                                   \
        doc_array(doc);                                                                                      \
        for (size_t i = 0; i < (rows)->count; i++)                                                           \
            emit(doc, &(rows)->at[i]);                                                                       \
        doc_array_end(doc);                                                                                  \
    } while (0)

void emit_gpu(struct json_doc *doc, const struct gpu_evidence *gpu)
{
    doc_object(doc);
    doc_member_string(doc, "status", gpu_status_name(gpu->status));
    member_opt_text(doc, "reason", gpu->reason);
    if (gpu->raw_report.path.bytes) {
        doc_key(doc, "raw_report");
        emit_artifact(doc, &gpu->raw_report);
    }
    member_artifacts(doc, "source_csv", &gpu->source_csv);
    doc_key(doc, "provenance");
    emit_binding(doc, gpu);
    doc_key(doc, "coverage");
    emit_gpu_coverage(doc, gpu);
    doc_key(doc, "correlation");
    emit_correlation(doc, &gpu->correlation);
    member_texts(doc, "diagnostics", &gpu->diagnostics);
    member_limits(doc, gpu);
    MEMBER_ROWS(doc, "kernels", &gpu->kernels, emit_gpu_summary_row);
    MEMBER_ROWS(doc, "runtime_calls", &gpu->runtime_calls, emit_gpu_summary_row);
    MEMBER_ROWS(doc, "memory_operations", &gpu->memory_operations, emit_gpu_summary_row);
    MEMBER_ROWS(doc, "nvtx_ranges", &gpu->nvtx_ranges, emit_gpu_timeline_row);
    MEMBER_ROWS(doc, "gpu_timeline", &gpu->gpu_timeline, emit_gpu_timeline_row);
    MEMBER_ROWS(doc, "phase_attribution", &gpu->phase_attribution, emit_gpu_phase_row);
    doc_object_end(doc);
}
