/* What was written already: the lines of `.part` up to the published length. */
#ifndef CGTRACE_ANALYZER_RECOVER_PART_H
#define CGTRACE_ANALYZER_RECOVER_PART_H

#include "analyzer/cmd/output.h"
#include "analyzer/recover/number_set.h"
#include "analyzer/trace/trace.h"

struct part {
    const char *path;
    int fd;         /* -1: there is none */
    uint64_t begin; /* behind the first line */
    uint64_t end;   /* behind the last whole line */
    bool has_spans; /* the session's own two spans are in it */
    struct number_set open_spans;
    struct number_set live_storages, live_frameworks; /* the latter by framework_key() */
    struct number_set spans; /* all that there are, ended ones too; with keep_spans */
    bool keep_spans;
};

/* Reads [begin, limit) line by line and finds what is open at its end; lines behind the first that is not one
 * JSON object are not taken. 0, or the status of *error. */
int part_scan(struct part *part, uint64_t begin, uint64_t limit, struct cg_error *error);
/* Copies its lines. 0, or the status of *error. */
int part_copy(const struct part *part, struct output *output, struct cg_error *error);

#endif
