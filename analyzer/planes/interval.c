#include <stdlib.h>
#include <string.h>

#include "analyzer/planes/array.h"
#include "analyzer/planes/order.h"
#include "analyzer/planes/planes.h"

/* From so many on their order is worked out in linear time, in memory of its own. */
enum { MANY = 4096 };

static int compare_starts(const void *a, const void *b)
{
    const struct interval *left = a, *right = b;
    return (left->start > right->start) - (left->start < right->start);
}

/* False when memory is short: nothing was moved. */
static bool sort_many(struct interval *intervals, size_t count)
{
    uint64_t *starts = array_raw(count, sizeof *starts);
    struct interval *sorted = array_raw(count, sizeof *sorted);
    uint32_t *order = NULL;
    for (size_t i = 0; starts && i < count; i++)
        starts[i] = intervals[i].start;
    bool ok = starts && sorted && count <= UINT32_MAX && order_by_time(starts, count, &order) && order;
    for (size_t i = 0; ok && i < count; i++)
        sorted[i] = intervals[order[i]];
    if (ok) memcpy(intervals, sorted, count * sizeof *sorted);
    free(order);
    free(sorted);
    free(starts);
    return ok;
}

void interval_sort(struct interval *intervals, size_t count)
{
    size_t sorted = 1;
    while (sorted < count && intervals[sorted - 1].start <= intervals[sorted].start)
        sorted++;
    if (sorted >= count || (count >= MANY && sort_many(intervals, count))) return;
    qsort(intervals, count, sizeof *intervals, compare_starts);
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
