/* Every array that a trace points to, one after the other, with what its numbers may be. */
#ifndef CGTRACE_ANALYZER_TRACE_INDEX_WALK_H
#define CGTRACE_ANALYZER_TRACE_INDEX_WALK_H

#include "analyzer/trace/index_file.h"
#include "analyzer/trace/trace.h"

enum index_check {
    INDEX_ANY,
    INDEX_STRING,          /* a string, or CG_ABSENT */
    INDEX_REQUIRED_STRING, /* a string */
    INDEX_BYTE,            /* up to `most` */
    INDEX_U64_LIST,
    INDEX_STR_LIST,
    INDEX_STACK, /* a stack, or CG_NONE */
    INDEX_SPAN,  /* the row of a span, or CG_NONE */
    INDEX_FRAME  /* a frame */
};
struct index_slot {
    char name[INDEX_NAME]; /* "op.duration_ns" */
    void *at;              /* address of the pointer to the array */
    size_t element, count;
    enum index_check check;
    uint8_t most;
    bool extra; /* of a field beyond the format */
};
/* False ends the walk. */
typedef bool index_visitor(void *context, const struct index_slot *slot);

/* All three parts of a trace, in the order strings, stacks, columns; or one of them. False when the visitor
 * ended it. */
bool index_walk(struct cg_trace *trace, index_visitor *visit, void *context);
bool index_walk_strings(struct cg_strings *strings, index_visitor *visit, void *context);
struct cg_stacks;
bool index_walk_stacks(struct cg_stacks *stacks, index_visitor *visit, void *context);
bool index_walk_columns(struct cg_trace *trace, index_visitor *visit, void *context);

/* Whether the run, the terminal record and the lists that they have hold what they may. */
bool index_check_run(const struct cg_trace *trace);

/* A bool that came from a file is one of its two values. */
static inline bool index_flag(const bool *flag)
{
    return *(const unsigned char *)(const void *)flag <= 1;
}

#endif
