#include "analyzer/cmd/page_documents.h"

#include <stdlib.h>
#include <string.h>

/* Rows that the page takes of kinds with pages; nodes with all their edges up to this many. */
enum { PAGE_ROWS = 1000, PAGE_NODES = 20000, PAGE_ISSUES = 2000 };

/* The health with its issues, as `summary` has it. */
static void emit_page_health(struct json_doc *doc, const void *object)
{
    const struct evidence *evidence = object;
    uint64_t issues =
        evidence_issue_count(evidence, HEALTH_ERROR) + evidence_issue_count(evidence, HEALTH_WARNING);
    if (issues <= PAGE_ISSUES)
        emit_health(doc, evidence);
    else
        doc_null(doc);
}

static void emit_page_query(struct json_doc *doc, const void *object)
{
    const struct query *query = object;
    query->kind->emit(doc, query);
}

/* Is the answer bounded, or small here? The memory profile is shown from the records themselves, and names
 * are summed up for the page. */
static bool answered(const struct query_kind *kind, const struct command_input *input)
{
    const struct evidence *evidence = &input->evidence;
    if (strcmp(kind->name, "memory") == 0 || strcmp(kind->name, "labels") == 0) return false;
    if (kind->graph && !evidence->has_graph) return false;
    if (strcmp(kind->name, "spans") == 0)
        return evidence->has_graph && graph_node_count(&evidence->graph) <= PAGE_NODES;
    return true;
}

/* The query as `query --kind KIND` without options asks it. */
static int make_query(const struct query_kind *kind, struct command_input *input, struct arguments *arguments,
                      struct query *query, struct cg_error *error)
{
    char option[] = "--kind", *words[] = {option, (char *)kind->name};
    bool help;
    int status = arguments_parse(&command_query, 2, words, arguments, &help, error);
    if (status != 0) return status;
    *query = (struct query){.kind = kind,
                            .input = input,
                            .arguments = arguments,
                            .limit = PAGE_ROWS,
                            .all = strcmp(kind->name, "spans") == 0};
    status = kind->prepare ? kind->prepare(query, error) : 0;
    if (status != 0) query->input = NULL; /* nothing to release */
    return status;
}

int page_documents_make(struct command_input *input, struct page_documents *documents, struct cg_error *error)
{
    enum { OTHERS = 2 };
    struct evidence *evidence = &input->evidence;
    *documents = (struct page_documents){.list = calloc(query_kind_count + OTHERS, sizeof *documents->list),
                                         .queries = calloc(query_kind_count, sizeof *documents->queries),
                                         .arguments = calloc(query_kind_count, sizeof *documents->arguments),
                                         .overview = {.input = input}};
    if (!documents->list || !documents->queries || !documents->arguments) return cg_out_of_memory(error);
    int status = rankings_make(evidence, &documents->overview.rankings, error);
    documents->list[documents->count++] =
        (struct viewer_document){"overview", emit_overview, &documents->overview};
    documents->list[documents->count++] = (struct viewer_document){"health", emit_page_health, evidence};
    bool listed = !evidence->has_graph || evidence->stored || evidence->graph.op_index ||
                  graph_node_count(&evidence->graph) > PAGE_NODES;
    if (status == 0 && !listed && !graph_list(input->trace, &evidence->graph, true))
        status = cg_out_of_memory(error);
    for (size_t i = 0; i < query_kind_count && status == 0; i++) {
        struct query *query = &documents->queries[i];
        if (!answered(query_kinds[i], input)) continue;
        status = make_query(query_kinds[i], input, &documents->arguments[i], query, error);
        documents->list[documents->count++] =
            (struct viewer_document){query_kinds[i]->name, emit_page_query, query};
    }
    return status;
}

void page_documents_free(struct page_documents *documents)
{
    for (size_t i = 0; documents->queries && i < query_kind_count; i++)
        if (documents->queries[i].input && documents->queries[i].kind->release)
            documents->queries[i].kind->release(&documents->queries[i]);
    for (size_t i = 0; documents->arguments && i < query_kind_count; i++)
        if (documents->arguments[i].command) arguments_free(&documents->arguments[i]);
    free(documents->arguments);
    rankings_free(&documents->overview.rankings);
    free(documents->list);
    free(documents->queries);
    *documents = (struct page_documents){0};
}

static struct viewer_run run_of(const struct command_input *input, const char *shown,
                                const struct page_documents *documents)
{
    return (struct viewer_run){input->trace, &input->evidence, shown, documents->list, documents->count};
}

int page_documents_write(struct command_input *input, const char *shown, struct command_input *against,
                         uint64_t max_size, json_sink *sink, void *context, struct cg_error *error)
{
    struct page_documents documents, others = {0};
    struct viewer_run other = {0};
    int status = page_documents_make(input, &documents, error);
    if (status == 0 && against) status = page_documents_make(against, &others, error);
    if (against) other = run_of(against, against->requested_path, &others);
    struct viewer_run run = run_of(input, shown, &documents);
    if (status == 0) status = viewer_write(&run, against ? &other : NULL, max_size, sink, context, error);
    page_documents_free(&documents);
    if (against) page_documents_free(&others);
    return status;
}
