#include "analyzer/trace/sequence.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/trace/block.h"

/* Positions of fields in a record: SPAN_START_id and so on. */
enum {
#define INDEX(name, wire, type, presence, argument, meaning) SPAN_START_##name,
    CG_SPAN_START_FIELDS(INDEX)
#undef INDEX
};
enum {
#define INDEX(name, wire, type, presence, argument, meaning) SPAN_END_##name,
    CG_SPAN_END_FIELDS(INDEX)
#undef INDEX
};
enum {
#define INDEX(name, wire, type, presence, argument, meaning) STATS_##name,
    CG_TENSOR_STATS_FIELDS(INDEX)
#undef INDEX
};
enum {
#define INDEX(name, wire, type, presence, argument, meaning) META_##name,
    CG_META_FIELDS(INDEX)
#undef INDEX
};
enum {
#define INDEX(name, wire, type, presence, argument, meaning) TERMINAL_##name,
    CG_TERMINAL_FIELDS(INDEX)
#undef INDEX
};

static bool fail(struct sequence *sequence, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool fail(struct sequence *sequence, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sequence->fault, sizeof sequence->fault, format, arguments);
    va_end(arguments);
    return false;
}

/* A name for messages: in quotes, unprintable bytes as '?', cut after 60 bytes. */
struct quoted {
    char text[72];
};
static struct quoted quote(const struct cg_trace *trace, cg_str string)
{
    enum { MOST = 60 };
    struct quoted quoted;
    struct cg_text text = trace_text(trace, string);
    size_t length = text.length < MOST ? text.length : MOST;
    char *to = quoted.text;
    *to++ = '"';
    for (size_t i = 0; i < length; i++) {
        char c = text.bytes[i];
        *to++ =
            (unsigned char)c < 0x20 || c == 0x7F || (length == MOST && (unsigned char)c >= 0x80) ? '?' : c;
    }
    strcpy(to, length < text.length ? "...\"" : "\"");
    return quoted;
}

bool sequence_may_follow(struct sequence *sequence)
{
    return !sequence->terminal ||
           fail(sequence, "a record follows the terminal record, which must be the last");
}

/* Row of the span in file order, CG_NONE when it has not started. */
static uint32_t span_row(const struct sequence *sequence, cg_str id)
{
    return id < sequence->span_capacity ? sequence->trace->span_of_string[id] : CG_NONE;
}

static bool note_span(struct sequence *sequence, cg_str id)
{
    struct cg_trace *trace = sequence->trace;
    if (id >= sequence->span_capacity) {
        size_t capacity = ((size_t)id + 1) * 2;
        uint32_t *rows = block_resize(trace->span_of_string, capacity * sizeof *rows);
        if (rows == NULL) {
            sequence->no_memory = true;
            return fail(sequence, "out of memory");
        }
        memset(rows + sequence->span_capacity, 0xFF, (capacity - sequence->span_capacity) * sizeof *rows);
        trace->span_of_string = rows;
        sequence->span_capacity = capacity;
    }
    trace->span_of_string[id] = (uint32_t)trace->span.rows;
    return true;
}

/* Rules that are kept nearly always are looked at by sequence_record() itself. What else there is to do or to
 * say stays out of it, so that it needs no room for that: 35 instructions a record became 14. */
#define APART static __attribute__((noinline))

APART bool span_fault(struct sequence *sequence, const char *format, cg_str id)
{
    return fail(sequence, format, quote(sequence->trace, id).text);
}

APART bool span_start(struct sequence *sequence, const struct decoder *decoder, const struct record *record)
{
    cg_str id = decoder_string(decoder, record->value[SPAN_START_id]);
    if (span_row(sequence, id) != CG_NONE)
        return span_fault(sequence, "span_start: span %s has started already", id);
    return note_span(sequence, id);
}

APART bool span_end(struct sequence *sequence, const struct decoder *decoder, const struct record *record)
{
    struct cg_spans *spans = &sequence->trace->span;
    cg_str id = decoder_string(decoder, record->value[SPAN_END_id]);
    uint32_t row = span_row(sequence, id);
    if (row == CG_NONE) return span_fault(sequence, "span_end: span %s has not started", id);
    if (spans->closed[row]) return span_fault(sequence, "span_end: span %s has ended already", id);
    spans->closed[row] = 1;
    spans->duration_ns[row] = record->value[SPAN_END_duration_ns].u;
    return true;
}

/* doc/spec/trace.md 3.5: from 1, left to right, an overflow counts even when a later dimension is 0. */
static bool elements_of(const struct decoder *decoder, union value shape, uint64_t *elements)
{
    struct cg_list list = decoder->lists[shape.numbers].here;
    *elements = 1;
    for (uint32_t i = 0; i < list.count; i++)
        if (__builtin_mul_overflow(*elements, decoder->u64_pool[list.first + i], elements)) return false;
    return true;
}

APART bool tensor_stats(struct sequence *sequence, const struct decoder *decoder, const struct record *record)
{
    const union value *v = record->value;
    uint64_t elements;
    if (trace_blank(sequence->trace, decoder_string(decoder, v[STATS_label])))
        return fail(sequence, "tensor_stats: label is blank");
    if (!elements_of(decoder, v[STATS_shape], &elements) || elements != v[STATS_elements].u)
        return fail(sequence, "tensor_stats: elements is %" PRIu64 ", which is not the product of shape",
                    v[STATS_elements].u);
    if (v[STATS_non_finite].u > v[STATS_elements].u)
        return fail(sequence, "tensor_stats: non_finite is %" PRIu64 " of %" PRIu64 " elements",
                    v[STATS_non_finite].u, v[STATS_elements].u);
    /* The decoder refuses what is not finite. */
    if (v[STATS_rms].f < 0) return fail(sequence, "tensor_stats: rms is negative");
    if (v[STATS_abs_max].f < 0) return fail(sequence, "tensor_stats: abs_max is negative");
    if (sequence->trace_9) return fail(sequence, "tensor_stats: no such records in " CG_SCHEMA_TRACE_9);
    return true;
}

static bool text_is(const struct cg_trace *trace, cg_str string, const char *text)
{
    struct cg_text have = trace_text(trace, string);
    return have.length == strlen(text) && memcmp(have.bytes, text, have.length) == 0;
}

APART bool meta(struct sequence *sequence, const struct decoder *decoder, const struct record *record)
{
    cg_str schema = decoder_string(decoder, record->value[META_schema]);
    sequence->trace_9 = text_is(sequence->trace, schema, CG_SCHEMA_TRACE_9);
    return sequence->trace_9 || text_is(sequence->trace, schema, CG_SCHEMA_TRACE_10) ||
           fail(sequence,
                "meta: schema is %s, expected \"" CG_SCHEMA_TRACE_10 "\" or \"" CG_SCHEMA_TRACE_9 "\"",
                quote(sequence->trace, schema).text);
}

APART bool terminal(struct sequence *sequence, const struct decoder *decoder, const struct record *record)
{
    struct cg_terminal *to = &sequence->trace->terminal;
    to->outcome = (enum cg_value_OUTCOME)record->value[TERMINAL_outcome].u;
    to->timestamp_ns = record->value[TERMINAL_timestamp_ns].u;
    to->reason = decoder_string(decoder, record->value[TERMINAL_reason]);
    sequence->terminal = true;
    if (to->outcome == CG_OUTCOME_COMPLETE && to->reason != CG_ABSENT)
        return fail(sequence, "terminal: outcome complete has a reason, expected none");
    if (to->outcome == CG_OUTCOME_FAILED &&
        (to->reason == CG_ABSENT || trace_blank(sequence->trace, to->reason)))
        return fail(sequence, "terminal: outcome failed without a reason");
    return true;
}

bool sequence_record(struct sequence *sequence, enum cg_kind kind, const struct decoder *decoder,
                     const struct record *record)
{
    if (sequence->terminal) return sequence_may_follow(sequence);
    if (sequence->records++ == 0 && kind != CG_KIND_META)
        return fail(sequence, "the first record is not meta");
    switch (kind) {
    case CG_KIND_META:
        return sequence->records == 1
                   ? meta(sequence, decoder, record)
                   : fail(sequence, "meta: must be the first record and the only one of its kind");
    case CG_KIND_SPAN_START:
        return span_start(sequence, decoder, record);
    case CG_KIND_SPAN_END:
        return span_end(sequence, decoder, record);
    case CG_KIND_TENSOR_STATS:
        return tensor_stats(sequence, decoder, record);
    case CG_KIND_TERMINAL:
        return terminal(sequence, decoder, record);
    default:
        return true;
    }
}

static uint64_t latest_host_time(const struct cg_trace *trace)
{
    uint64_t latest = 0;
    for (size_t i = 0; i < trace->span.rows; i++) {
        uint64_t end = trace_span_end(trace, (uint32_t)i);
        if (end > latest) latest = end;
    }
    for (size_t i = 0; i < trace->op.rows; i++) {
        uint64_t end = cg_sat_add(trace->op.timestamp_ns[i], trace->op.duration_ns[i]);
        if (end > latest) latest = end;
    }
    for (size_t i = 0; i < trace->memory.rows; i++)
        if (trace->memory.timestamp_ns[i] > latest) latest = trace->memory.timestamp_ns[i];
    for (size_t i = 0; i < trace->device_memory.rows; i++)
        if (trace->device_memory.timestamp_ns[i] > latest) latest = trace->device_memory.timestamp_ns[i];
    return latest;
}

bool sequence_end(struct sequence *sequence)
{
    struct cg_trace *trace = sequence->trace;
    if (sequence->records == 0)
        return fail(sequence, "no record at all, expected meta first and terminal last");
    if (!sequence->terminal) return fail(sequence, "the trace ends without a terminal record");
    trace->latest_host_ns = latest_host_time(trace);
    return trace->terminal.timestamp_ns >= trace->latest_host_ns ||
           fail(sequence, "terminal: timestamp_ns is %" PRIu64 ", before the latest host time %" PRIu64,
                trace->terminal.timestamp_ns, trace->latest_host_ns);
}
