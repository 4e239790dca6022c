/* How many correlation ids have a row within an interval, for many intervals at once.
 *
 * The rows of one id make a union of disjoint intervals with gaps between them. Those that overlap [from, to)
 * are consecutive, so an id that has any has one more of them than gaps that lie between two of them. Summed
 * over all ids: distinct ids = overlapping intervals - gaps with an end of an interval after `from` before
 * them and a start before `to` behind them. Intervals are counted by binary search, gaps by a sweep over `to`
 * with a Fenwick tree over the ends (P. Fenwick, A new data structure for cumulative frequency tables, 1994).
 * n rows and q queries take (n + q) log n. */
#include <stdlib.h>

#include "analyzer/evidence/nsight_private.h"

struct unions {
    uint64_t *from, *to, *ends; /* disjoint intervals of each id, by start; ends ascending */
    size_t count;
    uint64_t *gap_from, *gap_to, *gap_starts; /* by gap_to; gap_starts ascending */
    size_t gaps;
    size_t *previous; /* one more than the interval of the same id before; 0: none */
    size_t *tree;     /* Fenwick tree over gap_starts: gaps that the sweep has met */
};

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static int compare_queries(const void *a, const void *b)
{
    const struct nsight_query *x = a, *y = b;
    if (x->group != y->group) return x->group < y->group ? -1 : 1;
    return x->to < y->to ? -1 : x->to > y->to;
}

void nsight_sort_queries(struct nsight_query *queries, size_t count)
{
    if (count) qsort(queries, count, sizeof *queries, compare_queries);
}

static void unions_free(struct unions *unions)
{
    free(unions->from);
    free(unions->to);
    free(unions->ends);
    free(unions->gap_from);
    free(unions->gap_to);
    free(unions->gap_starts);
    free(unions->previous);
    free(unions->tree);
}

static bool unions_room(struct unions *unions, size_t count)
{
    size_t bytes = (count + 1) * sizeof(uint64_t);
    *unions = (struct unions){.from = malloc(bytes),
                              .to = malloc(bytes),
                              .ends = malloc(bytes),
                              .gap_from = malloc(bytes),
                              .gap_to = malloc(bytes),
                              .gap_starts = malloc(bytes),
                              .previous = malloc((count + 1) * sizeof *unions->previous),
                              .tree = calloc(count + 1, sizeof *unions->tree)};
    return unions->from && unions->to && unions->ends && unions->gap_from && unions->gap_to &&
           unions->gap_starts && unions->previous && unions->tree;
}

/* last has a 0 for each string, and has it again afterwards. */
static void make_unions(struct unions *unions, const struct nsight_interval *rows, const uint32_t *by_start,
                        size_t count, size_t *last)
{
    for (size_t i = 0; i < count; i++) {
        const struct nsight_interval *row = &rows[by_start[i]];
        uint64_t end = cg_sat_add(row->start, row->duration);
        cg_str id = row->key[0];
        size_t open = id == CG_ABSENT ? 0 : last[id], n = unions->count;
        if (open && row->start <= unions->to[open - 1]) {
            if (end > unions->to[open - 1]) unions->to[open - 1] = end;
            continue;
        }
        unions->from[n] = row->start;
        unions->to[n] = end;
        unions->previous[n] = open;
        unions->count++;
        if (id != CG_ABSENT) last[id] = unions->count;
    }
    for (size_t i = 0; i < count; i++)
        last[rows[by_start[i]].key[0]] = 0;
    for (size_t n = 0; n < unions->count; n++) {
        unions->ends[n] = unions->to[n];
        if (!unions->previous[n]) continue;
        unions->gap_from[unions->gaps] = unions->gap_starts[unions->gaps] =
            unions->to[unions->previous[n] - 1];
        unions->gap_to[unions->gaps++] = unions->from[n];
    }
    qsort(unions->ends, unions->count, sizeof *unions->ends, compare_u64);
    if (unions->gaps) qsort(unions->gap_starts, unions->gaps, sizeof *unions->gap_starts, compare_u64);
}

static void tree_add(struct unions *unions, size_t place)
{
    for (size_t i = place + 1; i <= unions->gaps; i += i & -i)
        unions->tree[i]++;
}

/* Gaps met whose start is among the first `places` of gap_starts. */
static size_t tree_sum(const struct unions *unions, size_t places)
{
    size_t sum = 0;
    for (size_t i = places; i > 0; i -= i & -i)
        sum += unions->tree[i];
    return sum;
}

static void answer(struct unions *unions, struct nsight_query *queries, size_t query_count)
{
    size_t met = 0;
    for (size_t q = 0; q < query_count; q++) {
        const struct nsight_query *query = &queries[q];
        for (; met < unions->gaps && unions->gap_to[met] < query->to; met++)
            tree_add(unions,
                     nsight_count_below(unions->gap_starts, unions->gaps, unions->gap_from[met], false));
        size_t overlapping = nsight_count_below(unions->from, unions->count, query->to, false) -
                             nsight_count_below(unions->ends, unions->count, query->from, true);
        size_t earlier = nsight_count_below(unions->gap_starts, unions->gaps, query->from, true);
        *query->answer = overlapping - (met - tree_sum(unions, earlier));
    }
}

bool nsight_distinct(const struct nsight_interval *rows, const uint32_t *by_start, size_t count,
                     struct nsight_query *queries, size_t query_count, size_t *last)
{
    struct unions unions;
    bool enough = unions_room(&unions, count);
    if (enough) {
        make_unions(&unions, rows, by_start, count, last);
        answer(&unions, queries, query_count);
    }
    unions_free(&unions);
    return enough;
}
