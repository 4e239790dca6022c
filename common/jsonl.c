#include "common/jsonl.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "common/event_table.h"
#include "common/jsonl_parts.h"
#include "common/jsonl_stack.h"

#define OP_KEY(id, wire, type, presence, argument, meaning)     KEYS(op, id, wire)
#define MEMORY_KEY(id, wire, type, presence, argument, meaning) KEYS(memory, id, wire)
CG_OP_FIELDS(OP_KEY)
CG_OP_EXTRAS(OP_KEY)
CG_OP_GRAPH_EXTRAS(OP_KEY)
CG_MEMORY_FIELDS(MEMORY_KEY)
CG_MEMORY_EXTRAS(MEMORY_KEY)

static const struct word memory_kinds[] = {CAP_MEMORY_KINDS(TABLE_WORD)};
static const struct word end_reasons[] = {CAP_END_REASONS(TABLE_WORD)};
static const struct word actions[] = {CG_ACTION_VALUES(TABLE_ENUM_WORD)};
static const struct word categories[] = {CG_CATEGORY_VALUES(TABLE_ENUM_WORD)};
#define NODE_TYPE(wire) wire,
static const char *const node_types[] = {CAP_NODE_TYPES(NODE_TYPE)};

/* doc/spec/trace.md 13.4: what a step says about the storages made in it; index 0: no step. */
static const uint8_t step_category[] = {CG_CATEGORY_OTHER, [1 + CG_STEP_FORWARD] = CG_CATEGORY_ACTIVATION,
                                        [1 + CG_STEP_BACKWARD] = CG_CATEGORY_GRADIENT,
                                        [1 + CG_STEP_OPTIMIZER] = CG_CATEGORY_OPTIMIZER};

const char *jsonl_string_at(const struct jsonl_state *state, uint32_t number, uint32_t *head)
{
    uint64_t offset = (uint64_t)number * 8;

    *head = 0;
    if (number == 0 || offset + 4 > state->strings_bytes) return "";
    memcpy(head, state->strings + offset, 4);
    if (offset + 4 + CAP_STRING_LENGTH(*head) > state->strings_bytes) {
        *head = 0;
        return "";
    }
    return state->strings + offset + 4;
}

static bool identifier(const char *name, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        char c = name[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'))
            return false;
    }
    return length > 0 && length < 200;
}

/* Length without _ptsz or _ptds and without _v2, _v3 ... */
static size_t base_length(const char *name, size_t length)
{
    if (length > 5 && (!memcmp(name + length - 5, "_ptsz", 5) || !memcmp(name + length - 5, "_ptds", 5)))
        length -= 5;
    if (length > 3 && name[length - 3] == '_' && name[length - 2] == 'v' && name[length - 1] >= '2' &&
        name[length - 1] <= '9')
        length -= 3;
    return length;
}

bool jsonl_apis(struct jsonl_api *apis, uint32_t count, uint32_t first, const char *strings, uint64_t bytes)
{
    static const char unknown[] = "unknown";
    uint64_t offset = (uint64_t)first * 8;

    for (uint32_t i = 0; i < count; i++) {
        uint32_t head;
        size_t length;

        if (offset + 4 > bytes) return false;
        memcpy(&head, strings + offset, 4);
        length = CAP_STRING_LENGTH(head);
        if (length > CAP_STRING_MAX || offset + 4 + length > bytes) return false;
        apis[i] = (struct jsonl_api){unknown, sizeof unknown - 1, sizeof unknown - 1};
        if (identifier(strings + offset + 4, length))
            apis[i] = (struct jsonl_api){strings + offset + 4, (uint16_t)length,
                                         (uint16_t)base_length(strings + offset + 4, length)};
        offset += CAP_STRING_BYTES(length);
    }
    return true;
}

/* ---- parts of lines ---- */

char *jsonl_put_ordinal(struct jsonl_state *state, char *out, uint8_t device)
{
    if (device == CAP_NO_DEVICE) return jsonl_literal(out, "cpu");
    if (!state->written.first_device) state->written.first_device = device + 1u;
    out = jsonl_literal(out, "cuda:");
    return jsonl_u64(out, device);
}

static const struct jsonl_api *api_of(const struct jsonl_state *state, uint16_t api)
{
    static const struct jsonl_api unknown = {"unknown", 7, 7};

    return api < state->api_count ? &state->apis[api] : &unknown;
}

char *jsonl_put_name(char *out, const char *name, size_t length, bool *replaced)
{
    size_t prefix;

    if (length <= JSONL_NAME_MAX) return jsonl_text(out, name, length, replaced);
    prefix = jsonl_prefix(name, length, JSONL_NAME_MAX - 17);
    out = jsonl_text(out, name, prefix, replaced);
    *out++ = '#';
    for (uint64_t hash = XXH64(name, length, 0), i = 0; i < 16; i++, hash <<= 4)
        *out++ = "0123456789abcdef"[hash >> 60];
    return out;
}

static bool first_whole(struct jsonl_state *state, uint32_t number)
{
    uint64_t bit = UINT64_C(1) << (number & 63);

    if (number >= state->whole_limit || (state->whole[number / 64] & bit)) return false;
    state->whole[number / 64] |= bit;
    return true;
}

char *jsonl_put_name_extras(struct jsonl_state *state, char *out, uint32_t number, bool replaced,
                            const char *full_key, const char *raw_key)
{
    uint32_t head;
    const char *name;
    size_t length;

    if (!number) return out;
    name = jsonl_string_at(state, number, &head);
    length = CAP_STRING_LENGTH(head);
    if (length > JSONL_NAME_MAX && first_whole(state, number)) {
        out = put_text(out, full_key);
        out = jsonl_text(out, name, length, &replaced);
        *out++ = '"';
    } else if (length > JSONL_NAME_MAX) {
        return out;
    }
    if (replaced) {
        out = put_text(out, raw_key);
        out = jsonl_hex_bytes(out, name, length);
        *out++ = '"';
    }
    return out;
}

static char *put_triple(char *out, uint64_t x, uint64_t y, uint64_t z)
{
    *out++ = '[';
    out = jsonl_u64(out, x);
    *out++ = ',';
    out = jsonl_u64(out, y);
    *out++ = ',';
    out = jsonl_u64(out, z);
    *out++ = ']';
    return out;
}

static char *put_stream(const struct jsonl_state *state, char *out, uint32_t stream)
{
    uint32_t head;
    const char *name;
    bool replaced;

    if (!stream) return out;
    name = jsonl_string_at(state, stream, &head);
    out = jsonl_literal(out, op_q_stream_id);
    out = jsonl_text(out, name, jsonl_prefix(name, CAP_STRING_LENGTH(head), JSONL_NAME_MAX), &replaced);
    *out++ = '"';
    return out;
}

/* ---- op ---- */

/* The fields of the format. name: of a launch, else 0 and the entry point gives it. */
static char *op_head(struct jsonl_state *state, char *out, const struct cap_record *record, uint32_t name,
                     bool *replaced)
{
    const struct jsonl_api *api = api_of(state, record->api);
    uint64_t begin = cap_ns(&state->clock, record->begin);
    uint64_t end = cap_ns(&state->clock, record->begin + record->ticks);
    uint32_t head = 0;
    const char *text = name ? jsonl_string_at(state, name, &head) : "";

    state->written.op_lines++;
    saw(state, end);
    out = jsonl_literal(out, begin_op);
    out = jsonl_literal(out, op_q_span_id);
    out = put_span_id(out, record->span);
    *out++ = '"';
    out = jsonl_literal(out, op_q_op_name);
    if (CAP_STRING_LENGTH(head) > 0)
        out = jsonl_put_name(out, text, CAP_STRING_LENGTH(head), replaced);
    else
        out = jsonl_bytes(out, api->name, api->base_length);
    *out++ = '"';
    out = jsonl_literal(out, op_inputs);
    out = jsonl_literal(out, "[]");
    out = jsonl_literal(out, op_shape);
    out = jsonl_literal(out, "[]");
    out = jsonl_literal(out, op_q_dtype);
    out = jsonl_literal(out, "unknown\"");
    out = jsonl_literal(out, op_q_device);
    out = jsonl_put_ordinal(state, out, record->device);
    *out++ = '"';
    out = put_field(out, op_duration_ns, end - begin);
    out = put_field(out, op_timestamp_ns, begin);
    return put_field(out, op_input_dense_bytes, 0);
}

/* The extra fields that every op has. */
static char *op_extras(struct jsonl_state *state, char *out, const struct cap_record *record, int32_t tid)
{
    const struct jsonl_api *api = api_of(state, record->api);

    out = put_field(out, op_tid, (uint32_t)tid);
    out = jsonl_literal(out, op_q_api);
    out = jsonl_bytes(out, api->name, api->length);
    *out++ = '"';
    return out;
}

static char *op_end(struct jsonl_state *state, char *out, const struct cap_record *record)
{
    if (record->flags & CAP_FLAG_CAPTURED) {
        out = jsonl_literal(out, op_captured);
        out = jsonl_literal(out, "true");
    }
    if (record->result) out = put_field(out, op_error, (uint32_t)record->result);
    out = jsonl_stack(state, out, jsonl_stack_of(record));
    return jsonl_literal(out, "}\n");
}

static char *put_call(struct jsonl_state *state, char *out, const struct cap_record *record, int32_t tid)
{
    out = op_head(state, out, record, 0, NULL);
    out = op_extras(state, out, record, tid);
    out = put_stream(state, out, record->call.stream);
    if (record->call.bytes) out = put_field(out, op_bytes, record->call.bytes);
    return op_end(state, out, record);
}

/* Work of a device that got no pair of events, counted where its call is written. */
static void count_skipped(struct jsonl_state *state, const struct cap_record *record)
{
    if (record->flags & CAP_FLAG_SKIPPED && !(record->flags & CAP_FLAG_CAPTURED) && !record->result)
        state->written.skipped++;
}

static char *put_copy(struct jsonl_state *state, char *out, const struct cap_record *record,
                      uint64_t correlation, int32_t tid)
{
    count_skipped(state, record);
    out = op_head(state, out, record, 0, NULL);
    out = op_extras(state, out, record, tid);
    out = put_field(out, op_correlation, correlation);
    out = put_stream(state, out, record->copy.stream);
    out = put_field(out, op_bytes, record->copy.bytes);
    return op_end(state, out, record);
}

static char *put_graph_id(char *out, uint32_t number)
{
    out = jsonl_literal(out, op_q_graph);
    out = jsonl_literal(out, "graph:");
    out = jsonl_u64(out, number);
    *out++ = '"';
    return out;
}

/* One member of an object: a key that is there already, and the count. */
static char *put_count(char *out, uint64_t word)
{
    out = jsonl_literal(out, "\":");
    return jsonl_u64(out, (uint32_t)word);
}

/* What a graph is made of: words of its nodes, then of its kernels (CAP_GRAPH). */
static char *put_made_of(const struct jsonl_state *state, char *out, const struct cap_record *record,
                         size_t types, size_t kernels, uint32_t left_out)
{
    size_t count;
    const uint64_t *words = cap_words(record, &count);

    if (types > count) types = count;
    if (kernels > count - types) kernels = count - types;
    out = jsonl_literal(out, op_nodes);
    *out++ = '{';
    for (size_t i = 0; i < types; i++) {
        uint64_t type = words[i] >> 32;
        if (i) *out++ = ',';
        *out++ = '"';
        out = put_text(out, node_types[type < CAP_NODE_TYPE_COUNT ? type : CAP_NODE_TYPE_COUNT - 1]);
        out = put_count(out, words[i]);
    }
    *out++ = '}';
    out = jsonl_literal(out, op_kernels);
    *out++ = '{';
    for (size_t i = 0; i < kernels; i++) {
        uint32_t head;
        bool replaced;
        const char *name = jsonl_string_at(state, (uint32_t)(words[types + i] >> 32), &head);
        if (i) *out++ = ',';
        *out++ = '"';
        out = jsonl_put_name(out, name, CAP_STRING_LENGTH(head), &replaced);
        out = put_count(out, words[types + i]);
    }
    *out++ = '}';
    if (left_out) out = put_field(out, op_kernels_left_out, left_out);
    return out;
}

static char *put_launch(struct jsonl_state *state, char *out, const struct cap_record *record,
                        uint64_t correlation, int32_t tid)
{
    const uint32_t *grid = record->launch.grid;
    const uint16_t *block = record->launch.block;
    bool replaced = false;

    count_skipped(state, record);
    out = op_head(state, out, record, record->launch.name, &replaced);
    out = op_extras(state, out, record, tid);
    out = put_field(out, op_correlation, correlation);
    /* The launch of a graph has no shape; one with a zero in it is refused, and that is the reason. */
    if (record->flags & CAP_FLAG_GRAPH) {
        if (record->launch.shared) out = put_graph_id(out, record->launch.shared);
        if (record->slots > 1) out = put_made_of(state, out, record, grid[0], grid[1], grid[2]);
    } else if (grid[0] | grid[1] | grid[2] | block[0] | block[1] | block[2]) {
        out = jsonl_literal(out, op_grid);
        out = put_triple(out, grid[0], grid[1], grid[2]);
        out = jsonl_literal(out, op_block);
        out = put_triple(out, block[0], block[1], block[2]);
        out = put_field(out, op_shared_bytes, record->launch.shared);
    }
    out = put_stream(state, out, record->launch.stream);
    out = jsonl_put_name_extras(state, out, record->launch.name, replaced, op_q_name_full, op_q_name_raw);
    return op_end(state, out, record);
}

/* ---- graphs ---- */

static char *put_graph(struct jsonl_state *state, char *out, const struct cap_record *record, int32_t tid)
{
    out = op_head(state, out, record, 0, NULL);
    out = op_extras(state, out, record, tid);
    out = put_stream(state, out, record->graph.stream);
    out = put_graph_id(out, record->graph.number);
    out = put_made_of(state, out, record, record->graph.types, record->graph.kernels,
                      record->graph.kernels_left_out);
    return op_end(state, out, record);
}

/* ---- memory ---- */

/* What not every one of them has. */
static char *put_storage_marks(char *out, const struct cap_record *record, bool alloc)
{
    unsigned kind = record->flags & CAP_FLAG_DETAIL, reason = (record->flags & CAP_FLAG_REASON) >> 8;

    if (kind < CAP_MEMORY_KIND_COUNT) {
        out = jsonl_literal(out, memory_q_memory_kind);
        out = put_word(out, &memory_kinds[kind]);
    }
    if (!alloc && reason > 0 && reason < CAP_END_REASON_COUNT) {
        out = jsonl_literal(out, memory_q_end_reason);
        out = put_word(out, &end_reasons[reason]);
    }
    if (record->flags & CAP_FLAG_PREEXISTING) {
        out = jsonl_literal(out, memory_preexisting);
        out = jsonl_literal(out, "true");
    }
    return out;
}

static char *put_storage(struct jsonl_state *state, char *out, const struct cap_record *record, int32_t tid)
{
    const struct jsonl_api *api = api_of(state, record->api);
    bool alloc = record->type == CAP_ALLOC;
    /* A storage lives from the return of the call that makes it to the entry into the call that frees it. */
    uint64_t ns = cap_ns(&state->clock, record->begin + (alloc ? record->ticks : 0));
    unsigned step = (record->flags & CAP_FLAG_STEP) >> 4;

    state->written.memory_lines++;
    saw(state, ns);
    out = jsonl_literal(out, begin_memory);
    out = put_field(out, memory_timestamp_ns, ns);
    out = jsonl_literal(out, memory_q_storage_id);
    out = jsonl_literal(out, "storage:");
    out = jsonl_u64(out, record->memory.storage);
    *out++ = '"';
    out = jsonl_literal(out, memory_q_tensor_id);
    out = jsonl_literal(out, "storage:");
    out = jsonl_u64(out, record->memory.storage);
    *out++ = '"';
    out = jsonl_literal(out, memory_q_span_id);
    out = put_span_id(out, record->span);
    *out++ = '"';
    if (!(record->flags & CAP_FLAG_NO_CALL)) {
        out = jsonl_literal(out, memory_q_op_name);
        out = jsonl_bytes(out, api->name, api->base_length);
        *out++ = '"';
    }
    out = jsonl_literal(out, memory_q_device);
    out = jsonl_put_ordinal(state, out, record->device);
    *out++ = '"';
    out = put_field(out, memory_bytes, record->memory.bytes);
    out = jsonl_literal(out, memory_q_action);
    out = put_word(out, &actions[alloc ? CG_ACTION_ALLOC : CG_ACTION_FREE]);
    out = jsonl_literal(out, memory_shape);
    out = jsonl_literal(out, "[]");
    out = jsonl_literal(out, memory_q_dtype);
    out = jsonl_literal(out, "unknown\"");
    out = jsonl_literal(out, memory_q_category);
    out = put_word(out, &categories[step < sizeof step_category ? step_category[step] : CG_CATEGORY_OTHER]);
    out = put_field(out, memory_tid, (uint32_t)tid);
    out = jsonl_literal(out, memory_q_api);
    out = jsonl_bytes(out, api->name, api->length);
    *out++ = '"';
    out = jsonl_literal(out, memory_q_address);
    out = jsonl_hex(out, record->memory.address);
    *out++ = '"';
    out = put_storage_marks(out, record, alloc);
    out = jsonl_stack(state, out, record->memory.stack);
    return jsonl_literal(out, "}\n");
}

static char *put_memory(struct jsonl_state *state, char *out, const struct cap_record *record, int32_t tid)
{
    if (!(record->flags & CAP_FLAG_NO_CALL)) {
        out = op_head(state, out, record, 0, NULL);
        out = op_extras(state, out, record, tid);
        out = put_stream(state, out, record->memory.stream);
        if (record->type == CAP_ALLOC && record->result)
            out = put_field(out, op_requested_bytes, record->memory.bytes);
        else if (!(record->flags & CAP_FLAG_NO_STORAGE))
            out = put_field(out, op_bytes, record->memory.bytes);
        out = op_end(state, out, record);
    }
    return record->flags & CAP_FLAG_NO_STORAGE ? out : put_storage(state, out, record, tid);
}

/* ---- the record ---- */

size_t jsonl_bound(const struct jsonl_state *state, const struct cap_record *record)
{
    uint32_t head = 0;

    if (jsonl_is_api(record->type)) return jsonl_api_bound(state, record);
    if (record->type == CAP_LAUNCH)
        jsonl_string_at(state, record->launch.name, &head);
    else if (record->type == CAP_SPAN_BEGIN || record->type == CAP_SPAN)
        jsonl_string_at(state, record->span_data.name, &head);
    else if (record->type == CAP_INTERVAL)
        jsonl_string_at(state, (uint32_t)record->ticks, &head);
    if (record->type == CAP_GRAPH || (record->type == CAP_LAUNCH && record->slots > 1))
        /* Each word: a name and a number. */
        return JSONL_LINE_BYTES + (size_t)record->slots * CAP_SLOT_WORDS * (6 * JSONL_NAME_MAX + 32) +
               jsonl_stack_bound(state, jsonl_stack_of(record));
    /* The name at most shortened (6 bytes for each), whole once (6 more) and its bytes (2 more); and a
     * stream, or a domain and a category. */
    return JSONL_LINE_BYTES + 6 * JSONL_NAME_MAX * 3 + 8 * (size_t)CAP_STRING_LENGTH(head) +
           jsonl_stack_bound(state, jsonl_stack_of(record));
}

char *jsonl_record(struct jsonl_state *state, char *out, const struct cap_record *record, uint32_t ring,
                   uint64_t slot, int32_t tid)
{
    if (record->type == CAP_PAD || record->type >= CAP_TYPE_COUNT) return out;
    state->written.records[record->type]++;
    switch ((enum cap_type)record->type) {
    case CAP_CALL:
        return put_call(state, out, record, tid);
    case CAP_LAUNCH:
        return put_launch(state, out, record, cap_correlation(ring, slot), tid);
    case CAP_GRAPH:
        return put_graph(state, out, record, tid);
    case CAP_COPY:
        return put_copy(state, out, record, cap_correlation(ring, slot), tid);
    case CAP_ALLOC:
    case CAP_FREE:
    case CAP_END:
        return put_memory(state, out, record, tid);
    case CAP_SPAN_BEGIN:
    case CAP_SPAN_END:
    case CAP_SPAN:
        return jsonl_span(state, out, record, tid);
    case CAP_SAMPLE:
        return jsonl_sample(state, out, record);
    case CAP_INTERVAL:
        return jsonl_interval(state, out, record);
    case CAP_PAD:
    case CAP_TYPE_COUNT:
        return out;
    default:
        return jsonl_api_record(state, out, record, tid);
    }
}
