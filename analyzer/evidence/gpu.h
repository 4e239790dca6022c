/* GPU evidence: what Nsight Systems reports say, or that there are none (doc/spec/nsight.md 11; the member
 * `gpu` of the evidence packet). Everything in it is owned by it; texts by its arena. */
#ifndef CGTRACE_ANALYZER_EVIDENCE_GPU_H
#define CGTRACE_ANALYZER_EVIDENCE_GPU_H

#include "analyzer/evidence/text.h"
#include "common/json_doc.h"

enum gpu_status { GPU_AVAILABLE, GPU_UNAVAILABLE, GPU_FAILED };
enum gpu_binding { GPU_BOUND, GPU_PARTIAL, GPU_MISMATCH };

/* The five reports, in order of their coverage flags: R(constant, coverage member, report kind, rows). */
#define GPU_REPORTS(R)                                                                                       \
    R(KERNELS, kernel_summary, "cuda_gpu_kern_sum", kernels)                                                 \
    R(RUNTIME_CALLS, runtime_summary, "cuda_api_sum", runtime_calls)                                         \
    R(MEMORY_OPERATIONS, memory_summary, "cuda_gpu_mem_time_sum", memory_operations)                         \
    R(NVTX_RANGES, nvtx_projection, "nvtx_gpu_proj_trace", nvtx_ranges)                                      \
    R(TIMELINE, gpu_timeline, "cuda_gpu_trace", gpu_timeline)
#define GPU_REPORT_CONSTANT(constant, coverage, kind, rows) GPU_REPORT_##constant,
enum gpu_report { GPU_REPORTS(GPU_REPORT_CONSTANT) GPU_REPORT_COUNT };
#undef GPU_REPORT_CONSTANT
/* Names by report: "cuda_gpu_kern_sum" and so on. */
extern const char *const gpu_report_kind[GPU_REPORT_COUNT];

struct gpu_u64 {
    bool known;
    uint64_t value;
};
/* A text with bytes NULL is absent. */
struct gpu_texts {
    struct cg_text *at;
    size_t count;
};
struct gpu_artifact {
    struct cg_text path;
    uint64_t size_bytes;
    struct cg_text sha256;
};
struct gpu_artifacts {
    struct gpu_artifact *at;
    size_t count;
};
struct gpu_pair {
    struct cg_text key, value;
};
/* capture-manifest.json (nsight.md 3). */
struct gpu_manifest {
    bool present;
    struct cg_text schema, run_id, started_at, correlation_id, tool_name, tool_version, host;
    struct gpu_texts commands, devices, required_labels, gpu_expected_labels, cpu_only_labels;
    struct gpu_pair *source_revisions; /* byte order of keys */
    size_t source_revision_count;
    struct gpu_artifacts artifacts;
};
struct gpu_duplicate {
    struct cg_text semantic_key;
    uint64_t occurrences;
};
struct gpu_ledger {
    struct gpu_texts expected, cpu_only, observed, matched, missing_expected, unexpected_observed,
        unexpected_cpu_only;
    struct gpu_duplicate *duplicates;
    size_t duplicate_count;
};
struct gpu_correlation {
    struct cg_text mode; /* none or nvtx_projected_range */
    bool clock_aligned, complete;
    struct gpu_ledger ledger;
    struct cg_text reason;
    struct cg_text label_form; /* plain, colon, mixed or absent */
};
struct gpu_limit {
    struct cg_text file;
    uint64_t total_rows, displayed_rows;
    bool truncated;
};
struct gpu_summary_row {
    struct cg_text name;
    uint64_t total_ns;
    struct gpu_u64 count, average_ns, minimum_ns, maximum_ns;
    struct cg_text category;
};
struct gpu_summary_rows {
    struct gpu_summary_row *at;
    size_t count;
};
struct gpu_timeline_row {
    struct cg_text name, kind, device, context, stream, correlation_id, semantic_key;
    uint64_t start_ns, duration_ns;
    struct gpu_u64 projected_start_ns, projected_duration_ns, gpu_operations;
};
struct gpu_timeline_rows {
    struct gpu_timeline_row *at;
    size_t count;
};
/* Join keys of a range, as bits in writing order. */
enum { GPU_JOIN_CORRELATION_ID = 1, GPU_JOIN_DEVICE = 2, GPU_JOIN_CONTEXT = 4, GPU_JOIN_STREAM = 8 };
struct gpu_phase_row {
    struct cg_text semantic_key;
    uint64_t projected_start_ns, projected_duration_ns, gpu_busy_ns, gpu_operation_count;
    unsigned join_keys;
};
struct gpu_phase_rows {
    struct gpu_phase_row *at;
    size_t count;
};

struct gpu_evidence {
    struct text_arena arena;
    enum gpu_status status;
    struct cg_text reason;
    struct gpu_artifact raw_report; /* path absent: none */
    struct gpu_artifacts source_csv;
    enum gpu_binding binding;
    struct gpu_manifest manifest;
    struct gpu_texts provenance_diagnostics;
    bool coverage[GPU_REPORT_COUNT];
    bool parse_failed[GPU_REPORT_COUNT]; /* not written; availability of each report (cli.md 4.4) */
    struct gpu_correlation correlation;
    struct gpu_texts diagnostics;
    struct gpu_limit *limits; /* byte order of files */
    size_t limit_count;
    struct gpu_summary_rows kernels, runtime_calls, memory_operations;
    struct gpu_timeline_rows nvtx_ranges, gpu_timeline;
    struct gpu_phase_rows phase_attribution;
};

/* Evidence without any report: status unavailable or failed with this reason (nsight.md 5, "empty evidence").
 * False when memory is short. */
bool gpu_make_empty(struct gpu_evidence *gpu, enum gpu_status status, const char *reason);
/* Binds to the trace's ids (nsight.md 10): sets binding, adds diagnostics. Once, after the reports are read.
 */
bool gpu_bind(struct gpu_evidence *gpu, struct cg_text run_id, struct cg_text correlation_id);
void gpu_free(struct gpu_evidence *gpu);

/* Adds a text (copied into the arena), keeping order. False when memory is short. */
bool gpu_texts_add(struct text_arena *arena, struct gpu_texts *texts, struct cg_text text);

/* ---- writing ---- */

const char *gpu_status_name(enum gpu_status status);
const char *gpu_binding_name(enum gpu_binding binding);
/* The whole object, and its parts that queries show by themselves. */
void emit_gpu(struct json_doc *doc, const struct gpu_evidence *gpu);
void emit_gpu_manifest(struct json_doc *doc, const struct gpu_manifest *manifest);
void emit_gpu_coverage(struct json_doc *doc, const struct gpu_evidence *gpu);
void emit_gpu_summary_row(struct json_doc *doc, const struct gpu_summary_row *row);
void emit_gpu_timeline_row(struct json_doc *doc, const struct gpu_timeline_row *row);
void emit_gpu_phase_row(struct json_doc *doc, const struct gpu_phase_row *row);
void emit_gpu_duplicate(struct json_doc *doc, const struct gpu_duplicate *duplicate);
/* The names of the keys in these bits, in writing order. */
void emit_gpu_join_keys(struct json_doc *doc, unsigned join_keys);
void emit_text(struct json_doc *doc, struct cg_text text); /* null when absent */
void emit_texts(struct json_doc *doc, const struct gpu_texts *texts);

#endif
