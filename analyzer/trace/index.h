/* The index of a trace, TRACE.cgx: its columns as they are in memory, so that a second look at it need not
 * read it again. Optional, and never trusted blindly:
 *
 * - It says which file it was made from: size, times of change, inode, a hash of some blocks, and a hash of
 *   the whole content (XXH3-128). Where the file still has that size, these times and that inode, and they
 *   can tell of every change, the content is taken to be the same; else the whole content is hashed, and only
 *   an equal hash lets the index be used.
 * - It must belong to the user, or to the owner of the trace.
 * - Each array is held against its checksum, and each number in it against what it may be, before anything
 *   uses it. Whatever is wrong, the trace is read instead. */
#ifndef CGTRACE_ANALYZER_TRACE_INDEX_H
#define CGTRACE_ANALYZER_TRACE_INDEX_H

#include "analyzer/trace/index_file.h"
#include "analyzer/trace/trace.h"

#define INDEX_SUFFIX ".cgx"

/* Arrays to be written: a list that grows. */
struct index_arrays {
    struct index_array *items;
    size_t count, capacity;
};
bool index_arrays_add(struct index_arrays *arrays, const char *name, const void *bytes, uint64_t length);
void index_arrays_free(struct index_arrays *arrays);

/* What the arrays mean: an index of a program that has them otherwise is not read. */
uint64_t trace_index_layout(void);

/* Adds the arrays of a trace that was loaded with its extra fields. copy is room for what is written of
 * *trace itself; it and the trace must last until the arrays are written. False when memory is short. */
struct trace_index_copy {
    struct cg_trace trace;
    struct cg_strings *strings;
    struct cg_stacks *stacks;
};
bool trace_index_add(const struct cg_trace *trace, struct trace_index_copy *copy,
                     struct index_arrays *arrays);
void trace_index_copy_free(struct trace_index_copy *copy);

/* Makes the trace of an index, which it takes over, whatever the result. NULL, and why says why, when any
 * number in it is not what it may be. */
struct cg_trace *trace_index_read(struct index_file *file, bool extras, char why[INDEX_WHY]);

/* Gives back the index of a trace; for trace_free(), after everything else but the arrays. */
void trace_index_free(struct cg_trace *trace);

enum index_use {
    INDEX_USE,
    INDEX_VERIFY, /* the content is hashed whatever the times say */
    INDEX_IGNORE
};
enum index_answer {
    INDEX_TAKEN,
    INDEX_NONE,   /* there is none, or it is to be ignored */
    INDEX_REFUSED /* why says why */
};
/* Loads a trace from its index. */
enum index_answer trace_index_load(const char *trace_path, enum index_use use, bool extras,
                                   struct cg_trace **trace, char why[INDEX_WHY]);

#endif
