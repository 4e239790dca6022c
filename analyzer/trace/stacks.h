/* The stacks of a trace while it is read: each id once, equal frames once. */
#ifndef CGTRACE_ANALYZER_TRACE_STACKS_H
#define CGTRACE_ANALYZER_TRACE_STACKS_H

#include "analyzer/trace/decode.h"

/* The number of the stack that an object of a resolved batch names, new if need be; CG_NONE when object is
 * NULL. The first frames that an id comes with count. False when memory is short. */
bool stacks_take(struct cg_trace *trace, const struct decoder *decoder, const struct record *object,
                 uint32_t *stack);
void stacks_free(struct cg_stacks *stacks);

#endif
