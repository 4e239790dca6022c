/* Traces for the tests of planes, written as text and read by the reader. */
#ifndef CGTRACE_TESTS_UNIT_PLANE_TRACE_H
#define CGTRACE_TESTS_UNIT_PLANE_TRACE_H

#include "tests/unit/cmocka_tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/trace/trace.h"

/* Text that grows; zeroed is empty. */
struct text {
    char *bytes;
    size_t length, capacity;
};

__attribute__((format(printf, 2, 3))) static inline void put(struct text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *piece;
    int length = vasprintf(&piece, format, arguments);
    va_end(arguments);
    assert_true(length >= 0);
    if (text->length + (size_t)length + 1 > text->capacity) {
        text->capacity = (text->length + (size_t)length + 1) * 2;
        text->bytes = realloc(text->bytes, text->capacity);
        assert_non_null(text->bytes);
    }
    memcpy(text->bytes + text->length, piece, (size_t)length + 1);
    text->length += (size_t)length;
    free(piece);
}

/* A meta line; the levels and whatever else the contract holds come after its scope. */
#define META_WITH(phase, contract)                                                                           \
    "{\"kind\":\"meta\",\"schema\":\"candle-graph/trace/10\",\"run_id\":\"r\",\"correlation_id\":\"c\","     \
    "\"entrypoint\":\"e\",\"phase\":\"" phase "\",\"timestamp\":\"t\",\"capture_step\":1,"                   \
    "\"warmup_steps\":0,\"device\":\"cpu\",\"timing_mode\":\"host\",\"tags\":{},"                            \
    "\"capture_contract\":{\"measurement_scope\":\"unknown\"," contract "}}\n"
#define LEVELS_NONE                                                                                          \
    "\"operations\":\"none\",\"logical_memory\":\"none\",\"physical_memory\":\"none\","                      \
    "\"device_timing\":\"none\""
#define MEMORY_COMPLETE                                                                                      \
    "\"operations\":\"none\",\"logical_memory\":\"complete\",\"physical_memory\":\"none\","                  \
    "\"device_timing\":\"none\""
#define META META_WITH("infer", LEVELS_NONE)

/* A closed span; parent "" is none. */
static inline void put_span(struct text *text, const char *id, const char *parent, uint64_t start,
                            uint64_t duration, bool measured)
{
    put(text, "{\"kind\":\"span_start\",\"id\":\"%s\",", id);
    if (*parent) put(text, "\"parent_id\":\"%s\",", parent);
    put(text,
        "\"name\":\"%s\",\"start_ns\":%llu,\"span_kind\":\"function\",\"measured\":%s}\n"
        "{\"kind\":\"span_end\",\"id\":\"%s\",\"duration_ns\":%llu}\n",
        id, (unsigned long long)start, measured ? "true" : "false", id, (unsigned long long)duration);
}

/* A memory record; more is appended to its fields: "", or such as ",\"op_name\":\"mm\"". */
static inline void put_memory(struct text *text, uint64_t time, const char *device, const char *storage,
                              const char *tensor, const char *span, uint64_t bytes, const char *action,
                              const char *more)
{
    put(text,
        "{\"kind\":\"memory\",\"timestamp_ns\":%llu,\"device\":\"%s\",\"storage_id\":\"%s\","
        "\"tensor_id\":\"%s\",\"span_id\":\"%s\",\"bytes\":%llu,\"action\":\"%s\",\"dtype\":\"f32\"%s}\n",
        (unsigned long long)time, device, storage, tensor, span, (unsigned long long)bytes, action, more);
}

static inline void put_end(struct text *text, uint64_t time)
{
    put(text, "{\"kind\":\"terminal\",\"outcome\":\"complete\",\"timestamp_ns\":%llu}\n",
        (unsigned long long)time);
}

/* The vector of doc/spec/planes.md 8.3: storages of one name on two devices, a second allocation of one that
 * is live, a free of what never was. */
static inline void put_aliases(struct text *text)
{
    put(text, META);
    put_span(text, "s", "", 0, 100, true);
    put_memory(text, 10, "cpu", "a", "t1", "s", 64, "alloc", "");
    put_memory(text, 10, "cuda:0", "a", "t2", "s", 32, "alloc", "");
    put_memory(text, 20, "cpu", "a", "t3", "s", 64, "alloc", "");
    put_memory(text, 30, "cuda:0", "a", "t2", "s", 32, "free", "");
    put_memory(text, 30, "cuda:0", "b", "t4", "s", 16, "alloc", "");
    put_memory(text, 40, "cpu", "a", "t9", "s", 64, "free", "");
    put_memory(text, 50, "cpu", "zz", "t9", "s", 1, "free", "");
    put_end(text, 100);
}

/* So many of each that a page and an export show, with call stacks. */
static inline void put_some_of_all(struct text *text, unsigned count)
{
    put(text, META);
    put_span(text, "s", "", 0, 5000, true);
    put_span(text, "c", "s", 0, 4000, false);
    for (unsigned i = 0; i < count; i++) {
        char storage[12];
        snprintf(storage, sizeof storage, "m%u", i);
        put(text,
            "{\"kind\":\"op\",\"span_id\":\"c\",\"op_name\":\"op%u\",\"inputs\":[\"t%u\"],\"output\":\"t%u\","
            "\"shape\":[%u],\"dtype\":\"f32\",\"device\":\"d\",\"duration_ns\":2,\"timestamp_ns\":%u,"
            "\"input_dense_bytes\":0,\"tid\":%u,\"correlation\":%u,"
            "\"stack\":{\"id\":\"k%u\",\"frames\":[{\"offset\":%u}]}}\n",
            i % 40, i, i + 1, i, 10 * i + 1, i % 3, 500 - i, i, i);
        put(text,
            "{\"kind\":\"device_interval\",\"span_id\":\"s\",\"device\":\"d\",\"stream_id\":\"%u\","
            "\"clock_id\":\"k\",\"backend\":\"b\",\"start_ns\":%u,\"duration_ns\":3,\"correlation\":%u}\n",
            i % 20, 9000 - i, 500 - i);
        put_memory(text, 3000 - i, "d", storage, storage, "c", 4 + i, "alloc", "");
        put(text, "{\"kind\":\"device_memory\",\"timestamp_ns\":%u,\"device\":\"d\",\"used_bytes\":1}\n",
            900 - i);
    }
    put_end(text, 5000);
}

/* Reads the text and frees it; the test fails when the reader refuses it. */
static inline struct cg_trace *load_with(struct text *text, const struct cg_load_options *options)
{
    struct cg_trace *trace = NULL;
    struct cg_error error = {0};
    if (trace_load_bytes("test", text->bytes, text->length, options, &trace, &error) != 0)
        fail_msg("%s", error.message);
    free(text->bytes);
    *text = (struct text){0};
    return trace;
}

static inline struct cg_trace *load(struct text *text)
{
    return load_with(text, NULL);
}

/* The same with the fields beyond the format. */
static inline struct cg_trace *load_extras(struct text *text)
{
    const struct cg_load_options options = {.extras = true};
    return load_with(text, &options);
}

static inline void expect_text(const struct cg_trace *trace, cg_str string, const char *expected)
{
    struct cg_text text = trace_text(trace, string);
    if (text.length != strlen(expected) || memcmp(text.bytes, expected, text.length) != 0)
        fail_msg("\"%.*s\" instead of \"%s\"", (int)text.length, text.bytes, expected);
}

/* The row of a span that the trace has. */
static inline uint32_t span_row(const struct cg_trace *trace, const char *id)
{
    cg_str string = trace_find(trace, id, strlen(id));
    assert_int_not_equal(string, CG_ABSENT);
    assert_int_not_equal(trace_span(trace, string), CG_NONE);
    return trace_span(trace, string);
}

/* Numbers for random traces: xorshift64* (Vigna, 2016). */
static inline uint64_t draw(uint64_t *state, uint64_t below)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (*state * 0x2545f4914f6cdd1dull >> 16) % below;
}

#endif
