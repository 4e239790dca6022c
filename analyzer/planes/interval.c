#include <stdlib.h>

#include "analyzer/planes/planes.h"

static int compare_starts(const void *a, const void *b)
{
    const struct interval *left = a, *right = b;
    return (left->start > right->start) - (left->start < right->start);
}

void interval_sort(struct interval *intervals, size_t count)
{
    size_t sorted = 1;
    while (sorted < count && intervals[sorted - 1].start <= intervals[sorted].start)
        sorted++;
    if (sorted < count) qsort(intervals, count, sizeof *intervals, compare_starts);
}

uint64_t interval_union(struct interval *intervals, size_t count)
{
    if (!count) return 0;
    interval_sort(intervals, count);

    /* Lengths that are disjoint within 64 bits cannot sum beyond them. */
    uint64_t length = 0;
    struct interval joined = intervals[0];
    for (size_t i = 1; i < count; i++) {
        if (intervals[i].start <= joined.end) {
            if (intervals[i].end > joined.end) joined.end = intervals[i].end;
        } else {
            length += joined.end - joined.start;
            joined = intervals[i];
        }
    }
    return length + (joined.end - joined.start);
}
