/* A file that names storages not to be reported: one pattern of the shell (glob(7)) a line, compared with
 * what a group is called by; empty lines and lines that begin with # are passed over. */
#ifndef CGTRACE_ANALYZER_CMD_SUPPRESSIONS_H
#define CGTRACE_ANALYZER_CMD_SUPPRESSIONS_H

#include "analyzer/trace/trace.h"

struct suppression {
    char *pattern;
    uint64_t groups; /* that it took out */
};
struct suppressions {
    struct suppression *patterns;
    size_t count;
};

/* Zeroed is empty. CG_EXIT_INPUT for a file that is missing or of the wrong form, with the line; CG_EXIT_IO.
 */
int suppressions_read(const char *path, struct suppressions *suppressions, struct cg_error *error);
void suppressions_free(struct suppressions *suppressions);

/* The first pattern that fits one of the names, and counts it; NULL: none does. */
const struct suppression *suppressions_find(struct suppressions *suppressions, const char *const *names,
                                            size_t count);

#endif
