#include "analyzer/viewer/costs.h"

#include <stdlib.h>

#include "analyzer/planes/array.h"
#include "analyzer/planes/pair_map.h"
#include "analyzer/trace/block.h"

/* The row with this key, made where there is none; NULL when memory is short. */
static struct cost *find(struct costs *costs, uint32_t first, uint32_t second)
{
    bool made;
    struct pair_entry *entry = pair_map_insert(&costs->map, first, second, &made);
    if (!entry) return NULL;
    if (made) {
        if (!array_room(&costs->list, costs->count, &costs->capacity, sizeof *costs->list)) return NULL;
        costs->list[costs->count] = (struct cost){.name = first, .shortest_ns = UINT64_MAX};
        entry->value = (uint32_t)costs->count++;
    }
    return &costs->list[entry->value];
}

void costs_free(struct costs *costs)
{
    pair_map_free(&costs->map);
    free(costs->list);
    *costs = (struct costs){0};
}

static int compare_costs(const void *left, const void *right, void *trace)
{
    const struct cost *a = left, *b = right;
    if (a->total_ns != b->total_ns) return a->total_ns > b->total_ns ? -1 : 1;
    if (a->count != b->count) return a->count > b->count ? -1 : 1;
    int order = trace_compare(trace, a->name, b->name);
    if (order == 0 && a->other != b->other) order = trace_compare(trace, a->other, b->other);
    return order ? order : (a->class > b->class) - (a->class < b->class);
}

static void sort_costs(const struct cg_trace *trace, struct costs *costs)
{
    if (costs->count > 1)
        qsort_r(costs->list, costs->count, sizeof *costs->list, compare_costs, (void *)trace);
}

static struct shown shown_of(const struct costs *costs, size_t most)
{
    return (struct shown){costs->count < most ? costs->count : most, costs->count};
}

static bool add_track(const struct cg_trace *trace, const struct slices *slices, const struct track *track,
                      struct costs *costs)
{
    for (size_t i = track->first; i < track->first + track->count; i++) {
        const struct slice *slice = &slices->list[i];
        uint32_t class = slice->kind == SLICE_INTERVAL ? 2 + track->clock : slice->kind;
        struct cost *cost = find(costs, slice_name(trace, slices, slice), class);
        if (!cost) return false;
        cost->class = class;
        cost->count++;
        cost->total_ns = cg_sat_add(cost->total_ns, slice->duration);
        cost->self_ns = cg_sat_add(cost->self_ns, slice->self);
        if (slice->duration < cost->shortest_ns) cost->shortest_ns = slice->duration;
        if (slice->duration > cost->longest_ns) cost->longest_ns = slice->duration;
    }
    return true;
}

enum { COST_NAME, COST_CLASS, COST_COUNT, COST_TOTAL, COST_SELF, COST_SHORTEST, COST_LONGEST, COST_COLUMNS };

bool costs_make(const struct cg_trace *trace, const struct slices *slices, struct costs *costs)
{
    bool good = true;
    *costs = (struct costs){0};
    for (size_t t = 0; t < slices->track_count && good; t++)
        good = add_track(trace, slices, &slices->tracks[t], costs);
    sort_costs(trace, costs);
    return good;
}

bool costs_pack(const struct costs *costs, struct names *names, struct parts *parts, struct shown *shown)
{
    struct buffer columns[COST_COLUMNS] = {0};
    *shown = shown_of(costs, COSTS_MAX);
    for (size_t i = 0; i < shown->displayed; i++) {
        const struct cost *cost = &costs->list[i];
        buffer_number(&columns[COST_NAME], names_use(names, cost->name));
        buffer_number(&columns[COST_CLASS], cost->class);
        buffer_number(&columns[COST_COUNT], cost->count);
        buffer_number(&columns[COST_TOTAL], cost->total_ns);
        buffer_number(&columns[COST_SELF], cost->self_ns);
        buffer_number(&columns[COST_SHORTEST], cost->shortest_ns);
        buffer_number(&columns[COST_LONGEST], cost->longest_ns);
    }
    return parts_add_columns(parts, "costs", columns, COST_COLUMNS);
}

/* ---- what feeds what ---- */

static bool add_feed(struct costs *costs, cg_str from, cg_str to)
{
    struct cost *cost = find(costs, from, to);
    if (!cost) return false;
    cost->other = to;
    cost->count++;
    return true;
}

/* Who wrote a tensor: the operation's name, else the tensor's id. */
static cg_str writer(const cg_str *writers, cg_str tensor)
{
    return writers[tensor] != CG_ABSENT ? writers[tensor] : tensor;
}

static bool add_feeds(const struct cg_trace *trace, cg_str *writers, struct costs *costs)
{
    const struct cg_ops *ops = &trace->op;
    bool good = true;
    for (size_t i = 0; i < ops->rows && good; i++) {
        for (uint32_t k = 0; k < ops->inputs[i].count && good; k++) {
            cg_str input = trace->str_pool[ops->inputs[i].first + k];
            good = add_feed(costs, writer(writers, input), ops->op_name[i]);
        }
        if (ops->output[i] != CG_ABSENT) writers[ops->output[i]] = ops->op_name[i];
    }
    for (size_t i = 0; i < trace->edge.rows && good; i++)
        if (trace->edge.edge_kind[i] == CG_EDGE_KIND_DATA)
            good = add_feed(costs, writer(writers, trace->edge.from_tensor[i]),
                            writer(writers, trace->edge.to_tensor[i]));
    return good;
}

enum { FEED_FROM, FEED_TO, FEED_COUNT, FEED_COLUMNS };

bool feeds_make(const struct cg_trace *trace, struct costs *feeds)
{
    /* A block: of many strings few are tensors, and the memory of the others is never touched. */
    cg_str *writers = block_zeroed(((size_t)trace_string_count(trace) + 1) * sizeof *writers);
    *feeds = (struct costs){0};
    bool good = writers && add_feeds(trace, writers, feeds);
    sort_costs(trace, feeds);
    block_free(writers);
    return good;
}

bool feeds_pack(const struct costs *feeds, struct names *names, struct parts *parts, struct shown *shown)
{
    struct buffer columns[FEED_COLUMNS] = {0};
    *shown = shown_of(feeds, FEEDS_MAX);
    for (size_t i = 0; i < shown->displayed; i++) {
        buffer_number(&columns[FEED_FROM], names_use(names, feeds->list[i].name));
        buffer_number(&columns[FEED_TO], names_use(names, feeds->list[i].other));
        buffer_number(&columns[FEED_COUNT], feeds->list[i].count);
    }
    return parts_add_columns(parts, "feeds", columns, FEED_COLUMNS);
}
