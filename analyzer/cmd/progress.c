#include "analyzer/cmd/progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BAR_CELLS = 30 };

struct progress progress_start(const char *what)
{
    struct progress progress = {.what = what, .terminal = isatty(STDERR_FILENO) != 0};
    clock_gettime(CLOCK_MONOTONIC, &progress.begin);
    return progress;
}

void progress_show(void *context, uint64_t done, uint64_t total)
{
    struct progress *progress = context;
    if (!progress->terminal) return;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    double seconds = (double)(now.tv_sec - progress->begin.tv_sec) +
                     (double)(now.tv_nsec - progress->begin.tv_nsec) * 1e-9;
    if (seconds < 1) return;
    double mib = (double)done / 1048576;
    progress->shown = true;
    if (total == 0) {
        fprintf(stderr, "\r\033[K%s %.0f MiB", progress->what, mib);
    } else {
        int cells = (int)((double)done / (double)total * BAR_CELLS);
        char bar[BAR_CELLS + 1];
        memset(bar, ' ', BAR_CELLS);
        memset(bar, '#', (size_t)(cells > BAR_CELLS ? BAR_CELLS : cells));
        bar[BAR_CELLS] = '\0';
        fprintf(stderr, "\r\033[K%s [%s] %3.0f %%  %.0f MiB", progress->what, bar,
                100 * (double)done / (double)total, mib);
    }
    fflush(stderr);
}

void progress_end(struct progress *progress)
{
    if (progress->shown) fputs("\r\033[K", stderr);
    progress->shown = false;
}
