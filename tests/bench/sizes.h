/* The sizes at which the goals are stated, and a tenth of them for a quick look. */
#ifndef CGTRACE_TESTS_BENCH_SIZES_H
#define CGTRACE_TESTS_BENCH_SIZES_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>

/* Whether `row` is measured at the size of its goal: not where CGTRACE_BENCH_SMALL=1 asks for the small one,
 * nor where /tmp or memory cannot hold it, which is said. The bytes are those of the largest trace that is
 * made. */
static inline bool bench_full_size(const char *row, double bytes)
{
    const char *small = getenv("CGTRACE_BENCH_SMALL");
    struct statvfs disk;
    struct sysinfo memory;
    const char *why = NULL;
    if (small && strcmp(small, "1") == 0)
        why = "CGTRACE_BENCH_SMALL=1";
    else if (statvfs("/tmp", &disk) != 0 || (double)disk.f_bavail * (double)disk.f_frsize < 2 * bytes)
        why = "/tmp has too little room";
    else if (sysinfo(&memory) != 0 || (double)memory.totalram * memory.mem_unit < 1.5 * bytes)
        why = "too little memory";
    if (why) printf("SKIP %s_full_size a smaller trace was taken: %s\n", row, why);
    return why == NULL;
}

#endif
