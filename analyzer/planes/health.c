/* Health: is an accepted trace consistent, and what does it cover (doc/spec/trace.md 10). */
#include <stdlib.h>
#include <string.h>

#include "analyzer/planes/array.h"
#include "analyzer/planes/health_steps.h"

enum code_class { CLASS_ERROR, CLASS_WARNING, CLASS_SOFT };

static const uint8_t code_classes[] = {
#define CODE_CLASS(suffix, name, class, message, meaning) CLASS_##class,
    HEALTH_CODES(CODE_CLASS)
#undef CODE_CLASS
};

void health_report(struct health_pass *pass, struct health_issue issue)
{
    struct health *health = pass->health;
    if (pass->short_of_memory ||
        !array_room(&health->issues, health->issue_count, &pass->issue_capacity, sizeof issue)) {
        pass->short_of_memory = true;
        return;
    }
    enum code_class class = code_classes[issue.code];
    bool error = class == CLASS_ERROR || (class == CLASS_SOFT && !pass->failed);
    issue.severity = error ? HEALTH_ERROR : HEALTH_WARNING;
    health->structurally_valid = health->structurally_valid && !error;
    health->issues[health->issue_count++] = issue;
}

/* The first fault of the run's fields, in the order of step 1; HEALTH_DETAIL_NONE when there is none. */
static enum health_detail run_fault(const struct cg_trace *trace)
{
    const struct cg_run *run = &trace->run;
    const struct CG_OBJECT_IDENTITY *identity = &run->comparison_identity;
    const struct {
        cg_str string;
        enum health_detail detail;
    } run_strings[] = {{run->run_id, HEALTH_DETAIL_RUN_ID},
                       {run->correlation_id, HEALTH_DETAIL_CORRELATION_ID},
                       {run->entrypoint, HEALTH_DETAIL_ENTRYPOINT},
                       {run->timestamp, HEALTH_DETAIL_TIMESTAMP},
                       {run->device, HEALTH_DETAIL_DEVICE}},
      identity_strings[] = {{identity->workload_id, HEALTH_DETAIL_WORKLOAD_ID},
                            {identity->model_id, HEALTH_DETAIL_MODEL_ID},
                            {identity->config_id, HEALTH_DETAIL_CONFIG_ID},
                            {identity->data_id, HEALTH_DETAIL_DATA_ID},
                            {identity->seed_policy, HEALTH_DETAIL_SEED_POLICY},
                            {identity->precision, HEALTH_DETAIL_PRECISION},
                            {identity->device_state, HEALTH_DETAIL_DEVICE_STATE},
                            {identity->implementation_id, HEALTH_DETAIL_IMPLEMENTATION_ID},
                            {identity->pair_id, HEALTH_DETAIL_PAIR_ID}};

    for (size_t i = 0; i < sizeof run_strings / sizeof *run_strings; i++)
        if (trace_blank(trace, run_strings[i].string)) return run_strings[i].detail;
    if (run->capture_step == 0) return HEALTH_DETAIL_CAPTURE_STEP;
    if (run->warmup_steps >= run->capture_step) return HEALTH_DETAIL_WARMUP_STEPS;
    if (!identity->present) return HEALTH_DETAIL_NONE;
    /* The last two are optional: blank when present, never when absent. */
    for (size_t i = 0; i < sizeof identity_strings / sizeof *identity_strings; i++)
        if (identity_strings[i].string != CG_ABSENT && trace_blank(trace, identity_strings[i].string))
            return identity_strings[i].detail;
    if (identity->physical_batch == 0) return HEALTH_DETAIL_PHYSICAL_BATCH;
    if (identity->accumulation_steps == 0) return HEALTH_DETAIL_ACCUMULATION_STEPS;
    return HEALTH_DETAIL_NONE;
}

/* Steps 1 to 4. The reader refuses what steps 2 and 3 look for; a trace may come from elsewhere. */
static void check_run(struct health_pass *pass)
{
    const struct cg_trace *trace = pass->trace;
    cg_str reason = trace->terminal.reason;
    enum health_detail fault = run_fault(trace);
    if (fault) report(pass, HEALTH_RUN_PROVENANCE_INVALID, .detail = (uint16_t)fault);
    if (!pass->failed && reason != CG_ABSENT)
        report(pass, HEALTH_COMPLETE_WITH_FAILURE_REASON, .subject = reason);
    if (pass->failed && (reason == CG_ABSENT || trace_blank(trace, reason)))
        report(pass, HEALTH_FAILED_WITHOUT_REASON);
    if (trace->terminal.timestamp_ns < trace->latest_host_ns)
        report(pass, HEALTH_TERMINAL_PRECEDES_EVIDENCE, .number = trace->latest_host_ns);
    if (pass->failed) report(pass, HEALTH_CAPTURE_FAILED, .subject = reason);
}

static void count_coverage(const struct cg_trace *trace, struct health_coverage *coverage)
{
    *coverage = (struct health_coverage){
        .spans = trace->span.rows,
        .operations = trace->op.rows,
        .tensors = trace->tensor.rows,
        .memory_events = trace->memory.rows,
        .device_memory_samples = trace->device_memory.rows,
        .device_intervals = trace->device_interval.rows,
        .gradients = trace->gradient.rows,
    };
    for (size_t i = 0; i < trace->span.rows; i++) {
        coverage->closed_spans += trace->span.closed[i];
        coverage->root_spans += trace->span.parent_id[i] == CG_ABSENT;
        coverage->measured_spans += trace->span.measured[i];
        coverage->forward_spans += trace->span.step[i] == CG_STEP_FORWARD + 1;
        coverage->backward_spans += trace->span.step[i] == CG_STEP_BACKWARD + 1;
        coverage->optimizer_spans += trace->span.step[i] == CG_STEP_OPTIMIZER + 1;
    }
    for (size_t i = 0; i < trace->edge.rows; i++)
        coverage->call_edges += trace->edge.edge_kind[i] == CG_EDGE_KIND_CALL;
    coverage->data_edges = trace->edge.rows - coverage->call_edges;
}

/* Step 18. */
static void check_absent(struct health_pass *pass)
{
    const struct health_coverage *coverage = &pass->health->coverage;
    const bool train = pass->trace->run.phase == CG_PHASE_TRAIN;
    if (!coverage->operations) report(pass, HEALTH_OPERATIONS_ABSENT);
    if (!coverage->tensors) report(pass, HEALTH_TENSORS_ABSENT);
    if (!coverage->memory_events) report(pass, HEALTH_LOGICAL_MEMORY_ABSENT);
    if (!coverage->device_memory_samples) report(pass, HEALTH_PHYSICAL_MEMORY_ABSENT);
    if (!coverage->device_intervals) report(pass, HEALTH_DEVICE_TIMING_ABSENT);
    if (!train) return;
    if (!coverage->gradients) report(pass, HEALTH_GRADIENTS_ABSENT);
    if (!coverage->forward_spans) report(pass, HEALTH_FORWARD_ABSENT);
    if (!coverage->backward_spans) report(pass, HEALTH_BACKWARD_ABSENT);
    if (!coverage->optimizer_spans) report(pass, HEALTH_OPTIMIZER_ABSENT);
}

bool health_make(const struct cg_trace *trace, struct health *health)
{
    return health_make_beside(trace, NULL, health);
}

bool health_make_beside(const struct cg_trace *trace, const struct logical_memory *memory,
                        struct health *health)
{
    *health = (struct health){.structurally_valid = true,
                              .capture_complete = trace->terminal.outcome == CG_OUTCOME_COMPLETE,
                              .gradient_contract_fault = CG_NONE};
    struct health_pass pass = {
        .trace = trace, .memory = memory, .health = health, .failed = !health->capture_complete};
    count_coverage(trace, &health->coverage);
    check_run(&pass);
    bool made = health_spans(&pass) && health_evidence(&pass) && health_edges(&pass) &&
                health_memory(&pass) && health_gradients(&pass);
    if (made) {
        check_absent(&pass);
        made = health_labels(&pass);
    }
    if (!made || pass.short_of_memory) {
        health_free(health);
        return false;
    }
    array_trim(&health->issues, health->issue_count, sizeof *health->issues);
    return true;
}

void health_free(struct health *health)
{
    free(health->issues);
    *health = (struct health){.gradient_contract_fault = CG_NONE};
}
