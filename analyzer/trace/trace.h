/* A trace in memory: columns with interned strings, one set of columns for each kind of record.
 *
 * Made by trace_load(); afterwards everything is read-only and may be shared by threads. The columns are
 * generated from common/event_table.h: the field `duration_ns` of ops is trace->op.duration_ns[i], 0 <= i <
 * trace->op.rows.
 *
 *   STR        cg_str name[]               never CG_ABSENT
 *   OPT_STR    cg_str name[]               CG_ABSENT when absent
 *   U64        uint64_t name[]
 *   OPT_U64    uint64_t name[], uint8_t name_set[]
 *   F64        double name[]               OPT_F64: and uint8_t name_set[]
 *   BOOL       uint8_t name[]
 *   ENUM       uint8_t name[]              OPT_ENUM: value + 1, 0 when absent
 *   U64_LIST   struct cg_list name[]       into trace->u64_pool
 *   STR_LIST   struct cg_list name[]       into trace->str_pool
 *   STACK      uint32_t name[]             number of a stack (below), CG_NONE when absent
 *
 * Spans stand in byte order of their ids (doc/spec/trace.md 7), all other records in file order. Ops and
 * tensors carry resolved dense bytes (8). Columns of extra fields are NULL unless trace_load() was asked for
 * them. */
#ifndef CGTRACE_ANALYZER_TRACE_TRACE_H
#define CGTRACE_ANALYZER_TRACE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/event_table.h"

/* An interned string: equal strings have equal numbers. 0 is "no string"; the empty string is a string. */
typedef uint32_t cg_str;
#define CG_ABSENT ((cg_str)0)

/* No row: an unknown span, no parent, no match. */
#define CG_NONE UINT32_MAX

/* Consecutive elements of a pool. */
struct cg_list {
    uint32_t first;
    uint32_t count;
};

/* Bytes of a string, not ended by NUL (it may hold NUL bytes). Valid as long as the trace. */
struct cg_text {
    const char *bytes;
    size_t length;
};

#define CG_COLUMN_STR(name)     cg_str *name;
#define CG_COLUMN_OPT_STR(name) cg_str *name;
#define CG_COLUMN_U64(name)     uint64_t *name;
#define CG_COLUMN_OPT_U64(name)                                                                              \
    uint64_t *name;                                                                                          \
    uint8_t *name##_set;
#define CG_COLUMN_F64(name) double *name;
#define CG_COLUMN_OPT_F64(name)                                                                              \
    double *name;                                                                                            \
    uint8_t *name##_set;
#define CG_COLUMN_BOOL(name)                                     uint8_t *name;
#define CG_COLUMN_ENUM(name)                                     uint8_t *name;
#define CG_COLUMN_OPT_ENUM(name)                                 uint8_t *name;
#define CG_COLUMN_U64_LIST(name)                                 struct cg_list *name;
#define CG_COLUMN_STR_LIST(name)                                 struct cg_list *name;
#define CG_COLUMN_STACK(name)                                    uint32_t *name;
#define CG_COLUMN(name, wire, type, presence, argument, meaning) CG_COLUMN_##type(name)

/* Spans: span_start with what span_end adds. */
struct cg_spans {
    size_t rows;
    CG_SPAN_START_FIELDS(CG_COLUMN)
    uint8_t *closed;       /* an end was seen */
    uint64_t *duration_ns; /* of the end; 0 when not closed */
    uint32_t *parent;      /* row of the parent; CG_NONE for a root and for an unknown parent_id */
    CG_SPAN_START_EXTRAS(CG_COLUMN)
};
struct cg_ops {
    size_t rows;
    CG_OP_FIELDS(CG_COLUMN)
    CG_OP_EXTRAS(CG_COLUMN)
};
struct cg_tensors {
    size_t rows;
    CG_TENSOR_FIELDS(CG_COLUMN)
};
struct cg_tensor_stats {
    size_t rows;
    CG_TENSOR_STATS_FIELDS(CG_COLUMN)
};
struct cg_memory {
    size_t rows;
    CG_MEMORY_FIELDS(CG_COLUMN)
    CG_MEMORY_EXTRAS(CG_COLUMN)
};
struct cg_device_memory {
    size_t rows;
    CG_DEVICE_MEMORY_FIELDS(CG_COLUMN)
    CG_DEVICE_MEMORY_EXTRAS(CG_COLUMN)
};
struct cg_device_intervals {
    size_t rows;
    CG_DEVICE_INTERVAL_FIELDS(CG_COLUMN)
    CG_DEVICE_INTERVAL_EXTRAS(CG_COLUMN)
};
struct cg_gradients {
    size_t rows;
    CG_GRADIENT_FIELDS(CG_COLUMN)
};
struct cg_edges {
    size_t rows;
    CG_EDGE_FIELDS(CG_COLUMN)
};

/* The run: plain members named like the fields. */
#define CG_MEMBER_STR(name, argument)      cg_str name;
#define CG_MEMBER_OPT_STR(name, argument)  cg_str name;
#define CG_MEMBER_U64(name, argument)      uint64_t name;
#define CG_MEMBER_BOOL(name, argument)     bool name;
#define CG_MEMBER_ENUM(name, argument)     enum cg_value_##argument name;
#define CG_MEMBER_STR_LIST(name, argument) struct cg_list name;
#define CG_MEMBER_OBJECT(name, argument)   struct CG_OBJECT_##argument name;
#define CG_MEMBER_OBJECT_LIST(name, argument)                                                                \
    struct CG_OBJECT_##argument *name;                                                                       \
    size_t name##_count;
#define CG_MEMBER_MAP(name, argument)                                                                        \
    struct cg_pair *name;                                                                                    \
    size_t name##_count;
#define CG_MEMBER(name, wire, type, presence, argument, meaning) CG_MEMBER_##type(name, argument)

struct cg_pair {
    cg_str key;
    cg_str value;
};
/* present: the optional object was there. */
struct CG_OBJECT_GRADIENT_ENTRY {
    CG_GRADIENT_ENTRY_FIELDS(CG_MEMBER)
};
struct CG_OBJECT_GRADIENT_FAMILY {
    CG_GRADIENT_FAMILY_FIELDS(CG_MEMBER)
};
struct CG_OBJECT_GRADIENT_CONTRACT {
    bool present;
    CG_GRADIENT_CONTRACT_FIELDS(CG_MEMBER)
};
struct CG_OBJECT_IDENTITY {
    bool present;
    CG_IDENTITY_FIELDS(CG_MEMBER)
};
struct CG_OBJECT_CONTRACT {
    bool present;
    CG_CONTRACT_FIELDS(CG_MEMBER)
};
/* tags are in byte order of their keys, each key once. */
struct cg_run {
    CG_META_FIELDS(CG_MEMBER)
};

struct cg_terminal {
    enum cg_value_OUTCOME outcome;
    uint64_t timestamp_ns;
    cg_str reason;
};

struct cg_strings; /* analyzer/trace/strings.h */
struct cg_stacks;  /* analyzer/trace/stacks.h */

/* CUDA_ERROR_OUT_OF_MEMORY; cudaErrorMemoryAllocation is the same. */
enum { CG_OUT_OF_MEMORY = 2 };

struct cg_trace {
    struct cg_run run;
    struct cg_spans span;
    struct cg_ops op;
    struct cg_tensors tensor;
    struct cg_tensor_stats tensor_stats;
    struct cg_memory memory;
    struct cg_device_memory device_memory;
    struct cg_device_intervals device_interval;
    struct cg_gradients gradient;
    struct cg_edges edge;
    struct cg_terminal terminal;

    uint64_t *u64_pool;
    cg_str *str_pool;
    size_t u64_count, str_count; /* elements of the pools */
    struct cg_strings *strings;
    struct cg_stacks *stacks;        /* NULL: none */
    struct cg_devices *devices;      /* devices.h; NULL: the trace says nothing of them */
    struct cg_device_clocks *clocks; /* devices.h; NULL: it does not say where they stand */
    struct index_file *index;        /* index.h; NULL: the arrays are the trace's own */
    struct cg_origin *origin;        /* origin.h; NULL: it does not say whose it is */
    uint32_t *span_of_string; /* for each string number: the row of the span with this id, else CG_NONE */
    uint32_t span_strings;    /* entries there: texts that are interned later are ids of no span */
    uint64_t latest_host_ns;  /* doc/spec/trace.md 6.3 */
    uint64_t file_bytes;      /* bytes of the (decompressed) stream */
    unsigned threads;         /* that it was to be read with; 0: as many as help */
    /* Operations whose error is CG_OUT_OF_MEMORY; known without the extra fields too. */
    uint64_t out_of_memory_count;
};

/* Exit statuses of cg-analyze (doc/spec/cli.md 1.6). */
enum { CG_EXIT_DONE = 0, CG_EXIT_CONDITION = 1, CG_EXIT_USAGE = 2, CG_EXIT_INPUT = 3, CG_EXIT_IO = 5 };

/* Why something failed: one line for people, and the exit status that it asks for. */
struct cg_error {
    int status;
    char message[1024];
};

/* Fills *error; returns error->status, so that a caller can `return cg_fail(...)`. */
int cg_fail(struct cg_error *error, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Says something on standard error: one line, as utf8_shown() makes it. */
void cg_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same as cg_fail() for memory that is short; returns CG_EXIT_IO. */
int cg_out_of_memory(struct cg_error *error);
#ifdef __clang_analyzer__ /* sees one file at a time, and would take what they return for one that may be 0  \
                           */
#define cg_fail(error, status, ...) (cg_fail(error, status, __VA_ARGS__), (status))
#define cg_out_of_memory(error)     (cg_out_of_memory(error), CG_EXIT_IO)
#endif

/* The widest vectors that this process reads with, whatever the options say: "portable", "avx2" or "avx512".
 * False: none of these words. Before the first trace. */
bool trace_limit_vectors(const char *widest);

struct cg_load_options {
    bool extras; /* keep the extra fields of the event table */
    /* The result is the same whatever these are: without instructions that only some processors have, or
     * without vectors of 512 bits alone; how many threads read, 0: one for each processor of this process, as
     * far as they help; bytes of what each takes at a time, 0: 336 KiB. */
    bool portable, narrow;
    unsigned threads;
    size_t block_bytes;
    /* From any of the threads, but one at a time. */
    void (*progress)(void *context, uint64_t done,
                     uint64_t total); /* may be NULL; called at most every 100 ms */
    void *progress_context;
    /* May be NULL; of trace_load_descriptor() only: gets all bytes of the file in order, as they are read. */
    void (*tap)(void *context, const void *bytes, size_t length);
    void *tap_context;
};

/* Reads a trace/10 or trace/9 stream in one pass: a regular file, also .gz or .zst (told by its first bytes),
 * or standard input for "-". On success *trace is the caller's, to be freed with trace_free(), and 0 is
 * returned. Else the exit status: CG_EXIT_INPUT with a message that names file, line (from 1, blank lines
 * counted), byte (of the line, from 1) and field of the first defect in file order; CG_EXIT_IO when reading
 * failed. options may be NULL. */
int trace_load(const char *path, const struct cg_load_options *options, struct cg_trace **trace,
               struct cg_error *error);
/* The same for bytes in memory; name stands for the path in messages. */
int trace_load_bytes(const char *name, const void *bytes, size_t length,
                     const struct cg_load_options *options, struct cg_trace **trace, struct cg_error *error);
/* The same for a regular file that is open already, which is read as it stands and never decompressed. The
 * descriptor is closed, whatever the result. */
int trace_load_descriptor(const char *name, int fd, const struct cg_load_options *options,
                          struct cg_trace **trace, struct cg_error *error);
void trace_free(struct cg_trace *trace);

/* The bytes of an interned string; CG_ABSENT gives an empty text with bytes NULL. */
struct cg_text trace_text(const struct cg_trace *trace, cg_str string);
/* The number of a string if the trace holds it, else CG_ABSENT. */
cg_str trace_find(const struct cg_trace *trace, const char *bytes, size_t length);
/* Byte order (doc/spec/trace.md 0): negative, 0 or positive. */
int trace_compare(const struct cg_trace *trace, cg_str a, cg_str b);
/* How many strings there are: their numbers are 1 to this, for arrays indexed by string. */
uint32_t trace_string_count(const struct cg_trace *trace);
/* White space only, or empty, by the Unicode set of doc/spec/trace.md 0. */
bool cg_text_blank(struct cg_text text);
bool trace_blank(const struct cg_trace *trace, cg_str string);

/* The row of the span with this id, else CG_NONE. */
static inline uint32_t trace_span(const struct cg_trace *trace, cg_str id)
{
    return id < trace->span_strings ? trace->span_of_string[id] : CG_NONE;
}

/* ---- call stacks: the extra field `stack` of ops and memory records ----
 *
 * Stacks and frames are numbered from 0 in the order of their first use; equal frames have one number, so
 * that arrays indexed by frame serve for sums. A trace loaded without its extra fields has none. */

/* A function of the source at a frame: the innermost inlined one first, the function of the machine code
 * last.
 */
struct cg_source {
    cg_str function; /* demangled; never CG_ABSENT */
    cg_str mangled;  /* CG_ABSENT: as function, or as the frame's symbol */
    cg_str file;     /* CG_ABSENT: not known */
    uint32_t line;   /* 0: not known */
};
struct cg_frame {
    cg_str module;   /* path; CG_ABSENT: code of no file, and offset is its address */
    cg_str build_id; /* hexadecimal; CG_ABSENT: none */
    cg_str symbol;   /* dynamic symbol, mangled; CG_ABSENT: none */
    uint32_t source_count;
    uint32_t source_first; /* into trace_frame_source() */
    uint32_t unused;       /* no padding: index_walk.h */
    uint64_t offset;       /* return address in the module's file addresses: the call stands before it */
};

uint32_t trace_stack_count(const struct cg_trace *trace);
uint32_t trace_frame_count(const struct cg_trace *trace);
/* The stack's identity in the trace, such as stack:7. */
cg_str trace_stack_id(const struct cg_trace *trace, uint32_t stack);
/* The stack with this id, else CG_NONE. */
uint32_t trace_find_stack(const struct cg_trace *trace, cg_str id);
/* Numbers of the stack's frames, innermost call first; *count of them, 0 when the trace never gave them (the
 * record that did was lost). Valid as long as the trace. */
const uint32_t *trace_stack_frames(const struct cg_trace *trace, uint32_t stack, uint32_t *count);
/* Whether there were more calls around these frames than were kept. */
bool trace_stack_truncated(const struct cg_trace *trace, uint32_t stack);
const struct cg_frame *trace_frame(const struct cg_trace *trace, uint32_t frame);
/* The frame's source_count functions; NULL when there is none. */
const struct cg_source *trace_frame_source(const struct cg_trace *trace, const struct cg_frame *frame);
/* What people call the frame: the innermost function of its source with ` at file:line`, else its symbol,
 * demangled, else module+0xoffset, where of paths only the last part stands. Cut at size (1 or more), ended
 * by NUL; returns the length. */
size_t trace_frame_name(const struct cg_trace *trace, uint32_t frame, char *text, size_t size);

/* Arithmetic clamped to 2^64-1 and 0. */
static inline uint64_t cg_sat_add(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}
static inline uint64_t cg_sat_sub(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}
/* End of a span: sat(start + duration), also for an open one (its duration is 0). */
static inline uint64_t trace_span_end(const struct cg_trace *trace, uint32_t row)
{
    return cg_sat_add(trace->span.start_ns[row], trace->span.duration_ns[row]);
}

#endif
