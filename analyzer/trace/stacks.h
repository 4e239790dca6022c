/* The stacks of a trace while it is read: each id once, equal frames once. */
#ifndef CGTRACE_ANALYZER_TRACE_STACKS_H
#define CGTRACE_ANALYZER_TRACE_STACKS_H

#include "analyzer/trace/decode.h"

struct stack {
    cg_str id;
    bool truncated;
    uint8_t unused[3];     /* no padding: index_walk.h */
    struct cg_list frames; /* into frame_pool; count 0: not given yet */
};

struct cg_stacks {
    struct stack *stacks;
    size_t count, capacity;
    uint32_t *of_string; /* number of the stack with this id, else CG_NONE */
    size_t string_capacity;
    uint32_t *frame_pool;
    size_t pool_count, pool_capacity;
    struct cg_frame *frames;
    size_t frame_count, frame_capacity;
    uint32_t *frame_slots; /* open addressing, linear probing: number + 1, 0 is free */
    size_t slot_mask;
    struct cg_source *sources;
    size_t source_count, source_capacity;
};

/* The number of the stack that an object of a resolved batch names, new if need be; CG_NONE when object is
 * NULL. The first frames that an id comes with count. False when memory is short. */
bool stacks_take(struct cg_trace *trace, const struct decoder *decoder, const struct record *object,
                 uint32_t *stack);
void stacks_free(struct cg_stacks *stacks);

#endif
