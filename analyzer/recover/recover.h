/* A valid trace from what a program left that could not complete its own: its capture file and `.part`
 * (common/capture.h). */
#ifndef CGTRACE_ANALYZER_RECOVER_RECOVER_H
#define CGTRACE_ANALYZER_RECOVER_RECOVER_H

#include <stdbool.h>
#include <stdint.h>

#include "analyzer/trace/trace.h"

struct recover_report {
    char trace[4096];
    char reason[256];
    bool running;          /* the program still records */
    bool part_missing;     /* there is no `.part`: the rings are all there is */
    uint64_t part_bytes;   /* taken over from `.part` */
    uint64_t part_dropped; /* bytes that were published as whole and are not */
    uint64_t ring_records; /* added from the rings */
    uint64_t ring_dropped; /* records that contradict all others */
    uint64_t open_spans, live_storages;
    uint64_t lost;
};

/* Makes the trace. output: its path, "-" for standard output; NULL: beside the capture file, under the name
 * that the program's own would have had; refused when that exists. live: also of a program that still runs.
 * Returns 0 or the status of *error: CG_EXIT_CONDITION when the program still runs and live is false. */
int recover_trace(const char *capture, const char *output, bool live, struct recover_report *report,
                  struct cg_error *error);

#endif
