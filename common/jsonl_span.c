/* Lines of spans: the program's, and the two that every session has. */
#include <math.h>

#include "common/json_doc.h"
#include "common/jsonl_parts.h"

#define SPAN_START_KEY(id, wire, type, presence, argument, meaning) KEYS(span_start, id, wire)
#define SPAN_END_KEY(id, wire, type, presence, argument, meaning)   KEYS(span_end, id, wire)
CG_SPAN_START_FIELDS(SPAN_START_KEY)
CG_SPAN_START_EXTRAS(SPAN_START_KEY)
CG_SPAN_END_FIELDS(SPAN_END_KEY)
CG_SPAN_END_EXTRAS(SPAN_END_KEY)

static const struct word span_sources[] = {CAP_SPAN_SOURCES(TABLE_WORD)};
static const struct word span_kinds[] = {CG_SPAN_KIND_VALUES(TABLE_ENUM_WORD)};
static const struct word steps[] = {CG_STEP_VALUES(TABLE_ENUM_WORD)};

/* A text of at most JSONL_NAME_MAX bytes under a key. */
static char *put_label(const struct jsonl_state *state, char *out, const char *key, uint32_t number)
{
    uint32_t head;
    const char *text;
    bool replaced;

    if (!number) return out;
    text = jsonl_string_at(state, number, &head);
    out = put_text(out, key);
    out = jsonl_text(out, text, jsonl_prefix(text, CAP_STRING_LENGTH(head), JSONL_NAME_MAX), &replaced);
    *out++ = '"';
    return out;
}

/* A payload that is not finite has no form in JSON, and is left out; as is one of a type that a damaged
 * capture alone has. */
static char *put_payload(char *out, enum cap_payload type, uint64_t bits)
{
    char text[33];
    double real;

    memcpy(&real, &bits, sizeof real);
    if (type != CAP_PAYLOAD_U64 && type != CAP_PAYLOAD_I64 && (type != CAP_PAYLOAD_F64 || !isfinite(real)))
        return out;
    out = jsonl_literal(out, span_start_payload);
    if (type == CAP_PAYLOAD_U64) return jsonl_u64(out, bits);
    if (type == CAP_PAYLOAD_I64) return jsonl_i64(out, (int64_t)bits);
    return jsonl_bytes(out, text, json_double_text(text, real));
}

static enum jsonl_clipped clipped_of(const struct cap_record *record)
{
    return (record->flags & CAP_FLAG_CLIPPED_START ? JSONL_CLIPPED_START : 0u) |
           (record->flags & CAP_FLAG_CLIPPED_END ? JSONL_CLIPPED_END : 0u);
}

static char *put_clipped(char *out, const char *key, enum jsonl_clipped clipped)
{
    static const char *const words[] = {
        [JSONL_CLIPPED_START] = "start", [JSONL_CLIPPED_END] = "end", [JSONL_CLIPPED_BOTH] = "both"};

    if (!clipped) return out;
    out = put_text(out, key);
    out = put_text(out, words[clipped]);
    *out++ = '"';
    return out;
}

static char *put_span_extras(struct jsonl_state *state, char *out, const struct cap_record *record,
                             int32_t tid)
{
    unsigned source = record->flags & CAP_FLAG_DETAIL;

    out = put_field(out, span_start_tid, (uint32_t)tid);
    if (source < CAP_SPAN_SOURCE_COUNT) {
        out = jsonl_literal(out, span_start_q_source);
        out = put_word(out, &span_sources[source]);
    }
    out = put_label(state, out, span_start_q_domain, record->span_data.domain);
    out = put_label(state, out, span_start_q_category, record->span_data.category);
    if (record->span_data.has_color) out = put_field(out, span_start_color, record->span_data.color);
    out = put_payload(out, (enum cap_payload)record->span_data.payload_type, record->span_data.payload);
    if (record->type == CAP_SPAN_BEGIN && record->result > 0) {
        out = jsonl_literal(out, span_start_q_continues);
        out = put_span_id(out, (uint32_t)record->result);
        *out++ = '"';
    }
    return put_clipped(out, span_start_q_clipped, clipped_of(record));
}

static char *put_span_begin(struct jsonl_state *state, char *out, const struct cap_record *record,
                            int32_t tid)
{
    unsigned step = (record->flags & CAP_FLAG_STEP) >> 4;
    uint64_t ns = jsonl_begin_ns(state, record);
    uint32_t head;
    const char *name = jsonl_string_at(state, record->span_data.name, &head);
    bool replaced = false;

    saw(state, ns);
    out = jsonl_literal(out, begin_span_start);
    out = jsonl_literal(out, span_start_q_id);
    out = put_span_id(out, record->span);
    *out++ = '"';
    out = jsonl_literal(out, span_start_q_parent_id);
    out = put_span_id(out, record->span_data.parent);
    *out++ = '"';
    out = jsonl_literal(out, span_start_q_name);
    out = jsonl_put_name(out, name, CAP_STRING_LENGTH(head), &replaced);
    *out++ = '"';
    out = put_field(out, span_start_start_ns, ns);
    out = jsonl_literal(out, span_start_q_span_kind);
    out =
        put_word(out, &span_kinds[record->span_data.kind < CG_SPAN_KIND_COUNT ? record->span_data.kind : 0]);
    out = jsonl_literal(out, span_start_measured);
    out = put_bool(out, record->flags & CAP_FLAG_MEASURED);
    if (step >= 1 && step <= CG_STEP_COUNT) {
        state->written.steps |= 1u << (step - 1);
        out = jsonl_literal(out, span_start_q_step);
        out = put_word(out, &steps[step - 1]);
    }
    out = put_span_extras(state, out, record, tid);
    out = jsonl_put_name_extras(state, out, record->span_data.name, replaced, span_start_q_name_full,
                                span_start_q_name_raw);
    return jsonl_literal(out, "}\n");
}

/* ended_by: the thread, where it is not the one that opened the span; else 0. */
static char *span_end(char *out, uint32_t span, uint64_t duration_ns, int32_t ended_by,
                      enum jsonl_clipped clipped)
{
    out = jsonl_literal(out, begin_span_end);
    out = jsonl_literal(out, span_end_q_id);
    out = put_span_id(out, span);
    *out++ = '"';
    out = put_field(out, span_end_duration_ns, duration_ns);
    if (ended_by) out = put_field(out, span_end_tid, (uint32_t)ended_by);
    out = put_clipped(out, span_end_q_clipped, clipped);
    return jsonl_literal(out, "}\n");
}

char *jsonl_span_end(char *out, uint32_t span, uint64_t duration_ns, enum jsonl_clipped clipped)
{
    return span_end(out, span, duration_ns, 0, clipped);
}

static char *put_span_end(struct jsonl_state *state, char *out, const struct cap_record *record,
                          int32_t ended_by)
{
    uint64_t begin = jsonl_begin_ns(state, record), end = jsonl_end_ns(state, record);

    saw(state, end);
    out = span_end(out, record->span, end - begin, ended_by, clipped_of(record));
    if (record->type == CAP_SPAN_END && record->flags & CAP_FLAG_CALL_EDGE)
        out = jsonl_call_edge(out, record->span_data.parent, record->span, end - begin);
    return out;
}

/* A span of two calls that may come from two threads: written when it has ended, by the one that ended it. */
static char *put_span(struct jsonl_state *state, char *out, const struct cap_record *record, int32_t tid)
{
    int32_t opened_by = record->result ? record->result : tid;

    out = put_span_begin(state, out, record, opened_by);
    return put_span_end(state, out, record, tid == opened_by ? 0 : tid);
}

char *jsonl_span(struct jsonl_state *state, char *out, const struct cap_record *record, int32_t tid)
{
    if (record->type == CAP_SPAN_BEGIN) return put_span_begin(state, out, record, tid);
    if (record->type == CAP_SPAN_END) return put_span_end(state, out, record, 0);
    return put_span(state, out, record, tid);
}

/* ---- the session's own ---- */

/* The fields of a span that begins with the session up to measured; put_name() of its name is the caller's.
 */
static char *own_span_tail(char *out, bool measured)
{
    out = put_field(out, span_start_start_ns, 0);
    out = jsonl_literal(out, span_start_q_span_kind);
    out = put_word(out, &span_kinds[CG_SPAN_KIND_FUNCTION]);
    out = jsonl_literal(out, span_start_measured);
    return put_bool(out, measured);
}

static char *own_span_head(char *out, uint32_t span)
{
    out = jsonl_literal(out, begin_span_start);
    out = jsonl_literal(out, span_start_q_id);
    out = put_span_id(out, span);
    *out++ = '"';
    return out;
}

char *jsonl_root(char *out, const char *name, size_t length)
{
    out = own_span_head(out, CAP_SPAN_ROOT);
    out = jsonl_literal(out, span_start_name);
    out = jsonl_string(out, name, length);
    out = own_span_tail(out, false);
    out = jsonl_literal(out, span_start_q_source);
    out = put_word(out, &span_sources[CAP_SOURCE_SESSION]);
    return jsonl_literal(out, "}\n");
}

size_t jsonl_region_bound(const struct jsonl_state *state, const struct cap_region *region)
{
    uint32_t head;

    jsonl_string_at(state, region->name, &head);
    return JSONL_LINE_BYTES + 6 * JSONL_NAME_MAX * (2 + (size_t)CAP_ENCLOSING_MAX) +
           8 * (size_t)CAP_STRING_LENGTH(head);
}

static char *put_enclosing(const struct jsonl_state *state, char *out, const struct cap_region *region)
{
    bool replaced;

    if (region->enclosing_count == 0) return out;
    out = jsonl_literal(out, span_start_enclosing);
    *out++ = '[';
    for (uint32_t i = 0; i < region->enclosing_count && i < CAP_ENCLOSING_MAX; i++) {
        uint32_t head;
        const char *name = jsonl_string_at(state, region->enclosing[i], &head);

        if (i > 0) *out++ = ',';
        *out++ = '"';
        out = jsonl_put_name(out, name, CAP_STRING_LENGTH(head), &replaced);
        *out++ = '"';
    }
    *out++ = ']';
    return out;
}

char *jsonl_region(struct jsonl_state *state, char *out, const struct cap_region *region)
{
    unsigned step = region->step >> 4;
    uint32_t head;
    const char *name = jsonl_string_at(state, region->name, &head);
    bool replaced = false;

    if (region->own) return out;
    out = own_span_head(out, CAP_SPAN_REGION);
    out = jsonl_literal(out, span_start_q_parent_id);
    out = put_span_id(out, CAP_SPAN_ROOT);
    *out++ = '"';
    out = jsonl_literal(out, span_start_q_name);
    out = jsonl_put_name(out, name, CAP_STRING_LENGTH(head), &replaced);
    *out++ = '"';
    out = own_span_tail(out, true);
    if (step >= 1 && step <= CG_STEP_COUNT) {
        state->written.steps |= 1u << (step - 1);
        out = jsonl_literal(out, span_start_q_step);
        out = put_word(out, &steps[step - 1]);
    }
    if (region->tid) out = put_field(out, span_start_tid, (uint32_t)region->tid);
    if (region->source < CAP_SPAN_SOURCE_COUNT) {
        out = jsonl_literal(out, span_start_q_source);
        out = put_word(out, &span_sources[region->source]);
    }
    out = put_label(state, out, span_start_q_domain, region->domain);
    out = put_enclosing(state, out, region);
    out = jsonl_put_name_extras(state, out, region->name, replaced, span_start_q_name_full,
                                span_start_q_name_raw);
    return jsonl_literal(out, "}\n");
}
