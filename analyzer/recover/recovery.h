/* What the parts of a recovery share. */
#ifndef CGTRACE_ANALYZER_RECOVER_RECOVERY_H
#define CGTRACE_ANALYZER_RECOVER_RECOVERY_H

#include <jansson.h>

#include "analyzer/recover/part.h"
#include "analyzer/recover/recover.h"
#include "common/capture_read.h"
#include "common/jsonl.h"

struct recovery {
    const char *path;
    struct cap_file file;
    struct cap_publication published;
    struct cap_rest rests[CAP_RINGS_MAX];
    struct part part;
    char part_path[4096];
    struct jsonl_state state;
    struct symbols symbols;
    json_t *meta;
    struct recover_report *report;
};

/* ---- mend.c: what the rings still hold ---- */

/* Records with as many slots as there are, and times that may be: first of all. */
void recovery_mend_slots(struct recovery *r);
/* Whether the rings hold work of a device: only then all spans must be known. */
bool recovery_has_intervals(const struct recovery *r);
/* Records that do not fit the rest, which has been read, are mended or left out (PAD), so that the trace is
 * valid whatever the file holds. What is left out is counted. False: no memory. */
bool recovery_mend(struct recovery *r);

#endif
