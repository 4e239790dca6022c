/* Rankings of activation operations (doc/spec/evidence.md 10.1). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/planes/activations.h"

typedef unsigned __int128 u128;

struct ranking {
    const struct cg_trace *trace;
    const struct activations *activations;
    const struct timing *timing; /* for the ranking by device time, with its clock; else NULL */
    cg_str device, clock_id;
    enum activation_metric metric;
};

/* The value that an operation is ranked by; false when it has none. */
static bool value_of(const struct ranking *ranking, uint32_t row, u128 *value)
{
    const struct activation_operation *operation = &ranking->activations->operations[row];
    const struct cg_ops *ops = &ranking->trace->op;
    if (ranking->timing) {
        for (uint32_t i = 0; i < operation->timings.count; i++) {
            const struct timing_span *span = &ranking->timing->spans[operation->timings.first + i];
            if (span->device != ranking->device || span->clock_id != ranking->clock_id) continue;
            *value = span->busy_ns;
            return true;
        }
        return false;
    }
    switch (ranking->metric) {
    case ACTIVATION_HOST_DURATION:
        *value = ops->duration_ns[operation->op];
        return true;
    case ACTIVATION_DENSE_OUTPUT:
        *value = ops->output_dense_bytes[operation->op];
        return ops->output_dense_bytes_set[operation->op];
    case ACTIVATION_LOGICAL_ALLOCATED:
        *value = operation->allocated_bytes;
        return operation->logical_known;
    case ACTIVATION_LIVE_DURATION:
        *value = operation->live_duration_ns;
        return operation->interval_known;
    case ACTIVATION_BYTE_NANOSECONDS:
        *value = operation->byte_nanoseconds;
        return operation->interval_known;
    case ACTIVATION_RETAINED:
        *value = operation->retained_bytes;
        return operation->retained_known;
    }
    return false;
}

/* An id in up to two parts: the span's, and "/op/<index>" unless the operation has a span of its own. */
struct id {
    struct cg_text span;
    char rest[24];
    size_t length;
};

static struct id id_of(const struct ranking *ranking, const struct activation_operation *operation)
{
    struct id id = {.span = trace_text(ranking->trace, ranking->trace->op.span_id[operation->op])};
    int rest = operation->dedicated ? 0 : snprintf(id.rest, sizeof id.rest, "/op/%u", operation->op_index);
    id.length = id.span.length + (size_t)rest;
    return id;
}

static unsigned char id_byte(const struct id *id, size_t i)
{
    return (unsigned char)(i < id->span.length ? id->span.bytes[i] : id->rest[i - id->span.length]);
}

static int compare_ids(const struct ranking *ranking, const struct activation_operation *a,
                       const struct activation_operation *b)
{
    const struct id left = id_of(ranking, a), right = id_of(ranking, b);
    size_t i = left.span.length < right.span.length ? left.span.length : right.span.length;
    int order = memcmp(left.span.bytes, right.span.bytes, i);
    if (order) return order;
    for (; i < left.length && i < right.length; i++)
        if (id_byte(&left, i) != id_byte(&right, i)) return id_byte(&left, i) < id_byte(&right, i) ? -1 : 1;
    return (left.length > right.length) - (left.length < right.length);
}

/* Negative when the row a stands before b: greater value, then smaller id, then earlier op. */
static int compare_rows(const void *a, const void *b, void *context)
{
    const struct ranking *ranking = context;
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    u128 left_value = 0, right_value = 0;
    value_of(ranking, left, &left_value);
    value_of(ranking, right, &right_value);
    if (left_value != right_value) return left_value > right_value ? -1 : 1;
    const struct activation_operation *operations = ranking->activations->operations;
    int order = compare_ids(ranking, &operations[left], &operations[right]);
    return order ? order : (left > right) - (left < right);
}

/* Restores the heap below a place; its top is the last of the rows in it. */
static void sift_down(struct ranking *ranking, uint32_t *rows, size_t count, size_t place)
{
    for (size_t child; (child = 2 * place + 1) < count; place = child) {
        if (child + 1 < count && compare_rows(&rows[child + 1], &rows[child], ranking) > 0) child++;
        if (compare_rows(&rows[child], &rows[place], ranking) <= 0) return;
        uint32_t swap = rows[place];
        rows[place] = rows[child];
        rows[child] = swap;
    }
}

static size_t rank(struct ranking *ranking, size_t limit, uint32_t *rows)
{
    size_t having = 0, kept = 0;
    u128 value;
    for (size_t i = 0; i < ranking->activations->operation_count; i++) {
        uint32_t row = (uint32_t)i;
        if (!value_of(ranking, row, &value)) continue;
        having++;
        if (kept < limit) {
            rows[kept++] = row;
            for (size_t j = kept == limit ? kept / 2 : 0; j-- > 0;)
                sift_down(ranking, rows, kept, j);
        } else if (kept && compare_rows(&row, &rows[0], ranking) < 0) {
            rows[0] = row;
            sift_down(ranking, rows, kept, 0);
        }
    }
    qsort_r(rows, kept, sizeof *rows, compare_rows, ranking);
    return having;
}

size_t activations_ranked(const struct cg_trace *trace, const struct activations *activations,
                          enum activation_metric metric, size_t limit, uint32_t *rows)
{
    struct ranking ranking = {.trace = trace, .activations = activations, .metric = metric};
    return rank(&ranking, limit, rows);
}

size_t activations_ranked_by_device(const struct cg_trace *trace, const struct activations *activations,
                                    const struct timing *timing, cg_str device, cg_str clock_id, size_t limit,
                                    uint32_t *rows)
{
    struct ranking ranking = {
        .trace = trace, .activations = activations, .timing = timing, .device = device, .clock_id = clock_id};
    return rank(&ranking, limit, rows);
}
