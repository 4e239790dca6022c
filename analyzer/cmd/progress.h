/* A bar on a terminal's standard error for work that takes longer than a second. */
#ifndef CGTRACE_ANALYZER_CMD_PROGRESS_H
#define CGTRACE_ANALYZER_CMD_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct progress {
    const char *what;
    bool terminal; /* standard error is one */
    bool shown;
    struct timespec begin;
};

struct progress progress_start(const char *what);
/* Shows done of total bytes (total 0: not known). For cg_load_options.progress: context is the progress. */
void progress_show(void *context, uint64_t done, uint64_t total);
/* Takes the bar off the screen. */
void progress_end(struct progress *progress);

#endif
