/* Whether a file is the one that it was, as fstat() tells. */
#ifndef CGTRACE_ANALYZER_TRACE_SAME_FILE_H
#define CGTRACE_ANALYZER_TRACE_SAME_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

static inline int64_t timespec_ns(const struct timespec *time)
{
    return (int64_t)time->tv_sec * 1000000000 + time->tv_nsec;
}

/* How old a file's last change must be for a further one to show in its times, whose steps are those of the
 * file system: on ext4, XFS, Btrfs and tmpfs a tick of the kernel (1 to 10 ms), on ext4 with inodes of 128
 * bytes, ext3 and HFS+ a second, on FAT two seconds; on NFS and SMB those of the server's. A time is rounded
 * down from a clock that is itself up to a tick behind: two seconds and one tick. */
#define FILE_SETTLED_NS INT64_C(2010000000)

/* Since the change. Below 0: the clock of the file system is ahead of ours, and says nothing of it. */
static inline int64_t file_age_ns(int64_t changed_ns)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return timespec_ns(&now) - changed_ns;
}

/* The same file, which nobody has written to, cut off or given other rights in between. */
static inline bool same_file(const struct stat *now, const struct stat *then)
{
    return now->st_dev == then->st_dev && now->st_ino == then->st_ino && now->st_size == then->st_size &&
           timespec_ns(&now->st_mtim) == timespec_ns(&then->st_mtim) &&
           timespec_ns(&now->st_ctim) == timespec_ns(&then->st_ctim);
}

#endif
