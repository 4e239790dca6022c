/* The capability matrix (doc/spec/evidence.md 5): what may be relied on, and why. */
#include <stdlib.h>

#include "analyzer/evidence/evidence_private.h"

#define VALIDATION_SOURCE "candle-graph/trace/10 validation"

static struct capability state(enum capability_level level, const char *source, const char *reason)
{
    return (struct capability){level, text_of(level == CAPABILITY_UNAVAILABLE ? "none" : source),
                               text_of(reason)};
}

/* ---- time on the host ---- */

static struct capability structural_trace(const struct evidence *evidence)
{
    if (evidence->health.structurally_valid)
        return state(CAPABILITY_COMPLETE, VALIDATION_SOURCE, "the trace keeps every structural rule");
    return state(CAPABILITY_INVALID, VALIDATION_SOURCE,
                 "the trace breaks structural rules: see the errors of its health");
}

static struct capability outer_wall_time(const struct evidence *evidence)
{
    const struct cg_trace *trace = evidence->trace;
    if (!evidence->health.structurally_valid)
        return state(CAPABILITY_INVALID, VALIDATION_SOURCE,
                     "outer wall time is not to be trusted in a structurally invalid trace");
    if (!evidence->health.capture_complete)
        return state(CAPABILITY_UNAVAILABLE, NULL,
                     "the capture failed: the measured region has no trustworthy end");
    size_t measured = 0;
    for (size_t s = 0; s < trace->span.rows; s++)
        measured += trace->span.measured[s] && trace->span.closed[s];
    if (measured != 1)
        return state(CAPABILITY_INVALID, "measured span", "there is not exactly one closed measured span");
    return state(CAPABILITY_COMPLETE, "measured span", "one measured span, closed in a complete capture");
}

static struct capability nested_host_time(const struct evidence *evidence)
{
    if (!evidence->health.structurally_valid)
        return state(CAPABILITY_INVALID, VALIDATION_SOURCE,
                     "host times are not to be trusted in a structurally invalid trace");
    if (!evidence->health.capture_complete)
        return state(CAPABILITY_UNAVAILABLE, NULL,
                     "the capture failed: host times of nested spans are incomplete");
    return state(CAPABILITY_COMPLETE, "span wall intervals", "every span is closed inside its parent");
}

/* ---- observed coverage (5.3) ---- */

static bool observed(struct evidence *evidence, enum capability_kind kind, enum cg_value_COVERAGE declared,
                     uint64_t count, const char *source, const char *what)
{
    struct capability *capability = &evidence->capabilities[kind];
    enum capability_level level = capability_observed(declared, count);
    unsigned long long n = count;
    *capability = state(level, source, "");
    if (level == CAPABILITY_INVALID)
        capability->reason =
            arena_printf(&evidence->arena, "%s are declared complete, but none was recorded", what);
    else if (level == CAPABILITY_UNAVAILABLE)
        capability->reason = arena_printf(&evidence->arena, "no %s were recorded", what);
    else if (level == CAPABILITY_COMPLETE)
        capability->reason =
            arena_printf(&evidence->arena, "%s are declared complete; %llu recorded", what, n);
    else
        capability->reason =
            arena_printf(&evidence->arena, "%s are %s; %llu recorded", what,
                         declared == CG_COVERAGE_PARTIAL ? "declared partial" : "not declared complete", n);
    return capability->reason.bytes != NULL;
}

/* ---- gradients (5.4) ---- */

static bool is_gradient_issue(const struct health_issue *issue)
{
    const char *code = health_code_name(issue->code);
    return strncmp(code, "gradient_", strlen("gradient_")) == 0 ||
           strcmp(code, "duplicate_gradient_event_id") == 0 || strcmp(code, "empty_gradient_event_id") == 0;
}

static bool exact_gradients(struct evidence *evidence, struct capability *capability)
{
    static const char source[] = "exact gradient contract";
    const struct health *health = &evidence->health;
    const struct CG_OBJECT_GRADIENT_CONTRACT *contract =
        &evidence->trace->run.capture_contract.gradient_contract;
    char message[HEALTH_MESSAGE_SIZE], digest[TEXT_NAME_SIZE];
    if (!contract->present) {
        *capability =
            state(CAPABILITY_INVALID, source, "gradients are declared complete without a gradient contract");
        return true;
    }
    if (health->gradient_contract_fault != CG_NONE) {
        health_message(evidence->trace, &health->issues[health->gradient_contract_fault], message);
        *capability = state(CAPABILITY_INVALID, source, "");
        capability->reason = arena_string(&evidence->arena, message);
        return capability->reason.bytes != NULL;
    }
    uint64_t errors = 0, warnings = 0;
    for (size_t i = 0; i < health->issue_count; i++)
        if (is_gradient_issue(&health->issues[i]))
            ++*(health->issues[i].severity == HEALTH_ERROR ? &errors : &warnings);
    if (errors) {
        *capability = state(CAPABILITY_INVALID, source, "the gradient records break the gradient contract");
        return true;
    }
    if (warnings) {
        *capability =
            state(CAPABILITY_PARTIAL, source, "the gradient records do not fill the gradient contract");
        return true;
    }
    *capability = state(CAPABILITY_COMPLETE, source, "");
    capability->reason = arena_printf(
        &evidence->arena, "%zu manifest entries in %zu families are accounted for; manifest digest %s",
        contract->expected_count, contract->families_count,
        text_name(trace_text(evidence->trace, contract->manifest_sha256), digest));
    return capability->reason.bytes != NULL;
}

static bool gradient_coverage(struct evidence *evidence)
{
    enum cg_value_COVERAGE declared = evidence->trace->run.capture_contract.gradients;
    if (declared == CG_COVERAGE_COMPLETE)
        return exact_gradients(evidence, &evidence->capabilities[CAPABILITY_KIND_GRADIENTS]);
    return observed(evidence, CAPABILITY_KIND_GRADIENTS, declared, evidence->trace->gradient.rows,
                    "trace gradient events", "gradient records");
}

/* ---- GPU ---- */

/* Are the required labels distinct, each the name of exactly one span? False when memory is short. */
static bool labels_name_one_span(const struct cg_trace *trace, bool *answer)
{
    struct cg_list labels = trace->run.capture_contract.required_semantic_labels;
    *answer = true;
    if (!labels.count) return true;
    /* By string number: spans of that name, then twice over for a label met before. */
    uint8_t *spans = calloc((size_t)trace_string_count(trace) + 1, 1);
    if (!spans) return false;
    for (size_t s = 0; s < trace->span.rows; s++)
        if (spans[trace->span.name[s]] < 2) spans[trace->span.name[s]]++;
    for (uint32_t i = 0; i < labels.count; i++) {
        uint8_t *count = &spans[trace->str_pool[labels.first + i]];
        if (*count != 1) *answer = false;
        *count = 2;
    }
    free(spans);
    return true;
}

static struct cg_text reason_or(struct cg_text reason, const char *otherwise)
{
    return reason.bytes ? reason : text_of(otherwise);
}

static bool gpu_correlation(struct evidence *evidence)
{
    struct capability *capability = &evidence->capabilities[CAPABILITY_KIND_GPU_CORRELATION];
    const struct gpu_evidence *gpu = &evidence->gpu;
    bool labels_good;
    if (!labels_name_one_span(evidence->trace, &labels_good)) return false;
    if (!labels_good) {
        *capability = state(CAPABILITY_INVALID, "trace semantic labels",
                            "the required labels are not the names of one span each");
    } else if (gpu->status == GPU_AVAILABLE && gpu->correlation.complete) {
        *capability = state(CAPABILITY_COMPLETE, "Nsight NVTX projection",
                            "every label that is expected on the GPU was projected exactly once");
    } else if (gpu->status == GPU_AVAILABLE) {
        *capability = state(CAPABILITY_PARTIAL, "Nsight NVTX projection", "");
        capability->reason =
            reason_or(gpu->correlation.reason, "the labels and the NVTX projection do not match in full");
    } else if (gpu->status == GPU_UNAVAILABLE) {
        *capability = state(CAPABILITY_UNAVAILABLE, NULL, "");
        capability->reason = reason_or(gpu->reason, "there are no Nsight reports");
    } else {
        *capability = state(CAPABILITY_INVALID, "Nsight normalization", "");
        capability->reason = reason_or(gpu->reason, "the Nsight reports could not be normalised");
    }
    return true;
}

static struct capability provenance_binding(const struct gpu_evidence *gpu)
{
    if (gpu->status == GPU_UNAVAILABLE)
        return state(CAPABILITY_UNAVAILABLE, NULL, "no Nsight evidence: there is nothing to bind to the run");
    if (gpu->status == GPU_FAILED)
        return state(CAPABILITY_INVALID, "Nsight artifact manifest",
                     "the Nsight evidence could not be loaded, so its binding is unknown");
    if (gpu->binding == GPU_BOUND)
        return state(CAPABILITY_COMPLETE, "capture-manifest.json",
                     "the manifest binds every Nsight file to this run");
    if (gpu->binding == GPU_PARTIAL)
        return state(CAPABILITY_PARTIAL, "Nsight artifact hashes",
                     "Nsight files are hashed, but no manifest binds them to this run");
    return state(CAPABILITY_INVALID, "capture-manifest.json",
                 "the manifest contradicts the Nsight files or this run");
}

/* ---- downgrades (5.5) ---- */

enum { BY_INVALID = 1, BY_INCOMPLETE = 2 };
static const uint8_t downgraded[CAPABILITY_KIND_COUNT] = {
    [CAPABILITY_KIND_NESTED_DEVICE_TIME] = BY_INVALID | BY_INCOMPLETE,
    [CAPABILITY_KIND_OPERATIONS] = BY_INVALID | BY_INCOMPLETE,
    [CAPABILITY_KIND_TENSORS] = BY_INVALID | BY_INCOMPLETE,
    [CAPABILITY_KIND_GRADIENTS] = BY_INVALID | BY_INCOMPLETE,
    [CAPABILITY_KIND_LOGICAL_MEMORY] = BY_INVALID | BY_INCOMPLETE,
    [CAPABILITY_KIND_PHYSICAL_MEMORY] = BY_INCOMPLETE,
    [CAPABILITY_KIND_GPU_CORRELATION] = BY_INVALID | BY_INCOMPLETE,
    [CAPABILITY_KIND_PROVENANCE_BINDING] = BY_INCOMPLETE,
};

static bool downgrade(struct evidence *evidence)
{
    for (unsigned kind = 0; kind < CAPABILITY_KIND_COUNT; kind++) {
        struct capability *capability = &evidence->capabilities[kind];
        if (!evidence->health.structurally_valid && (downgraded[kind] & BY_INVALID) &&
            capability_available(capability->level))
            *capability = state(CAPABILITY_INVALID, VALIDATION_SOURCE,
                                "recorded, but not to be relied on: the trace is structurally invalid");
        if (!evidence->health.capture_complete && (downgraded[kind] & BY_INCOMPLETE) &&
            capability->level == CAPABILITY_COMPLETE) {
            capability->level = CAPABILITY_PARTIAL;
            capability->reason = arena_printf(
                &evidence->arena, "%s; the capture failed, so the observations are diagnostic only",
                capability->reason.bytes);
            if (!capability->reason.bytes) return false;
        }
    }
    return true;
}

bool capabilities_make(struct evidence *evidence)
{
    const struct cg_trace *trace = evidence->trace;
    const struct CG_OBJECT_CONTRACT *contract = &trace->run.capture_contract;
    struct capability *capabilities = evidence->capabilities;
    capabilities[CAPABILITY_KIND_STRUCTURAL_TRACE] = structural_trace(evidence);
    capabilities[CAPABILITY_KIND_OUTER_WALL_TIME] = outer_wall_time(evidence);
    capabilities[CAPABILITY_KIND_NESTED_HOST_TIME] = nested_host_time(evidence);
    capabilities[CAPABILITY_KIND_PROVENANCE_BINDING] = provenance_binding(&evidence->gpu);
    return observed(evidence, CAPABILITY_KIND_NESTED_DEVICE_TIME, evidence->timing.device_coverage,
                    trace->device_interval.rows, "device intervals", "device intervals") &&
           observed(evidence, CAPABILITY_KIND_OPERATIONS, contract->operations, trace->op.rows,
                    "trace op events", "operations") &&
           observed(evidence, CAPABILITY_KIND_TENSORS, contract->tensors, trace->tensor.rows,
                    "trace tensor events", "tensor records") &&
           gradient_coverage(evidence) &&
           observed(evidence, CAPABILITY_KIND_LOGICAL_MEMORY, contract->logical_memory, trace->memory.rows,
                    "storage lifetime events", "storage lifetimes") &&
           observed(evidence, CAPABILITY_KIND_PHYSICAL_MEMORY, contract->physical_memory,
                    trace->device_memory.rows, "device memory samples", "device memory samples") &&
           gpu_correlation(evidence) && downgrade(evidence);
}
