/* Traces made by hand and the packets derived from them, for the tests of the evidence. */
#ifndef CGTRACE_TESTS_UNIT_PACKET_H
#define CGTRACE_TESTS_UNIT_PACKET_H

#include "tests/unit/cmocka_tap.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/evidence/evidence.h"

struct buffer {
    char *at;
    size_t length, room;
};

/* Room for more bytes and a NUL; doubled, as traces of many lines are made too. */
static inline void buffer_reserve(struct buffer *buffer, size_t more)
{
    if (buffer->length + more < buffer->room) return;
    buffer->room = 2 * (buffer->length + more + 1);
    buffer->at = realloc(buffer->at, buffer->room);
}

static inline int to_buffer(void *context, const char *bytes, size_t length)
{
    struct buffer *buffer = context;
    buffer_reserve(buffer, length);
    memcpy(buffer->at + buffer->length, bytes, length);
    buffer->length += length;
    buffer->at[buffer->length] = 0;
    return 0;
}

/* Adds a line. */
__attribute__((format(printf, 2, 3))) static inline void add(struct buffer *trace, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    buffer_reserve(trace, (size_t)length + 1);
    vsnprintf(trace->at + trace->length, (size_t)length + 1, format, again);
    va_end(again);
    trace->length += (size_t)length;
    trace->at[trace->length++] = '\n';
    trace->at[trace->length] = 0;
}

/* Levels of the contract that a test sets; NULL is none. more: further members of the contract, with a comma
 * before each. */
struct contract {
    const char *operations, *activations, *tensors, *gradients, *logical, *physical, *device_timing, *labels,
        *more;
};

static inline const char *level_or_none(const char *level)
{
    return level ? level : "none";
}

static inline void meta(struct buffer *trace, struct contract contract)
{
    add(trace,
        "{\"kind\":\"meta\",\"schema\":\"candle-graph/trace/"
        "10\",\"run_id\":\"run\",\"correlation_id\":\"corr\","
        "\"entrypoint\":\"train::step\",\"phase\":\"infer\",\"timestamp\":\"2026-01-01T00:00:00Z\","
        "\"capture_step\":2,\"warmup_steps\":1,\"device\":\"cpu\",\"timing_mode\":\"host\","
        "\"capture_contract\":{\"measurement_scope\":\"profiled_work\",\"operations\":\"%s\","
        "\"activations\":\"%s\",\"tensors\":\"%s\",\"gradients\":\"%s\",\"logical_memory\":\"%s\","
        "\"physical_memory\":\"%s\",\"device_timing\":\"%s\",\"required_semantic_labels\":[%s]%s},\"tags\":{}"
        "}",
        level_or_none(contract.operations), level_or_none(contract.activations),
        level_or_none(contract.tensors), level_or_none(contract.gradients), level_or_none(contract.logical),
        level_or_none(contract.physical), level_or_none(contract.device_timing),
        contract.labels ? contract.labels : "", contract.more ? contract.more : "");
}

/* A span whose name is its id; kind NULL is function; measured when the id begins with 'm' is not assumed. */
static inline void span_of(struct buffer *trace, const char *id, const char *parent, uint64_t start,
                           uint64_t duration, const char *kind, bool measured)
{
    add(trace,
        "{\"kind\":\"span_start\",\"id\":\"%s\",%s%s%s\"name\":\"%s\",\"start_ns\":%" PRIu64
        ",\"span_kind\":\"%s\",\"measured\":%s}",
        id, parent ? "\"parent_id\":\"" : "", parent ? parent : "", parent ? "\"," : "", id, start, kind,
        measured ? "true" : "false");
    add(trace, "{\"kind\":\"span_end\",\"id\":\"%s\",\"duration_ns\":%" PRIu64 "}", id, duration);
}
static inline void span(struct buffer *trace, const char *id, const char *parent, uint64_t start,
                        uint64_t duration)
{
    span_of(trace, id, parent, start, duration, "function", false);
}
static inline void measured(struct buffer *trace, const char *id, const char *parent, uint64_t start,
                            uint64_t duration)
{
    span_of(trace, id, parent, start, duration, "function", true);
}
/* inputs: quoted ids with commas between; output NULL is none. */
static inline void op(struct buffer *trace, const char *span_id, const char *name, uint64_t time,
                      uint64_t duration, const char *inputs, const char *output)
{
    add(trace,
        "{\"kind\":\"op\",\"span_id\":\"%s\",\"op_name\":\"%s\",\"inputs\":[%s],%s%s%s\"shape\":[2],"
        "\"dtype\":\"f32\",\"device\":\"cpu\",\"duration_ns\":%" PRIu64 ",\"timestamp_ns\":%" PRIu64
        ",\"input_dense_bytes\":0}",
        span_id, name, inputs, output ? "\"output\":\"" : "", output ? output : "", output ? "\"," : "",
        duration, time);
}
/* more: further members, with a comma before each. */
static inline void memory(struct buffer *trace, const char *action, uint64_t time, const char *storage,
                          const char *span_id, uint64_t bytes, const char *more)
{
    add(trace,
        "{\"kind\":\"memory\",\"timestamp_ns\":%" PRIu64
        ",\"storage_id\":\"%s\",\"tensor_id\":\"%s\",\"span_id\":\"%s\",\"device\":\"cpu\",\"bytes\":%" PRIu64
        ",\"action\":\"%s\",\"dtype\":\"u8\"%s}",
        time, storage, storage, span_id, bytes, action, more);
}
static inline void interval(struct buffer *trace, const char *span_id, const char *device, const char *clock,
                            uint64_t start, uint64_t duration)
{
    add(trace,
        "{\"kind\":\"device_interval\",\"span_id\":\"%s\",\"device\":\"%s\",\"stream_id\":\"7\","
        "\"clock_id\":\"%s\",\"backend\":\"events\",\"start_ns\":%" PRIu64 ",\"duration_ns\":%" PRIu64 "}",
        span_id, device, clock, start, duration);
}
static inline void complete(struct buffer *trace, uint64_t time)
{
    add(trace, "{\"kind\":\"terminal\",\"outcome\":\"complete\",\"timestamp_ns\":%" PRIu64 "}", time);
}
static inline void failed(struct buffer *trace, uint64_t time)
{
    add(trace,
        "{\"kind\":\"terminal\",\"outcome\":\"failed\",\"reason\":\"killed\",\"timestamp_ns\":%" PRIu64 "}",
        time);
}

/* ---- evidence ---- */

static inline struct cg_trace *load(struct buffer *text)
{
    struct cg_trace *trace;
    struct cg_error error;
    if (trace_load_bytes("test", text->at, text->length, NULL, &trace, &error)) fail_msg("%s", error.message);
    free(text->at);
    *text = (struct buffer){0};
    return trace;
}

static inline struct evidence *evidence_with(struct buffer *text, struct gpu_evidence *gpu)
{
    struct cg_trace *trace = load(text);
    struct evidence *evidence = malloc(sizeof *evidence);
    struct cg_error error;
    if (evidence_make(trace, gpu, EVIDENCE_EDGES, evidence, &error)) fail_msg("%s", error.message);
    return evidence;
}
static inline struct evidence *evidence_of(struct buffer *text)
{
    return evidence_with(text, NULL);
}
static inline void evidence_drop(struct evidence *evidence)
{
    struct cg_trace *trace = (struct cg_trace *)(uintptr_t)evidence->trace;
    evidence_free(evidence);
    free(evidence);
    trace_free(trace);
}

static inline struct buffer packet_text(const struct evidence *evidence, enum json_style style,
                                        enum json_order order)
{
    struct buffer text = {0};
    struct json_doc *doc = doc_start(style, order, to_buffer, &text);
    emit_packet(doc, evidence);
    assert_int_equal(doc_finish(doc), 0);
    return text;
}

/* The packet as a tree; the trace's text is used up. */
static inline json_t *packet_with(struct buffer *trace, struct gpu_evidence *gpu)
{
    struct evidence *evidence = evidence_with(trace, gpu);
    struct buffer text = packet_text(evidence, DOC_COMPACT, DOC_DECLARED);
    json_error_t error;
    json_t *packet = json_loadb(text.at, text.length, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    if (!packet) fail_msg("packet is not JSON: %s", error.text);
    free(text.at);
    evidence_drop(evidence);
    return packet;
}
static inline json_t *packet_of(struct buffer *trace)
{
    return packet_with(trace, NULL);
}

/* The part of a tree at a path such as graph.spans.0.id, in compact JSON with the order of the document, for
 * comparison with a literal; "-" where there is nothing. Each answer lives until the second next call. */
static inline const char *part(const json_t *tree, const char *path)
{
    static char *texts[4];
    static unsigned turn;
    char *copy = strdup(path), *rest = copy, *name;
    while (tree && (name = strsep(&rest, ".")))
        tree = json_is_array(tree) ? json_array_get(tree, (size_t)atoi(name)) : json_object_get(tree, name);
    free(copy);
    turn = (turn + 1) % 4;
    free(texts[turn]);
    texts[turn] = tree ? json_dumps(tree, JSON_COMPACT | JSON_ENCODE_ANY | JSON_PRESERVE_ORDER) : strdup("-");
    return texts[turn];
}

#define assert_part(tree, path, expected) assert_string_equal(part(tree, path), expected)

/* One member of each object of a list, joined by commas, such as the ids of the rows. */
static inline const char *column(const json_t *list, const char *member)
{
    static char text[4096];
    size_t row;
    const json_t *object;
    text[0] = 0;
    json_array_foreach(list, row, object)
    {
        if (row) strcat(text, ",");
        const json_t *value = json_object_get(object, member);
        char *dump = value ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : strdup("-");
        strncat(text, dump, sizeof text - strlen(text) - 2);
        free(dump);
    }
    return text;
}

static inline json_t *walk(json_t *tree, const char *path)
{
    char *copy = strdup(path), *rest = copy, *name;
    while (tree && (name = strsep(&rest, ".")))
        tree = json_is_array(tree) ? json_array_get(tree, (size_t)atoi(name)) : json_object_get(tree, name);
    free(copy);
    return tree;
}

#endif
