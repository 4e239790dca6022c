#include "analyzer/evidence/gpu.h"

#include <stdlib.h>
#include <string.h>

#define GPU_REPORT_KIND(constant, coverage, kind, rows) kind,
const char *const gpu_report_kind[GPU_REPORT_COUNT] = {GPU_REPORTS(GPU_REPORT_KIND)};

bool gpu_texts_add(struct text_arena *arena, struct gpu_texts *texts, struct cg_text text)
{
    struct cg_text copy = arena_text(arena, text.bytes, text.length);
    if (!copy.bytes) return false;
    /* Room is always the next power of two. */
    if ((texts->count & (texts->count - 1)) == 0) {
        struct cg_text *at = realloc(texts->at, (texts->count ? 2 * texts->count : 1) * sizeof *at);
        if (!at) return false;
        texts->at = at;
    }
    texts->at[texts->count++] = copy;
    return true;
}

static bool add_diagnostic(struct gpu_evidence *gpu, const char *diagnostic)
{
    return gpu_texts_add(&gpu->arena, &gpu->provenance_diagnostics,
                         (struct cg_text){diagnostic, strlen(diagnostic)});
}

bool gpu_make_empty(struct gpu_evidence *gpu, enum gpu_status status, const char *reason)
{
    *gpu = (struct gpu_evidence){.status = status, .binding = GPU_PARTIAL};
    gpu->reason = arena_string(&gpu->arena, reason);
    gpu->correlation.mode = arena_string(&gpu->arena, "none");
    gpu->correlation.reason = arena_string(&gpu->arena, "there is no NVTX projection to correlate");
    return gpu->reason.bytes && gpu->correlation.mode.bytes && gpu->correlation.reason.bytes &&
           add_diagnostic(gpu, "no manifest was loaded");
}

bool gpu_bind(struct gpu_evidence *gpu, struct cg_text run_id, struct cg_text correlation_id)
{
    if (!gpu->manifest.present) {
        gpu->binding = GPU_PARTIAL;
        return add_diagnostic(gpu, "without a manifest the run of the GPU evidence cannot be verified");
    }
    bool same_run = text_compare(gpu->manifest.run_id, run_id) == 0;
    bool same_correlation = text_compare(gpu->manifest.correlation_id, correlation_id) == 0;
    if (same_run && same_correlation) {
        if (gpu->binding == GPU_PARTIAL) gpu->binding = GPU_BOUND;
        return true;
    }
    gpu->binding = GPU_MISMATCH;
    return (same_run || add_diagnostic(gpu, "the manifest's run.id is not the run_id of the trace")) &&
           (same_correlation ||
            add_diagnostic(gpu, "the manifest's correlation.id is not the correlation_id of the trace"));
}

static void ledger_free(struct gpu_ledger *ledger)
{
    free(ledger->expected.at);
    free(ledger->cpu_only.at);
    free(ledger->observed.at);
    free(ledger->matched.at);
    free(ledger->missing_expected.at);
    free(ledger->unexpected_observed.at);
    free(ledger->unexpected_cpu_only.at);
    free(ledger->duplicates);
}

static void manifest_free(struct gpu_manifest *manifest)
{
    free(manifest->commands.at);
    free(manifest->devices.at);
    free(manifest->required_labels.at);
    free(manifest->gpu_expected_labels.at);
    free(manifest->cpu_only_labels.at);
    free(manifest->source_revisions);
    free(manifest->artifacts.at);
}

void gpu_free(struct gpu_evidence *gpu)
{
    free(gpu->source_csv.at);
    manifest_free(&gpu->manifest);
    free(gpu->provenance_diagnostics.at);
    ledger_free(&gpu->correlation.ledger);
    free(gpu->diagnostics.at);
    free(gpu->limits);
    free(gpu->kernels.at);
    free(gpu->runtime_calls.at);
    free(gpu->memory_operations.at);
    free(gpu->nvtx_ranges.at);
    free(gpu->gpu_timeline.at);
    free(gpu->phase_attribution.at);
    arena_free(&gpu->arena);
    *gpu = (struct gpu_evidence){0};
}
