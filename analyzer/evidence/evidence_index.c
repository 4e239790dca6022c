#include "analyzer/evidence/evidence_index.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/evidence/graph_private.h"
#include "analyzer/planes/array.h"
#include "analyzer/planes/health_codes.h"
#include "analyzer/trace/index_check.h"
#include "analyzer/trace/index_walk.h"

/* ---- the arrays ---- */

struct plane_array {
    const char *name;
    void *at; /* address of the pointer to it */
    size_t element;
    uint64_t count;
};
typedef bool plane_visitor(void *context, const struct plane_array *array);

#define STRUCTS(T)                                                                                           \
    T(struct health_issue, 4 * sizeof(uint32_t) + sizeof(uint64_t))                                          \
    T(struct timing_span, 4 * sizeof(uint32_t) + 2 * sizeof(struct cg_list) + 2 * sizeof(uint64_t))          \
    T(struct timing_clock, 2 * sizeof(cg_str) + 2 * sizeof(uint64_t))                                        \
    T(struct lifetime, 2 * sizeof(uint32_t) + sizeof(struct cg_list))                                        \
    T(struct memory_device, sizeof(cg_str) + sizeof(bool) + 3 + 5 * sizeof(uint64_t))                        \
    T(struct physical_device, sizeof(cg_str) + 4 * sizeof(bool) + 12 * sizeof(uint64_t))
STRUCTS(INDEX_ASSERT)
#define VISIT(name, array, count)                                                                            \
    (going = going && visit(context, &(struct plane_array){name, &(array),                                   \
                                                           INDEX_ELEMENT_SIZE(array, STRUCTS), count}))

/* What is stored beside the arrays, and what that consists of. */
#define PLANES(T)                                                                                            \
    T(struct health, 2 * sizeof(bool) + sizeof(uint16_t) + sizeof(uint32_t) + sizeof(void *) +               \
                         sizeof(size_t) + sizeof(struct health_coverage))                                    \
    T(struct timing,                                                                                         \
      sizeof(enum cg_value_COVERAGE) + sizeof(uint32_t) + 3 * sizeof(void *) + 2 * sizeof(size_t))           \
    T(struct logical_memory,                                                                                 \
      4 * sizeof(bool) + sizeof(uint32_t) + 6 * sizeof(uint64_t) + 5 * sizeof(void *) + 2 * sizeof(size_t))  \
    T(struct physical_memory, sizeof(bool) + 7 + 2 * sizeof(void *) + sizeof(size_t))                        \
    T(struct node_memory, 7 * sizeof(void *))                                                                \
    T(struct host_cost, sizeof(uint32_t) + sizeof(enum host_scope) + 4 * sizeof(uint64_t))                   \
    T(struct device_cost, 2 * sizeof(uint32_t))                                                              \
    T(struct graph,                                                                                          \
      4 * sizeof(uint32_t) + 5 * sizeof(void *) + sizeof(struct node_memory) +                               \
          GRAPH_SUMMARY_ROWS * (sizeof(struct host_cost) + sizeof(struct device_cost) + sizeof(uint32_t)) +  \
          4 * sizeof(size_t))                                                                                \
    T(struct evidence_planes, sizeof(struct health) + sizeof(struct timing) +                                \
                                  sizeof(struct logical_memory) + sizeof(struct physical_memory) +           \
                                  sizeof(struct graph) + 4 * sizeof(uint64_t))
PLANES(INDEX_ASSERT)

/* Calls visit for each, until it answers false. */
static bool walk(const struct cg_trace *trace, struct evidence_planes *planes, plane_visitor *visit,
                 void *context)
{
    struct logical_memory *logical = &planes->logical;
    struct physical_memory *physical = &planes->physical;
    struct graph *graph = &planes->graph;
    struct node_memory *nodes = &graph->memory;
    uint64_t spans = planes->has_graph ? trace->span.rows : 0, ops = planes->has_graph ? trace->op.rows : 0;
    bool going = true;

    VISIT("health.issues", planes->health.issues, planes->health.issue_count);
    VISIT("timing.spans", planes->timing.spans, planes->timing.span_count);
    VISIT("timing.clocks", planes->timing.clocks, planes->timing.clock_count);
    VISIT("timing.strings", planes->timing.strings, planes->timing_strings);
    VISIT("logical.lifetimes", logical->lifetimes, logical->lifetime_count);
    VISIT("logical.tensor_rows", logical->tensor_rows, planes->tensor_rows);
    VISIT("logical.devices", logical->devices, logical->device_count);
    VISIT("logical.order", logical->order, planes->ordered ? trace->memory.rows : 0);
    VISIT("physical.order", physical->order, trace->device_memory.rows);
    VISIT("physical.devices", physical->devices, physical->device_count);
    VISIT("graph.effective_ns", graph->effective_ns, spans);
    VISIT("graph.self_ns", graph->self_ns, spans);
    VISIT("graph.allocated_set", nodes->allocated_set, spans);
    VISIT("graph.allocated_bytes", nodes->allocated_bytes, spans);
    VISIT("graph.subtree_set", nodes->subtree_set, spans);
    VISIT("graph.peak_live_bytes", nodes->peak_live_bytes, spans);
    VISIT("graph.residual_bytes", nodes->residual_bytes, spans);
    VISIT("graph.op_allocated_set", nodes->op_allocated_set, ops);
    VISIT("graph.op_allocated_bytes", nodes->op_allocated_bytes, ops);
    return going;
}

/* ---- writing ---- */

static bool add(void *arrays, const struct plane_array *array)
{
    const void *bytes;

    memcpy(&bytes, array->at, sizeof bytes);
    return index_arrays_add(arrays, array->name, bytes, array->count * array->element);
}

static bool forget(void *context, const struct plane_array *array)
{
    static const void *const nothing = NULL;

    (void)context;
    memcpy(array->at, &nothing, sizeof nothing);
    return true;
}

static uint64_t furthest(struct cg_list list, uint64_t end)
{
    uint64_t own = (uint64_t)list.first + list.count;
    return own > end ? own : end;
}

bool evidence_index_add(const struct evidence *evidence, struct evidence_planes *copy,
                        struct index_arrays *arrays)
{
    const struct timing *timing = &evidence->timing;
    const struct logical_memory *logical = &evidence->logical;

    memset(copy, 0, sizeof *copy);
    copy->health = evidence->health;
    copy->timing = *timing;
    copy->logical = *logical;
    copy->physical = evidence->physical;
    copy->graph = evidence->graph;
    copy->has_graph = evidence->has_graph;
    copy->ordered = logical->order != NULL;
    for (size_t i = 0; i < timing->span_count; i++) {
        copy->timing_strings = furthest(timing->spans[i].backends, copy->timing_strings);
        copy->timing_strings = furthest(timing->spans[i].streams, copy->timing_strings);
    }
    for (size_t i = 0; i < logical->lifetime_count; i++)
        copy->tensor_rows = furthest(logical->lifetimes[i].tensors, copy->tensor_rows);
    if (!walk(evidence->trace, copy, add, arrays)) return false;
    walk(evidence->trace, copy, forget, NULL);
    copy->graph.op_index = NULL;
    copy->graph.tensors = NULL;
    copy->graph.edges = NULL;
    copy->graph.edge_count = 0;
    return index_arrays_add(arrays, "planes", copy, sizeof *copy);
}

/* ---- reading ---- */

static bool take(void *file, const struct plane_array *array)
{
    const void *bytes = NULL;

    if (array->count > SIZE_MAX / 2 / array->element) return false;
    if (array->count > 0) {
        bytes = index_file_array(file, array->name, array->count * array->element);
        if (!bytes) return false;
    }
    memcpy(array->at, &bytes, sizeof bytes);
    return true;
}

static bool good_string(const struct cg_trace *trace, cg_str string)
{
    return string != CG_ABSENT && string <= trace_string_count(trace);
}

static bool within(struct cg_list list, uint64_t count)
{
    return (uint64_t)list.first + list.count <= count;
}

static bool check_health(const struct cg_trace *trace, const struct health *health)
{
    uint32_t strings = trace_string_count(trace);
    bool good =
        index_flag(&health->structurally_valid) && index_flag(&health->capture_complete) &&
        (health->gradient_contract_fault == CG_NONE || health->gradient_contract_fault < health->issue_count);

    for (size_t i = 0; good && i < health->issue_count; i++) {
        const struct health_issue *issue = &health->issues[i];
        good = issue->severity <= HEALTH_WARNING && issue->code < HEALTH_CODE_COUNT &&
               issue->detail < HEALTH_DETAIL_COUNT && issue->subject <= strings && issue->object <= strings;
    }
    return good;
}

/* In the order of the spans' ids, then of devices and clocks: rows are searched by that. */
static bool in_order(const struct cg_trace *trace, const struct timing_span *before,
                     const struct timing_span *span)
{
    uint32_t a = trace_span(trace, before->span_id), b = trace_span(trace, span->span_id);
    if (a != b || before->span_id != span->span_id)
        return a < b || (a == b && trace_compare(trace, before->span_id, span->span_id) < 0);
    int order = trace_compare(trace, before->device, span->device);
    return order < 0 || (order == 0 && trace_compare(trace, before->clock_id, span->clock_id) < 0);
}

static bool check_timing(const struct cg_trace *trace, const struct evidence_planes *planes)
{
    const struct timing *timing = &planes->timing;
    bool good = (unsigned)timing->device_coverage < CG_COVERAGE_COUNT && timing->span_count < CG_NONE &&
                index_check_numbers(timing->strings, planes->timing_strings, 0, 1, trace_string_count(trace));

    for (size_t i = 0; good && i < timing->span_count; i++) {
        const struct timing_span *span = &timing->spans[i];
        good = good_string(trace, span->span_id) && good_string(trace, span->device) &&
               good_string(trace, span->clock_id) && within(span->backends, planes->timing_strings) &&
               within(span->streams, planes->timing_strings) &&
               (!planes->has_graph || i == 0 || in_order(trace, span - 1, span));
    }
    for (size_t i = 0; good && i < timing->clock_count; i++)
        good = good_string(trace, timing->clocks[i].device) && good_string(trace, timing->clocks[i].clock_id);
    return good;
}

/* Every row's device is one of these, each of which is there once. */
static bool check_devices(const struct cg_trace *trace, const cg_str *devices, size_t count,
                          const cg_str *column, size_t rows)
{
    uint8_t *known = array_zeroed((size_t)trace_string_count(trace) + 1, sizeof *known);
    bool good = known != NULL;

    for (size_t i = 0; good && i < count; i++) {
        good = good_string(trace, devices[i]) && !known[devices[i]];
        if (good) known[devices[i]] = 1;
    }
    uint8_t all = good;
    for (size_t i = 0; good && i < rows; i++)
        all &= known[column[i]];
    free(known);
    return all;
}

/* All rows in the order of their times: the list has each of them once. NULL: they are in that order. */
static bool check_order(const uint32_t *order, const uint64_t *times, size_t rows)
{
    bool good = true;

    if (!order) {
        for (size_t i = 1; i < rows; i++)
            good &= times[i - 1] <= times[i];
        return good;
    }
    if (!index_check_numbers(order, rows, 1, 1, (uint32_t)rows)) return false;
    for (size_t i = 1; i < rows; i++)
        good &= times[order[i - 1]] < times[order[i]] ||
                (times[order[i - 1]] == times[order[i]] && order[i - 1] < order[i]);
    return good;
}

/* Each is from a record that allocates to one that frees the same storage, and no record is in two. */
static bool check_lifetimes(const struct cg_trace *trace, const struct evidence_planes *planes)
{
    const struct logical_memory *logical = &planes->logical;
    const struct cg_memory *records = &trace->memory;
    uint32_t rows = (uint32_t)records->rows;
    uint8_t *seen = array_zeroed(rows, sizeof *seen);
    bool good = seen != NULL;

    for (size_t i = 0; good && i < logical->lifetime_count; i++) {
        const struct lifetime *lifetime = &logical->lifetimes[i];
        uint32_t begin = lifetime->row, end = lifetime->end_row;
        good = begin < rows && !seen[begin] && records->action[begin] == CG_ACTION_ALLOC &&
               within(lifetime->tensors, planes->tensor_rows) &&
               (end == CG_NONE || (end < rows && !seen[end] && records->action[end] == CG_ACTION_FREE &&
                                   records->storage_id[end] == records->storage_id[begin] &&
                                   records->device[end] == records->device[begin]));
        if (good) seen[begin] = 1;
        if (good && end != CG_NONE) seen[end] = 1;
    }
    free(seen);
    return good;
}

static bool check_logical(const struct cg_trace *trace, const struct evidence_planes *planes)
{
    const struct logical_memory *logical = &planes->logical;
    const struct cg_memory *records = &trace->memory;
    cg_str *devices = array_raw(logical->device_count, sizeof *devices);
    bool good =
        devices && index_flag(&logical->present) && index_flag(&logical->peak_known) &&
        logical->present == (records->rows > 0) &&
        index_check_numbers(logical->tensor_rows, planes->tensor_rows, 1, 1, (uint32_t)records->rows) &&
        check_order(logical->order, records->timestamp_ns, records->rows) && check_lifetimes(trace, planes);

    for (size_t i = 0; good && i < logical->device_count; i++) {
        devices[i] = logical->devices[i].device;
        good = index_flag(&logical->devices[i].peak_known);
    }
    good = good && check_devices(trace, devices, logical->device_count, records->device, records->rows);
    free(devices);
    return good;
}

static bool check_physical(const struct cg_trace *trace, const struct physical_memory *physical)
{
    const struct cg_device_memory *records = &trace->device_memory;
    cg_str *devices = array_raw(physical->device_count, sizeof *devices);
    bool good = devices && index_flag(&physical->present) && physical->present == (records->rows > 0) &&
                index_check_numbers(physical->order, records->rows, 1, 1, (uint32_t)records->rows);

    for (size_t i = 0; good && i < physical->device_count; i++) {
        const struct physical_device *device = &physical->devices[i];
        devices[i] = device->device;
        good = index_flag(&device->used_known) && index_flag(&device->reserved_known) &&
               index_flag(&device->free_known) && index_flag(&device->capacity_known);
    }
    good = good && check_devices(trace, devices, physical->device_count, records->device, records->rows);
    free(devices);
    return good;
}

static bool spans_known(const struct cg_trace *trace, const cg_str *ids, size_t rows)
{
    bool known = true;
    for (size_t i = 0; i < rows; i++)
        known &= trace_span(trace, ids[i]) != CG_NONE;
    return known;
}

static void mark(void *known, cg_str id, uint32_t event)
{
    (void)event;
    ((uint8_t *)known)[id] = 1;
}

static bool edges_known(const struct cg_trace *trace)
{
    const struct cg_edges *edges = &trace->edge;
    uint8_t *tensors = array_zeroed((size_t)trace_string_count(trace) + 1, sizeof *tensors);
    bool known = tensors != NULL;

    if (known) graph_each_tensor(trace, mark, tensors);
    for (size_t i = 0; known && i < edges->rows; i++)
        known = edges->edge_kind[i] == CG_EDGE_KIND_CALL
                    ? trace_span(trace, edges->from_span[i]) != CG_NONE &&
                          trace_span(trace, edges->to_span[i]) != CG_NONE
                    : tensors[edges->from_tensor[i]] && tensors[edges->to_tensor[i]];
    free(tensors);
    return known;
}

/* What a graph's code takes for granted, since only valid traces have one: each record is of a span that is
 * there, edges are between nodes, and the spans are a tree. */
static bool is_tree(const struct cg_trace *trace)
{
    struct span_walk walk;
    size_t roots = 0;
    bool good = spans_known(trace, trace->op.span_id, trace->op.rows) &&
                spans_known(trace, trace->tensor.span_id, trace->tensor.rows) &&
                spans_known(trace, trace->tensor_stats.span_id, trace->tensor_stats.rows) &&
                spans_known(trace, trace->memory.span_id, trace->memory.rows) &&
                spans_known(trace, trace->device_interval.span_id, trace->device_interval.rows) &&
                (trace->edge.rows == 0 || edges_known(trace));

    if (!good || !span_walk_make(trace, &walk)) return false;
    for (size_t i = 0; i < trace->span.rows; i++) {
        roots += trace->span.parent[i] == CG_NONE;
        good = good && !walk.cyclic[i] && trace->span.closed[i];
    }
    span_walk_free(&walk);
    return good && roots == 1;
}

static bool check_graph(const struct cg_trace *trace, const struct evidence_planes *planes)
{
    const struct graph *graph = &planes->graph;
    const struct node_memory *nodes = &graph->memory;
    size_t spans = trace->span.rows;
    bool good = graph->span_count == spans && graph->op_count == trace->op.rows && graph->measured < spans &&
                graph->host_count <= GRAPH_SUMMARY_ROWS && graph->device_count <= GRAPH_SUMMARY_ROWS &&
                graph->heaviest_count <= GRAPH_SUMMARY_ROWS &&
                index_check_bytes(nodes->allocated_set, spans, 1) &&
                index_check_bytes(nodes->subtree_set, spans, 1) &&
                index_check_bytes(nodes->op_allocated_set, trace->op.rows, 1);

    for (size_t i = 0; good && i < graph->host_count; i++)
        good = graph->host[i].span < spans && (unsigned)graph->host[i].scope <= SCOPE_CONCURRENT_OVERLAP;
    for (size_t i = 0; good && i < graph->device_count; i++)
        good = graph->device[i].span < spans && graph->device[i].timing < planes->timing.span_count;
    for (size_t i = 0; good && i < graph->heaviest_count; i++)
        good = graph->heaviest[i] < spans;
    return good;
}

static bool check(const struct cg_trace *trace, const struct evidence_planes *planes)
{
    const struct health *health = &planes->health;

    return check_health(trace, health) && check_timing(trace, planes) && check_logical(trace, planes) &&
           check_physical(trace, &planes->physical) &&
           planes->has_graph == (health->structurally_valid && health->capture_complete) &&
           (!planes->has_graph || (check_graph(trace, planes) && is_tree(trace)));
}

bool evidence_index_take(struct evidence *evidence)
{
    const struct cg_trace *trace = evidence->trace;
    struct evidence_planes planes;
    const void *copy = trace->index ? index_file_array(trace->index, "planes", sizeof planes) : NULL;

    if (!copy) return false;
    memcpy(&planes, copy, sizeof planes);
    walk(trace, &planes, forget, NULL);
    planes.logical.left_out = NULL;
    planes.graph.op_index = NULL;
    planes.graph.tensors = NULL;
    planes.graph.edges = NULL;
    planes.graph.edge_count = 0;
    if (!walk(trace, &planes, take, trace->index) || !check(trace, &planes)) return false;
    evidence->health = planes.health;
    evidence->timing = planes.timing;
    evidence->logical = planes.logical;
    evidence->physical = planes.physical;
    if (planes.has_graph) evidence->graph = planes.graph;
    evidence->indexed = true;
    return true;
}

void evidence_index_release(struct evidence *evidence)
{
    struct evidence_planes planes = {.health = evidence->health,
                                     .timing = evidence->timing,
                                     .logical = evidence->logical,
                                     .physical = evidence->physical,
                                     .graph = evidence->graph};

    walk(evidence->trace, &planes, forget, NULL);
    evidence->health = planes.health;
    evidence->timing = planes.timing;
    evidence->logical = planes.logical;
    evidence->physical = planes.physical;
    evidence->graph = planes.graph;
}
