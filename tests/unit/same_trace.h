/* Two traces that must be the same in all that is in them, to the last number of a string. */
#ifndef CGTRACE_TESTS_UNIT_SAME_TRACE_H
#define CGTRACE_TESTS_UNIT_SAME_TRACE_H

#include <string.h>

#include "analyzer/trace/trace.h"
#include "tests/unit/cmocka_tap.h"

#define SAME_ARRAY(array)                                                                                    \
    if ((a->array == NULL) != (b->array == NULL) ||                                                          \
        (a->array != NULL && memcmp(a->array, b->array, rows * sizeof *a->array) != 0))                      \
        fail_msg("%s: column %s differs", of, #array);
#define SAME_STR(name)      SAME_ARRAY(name)
#define SAME_OPT_STR(name)  SAME_ARRAY(name)
#define SAME_U64(name)      SAME_ARRAY(name)
#define SAME_OPT_U64(name)  SAME_ARRAY(name) SAME_ARRAY(name##_set)
#define SAME_F64(name)      SAME_ARRAY(name)
#define SAME_OPT_F64(name)  SAME_ARRAY(name) SAME_ARRAY(name##_set)
#define SAME_BOOL(name)     SAME_ARRAY(name)
#define SAME_ENUM(name)     SAME_ARRAY(name)
#define SAME_OPT_ENUM(name) SAME_ARRAY(name)
#define SAME_U64_LIST(name)                                                                                  \
    SAME_ARRAY(name)                                                                                         \
    for (size_t i = 0; a->name != NULL && i < rows; i++)                                                     \
        assert_memory_equal(left->u64_pool + a->name[i].first, right->u64_pool + b->name[i].first,           \
                            a->name[i].count * sizeof *left->u64_pool);
#define SAME_STR_LIST(name)                                                                                  \
    SAME_ARRAY(name)                                                                                         \
    for (size_t i = 0; a->name != NULL && i < rows; i++)                                                     \
        assert_memory_equal(left->str_pool + a->name[i].first, right->str_pool + b->name[i].first,           \
                            a->name[i].count * sizeof *left->str_pool);
#define SAME_STACK(name)                                          SAME_ARRAY(name)
#define SAME_FIELD(name, wire, type, presence, argument, meaning) SAME_##type(name)
#define SAME_TABLE(member, fields, extra_fields)                                                             \
    static inline void same_##member(const struct cg_trace *left, const struct cg_trace *right,              \
                                     const char *of)                                                         \
    {                                                                                                        \
        __typeof__(&left->member) a = &left->member, b = &right->member;                                     \
        size_t rows = a->rows;                                                                               \
        assert_int_equal(rows, b->rows);                                                                     \
        fields(SAME_FIELD) extra_fields(SAME_FIELD)                                                          \
    }
#define TABLES(T)                                                                                            \
    T(span, CG_SPAN_START_FIELDS, CG_SPAN_START_EXTRAS)                                                      \
    T(op, CG_OP_FIELDS, CG_OP_EXTRAS)                                                                        \
    T(tensor, CG_TENSOR_FIELDS, CG_NO_EXTRAS)                                                                \
    T(tensor_stats, CG_TENSOR_STATS_FIELDS, CG_NO_EXTRAS)                                                    \
    T(memory, CG_MEMORY_FIELDS, CG_MEMORY_EXTRAS)                                                            \
    T(device_memory, CG_DEVICE_MEMORY_FIELDS, CG_DEVICE_MEMORY_EXTRAS)                                       \
    T(device_interval, CG_DEVICE_INTERVAL_FIELDS, CG_DEVICE_INTERVAL_EXTRAS)                                 \
    T(gradient, CG_GRADIENT_FIELDS, CG_NO_EXTRAS)                                                            \
    T(edge, CG_EDGE_FIELDS, CG_NO_EXTRAS)
TABLES(SAME_TABLE)

static inline void same_text(struct cg_text a, struct cg_text b)
{
    assert_int_equal(a.length, b.length);
    if (a.length > 0) assert_memory_equal(a.bytes, b.bytes, a.length);
}

static inline void same_strings(const struct cg_trace *a, const struct cg_trace *b)
{
    assert_int_equal(trace_string_count(a), trace_string_count(b));
    for (cg_str i = 1; i <= trace_string_count(a); i++)
        same_text(trace_text(a, i), trace_text(b, i));
    assert_int_equal(a->span_strings, b->span_strings);
    assert_memory_equal(a->span_of_string, b->span_of_string, a->span_strings * sizeof *a->span_of_string);
}

static inline void same_stacks(const struct cg_trace *a, const struct cg_trace *b)
{
    assert_int_equal(trace_stack_count(a), trace_stack_count(b));
    assert_int_equal(trace_frame_count(a), trace_frame_count(b));
    for (uint32_t i = 0; i < trace_stack_count(a); i++) {
        uint32_t count, other_count;
        const uint32_t *frames = trace_stack_frames(a, i, &count);
        const uint32_t *other = trace_stack_frames(b, i, &other_count);
        assert_int_equal(trace_stack_id(a, i), trace_stack_id(b, i));
        assert_int_equal(count, other_count);
        if (count > 0) assert_memory_equal(frames, other, count * sizeof *frames);
    }
    for (uint32_t i = 0; i < trace_frame_count(a); i++)
        assert_memory_equal(trace_frame(a, i), trace_frame(b, i), sizeof(struct cg_frame));
}

static inline void same_trace(const struct cg_trace *a, const struct cg_trace *b, const char *of)
{
#define SAME_CALL(member, fields, extra_fields) same_##member(a, b, of);
    TABLES(SAME_CALL)
    same_strings(a, b);
    same_stacks(a, b);
    size_t spans = a->span.rows;
    assert_memory_equal(a->span.closed, b->span.closed, spans);
    assert_memory_equal(a->span.duration_ns, b->span.duration_ns, spans * sizeof *a->span.duration_ns);
    assert_memory_equal(a->span.parent, b->span.parent, spans * sizeof *a->span.parent);
    assert_int_equal(a->run.run_id, b->run.run_id);
    assert_int_equal(a->run.tags_count, b->run.tags_count);
    assert_memory_equal(a->run.tags, b->run.tags, a->run.tags_count * sizeof *a->run.tags);
    assert_int_equal(a->terminal.outcome, b->terminal.outcome);
    assert_int_equal(a->terminal.reason, b->terminal.reason);
    assert_true(a->terminal.timestamp_ns == b->terminal.timestamp_ns);
    assert_true(a->latest_host_ns == b->latest_host_ns);
    assert_true(a->file_bytes == b->file_bytes);
    assert_true(a->out_of_memory_count == b->out_of_memory_count);
}

#endif
