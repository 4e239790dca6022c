/* The timeline of logical memory, point after point, never held as a whole (doc/spec/planes.md 3.2). */
#include <stdlib.h>
#include <string.h>

#include "analyzer/planes/array.h"
#include "analyzer/planes/live_map.h"
#include "analyzer/planes/order.h"
#include "analyzer/planes/pair_map.h"
#include "analyzer/planes/planes.h"

/* In byte order of their names. */
static const enum cg_value_CATEGORY category_order[] = {CG_CATEGORY_ACTIVATION, CG_CATEGORY_GRADIENT,
                                                        CG_CATEGORY_OPTIMIZER, CG_CATEGORY_OTHER,
                                                        CG_CATEGORY_PARAMETER};
_Static_assert(sizeof category_order / sizeof *category_order == CG_CATEGORY_COUNT,
               "every category has its place");

/* What is live of one device or category. */
struct live_total {
    unsigned __int128 bytes;
    uint64_t storages;
};

struct replay {
    const struct cg_trace *trace;
    struct live_map live;        /* to the row that allocated it */
    struct pair_map device_rows; /* (device, 0) to row of memory->devices, which stands in byte order */
    unsigned __int128 live_bytes;
    struct live_total *by_device, by_category[CG_CATEGORY_COUNT];
    uint32_t *active; /* devices with a live storage, ascending */
    size_t active_count;
    struct live_bytes *device_points; /* what a visitor is shown */
    struct live_bytes category_points[CG_CATEGORY_COUNT];
};

static bool replay_start(struct replay *replay, const struct cg_trace *trace,
                         const struct logical_memory *memory)
{
    *replay = (struct replay){
        .trace = trace,
        .by_device = array_zeroed(memory->device_count, sizeof(struct live_total)),
        .active = array_raw(memory->device_count, sizeof(uint32_t)),
        .device_points = array_raw(memory->device_count, sizeof(struct live_bytes)),
    };
    if (!replay->by_device || !replay->active || !replay->device_points ||
        !live_map_make(&replay->live, trace))
        return false;
    for (size_t i = 0; i < memory->device_count; i++) {
        struct pair_entry *entry = pair_map_insert(&replay->device_rows, memory->devices[i].device, 0, NULL);
        if (!entry) return false;
        entry->value = (uint32_t)i;
    }
    return true;
}

static void replay_end(struct replay *replay)
{
    live_map_free(&replay->live);
    pair_map_free(&replay->device_rows);
    free(replay->by_device);
    free(replay->active);
    free(replay->device_points);
}

/* Enters a device in the list of active ones, or takes it out. The list is as long as what a visitor is shown
 * of each point, so moving it costs no more than showing it. */
static void set_active(struct replay *replay, uint32_t device, bool active)
{
    size_t low = 0, high = replay->active_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (replay->active[middle] < device)
            low = middle + 1;
        else
            high = middle;
    }
    uint32_t *place = replay->active + low;
    if (active) {
        memmove(place + 1, place, (replay->active_count - low) * sizeof *place);
        *place = device;
        replay->active_count++;
    } else {
        replay->active_count--;
        memmove(place, place + 1, (replay->active_count - low) * sizeof *place);
    }
}

static void add_storage(struct replay *replay, uint32_t device, uint32_t row)
{
    const struct cg_memory *records = &replay->trace->memory;
    struct live_total *totals[] = {&replay->by_device[device], &replay->by_category[records->category[row]]};
    if (totals[0]->storages == 0) set_active(replay, device, true);
    for (size_t i = 0; i < 2; i++) {
        totals[i]->storages++;
        totals[i]->bytes += records->bytes[row];
    }
    replay->live_bytes += records->bytes[row];
}

static void take_storage(struct replay *replay, uint32_t device, uint32_t row)
{
    const struct cg_memory *records = &replay->trace->memory;
    struct live_total *totals[] = {&replay->by_device[device], &replay->by_category[records->category[row]]};
    for (size_t i = 0; i < 2; i++) {
        totals[i]->storages--;
        totals[i]->bytes -= records->bytes[row];
    }
    if (totals[0]->storages == 0) set_active(replay, device, false);
    replay->live_bytes -= records->bytes[row];
}

static bool apply(struct replay *replay, uint32_t row)
{
    const struct cg_memory *records = &replay->trace->memory;
    cg_str device = records->device[row], storage = records->storage_id[row];
    uint32_t device_row = pair_map_find(&replay->device_rows, device, 0)->value;
    if (records->action[row] == CG_ACTION_ALLOC) {
        uint32_t before;
        if (!live_map_enter(&replay->live, device, storage, row, &before)) return false;
        if (before == CG_NONE) add_storage(replay, device_row, row);
        return true;
    }
    uint32_t allocation = live_map_take(&replay->live, device, storage);
    if (allocation != CG_NONE) take_storage(replay, device_row, allocation);
    return true;
}

static struct memory_point point_at(struct replay *replay, const struct logical_memory *memory,
                                    uint64_t timestamp)
{
    struct memory_point point = {.timestamp_ns = timestamp,
                                 .live_bytes = replay->live_bytes,
                                 .by_device = replay->device_points,
                                 .by_category = replay->category_points,
                                 .device_count = replay->active_count};
    for (size_t i = 0; i < replay->active_count; i++) {
        uint32_t device = replay->active[i];
        replay->device_points[i] =
            (struct live_bytes){memory->devices[device].device, replay->by_device[device].bytes};
    }
    for (size_t i = 0; i < CG_CATEGORY_COUNT; i++) {
        const struct live_total *total = &replay->by_category[category_order[i]];
        if (total->storages)
            replay->category_points[point.category_count++] =
                (struct live_bytes){category_order[i], total->bytes};
    }
    return point;
}

/* Shows the points from the time `from` up to the time `to`. */
static bool replay_points(const struct cg_trace *trace, const struct logical_memory *memory, uint64_t from,
                          uint64_t to, void (*visit)(void *context, const struct memory_point *point),
                          void *context)
{
    const struct cg_memory *records = &trace->memory;
    struct replay replay;
    bool done = replay_start(&replay, trace, memory);
    for (size_t place = 0; done && place < records->rows; place++) {
        uint32_t row = ordered_row(memory->order, place);
        uint64_t timestamp = records->timestamp_ns[row];
        if (timestamp > to) break;
        done = apply(&replay, row);
        bool last = place + 1 == records->rows ||
                    records->timestamp_ns[ordered_row(memory->order, place + 1)] != timestamp;
        if (!done || !last || timestamp < from) continue;
        struct memory_point point = point_at(&replay, memory, timestamp);
        visit(context, &point);
    }
    replay_end(&replay);
    return done;
}

bool logical_memory_points(const struct cg_trace *trace, const struct logical_memory *memory,
                           void (*visit)(void *context, const struct memory_point *point), void *context)
{
    return !memory->present || replay_points(trace, memory, 0, UINT64_MAX, visit, context);
}

bool logical_memory_peak_point(const struct cg_trace *trace, const struct logical_memory *memory,
                               void (*visit)(void *context, const struct memory_point *point), void *context)
{
    return !memory->peak_known ||
           replay_points(trace, memory, memory->peak_timestamp_ns, memory->peak_timestamp_ns, visit, context);
}
