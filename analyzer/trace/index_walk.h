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

/* An index holds structs as they stand in memory. Were there padding in one, bytes that nobody set would get
 * into the file, and two indexes of a trace would differ. So each file that stores arrays has a table of the
 * structs that they consist of, T(type, sum of the sizes of its members); one that is not there, or has
 * padding, does not compile. */
#define INDEX_ASSERT(type, sum)  _Static_assert(sizeof(type) == (sum), #type " has no padding");
#define INDEX_ELEMENT(type, sum) , type : sizeof(type)
/* The size of an element of an array. */
#define INDEX_ELEMENT_SIZE(array, STRUCTS)                                                                   \
    _Generic(*(array), uint8_t : 1, uint32_t : 4, uint64_t : 8 STRUCTS(INDEX_ELEMENT))

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
