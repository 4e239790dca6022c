/* Storages by what they have in common (call site, span, category, size), and which of them leak, are
 * temporary or make the peak. Pure functions over the lifetimes of logical memory; they work on failed and
 * recovered captures too. The trace must have been loaded with its extra fields. */
#ifndef CGTRACE_ANALYZER_PLANES_STORAGE_GROUPS_H
#define CGTRACE_ANALYZER_PLANES_STORAGE_GROUPS_H

#include "analyzer/planes/planes.h"
#include "analyzer/planes/span_paths.h"

/* G(constant suffix, "word", "what it means") */
#define STORAGE_GROUPINGS(G)                                                                                 \
    G(STACK, "stack",                                                                                        \
      "the calls that led to the allocation; without a stack, the operation or entry point that allocated")  \
    G(SPAN, "span", "the names of the spans around the allocation, from the root on")                        \
    G(CATEGORY, "category", "the category of the storage")                                                   \
    G(SIZE, "size", "size classes from each power of two to the next")
enum storage_grouping {
#define STORAGE_GROUPING(suffix, word, meaning) GROUP_BY_##suffix,
    STORAGE_GROUPINGS(STORAGE_GROUPING)
#undef STORAGE_GROUPING
};

/* ---- which storages: a byte for each lifetime, set where it is one ---- */

/* A training step: from the start of its first span to the end of its last. */
struct training_step {
    uint64_t start_ns, end_ns;
    uint32_t thread; /* number of the thread; 0: not known */
};
struct training_steps {
    struct training_step *at; /* by thread, start */
    size_t count;
    uint32_t *of; /* by lifetime: the step that it was made in; CG_NONE: none */
};
/* Closed spans of this name are the steps; one inside another of its thread is a part of that. CG_ABSENT:
 * each closed span of the step `optimizer` ends one, which began with the first span that has a step after
 * the end before it: of its thread, where several threads have such spans. A storage was made in the step of
 * its own thread, or where that has no steps in the one that began last. wanted: a byte for each lifetime,
 * set where the step of its storage is asked for, the others get none; NULL: all are. n log n. False when
 * memory is short. */
bool training_steps_make(const struct cg_trace *trace, const struct logical_memory *memory, cg_str name,
                         const uint8_t *wanted, struct training_steps *steps);
void training_steps_free(struct training_steps *steps);

/* Alive at the capture's end, or ended by the end of their context and not by the program; those that were
 * there before the capture are no candidates. after_steps > 0: also those made during a step that are alive
 * when so many further steps of its step's thread have ended; only then are the steps looked at. */
void select_leaks(const struct cg_trace *trace, const struct logical_memory *memory,
                  const struct training_steps *steps, uint64_t after_steps, uint8_t *selected);
/* Freed by the thread that allocated them, with at most within_events memory records of that thread from the
 * allocation to the free, the free included. False when memory is short. */
bool select_temporaries(const struct cg_trace *trace, const struct logical_memory *memory,
                        uint64_t within_events, uint8_t *selected);
/* Alive at the exact peak of logical memory; of the device's own peak unless that is CG_ABSENT. Returns
 * whether there is a peak, and where. */
bool select_peak(const struct cg_trace *trace, const struct logical_memory *memory, cg_str device,
                 uint64_t *timestamp_ns, uint8_t *selected);
/* Takes the storages of other devices out. */
void select_device(const struct cg_trace *trace, const struct logical_memory *memory, cg_str device,
                   uint8_t *selected);

/* ---- their groups ---- */

struct storage_group {
    uint32_t key; /* storage_group_stack() and so on say what it is */
    uint64_t allocations, allocated_bytes, frees, freed_bytes;  /* of all storages of the group */
    unsigned __int128 freed_lifetime_ns;                        /* sum over its frees */
    uint64_t selected, selected_bytes, largest_bytes, first_ns; /* of those selected */
    uint64_t steps; /* in how many steps those were allocated; 0 without steps */
};
struct storage_groups {
    enum storage_grouping by;
    /* Groups with a selected storage: bytes selected descending, then how many, then the order in which the
     * groups first appear. */
    struct storage_group *groups;
    size_t count;
    uint64_t selected, selected_bytes;
    uint64_t with_stack; /* selected storages whose stack is known */
    uint64_t of_driver;  /* selected storages that the driver gave out */
    uint32_t stacks;     /* keys below are stacks, when grouped by them */
};
/* device: groups are of its storages alone, and all that are selected are of it; CG_ABSENT: of all devices.
 * whole: allocations and frees of the groups are summed; else they are 0, and only what is selected is
 * visited. paths: of the trace; used when grouped by span, else NULL will do. steps may be NULL. n log n in
 * the number of groups, otherwise linear. False when memory is short. */
bool storage_groups_make(const struct cg_trace *trace, const struct logical_memory *memory,
                         const struct span_paths *paths, const struct training_steps *steps,
                         enum storage_grouping by, cg_str device, const uint8_t *selected, bool whole,
                         struct storage_groups *groups);
void storage_groups_free(struct storage_groups *groups);

/* Groups set after set of storages of one trace, each in a time that depends on that set alone. As above, but
 * that allocations and frees of a group are not summed. NULL when memory is short. */
struct storage_grouper;
struct storage_grouper *storage_grouper_new(const struct cg_trace *trace, const struct logical_memory *memory,
                                            const struct span_paths *paths, enum storage_grouping by);
void storage_grouper_free(struct storage_grouper *grouper);
/* False when memory is short; the grouper can still be used. */
bool storage_grouper_list(struct storage_grouper *grouper, const uint32_t *lifetimes, size_t count,
                          struct storage_groups *groups);

/* What a group's key is. */
/* By stack: the stack, else CG_NONE, and then the operation or entry point (CG_ABSENT: not known). */
uint32_t storage_group_stack(const struct storage_groups *groups, const struct storage_group *group);
cg_str storage_group_call(const struct storage_groups *groups, const struct storage_group *group);
/* By span: the path; CG_NONE when the span is not in the trace. */
static inline uint32_t storage_group_path(const struct storage_group *group)
{
    return group->key;
}
static inline enum cg_value_CATEGORY storage_group_category(const struct storage_group *group)
{
    return (enum cg_value_CATEGORY)group->key;
}
/* By size: from and to, both included. */
void storage_group_sizes(const struct storage_group *group, uint64_t *from, uint64_t *to);

/* Did the driver give this storage out? Those that a framework's allocator gives out lie within the driver's,
 * where a trace has both. */
static inline bool storage_is_drivers(const struct cg_trace *trace, uint32_t row)
{
    return trace->memory.memory_kind[row] != CG_ABSENT;
}
/* Have two allocations their span, call and stack in common? Mostly as those before and after have: what
 * follows from them is then not looked up again. */
static inline bool storage_same_place(const struct cg_trace *trace, uint32_t row, uint32_t other)
{
    const struct cg_memory *memory = &trace->memory;
    return memory->span_id[row] == memory->span_id[other] && memory->op_name[row] == memory->op_name[other] &&
           memory->api[row] == memory->api[other] && memory->stack[row] == memory->stack[other];
}
/* The stack of an allocation, if its frames are known; else CG_NONE. */
uint32_t storage_stack(const struct cg_trace *trace, uint32_t row);
/* The operation, else the entry point, that allocated. */
cg_str storage_call(const struct cg_trace *trace, uint32_t row);

#endif
