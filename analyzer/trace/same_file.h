/* Whether a file is the one that it was, as fstat() tells. */
#ifndef CGTRACE_ANALYZER_TRACE_SAME_FILE_H
#define CGTRACE_ANALYZER_TRACE_SAME_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

static inline int64_t timespec_ns(const struct timespec *time)
{
    return (int64_t)time->tv_sec * 1000000000 + time->tv_nsec;
}

/* The same file, which nobody has written to, cut off or given other rights in between. */
static inline bool same_file(const struct stat *now, const struct stat *then)
{
    return now->st_dev == then->st_dev && now->st_ino == then->st_ino && now->st_size == then->st_size &&
           timespec_ns(&now->st_mtim) == timespec_ns(&then->st_mtim) &&
           timespec_ns(&now->st_ctim) == timespec_ns(&then->st_ctim);
}

#endif
