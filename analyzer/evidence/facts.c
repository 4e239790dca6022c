/* Facts and findings (doc/spec/evidence.md 6 and 7). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyzer/evidence/evidence_private.h"

static bool available(const struct evidence *evidence, enum capability_kind kind)
{
    return capability_available(evidence->capabilities[kind].level);
}

static void add_fact(struct evidence *evidence, struct fact fact)
{
    evidence->facts[evidence->fact_count++] = fact;
}

static void gradient_facts(struct evidence *evidence)
{
    static const char source[] = "capture_contract.gradient_contract";
    const struct CG_OBJECT_GRADIENT_CONTRACT *contract =
        &evidence->trace->run.capture_contract.gradient_contract;
    if (!available(evidence, CAPABILITY_KIND_GRADIENTS) || !contract->present) return;
    add_fact(evidence, (struct fact){.code = "gradient_manifest_sha256",
                                     .label = "Digest of the gradient manifest",
                                     .kind = FACT_TEXT,
                                     .text = trace_text(evidence->trace, contract->manifest_sha256),
                                     .source = source,
                                     .capability = CAPABILITY_KIND_GRADIENTS});
    add_fact(evidence, (struct fact){.code = "gradient_manifest_entries",
                                     .label = "Parameters in the gradient manifest",
                                     .kind = FACT_COUNT,
                                     .number = contract->expected_count,
                                     .source = source,
                                     .capability = CAPABILITY_KIND_GRADIENTS});
    add_fact(evidence, (struct fact){.code = "gradient_family_expectations",
                                     .label = "Parameter families with an expectation",
                                     .kind = FACT_COUNT,
                                     .number = contract->families_count,
                                     .source = source,
                                     .capability = CAPABILITY_KIND_GRADIENTS});
}

static void gradient_observations(struct evidence *evidence)
{
    const struct cg_gradients *gradients = &evidence->trace->gradient;
    if (!evidence->has_graph || !gradients->rows) return;
    uint64_t not_present = 0;
    for (size_t i = 0; i < gradients->rows; i++)
        not_present += gradients->state[i] != CG_GRADIENT_STATE_PRESENT;
    add_fact(evidence, (struct fact){.code = "gradient_observations",
                                     .label = "Gradient records whose gradient is not present",
                                     .kind = FACT_COUNT,
                                     .number = not_present,
                                     .source = "trace.gradient",
                                     .capability = CAPABILITY_KIND_GRADIENTS});
}

#define FACT_MAX 6

bool facts_make(struct evidence *evidence)
{
    evidence->facts = calloc(FACT_MAX, sizeof *evidence->facts);
    if (!evidence->facts) return false;
    const struct cg_trace *trace = evidence->trace;
    uint32_t measured = evidence_measured_span(trace);
    if (available(evidence, CAPABILITY_KIND_OUTER_WALL_TIME) && measured != CG_NONE)
        add_fact(evidence, (struct fact){.code = "outer_wall_time",
                                         .label = "Wall time of the measured region",
                                         .kind = FACT_DURATION_NS,
                                         .number = trace->span.duration_ns[measured],
                                         .source = "measured_span",
                                         .capability = CAPABILITY_KIND_OUTER_WALL_TIME});
    gradient_facts(evidence);
    gradient_observations(evidence);
    if (available(evidence, CAPABILITY_KIND_LOGICAL_MEMORY) && evidence->logical.peak_known)
        add_fact(evidence, (struct fact){.code = "logical_peak_live_bytes",
                                         .label = "Most bytes of storage alive at once",
                                         .kind = FACT_BYTES,
                                         .number = evidence->logical.peak_live_bytes,
                                         .source = "logical_storage_lifetimes",
                                         .capability = CAPABILITY_KIND_LOGICAL_MEMORY});
    return true;
}

/* ---- findings ---- */

#define MILLISECONDS_SIZE 32
/* With three decimals, from the integer: a double would round large times. */
static const char *milliseconds(uint64_t ns, char text[MILLISECONDS_SIZE])
{
    snprintf(text, MILLISECONDS_SIZE, "%" PRIu64 ".%03u ms", ns / 1000000, (unsigned)(ns / 1000 % 1000));
    return text;
}

static bool add_finding(struct evidence *evidence, struct finding finding)
{
    evidence->findings[evidence->finding_count++] = finding;
    return finding.summary.bytes != NULL;
}

static bool host_finding(struct evidence *evidence)
{
    const struct cg_trace *trace = evidence->trace;
    const struct host_cost *cost = &evidence->graph.host[0];
    char name[TEXT_NAME_SIZE], clipped[MILLISECONDS_SIZE], self[MILLISECONDS_SIZE],
        overlap[MILLISECONDS_SIZE], full[MILLISECONDS_SIZE];
    if (!evidence->has_graph || !evidence->graph.host_count) return true;
    return add_finding(
        evidence,
        (struct finding){
            .code = "largest_observed_host_self_time",
            .summary = arena_printf(
                &evidence->arena,
                "\"%s\" has the largest host self time inside the measured region: %s of it, %s in all "
                "(%s; %s of its %s overlap the region)",
                text_name(trace_text(trace, trace->span.name[cost->span]), name),
                milliseconds(cost->overlap_self_ns, clipped), milliseconds(cost->self_ns, self),
                host_scope_name[cost->scope], milliseconds(cost->overlap_ns, overlap),
                milliseconds(cost->full_ns, full)),
            .source = trace_text(trace, trace->span.id[cost->span]),
            .requires = {CAPABILITY_KIND_NESTED_HOST_TIME},
            .require_count = 1,
            .qualification = evidence->capabilities[CAPABILITY_KIND_NESTED_HOST_TIME].level});
}

static bool device_finding(struct evidence *evidence)
{
    const struct cg_trace *trace = evidence->trace;
    const struct device_cost *cost = &evidence->graph.device[0];
    char name[TEXT_NAME_SIZE], device[TEXT_NAME_SIZE], busy[MILLISECONDS_SIZE];
    if (!evidence->has_graph || !evidence->graph.device_count) return true;
    const struct timing_span *timing = &evidence->timing.spans[cost->timing];
    return add_finding(
        evidence,
        (struct finding){
            .code = "largest_observed_device_busy_time",
            .summary = arena_printf(&evidence->arena, "\"%s\" keeps device \"%s\" busy for the longest: %s",
                                    text_name(trace_text(trace, trace->span.name[cost->span]), name),
                                    text_name(trace_text(trace, timing->device), device),
                                    milliseconds(timing->busy_ns, busy)),
            .source = trace_text(trace, trace->span.id[cost->span]),
            .requires = {CAPABILITY_KIND_NESTED_DEVICE_TIME},
            .require_count = 1,
            .qualification = evidence->capabilities[CAPABILITY_KIND_NESTED_DEVICE_TIME].level});
}

static bool kernel_finding(struct evidence *evidence)
{
    const struct capability *capabilities = evidence->capabilities;
    char name[TEXT_NAME_SIZE], total[MILLISECONDS_SIZE];
    if (!evidence->health.structurally_valid || !evidence->health.capture_complete ||
        !available(evidence, CAPABILITY_KIND_GPU_CORRELATION) ||
        !available(evidence, CAPABILITY_KIND_PROVENANCE_BINDING) || !evidence->gpu.kernels.count)
        return true;
    const struct gpu_summary_row *kernel = &evidence->gpu.kernels.at[0];
    return add_finding(
        evidence,
        (struct finding){
            .code = "largest_nsight_kernel_total",
            .summary =
                arena_printf(&evidence->arena, "kernel \"%s\" has the largest total in Nsight's summary: %s",
                             text_name(kernel->name, name), milliseconds(kernel->total_ns, total)),
            .source = text_of("nsight.cuda_gpu_kern_sum"),
            .requires = {CAPABILITY_KIND_GPU_CORRELATION, CAPABILITY_KIND_PROVENANCE_BINDING},
            .require_count = 2,
            .qualification = capability_weakest(capabilities[CAPABILITY_KIND_GPU_CORRELATION].level,
                                                capabilities[CAPABILITY_KIND_PROVENANCE_BINDING].level)});
}

#define FINDING_MAX 3

bool findings_make(struct evidence *evidence)
{
    evidence->findings = calloc(FINDING_MAX, sizeof *evidence->findings);
    if (!evidence->findings) return false;
    return host_finding(evidence) && device_finding(evidence) && kernel_finding(evidence);
}
