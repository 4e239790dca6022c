/* import: the evidence packet (doc/spec/cli.md 5.4). */
#include "analyzer/cmd/document.h"

static void emit(struct json_doc *doc, const void *object)
{
    const struct command_input *input = object;
    emit_packet(doc, &input->evidence);
}

static int run(const struct arguments *arguments, struct cg_error *error)
{
    struct command_input input;
    struct input_needs needs = {.parts = EVIDENCE_NODES | EVIDENCE_EDGES,
                                .threads = argument_threads(arguments),
                                .index = command_index_use(arguments)};
    int status = command_input_open(arguments->input, needs, &input, error);
    if (status != 0) return status;
    struct document document = {.order = DOC_DECLARED, .emit = emit, .object = &input};
    status = document_write(arguments, &input, &document, error);
    command_input_close(&input);
    return status;
}

static const struct option_spec options[] = {OPTION_OUTPUT, OPTION_THREADS, OPTION_INDEX};
static const struct command_example examples[] = {
    {"cg-analyze import step10.jsonl -o step10-evidence.json", "derive the evidence of one capture"},
    {"zstd -dc big.jsonl.zst | cg-analyze import - | jq .health", "read standard input, look at its health"},
};

const struct command command_import = {
    .name = "import",
    .positional = "INPUT",
    .positional_optional = true,
    .about = "derive the evidence packet of a capture",
    .description =
        "Checks INPUT, a trace or a bundle, and writes its evidence packet as JSON "
        "(candle-graph/evidence/5): "
        "health, capabilities, facts, findings, gaps, graph, timing, memory, activations and GPU evidence.\n"
        "A failed or invalid capture has a packet too, without a graph. Everything is derived from the trace "
        "and nothing else, so the same input gives the same bytes.",
    OPTION_LIST(options),
    EXAMPLE_LIST(examples),
    .run = run,
};
