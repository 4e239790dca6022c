/* Activations of a stored packet: what rankings need of them. The operations become rows of the trace that
 * the stored evidence has for its run. */
#include <stdio.h>
#include <stdlib.h>

#include "analyzer/evidence/emit.h"
#include "analyzer/evidence/stored.h"
#include "analyzer/trace/block.h"
#include "analyzer/trace/strings.h"

struct reading {
    struct evidence *evidence;
    struct shape_reader *reader;
    struct cg_trace *trace;
    struct activations *activations;
    bool enough;
};

static cg_str intern(struct reading *reading, const char *object, const char *member)
{
    struct cg_text text = shape_text(reading->reader, shape_member(reading->reader, object, member));
    if (!text.bytes) return CG_ABSENT;
    cg_str string = strings_intern(reading->trace->strings, strings_hash(text.bytes, text.length), text.bytes,
                                   text.length);
    reading->enough = reading->enough && string != CG_ABSENT;
    return string;
}

static uint64_t number(struct reading *reading, const char *object, const char *member, bool *known)
{
    const char *value = shape_member(reading->reader, object, member);
    *known = value != NULL;
    return shape_u64(reading->reader, value);
}

static void read_state(struct reading *reading, size_t index, const char *name)
{
    static const char *const levels[] = {"unavailable", "partial", "complete", "invalid", NULL};
    struct evidence_stored *stored = reading->evidence->stored;
    struct activation_state *state = &reading->activations->coverage + index;
    const char *object = shape_member(reading->reader, stored->part[STORED_ACTIVATIONS], name);
    stored->activation_states[index] = object;
    state->level = (enum capability_level)stored_word(reading->reader,
                                                      shape_member(reading->reader, object, "level"), levels);
    struct cg_text source = shape_text(reading->reader, shape_member(reading->reader, object, "source"));
    struct cg_text reason = shape_text(reading->reader, shape_member(reading->reader, object, "reason"));
    state->source = arena_text(&reading->evidence->arena, source.bytes, source.length).bytes;
    snprintf(state->reason, sizeof state->reason, "%.*s", (int)reason.length, reason.bytes);
    reading->enough = reading->enough && state->source;
}

/* Clocks of the device, in the packet's order. */
static void read_clocks(struct reading *reading)
{
    struct timing *timing = &reading->evidence->timing;
    const char *list =
        shape_member(reading->reader, reading->evidence->stored->part[STORED_TIMING], "device_clocks");
    struct places places;
    bool known;
    reading->enough = places_make(reading->reader, list, &places);
    timing->clocks = calloc(places.count + 1, sizeof *timing->clocks);
    reading->enough = reading->enough && timing->clocks;
    for (size_t i = 0; reading->enough && i < places.count; i++) {
        struct timing_clock *clock = &timing->clocks[timing->clock_count++];
        clock->device = intern(reading, places.at[i], "device");
        clock->clock_id = intern(reading, places.at[i], "clock_id");
        clock->interval_count = number(reading, places.at[i], "interval_count", &known);
        clock->busy_ns = number(reading, places.at[i], "busy_ns", &known);
    }
    free(places.at);
}

static bool zeroed_column(void **column, size_t size)
{
    block_free(*column);
    *column = block_zeroed(size);
    return *column != NULL;
}

/* Columns of ops for the operations, and rows of timing.spans for all their timings. */
static bool make_room(struct reading *reading)
{
    struct evidence_stored *stored = reading->evidence->stored;
    const char *list = shape_member(reading->reader, stored->part[STORED_ACTIVATIONS], "operations");
    struct cg_ops *ops = &reading->trace->op;
    struct timing *timing = &reading->evidence->timing;
    if (!places_make(reading->reader, list, &stored->operations)) return false;
    size_t rows = stored->operations.count + 1, timings = 1;
    for (size_t i = 0; i < stored->operations.count; i++) {
        const char *of = shape_member(reading->reader, stored->operations.at[i], "device_timings");
        for (const char *at = shape_first(reading->reader, of); at; at = shape_next(reading->reader, at))
            timings++;
    }
    /* The trace was read without ops, so its columns have no rows; they are freed with it. */
    bool enough = zeroed_column((void **)&ops->span_id, rows * sizeof *ops->span_id) &&
                  zeroed_column((void **)&ops->op_name, rows * sizeof *ops->op_name) &&
                  zeroed_column((void **)&ops->duration_ns, rows * sizeof *ops->duration_ns) &&
                  zeroed_column((void **)&ops->output_dense_bytes, rows * sizeof *ops->output_dense_bytes) &&
                  zeroed_column((void **)&ops->output_dense_bytes_set, rows);
    timing->spans = calloc(timings, sizeof *timing->spans);
    reading->activations->operations = calloc(rows, sizeof *reading->activations->operations);
    return enough && timing->spans && reading->activations->operations;
}

static void read_timings(struct reading *reading, struct activation_operation *operation, const char *object)
{
    struct timing *timing = &reading->evidence->timing;
    const char *list = shape_member(reading->reader, object, "device_timings");
    bool known;
    operation->timings.first = (uint32_t)timing->span_count;
    for (const char *at = shape_first(reading->reader, list); at; at = shape_next(reading->reader, at)) {
        struct timing_span *span = &timing->spans[timing->span_count++];
        span->span_id = intern(reading, object, "span_id");
        span->device = intern(reading, at, "device");
        span->clock_id = intern(reading, at, "clock_id");
        span->interval_count = number(reading, at, "interval_count", &known);
        span->busy_ns = number(reading, at, "busy_ns", &known);
        operation->timings.count++;
    }
}

static unsigned __int128 decimal(struct cg_text text)
{
    unsigned __int128 value = 0;
    for (size_t i = 0; i < text.length; i++)
        value = value * 10 + (unsigned)(text.bytes[i] - '0');
    return value;
}

static void read_sources(struct reading *reading, struct activation_operation *operation, const char *object)
{
    const char *list = shape_member(reading->reader, object, "classification_sources");
    for (const char *at = shape_first(reading->reader, list); at; at = shape_next(reading->reader, at)) {
        bool tensor = text_compare(shape_text(reading->reader, at), text_of("tensor_output")) == 0;
        operation->tensor_output |= tensor;
        operation->logical_storage |= !tensor;
    }
}

/* Is the id that of the span, or that of the op? */
static bool read_id(struct reading *reading, struct activation_operation *operation, const char *object)
{
    struct cg_text id = shape_text(reading->reader, shape_member(reading->reader, object, "id"));
    struct cg_text span = shape_text(reading->reader, shape_member(reading->reader, object, "span_id"));
    char suffix[GRAPH_OP_SUFFIX_SIZE];
    size_t length = graph_op_suffix(suffix, operation->op_index);
    operation->dedicated = text_compare(id, span) == 0;
    return operation->dedicated ||
           (id.length == span.length + length && memcmp(id.bytes, span.bytes, span.length) == 0 &&
            memcmp(id.bytes + span.length, suffix, length) == 0);
}

static bool read_operation(struct reading *reading, uint32_t row, const char *object)
{
    struct cg_ops *ops = &reading->trace->op;
    struct activation_operation *operation = &reading->activations->operations[row];
    bool known;
    operation->op = row;
    uint64_t index = number(reading, object, "op_index", &known);
    operation->op_index = (uint32_t)index;
    if (index > UINT32_MAX || !read_id(reading, operation, object)) return false;
    ops->span_id[row] = intern(reading, object, "span_id");
    ops->op_name[row] = intern(reading, object, "name");
    ops->duration_ns[row] = number(reading, object, "observed_host_duration_ns", &known);
    ops->output_dense_bytes[row] = number(reading, object, "dense_output_bytes", &known);
    ops->output_dense_bytes_set[row] = known;
    operation->allocated_bytes =
        number(reading, object, "logical_allocated_bytes", &operation->logical_known);
    operation->storage_count = number(reading, object, "logical_storage_count", &known);
    operation->live_duration_ns =
        number(reading, object, "logical_storage_live_duration_ns", &operation->interval_known);
    operation->byte_nanoseconds = decimal(
        shape_text(reading->reader, shape_member(reading->reader, object, "logical_byte_nanoseconds")));
    operation->retained_bytes =
        number(reading, object, "logical_retained_bytes_at_measured_end", &operation->retained_known);
    read_timings(reading, operation, object);
    read_sources(reading, operation, object);
    return true;
}

int stored_activations(struct evidence *evidence, const char *name, struct cg_error *error)
{
    struct evidence_stored *stored = evidence->stored;
    struct reading reading = {evidence, &stored->reader, stored->trace, &evidence->activations, true};
    size_t index = 0;
    bool known;
#define READ_STATE(state) read_state(&reading, index++, #state);
    ACTIVATION_STATES(READ_STATE)
    if (reading.enough) read_clocks(&reading);
    if (!reading.enough || !make_room(&reading)) return cg_fail(error, CG_EXIT_IO, "%s: out of memory", name);
    evidence->activations.unattributed_storages =
        number(&reading, stored->part[STORED_ACTIVATIONS], "unattributed_activation_storages", &known);
    for (uint32_t row = 0; row < stored->operations.count; row++) {
        if (!read_operation(&reading, row, stored->operations.at[row]))
            return cg_fail(error, CG_EXIT_INPUT,
                           "%s: byte %zu: activations.operations: the id is neither span_id nor "
                           "<span_id>/op/<op_index>",
                           name, (size_t)(stored->operations.at[row] - stored->reader.begin) + 1);
        stored->trace->op.rows = evidence->activations.operation_count = row + 1;
    }
    if (!reading.enough || stored->reader.scan.no_memory)
        return cg_fail(error, CG_EXIT_IO, "%s: out of memory", name);
    return 0;
}
