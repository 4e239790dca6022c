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

/* From *at on; moves *at behind them. */
static inline struct step take_step(const struct lifetime_walk *walk, const struct lifetime_subtree *subtree,
                                    uint64_t time, size_t *at)
{
    const struct cg_memory *records = &walk->trace->memory;
    struct step step = {0, 0};
    do {
        uint32_t row = ordered_row(walk->memory->order, *at);
        bool inside = walk->place[row] - subtree->first < subtree->last - subtree->first;
        uint64_t bytes = inside ? records->bytes[row] : 0;
        uint64_t added = records->action[row] == CG_ACTION_ALLOC ? bytes : 0;
        step.added += added;
        step.freed += bytes - added;
    } while (++*at < records->rows && time_at(walk, *at) == time);
    return step;
}

/* At one time all that is freed is subtracted, not below 0, before what is allocated there is added. Sums of
 * 64 bits take half the time of those of 128. */
struct lifetime_sweep lifetime_walk_sweep(const struct lifetime_walk *walk,
                                          const struct lifetime_subtree *subtree, uint64_t start,
                                          uint64_t end)
{
    size_t rows = walk->trace->memory.rows, at = find_record(walk, start, true);
    uint64_t live = at > 0 ? live_over(walk, subtree, start + 1, start) : 0;
    uint64_t peak = live, sum = live;
    for (uint64_t time; at < rows && (time = time_at(walk, at)) < end;) {
        struct step step = take_step(walk, subtree, time, &at);
        live = cg_sat_sub(live, step.freed) + step.added;
        sum += step.added - step.freed;
        if (live > peak) peak = live;
    }
    /* What ends exactly at the end is not residual; what also begins there was never counted. */
    struct step last = {0, 0};
    if (at < rows && time_at(walk, at) == end) last = take_step(walk, subtree, end, &at);
    if (end == UINT64_MAX)
        sum = 0;
    else if (last.added > 0 && last.freed > 0)
        sum = live_over(walk, subtree, end, end);
    else
        sum -= last.freed;
    return (struct lifetime_sweep){peak, sum};
}
