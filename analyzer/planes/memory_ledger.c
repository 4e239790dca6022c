#include "analyzer/planes/memory_ledger.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/planes/array.h"
#include "analyzer/planes/order.h"
#include "analyzer/planes/pair_map.h"
#include "analyzer/planes/storage_groups.h"

struct maker {
    const struct cg_trace *trace;
    const struct logical_memory *memory;
    struct memory_ledger *ledger;
    struct physical_memory samples; /* its order is the ledger's */
    struct pair_map device_of;      /* (device, 0) -> number */
    cg_str last_device;             /* what device_number() said last */
    uint32_t last_number;
    unsigned __int128 *live, *live_pool, *live_framework; /* by device */
    bool *has_drivers;   /* by device: the trace has storages of the driver there */
    bool plain;          /* it has none, and no pools: what is live is all that there is to count */
    uint64_t *ends;      /* of lifetimes */
    uint32_t *by_end;    /* lifetimes by their ends; NULL: as they stand */
    size_t begun, ended; /* lifetimes that have, so far */
    cg_str pool;
};

static uint64_t clamp(unsigned __int128 bytes)
{
    return bytes > UINT64_MAX ? UINT64_MAX : (uint64_t)bytes;
}

/* Devices that have samples, in byte order, as physical memory has them. */
static bool make_devices(struct maker *maker, cg_str wanted)
{
    struct memory_ledger *ledger = maker->ledger;
    size_t count = maker->samples.device_count;
    ledger->devices = array_zeroed(count, sizeof *ledger->devices);
    maker->live = array_zeroed(count, sizeof *maker->live);
    maker->live_pool = array_zeroed(count, sizeof *maker->live_pool);
    maker->live_framework = array_zeroed(count, sizeof *maker->live_framework);
    maker->has_drivers = array_zeroed(count, sizeof *maker->has_drivers);
    if (!ledger->devices || !maker->live || !maker->live_pool || !maker->live_framework ||
        !maker->has_drivers)
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct physical_device *device = &maker->samples.devices[i];
        if (wanted != CG_ABSENT && device->device != wanted) continue;
        struct pair_entry *entry = pair_map_insert(&maker->device_of, device->device, 0, NULL);
        if (!entry) return false;
        entry->value = (uint32_t)ledger->device_count;
        ledger->devices[ledger->device_count++] = (struct ledger_device){
            .device = device->device, .most_used = CG_NONE, .most_unattributed = CG_NONE};
    }
    return true;
}

/* The device's number in the ledger; CG_NONE: it is not there. Mostly it is the one of the record before. */
static inline uint32_t device_number(struct maker *maker, cg_str device)
{
    if (device != maker->last_device) {
        const struct pair_entry *entry = pair_map_find(&maker->device_of, device, 0);
        maker->last_device = device;
        maker->last_number = entry ? entry->value : CG_NONE;
    }
    return maker->last_number;
}

/* Devices that the driver gave out storages of, and the order of ends. */
static bool look_over(struct maker *maker)
{
    const struct logical_memory *memory = maker->memory;
    maker->ends = array_raw(memory->lifetime_count, sizeof *maker->ends);
    if (!maker->ends) return false;
    maker->plain = maker->pool == CG_ABSENT;
    for (size_t i = 0; i < memory->lifetime_count; i++) {
        uint32_t row = memory->lifetimes[i].row;
        maker->ends[i] = lifetime_end(maker->trace, &memory->lifetimes[i]);
        if (!storage_is_drivers(maker->trace, row)) continue;
        maker->plain = false;
        uint32_t device = device_number(maker, maker->trace->memory.device[row]);
        if (device != CG_NONE) maker->has_drivers[device] = true;
    }
    return order_by_time(maker->ends, memory->lifetime_count, &maker->by_end);
}

static inline void count_storage(struct maker *maker, const struct lifetime *lifetime, bool begins)
{
    const struct cg_memory *records = &maker->trace->memory;
    uint32_t row = lifetime->row;
    uint32_t device = device_number(maker, records->device[row]);
    if (device == CG_NONE) return;
    unsigned __int128 bytes = records->bytes[row], step = begins ? bytes : -bytes;
    maker->live[device] += step;
    if (maker->plain) return;
    if (maker->pool != CG_ABSENT && records->memory_kind[row] == maker->pool)
        maker->live_pool[device] += step;
    if (maker->has_drivers[device] && !storage_is_drivers(maker->trace, row))
        maker->live_framework[device] += step;
}

/* Everything up to this time has happened. A storage ends after it begins: begins are counted first. */
static void advance(struct maker *maker, uint64_t time)
{
    const struct logical_memory *memory = maker->memory;
    for (; maker->begun < memory->lifetime_count; maker->begun++) {
        const struct lifetime *lifetime = &memory->lifetimes[maker->begun];
        if (lifetime_start(maker->trace, lifetime) > time) break;
        count_storage(maker, lifetime, true);
    }
    for (; maker->ended < memory->lifetime_count; maker->ended++) {
        uint32_t number = ordered_row(maker->by_end, maker->ended);
        const struct lifetime *lifetime = &memory->lifetimes[number];
        if (maker->ends[number] > time || lifetime->end_row == CG_NONE) break;
        count_storage(maker, lifetime, false);
    }
}

static void settle(const struct cg_trace *trace, struct ledger_row *row)
{
    const struct cg_device_memory *samples = &trace->device_memory;
    uint64_t in_pools = row->logical_pool_bytes, used = samples->used_bytes[row->sample];
    row->used_known = samples->used_bytes_set[row->sample];
    if (!row->used_known) return;
    if (samples->reserved_bytes_set[row->sample] && samples->reserved_bytes[row->sample] > in_pools)
        in_pools = samples->reserved_bytes[row->sample];
    uint64_t outside =
        cg_sat_sub(cg_sat_sub(row->logical_bytes, row->logical_pool_bytes), row->framework_bytes);
    row->attributed_bytes = cg_sat_add(outside, in_pools);
    row->unattributed_bytes = cg_sat_sub(used, row->attributed_bytes);
    row->over_bytes = cg_sat_sub(row->attributed_bytes, used);
}

static void note_most(struct maker *maker, uint32_t number)
{
    const uint64_t *used = maker->trace->device_memory.used_bytes;
    const struct ledger_row *rows = maker->ledger->rows, *row = &rows[number];
    struct ledger_device *device = &maker->ledger->devices[row->device];
    if (!row->used_known) return;
    if (device->most_used == CG_NONE || used[row->sample] > used[rows[device->most_used].sample])
        device->most_used = number;
    if (device->most_unattributed == CG_NONE ||
        row->unattributed_bytes > rows[device->most_unattributed].unattributed_bytes)
        device->most_unattributed = number;
}

static bool make_rows(struct maker *maker, const uint8_t *left_out)
{
    const struct cg_device_memory *samples = &maker->trace->device_memory;
    struct memory_ledger *ledger = maker->ledger;
    ledger->rows = array_raw(samples->rows, sizeof *ledger->rows);
    if (!ledger->rows) return false;
    for (size_t place = 0; place < samples->rows; place++) {
        uint32_t sample = ordered_row(maker->samples.order, place);
        uint32_t device = device_number(maker, samples->device[sample]);
        if (device == CG_NONE || (left_out && left_out[sample])) continue;
        struct ledger_device *counts = &ledger->devices[device];
        counts->samples++;
        counts->with_used += samples->used_bytes_set[sample];
        counts->with_reserved += samples->reserved_bytes_set[sample];
        advance(maker, samples->timestamp_ns[sample]);
        struct ledger_row row = {.sample = sample,
                                 .device = device,
                                 .logical_bytes = clamp(maker->live[device]),
                                 .logical_pool_bytes = clamp(maker->live_pool[device]),
                                 .framework_bytes = clamp(maker->live_framework[device])};
        settle(maker->trace, &row);
        ledger->rows[ledger->count] = row;
        note_most(maker, (uint32_t)ledger->count++);
    }
    return true;
}

bool memory_ledger_make(const struct cg_trace *trace, const struct logical_memory *memory, cg_str device,
                        const uint8_t *left_out, struct memory_ledger *ledger)
{
    *ledger = (struct memory_ledger){0};
    struct maker maker = {.trace = trace,
                          .memory = memory,
                          .ledger = ledger,
                          .pool = trace_find(trace, "pool", strlen("pool"))};
    bool ok =
        physical_memory_make(trace, &maker.samples) && make_devices(&maker, device) && look_over(&maker);
    ok = ok && make_rows(&maker, left_out);
    physical_memory_free(&maker.samples);
    pair_map_free(&maker.device_of);
    free(maker.live);
    free(maker.live_pool);
    free(maker.live_framework);
    free(maker.has_drivers);
    free(maker.ends);
    free(maker.by_end);
    if (!ok) memory_ledger_free(ledger);
    return ok;
}

void memory_ledger_free(struct memory_ledger *ledger)
{
    free(ledger->rows);
    free(ledger->devices);
    *ledger = (struct memory_ledger){0};
}
