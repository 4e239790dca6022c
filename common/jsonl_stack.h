/* The stack of a record, for common/jsonl.c: whole the first time, then its id alone. */
#ifndef CGTRACE_COMMON_JSONL_STACK_H
#define CGTRACE_COMMON_JSONL_STACK_H

#include "common/jsonl.h"

/* The number of the record's stack; 0: none. */
static inline uint32_t jsonl_stack_of(const struct cap_record *record)
{
    switch (record->type) {
    case CAP_CALL:
        return record->call.stack;
    case CAP_LAUNCH:
        return record->launch.stack;
    case CAP_COPY:
        return record->copy.stack;
    case CAP_GRAPH:
        return record->graph.stack;
    case CAP_ALLOC:
    case CAP_FREE:
    case CAP_END:
        return record->memory.stack;
    default:
        return 0;
    }
}

/* Room that jsonl_stack() needs at most. */
size_t jsonl_stack_bound(const struct jsonl_state *state, uint32_t number);

/* `,"stack":{...}`; nothing when there is no such stack. */
char *jsonl_stack(struct jsonl_state *state, char *out, uint32_t number);

#endif
