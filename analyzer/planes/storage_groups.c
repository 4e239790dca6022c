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
    uint32_t *group_of_key;        /* + 1; 0: none yet, as between two uses all are. A block: of many keys few
                                      are met, and the memory of the others is never touched. */
    uint32_t stacks;               /* keys below are stacks */
    uint32_t unknown_path;         /* key of storages whose span is not there */
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

/* The group of a key; NULL when memory is short. */
static struct storage_group *group_of(struct storage_grouper *grouper, uint32_t key)
{
    struct storage_groups *groups = grouper->groups;
    uint32_t *number = &grouper->group_of_key[key];
    if (*number == 0) {
        if (!array_room(&groups->groups, groups->count, &grouper->room, sizeof *groups->groups)) return NULL;
        groups->groups[groups->count] = (struct storage_group){.key = key, .first_ns = UINT64_MAX};
        *number = (uint32_t)++groups->count;
    }
    return &groups->groups[*number - 1];
}

/* Are these two storages of one group? Says no where only their keys would tell. */
static bool alike(const struct storage_grouper *grouper, uint32_t a, uint32_t b)
{
    const struct cg_memory *records = &grouper->trace->memory;
    switch (grouper->by) {
    case GROUP_BY_STACK:
        return records->stack[a] == records->stack[b] && records->op_name[a] == records->op_name[b] &&
               records->api[a] == records->api[b];
    case GROUP_BY_SPAN:
        return records->span_id[a] == records->span_id[b];
    case GROUP_BY_CATEGORY:
        return records->category[a] == records->category[b];
    case GROUP_BY_SIZE:
        break;
    }
    return records->bytes[a] == records->bytes[b];
}

static void add_all(const struct cg_trace *trace, const struct lifetime *lifetime, struct storage_group *run)
{
    uint64_t bytes = trace->memory.bytes[lifetime->row];
    run->allocations++;
    run->allocated_bytes = cg_sat_add(run->allocated_bytes, bytes);
    if (lifetime->end_row == CG_NONE) return;
    run->frees++;
    run->freed_bytes = cg_sat_add(run->freed_bytes, bytes);
    run->freed_lifetime_ns += cg_sat_sub(lifetime_end(trace, lifetime), lifetime_start(trace, lifetime));
}

static void add_selected(struct storage_grouper *grouper, const struct lifetime *lifetime,
                         struct storage_group *run)
{
    const struct cg_memory *records = &grouper->trace->memory;
    uint32_t row = lifetime->row;
    uint64_t bytes = records->bytes[row], start = records->timestamp_ns[row];
    run->selected++;
    run->selected_bytes = cg_sat_add(run->selected_bytes, bytes);
    if (bytes > run->largest_bytes) run->largest_bytes = bytes;
    if (start < run->first_ns) run->first_ns = start;
    grouper->groups->of_driver += storage_is_drivers(grouper->trace, row);
    if (records->stack[row] != CG_NONE)
        grouper->groups->with_stack += storage_stack(grouper->trace, row) != CG_NONE;
}

/* Adds a run of storages, the first of which row is of, to their group. */
static bool add_run(struct storage_grouper *grouper, uint32_t row, const struct storage_group *run)
{
    struct storage_group *group = group_of(grouper, key_of(grouper, row));
    if (!group) return false;
    group->allocations += run->allocations;
    group->allocated_bytes = cg_sat_add(group->allocated_bytes, run->allocated_bytes);
    group->frees += run->frees;
    group->freed_bytes = cg_sat_add(group->freed_bytes, run->freed_bytes);
    group->freed_lifetime_ns += run->freed_lifetime_ns;
    group->selected += run->selected;
    group->selected_bytes = cg_sat_add(group->selected_bytes, run->selected_bytes);
    if (run->largest_bytes > group->largest_bytes) group->largest_bytes = run->largest_bytes;
    if (run->first_ns < group->first_ns) group->first_ns = run->first_ns;
    return true;
}

/* Storages mostly come in long runs of one group, whose sums are made apart from it: for 3 million of them
 * that takes two thirds of the time. */
static bool add_lifetimes(struct storage_grouper *grouper, cg_str device, const uint8_t *selected, bool whole)
{
    const struct logical_memory *memory = grouper->memory;
    struct storage_group run = {.first_ns = UINT64_MAX};
    uint32_t first = CG_NONE;
    for (size_t i = 0; i < memory->lifetime_count; i++) {
        const struct lifetime *lifetime = &memory->lifetimes[i];
        if (!whole && !selected[i]) continue;
        if (device != CG_ABSENT && grouper->trace->memory.device[lifetime->row] != device) continue;
        if (first != CG_NONE && !alike(grouper, lifetime->row, first)) {
            if (!add_run(grouper, first, &run)) return false;
            first = CG_NONE;
        }
        if (first == CG_NONE) {
            run = (struct storage_group){.first_ns = UINT64_MAX};
            first = lifetime->row;
        }
        if (whole) add_all(grouper->trace, lifetime, &run);
        if (selected[i]) add_selected(grouper, lifetime, &run);
    }
    return first == CG_NONE || add_run(grouper, first, &run);
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
        if (group->selected == 0) continue;
        groups->selected += group->selected;
        groups->selected_bytes = cg_sat_add(groups->selected_bytes, group->selected_bytes);
        groups->groups[kept++] = *group;
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
        struct storage_group *group = group_of(grouper, key_of(grouper, lifetime->row));
        ok = group != NULL;
        if (ok) add_selected(grouper, lifetime, group);
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
