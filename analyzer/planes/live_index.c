#include "analyzer/planes/live_index.h"

#include <stdlib.h>

#include "analyzer/planes/array.h"

enum { BLOCK = 64 };

/* For each block of values the greatest of them; NULL when memory is short. */
static uint64_t *greatest(const uint64_t *values, size_t count)
{
    uint64_t *blocks = array_zeroed((count + BLOCK - 1) / BLOCK, sizeof *blocks);
    for (size_t i = 0; blocks && i < count; i++)
        if (values[i] > blocks[i / BLOCK]) blocks[i / BLOCK] = values[i];
    return blocks;
}

bool live_index_make(const struct cg_trace *trace, const struct logical_memory *memory,
                     struct live_index *index)
{
    size_t count = memory->lifetime_count;
    uint64_t *ends = array_raw(count, sizeof *ends);
    *index = (struct live_index){.trace = trace, .memory = memory};
    for (size_t i = 0; ends && i < count; i++)
        ends[i] = lifetime_end(trace, &memory->lifetimes[i]);
    if (ends) index->block_end = greatest(ends, count);
    if (index->block_end) index->group_end = greatest(index->block_end, (count + BLOCK - 1) / BLOCK);
    free(ends);
    if (index->group_end) return true;
    live_index_free(index);
    return false;
}

void live_index_free(struct live_index *index)
{
    free(index->block_end);
    free(index->group_end);
    *index = (struct live_index){0};
}

/* Lifetimes that have begun by then: they stand in the order of their starts. */
static size_t begun_by(const struct live_index *index, uint64_t time)
{
    size_t low = 0, high = index->memory->lifetime_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (lifetime_start(index->trace, &index->memory->lifetimes[middle]) <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_alive(const struct live_index *index, size_t i, cg_str device, uint64_t time)
{
    const struct lifetime *lifetime = &index->memory->lifetimes[i];
    return index->trace->memory.device[lifetime->row] == device &&
           (lifetime->end_row == CG_NONE || lifetime_end(index->trace, lifetime) > time);
}

/* An end of 2^64-1 is that of what never ended, too: it must not be passed over at that time. */
static bool all_ended(uint64_t latest, uint64_t time)
{
    return latest <= time && latest != UINT64_MAX;
}

bool live_index_find(const struct live_index *index, cg_str device, uint64_t time, uint32_t **lifetimes,
                     size_t *count)
{
    size_t begun = begun_by(index, time), room = 0;
    *lifetimes = NULL;
    *count = 0;
    for (size_t i = 0; i < begun;) {
        if (i % (BLOCK * BLOCK) == 0 && all_ended(index->group_end[i / (BLOCK * BLOCK)], time)) {
            i += BLOCK * BLOCK;
        } else if (i % BLOCK == 0 && all_ended(index->block_end[i / BLOCK], time)) {
            i += BLOCK;
        } else {
            if (is_alive(index, i, device, time)) {
                if (!array_room(lifetimes, *count, &room, sizeof **lifetimes)) {
                    free(*lifetimes);
                    return false;
                }
                (*lifetimes)[(*count)++] = (uint32_t)i;
            }
            i++;
        }
    }
    return true;
}
