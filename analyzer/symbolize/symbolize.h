/* Functions and lines of the source for the frames of a trace's stacks. */
#ifndef CGTRACE_ANALYZER_SYMBOLIZE_SYMBOLIZE_H
#define CGTRACE_ANALYZER_SYMBOLIZE_SYMBOLIZE_H

#include "analyzer/cmd/output.h"
#include "analyzer/symbolize/debug_info.h"

enum { SYMBOLIZE_MODULES_MAX = 8 }; /* that are named in a report */

struct symbolize_report {
    uint64_t frames, with_lines, with_names; /* distinct frames; with_names: a function without a line */
    uint64_t modules_without;                /* no debug information was found for them; the first ones: */
    char without[SYMBOLIZE_MODULES_MAX][256];
};

/* Writes the trace with a member `source` in each frame that it is found for (common/event_table.h), one that
 * is there already replaced, and all else as it is. 0, or the status of *error. */
int symbolize_trace(const char *path, const struct debug_places *places, struct output *output,
                    struct symbolize_report *report, struct cg_error *error);

#endif
