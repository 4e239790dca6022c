/* Operations, tensors, statistics, samples, intervals, gradients and edges. */
#include <math.h>
#include <string.h>

#include "common/event_table.h"
#include "preload/api/api.h"
#include "preload/record/session.h"
#include "preload/unnoticed.h"

/* ---- operations and tensors ---- */

static int check_op(const struct cgtrace_op_info *info)
{
    int result = api_needs(info->name, CGTRACE_NAME_MAX);

    result = api_either(result, api_shape(info->shape, info->rank));
    result = api_either(result, api_allows(info->dtype, CGTRACE_TEXT_MAX));
    result = api_either(result, api_allows(info->device, CGTRACE_TEXT_MAX));
    if (result != CGTRACE_OK) return result;
    if (info->input_count > CGTRACE_INPUTS_MAX) return CGTRACE_E_TOO_BIG;
    if (info->input_count > 0 && !info->inputs) return CGTRACE_E_NULL;
    for (size_t i = 0; i < info->input_count; i++)
        if (!info->inputs[i]) return CGTRACE_E_VALUE;
    return CGTRACE_OK;
}

/* Where an operation lies; CGTRACE_E_TIME: not between the begin of its span and now. */
static int place_op(const struct record_call *call, const struct cgtrace_op_info *info, uint64_t *begin)
{
    uint64_t now = api_now(call), since = cap_ns(&session.header->clock, record_span_since(call->thread));

    if (info->duration_ns > now) return CGTRACE_E_TIME;
    *begin = info->timestamp_ns ? info->timestamp_ns : now - info->duration_ns;
    return *begin < since || *begin > now - info->duration_ns ? CGTRACE_E_TIME : CGTRACE_OK;
}

static void name_tensors(const struct cgtrace_op_info *info)
{
    for (size_t i = 0; i < info->input_count; i++)
        api_tensor_named(info->inputs[i]);
    if (info->output) api_tensor_named(info->output);
}

int api_cgtrace_op(const struct cgtrace_op_info *given, size_t size)
{
    struct cgtrace_op_info info;
    struct record_call call;
    struct cap_record record;
    int result;

    if (!given) return CGTRACE_E_NULL;
    api_take(&info, sizeof info, given, size);
    if ((result = check_op(&info)) != CGTRACE_OK) return result;
    if (!record_enter(&call, 0)) return CGTRACE_OFF;
    record = api_record(&call, CAP_API_OP);
    const struct api_text texts[] = {{info.name, &record.api_op.name},
                                     {info.dtype, &record.api_op.dtype},
                                     {info.device, &record.api_op.device}};
    const struct record_words words[] = {
        {&info.input_bytes, 1}, {info.shape, info.rank}, {info.inputs, info.input_count}};

    if ((result = place_op(&call, &info, &record.begin)) != CGTRACE_OK) return api_leave(&call, result);
    if (!api_numbers(texts, 3)) return api_leave(&call, CGTRACE_E_FULL);
    record.flags = (uint16_t)(CAP_FLAG_NS | (info.output_bytes ? CAP_FLAG_HAS_BYTES : 0));
    record.ticks = info.duration_ns;
    record.api = (uint16_t)info.rank;
    record.api_op.inputs = (uint16_t)info.input_count;
    record.api_op.output = info.output;
    record.api_op.output_bytes = info.output_bytes;
    result = api_write(&call, &record, words, 3);
    if (result == CGTRACE_OK) name_tensors(&info);
    return api_leave(&call, result);
}

int api_cgtrace_tensor(const struct cgtrace_tensor_info *given, size_t size)
{
    struct cgtrace_tensor_info info;
    struct record_call call;
    struct cap_record record;
    int result;

    if (!given) return CGTRACE_E_NULL;
    api_take(&info, sizeof info, given, size);
    if (!info.tensor || (unsigned)info.category > CGTRACE_CATEGORY_OTHER) return CGTRACE_E_VALUE;
    result = api_shape(info.shape, info.rank);
    result = api_either(result, api_allows(info.label, CGTRACE_TEXT_MAX));
    result = api_either(result, api_allows(info.dtype, CGTRACE_TEXT_MAX));
    result = api_either(result, api_allows(info.device, CGTRACE_TEXT_MAX));
    if (result != CGTRACE_OK) return result;
    if (!record_enter(&call, 0)) return CGTRACE_OFF;
    record = api_record(&call, CAP_TENSOR);
    const struct api_text texts[] = {{info.label, &record.tensor.label},
                                     {info.dtype, &record.tensor.dtype},
                                     {info.device, &record.tensor.device}};
    const struct record_words words = {info.shape, info.rank};

    if (!api_numbers(texts, 3)) return api_leave(&call, CGTRACE_E_FULL);
    record.flags =
        (uint16_t)(api_category(&call, info.category, info.requires_grad) |
                   (info.requires_grad ? CAP_FLAG_REQUIRES_GRAD : 0) | (info.bytes ? CAP_FLAG_HAS_BYTES : 0));
    record.api = (uint16_t)info.rank;
    record.tensor.tensor = info.tensor;
    record.tensor.bytes = info.bytes;
    result = api_write(&call, &record, &words, 1);
    if (result == CGTRACE_OK) api_tensor_named(info.tensor);
    return api_leave(&call, result);
}

/* ---- statistics ---- */

/* The product of a shape; false: it overflows. */
static bool count_elements(const uint64_t *shape, size_t rank, uint64_t *elements)
{
    *elements = 1;
    for (size_t i = 0; i < rank; i++)
        if (__builtin_mul_overflow(*elements, shape[i], elements)) return false;
    return true;
}

/* Checked statistics. */
static int put_stats(const struct cgtrace_stats_info *info, uint64_t elements)
{
    struct record_call call;
    struct cap_record record;
    uint64_t numbers[2];

    if (!record_enter(&call, 0)) return CGTRACE_OFF;
    record = api_record(&call, CAP_STATS);
    const struct api_text texts[] = {{info->label, &record.stats.label}, {info->dtype, &record.stats.dtype}};
    const struct record_words words[] = {{numbers, 2}, {info->shape, info->rank}};

    if (!api_numbers(texts, 2)) return api_leave(&call, CGTRACE_E_FULL);
    memcpy(&numbers[0], &info->abs_max, sizeof numbers[0]);
    memcpy(&numbers[1], &info->mean, sizeof numbers[1]);
    record.api = (uint16_t)info->rank;
    record.stats.elements = elements;
    record.stats.non_finite = info->non_finite;
    record.stats.rms = info->rms;
    return api_put(&call, &record, words, 2);
}

int api_cgtrace_tensor_stats(const struct cgtrace_stats_info *given, size_t size)
{
    struct cgtrace_stats_info info;
    uint64_t elements;
    int result;

    if (!given) return CGTRACE_E_NULL;
    api_take(&info, sizeof info, given, size);
    result = api_needs(info.label, CGTRACE_TEXT_MAX);
    result = api_either(result, api_shape(info.shape, info.rank));
    result = api_either(result, api_allows(info.dtype, CGTRACE_TEXT_MAX));
    if (result != CGTRACE_OK) return result;
    if (!count_elements(info.shape, info.rank, &elements) || info.non_finite > elements ||
        !isfinite(info.rms) || !isfinite(info.abs_max) || !isfinite(info.mean) || info.rms < 0 ||
        info.abs_max < 0)
        return CGTRACE_E_VALUE;
    return put_stats(&info, elements);
}

/* Newton's iteration, from a first guess by halving the exponent: the mathematics library is not linked. */
static float square_root(double x)
{
    union {
        double value;
        uint64_t bits;
    } root = {x};

    if (!(x > 0) || !isfinite(x)) return x == 0 ? 0 : (float)x;
    root.bits = (root.bits >> 1) + (UINT64_C(0x1ff8) << 48);
    for (int i = 0; i < 6; i++)
        root.value = (root.value + x / root.value) / 2;
    return (float)root.value;
}

static double finite_or_0(float x)
{
    return isfinite(x) ? (double)x : 0;
}

static __attribute__((noinline)) void sum_up(struct cgtrace_stats_info *info, const float *values,
                                             uint64_t elements)
{
    double squares = 0, sum = 0;
    float largest = 0;

    for (uint64_t i = 0; i < elements; i++) {
        float x = values[i];

        info->non_finite += isfinite(x) ? 0 : 1;
        squares += (double)x * (double)x;
        sum += (double)x;
        largest = __builtin_fabsf(x) > largest || isnan(x) ? __builtin_fabsf(x) : largest;
    }
    if (elements == 0) return;
    info->rms = finite_or_0(square_root(squares / (double)elements));
    info->abs_max = finite_or_0(largest);
    info->mean = finite_or_0((float)(sum / (double)elements));
}

/* What the program has chosen of arithmetic changes no result, and its traps are not sprung by what is in a
 * tensor. */
static void sum_up_held(struct cgtrace_stats_info *info, const float *values, uint64_t elements)
{
    FLOATS_HELD;

    sum_up(info, values, elements);
}

int api_cgtrace_tensor_values(const char *label, const uint64_t *shape, size_t rank, const float *values)
{
    struct cgtrace_stats_info info = {.label = label, .shape = shape, .rank = rank, .dtype = "f32"};
    uint64_t elements;
    int result = api_either(api_needs(label, CGTRACE_TEXT_MAX), api_shape(shape, rank));

    if (result != CGTRACE_OK) return result;
    if (!count_elements(shape, rank, &elements)) return CGTRACE_E_VALUE;
    if (elements > 0 && !values) return CGTRACE_E_NULL;
    sum_up_held(&info, values, elements);
    return put_stats(&info, elements);
}

/* As begin_slowly() of spans. */
static __attribute__((noinline)) int put_scalar_slowly(const char *label, double value)
{
    struct record_call call;
    struct cap_record record;
    int result = api_needs(label, CGTRACE_TEXT_MAX);

    if (result != CGTRACE_OK) return result;
    if (!record_enter(&call, 0)) return CGTRACE_OFF;
    record = api_record(&call, CAP_SCALAR);
    record.scalar.value = value;
    record.scalar.label = record_text(label);
    if (!record.scalar.label) return api_leave(&call, CGTRACE_E_FULL);
    return api_put(&call, &record, NULL, 0);
}

/* False: there is no room. */
static inline __attribute__((always_inline)) bool put_scalar(const struct record_plain *call, uint32_t label,
                                                             double value)
{
    struct cap_record *slot;
    uint64_t bits;

    if (unlikely(!record_plain_room(call))) return false;
    slot = record_plain_slot(call);
    memcpy(&bits, &value, sizeof bits);
    record_store_head(slot, &(struct cap_record){.begin = call->begin,
                                                 .span = call->thread->span,
                                                 .type = CAP_SCALAR,
                                                 .slots = 1,
                                                 .device = CAP_NO_DEVICE});
    record_store(&slot->scalar, bits, label);
    record_store(&slot->scalar + 1, 0, 0);
    record_plain_publish(call);
    return true;
}
_Static_assert(sizeof(((struct cap_record *)0)->scalar) == 16, "two stores are the half of a slot");

int api_cgtrace_scalar(const char *label, double value)
{
    struct record_plain call;
    uint32_t known = api_known(label, CGTRACE_TEXT_MAX);

    if (likely(known && record_enter_plain(&call))) {
        bool put = put_scalar(&call, known, value);

        record_leave_plain(&call);
        if (likely(put)) return CGTRACE_OK;
    }
    return put_scalar_slowly(label, value);
}

/* ---- devices ---- */

int api_cgtrace_device_memory(const char *device, uint64_t used, uint64_t free_bytes, uint64_t reserved,
                              uint64_t capacity)
{
    struct record_call call;
    struct cap_record record;
    int result = api_needs(device, CGTRACE_TEXT_MAX);

    if (result != CGTRACE_OK) return result;
    if (used == CGTRACE_UNKNOWN && free_bytes == CGTRACE_UNKNOWN && reserved == CGTRACE_UNKNOWN &&
        capacity == CGTRACE_UNKNOWN)
        return CGTRACE_E_VALUE;
    if (!record_enter(&call, 0)) return CGTRACE_OFF;
    record = api_record(&call, CAP_SAMPLE);
    record.flags = CAP_FLAG_DEVICE_TEXT;
    record.result = (int32_t)record_text(device);
    record.sample.used = used;
    record.sample.free = free_bytes;
    record.sample.reserved = reserved;
    record.sample.capacity = capacity;
    if (!record.result) return api_leave(&call, CGTRACE_E_FULL);
    return api_put(&call, &record, NULL, 0);
}

static int check_interval(const struct cgtrace_interval_info *info)
{
    int result = api_needs(info->device, CGTRACE_TEXT_MAX);
    uint64_t end;

    result = api_either(result, api_needs(info->stream, CGTRACE_TEXT_MAX));
    result = api_either(result, api_needs(info->clock, CGTRACE_TEXT_MAX));
    result = api_either(result, api_needs(info->backend, CGTRACE_TEXT_MAX));
    result = api_either(result, api_allows(info->activity, CGTRACE_TEXT_MAX));
    result = api_either(result, api_allows(info->name, CGTRACE_TEXT_MAX));
    if (result != CGTRACE_OK) return result;
    return !info->duration_ns || __builtin_add_overflow(info->start_ns, info->duration_ns, &end)
               ? CGTRACE_E_TIME
               : CGTRACE_OK;
}

int api_cgtrace_device_interval(const struct cgtrace_interval_info *given, size_t size)
{
    struct cgtrace_interval_info info;
    struct record_call call;
    struct cap_record record;
    int result;

    if (!given) return CGTRACE_E_NULL;
    api_take(&info, sizeof info, given, size);
    if ((result = check_interval(&info)) != CGTRACE_OK) return result;
    if (!record_enter(&call, 0)) return CGTRACE_OFF;
    record = api_record(&call, CAP_API_INTERVAL);
    if (info.span && !api_span_of(&call, info.span, &record.span)) return api_leave(&call, CGTRACE_E_UNKNOWN);
    const struct api_text texts[] = {
        {info.device, &record.api_interval.device},     {info.stream, &record.api_interval.stream},
        {info.clock, &record.api_interval.clock},       {info.backend, &record.api_interval.backend},
        {info.activity, &record.api_interval.activity}, {info.name, &record.api_interval.name}};

    if (!api_numbers(texts, 6)) return api_leave(&call, CGTRACE_E_FULL);
    record.begin = info.start_ns;
    record.ticks = info.duration_ns;
    record.api_interval.correlation = info.correlation;
    return api_put(&call, &record, NULL, 0);
}

/* ---- gradients and edges ---- */

/* doc/spec/trace.md 3.9. */
static bool norm_fits(enum cgtrace_gradient_state state, double norm)
{
    switch (state) {
    case CGTRACE_GRADIENT_PRESENT:
        return isfinite(norm) && norm > 0;
    case CGTRACE_GRADIENT_MISSING:
    case CGTRACE_GRADIENT_ZERO:
    case CGTRACE_GRADIENT_NON_FINITE:
        return norm == 0 && !signbit(norm);
    }
    return false;
}

_Static_assert((int)CGTRACE_GRADIENT_PRESENT == (int)CG_GRADIENT_STATE_PRESENT &&
                   (int)CGTRACE_GRADIENT_MISSING == (int)CG_GRADIENT_STATE_MISSING &&
                   (int)CGTRACE_GRADIENT_ZERO == (int)CG_GRADIENT_STATE_ZERO &&
                   (int)CGTRACE_GRADIENT_NON_FINITE == (int)CG_GRADIENT_STATE_NON_FINITE,
               "states as in the event table");

int api_cgtrace_gradient(const char *root, const char *key, enum cgtrace_gradient_state state, double norm)
{
    struct record_call call;
    struct cap_record record;
    int result = api_either(api_needs(root, CGTRACE_TEXT_MAX), api_needs(key, CGTRACE_TEXT_MAX));

    if (result != CGTRACE_OK) return result;
    if (!norm_fits(state, norm)) return CGTRACE_E_VALUE;
    if (!record_enter(&call, 0)) return CGTRACE_OFF;
    record = api_record(&call, CAP_GRADIENT);
    const struct api_text texts[] = {{root, &record.gradient.root}, {key, &record.gradient.key}};

    if (!api_numbers(texts, 2)) return api_leave(&call, CGTRACE_E_FULL);
    record.flags = (uint16_t)state;
    record.gradient.norm = norm;
    result = api_manifest_take(root, key, &record.gradient.number);
    if (result != CGTRACE_OK) return api_leave(&call, result);
    result = api_write(&call, &record, NULL, 0);
    api_manifest_done(root, key, result == CGTRACE_OK);
    return api_leave(&call, result);
}

int api_cgtrace_data_edge(uint64_t from_tensor, uint64_t to_tensor)
{
    struct record_call call;
    struct cap_record record;

    if (!from_tensor || !to_tensor) return CGTRACE_E_VALUE;
    if (!record_enter(&call, 0)) return CGTRACE_OFF;
    if (!api_tensor_known(from_tensor) || !api_tensor_known(to_tensor))
        return api_leave(&call, CGTRACE_E_UNKNOWN);
    record = api_record(&call, CAP_DATA_EDGE);
    record.data_edge.from = from_tensor;
    record.data_edge.to = to_tensor;
    return api_put(&call, &record, NULL, 0);
}
