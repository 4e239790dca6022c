#include "analyzer/planes/correlation.h"

#include <stdlib.h>

#include "analyzer/planes/array.h"

struct correlated {
    uint64_t correlation;
    uint32_t op;
};
struct join {
    struct correlated *calls; /* ascending; of equal ones the first in the file */
    size_t count;
};

static int compare_correlated(const void *left, const void *right)
{
    const struct correlated *a = left, *b = right;
    if (a->correlation != b->correlation) return a->correlation < b->correlation ? -1 : 1;
    return (a->op > b->op) - (a->op < b->op);
}

/* Numbers are mostly given out in ascending order: then there is nothing to sort. */
static bool join_make(const struct cg_trace *trace, struct join *join)
{
    const struct cg_ops *op = &trace->op;
    bool ascending = true;
    *join = (struct join){.calls = array_raw(op->rows, sizeof *join->calls)};
    if (!join->calls) return false;
    for (size_t i = 0; i < op->rows; i++) {
        if (!op->correlation_set[i]) continue;
        if (join->count > 0) ascending &= join->calls[join->count - 1].correlation <= op->correlation[i];
        join->calls[join->count++] = (struct correlated){op->correlation[i], (uint32_t)i};
    }
    if (!ascending) qsort(join->calls, join->count, sizeof *join->calls, compare_correlated);
    return true;
}

/* The call, looked for from *near on, where the one before was found: intervals mostly come in the order of
 * their calls. */
static uint32_t join_find(const struct join *join, uint64_t correlation, size_t *near)
{
    size_t low = 0, high = join->count;
    enum { STEPS = 8 };
    if (*near < join->count && join->calls[*near].correlation == correlation) return join->calls[*near].op;
    if (*near < join->count && join->calls[*near].correlation < correlation) {
        for (unsigned i = 0; i < STEPS && *near < join->count && join->calls[*near].correlation < correlation;
             i++)
            ++*near;
        low = *near;
        if (low < join->count && join->calls[low].correlation >= correlation) high = low;
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (join->calls[middle].correlation < correlation)
            low = middle + 1;
        else
            high = middle;
    }
    *near = low;
    bool found = low < join->count && join->calls[low].correlation == correlation;
    return found ? join->calls[low].op : CG_NONE;
}

bool correlation_issuers(const struct cg_trace *trace, uint32_t **issuer)
{
    const struct cg_device_intervals *interval = &trace->device_interval;
    struct join join;
    size_t near = 0;
    *issuer = array_raw(interval->rows, sizeof **issuer);
    if (!*issuer) return false;
    if (!join_make(trace, &join)) {
        free(*issuer);
        *issuer = NULL;
        return false;
    }
    for (size_t i = 0; i < interval->rows; i++)
        (*issuer)[i] =
            interval->correlation_set[i] ? join_find(&join, interval->correlation[i], &near) : CG_NONE;
    free(join.calls);
    return true;
}
