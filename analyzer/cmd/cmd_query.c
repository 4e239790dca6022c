/* query: one question about a capture (doc/spec/cli.md 5.5 and 6). */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/cmd/query.h"
#include "analyzer/trace/input.h"

static void emit_query_capabilities(struct json_doc *doc, const void *object)
{
    emit_capabilities(doc, &((const struct query *)object)->input->evidence);
}

static void emit_filter(struct json_doc *doc, const void *object)
{
    const struct query *query = object;
    doc_object(doc);
    doc_member_string(doc, "label", query->label);
    doc_member_string(doc, "label_prefix", query->label_prefix);
    doc_object_end(doc);
}

static void emit_query_input(struct json_doc *doc, const void *object)
{
    emit_input(doc, ((const struct query *)object)->input);
}

static void emit_kind(struct json_doc *doc, const void *object)
{
    doc_string(doc, ((const struct query *)object)->kind->name);
}

static void emit_result(struct json_doc *doc, const void *object)
{
    ((const struct query *)object)->kind->emit(doc, object);
}

static void emit_schema(struct json_doc *doc, const void *object)
{
    (void)object;
    doc_string(doc, "candle-graph/trace-query/7");
}

static void emit_query_tool(struct json_doc *doc, const void *object)
{
    (void)object;
    emit_tool(doc);
}

static void emit(struct json_doc *doc, const void *object)
{
    static const struct json_member members[] = {
        {"capabilities", emit_query_capabilities, NULL},
        {"filter", emit_filter, NULL},
        {"input", emit_query_input, NULL},
        {"kind", emit_kind, NULL},
        {"result", emit_result, NULL},
        {"schema", emit_schema, NULL},
        {"tool", emit_query_tool, NULL},
    };
    doc_members(doc, members, sizeof members / sizeof *members, object);
}

/* Fills the query from the command line and refuses what its kind does not have. */
static int read_arguments(const struct arguments *arguments, struct query *query, struct cg_error *error)
{
    const char *name = argument(arguments, "kind")->text;
    for (size_t i = 0; i < query_kind_count; i++)
        if (strcmp(query_kinds[i]->name, name) == 0) query->kind = query_kinds[i];
    assert(query->kind); /* the parser takes no other word */
    for (size_t i = 0; i < arguments->command->option_count; i++) {
        const char *option = arguments->command->options[i].name;
        if (arguments->values[i].given && !query_kind_has(query->kind, option))
            return cg_fail(error, CG_EXIT_USAGE, "query: --kind %s has no --%s: leave it out", name, option);
    }
    query_read_page(arguments, query);
    return document_check_format(arguments, name, query->kind->rows != NULL, error);
}

static const char *missing_graph(const struct health *health)
{
    return health->structurally_valid ? "the capture failed" : "the capture is not structurally valid";
}

static int answer(const struct arguments *arguments, struct query *query, struct cg_error *error)
{
    const struct query_kind *kind = query->kind;
    const struct evidence *evidence = &query->input->evidence;
    if (kind->graph && !evidence->has_graph)
        return cg_fail(error, CG_EXIT_INPUT,
                       "%s: --kind %s needs a graph, and there is none: %s (see "
                       "'cg-analyze summary')",
                       input_name(query->input->requested_path), kind->name,
                       missing_graph(&evidence->health));
    int status = kind->prepare ? kind->prepare(query, error) : 0;
    if (status != 0) return status;
    query_suggest(query);
    struct document document = {.order = DOC_SORTED,
                                .emit = emit,
                                .people = kind->people ? kind->people : emit_result,
                                .rows = kind->rows,
                                .object = query};
    status = document_write(arguments, query->input, &document, error);
    if (kind->release) kind->release(query);
    return status;
}

static int run(const struct arguments *arguments, struct cg_error *error)
{
    struct query query = {0};
    int status = read_arguments(arguments, &query, error);
    if (status != 0) return status;
    struct command_input input;
    struct input_needs needs = query.kind->needs;
    needs.threads = argument_threads(arguments);
    needs.index = command_index_use(arguments);
    status = command_input_open(arguments->input, needs, &input, error);
    if (status != 0) return status;
    query.input = &input;
    status = answer(arguments, &query, error);
    command_input_close(&input);
    return status;
}

static const struct option_spec options[] = {
    {.name = "kind",
     .type = OPTION_WORD,
     .argument = "KIND",
     .about = "what is asked",
     .words = query_kind_words,
     .required = true},
    QUERY_PAGE_OPTIONS(" (kinds with pages)"),
    {.name = "by",
     .type = OPTION_WORD,
     .argument = "WHAT",
     .about =
         "what the storages of a group have in common; stack without it (leaks, temporaries, peak, churn)",
     .words = storage_grouping_words},
    {.name = "device",
     .type = OPTION_TEXT,
     .argument = "DEVICE",
     .about = "only storages of DEVICE, such as cuda:0 (leaks, temporaries, peak, churn, ledger)"},
    {.name = "after-steps",
     .type = OPTION_NUMBER,
     .argument = "N",
     .about = "storages made during a step that are alive when N further steps have ended leak too (leaks)",
     .minimum = 1,
     .maximum = UINT64_MAX},
    {.name = "step-span",
     .type = OPTION_TEXT,
     .argument = "NAME",
     .about =
         "spans of this name are the steps; without it those with a step, up to the end of each optimizer "
         "(leaks)"},
    {.name = "within-events",
     .type = OPTION_NUMBER,
     .argument = "N",
     .about = "storages freed within N memory records of their thread are temporary; 1 without it "
              "(temporaries)",
     .minimum = 1,
     .maximum = UINT64_MAX},
    {.name = "input",
     .type = OPTION_TEXT,
     .argument = "LABEL",
     .about = "spans of this name are the input of the program: while the host is in one, it waits for data "
              "(idle)"},
    {.name = "kernel-wait-ns",
     .type = OPTION_NUMBER,
     .argument = "N",
     .about =
         "gaps shorter than N nanoseconds are the device's own, from one kernel to the next; 30 without it "
         "(idle)",
     .maximum = UINT64_MAX},
    {.name = "launch-gap-ns",
     .type = OPTION_NUMBER,
     .argument = "N",
     .about = "the host is launching also for up to N nanoseconds between two calls that issue work; 20000 "
              "without it (idle)",
     .maximum = UINT64_MAX},
    {.name = "min-bytes",
     .type = OPTION_NUMBER,
     .argument = "N",
     .about = "leave out groups of fewer bytes (leaks, temporaries, peak, churn)",
     .maximum = UINT64_MAX},
    {.name = "suppressions",
     .type = OPTION_FILE,
     .argument = "FILE",
     .about =
         "leave out groups that a pattern in FILE fits: one a line, as in file names of the shell, compared "
         "with frames, span names, operations and entry points (leaks, temporaries)"},
    OPTION_OUTPUT,
    OPTION_FORMAT,
    OPTION_THREADS,
    OPTION_INDEX,
};
static const struct command_example examples[] = {
    {"cg-analyze query run.jsonl --kind leaks --after-steps 2 --suppressions known.txt",
     "which call sites keep what they allocate in a step"},
    {"cg-analyze query step10.jsonl --kind idle --input next_batch",
     "how long the device waited, and for what"},
    {"cg-analyze query step10.jsonl --kind memory", "the memory profile: peak, timeline, lifetimes"},
    {"cg-analyze query step10.jsonl --kind spans --label-prefix layer. --limit 20",
     "the first twenty nodes of some layers"},
    {"cg-analyze query step10.jsonl --kind tensor-stats --all -o stats.csv --format csv",
     "every tensor statistic, for a spreadsheet"},
};

const struct command command_query = {
    .name = "query",
    .positional = "INPUT",
    .positional_optional = true,
    .about = "ask one question about a capture",
    .description =
        "Writes the answer to one question about INPUT, a trace or a bundle, with the capability matrix that "
        "says how far it can be relied on (candle-graph/trace-query/7).\n"
        "Kinds with pages show 50 rows at a time in an order that does not depend on the page. Kinds that "
        "need a graph are refused on failed or invalid captures (status 3).",
    OPTION_LIST(options),
    EXAMPLE_LIST(examples),
    .run = run,
};
