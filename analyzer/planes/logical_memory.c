/* Storages from allocation to free, live bytes over time and their peaks (doc/spec/planes.md 3).
 *
 * Live bytes are exact 128-bit totals, clamped where they are compared or given out, which is what a
 * saturating sum over the live storages would give at every point (3.7). */
#include <stdlib.h>
#include <string.h>

#include "analyzer/planes/array.h"
#include "analyzer/planes/live_map.h"
#include "analyzer/planes/order.h"
#include "analyzer/planes/pair_map.h"
#include "analyzer/planes/planes.h"

typedef unsigned __int128 u128;

static uint64_t clamp(u128 bytes)
{
    return bytes > UINT64_MAX ? UINT64_MAX : (uint64_t)bytes;
}

/* ---- making the profile ---- */

struct device_state {
    struct memory_device device;
    u128 live, total;
    uint64_t touched; /* the point, from 1, at which a record last named the device */
};

/* A tensor id seen with a lifetime after its allocation, in time order. */
struct later_tensor {
    uint32_t lifetime, row;
};

struct maker {
    const struct cg_trace *trace;
    struct logical_memory *memory;
    struct live_map live;        /* to lifetime */
    struct pair_map device_rows; /* (device, 0) to row of devices */
    struct device_state *devices;
    size_t device_capacity;
    uint32_t last_device; /* row of the one that the record before named */
    struct later_tensor *later;
    size_t later_count, later_capacity;
    uint32_t *touched; /* devices named by records of this point */
    size_t touched_count, touched_capacity;
    u128 live_bytes, total_bytes;
    uint64_t last_start; /* of the lifetime before */
    bool tied;           /* several begin at one time */
};

static bool several_devices(const struct maker *maker)
{
    return maker->memory->device_count > 1;
}

/* What is known of the only device is what is known of all together. */
static void settle_only_device(struct maker *maker)
{
    const struct logical_memory *memory = maker->memory;
    struct device_state *only = &maker->devices[0];
    only->live = maker->live_bytes;
    only->total = maker->total_bytes;
    only->device.storage_allocation_count = memory->storage_allocation_count;
    only->device.matched_storage_free_count = memory->matched_storage_free_count;
    only->device.peak_known = memory->peak_known;
    only->device.peak_live_bytes = memory->peak_live_bytes;
    only->device.peak_timestamp_ns = memory->peak_timestamp_ns;
}

static bool touch(struct maker *maker, uint32_t row)
{
    uint64_t point = maker->memory->point_count + 1;
    if (maker->devices[row].touched == point) return true;
    if (!array_room(&maker->touched, maker->touched_count, &maker->touched_capacity, sizeof *maker->touched))
        return false;
    maker->devices[row].touched = point;
    maker->touched[maker->touched_count++] = row;
    return true;
}

/* Makes a device. Sums of their own are kept from the second one on, as most runs have one alone: that is a
 * third of the time of a record. */
static bool add_device(struct maker *maker, cg_str name)
{
    size_t rows = maker->memory->device_count;
    if (!array_room(&maker->devices, rows, &maker->device_capacity, sizeof *maker->devices)) return false;
    maker->devices[rows] = (struct device_state){.device.device = name};
    if (rows == 1) settle_only_device(maker);
    maker->memory->device_count++;
    /* The first may have been named at this point already. */
    return rows != 1 || touch(maker, 0);
}

/* The device's row, made when it is new, and entered in the list of those named at this point; CG_NONE when
 * memory is short. */
static uint32_t touch_device(struct maker *maker, cg_str name)
{
    if (maker->memory->device_count == 0 || maker->devices[maker->last_device].device.device != name) {
        bool made;
        uint32_t row = (uint32_t)maker->memory->device_count;
        struct pair_entry *entry = pair_map_insert(&maker->device_rows, name, 0, &made);
        if (!entry || (made && !add_device(maker, name))) return CG_NONE;
        if (made) entry->value = row;
        maker->last_device = entry->value;
    }
    return !several_devices(maker) || touch(maker, maker->last_device) ? maker->last_device : CG_NONE;
}

/* The set of a lifetime's tensor ids is made when all is read; the usual case, one id for all, costs nothing
 * here. */
static bool add_tensor(struct maker *maker, uint32_t lifetime, uint32_t row)
{
    const cg_str *ids = maker->trace->memory.tensor_id;
    if (ids[row] == ids[maker->memory->lifetimes[lifetime].row]) return true;
    if (!array_room(&maker->later, maker->later_count, &maker->later_capacity, sizeof *maker->later))
        return false;
    maker->later[maker->later_count++] = (struct later_tensor){lifetime, row};
    return true;
}

static inline bool apply_alloc(struct maker *maker, uint32_t row, struct device_state *device)
{
    const struct cg_memory *records = &maker->trace->memory;
    struct logical_memory *memory = maker->memory;
    uint32_t before;
    if (!live_map_enter(&maker->live, records->device[row], records->storage_id[row],
                        (uint32_t)memory->lifetime_count, &before))
        return false;
    if (before != CG_NONE) return add_tensor(maker, before, row);

    uint32_t number = (uint32_t)memory->lifetime_count++;
    memory->tensor_rows[number] = row;
    memory->lifetimes[number] = (struct lifetime){.row = row, .end_row = CG_NONE, .tensors = {number, 1}};
    maker->tied |= number > 0 && maker->last_start == records->timestamp_ns[row];
    maker->last_start = records->timestamp_ns[row];
    memory->unnamed &= records->op_name[row] == CG_ABSENT;
    memory->storage_allocation_count++;
    if (several_devices(maker)) {
        device->device.storage_allocation_count++;
        device->live += records->bytes[row];
        device->total += records->bytes[row];
    }
    maker->live_bytes += records->bytes[row];
    maker->total_bytes += records->bytes[row];
    return true;
}

static inline bool apply_free(struct maker *maker, uint32_t row, struct device_state *device)
{
    const struct cg_memory *records = &maker->trace->memory;
    uint32_t index = live_map_take(&maker->live, records->device[row], records->storage_id[row]);
    if (index == CG_NONE) return true;
    struct lifetime *lifetime = &maker->memory->lifetimes[index];
    lifetime->end_row = row;
    maker->memory->frees_alike &= records->bytes[row] == records->bytes[lifetime->row];
    maker->memory->matched_storage_free_count++;
    if (several_devices(maker)) {
        device->device.matched_storage_free_count++;
        device->live -= records->bytes[lifetime->row];
    }
    maker->live_bytes -= records->bytes[lifetime->row];
    return add_tensor(maker, index, row);
}

/* All records of one timestamp have been applied: only now is anything seen (3.2). */
static void take_point(struct maker *maker, uint64_t timestamp)
{
    struct logical_memory *memory = maker->memory;
    memory->point_count++;
    uint64_t live = clamp(maker->live_bytes);
    if (memory->storage_allocation_count > 0 && (!memory->peak_known || live > memory->peak_live_bytes)) {
        memory->peak_known = true;
        memory->peak_live_bytes = live;
        memory->peak_timestamp_ns = timestamp;
    }
    for (size_t i = 0; i < maker->touched_count; i++) {
        struct device_state *state = &maker->devices[maker->touched[i]];
        struct memory_device *device = &state->device;
        live = clamp(state->live);
        if (device->storage_allocation_count > 0 && (!device->peak_known || live > device->peak_live_bytes)) {
            device->peak_known = true;
            device->peak_live_bytes = live;
            device->peak_timestamp_ns = timestamp;
        }
    }
    maker->touched_count = 0;
}

static bool apply_records(struct maker *maker)
{
    const struct cg_memory *records = &maker->trace->memory;
    for (size_t place = 0; place < records->rows; place++) {
        uint32_t row = ordered_row(maker->memory->order, place);
        if (!maker->memory->left_out || !maker->memory->left_out[row]) {
            uint32_t device = touch_device(maker, records->device[row]);
            if (device == CG_NONE) return false;
            struct device_state *state = &maker->devices[device];
            bool alloc = records->action[row] == CG_ACTION_ALLOC;
            if (!(alloc ? apply_alloc(maker, row, state) : apply_free(maker, row, state))) return false;
        }
        uint64_t timestamp = records->timestamp_ns[row];
        if (place + 1 == records->rows ||
            records->timestamp_ns[ordered_row(maker->memory->order, place + 1)] != timestamp)
            take_point(maker, timestamp);
    }
    return true;
}

/* By tensor id, then by when it was seen: the first of equal ids is the one to keep. */
static int compare_tensor_rows(const void *a, const void *b, void *context)
{
    const struct cg_trace *trace = context;
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    int order = trace_compare(trace, trace->memory.tensor_id[left], trace->memory.tensor_id[right]);
    if (order) return order;
    uint64_t left_ns = trace->memory.timestamp_ns[left], right_ns = trace->memory.timestamp_ns[right];
    if (left_ns != right_ns) return left_ns < right_ns ? -1 : 1;
    return (left > right) - (left < right);
}

static void sort_tensor_set(struct maker *maker, struct cg_list *set)
{
    if (set->count < 2) return;
    const struct cg_trace *trace = maker->trace;
    uint32_t *rows = maker->memory->tensor_rows + set->first;
    qsort_r(rows, set->count, sizeof *rows, compare_tensor_rows, (void *)(uintptr_t)trace);
    uint32_t kept = 1;
    for (uint32_t i = 1; i < set->count; i++)
        if (trace->memory.tensor_id[rows[i]] != trace->memory.tensor_id[rows[kept - 1]])
            rows[kept++] = rows[i];
    set->count = kept;
}

/* The tensor ids of each lifetime: that of the allocation, which stands there already, then the later ones,
 * which most runs have none of. */
static bool make_tensor_sets(struct maker *maker)
{
    struct logical_memory *memory = maker->memory;
    if (maker->later_count == 0) return true;
    free(memory->tensor_rows);
    memory->tensor_rows = array_raw(memory->lifetime_count + maker->later_count, sizeof(uint32_t));
    if (!memory->tensor_rows) return false;
    for (size_t i = 0; i < maker->later_count; i++)
        memory->lifetimes[maker->later[i].lifetime].tensors.count++;
    uint32_t next = 0;
    for (size_t i = 0; i < memory->lifetime_count; i++) {
        struct lifetime *lifetime = &memory->lifetimes[i];
        uint32_t later = lifetime->tensors.count - 1;
        memory->tensor_rows[next] = lifetime->row;
        lifetime->tensors = (struct cg_list){next, 1};
        next += 1 + later;
    }
    for (size_t i = 0; i < maker->later_count; i++) {
        struct cg_list *set = &memory->lifetimes[maker->later[i].lifetime].tensors;
        memory->tensor_rows[set->first + set->count++] = maker->later[i].row;
    }
    for (size_t i = 0; i < memory->lifetime_count; i++)
        sort_tensor_set(maker, &memory->lifetimes[i].tensors);
    return true;
}

static int compare_lifetimes(const void *a, const void *b, void *context)
{
    const struct cg_trace *trace = context;
    const struct lifetime *left = a, *right = b;
    const struct cg_memory *records = &trace->memory;
    int order = trace_compare(trace, records->device[left->row], records->device[right->row]);
    if (!order) order = trace_compare(trace, records->storage_id[left->row], records->storage_id[right->row]);
    /* The same storage again from the same time: the earlier one was freed before the later one began. */
    return order ? order : (left->row > right->row) - (left->row < right->row);
}

/* They stand in the order of their starts already: only those of one start have to be sorted. */
static void sort_lifetimes(struct maker *maker)
{
    const struct cg_trace *trace = maker->trace;
    struct lifetime *lifetimes = maker->memory->lifetimes;
    size_t count = maker->memory->lifetime_count;
    for (size_t i = 0, end; maker->tied && i < count; i = end) {
        uint64_t start = lifetime_start(trace, &lifetimes[i]);
        for (end = i + 1; end < count && lifetime_start(trace, &lifetimes[end]) == start;)
            end++;
        if (end - i > 1)
            qsort_r(lifetimes + i, end - i, sizeof *lifetimes, compare_lifetimes, (void *)(uintptr_t)trace);
    }
}

static int compare_devices(const void *a, const void *b, void *trace)
{
    const struct memory_device *left = a, *right = b;
    return trace_compare(trace, left->device, right->device);
}

static bool make_devices(struct maker *maker)
{
    struct logical_memory *memory = maker->memory;
    memory->devices = array_raw(memory->device_count, sizeof *memory->devices);
    if (!memory->devices) return false;
    if (memory->device_count == 1) settle_only_device(maker);
    for (size_t i = 0; i < memory->device_count; i++) {
        memory->devices[i] = maker->devices[i].device;
        memory->devices[i].total_allocated_bytes = clamp(maker->devices[i].total);
    }
    qsort_r(memory->devices, memory->device_count, sizeof *memory->devices, compare_devices,
            (void *)(uintptr_t)maker->trace);
    return true;
}

bool logical_memory_make(const struct cg_trace *trace, struct logical_memory *memory)
{
    return logical_memory_make_without(trace, NULL, memory);
}

bool logical_memory_make_without(const struct cg_trace *trace, const uint8_t *left_out,
                                 struct logical_memory *memory)
{
    *memory = (struct logical_memory){
        .present = trace->memory.rows > 0, .frees_alike = true, .unnamed = true, .left_out = left_out};
    if (!memory->present) return true;
    struct maker maker = {.trace = trace, .memory = memory};
    size_t allocs = 0;
    for (size_t i = 0; i < trace->memory.rows; i++)
        allocs += trace->memory.action[i] == CG_ACTION_ALLOC;
    memory->lifetimes = array_raw(allocs, sizeof *memory->lifetimes);
    memory->tensor_rows = array_raw(allocs, sizeof *memory->tensor_rows);
    bool made = memory->lifetimes && memory->tensor_rows && live_map_make(&maker.live, trace) &&
                order_by_time(trace->memory.timestamp_ns, trace->memory.rows, &memory->order) &&
                apply_records(&maker) && make_tensor_sets(&maker) && make_devices(&maker);
    if (made) {
        sort_lifetimes(&maker);
        memory->total_allocated_bytes = clamp(maker.total_bytes);
        array_trim(&memory->lifetimes, memory->lifetime_count, sizeof *memory->lifetimes);
        if (maker.later_count == 0)
            array_trim(&memory->tensor_rows, memory->lifetime_count, sizeof *memory->tensor_rows);
    }
    live_map_free(&maker.live);
    pair_map_free(&maker.device_rows);
    free(maker.devices);
    free(maker.later);
    free(maker.touched);
    if (!made) logical_memory_free(memory);
    return made;
}

void logical_memory_free(struct logical_memory *memory)
{
    free(memory->lifetimes);
    free(memory->tensor_rows);
    free(memory->devices);
    free(memory->order);
    *memory = (struct logical_memory){0};
}

bool lifetime_live_at_peak(const struct cg_trace *trace, const struct logical_memory *memory,
                           const struct lifetime *lifetime)
{
    uint64_t peak = memory->peak_timestamp_ns;
    return memory->peak_known && lifetime_start(trace, lifetime) <= peak &&
           (lifetime->end_row == CG_NONE || lifetime_end(trace, lifetime) > peak);
}
