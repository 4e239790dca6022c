#include "analyzer/planes/oom.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/planes/array.h"
#include "analyzer/planes/order.h"
#include "analyzer/planes/storage_groups.h"

/* ---- the failures ---- */

bool oom_failures_make(const struct cg_trace *trace, struct oom_failures *failures)
{
    const struct cg_ops *op = &trace->op;
    *failures = (struct oom_failures){0};
    failures->ops = array_raw(trace->out_of_memory_count, sizeof *failures->ops);
    if (!failures->ops || !order_by_time(op->timestamp_ns, op->rows, &failures->op_order) ||
        !order_by_time(trace->device_memory.timestamp_ns, trace->device_memory.rows,
                       &failures->sample_order)) {
        oom_failures_free(failures);
        return false;
    }
    for (size_t place = 0; place < op->rows; place++) {
        uint32_t row = ordered_row(failures->op_order, place);
        if (op->error_set[row] && op->error[row] == CG_OUT_OF_MEMORY) failures->ops[failures->count++] = row;
    }
    return true;
}

void oom_failures_free(struct oom_failures *failures)
{
    free(failures->ops);
    free(failures->op_order);
    free(failures->sample_order);
    *failures = (struct oom_failures){0};
}

/* The first place in a time order whose time is not before, or, with after, is after the given one. */
static size_t place_of(const uint64_t *times, const uint32_t *order, size_t rows, uint64_t time, bool after)
{
    size_t low = 0, high = rows;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        uint64_t at = times[ordered_row(order, middle)];
        if (after ? at <= time : at < time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- what the device had ---- */

static void find_sample(const struct cg_trace *trace, const struct oom_failures *failures, cg_str device,
                        struct oom_detail *detail)
{
    const struct cg_device_memory *samples = &trace->device_memory;
    detail->sample = CG_NONE;
    for (size_t i =
             place_of(samples->timestamp_ns, failures->sample_order, samples->rows, detail->time_ns, false);
         i < samples->rows && detail->sample == CG_NONE; i++) {
        uint32_t row = ordered_row(failures->sample_order, i);
        if (samples->device[row] == device) detail->sample = row;
    }
}

/* Memory records of the device from the call on, up to the sample. */
static void count_changes(const struct cg_trace *trace, const struct logical_memory *memory, cg_str device,
                          struct oom_detail *detail)
{
    const struct cg_memory *records = &trace->memory;
    if (detail->sample == CG_NONE) return;
    uint64_t until = trace->device_memory.timestamp_ns[detail->sample];
    for (size_t i = place_of(records->timestamp_ns, memory->order, records->rows, detail->time_ns, true);
         i < records->rows; i++) {
        uint32_t row = ordered_row(memory->order, i);
        if (records->timestamp_ns[row] > until) break;
        detail->changes += records->device[row] == device;
    }
}

static enum oom_verdict judge(const struct cg_trace *trace, uint32_t op, uint32_t sample)
{
    const struct cg_device_memory *samples = &trace->device_memory;
    if (sample == CG_NONE || !samples->free_bytes_set[sample] || !trace->op.requested_bytes_set[op])
        return OOM_NOT_KNOWN;
    return trace->op.requested_bytes[op] > samples->free_bytes[sample] ? OOM_MORE_THAN_FREE
                                                                       : OOM_FITS_IN_FREE;
}

/* ---- what was alive ---- */

size_t oom_largest(const struct live_index *index, const uint32_t *lifetimes, size_t count,
                   uint32_t largest[OOM_LARGEST])
{
    const uint64_t *bytes = index->trace->memory.bytes;
    const struct lifetime *all = index->memory->lifetimes;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        size_t at = kept;
        while (at > 0 && bytes[all[largest[at - 1]].row] < bytes[all[lifetimes[i]].row])
            at--;
        if (at == OOM_LARGEST) continue;
        if (kept < OOM_LARGEST) kept++;
        memmove(&largest[at + 1], &largest[at], (kept - 1 - at) * sizeof *largest);
        largest[at] = lifetimes[i];
    }
    return kept;
}

/* Puts the driver's first, in their order, if there are any. */
static bool split_layers(const struct live_index *index, struct oom_detail *detail)
{
    size_t count = detail->live_count, drivers = 0, next = 0;
    uint32_t *split = array_raw(count, sizeof *split);
    if (!split) return false;
    for (size_t i = 0; i < count; i++)
        drivers += storage_is_drivers(index->trace, index->memory->lifetimes[detail->live[i]].row);
    for (int turn = 1; turn >= 0; turn--)
        for (size_t i = 0; i < count; i++)
            if (storage_is_drivers(index->trace, index->memory->lifetimes[detail->live[i]].row) == turn)
                split[next++] = detail->live[i];
    free(detail->live);
    detail->live = split;
    if (drivers > 0) detail->live_count = drivers;
    detail->framework_count = count - detail->live_count;
    return true;
}

static void sum_live(const struct cg_trace *trace, const struct logical_memory *memory,
                     struct oom_detail *detail)
{
    cg_str pool = trace_find(trace, "pool", strlen("pool"));
    for (size_t i = 0; i < detail->live_count; i++) {
        uint32_t row = memory->lifetimes[detail->live[i]].row;
        uint64_t bytes = trace->memory.bytes[row];
        detail->live_bytes = cg_sat_add(detail->live_bytes, bytes);
        if (pool != CG_ABSENT && trace->memory.memory_kind[row] == pool)
            detail->live_pool_bytes = cg_sat_add(detail->live_pool_bytes, bytes);
    }
}

/* ---- what happened before ---- */

/* Is the memory record what this operation did? It is then stamped with its start or its end. */
static bool belongs(const struct cg_trace *trace, uint32_t memory_row, uint32_t op)
{
    const struct cg_memory *records = &trace->memory;
    uint64_t time = records->timestamp_ns[memory_row], start = trace->op.timestamp_ns[op];
    return records->tid_set[memory_row] == trace->op.tid_set[op] &&
           (!trace->op.tid_set[op] || records->tid[memory_row] == trace->op.tid[op]) &&
           records->op_name[memory_row] == trace->op.op_name[op] &&
           (time == start || time == cg_sat_add(start, trace->op.duration_ns[op]));
}

/* Joins the operation with an event that it made; false when it made none of those taken. */
static bool join_op(const struct cg_trace *trace, uint32_t op, struct oom_detail *detail)
{
    for (size_t i = 0; i < detail->event_count; i++) {
        struct oom_event *event = &detail->events[i];
        if (event->memory_row == CG_NONE || event->op_row != CG_NONE ||
            !belongs(trace, event->memory_row, op))
            continue;
        event->op_row = op;
        return true;
    }
    return false;
}

/* An allocation's operation began before it: so many operations further back it is looked for. */
enum { PARTNER_SEARCH = 64 };

/* Backwards through operations and memory records at once; of equal times memory records come later, so that
 * they are there when their operation is met. */
static void take_events(const struct cg_trace *trace, const struct logical_memory *memory,
                        const struct oom_failures *failures, uint32_t failed, struct oom_detail *detail)
{
    const struct cg_memory *records = &trace->memory;
    const uint64_t *op_times = trace->op.timestamp_ns;
    size_t op = place_of(op_times, failures->op_order, trace->op.rows, detail->time_ns, true),
           record = place_of(records->timestamp_ns, memory->order, records->rows, detail->time_ns, true);
    bool over = false; /* no room for more: only operations of records that were taken are looked for */
    unsigned looked_for = 0;
    while (op > 0 || (record > 0 && !over)) {
        uint32_t op_row = op > 0 ? ordered_row(failures->op_order, op - 1) : CG_NONE,
                 record_row = record > 0 ? ordered_row(memory->order, record - 1) : CG_NONE;
        if (over && (op_row == CG_NONE || looked_for++ == PARTNER_SEARCH)) break;
        bool take_record = !over && record_row != CG_NONE &&
                           (op_row == CG_NONE || records->timestamp_ns[record_row] >= op_times[op_row]);
        struct oom_event event =
            take_record ? (struct oom_event){records->timestamp_ns[record_row], record_row, CG_NONE}
                        : (struct oom_event){op_times[op_row], CG_NONE, op_row};
        if (take_record)
            record--;
        else
            op--;
        if (!take_record && (op_row == failed || join_op(trace, op_row, detail) || over)) continue;
        detail->events[detail->event_count++] = event;
        over = detail->event_count == OOM_EVENTS;
    }
    for (size_t i = 0; i < detail->event_count / 2; i++) {
        struct oom_event swap = detail->events[i];
        detail->events[i] = detail->events[detail->event_count - 1 - i];
        detail->events[detail->event_count - 1 - i] = swap;
    }
}

void oom_detail_free(struct oom_detail *detail)
{
    free(detail->live);
    *detail = (struct oom_detail){0};
}

bool oom_detail_make(const struct live_index *index, const struct oom_failures *failures, uint32_t op,
                     struct oom_detail *detail)
{
    const struct cg_trace *trace = index->trace;
    const struct logical_memory *memory = index->memory;
    cg_str device = trace->op.device[op];
    *detail = (struct oom_detail){.time_ns = trace->op.timestamp_ns[op]};
    if (!live_index_find(index, device, detail->time_ns, &detail->live, &detail->live_count)) return false;
    if (!split_layers(index, detail)) {
        oom_detail_free(detail);
        return false;
    }
    find_sample(trace, failures, device, detail);
    count_changes(trace, memory, device, detail);
    detail->verdict = judge(trace, op, detail->sample);
    sum_live(trace, memory, detail);
    take_events(trace, memory, failures, op, detail);
    return true;
}
