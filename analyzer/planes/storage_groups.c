#include "analyzer/planes/storage_groups.h"

#include <stdlib.h>

#include "analyzer/planes/array.h"
#include "analyzer/planes/pair_map.h"
#include "analyzer/trace/block.h"

uint32_t storage_stack(const struct cg_trace *trace, uint32_t row)
{
    uint32_t stack = trace->memory.stack[row], count = 0;
    if (stack != CG_NONE) trace_stack_frames(trace, stack, &count);
    return count > 0 ? stack : CG_NONE;
}

cg_str storage_call(const struct cg_trace *trace, uint32_t row)
{
    return trace->memory.op_name[row] != CG_ABSENT ? trace->memory.op_name[row] : trace->memory.api[row];
}

/* ---- keys: numbers without large gaps ---- */

static uint32_t size_class(uint64_t bytes)
{
    return bytes == 0 ? 0 : 64 - (uint32_t)__builtin_clzll(bytes);
}

void storage_group_sizes(const struct storage_group *group, uint64_t *from, uint64_t *to)
{
    *from = group->key == 0 ? 0 : UINT64_C(1) << (group->key - 1);
    *to = group->key == 0 ? 0 : *from + (*from - 1);
}

uint32_t storage_group_stack(const struct storage_groups *groups, const struct storage_group *group)
{
    return group->key < groups->stacks ? group->key : CG_NONE;
}

cg_str storage_group_call(const struct storage_groups *groups, const struct storage_group *group)
{
    return group->key < groups->stacks ? CG_ABSENT : group->key - groups->stacks;
}

struct storage_grouper {
    const struct cg_trace *trace;
    const struct logical_memory *memory;
    const struct span_paths *paths;
    enum storage_grouping by;
    uint32_t *group_of_key; /* + 1; 0: none yet, as between two uses all are. A block: of many keys few
                               are met, and the memory of the others is never touched. */
    uint32_t stacks;        /* keys below are stacks */
    uint32_t unknown_path;  /* key of storages whose span is not there */
    /* What group_of() found last, which is mostly found again; last_row: of the allocation, CG_NONE: none */
    uint32_t last_row, last_key, last_group;
    struct storage_groups *groups; /* being made */
    size_t room;
};

static uint32_t key_of(const struct storage_grouper *grouper, uint32_t row)
{
    const struct cg_trace *trace = grouper->trace;
    switch (grouper->by) {
    case GROUP_BY_STACK: {
        uint32_t stack = storage_stack(trace, row);
        return stack != CG_NONE ? stack : grouper->stacks + storage_call(trace, row);
    }
    case GROUP_BY_SPAN: {
        uint32_t span = trace_span(trace, trace->memory.span_id[row]);
        return span == CG_NONE ? grouper->unknown_path : grouper->paths->of_span[span];
    }
    case GROUP_BY_CATEGORY:
        return trace->memory.category[row];
    case GROUP_BY_SIZE:
        break;
    }
    return size_class(trace->memory.bytes[row]);
}

static size_t count_keys(struct storage_grouper *grouper)
{
    switch (grouper->by) {
    case GROUP_BY_STACK:
        grouper->stacks = trace_stack_count(grouper->trace);
        return (size_t)grouper->stacks + trace_string_count(grouper->trace) + 1;
    case GROUP_BY_SPAN:
        grouper->unknown_path = grouper->paths->count;
        return (size_t)grouper->paths->count + 1;
    case GROUP_BY_CATEGORY:
        return CG_CATEGORY_COUNT;
    case GROUP_BY_SIZE:
        break;
    }
    return 65;
}

struct storage_grouper *storage_grouper_new(const struct cg_trace *trace, const struct logical_memory *memory,
                                            const struct span_paths *paths, enum storage_grouping by)
{
    struct storage_grouper *grouper = malloc(sizeof *grouper);
    if (!grouper) return NULL;
    *grouper = (struct storage_grouper){.trace = trace, .memory = memory, .paths = paths, .by = by};
    size_t keys = count_keys(grouper);
    grouper->group_of_key = block_zeroed(keys * sizeof *grouper->group_of_key);
    if (!grouper->group_of_key) {
        free(grouper);
        return NULL;
    }
    return grouper;
}

void storage_grouper_free(struct storage_grouper *grouper)
{
    if (grouper) block_free(grouper->group_of_key);
    free(grouper);
}

/* ---- sums ---- */

/* The storage's group; CG_NONE when memory is short. */
static uint32_t group_of(struct storage_grouper *grouper, uint32_t row)
{
    struct storage_groups *groups = grouper->groups;
    bool by_place = grouper->by == GROUP_BY_STACK || grouper->by == GROUP_BY_SPAN;
    if (by_place && grouper->last_row != CG_NONE &&
        storage_same_place(grouper->trace, row, grouper->last_row))
        return grouper->last_group;
    uint32_t key = key_of(grouper, row);
    grouper->last_row = row;
    if (key == grouper->last_key && groups->count > 0) return grouper->last_group;
    grouper->last_key = key;
    grouper->last_group = grouper->group_of_key[key] - 1;
    if (grouper->last_group != CG_NONE) return grouper->last_group;
    if (!array_room(&groups->groups, groups->count, &grouper->room, sizeof *groups->groups)) return CG_NONE;
    groups->groups[groups->count] = (struct storage_group){.key = key, .first_ns = UINT64_MAX};
    grouper->last_group = (uint32_t)groups->count++;
    grouper->group_of_key[key] = grouper->last_group + 1;
    return grouper->last_group;
}

static void add_all(const struct cg_trace *trace, const struct lifetime *lifetime,
                    struct storage_group *group)
{
    uint64_t bytes = trace->memory.bytes[lifetime->row];
    group->allocations++;
    group->allocated_bytes = cg_sat_add(group->allocated_bytes, bytes);
    if (lifetime->end_row == CG_NONE) return;
    group->frees++;
    group->freed_bytes = cg_sat_add(group->freed_bytes, bytes);
    group->freed_lifetime_ns += cg_sat_sub(lifetime_end(trace, lifetime), lifetime_start(trace, lifetime));
}

static void add_selected(struct storage_grouper *grouper, const struct lifetime *lifetime,
                         struct storage_group *group)
{
    struct storage_groups *groups = grouper->groups;
    uint64_t bytes = grouper->trace->memory.bytes[lifetime->row],
             start = lifetime_start(grouper->trace, lifetime);
    group->selected++;
    group->selected_bytes = cg_sat_add(group->selected_bytes, bytes);
    if (bytes > group->largest_bytes) group->largest_bytes = bytes;
    if (start < group->first_ns) group->first_ns = start;
    groups->selected++;
    groups->selected_bytes = cg_sat_add(groups->selected_bytes, bytes);
    groups->of_driver += storage_is_drivers(grouper->trace, lifetime->row);
    groups->with_stack += storage_stack(grouper->trace, lifetime->row) != CG_NONE;
}

static bool add_lifetimes(struct storage_grouper *grouper, cg_str device, const uint8_t *selected, bool whole)
{
    const struct logical_memory *memory = grouper->memory;
    for (size_t i = 0; i < memory->lifetime_count; i++) {
        if (!whole && !selected[i]) continue;
        if (device != CG_ABSENT && grouper->trace->memory.device[memory->lifetimes[i].row] != device)
            continue;
        uint32_t group = group_of(grouper, memory->lifetimes[i].row);
        if (group == CG_NONE) return false;
        if (whole) add_all(grouper->trace, &memory->lifetimes[i], &grouper->groups->groups[group]);
        if (selected[i]) add_selected(grouper, &memory->lifetimes[i], &grouper->groups->groups[group]);
    }
    return true;
}

static bool count_steps(struct storage_grouper *grouper, const struct training_steps *steps,
                        const uint8_t *selected)
{
    const struct logical_memory *memory = grouper->memory;
    struct pair_map seen = {0}; /* (group + 1, step) */
    bool made = false, ok = true;
    for (size_t i = 0; ok && i < memory->lifetime_count; i++) {
        if (!selected[i] || steps->of[i] == CG_NONE) continue;
        uint32_t group = grouper->group_of_key[key_of(grouper, memory->lifetimes[i].row)] - 1;
        ok = pair_map_insert(&seen, group + 1, steps->of[i], &made) != NULL;
        if (ok && made) grouper->groups->groups[group].steps++;
    }
    pair_map_free(&seen);
    return ok;
}

/* ---- order ---- */

static int compare_groups(const void *left, const void *right)
{
    const struct storage_group *a = left, *b = right;
    if (a->selected_bytes != b->selected_bytes) return a->selected_bytes > b->selected_bytes ? -1 : 1;
    if (a->selected != b->selected) return a->selected > b->selected ? -1 : 1;
    if (a->first_ns != b->first_ns) return a->first_ns < b->first_ns ? -1 : 1;
    return (a->key > b->key) - (a->key < b->key);
}

static void begin(struct storage_grouper *grouper, struct storage_groups *groups)
{
    *groups = (struct storage_groups){.by = grouper->by, .stacks = grouper->stacks};
    grouper->groups = groups;
    grouper->room = 0;
    grouper->last_row = CG_NONE;
}

/* Leaves the grouper as it was; the groups are sorted, or freed when memory was short. */
static bool finish(struct storage_grouper *grouper, bool ok)
{
    struct storage_groups *groups = grouper->groups;
    size_t kept = 0;
    for (size_t i = 0; i < groups->count; i++) {
        struct storage_group *group = &groups->groups[i];
        grouper->group_of_key[group->key] = 0;
        if (groups->by == GROUP_BY_SPAN && group->key == grouper->unknown_path) group->key = CG_NONE;
        if (group->selected > 0) groups->groups[kept++] = *group;
    }
    groups->count = kept;
    if (kept > 1) qsort(groups->groups, kept, sizeof *groups->groups, compare_groups);
    if (!ok) storage_groups_free(groups);
    return ok;
}

bool storage_grouper_list(struct storage_grouper *grouper, const uint32_t *lifetimes, size_t count,
                          struct storage_groups *groups)
{
    bool ok = true;
    begin(grouper, groups);
    for (size_t i = 0; ok && i < count; i++) {
        const struct lifetime *lifetime = &grouper->memory->lifetimes[lifetimes[i]];
        uint32_t group = group_of(grouper, lifetime->row);
        ok = group != CG_NONE;
        if (ok) add_selected(grouper, lifetime, &groups->groups[group]);
    }
    return finish(grouper, ok);
}

bool storage_groups_make(const struct cg_trace *trace, const struct logical_memory *memory,
                         const struct span_paths *paths, const struct training_steps *steps,
                         enum storage_grouping by, cg_str device, const uint8_t *selected, bool whole,
                         struct storage_groups *groups)
{
    struct storage_grouper *grouper = storage_grouper_new(trace, memory, paths, by);
    *groups = (struct storage_groups){0};
    if (!grouper) return false;
    begin(grouper, groups);
    bool ok = add_lifetimes(grouper, device, selected, whole) &&
              (!steps || steps->count == 0 || count_steps(grouper, steps, selected));
    ok = finish(grouper, ok);
    storage_grouper_free(grouper);
    return ok;
}

void storage_groups_free(struct storage_groups *groups)
{
    free(groups->groups);
    *groups = (struct storage_groups){0};
}
