#include "analyzer/cmd/page_documents.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/cmd/overview.h"
#include "analyzer/cmd/query.h"

/* Rows that the page takes of kinds with pages; nodes with all their edges up to this many. */
enum { PAGE_ROWS = 1000, PAGE_NODES = 20000, PAGE_ISSUES = 2000 };

/* A question that the page holds the answer to: a kind of query, or NULL for the other documents. */
struct question {
    const struct command_input *input;
    const struct query_kind *kind;
};
struct questions {
    struct question *list;
    struct viewer_document *documents;
    size_t count;
};

static void emit_page_overview(struct json_doc *doc, const void *object)
{
    const struct command_input *input = ((const struct question *)object)->input;
    struct overview overview = {.input = input};
    struct oom_view failures;
    struct cg_error error;
    bool good = rankings_make(&input->evidence, &overview.rankings, &error) == 0;
    if (good && input->trace->out_of_memory_count > 0) {
        good = oom_view_make(input->trace, &input->evidence, &input->suspects, &failures);
        if (good) overview.oom = &failures;
    }
    if (good)
        emit_overview(doc, &overview);
    else
        doc_fail(doc, ENOMEM);
    if (overview.oom) oom_view_free(&failures);
    rankings_free(&overview.rankings);
}

/* The health with its issues, as `summary` has it. */
static void emit_page_health(struct json_doc *doc, const void *object)
{
    const struct evidence *evidence = &((const struct question *)object)->input->evidence;
    uint64_t issues =
        evidence_issue_count(evidence, HEALTH_ERROR) + evidence_issue_count(evidence, HEALTH_WARNING);
    if (issues <= PAGE_ISSUES)
        emit_health(doc, evidence);
    else
        doc_null(doc);
}

/* The answer as `query --kind KIND` without options gives it, with more rows. */
static void emit_page_query(struct json_doc *doc, const void *object)
{
    const struct question *question = object;
    const struct query_kind *kind = question->kind;
    char option[] = "--kind", *words[] = {option, (char *)kind->name};
    struct arguments arguments;
    struct cg_error error;
    bool help;
    int status = arguments_parse(&command_query, 2, words, &arguments, &help, &error);
    struct query query = {.kind = kind,
                          .input = question->input,
                          .arguments = &arguments,
                          .limit = PAGE_ROWS,
                          .all = strcmp(kind->name, "spans") == 0};
    if (status == 0 && kind->prepare) status = kind->prepare(&query, &error);
    if (status == 0) {
        kind->emit(doc, &query);
        if (kind->release) kind->release(&query);
    } else {
        doc_fail(doc, ENOMEM);
    }
    arguments_free(&arguments);
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

static void ask(struct questions *questions, const struct command_input *input, const struct query_kind *kind,
                const char *name, void (*emit)(struct json_doc *doc, const void *object))
{
    struct question *question = &questions->list[questions->count];
    *question = (struct question){input, kind};
    questions->documents[questions->count++] = (struct viewer_document){name, emit, question};
}

static void questions_free(struct questions *questions)
{
    free(questions->list);
    free(questions->documents);
}

/* Nodes and edges are listed here where an answer will need them: answers only read the evidence. */
static int questions_make(struct command_input *input, struct questions *questions, struct cg_error *error)
{
    enum { OTHERS = 2 };
    struct evidence *evidence = &input->evidence;
    size_t room = query_kind_count + OTHERS;
    *questions = (struct questions){.list = calloc(room, sizeof *questions->list),
                                    .documents = calloc(room, sizeof *questions->documents)};
    if (!questions->list || !questions->documents) return cg_out_of_memory(error);
    bool listed = !evidence->has_graph || evidence->stored || evidence->graph.op_index ||
                  graph_node_count(&evidence->graph) > PAGE_NODES;
    if (!listed && !graph_list(input->trace, &evidence->graph, true)) return cg_out_of_memory(error);
    ask(questions, input, NULL, "overview", emit_page_overview);
    ask(questions, input, NULL, "health", emit_page_health);
    for (size_t i = 0; i < query_kind_count; i++)
        if (answered(query_kinds[i], input))
            ask(questions, input, query_kinds[i], query_kinds[i]->name, emit_page_query);
    return 0;
}

static struct viewer_run run_of(const struct command_input *input, const char *shown,
                                const struct questions *questions)
{
    return (struct viewer_run){input->trace,         &input->evidence, shown,
                               questions->documents, questions->count, input->beside};
}

int page_documents_write(struct command_input *input, const char *shown, struct command_input *against,
                         uint64_t max_size, json_sink *sink, void *context, struct cg_error *error)
{
    struct questions questions, others = {0};
    struct viewer_run other = {0};
    int status = questions_make(input, &questions, error);
    if (status == 0 && against) {
        status = questions_make(against, &others, error);
        other = run_of(against, against->requested_path, &others);
    }
    struct viewer_run run = run_of(input, shown, &questions);
    if (status == 0) status = viewer_write(&run, against ? &other : NULL, max_size, sink, context, error);
    questions_free(&questions);
    questions_free(&others);
    return status;
}
