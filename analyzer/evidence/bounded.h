/* Lists that are cut at a number of rows and say so (doc/spec/cli.md 4.2). */
#ifndef CGTRACE_ANALYZER_EVIDENCE_BOUNDED_H
#define CGTRACE_ANALYZER_EVIDENCE_BOUNDED_H

#include "common/json_doc.h"

/* Writes row number i of a list as one value. */
typedef void bounded_row(struct json_doc *doc, const void *list, uint64_t i);

/* The members displayed, total, truncated and rows, into an open object: the first cap of total rows. */
void emit_bounded_members(struct json_doc *doc, uint64_t total, uint64_t cap, bounded_row *row,
                          const void *list);
/* An object of these members alone. */
void emit_bounded(struct json_doc *doc, uint64_t total, uint64_t cap, bounded_row *row, const void *list);

#endif
