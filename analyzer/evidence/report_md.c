/* The Markdown report (doc/spec/evidence.md 9). */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/evidence/evidence.h"

struct report {
    const struct evidence *evidence;
    json_sink *sink;
    void *context;
    int error;
    size_t length;
    char buffer[8192];
};

static void flush(struct report *report)
{
    if (!report->error && report->length)
        report->error = report->sink(report->context, report->buffer, report->length);
    report->length = 0;
}

static void put(struct report *report, const char *bytes, size_t length)
{
    while (length) {
        size_t room = sizeof report->buffer - report->length, part = length < room ? length : room;
        memcpy(report->buffer + report->length, bytes, part);
        report->length += part;
        bytes += part;
        length -= part;
        if (report->length == sizeof report->buffer) flush(report);
    }
}

static void line(struct report *report, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void line(struct report *report, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    put(report, text, (size_t)length);
}

/* A text on one line: a run of line breaks and controls becomes a space; in a table pipes are escaped. */
static void insert(struct report *report, struct cg_text text, bool table)
{
    bool control = false;
    for (size_t i = 0; i < text.length; i++) {
        unsigned char byte = (unsigned char)text.bytes[i];
        if (byte < 0x20 || byte == 0x7f) {
            if (!control) put(report, " ", 1);
            control = true;
            continue;
        }
        control = false;
        if (table && byte == '|') put(report, "\\", 1);
        put(report, &text.bytes[i], 1);
    }
}

/* A code span: its fence is longer than any run of backticks in it; blanks keep a backtick at an end apart
 * from the fence, and an empty text visible. */
static void code(struct report *report, struct cg_text text, bool table)
{
    size_t longest = 0, run = 0;
    for (size_t i = 0; i < text.length; i++) {
        run = text.bytes[i] == '`' ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    for (size_t i = 0; i <= longest; i++)
        put(report, "`", 1);
    bool pad = !text.length || longest;
    put(report, " ", pad);
    insert(report, text, table);
    put(report, " ", pad && text.length);
    for (size_t i = 0; i <= longest; i++)
        put(report, "`", 1);
}

static struct cg_text string(const char *text)
{
    return (struct cg_text){text, strlen(text)};
}

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
                 {"phase", string(cg_name_PHASE[trace->run.phase])},
                 {"device", trace_text(trace, trace->run.device)}};
    line(report, "# cg-analyze evidence report\n\n- status: **%s**\n",
         !health->structurally_valid ? "STRUCTURALLY INVALID"
         : !health->capture_complete ? "FAILED CAPTURE"
                                     : "COMPLETE CAPTURE");
    for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
        line(report, "- %s: ", items[i].name);
        code(report, items[i].value, false);
        line(report, "\n");
    }
}

static void state_row(struct report *report, const char *name, enum capability_level level,
                      struct cg_text source, struct cg_text reason)
{
    line(report, "| %s | `%s` | ", name, level_words[level]);
    code(report, source, true);
    line(report, " | ");
    insert(report, reason, true);
    line(report, " |\n");
}

static void matrix(struct report *report)
{
    line(report, "\n## Capability matrix\n\n| Capability | Level | Source | Reason |\n|---|---|---|---|\n");
    for (unsigned kind = 0; kind < CAPABILITY_KIND_COUNT; kind++) {
        const struct capability *capability = &report->evidence->capabilities[kind];
        state_row(report, capability_names[kind].row, capability->level, capability->source,
                  capability->reason);
    }
}

static void findings(struct report *report)
{
    const struct evidence *evidence = report->evidence;
    line(report, "\n## Qualified findings\n\n");
    if (!evidence->finding_count) line(report, "There are none.\n");
    for (size_t i = 0; i < evidence->finding_count; i++) {
        const struct finding *finding = &evidence->findings[i];
        line(report, "- `%s` ", level_words[finding->qualification]);
        insert(report, finding->summary, false);
        line(report, " (requires `");
        for (unsigned k = 0; k < finding->require_count; k++)
            line(report, "%s%s", k ? ", " : "", capability_names[finding->requires[k]].spelling);
        line(report, "`)\n");
    }
}

static void facts(struct report *report)
{
    static const char *const units[] = {
        [FACT_DURATION_NS] = " ns", [FACT_BYTES] = " bytes", [FACT_COUNT] = "", [FACT_TEXT] = ""};
    const struct evidence *evidence = report->evidence;
    if (!evidence->fact_count) return;
    line(report, "\n## Facts\n\n| Fact | Value | Capability |\n|---|---|---|\n");
    for (size_t i = 0; i < evidence->fact_count; i++) {
        const struct fact *fact = &evidence->facts[i];
        line(report, "| %s | ", fact->label);
        if (fact->kind == FACT_TEXT)
            code(report, fact->text, true);
        else
            line(report, "`%" PRIu64 "%s`", fact->number, units[fact->kind]);
        line(report, " | %s `%s` |\n", capability_names[fact->capability].row,
             level_words[evidence->capabilities[fact->capability].level]);
    }
}

static void gaps(struct report *report)
{
    line(report, "\n## Evidence gaps\n\n");
    if (!report->evidence->gap_count) line(report, "There are none.\n");
    for (size_t i = 0; i < report->evidence->gap_count; i++) {
        line(report, "- ");
        insert(report, report->evidence->gaps[i], false);
        line(report, "\n");
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
    line(report, "- most %s", metric);
    if (clock) {
        line(report, " on ");
        code(report, clock[0], false);
        line(report, ", clock ");
        code(report, clock[1], false);
    }
    line(report, ": ");
    code(report, trace_text(trace, trace->op.op_name[operation->op]), false);
    line(report, " (");
    code(report, span_id, false);
    line(report, "%s%s%s): %s %s\n", *suffix ? " `" : "", suffix, *suffix ? "`" : "", decimal(value, number),
         unit);
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
    line(report, "\n## Activations\n\n| State | Level | Source | Reason |\n|---|---|---|---|\n");
#define STATE_ROW(name)                                                                                      \
    state_row(report, #name, activations->name.level, string(activations->name.source),                      \
              string(activations->name.reason));
    ACTIVATION_STATES(STATE_ROW)
    line(report, "\n");
    top_of_metric(report, ACTIVATION_HOST_DURATION, "observed host time", "ns");
    top_of_clocks(report);
    top_of_metric(report, ACTIVATION_DENSE_OUTPUT, "dense output", "bytes");
    top_of_metric(report, ACTIVATION_LOGICAL_ALLOCATED, "logical allocated bytes", "bytes");
    top_of_metric(report, ACTIVATION_BYTE_NANOSECONDS, "byte-nanoseconds", "byte ns");
    top_of_metric(report, ACTIVATION_RETAINED, "bytes retained at the measured end", "bytes");
}

int write_report_markdown(const struct evidence *evidence, json_sink *sink, void *context)
{
    struct report *report = malloc(sizeof *report);
    if (!report) return ENOMEM;
    report->evidence = evidence;
    report->sink = sink;
    report->context = context;
    report->error = 0;
    report->length = 0;
    head(report);
    matrix(report);
    findings(report);
    facts(report);
    activation_part(report);
    gaps(report);
    flush(report);
    int error = report->error;
    free(report);
    return error;
}
