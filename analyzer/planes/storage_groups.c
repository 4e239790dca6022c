#include "analyzer/planes/storage_groups.h"

#include <stdlib.h>

#include "analyzer/planes/array.h"

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

struct maker {
    const struct cg_trace *trace;
    const struct logical_memory *memory;
    const struct span_paths *paths;
    struct storage_groups *groups;
    uint32_t *group_of_key; /* CG_NONE: none yet */
    uint32_t unknown_path;  /* key of storages whose span is not there */
    size_t room;
};

static uint32_t key_of(const struct maker *maker, uint32_t row)
{
    const struct cg_trace *trace = maker->trace;
    switch (maker->groups->by) {
    case GROUP_BY_STACK: {
        uint32_t stack = storage_stack(trace, row);
        return stack != CG_NONE ? stack : maker->groups->stacks + storage_call(trace, row);
    }
    case GROUP_BY_SPAN: {
        uint32_t span = trace_span(trace, trace->memory.span_id[row]);
        return span == CG_NONE ? maker->unknown_path : maker->paths->of_span[span];
    }
    case GROUP_BY_CATEGORY:
        return trace->memory.category[row];
    case GROUP_BY_SIZE:
        break;
    }
    return size_class(trace->memory.bytes[row]);
}

static bool make_keys(struct maker *maker)
{
    size_t keys = 0;
    switch (maker->groups->by) {
    case GROUP_BY_STACK:
        maker->groups->stacks = trace_stack_count(maker->trace);
        keys = (size_t)maker->groups->stacks + trace_string_count(maker->trace) + 1;
        break;
    case GROUP_BY_SPAN:
        maker->unknown_path = maker->paths->count;
        keys = (size_t)maker->paths->count + 1;
        break;
    case GROUP_BY_CATEGORY:
        keys = CG_CATEGORY_COUNT;
        break;
    case GROUP_BY_SIZE:
        keys = 65;
        break;
    }
    maker->group_of_key = array_raw(keys, sizeof *maker->group_of_key);
    for (size_t i = 0; maker->group_of_key && i < keys; i++)
        maker->group_of_key[i] = CG_NONE;
    return maker->group_of_key != NULL;
}

/* ---- sums ---- */

/* The storage's group; CG_NONE when memory is short. */
static uint32_t group_of(struct maker *maker, uint32_t row)
{
    struct storage_groups *groups = maker->groups;
    uint32_t key = key_of(maker, row), group = maker->group_of_key[key];
    if (group != CG_NONE) return group;
    if (!array_room(&groups->groups, groups->count, &maker->room, sizeof *groups->groups)) return CG_NONE;
    groups->groups[groups->count] = (struct storage_group){.key = key, .first_ns = UINT64_MAX};
    return maker->group_of_key[key] = (uint32_t)groups->count++;
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

static void add_selected(struct maker *maker, const struct lifetime *lifetime, struct storage_group *group)
{
    struct storage_groups *groups = maker->groups;
    uint64_t bytes = maker->trace->memory.bytes[lifetime->row],
             start = lifetime_start(maker->trace, lifetime);
    group->selected++;
    group->selected_bytes = cg_sat_add(group->selected_bytes, bytes);
    if (bytes > group->largest_bytes) group->largest_bytes = bytes;
    if (start < group->first_ns) group->first_ns = start;
    groups->selected++;
    groups->selected_bytes = cg_sat_add(groups->selected_bytes, bytes);
    groups->with_stack += storage_stack(maker->trace, lifetime->row) != CG_NONE;
}

static bool add_lifetimes(struct maker *maker, const uint8_t *selected)
{
    const struct logical_memory *memory = maker->memory;
    for (size_t i = 0; i < memory->lifetime_count; i++) {
        uint32_t group = group_of(maker, memory->lifetimes[i].row);
        if (group == CG_NONE) return false;
        add_all(maker->trace, &memory->lifetimes[i], &maker->groups->groups[group]);
        if (selected[i]) add_selected(maker, &memory->lifetimes[i], &maker->groups->groups[group]);
    }
    return true;
}

/* Lifetimes stand in the order of their starts, and so do steps: both are walked along together. */
static bool count_steps(struct maker *maker, const struct training_steps *steps, const uint8_t *selected)
{
    const struct logical_memory *memory = maker->memory;
    size_t *last = array_zeroed(maker->groups->count, sizeof *last), step = 0;
    if (!last) return false;
    for (size_t i = 0; i < memory->lifetime_count; i++) {
        uint64_t start = lifetime_start(maker->trace, &memory->lifetimes[i]);
        while (step < steps->count && steps->at[step].end_ns < start)
            step++;
        if (step == steps->count) break;
        if (!selected[i] || start < steps->at[step].start_ns) continue;
        uint32_t group = maker->group_of_key[key_of(maker, memory->lifetimes[i].row)];
        if (last[group] != step + 1) maker->groups->groups[group].steps++;
        last[group] = step + 1;
    }
    free(last);
    return true;
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

static void finish(struct storage_groups *groups, uint32_t unknown_path)
{
    size_t kept = 0;
    for (size_t i = 0; i < groups->count; i++)
        if (groups->groups[i].selected > 0) groups->groups[kept++] = groups->groups[i];
    groups->count = kept;
    if (kept > 1) qsort(groups->groups, kept, sizeof *groups->groups, compare_groups);
    for (size_t i = 0; groups->by == GROUP_BY_SPAN && i < kept; i++)
        if (groups->groups[i].key == unknown_path) groups->groups[i].key = CG_NONE;
}

bool storage_groups_make(const struct cg_trace *trace, const struct logical_memory *memory,
                         const struct span_paths *paths, const struct training_steps *steps,
                         enum storage_grouping by, const uint8_t *selected, struct storage_groups *groups)
{
    *groups = (struct storage_groups){.by = by};
    struct maker maker = {.trace = trace, .memory = memory, .paths = paths, .groups = groups};
    bool ok = make_keys(&maker) && add_lifetimes(&maker, selected) &&
              (!steps || steps->count == 0 || count_steps(&maker, steps, selected));
    free(maker.group_of_key);
    if (ok)
        finish(groups, maker.unknown_path);
    else
        storage_groups_free(groups);
    return ok;
}

void storage_groups_free(struct storage_groups *groups)
{
    free(groups->groups);
    *groups = (struct storage_groups){0};
}
