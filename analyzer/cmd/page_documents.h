/* The documents of a run that the page shows: what overview, summary and the kinds of query print. */
#ifndef CGTRACE_ANALYZER_CMD_PAGE_DOCUMENTS_H
#define CGTRACE_ANALYZER_CMD_PAGE_DOCUMENTS_H

#include "analyzer/cmd/overview.h"
#include "analyzer/cmd/query.h"
#include "analyzer/viewer/viewer.h"

struct page_documents {
    struct viewer_document *list;
    size_t count;
    struct overview overview;
    struct query *queries;       /* by kind; those without a document have no input */
    struct arguments *arguments; /* by kind: a command line without options */
};

/* Answers every kind of query that stays small whatever the run, and the others where the run is small.
 * input (with the trace and its extra fields) must outlive the documents. 0 or CG_EXIT_IO. */
int page_documents_make(struct command_input *input, struct page_documents *documents,
                        struct cg_error *error);
void page_documents_free(struct page_documents *documents);

/* The page of one run; shown: how command lines on the page name it. Through the sink. */
int page_documents_write(struct command_input *input, const char *shown, struct command_input *against,
                         uint64_t max_size, json_sink *sink, void *context, struct cg_error *error);

#endif
