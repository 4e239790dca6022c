#include "analyzer/viewer/groups.h"

#include <stdlib.h>

#include "analyzer/planes/array.h"
#include "analyzer/planes/storage_groups.h"
#include "analyzer/trace/block.h"

uint32_t storage_key(const struct cg_trace *trace, enum grouping grouping, uint32_t memory_row)
{
    const struct cg_memory *memory = &trace->memory;
    if (grouping == BY_CATEGORY) return memory->category[memory_row] + UINT32_C(1);
    if (grouping == BY_CALL) return storage_call(trace, memory_row);
    if (grouping == BY_SITE) {
        uint32_t count, stack = memory->stack[memory_row];
        const uint32_t *frames = stack == CG_NONE ? NULL : trace_stack_frames(trace, stack, &count);
        return frames && count > 0 ? frames[0] + 1 : 0;
    }
    uint32_t span = trace_span(trace, memory->span_id[memory_row]);
    return span == CG_NONE ? CG_ABSENT : trace->span.name[span];
}

static int compare_groups(const void *left, const void *right, void *context)
{
    const struct group *a = left, *b = right;
    if (a->bytes != b->bytes) return a->bytes > b->bytes ? -1 : 1;
    if (a->allocated_bytes != b->allocated_bytes) return a->allocated_bytes > b->allocated_bytes ? -1 : 1;
    return context ? trace_compare(context, a->key, b->key) : (a->key > b->key) - (a->key < b->key);
}

/* The group of a key, made where there is none; NULL when memory is short. */
static struct group *group_of(struct groups *groups, uint32_t key)
{
    if (!groups->place[key]) {
        if (!array_room(&groups->list, groups->count, &groups->room, sizeof *groups->list)) return NULL;
        groups->list[groups->count++] = (struct group){.key = key};
        groups->place[key] = (uint32_t)groups->count;
    }
    return &groups->list[groups->place[key] - 1];
}

/* Storages, one after the other, of the same groups. */
struct run {
    uint32_t row; /* of the first one */
    uint64_t storages, bytes, allocations, allocated_bytes;
};

/* Adds a run to its groups; false when memory is short. */
static bool add_run(const struct cg_trace *trace, const struct run *run, struct groups groups[GROUPING_COUNT])
{
    for (unsigned g = 0; g < GROUPING_COUNT; g++) {
        struct group *group = group_of(&groups[g], storage_key(trace, (enum grouping)g, run->row));
        if (!group) return false;
        group->allocations += run->allocations;
        group->allocated_bytes = cg_sat_add(group->allocated_bytes, run->allocated_bytes);
        group->storages += run->storages;
        group->bytes = cg_sat_add(group->bytes, run->bytes);
    }
    return true;
}

/* One pass for all groupings, as most of it is waiting for the rows of lifetimes. */
static bool add_lifetimes(const struct cg_trace *trace, const struct logical_memory *logical,
                          struct groups groups[GROUPING_COUNT])
{
    const struct cg_memory *memory = &trace->memory;
    struct run run = {0};
    for (size_t i = 0; i < logical->lifetime_count; i++) {
        const struct lifetime *lifetime = &logical->lifetimes[i];
        uint64_t bytes = memory->bytes[lifetime->row];
        bool at_peak = lifetime_live_at_peak(trace, logical, lifetime);
        bool follows = run.allocations > 0 && storage_same_place(trace, lifetime->row, run.row) &&
                       memory->category[lifetime->row] == memory->category[run.row];
        if (!follows && run.allocations > 0 && !add_run(trace, &run, groups)) return false;
        if (!follows) run = (struct run){.row = lifetime->row};
        run.allocations++;
        run.allocated_bytes = cg_sat_add(run.allocated_bytes, bytes);
        run.storages += at_peak;
        run.bytes = cg_sat_add(run.bytes, at_peak ? bytes : 0);
    }
    return run.allocations == 0 || add_run(trace, &run, groups);
}

static void sort_groups(const struct cg_trace *trace, enum grouping grouping, struct groups *groups)
{
    if (groups->count > 1)
        qsort_r(groups->list, groups->count, sizeof *groups->list, compare_groups,
                grouping == BY_CATEGORY || grouping == BY_SITE ? NULL : (void *)trace);
    for (size_t i = 0; i < groups->count; i++)
        groups->place[groups->list[i].key] = (uint32_t)i + 1;
}

bool groups_make(const struct cg_trace *trace, const struct logical_memory *logical,
                 struct groups groups[GROUPING_COUNT])
{
    bool good = true;
    for (unsigned g = 0; g < GROUPING_COUNT; g++) {
        size_t keys = g == BY_CATEGORY ? CG_CATEGORY_COUNT
                      : g == BY_SITE   ? trace_frame_count(trace)
                                       : trace_string_count(trace);
        groups[g] = (struct groups){.place = block_zeroed((keys + 1) * sizeof *groups->place)};
        good = good && groups[g].place;
    }
    if (!good || !add_lifetimes(trace, logical, groups)) return false;
    for (unsigned g = 0; g < GROUPING_COUNT; g++)
        sort_groups(trace, (enum grouping)g, &groups[g]);
    return true;
}

void groups_free(struct groups *groups)
{
    free(groups->list);
    block_free(groups->place);
    *groups = (struct groups){0};
}
