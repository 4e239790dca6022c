/* The Markdown report (doc/spec/evidence.md 9). */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "analyzer/evidence/evidence.h"
#include "analyzer/evidence/markdown.h"
#include "analyzer/evidence/oom_view.h"

struct report {
    const struct evidence *evidence;
    struct markdown md;
};

static const char *const level_words[CAPABILITY_LEVEL_COUNT] = {
    [CAPABILITY_UNAVAILABLE] = "Unavailable",
    [CAPABILITY_PARTIAL] = "Partial",
    [CAPABILITY_COMPLETE] = "Complete",
    [CAPABILITY_INVALID] = "Invalid",
};

/* ---- parts ---- */

static void head(struct report *report)
{
    const struct cg_trace *trace = report->evidence->trace;
    const struct health *health = &report->evidence->health;
    const struct {
        const char *name;
        struct cg_text value;
    } items[] = {{"entrypoint", trace_text(trace, trace->run.entrypoint)},
                 {"run id", trace_text(trace, trace->run.run_id)},
                 {"phase", md_string(cg_name_PHASE[trace->run.phase])},
                 {"device", trace_text(trace, trace->run.device)}};
    md_line(&report->md, "# cg-analyze evidence report\n\n- status: **%s**\n",
            !health->structurally_valid ? "STRUCTURALLY INVALID"
            : !health->capture_complete ? "FAILED CAPTURE"
                                        : "COMPLETE CAPTURE");
    for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
        md_line(&report->md, "- %s: ", items[i].name);
        md_code(&report->md, items[i].value, false);
        md_line(&report->md, "\n");
    }
}

static void state_row(struct report *report, const char *name, enum capability_level level,
                      struct cg_text source, struct cg_text reason)
{
    md_line(&report->md, "| %s | `%s` | ", name, level_words[level]);
    md_code(&report->md, source, true);
    md_line(&report->md, " | ");
    md_text(&report->md, reason, true);
    md_line(&report->md, " |\n");
}

static void matrix(struct report *report)
{
    md_line(&report->md,
            "\n## Capability matrix\n\n| Capability | Level | Source | Reason |\n|---|---|---|---|\n");
    for (unsigned kind = 0; kind < CAPABILITY_KIND_COUNT; kind++) {
        const struct capability *capability = &report->evidence->capabilities[kind];
        state_row(report, capability_names[kind].row, capability->level, capability->source,
                  capability->reason);
    }
}

static void findings(struct report *report)
{
    const struct evidence *evidence = report->evidence;
    md_line(&report->md, "\n## Qualified findings\n\n");
    if (!evidence->finding_count) md_line(&report->md, "There are none.\n");
    for (size_t i = 0; i < evidence->finding_count; i++) {
        const struct finding *finding = &evidence->findings[i];
        md_line(&report->md, "- `%s` ", level_words[finding->qualification]);
        md_text(&report->md, finding->summary, false);
        md_line(&report->md, " (requires `");
        for (unsigned k = 0; k < finding->require_count; k++)
            md_line(&report->md, "%s%s", k ? ", " : "", capability_names[finding->requires[k]].spelling);
        md_line(&report->md, "`)\n");
    }
}

static void facts(struct report *report)
{
    static const char *const units[] = {
        [FACT_DURATION_NS] = " ns", [FACT_BYTES] = " bytes", [FACT_COUNT] = "", [FACT_TEXT] = ""};
    const struct evidence *evidence = report->evidence;
    if (!evidence->fact_count) return;
    md_line(&report->md, "\n## Facts\n\n| Fact | Value | Capability |\n|---|---|---|\n");
    for (size_t i = 0; i < evidence->fact_count; i++) {
        const struct fact *fact = &evidence->facts[i];
        md_line(&report->md, "| %s | ", fact->label);
        if (fact->kind == FACT_TEXT)
            md_code(&report->md, fact->text, true);
        else
            md_line(&report->md, "`%" PRIu64 "%s`", fact->number, units[fact->kind]);
        md_line(&report->md, " | %s `%s` |\n", capability_names[fact->capability].row,
                level_words[evidence->capabilities[fact->capability].level]);
    }
}

static void gaps(struct report *report)
{
    md_line(&report->md, "\n## Evidence gaps\n\n");
    if (!report->evidence->gap_count) md_line(&report->md, "There are none.\n");
    for (size_t i = 0; i < report->evidence->gap_count; i++) {
        md_line(&report->md, "- ");
        md_text(&report->md, report->evidence->gaps[i], false);
        md_line(&report->md, "\n");
    }
}

/* ---- activations ---- */

#define DECIMAL_SIZE 40
static const char *decimal(unsigned __int128 value, char text[DECIMAL_SIZE])
{
    char *to = text + DECIMAL_SIZE - 1;
    *to = 0;
    do
        *--to = (char)('0' + (int)(value % 10));
    while (value /= 10);
    return to;
}

/* The operation's name and id, and how much of the metric it has. */
static void top_operation(struct report *report, const char *metric, struct cg_text clock[2],
                          const struct activation_operation *operation, unsigned __int128 value,
                          const char *unit)
{
    const struct cg_trace *trace = report->evidence->trace;
    char number[DECIMAL_SIZE], suffix[GRAPH_OP_SUFFIX_SIZE] = "";
    if (!operation->dedicated) graph_op_suffix(suffix, operation->op_index);
    struct cg_text span_id = trace_text(trace, trace->op.span_id[operation->op]);
    md_line(&report->md, "- most %s", metric);
    if (clock) {
        md_line(&report->md, " on ");
        md_code(&report->md, clock[0], false);
        md_line(&report->md, ", clock ");
        md_code(&report->md, clock[1], false);
    }
    md_line(&report->md, ": ");
    md_code(&report->md, trace_text(trace, trace->op.op_name[operation->op]), false);
    md_line(&report->md, " (");
    md_code(&report->md, span_id, false);
    md_line(&report->md, "%s%s%s): %s %s\n", *suffix ? " `" : "", suffix, *suffix ? "`" : "",
            decimal(value, number), unit);
}

static unsigned __int128 metric_value(const struct cg_trace *trace,
                                      const struct activation_operation *operation,
                                      enum activation_metric metric)
{
    switch (metric) {
    case ACTIVATION_HOST_DURATION:
        return trace->op.duration_ns[operation->op];
    case ACTIVATION_DENSE_OUTPUT:
        return trace->op.output_dense_bytes[operation->op];
    case ACTIVATION_LOGICAL_ALLOCATED:
        return operation->allocated_bytes;
    case ACTIVATION_LIVE_DURATION:
        return operation->live_duration_ns;
    case ACTIVATION_BYTE_NANOSECONDS:
        return operation->byte_nanoseconds;
    default:
        return operation->retained_bytes;
    }
}

static void top_of_metric(struct report *report, enum activation_metric metric, const char *name,
                          const char *unit)
{
    const struct evidence *evidence = report->evidence;
    const struct activations *activations = &evidence->activations;
    uint32_t first;
    if (!activations_ranked(evidence->trace, activations, metric, 1, &first)) return;
    const struct activation_operation *operation = &activations->operations[first];
    top_operation(report, name, NULL, operation, metric_value(evidence->trace, operation, metric), unit);
}

static void top_of_clocks(struct report *report)
{
    const struct evidence *evidence = report->evidence;
    const struct timing *timing = &evidence->timing;
    for (size_t i = 0; i < timing->clock_count; i++) {
        cg_str device = timing->clocks[i].device, clock_id = timing->clocks[i].clock_id;
        uint32_t first;
        if (!activations_ranked_by_device(evidence->trace, &evidence->activations, timing, device, clock_id,
                                          1, &first))
            continue;
        const struct activation_operation *operation = &evidence->activations.operations[first];
        struct cg_text clock[2] = {trace_text(evidence->trace, device),
                                   trace_text(evidence->trace, clock_id)};
        for (uint32_t k = 0; k < operation->timings.count; k++) {
            const struct timing_span *span = &timing->spans[operation->timings.first + k];
            if (span->device == device && span->clock_id == clock_id)
                top_operation(report, "device busy time", clock, operation, span->busy_ns, "ns");
        }
    }
}

static void activation_part(struct report *report)
{
    const struct evidence *evidence = report->evidence;
    const struct activations *activations = &evidence->activations;
    if (!evidence_shows_activations(evidence)) return;
    md_line(&report->md, "\n## Activations\n\n| State | Level | Source | Reason |\n|---|---|---|---|\n");
#define STATE_ROW(name)                                                                                      \
    state_row(report, #name, activations->name.level, md_string(activations->name.source),                   \
              md_string(activations->name.reason));
    ACTIVATION_STATES(STATE_ROW)
    md_line(&report->md, "\n");
    top_of_metric(report, ACTIVATION_HOST_DURATION, "observed host time", "ns");
    top_of_clocks(report);
    top_of_metric(report, ACTIVATION_DENSE_OUTPUT, "dense output", "bytes");
    top_of_metric(report, ACTIVATION_LOGICAL_ALLOCATED, "logical allocated bytes", "bytes");
    top_of_metric(report, ACTIVATION_BYTE_NANOSECONDS, "byte-nanoseconds", "byte ns");
    top_of_metric(report, ACTIVATION_RETAINED, "bytes retained at the measured end", "bytes");
}

/* ---- allocations that failed ---- */

enum { REPORTED_FAILURES = 10 };

static void put_bytes(struct report *report, bool known, uint64_t bytes)
{
    if (known)
        md_line(&report->md, "`%" PRIu64 "` | ", bytes);
    else
        md_line(&report->md, "not known | ");
}

static bool failure_row(struct report *report, const struct oom_view *view, uint64_t number)
{
    const struct cg_trace *trace = view->trace;
    const struct cg_device_memory *samples = &trace->device_memory;
    struct oom_brief brief;
    if (!oom_brief_make(view, number, &brief)) return false;
    bool sampled = brief.sample != CG_NONE && samples->free_bytes_set[brief.sample];
    md_line(&report->md, "| %" PRIu64 " | ", trace->op.timestamp_ns[brief.op]);
    md_code(&report->md, trace_text(trace, trace->op.op_name[brief.op]), true);
    md_line(&report->md, " | ");
    md_code(&report->md, trace_text(trace, trace->op.device[brief.op]), true);
    md_line(&report->md, " | ");
    put_bytes(report, trace->op.requested_bytes_set[brief.op], trace->op.requested_bytes[brief.op]);
    put_bytes(report, sampled, sampled ? samples->free_bytes[brief.sample] : 0);
    put_bytes(report, true, brief.live_bytes);
    if (brief.owner_bytes) {
        md_code(&report->md, md_string(brief.owner), true);
        md_line(&report->md, ", `%" PRIu64 "` | ", brief.owner_bytes);
    } else {
        md_line(&report->md, "none | ");
    }
    md_code(&report->md, md_string(brief.span_path), true);
    md_line(&report->md, " |\n");
    return true;
}

static bool failure_part(struct report *report)
{
    const struct cg_trace *trace = report->evidence->trace;
    struct oom_view view;
    bool ok = true;
    if (trace->out_of_memory_count == 0 || !trace->op.error) return true;
    if (!oom_view_make(trace, report->evidence, NULL, &view)) return false;
    md_line(&report->md,
            "\n## Failed allocations\n\nCalls that returned CUDA_ERROR_OUT_OF_MEMORY; sizes in bytes.\n\n"
            "| Time (ns) | Operation | Device | Asked for | Free | Alive | Largest owner | Span |\n"
            "|---:|---|---|---:|---:|---:|---|---|\n");
    for (uint64_t i = 0; ok && i < view.failures.count && i < REPORTED_FAILURES; i++)
        ok = failure_row(report, &view, i);
    if (view.failures.count > REPORTED_FAILURES)
        md_line(&report->md, "\n%d of %zu are shown; `cg-analyze query --kind oom` has all.\n",
                REPORTED_FAILURES, view.failures.count);
    oom_view_free(&view);
    return ok;
}

int write_report_markdown(const struct evidence *evidence, json_sink *sink, void *context)
{
    struct report *report = malloc(sizeof *report);
    if (!report) return ENOMEM;
    report->evidence = evidence;
    md_start(&report->md, sink, context);
    head(report);
    matrix(report);
    findings(report);
    facts(report);
    activation_part(report);
    bool enough = failure_part(report);
    gaps(report);
    int error = md_finish(&report->md);
    if (!enough) error = ENOMEM;
    free(report);
    return error;
}
