#include "analyzer/planes/order.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/planes/array.h"

struct timed_row {
    uint64_t time;
    uint32_t row;
};

/* One pass of a stable radix sort, by the byte at shift. */
static void radix_pass(const struct timed_row *from, struct timed_row *to, size_t rows, unsigned shift)
{
    size_t places[256] = {0};
    for (size_t i = 0; i < rows; i++)
        places[from[i].time >> shift & 255]++;
    size_t next = 0;
    for (size_t i = 0; i < 256; i++) {
        size_t count = places[i];
        places[i] = next;
        next += count;
    }
    for (size_t i = 0; i < rows; i++)
        to[places[from[i].time >> shift & 255]++] = from[i];
}

bool order_by_time(const uint64_t *times, size_t rows, uint32_t **order)
{
    *order = NULL;
    size_t sorted = 1;
    while (sorted < rows && times[sorted - 1] <= times[sorted])
        sorted++;
    if (sorted >= rows) return true;

    struct timed_row *from = array_raw(rows, sizeof *from), *to = array_raw(rows, sizeof *to);
    uint32_t *result = array_raw(rows, sizeof *result);
    uint64_t differ = 0; /* bits in which any two differ: of times that is the lower half */
    if (from && to && result) {
        for (size_t i = 0; i < rows; i++) {
            differ |= times[i] ^ times[0];
            from[i] = (struct timed_row){times[i], (uint32_t)i};
        }
        for (unsigned shift = 0; shift < 64; shift += 8) {
            if ((differ >> shift & 255) == 0) continue;
            radix_pass(from, to, rows, shift);
            struct timed_row *swap = from;
            from = to;
            to = swap;
        }
        for (size_t i = 0; i < rows; i++)
            result[i] = from[i].row;
        *order = result;
    }
    free(from);
    free(to);
    if (!*order) free(result);
    return *order != NULL;
}

bool sort_times(uint64_t *times, size_t rows)
{
    uint32_t *order;
    if (!order_by_time(times, rows, &order)) return false;
    if (!order) return true;
    uint64_t *sorted = array_raw(rows, sizeof *sorted);
    for (size_t i = 0; sorted && i < rows; i++)
        sorted[i] = times[order[i]];
    if (sorted) memcpy(times, sorted, rows * sizeof *sorted);
    free(order);
    free(sorted);
    return sorted != NULL;
}

static int compare_strings(const void *a, const void *b, void *trace)
{
    return trace_compare(trace, *(const cg_str *)a, *(const cg_str *)b);
}

size_t sort_strings(const struct cg_trace *trace, cg_str *strings, size_t count, bool unique)
{
    /* The usual list is one string over and over. */
    if (unique) {
        size_t same = 1;
        while (same < count && strings[same] == strings[0])
            same++;
        if (same >= count) return count ? 1 : 0;
    }
    /* qsort_r() hands the context back without const; the comparison reads it only. */
    qsort_r(strings, count, sizeof *strings, compare_strings, (void *)(uintptr_t)trace);
    if (!unique) return count;
    size_t kept = 1;
    for (size_t i = 1; i < count; i++)
        if (strings[i] != strings[kept - 1]) strings[kept++] = strings[i];
    return kept;
}
