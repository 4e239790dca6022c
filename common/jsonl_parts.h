/* What the formatters of lines share (jsonl*.c): keys as literals, and the parts that lines of
 * several kinds have. Not for others: the interface is jsonl.h. */
#ifndef CGTRACE_COMMON_JSONL_PARTS_H
#define CGTRACE_COMMON_JSONL_PARTS_H

#include "common/event_table.h"
#include "common/jsonl.h"
#include "common/jsonl_text.h"

enum { JSONL_LINE_BYTES = 1536 }; /* an op and a memory line without their names */

/* Keys as literals, made from the event table: op_bytes is `,"bytes":`, op_q_api is `,"api":"`. */
#define UNUSED __attribute__((unused))
#define KEYS(prefix, id, wire)                                                                               \
    static const char prefix##_##id[] UNUSED = ",\"" wire "\":";                                             \
    static const char prefix##_q_##id[] UNUSED = ",\"" wire "\":\"";

/* begin_op is `{"kind":"op"` and so on. */
#define KIND_BEGIN(suffix, member, wire, fields, extras, meaning)                                            \
    static const char begin_##member[] UNUSED = "{\"kind\":\"" wire "\"";
CG_KINDS(KIND_BEGIN)

static inline char *put_text(char *out, const char *text)
{
    return jsonl_bytes(out, text, strlen(text));
}

/* A word of a table: copied whole, so that none of what C does with text of unknown length is called. */
struct word {
    char text[16];
    uint8_t length;
};
#define TABLE_WORD(suffix, wire)            {wire, sizeof(wire) - 1},
#define TABLE_ENUM_WORD(name, suffix, wire) TABLE_WORD(suffix, wire)

/* With the quote behind it. */
static inline char *put_word(char *out, const struct word *word)
{
    memcpy(out, word->text, sizeof word->text);
    out += word->length;
    *out++ = '"';
    return out;
}

static inline char *put_bool(char *out, bool value)
{
    return value ? jsonl_literal(out, "true") : jsonl_literal(out, "false");
}

static inline char *put_span_id(char *out, uint32_t span)
{
    out = jsonl_literal(out, "span:");
    return jsonl_u64(out, span);
}

static inline void saw(struct jsonl_state *state, uint64_t ns)
{
    if (ns > state->written.latest_ns) state->written.latest_ns = ns;
}

static inline char *put_number(char *out, const char *key, size_t key_length, uint64_t value)
{
    out = jsonl_bytes(out, key, key_length);
    return jsonl_u64(out, value);
}
#define put_field(out, key, value) put_number((out), (key), sizeof(key) - 1, (value))

/* Host times of a record: those of the types that may hold them in nanoseconds, and of all others. */
static inline bool jsonl_in_ns(const struct cap_record *record)
{
    return (record->type == CAP_API_OP || record->type == CAP_SPAN || record->type == CAP_SAMPLE) &&
           record->flags & CAP_FLAG_NS;
}
static inline uint64_t jsonl_begin_ns(const struct jsonl_state *state, const struct cap_record *record)
{
    return jsonl_in_ns(record) ? record->begin : cap_ns(&state->clock, record->begin);
}
static inline uint64_t jsonl_end_ns(const struct jsonl_state *state, const struct cap_record *record)
{
    return jsonl_in_ns(record) ? record->begin + record->ticks
                               : cap_ns(&state->clock, record->begin + record->ticks);
}

/* A name as it stands in a line; over JSONL_NAME_MAX bytes: a prefix, '#' and the XXH64 of the whole. */
char *jsonl_put_name(char *out, const char *name, size_t length, bool *replaced);
/* The extra fields of a name that its line does not hold exactly. The keys are those of the line's kind. */
char *jsonl_put_name_extras(struct jsonl_state *state, char *out, uint32_t number, bool replaced,
                            const char *full_key, const char *raw_key);

/* A device by its number: cuda:0, or cpu. */
char *jsonl_put_ordinal(struct jsonl_state *state, char *out, uint8_t device);
/* jsonl_device.c: the line of work on a device, timed by events, and of a sample of its memory. */
char *jsonl_interval(struct jsonl_state *state, char *out, const struct cap_record *record);
char *jsonl_sample(struct jsonl_state *state, char *out, const struct cap_record *record);
/* jsonl_span.c: the line of a begin or an end, or both. */
char *jsonl_span(struct jsonl_state *state, char *out, const struct cap_record *record, int32_t tid);

/* ---- jsonl_api.c: what the program says of itself through cgtrace.h ---- */

static inline bool jsonl_is_api(unsigned type)
{
    return type >= CAP_API_OP && type <= CAP_DATA_EDGE;
}
size_t jsonl_api_bound(const struct jsonl_state *state, const struct cap_record *record);
char *jsonl_api_record(struct jsonl_state *state, char *out, const struct cap_record *record, int32_t tid);
/* A call edge: the line, whole. */
char *jsonl_call_edge(char *out, uint32_t caller, uint32_t callee, uint64_t duration_ns);
/* A device by the string number of its name; 0 is host memory. */
char *jsonl_put_device(struct jsonl_state *state, char *out, uint32_t number);

#endif
