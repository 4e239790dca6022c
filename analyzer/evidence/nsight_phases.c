/* Which operations of the GPU timeline a projected range holds, and how long they kept the GPU busy
 * (doc/spec/nsight.md 9).
 *
 * For each set of join keys that ranges have, the timeline is grouped by the values of these keys. Within a
 * group, starts and ends are sorted, and the union of the intervals is kept with running sums: rows that
 * overlap [ps, pe) are those that start before pe without those that end up to ps, and their busy time is the
 * union's, clipped; both by binary search. Where these rows outnumber what the range declares, distinct
 * correlation ids are counted (nsight_distinct.c). n rows and m ranges take (n + m) log n. */
#include <stdlib.h>
#include <string.h>

#include "analyzer/evidence/nsight_private.h"

struct group {
    cg_str key[NSIGHT_KEYS];
    size_t first, count, merged; /* slice of the arrays; intervals of the union */
};

/* The timeline for one set of join keys. */
struct index {
    unsigned keys;
    const struct nsight_interval *rows;
    uint32_t *by_start;           /* row numbers, by group, then start */
    uint64_t *ends;               /* of each group, ascending */
    uint64_t *from, *to, *before; /* the union; before: its length up to there */
    struct group *groups;
    size_t count, group_count;
};

static uint64_t end_of(const struct nsight_interval *row)
{
    return cg_sat_add(row->start, row->duration);
}

static int compare_keys(unsigned keys, const cg_str *a, const cg_str *b)
{
    for (unsigned k = 0; k < NSIGHT_KEYS; k++)
        if (keys >> k & 1 && a[k] != b[k]) return a[k] < b[k] ? -1 : 1;
    return 0;
}

static int compare_rows(const void *a, const void *b, void *context)
{
    const struct index *index = context;
    const struct nsight_interval *x = &index->rows[*(const uint32_t *)a],
                                 *y = &index->rows[*(const uint32_t *)b];
    int order = compare_keys(index->keys, x->key, y->key);
    if (order) return order;
    return x->start < y->start ? -1 : x->start > y->start;
}

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static unsigned keys_of(const struct nsight_interval *row)
{
    unsigned keys = 0;
    for (unsigned k = 0; k < NSIGHT_KEYS; k++)
        if (row->key[k] != CG_ABSENT) keys |= 1u << k;
    return keys;
}

/* Fills the group's slices. */
static void make_group(struct index *index, struct group *group)
{
    uint64_t length = 0;
    for (size_t i = group->first; i < group->first + group->count; i++) {
        const struct nsight_interval *row = &index->rows[index->by_start[i]];
        uint64_t end = end_of(row);
        size_t last = group->first + group->merged;
        if (group->merged && row->start <= index->to[last - 1]) {
            if (end > index->to[last - 1]) {
                length += end - index->to[last - 1];
                index->to[last - 1] = end;
            }
        } else {
            index->from[last] = row->start;
            index->to[last] = end;
            index->before[last] = length;
            length += end - row->start;
            group->merged++;
        }
        index->ends[i] = end;
    }
    qsort(index->ends + group->first, group->count, sizeof *index->ends, compare_u64);
}

static void make_groups(struct index *index)
{
    for (size_t i = 0; i < index->count; i++) {
        const cg_str *key = index->rows[index->by_start[i]].key;
        struct group *last = index->group_count ? &index->groups[index->group_count - 1] : NULL;
        if (!last || compare_keys(index->keys, last->key, key) != 0) {
            last = &index->groups[index->group_count++];
            *last = (struct group){.first = i};
            memcpy(last->key, key, sizeof last->key);
        }
        last->count++;
    }
    for (size_t g = 0; g < index->group_count; g++)
        make_group(index, &index->groups[g]);
}

static void index_free(struct index *index)
{
    free(index->by_start);
    free(index->ends);
    free(index->from);
    free(index->to);
    free(index->before);
    free(index->groups);
}

static bool index_make(struct index *index, const struct nsight_intervals *timeline, unsigned keys)
{
    size_t room = timeline->count + 1;
    *index = (struct index){.keys = keys, .rows = timeline->at};
    index->by_start = malloc(room * sizeof *index->by_start);
    index->ends = malloc(room * sizeof *index->ends);
    index->from = malloc(room * sizeof *index->from);
    index->to = malloc(room * sizeof *index->to);
    index->before = malloc(room * sizeof *index->before);
    index->groups = malloc(room * sizeof *index->groups);
    if (!index->by_start || !index->ends || !index->from || !index->to || !index->before || !index->groups)
        return false;
    for (size_t i = 0; i < timeline->count; i++)
        if ((keys_of(&timeline->at[i]) & keys) == keys) index->by_start[index->count++] = (uint32_t)i;
    qsort_r(index->by_start, index->count, sizeof *index->by_start, compare_rows, index);
    make_groups(index);
    return true;
}

static const struct group *find_group(const struct index *index, const cg_str *key)
{
    size_t low = 0, high = index->group_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare_keys(index->keys, index->groups[middle].key, key);
        if (order == 0) return &index->groups[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

size_t nsight_count_below(const uint64_t *values, size_t count, uint64_t limit, bool or_equal)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (values[middle] < limit || (or_equal && values[middle] == limit))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Rows of the group that start before the limit. */
static size_t starts_below(const struct index *index, const struct group *group, uint64_t limit)
{
    size_t low = 0, high = group->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (index->rows[index->by_start[group->first + middle]].start < limit)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Length of the group's union within [ps, pe). */
static uint64_t busy_within(const struct index *index, const struct group *group, uint64_t ps, uint64_t pe)
{
    const uint64_t *from = index->from + group->first, *to = index->to + group->first;
    size_t first = nsight_count_below(to, group->merged, ps, true),
           last = nsight_count_below(from, group->merged, pe, false);
    if (first >= last) return 0;
    const uint64_t *before = index->before + group->first;
    uint64_t busy = before[last - 1] + (to[last - 1] - from[last - 1]) - before[first];
    if (from[first] < ps) busy -= ps - from[first];
    if (to[last - 1] > pe) busy -= to[last - 1] - pe;
    return busy;
}

/* Everything but distinct ids; true when these must be counted for want of rows that fit. */
static bool join_range(const struct index *index, const struct nsight_interval *range,
                       struct nsight_join *join, struct nsight_query *query)
{
    uint64_t ps = range->projected_start.value, pe = cg_sat_add(ps, range->projected_duration.value);
    const struct group *group = find_group(index, range->key);

    if (!group) return false;
    join->rows = starts_below(index, group, pe) -
                 nsight_count_below(index->ends + group->first, group->count, ps, true);
    join->busy = busy_within(index, group, ps, pe);
    join->operations = join->rows;
    if (!range->operations.known || range->operations.value >= join->rows) return false;
    if (index->keys & GPU_JOIN_CORRELATION_ID) {
        join->operations = 1; /* all joined rows have the range's own id */
        return false;
    }
    *query = (struct nsight_query){(size_t)(group - index->groups), ps, pe, &join->operations};
    return true;
}

/* Joins the ranges that have just the keys of the index; queries has room for all ranges. */
static void join_ranges(struct nsight *nsight, const struct index *index, struct nsight_join *joins,
                        struct nsight_query *queries)
{
    const struct nsight_intervals *ranges = &nsight->ranges;
    size_t count = 0, next;
    size_t *last = calloc((size_t)nsight->strings->count + 1, sizeof *last);

    if (!last) nsight->no_memory = true;
    for (size_t r = 0; last && r < ranges->count; r++)
        if (joins[r].keys == index->keys)
            count += join_range(index, &ranges->at[r], &joins[r], &queries[count]);
    nsight_sort_queries(queries, count);
    for (size_t i = 0; i < count; i = next) {
        const struct group *group = &index->groups[queries[i].group];
        for (next = i; next < count && queries[next].group == queries[i].group;)
            next++;
        if (!nsight_distinct(index->rows, index->by_start + group->first, group->count, &queries[i], next - i,
                             last))
            nsight->no_memory = true;
    }
    free(last);
}

struct nsight_join *nsight_join(struct nsight *nsight)
{
    const struct nsight_intervals *ranges = &nsight->ranges;
    struct nsight_join *joins = calloc(ranges->count + 1, sizeof *joins);
    struct nsight_query *queries = malloc((ranges->count + 1) * sizeof *queries);
    unsigned used = 0; /* sets of keys, a bit each */

    if (!joins || !queries) nsight->no_memory = true;
    for (size_t r = 0; joins && r < ranges->count; r++) {
        joins[r].keys = keys_of(&ranges->at[r]);
        used |= 1u << joins[r].keys;
    }
    for (unsigned keys = 1; keys < 1u << NSIGHT_KEYS && !nsight->no_memory; keys++) {
        struct index index;
        if (!(used >> keys & 1)) continue;
        if (index_make(&index, &nsight->timeline, keys))
            join_ranges(nsight, &index, joins, queries);
        else
            nsight->no_memory = true;
        index_free(&index);
    }
    free(queries);
    for (size_t r = 0; joins && r < ranges->count; r++) {
        struct gpu_u64 declared = ranges->at[r].operations;
        joins[r].exact = joins[r].keys && declared.known &&
                         (declared.value == joins[r].rows || declared.value == joins[r].operations);
    }
    if (!nsight->no_memory) return joins;
    free(joins);
    return NULL;
}

void nsight_attribute(struct nsight *nsight, const struct nsight_join *joins)
{
    struct gpu_phase_rows *phases = &nsight->gpu->phase_attribution;
    size_t room = 1;
    for (size_t r = 0; r < nsight->ranges.count; r++)
        room += joins[r].exact;
    phases->at = calloc(room, sizeof *phases->at);
    if (!phases->at) {
        nsight->no_memory = true;
        return;
    }
    for (size_t r = 0; r < nsight->ranges.count; r++) {
        const struct nsight_interval *range = &nsight->ranges.at[r];
        if (!joins[r].exact) continue;
        phases->at[phases->count++] =
            (struct gpu_phase_row){.semantic_key = nsight_text(nsight, range->label),
                                   .projected_start_ns = range->projected_start.value,
                                   .projected_duration_ns = range->projected_duration.value,
                                   .gpu_busy_ns = joins[r].busy,
                                   .gpu_operation_count = joins[r].rows,
                                   .join_keys = joins[r].keys};
    }
}
