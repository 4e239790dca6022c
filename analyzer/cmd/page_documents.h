/* The page of a run with its documents: what overview, summary and the kinds of query print. */
#ifndef CGTRACE_ANALYZER_CMD_PAGE_DOCUMENTS_H
#define CGTRACE_ANALYZER_CMD_PAGE_DOCUMENTS_H

#include "analyzer/cmd/command_input.h"
#include "analyzer/viewer/viewer.h"

/* Writes the page of an input (with its trace and the extra fields) through the sink, compared with `against`
 * (NULL: with none). Every kind of query that stays small whatever the run is on it, and the others where the
 * run is small. shown: how command lines on the page name the input. As viewer_write(). */
int page_documents_write(struct command_input *input, const char *shown, struct command_input *against,
                         uint64_t max_size, json_sink *sink, void *context, struct cg_error *error);

#endif
