/* The offline page: one HTML file that shows a run, however large (doc/spec/cli.md 5.6).
 *
 * Everything that comes from the trace is in parts (parts.h), which the page's own code unpacks and shows as
 * text nodes only; the page forbids itself every connection. The same run and the same program give the same
 * bytes. */
#ifndef CGTRACE_ANALYZER_VIEWER_VIEWER_H
#define CGTRACE_ANALYZER_VIEWER_VIEWER_H

#include "analyzer/evidence/evidence.h"

#define VIEWER_SCHEMA "candle-graph/viewer/6"

/* 20 MB are what a browser opens without a thought. */
enum { VIEWER_SIZE = 20000000, VIEWER_SIZE_MIN = 1 << 20 };

/* A document that the page shows as it is: what `cg-analyze` prints for this question. */
struct viewer_document {
    const char *name; /* "overview", or the kind of a query */
    void (*emit)(struct json_doc *doc, const void *object);
    const void *object;
};

/* What the page needs of the trace alone, so that it can be made while the evidence still is. max_size: of
 * the page. NULL when memory is short. */
struct viewer_draft;
struct viewer_draft *viewer_draft_make(const struct cg_trace *trace, uint64_t max_size);
void viewer_draft_free(struct viewer_draft *draft);

struct viewer_run {
    const struct cg_trace *trace; /* with its extra fields */
    const struct evidence *evidence;
    const char *input; /* how a command line names it */
    const struct viewer_document *documents;
    size_t document_count;
    struct viewer_draft *draft; /* of the trace, the caller's; NULL: made here */
};

/* Writes the page of a run, compared with `against` (NULL: with none), in at most max_size bytes. Returns 0;
 * CG_EXIT_USAGE when max_size is too small for what every page must hold; or CG_EXIT_IO, also with the sink's
 * errno value. */
int viewer_write(const struct viewer_run *run, const struct viewer_run *against, uint64_t max_size,
                 json_sink *sink, void *context, struct cg_error *error);

#endif
