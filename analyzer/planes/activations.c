#include "analyzer/planes/activations.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyzer/planes/activation_links.h"
#include "analyzer/planes/array.h"
#include "analyzer/planes/string_set.h"

typedef unsigned __int128 u128;

const char activation_definition[] = "an operation of the measured region whose output is an activation: a "
                                     "tensor record gives its output that "
                                     "category, or a storage allocated with that category is linked to it";

/* What is known of an op before it is an operation of the profile. */
enum { OP_IN_SCOPE = 1, OP_TENSOR_OUTPUT = 2, OP_LOGICAL_STORAGE = 4 };

struct profile {
    const struct cg_trace *trace;
    const struct activation_inputs *inputs;
    struct activations *activations;
    /* The measured interval (10.4). */
    bool interval_known, end_observed;
    uint64_t start, end;
    uint32_t measured;      /* row of the measured span, or CG_NONE */
    uint8_t *in_measured;   /* by span: in the measured subtree */
    uint8_t *op_flags;      /* by op */
    uint32_t *links;        /* by lifetime: row of the op that made it, or CG_NONE */
    uint32_t *span_ops;     /* by span: its number of ops */
    uint32_t *first_timing; /* by span: its first entry of timing.spans + 1, or 0 */
};

/* ---- scope (10.4) ---- */

static void find_interval(struct profile *profile)
{
    const struct cg_trace *trace = profile->trace;
    profile->measured = CG_NONE;
    for (size_t i = 0; i < trace->span.rows && profile->measured == CG_NONE; i++)
        if (trace->span.measured[i]) profile->measured = (uint32_t)i;
    if (profile->measured == CG_NONE) return;
    profile->interval_known = true;
    profile->end_observed = trace->span.closed[profile->measured];
    profile->start = trace->span.start_ns[profile->measured];
    profile->end =
        profile->end_observed ? trace_span_end(trace, profile->measured) : trace->terminal.timestamp_ns;
}

/* Marks the measured span and all below it. */
static bool mark_measured(struct profile *profile)
{
    size_t rows = profile->trace->span.rows;
    profile->in_measured = array_zeroed(rows, 1);
    if (!profile->in_measured) return false;
    if (profile->measured == CG_NONE || profile->trace->op.rows == 0) return true;
    struct span_children children = {0};
    uint32_t *stack = array_raw(rows, sizeof *stack);
    bool done = stack && span_children_make(profile->trace, &children);
    size_t depth = 0;
    if (done) {
        profile->in_measured[profile->measured] = 1;
        stack[depth++] = profile->measured;
    }
    while (depth) {
        uint32_t span = stack[--depth];
        for (uint32_t i = children.first[span]; i < children.first[span + 1]; i++) {
            uint32_t child = children.child[i];
            if (profile->in_measured[child]) continue;
            profile->in_measured[child] = 1;
            stack[depth++] = child;
        }
    }
    span_children_free(&children);
    free(stack);
    return done;
}

static bool in_scope(const struct profile *profile, size_t op)
{
    const struct cg_ops *ops = &profile->trace->op;
    if (!profile->interval_known) return true;
    uint32_t span = trace_span(profile->trace, ops->span_id[op]);
    if (span != CG_NONE && profile->in_measured[span]) return true;
    uint64_t time = ops->timestamp_ns[op], duration = ops->duration_ns[op];
    if (duration == 0) return profile->start <= time && time <= profile->end;
    return time < profile->end && cg_sat_add(time, duration) > profile->start;
}

/* ---- classification (10.5) ---- */

static bool activation_lifetime(const struct profile *profile, size_t lifetime)
{
    uint32_t row = profile->inputs->memory->lifetimes[lifetime].row;
    return profile->trace->memory.category[row] == CG_CATEGORY_ACTIVATION;
}

static bool classify(struct profile *profile)
{
    const struct cg_trace *trace = profile->trace;
    struct string_set outputs; /* tensor ids that some tensor record calls an activation */
    profile->op_flags = array_zeroed(trace->op.rows, 1);
    profile->links = activation_links(trace, profile->inputs->memory);
    if (!profile->op_flags || !profile->links || !string_set_make(&outputs, trace)) return false;
    for (size_t i = 0; i < trace->tensor.rows; i++)
        if (trace->tensor.category[i] == CG_CATEGORY_ACTIVATION)
            string_set_add(&outputs, trace->tensor.tensor_id[i]);
    for (size_t i = 0; i < trace->op.rows; i++) {
        bool tensor = trace->op.output[i] != CG_ABSENT && string_set_has(&outputs, trace->op.output[i]);
        profile->op_flags[i] =
            (uint8_t)((in_scope(profile, i) ? OP_IN_SCOPE : 0) | (tensor ? OP_TENSOR_OUTPUT : 0));
    }
    string_set_free(&outputs);
    for (size_t i = 0; i < profile->inputs->memory->lifetime_count; i++) {
        if (!activation_lifetime(profile, i)) continue;
        if (profile->links[i] == CG_NONE)
            profile->activations->unattributed_storages++;
        else
            profile->op_flags[profile->links[i]] |= OP_LOGICAL_STORAGE;
    }
    return true;
}

static bool is_operation(uint8_t flags)
{
    return flags & OP_IN_SCOPE && flags & (OP_TENSOR_OUTPUT | OP_LOGICAL_STORAGE);
}

/* ---- the operations ---- */

/* The entries of timing.spans of a span stand together: it is sorted by span id. */
static bool index_timings(struct profile *profile)
{
    const struct timing *timing = profile->inputs->timing;
    profile->first_timing = array_zeroed(profile->trace->span.rows, sizeof *profile->first_timing);
    if (!profile->first_timing) return false;
    for (size_t i = timing->span_count; i-- > 0;) {
        uint32_t span = trace_span(profile->trace, timing->spans[i].span_id);
        if (span != CG_NONE) profile->first_timing[span] = (uint32_t)i + 1;
    }
    return true;
}

static struct cg_list span_timings(const struct profile *profile, uint32_t span)
{
    const struct timing *timing = profile->inputs->timing;
    if (!profile->first_timing[span]) return (struct cg_list){0, 0};
    struct cg_list list = {profile->first_timing[span] - 1, 0};
    while (list.first + list.count < timing->span_count &&
           timing->spans[list.first + list.count].span_id == profile->trace->span.id[span])
        list.count++;
    return list;
}

/* Ops of unknown spans do not occur in a valid trace. */
static bool list_operations(struct profile *profile)
{
    const struct cg_trace *trace = profile->trace;
    struct activations *activations = profile->activations;
    size_t count = 0;
    profile->span_ops = array_zeroed(trace->span.rows, sizeof *profile->span_ops);
    uint32_t *passed = array_zeroed(trace->span.rows, sizeof *passed); /* ops of each span so far */
    for (size_t i = 0; profile->span_ops && i < trace->op.rows; i++) {
        profile->span_ops[trace_span(trace, trace->op.span_id[i])]++;
        count += is_operation(profile->op_flags[i]);
    }
    activations->operations = array_zeroed(count, sizeof *activations->operations);
    bool known_zero = trace->run.capture_contract.logical_memory == CG_COVERAGE_COMPLETE &&
                      profile->inputs->memory->present;
    bool done = profile->span_ops && passed && activations->operations && index_timings(profile);
    for (size_t i = 0; done && i < trace->op.rows; i++) {
        uint32_t span = trace_span(trace, trace->op.span_id[i]), index = passed[span]++;
        if (!is_operation(profile->op_flags[i])) continue;
        bool dedicated = trace->span.span_kind[span] == CG_SPAN_KIND_OP && profile->span_ops[span] == 1;
        activations->operations[activations->operation_count++] = (struct activation_operation){
            .op = (uint32_t)i,
            .op_index = index,
            .dedicated = dedicated,
            .tensor_output = profile->op_flags[i] & OP_TENSOR_OUTPUT,
            .logical_storage = profile->op_flags[i] & OP_LOGICAL_STORAGE,
            .logical_known = known_zero,
            .timings = dedicated ? span_timings(profile, span) : (struct cg_list){0, 0},
        };
    }
    free(passed);
    return done;
}

/* The operation of an op; the operations stand in the order of the ops. */
static struct activation_operation *find_operation(struct activations *activations, uint32_t op)
{
    size_t low = 0, high = activations->operation_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (activations->operations[middle].op < op)
            low = middle + 1;
        else
            high = middle;
    }
    return &activations->operations[low];
}

/* ---- logical metrics (10.6) ---- */

/* Scratch storage of an operation does not count: only activations, and what its output lives in. */
static bool contributes(const struct profile *profile, size_t lifetime, uint32_t op)
{
    const struct logical_memory *memory = profile->inputs->memory;
    if (activation_lifetime(profile, lifetime)) return true;
    if (!(profile->op_flags[op] & OP_TENSOR_OUTPUT)) return false;
    struct cg_list tensors = memory->lifetimes[lifetime].tensors;
    for (uint32_t i = 0; i < tensors.count; i++)
        if (profile->trace->memory.tensor_id[memory->tensor_rows[tensors.first + i]] ==
            profile->trace->op.output[op])
            return true;
    return false;
}

static void add_lifetime(const struct profile *profile, const struct lifetime *lifetime,
                         struct activation_operation *operation)
{
    uint64_t bytes = profile->trace->memory.bytes[lifetime->row];
    uint64_t start = lifetime_start(profile->trace, lifetime), end = lifetime_end(profile->trace, lifetime);
    operation->logical_known = true;
    operation->allocated_bytes = cg_sat_add(operation->allocated_bytes, bytes);
    operation->storage_count++;
    if (!profile->interval_known) return;
    uint64_t from = start > profile->start ? start : profile->start;
    uint64_t to = end < profile->end ? end : profile->end;
    uint64_t length = cg_sat_sub(to, from);
    operation->live_duration_ns = cg_sat_add(operation->live_duration_ns, length);
    u128 product = (u128)bytes * length, sum;
    operation->byte_nanoseconds =
        __builtin_add_overflow(operation->byte_nanoseconds, product, &sum) ? ~(u128)0 : sum;
    if (start < profile->end && end > profile->end)
        operation->retained_bytes = cg_sat_add(operation->retained_bytes, bytes);
}

static void add_logical(struct profile *profile)
{
    const struct logical_memory *memory = profile->inputs->memory;
    struct activations *activations = profile->activations;
    for (size_t i = 0; i < memory->lifetime_count; i++) {
        uint32_t op = profile->links[i];
        if (op == CG_NONE || !is_operation(profile->op_flags[op]) || !contributes(profile, i, op)) continue;
        add_lifetime(profile, &memory->lifetimes[i], find_operation(activations, op));
    }
    for (size_t i = 0; i < activations->operation_count; i++) {
        struct activation_operation *operation = &activations->operations[i];
        operation->interval_known = operation->logical_known && profile->interval_known;
        operation->retained_known = operation->interval_known && profile->end_observed;
    }
}

/* ---- states (10.7) ---- */

__attribute__((format(printf, 4, 5))) static void set_state(struct activation_state *state,
                                                            enum capability_level level, const char *source,
                                                            const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    state->level = level;
    state->source = level == CAPABILITY_UNAVAILABLE ? "none" : source;
    vsnprintf(state->reason, sizeof state->reason, format, arguments);
    va_end(arguments);
}

static void set_coverage(struct profile *profile)
{
    struct activations *activations = profile->activations;
    enum cg_value_COVERAGE declared = profile->trace->run.capture_contract.activations;
    enum capability_level level = capability_observed(declared, activations->operation_count);
    if (level == CAPABILITY_COMPLETE && activations->unattributed_storages) level = CAPABILITY_PARTIAL;
    const char *source = "activation category links";
    unsigned long long operations = activations->operation_count, lost = activations->unattributed_storages;
    if (level == CAPABILITY_INVALID)
        set_state(&activations->coverage, level, source,
                  "complete activations are declared but no operation is linked to one");
    else if (level == CAPABILITY_UNAVAILABLE)
        set_state(&activations->coverage, level, source, "no operation is linked to an activation");
    else if (lost)
        set_state(&activations->coverage, level, source,
                  "%llu operations are linked to activations; %llu activation storages belong to none",
                  operations, lost);
    else
        set_state(&activations->coverage, level, source, "%llu operations are linked to activations%s",
                  operations,
                  level == CAPABILITY_COMPLETE ? ", all that the capture declares"
                                               : "; complete activations are not declared");
}

/* k of the n operations have a metric: complete needs all of them, complete coverage and a complete plane. */
static enum capability_level metric_level(const struct profile *profile, uint64_t count, bool plane_complete)
{
    const struct activations *activations = profile->activations;
    if (count == 0) return CAPABILITY_UNAVAILABLE;
    bool complete = plane_complete && count == activations->operation_count &&
                    activations->coverage.level == CAPABILITY_COMPLETE;
    return complete ? CAPABILITY_COMPLETE : CAPABILITY_PARTIAL;
}

static void set_metric(struct profile *profile, struct activation_state *state, enum capability_level level,
                       const char *source, uint64_t count, const char *metric)
{
    set_state(state, level, source, "%llu of %llu activation operations have %s", (unsigned long long)count,
              (unsigned long long)profile->activations->operation_count, metric);
}

static void set_metrics(struct profile *profile)
{
    struct activations *activations = profile->activations;
    uint64_t timed = 0, dense = 0, logical = 0, operations = activations->operation_count;
    for (size_t i = 0; i < activations->operation_count; i++) {
        const struct activation_operation *operation = &activations->operations[i];
        timed += operation->timings.count > 0;
        dense += profile->trace->op.output_dense_bytes_set[operation->op];
        logical += operation->logical_known;
    }
    set_metric(profile, &activations->host_time, metric_level(profile, operations, true), "trace op events",
               operations, "a host duration");

    enum capability_level plane = profile->inputs->nested_device_time;
    enum capability_level level = metric_level(profile, timed, plane == CAPABILITY_COMPLETE);
    if (!timed && plane == CAPABILITY_INVALID) level = CAPABILITY_INVALID;
    set_metric(profile, &activations->device_time, level, "device intervals", timed,
               "a device time of their own");

    set_metric(profile, &activations->dense_output, metric_level(profile, dense, true),
               "dense tensor footprints", dense, "a known dense footprint");

    plane = profile->inputs->logical_memory_coverage;
    level = metric_level(profile, logical, plane == CAPABILITY_COMPLETE);
    if (!capability_available(plane)) level = plane;
    set_metric(profile, &activations->logical_memory, level, "storage lifetime events", logical,
               "linked logical storage");
}

/* A capture that did not complete is diagnostic only (5.5, rule 2). */
static void lower(struct activation_state *state)
{
    if (state->level != CAPABILITY_COMPLETE) return;
    char reason[sizeof state->reason];
    snprintf(reason, sizeof reason, "%s", state->reason);
    set_state(state, CAPABILITY_PARTIAL, state->source, "%.100s; the capture failed: diagnostic only",
              reason);
}

static void set_states(struct profile *profile)
{
    struct activations *activations = profile->activations;
    struct activation_state *states[] = {&activations->coverage, &activations->host_time,
                                         &activations->device_time, &activations->dense_output,
                                         &activations->logical_memory};
    const struct health *health = profile->inputs->health;
    set_state(&activations->physical_memory_attribution, CAPABILITY_UNAVAILABLE, "none",
              "samples of device memory name neither operations nor activations");
    if (health->structurally_valid) {
        set_coverage(profile);
        set_metrics(profile);
    }
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        if (!health->structurally_valid)
            set_state(states[i], CAPABILITY_INVALID, CG_SCHEMA_TRACE_10 " validation",
                      "the trace is not structurally valid");
        else if (!health->capture_complete)
            lower(states[i]);
    }
}

bool activations_make(const struct cg_trace *trace, const struct activation_inputs *inputs,
                      struct activations *activations)
{
    *activations = (struct activations){0};
    struct profile profile = {.trace = trace, .inputs = inputs, .activations = activations};
    bool made = true;
    if (inputs->health->structurally_valid) {
        find_interval(&profile);
        made = mark_measured(&profile) && classify(&profile) && list_operations(&profile);
        if (made) add_logical(&profile);
    }
    if (made) set_states(&profile);
    free(profile.in_measured);
    free(profile.op_flags);
    free(profile.links);
    free(profile.span_ops);
    free(profile.first_timing);
    if (!made) activations_free(activations);
    return made;
}

void activations_free(struct activations *activations)
{
    free(activations->operations);
    *activations = (struct activations){0};
}
