/* How kinds of ours say which suspects they left out. */
#ifndef CGTRACE_ANALYZER_CMD_SUSPECT_VIEW_H
#define CGTRACE_ANALYZER_CMD_SUSPECT_VIEW_H

#include "analyzer/planes/suspects.h"
#include "common/json_doc.h"

/* An object: how many of how many records are suspect, their share of the rows and of what the rows amount
 * to, and how many break each of the rules that are broken. */
void emit_suspect_tally(struct json_doc *doc, enum suspect_plane plane, const struct suspect_tally *tally);

#endif
