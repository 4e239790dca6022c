#include "analyzer/planes/lifetime_walk.h"

#include "analyzer/planes/order.h"

typedef unsigned __int128 u128;

static uint64_t clamp(u128 bytes)
{
    return bytes > UINT64_MAX ? UINT64_MAX : (uint64_t)bytes;
}

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

bool lifetime_walk_holds(const struct logical_memory *memory, const struct cg_trace *trace)
{
    const uint64_t *bytes = trace->memory.bytes;
    for (size_t i = 0; i < memory->lifetime_count; i++) {
        const struct lifetime *lifetime = &memory->lifetimes[i];
        if (lifetime->end_row != CG_NONE && bytes[lifetime->row] != bytes[lifetime->end_row]) return false;
    }
    return true;
}

uint64_t lifetime_walk_cost(const struct lifetime_walk *walk, const struct lifetime_subtree *subtree,
                            uint64_t start, uint64_t end)
{
    size_t first = find_record(walk, start, true), last = find_record(walk, end, true);
    return (last > first ? last - first : 0) + (first > 0 ? subtree->count : 0);
}

/* The bytes of the subtree's lifetimes that begin before `before` and end after `after`. */
static u128 live_over(const struct lifetime_walk *walk, const struct lifetime_subtree *subtree,
                      uint64_t before, uint64_t after)
{
    u128 live = 0;
    for (size_t i = 0; i < subtree->count; i++) {
        const struct lifetime *lifetime = &walk->memory->lifetimes[subtree->lifetimes[i]];
        if (lifetime_start(walk->trace, lifetime) < before && lifetime_end(walk->trace, lifetime) > after)
            live += walk->trace->memory.bytes[lifetime->row];
    }
    return live;
}

/* What a record allocates and frees in the subtree. */
struct step {
    u128 added, freed;
};
static inline struct step step_of(const struct lifetime_walk *walk, const struct lifetime_subtree *subtree,
                                  uint32_t row)
{
    const struct cg_memory *records = &walk->trace->memory;
    bool inside = walk->place[row] - subtree->first < subtree->last - subtree->first;
    uint64_t bytes = inside ? records->bytes[row] : 0;
    bool alloc = records->action[row] == CG_ACTION_ALLOC;
    return (struct step){alloc ? bytes : 0, alloc ? 0 : bytes};
}

/* The same of all records of one time, from *at on, and moves *at behind them. */
static inline struct step take_step(const struct lifetime_walk *walk, const struct lifetime_subtree *subtree,
                                    uint64_t time, size_t *at)
{
    size_t rows = walk->trace->memory.rows;
    struct step step = step_of(walk, subtree, ordered_row(walk->memory->order, *at));
    while (++*at < rows && time_at(walk, *at) == time) {
        struct step next = step_of(walk, subtree, ordered_row(walk->memory->order, *at));
        step.added += next.added;
        step.freed += next.freed;
    }
    return step;
}

/* At one time all that is freed is subtracted, not below 0, before what is allocated there is added. */
struct lifetime_sweep lifetime_walk_sweep(const struct lifetime_walk *walk,
                                          const struct lifetime_subtree *subtree, uint64_t start,
                                          uint64_t end)
{
    size_t rows = walk->trace->memory.rows, at = find_record(walk, start, true);
    u128 live = at > 0 ? live_over(walk, subtree, start + 1, start) : 0;
    u128 peak = live, sum = live;
    for (uint64_t time; at < rows && (time = time_at(walk, at)) < end;) {
        struct step step = take_step(walk, subtree, time, &at);
        live = (live > step.freed ? live - step.freed : 0) + step.added;
        sum = sum + step.added - step.freed;
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
    return (struct lifetime_sweep){clamp(peak), clamp(sum)};
}
