/* summary: everything but the graph, unabridged (doc/spec/cli.md 5.3). */
#include "analyzer/cmd/document.h"
#include "analyzer/cmd/gpu_view.h"
#include "analyzer/trace/input.h"

static const struct evidence *evidence_of(const void *object)
{
    return &((const struct command_input *)object)->evidence;
}

/* Members that are a part of the evidence. */
#define EVIDENCE_MEMBER(name)                                                                                \
    static void emit_summary_##name(struct json_doc *doc, const void *object)                                \
    {                                                                                                        \
        emit_##name(doc, evidence_of(object));                                                               \
    }
EVIDENCE_MEMBER(activations)
EVIDENCE_MEMBER(capabilities)
EVIDENCE_MEMBER(findings)
EVIDENCE_MEMBER(gaps)
EVIDENCE_MEMBER(health)
EVIDENCE_MEMBER(memory)
EVIDENCE_MEMBER(provenance)
EVIDENCE_MEMBER(timing)

static void emit_summary_gpu(struct json_doc *doc, const void *object)
{
    emit_gpu_overview(doc, &evidence_of(object)->gpu);
}

static void emit_summary_input(struct json_doc *doc, const void *object)
{
    emit_input(doc, object);
}

static void emit_summary_schema(struct json_doc *doc, const void *object)
{
    (void)object;
    doc_string(doc, "candle-graph/summary/6");
}

static void emit_summary_tool(struct json_doc *doc, const void *object)
{
    (void)object;
    emit_tool(doc);
}

static void emit_summary_graph(struct json_doc *doc, const void *object)
{
    if (evidence_of(object)->has_graph)
        emit_graph_summary(doc, evidence_of(object));
    else
        doc_null(doc);
}

static void emit_stats_counts(struct json_doc *doc, const void *object)
{
    doc_object(doc);
    doc_member_u64(doc, "events", evidence_rows(evidence_of(object), LIST_TENSOR_STATS));
    doc_member_u64(doc, "non_finite_events", evidence_non_finite_events(evidence_of(object)));
    doc_object_end(doc);
}

/* The order is that of the table for people, who do not see the first two. */
static const struct json_member members[] = {
    {"schema", emit_summary_schema, NULL},     {"tool", emit_summary_tool, NULL},
    {"input", emit_summary_input, NULL},       {"provenance", emit_summary_provenance, NULL},
    {"health", emit_summary_health, NULL},     {"capabilities", emit_summary_capabilities, NULL},
    {"summary", emit_summary_graph, NULL},     {"timing", emit_summary_timing, NULL},
    {"memory", emit_summary_memory, NULL},     {"activations", emit_summary_activations, NULL},
    {"tensor_stats", emit_stats_counts, NULL}, {"gpu", emit_summary_gpu, NULL},
    {"findings", emit_summary_findings, NULL}, {"gaps", emit_summary_gaps, NULL},
};

static void emit(struct json_doc *doc, const void *object)
{
    doc_members(doc, members, sizeof members / sizeof *members, object);
}

static void emit_people(struct json_doc *doc, const void *object)
{
    doc_members(doc, members + 2, sizeof members / sizeof *members - 2, object);
}

/* --require-valid, once the document is written. */
static int require_valid(const struct command_input *input, struct cg_error *error)
{
    const struct health *health = &input->evidence.health;
    if (health->structurally_valid && health->capture_complete) return CG_EXIT_DONE;
    const char *what = health->structurally_valid ? "the capture is not complete"
                       : health->capture_complete ? "the capture is not structurally valid"
                                                  : "the capture is neither structurally valid nor complete";
    return cg_fail(error, CG_EXIT_CONDITION, "%s: --require-valid is not met: %s",
                   input_name(input->requested_path), what);
}

static int run(const struct arguments *arguments, struct cg_error *error)
{
    int status = document_check_format(arguments, "a summary", false, error);
    if (status != 0) return status;
    struct command_input input;
    struct input_needs needs = {.threads = argument_threads(arguments),
                                .index = command_index_use(arguments)};
    status = command_input_open(arguments->input, needs, &input, error);
    if (status != 0) return status;
    struct document document = {.order = DOC_SORTED, .emit = emit, .people = emit_people, .object = &input};
    status = document_write(arguments, &input, &document, error);
    if (status == 0 && argument(arguments, "require-valid")->given) status = require_valid(&input, error);
    command_input_close(&input);
    return status;
}

static const struct option_spec options[] = {
    {.name = "require-valid",
     .type = OPTION_FLAG,
     .about = "end with status 1, after writing, unless the capture is valid and complete"},
    OPTION_OUTPUT,
    OPTION_FORMAT,
    OPTION_THREADS,
    OPTION_INDEX,
};
static const struct command_example examples[] = {
    {"cg-analyze summary step10.jsonl --require-valid -o summary.json", "stop a pipeline at a bad capture"},
    {"cg-analyze summary step10.jsonl | jq '.health.issues[].code'", "list what is wrong with it"},
};

const struct command command_summary = {
    .name = "summary",
    .positional = "INPUT",
    .positional_optional = true,
    .about = "show all about a capture but the graph",
    .description =
        "Writes everything that is known about INPUT, a trace or a bundle, but the nodes and edges of "
        "its graph (candle-graph/summary/6). Nothing is cut: all issues, all findings and gaps, the "
        "whole timing and memory profiles.",
    .condition = "--require-valid was given, and the capture is not structurally valid or not complete",
    OPTION_LIST(options),
    EXAMPLE_LIST(examples),
    .run = run,
};
