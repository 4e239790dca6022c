#include "analyzer/planes/lifetime_walk.h"

#include "analyzer/planes/order.h"

static uint64_t time_at(const struct lifetime_walk *walk, size_t at)
{
    return walk->trace->memory.timestamp_ns[ordered_row(walk->memory->order, at)];
}

/* The first record whose time is not before this one (or, when past, that is after it). */
static size_t find_record(const struct lifetime_walk *walk, uint64_t time, bool past)
{
    size_t low = 0, high = walk->trace->memory.rows;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        uint64_t there = time_at(walk, middle);
        if (there < time || (past && there == time))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint64_t lifetime_walk_cost(const struct lifetime_walk *walk, const struct lifetime_subtree *subtree,
                            uint64_t start, uint64_t end)
{
    size_t first = find_record(walk, start, true), last = find_record(walk, end, true);
    return (last > first ? last - first : 0) + (first > 0 ? subtree->count : 0);
}

/* The bytes of the subtree's lifetimes that begin before `before` and end after `after`. */
static uint64_t live_over(const struct lifetime_walk *walk, const struct lifetime_subtree *subtree,
                          uint64_t before, uint64_t after)
{
    uint64_t live = 0;
    for (size_t i = 0; i < subtree->count; i++) {
        const struct lifetime *lifetime = &walk->memory->lifetimes[subtree->lifetimes[i]];
        if (lifetime_start(walk->trace, lifetime) < before && lifetime_end(walk->trace, lifetime) > after)
            live += walk->trace->memory.bytes[lifetime->row];
    }
    return live;
}

/* What all records of one time allocate and free in the subtree. */
struct step {
    uint64_t added, freed;
};

static inline void add_record(const struct lifetime_walk *walk, const struct lifetime_subtree *subtree,
                              uint32_t row, struct step *step)
{
    const struct cg_memory *records = &walk->trace->memory;
    bool inside = walk->place[row] - subtree->first < subtree->last - subtree->first;
    uint64_t bytes = inside ? records->bytes[row] : 0;
    bool alloc = records->action[row] == CG_ACTION_ALLOC;
    step->added += alloc ? bytes : 0;
    step->freed += alloc ? 0 : bytes;
}

/* sum: what is live without the floor of 0. */
struct level {
    uint64_t live, peak, sum;
};

/* At one time all that is freed is subtracted, not below 0, before what is allocated there is added. */
static inline void settle(struct level *level, struct step *step)
{
    level->live = cg_sat_sub(level->live, step->freed) + step->added;
    level->sum += step->added - step->freed;
    if (level->live > level->peak) level->peak = level->live;
    *step = (struct step){0, 0};
}

/* Sums of 64 bits take half the time of those of 128. */
struct lifetime_sweep lifetime_walk_sweep(const struct lifetime_walk *walk,
                                          const struct lifetime_subtree *subtree, uint64_t start,
                                          uint64_t end)
{
    const uint64_t *times = walk->trace->memory.timestamp_ns;
    const uint32_t *order = walk->memory->order;
    size_t rows = walk->trace->memory.rows, at = find_record(walk, start, true);
    uint64_t live = at > 0 ? live_over(walk, subtree, start + 1, start) : 0, now = start;
    struct level level = {live, live, live};
    struct step step = {0, 0}, last = {0, 0};
    for (; at < rows; at++) {
        uint32_t row = ordered_row(order, at);
        if (times[row] != now) {
            settle(&level, &step);
            now = times[row];
            if (now >= end) break;
        }
        add_record(walk, subtree, row, &step);
    }
    settle(&level, &step);
    /* What ends exactly at the end is not residual; what also begins there was never counted. */
    for (; at < rows && time_at(walk, at) == end; at++)
        add_record(walk, subtree, ordered_row(order, at), &last);
    if (end == UINT64_MAX)
        level.sum = 0;
    else if (last.added > 0 && last.freed > 0)
        level.sum = live_over(walk, subtree, end, end);
    else
        level.sum -= last.freed;
    return (struct lifetime_sweep){level.peak, level.sum};
}
