/* Activations of a trace that a test has written, and what they are expected to be. */
#ifndef CGTRACE_TESTS_UNIT_ACTIVATIONS_TRACE_H
#define CGTRACE_TESTS_UNIT_ACTIVATIONS_TRACE_H

#include "tests/unit/plane_trace.h"

#include "analyzer/planes/activations.h"

struct made {
    struct cg_trace *trace;
    struct health health;
    struct timing timing;
    struct logical_memory memory;
    struct activations activations;
};

static inline struct made make_with(struct text *text, enum capability_level device,
                                    enum capability_level memory)
{
    struct made made = {.trace = load(text)};
    assert_true(health_make(made.trace, &made.health));
    assert_true(timing_make(made.trace, &made.timing));
    assert_true(logical_memory_make(made.trace, &made.memory));
    const struct activation_inputs inputs = {&made.health, &made.timing, &made.memory, device, memory};
    assert_true(activations_make(made.trace, &inputs, &made.activations));
    return made;
}

/* With both planes partial. */
static inline struct made make(struct text *text)
{
    return make_with(text, CAPABILITY_PARTIAL, CAPABILITY_PARTIAL);
}

static inline void release(struct made *made)
{
    activations_free(&made->activations);
    logical_memory_free(&made->memory);
    timing_free(&made->timing);
    health_free(&made->health);
    trace_free(made->trace);
}

/* An op; output "" is none. */
static inline void put_op(struct text *text, const char *span, const char *name, const char *output,
                          uint64_t time, uint64_t duration)
{
    put(text, "{\"kind\":\"op\",\"span_id\":\"%s\",\"op_name\":\"%s\",", span, name);
    if (*output) put(text, "\"output\":\"%s\",", output);
    put(text,
        "\"shape\":[2],\"dtype\":\"f32\",\"device\":\"cpu\",\"timestamp_ns\":%llu,\"duration_ns\":%llu,"
        "\"input_dense_bytes\":0}\n",
        (unsigned long long)time, (unsigned long long)duration);
}

static inline void put_tensor(struct text *text, const char *span, const char *id, const char *category)
{
    put(text,
        "{\"kind\":\"tensor\",\"span_id\":\"%s\",\"tensor_id\":\"%s\",\"shape\":[],\"dtype\":\"f32\","
        "\"device\":\"cpu\",\"category\":\"%s\"}\n",
        span, id, category);
}

/* Allocates storage "m<n>" as an activation; op "" is no op_name. */
static inline void put_alloc(struct text *text, uint64_t time, const char *storage, const char *tensor,
                             const char *span, uint64_t bytes, const char *op, const char *category)
{
    char more[96];
    snprintf(more, sizeof more, "%s%s%s,\"category\":\"%s\"", *op ? ",\"op_name\":\"" : "", op,
             *op ? "\"" : "", category);
    put_memory(text, time, "cpu", storage, tensor, span, bytes, "alloc", more);
}

/* "s/0 tensor logical 8 1 60 480 8\n": id, sources, then the five logical metrics or - for what is absent. */
static inline void expect_operations(const struct made *made, const char *expected)
{
    struct text text = {0};
    put(&text, "%s", "");
    for (size_t i = 0; i < made->activations.operation_count; i++) {
        const struct activation_operation *o = &made->activations.operations[i];
        struct cg_text span = trace_text(made->trace, made->trace->op.span_id[o->op]);
        put(&text, "%.*s", (int)span.length, span.bytes);
        if (!o->dedicated) put(&text, "/%u", o->op_index);
        put(&text, "%s%s", o->tensor_output ? " tensor" : "", o->logical_storage ? " logical" : "");
        if (o->logical_known)
            put(&text, " %llu %llu", (unsigned long long)o->allocated_bytes,
                (unsigned long long)o->storage_count);
        else
            put(&text, " - -");
        if (o->interval_known)
            put(&text, " %llu %llu", (unsigned long long)o->live_duration_ns,
                (unsigned long long)o->byte_nanoseconds);
        else
            put(&text, " - -");
        if (o->retained_known)
            put(&text, " %llu\n", (unsigned long long)o->retained_bytes);
        else
            put(&text, " -\n");
    }
    assert_string_equal(text.bytes, expected);
    free(text.bytes);
}

#endif
