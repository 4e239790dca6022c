/* Lines of what the program says of itself through cgtrace.h: operations, tensors, statistics, storages,
 * intervals, gradients and edges. */
#include <math.h>

#include "common/dense.h"
#include "common/json_doc.h"
#include "common/jsonl_parts.h"
#include "common/utf8.h"

#define OP_KEY(id, wire, type, presence, argument, meaning)              KEYS(op, id, wire)
#define TENSOR_KEY(id, wire, type, presence, argument, meaning)          KEYS(tensor, id, wire)
#define STATS_KEY(id, wire, type, presence, argument, meaning)           KEYS(tensor_stats, id, wire)
#define MEMORY_KEY(id, wire, type, presence, argument, meaning)          KEYS(memory, id, wire)
#define DEVICE_INTERVAL_KEY(id, wire, type, presence, argument, meaning) KEYS(device_interval, id, wire)
#define GRADIENT_KEY(id, wire, type, presence, argument, meaning)        KEYS(gradient, id, wire)
#define EDGE_KEY(id, wire, type, presence, argument, meaning)            KEYS(edge, id, wire)
CG_OP_FIELDS(OP_KEY)
CG_OP_EXTRAS(OP_KEY)
CG_TENSOR_FIELDS(TENSOR_KEY)
CG_TENSOR_STATS_FIELDS(STATS_KEY)
CG_MEMORY_FIELDS(MEMORY_KEY)
CG_MEMORY_EXTRAS(MEMORY_KEY)
CG_DEVICE_INTERVAL_FIELDS(DEVICE_INTERVAL_KEY)
CG_DEVICE_INTERVAL_EXTRAS(DEVICE_INTERVAL_KEY)
CG_GRADIENT_FIELDS(GRADIENT_KEY)
CG_EDGE_FIELDS(EDGE_KEY)

enum {
    TEXTS_MAX = 6,      /* texts of one line beside its name */
    WORD_BYTES = 32,    /* one word of a list: "tensor:" and 20 digits in quotes, and a comma */
    FRAME_BYTES = 1024, /* keys and numbers of one line */
};

size_t jsonl_api_bound(const struct jsonl_state *state, const struct cap_record *record)
{
    uint32_t head = 0;
    size_t words;

    cap_words(record, &words);
    if (record->type == CAP_API_OP) jsonl_string_at(state, record->api_op.name, &head);
    /* A name: shortened (6 bytes for each), whole once (6 more), its bytes (2 more). */
    return FRAME_BYTES + TEXTS_MAX * 6 * JSONL_NAME_MAX + 6 * JSONL_NAME_MAX + words * WORD_BYTES +
           8 * (size_t)CAP_STRING_LENGTH(head);
}

/* ---- parts ---- */

/* The text of this number, at most JSONL_NAME_MAX bytes of it, and the quote behind it. */
static char *put_known(const struct jsonl_state *state, char *out, uint32_t number)
{
    uint32_t head;
    const char *text = jsonl_string_at(state, number, &head);
    bool replaced;

    out = jsonl_text(out, text, jsonl_prefix(text, CAP_STRING_LENGTH(head), JSONL_NAME_MAX), &replaced);
    *out++ = '"';
    return out;
}

static char *put_dtype(const struct jsonl_state *state, char *out, uint32_t number)
{
    return number ? put_known(state, out, number) : jsonl_literal(out, "unknown\"");
}

/* The first device of a session is told in its first line: cuda:N as CUDA numbers them. */
static void saw_device(struct jsonl_state *state, const char *text, size_t length)
{
    uint32_t ordinal = 0;

    if (state->written.first_device || length < 6 || length > 8 || memcmp(text, "cuda:", 5) != 0) return;
    for (size_t i = 5; i < length; i++) {
        if (text[i] < '0' || text[i] > '9') return;
        ordinal = ordinal * 10 + (uint32_t)(text[i] - '0');
    }
    state->written.first_device = ordinal + 1;
}

char *jsonl_put_device(struct jsonl_state *state, char *out, uint32_t number)
{
    uint32_t head;
    const char *text = jsonl_string_at(state, number, &head);
    bool replaced;

    if (!CAP_STRING_LENGTH(head)) return jsonl_literal(out, "cpu");
    saw_device(state, text, CAP_STRING_LENGTH(head));
    return jsonl_text(out, text, jsonl_prefix(text, CAP_STRING_LENGTH(head), JSONL_NAME_MAX), &replaced);
}

static char *put_device(struct jsonl_state *state, char *out, uint32_t number)
{
    out = jsonl_put_device(state, out, number);
    *out++ = '"';
    return out;
}

static char *put_span(char *out, uint32_t span)
{
    out = put_span_id(out, span);
    *out++ = '"';
    return out;
}

static char *put_tensor_id(char *out, uint64_t tensor)
{
    out = jsonl_literal(out, "tensor:");
    out = jsonl_u64(out, tensor);
    *out++ = '"';
    return out;
}

static char *put_double(char *out, double value)
{
    char text[33];

    return jsonl_bytes(out, text, json_double_text(text, value));
}

/* Words of a record from `first` on, at most `count`: no more than there are, whatever a damaged file says.
 */
static const uint64_t *take_words(const struct cap_record *record, size_t first, size_t *count)
{
    size_t have;
    const uint64_t *words = cap_words(record, &have);

    if (first > have) first = have;
    if (*count > have - first) *count = have - first;
    return words + first;
}

static char *put_shape(char *out, const uint64_t *shape, size_t rank)
{
    *out++ = '[';
    for (size_t i = 0; i < rank; i++) {
        if (i > 0) *out++ = ',';
        out = jsonl_u64(out, shape[i]);
    }
    *out++ = ']';
    return out;
}

static char *put_category(char *out, const struct cap_record *record)
{
    unsigned category = record->flags & CAP_FLAG_DETAIL;

    out = put_text(out, cg_name_CATEGORY[category < CG_CATEGORY_COUNT ? category : CG_CATEGORY_OTHER]);
    *out++ = '"';
    return out;
}

/* doc/spec/trace.md 8. */
static bool footprint(const struct jsonl_state *state, const struct cap_record *record, uint64_t given,
                      const uint64_t *shape, size_t rank, uint32_t dtype, uint64_t *bytes)
{
    uint32_t head;
    const char *text = jsonl_string_at(state, dtype, &head);

    *bytes = given;
    return record->flags & CAP_FLAG_HAS_BYTES ||
           dense_bytes(shape, rank, text, CAP_STRING_LENGTH(head), bytes);
}

/* ---- lines ---- */

static char *put_op(struct jsonl_state *state, char *out, const struct cap_record *record, int32_t tid)
{
    size_t one = 1, rank = record->api, count = record->api_op.inputs;
    const uint64_t *input_bytes = take_words(record, 0, &one), *shape = take_words(record, 1, &rank);
    const uint64_t *inputs = take_words(record, 1 + rank, &count);
    uint64_t begin = jsonl_begin_ns(state, record), end = jsonl_end_ns(state, record), bytes;
    uint32_t head;
    const char *name = jsonl_string_at(state, record->api_op.name, &head);
    bool replaced = false;

    state->written.op_lines++;
    saw(state, end);
    out = jsonl_literal(out, begin_op);
    out = jsonl_literal(out, op_q_span_id);
    out = put_span(out, record->span);
    out = jsonl_literal(out, op_q_op_name);
    out = jsonl_put_name(out, name, CAP_STRING_LENGTH(head), &replaced);
    *out++ = '"';
    out = jsonl_literal(out, op_inputs);
    *out++ = '[';
    for (size_t i = 0; i < count; i++) {
        if (i > 0) *out++ = ',';
        *out++ = '"';
        out = put_tensor_id(out, inputs[i]);
    }
    *out++ = ']';
    if (record->api_op.output) {
        out = jsonl_literal(out, op_q_output);
        out = put_tensor_id(out, record->api_op.output);
    }
    out = jsonl_literal(out, op_shape);
    out = put_shape(out, shape, rank);
    out = jsonl_literal(out, op_q_dtype);
    out = put_dtype(state, out, record->api_op.dtype);
    out = jsonl_literal(out, op_q_device);
    out = put_device(state, out, record->api_op.device);
    out = put_field(out, op_duration_ns, end - begin);
    out = put_field(out, op_timestamp_ns, begin);
    if (footprint(state, record, record->api_op.output_bytes, shape, rank, record->api_op.dtype, &bytes))
        out = put_field(out, op_output_dense_bytes, bytes);
    out = put_field(out, op_input_dense_bytes, one ? *input_bytes : 0);
    out = put_field(out, op_tid, (uint32_t)tid);
    out = jsonl_put_name_extras(state, out, record->api_op.name, replaced, op_q_name_full, op_q_name_raw);
    return jsonl_literal(out, "}\n");
}

static char *put_tensor(struct jsonl_state *state, char *out, const struct cap_record *record)
{
    size_t rank = record->api;
    const uint64_t *shape = take_words(record, 0, &rank);
    uint64_t bytes;

    out = jsonl_literal(out, begin_tensor);
    out = jsonl_literal(out, tensor_q_span_id);
    out = put_span(out, record->span);
    out = jsonl_literal(out, tensor_q_tensor_id);
    out = put_tensor_id(out, record->tensor.tensor);
    if (record->tensor.label) {
        out = jsonl_literal(out, tensor_q_label);
        out = put_known(state, out, record->tensor.label);
    }
    out = jsonl_literal(out, tensor_shape);
    out = put_shape(out, shape, rank);
    out = jsonl_literal(out, tensor_q_dtype);
    out = put_dtype(state, out, record->tensor.dtype);
    out = jsonl_literal(out, tensor_q_device);
    out = put_device(state, out, record->tensor.device);
    out = jsonl_literal(out, tensor_requires_grad);
    out = put_text(out, record->flags & CAP_FLAG_REQUIRES_GRAD ? "true" : "false");
    if (footprint(state, record, record->tensor.bytes, shape, rank, record->tensor.dtype, &bytes))
        out = put_field(out, tensor_dense_bytes, bytes);
    out = jsonl_literal(out, tensor_q_category);
    out = put_category(out, record);
    return jsonl_literal(out, "}\n");
}

/* The numbers of one line: elements, those that are not finite, rms, abs_max, mean. */
struct stats {
    uint64_t elements, non_finite;
    double rms, abs_max, mean;
};

static char *put_stats(struct jsonl_state *state, char *out, const struct cap_record *record, uint32_t label,
                       const uint64_t *shape, size_t rank, uint32_t dtype, const struct stats *stats)
{
    out = jsonl_literal(out, begin_tensor_stats);
    out = jsonl_literal(out, tensor_stats_q_span_id);
    out = put_span(out, record->span);
    out = jsonl_literal(out, tensor_stats_q_label);
    out = put_known(state, out, label);
    out = jsonl_literal(out, tensor_stats_shape);
    out = put_shape(out, shape, rank);
    out = jsonl_literal(out, tensor_stats_q_dtype);
    out = record->type == CAP_SCALAR ? jsonl_literal(out, "f64\"") : put_dtype(state, out, dtype);
    out = put_field(out, tensor_stats_elements, stats->elements);
    out = put_field(out, tensor_stats_non_finite, stats->non_finite);
    out = jsonl_literal(out, tensor_stats_rms);
    out = put_double(out, stats->rms);
    out = jsonl_literal(out, tensor_stats_abs_max);
    out = put_double(out, stats->abs_max);
    out = jsonl_literal(out, tensor_stats_mean);
    out = put_double(out, stats->mean);
    return jsonl_literal(out, "}\n");
}

/* Readers refuse the whole file for one such line, so what a damaged record says is not written. */
static bool stats_valid(const struct jsonl_state *state, uint32_t label, const struct stats *stats,
                        const uint64_t *shape, size_t rank)
{
    uint64_t product = 1;
    uint32_t head;
    const char *text = jsonl_string_at(state, label, &head);

    for (size_t i = 0; i < rank; i++)
        if (__builtin_mul_overflow(product, shape[i], &product)) return false;
    return !utf8_blank(text, CAP_STRING_LENGTH(head)) && product == stats->elements &&
           stats->non_finite <= stats->elements && isfinite(stats->rms) && isfinite(stats->abs_max) &&
           isfinite(stats->mean) && stats->rms >= 0 && stats->abs_max >= 0;
}

static char *put_tensor_stats(struct jsonl_state *state, char *out, const struct cap_record *record)
{
    struct stats stats = {
        .elements = record->stats.elements, .non_finite = record->stats.non_finite, .rms = record->stats.rms};
    size_t two = 2, rank = record->api;
    const uint64_t *numbers = take_words(record, 0, &two), *shape = take_words(record, 2, &rank);

    if (two < 2 || rank < record->api) return out;
    memcpy(&stats.abs_max, &numbers[0], sizeof stats.abs_max);
    memcpy(&stats.mean, &numbers[1], sizeof stats.mean);
    if (!stats_valid(state, record->stats.label, &stats, shape, rank)) return out;
    return put_stats(state, out, record, record->stats.label, shape, rank, record->stats.dtype, &stats);
}

/* doc/spec/trace.md 13.4. */
static char *put_scalar(struct jsonl_state *state, char *out, const struct cap_record *record)
{
    double value = record->scalar.value;
    struct stats stats = {1, 1, 0, 0, 0};

    if (isfinite(value)) stats = (struct stats){1, 0, fabs(value), fabs(value), value};
    if (!stats_valid(state, record->scalar.label, &stats, NULL, 0)) return out;
    return put_stats(state, out, record, record->scalar.label, NULL, 0, 0, &stats);
}

static char *put_storage(struct jsonl_state *state, char *out, const struct cap_record *record, int32_t tid)
{
    size_t rank = record->type == CAP_API_ALLOC ? record->api : 0;
    const uint64_t *shape = take_words(record, 0, &rank);
    uint64_t ns = cap_ns(&state->clock, record->begin);

    state->written.memory_lines++;
    saw(state, ns);
    out = jsonl_literal(out, begin_memory);
    out = put_field(out, memory_timestamp_ns, ns);
    out = jsonl_literal(out, memory_q_storage_id);
    out = jsonl_literal(out, "framework:");
    out = jsonl_u64(out, record->storage.storage);
    *out++ = '"';
    out = jsonl_literal(out, memory_q_tensor_id);
    out = put_tensor_id(out, record->storage.tensor);
    out = jsonl_literal(out, memory_q_span_id);
    out = put_span(out, record->span);
    if (record->result) {
        out = jsonl_literal(out, memory_q_op_name);
        out = put_known(state, out, (uint32_t)record->result);
    }
    out = jsonl_literal(out, memory_q_device);
    out = put_device(state, out, record->storage.device);
    out = put_field(out, memory_bytes, record->storage.bytes);
    out = jsonl_literal(out, memory_q_action);
    out = put_text(out, cg_name_ACTION[record->type == CAP_API_ALLOC ? CG_ACTION_ALLOC : CG_ACTION_FREE]);
    *out++ = '"';
    out = jsonl_literal(out, memory_shape);
    out = put_shape(out, shape, rank);
    out = jsonl_literal(out, memory_q_dtype);
    out = put_dtype(state, out, record->storage.dtype);
    out = jsonl_literal(out, memory_q_category);
    out = put_category(out, record);
    if (record->flags & CAP_FLAG_PREEXISTING) {
        out = jsonl_literal(out, memory_preexisting);
        out = jsonl_literal(out, "true");
    } else {
        out = put_field(out, memory_tid, (uint32_t)tid);
    }
    return jsonl_literal(out, "}\n");
}

static char *put_interval(struct jsonl_state *state, char *out, const struct cap_record *record)
{
    if (!record->ticks) return out;
    out = jsonl_literal(out, begin_device_interval);
    out = jsonl_literal(out, device_interval_q_span_id);
    out = put_span(out, record->span);
    out = jsonl_literal(out, device_interval_q_device);
    out = put_device(state, out, record->api_interval.device);
    out = jsonl_literal(out, device_interval_q_stream_id);
    out = put_known(state, out, record->api_interval.stream);
    out = jsonl_literal(out, device_interval_q_clock_id);
    out = put_known(state, out, record->api_interval.clock);
    out = jsonl_literal(out, device_interval_q_backend);
    out = put_known(state, out, record->api_interval.backend);
    out = put_field(out, device_interval_start_ns, record->begin);
    out = put_field(out, device_interval_duration_ns, record->ticks);
    if (record->api_interval.activity) {
        out = jsonl_literal(out, device_interval_q_activity);
        out = put_known(state, out, record->api_interval.activity);
    }
    if (record->api_interval.name) {
        out = jsonl_literal(out, device_interval_q_name);
        out = put_known(state, out, record->api_interval.name);
    }
    if (record->api_interval.correlation)
        out = put_field(out, device_interval_correlation, record->api_interval.correlation);
    return jsonl_literal(out, "}\n");
}

static char *put_gradient(struct jsonl_state *state, char *out, const struct cap_record *record)
{
    unsigned found = record->flags & CAP_FLAG_DETAIL;

    if (found >= CG_GRADIENT_STATE_COUNT) return out;
    out = jsonl_literal(out, begin_gradient);
    out = jsonl_literal(out, gradient_q_event_id);
    out = jsonl_literal(out, "gradient-");
    out = jsonl_u64(out, record->gradient.number);
    *out++ = '"';
    out = jsonl_literal(out, gradient_q_root);
    out = put_known(state, out, record->gradient.root);
    out = jsonl_literal(out, gradient_q_key);
    out = put_known(state, out, record->gradient.key);
    out = jsonl_literal(out, gradient_q_state);
    out = put_text(out, cg_name_GRADIENT_STATE[found]);
    *out++ = '"';
    if ((found == CG_GRADIENT_STATE_PRESENT || found == CG_GRADIENT_STATE_ZERO) &&
        isfinite(record->gradient.norm)) {
        out = jsonl_literal(out, gradient_norm);
        out = put_double(out, record->gradient.norm);
    }
    return jsonl_literal(out, "}\n");
}

static char *put_edge_kind(char *out, enum cg_value_EDGE_KIND kind)
{
    out = jsonl_literal(out, begin_edge);
    out = jsonl_literal(out, edge_q_edge_kind);
    out = put_text(out, cg_name_EDGE_KIND[kind]);
    *out++ = '"';
    return out;
}

static char *put_data_edge(char *out, const struct cap_record *record)
{
    out = put_edge_kind(out, CG_EDGE_KIND_DATA);
    out = jsonl_literal(out, edge_q_from_tensor);
    out = put_tensor_id(out, record->data_edge.from);
    out = jsonl_literal(out, edge_q_to_tensor);
    out = put_tensor_id(out, record->data_edge.to);
    return jsonl_literal(out, "}\n");
}

char *jsonl_call_edge(char *out, uint32_t caller, uint32_t callee, uint64_t duration_ns)
{
    out = put_edge_kind(out, CG_EDGE_KIND_CALL);
    out = jsonl_literal(out, edge_q_from_span);
    out = put_span(out, caller);
    out = jsonl_literal(out, edge_q_to_span);
    out = put_span(out, callee);
    out = put_field(out, edge_host_duration_ns, duration_ns);
    return jsonl_literal(out, "}\n");
}

char *jsonl_api_record(struct jsonl_state *state, char *out, const struct cap_record *record, int32_t tid)
{
    switch (record->type) {
    case CAP_API_OP:
        return put_op(state, out, record, tid);
    case CAP_TENSOR:
        return put_tensor(state, out, record);
    case CAP_STATS:
        return put_tensor_stats(state, out, record);
    case CAP_SCALAR:
        return put_scalar(state, out, record);
    case CAP_API_ALLOC:
    case CAP_API_FREE:
        return put_storage(state, out, record, tid);
    case CAP_API_INTERVAL:
        return put_interval(state, out, record);
    case CAP_GRADIENT:
        return put_gradient(state, out, record);
    case CAP_DATA_EDGE:
        return put_data_edge(out, record);
    default:
        return out;
    }
}
