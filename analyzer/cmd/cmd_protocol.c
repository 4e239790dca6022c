/* protocol: what this program speaks (doc/spec/cli.md 5.1). */
#include "analyzer/cmd/document.h"
#include "analyzer/cmd/query.h"

/* Schemas of one id each, in byte order of their names. */
static const struct {
    const char *name, *id;
} schemas[] = {
    {"bundle", "candle-graph/bundle/1"},
    {"bundle_verification", "candle-graph/bundle-verification/1"},
    {"campaign", "candle-graph/campaign/1"},
    {"campaign_status", "candle-graph/campaign-status/1"},
    {"comparison", "candle-graph/comparison/6"},
    {"evidence", EVIDENCE_SCHEMA},
    {"gradient_manifest", "candle-graph/gradient-manifest/1"},
    {"graph", EVIDENCE_GRAPH_SCHEMA},
    {"nsight_capture", "candle-graph/nsight-capture/1"},
    {"overview", "candle-graph/overview/2"},
    {"publication", "candle-graph/publication/1"},
    {"query", "candle-graph/trace-query/7"},
    {"series", "candle-graph/series/1"},
    {"summary", "candle-graph/summary/6"},
    {"trace_write", CG_SCHEMA_TRACE_10},
    {"verify", "candle-graph/verify/1"},
};

static void emit_named(struct json_doc *doc, const char *name, const char *about)
{
    doc_object(doc);
    doc_member_string(doc, "name", name);
    doc_member_string(doc, "about", about);
    doc_object_end(doc);
}

static void emit(struct json_doc *doc, const void *object)
{
    (void)object;
    doc_object(doc);
    doc_member_string(doc, "schema", "candle-graph/protocol/1");
    doc_key(doc, "tool");
    emit_tool(doc);
    doc_key(doc, "commands");
    doc_array(doc);
    for (size_t i = 0; i < command_count; i++)
        emit_named(doc, commands[i]->name, commands[i]->about);
    doc_array_end(doc);
    doc_key(doc, "query_kinds");
    doc_array(doc);
    for (size_t i = 0; i < query_kind_count; i++)
        emit_named(doc, query_kinds[i]->name, query_kinds[i]->about);
    doc_array_end(doc);
    doc_key(doc, "schemas");
    doc_object(doc);
    for (size_t i = 0; i < sizeof schemas / sizeof *schemas; i++)
        doc_member_string(doc, schemas[i].name, schemas[i].id);
    doc_key(doc, "trace_read");
    doc_array(doc);
    doc_string(doc, CG_SCHEMA_TRACE_9);
    doc_string(doc, CG_SCHEMA_TRACE_10);
    doc_array_end(doc);
    doc_member_string(doc, "viewer", command_find("view") ? "candle-graph/viewer/6" : NULL);
    doc_object_end(doc);
    doc_object_end(doc);
}

static int run(const struct arguments *arguments, struct cg_error *error)
{
    int status = document_check_format(arguments, "the protocol", false, error);
    if (status != 0) return status;
    struct document document = {.order = DOC_SORTED, .emit = emit};
    return document_write(arguments, NULL, &document, error);
}

static const struct option_spec options[] = {OPTION_OUTPUT, OPTION_FORMAT};
static const struct command_example examples[] = {
    {"cg-analyze protocol | jq .schemas", "the schemas that are read and written"},
};

const struct command command_protocol = {
    .name = "protocol",
    .about = "list commands, kinds of query and schemas",
    .description =
        "Writes what this program can do and which schemas it reads and writes "
        "(candle-graph/protocol/1): the commands of the format first, then those beyond it. Scripts "
        "ask this first, then overview, then single queries.",
    OPTION_LIST(options),
    EXAMPLE_LIST(examples),
    .run = run,
};
