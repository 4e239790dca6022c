/* The head of the page's data: the run, its tracks and clocks, what each part holds and leaves out. */
#ifndef CGTRACE_ANALYZER_VIEWER_HEAD_H
#define CGTRACE_ANALYZER_VIEWER_HEAD_H

#include "analyzer/viewer/costs.h"
#include "analyzer/viewer/levels.h"
#include "analyzer/viewer/viewer.h"

struct head {
    struct shown costs, feeds, blocks;
    uint64_t merged_paths;
    bool compared; /* the page holds a second run */
};

void head_emit(struct json_doc *doc, const struct head *head, const struct viewer_run *run,
               const struct slices *slices, const struct levels *levels, struct names *names);

#endif
