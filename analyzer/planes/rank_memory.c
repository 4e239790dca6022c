#include "analyzer/planes/rank_memory.h"

#include <stdlib.h>

#include "analyzer/planes/array.h"
#include "analyzer/planes/pair_map.h"

/* Both lists are in byte order: they are merged. */
static struct rank_device *device_of(struct rank_memory *memory, const struct cg_trace *trace,
                                     const struct logical_memory *logical,
                                     const struct physical_memory *physical, size_t *next, size_t *sampled)
{
    bool has_storages = *next < logical->device_count, has_samples = *sampled < physical->device_count;
    if (!has_storages && !has_samples) return NULL;
    int order = !has_samples    ? -1
                : !has_storages ? 1
                                : trace_compare(trace, logical->devices[*next].device,
                                                physical->devices[*sampled].device);
    struct rank_device *device = &memory->devices[memory->count++];
    *device = (struct rank_device){.logical = order <= 0, .sampled = order >= 0};
    if (order <= 0) device->storages = logical->devices[(*next)++];
    if (order >= 0) device->samples = physical->devices[(*sampled)++];
    device->device = order <= 0 ? device->storages.device : device->samples.device;
    return device;
}

static bool count_at_end(struct rank_memory *memory, const struct cg_trace *trace,
                         const struct logical_memory *logical)
{
    struct pair_map rows = {0};
    bool enough = true;

    for (size_t i = 0; enough && i < memory->count; i++) {
        struct pair_entry *entry = pair_map_insert(&rows, memory->devices[i].device, 0, NULL);
        enough = entry != NULL;
        if (enough) entry->value = (uint32_t)i;
    }
    for (size_t i = 0; enough && i < logical->lifetime_count; i++) {
        const struct lifetime *lifetime = &logical->lifetimes[i];
        if (lifetime->end_row != CG_NONE) continue;
        struct rank_device *device =
            &memory->devices[pair_map_find(&rows, trace->memory.device[lifetime->row], 0)->value];
        device->at_end_bytes = cg_sat_add(device->at_end_bytes, trace->memory.bytes[lifetime->row]);
        device->at_end_storages++;
    }
    pair_map_free(&rows);
    return enough;
}

bool rank_memory_make(const struct cg_trace *trace, const struct logical_memory *logical,
                      const struct physical_memory *physical, struct cg_strings *names,
                      struct rank_memory *memory)
{
    size_t next = 0, sampled = 0;

    *memory = (struct rank_memory){
        .devices = array_raw(logical->device_count + physical->device_count, sizeof *memory->devices)};
    bool enough = memory->devices != NULL;
    while (enough && device_of(memory, trace, logical, physical, &next, &sampled))
        ;
    enough = enough && count_at_end(memory, trace, logical);
    for (size_t i = 0; enough && i < memory->count; i++) {
        struct cg_text text = trace_text(trace, memory->devices[i].device);
        memory->devices[i].device =
            strings_intern(names, strings_hash(text.bytes, text.length), text.bytes, text.length);
        enough = memory->devices[i].device != CG_ABSENT;
    }
    if (!enough) rank_memory_free(memory);
    return enough;
}

void rank_memory_free(struct rank_memory *memory)
{
    free(memory->devices);
    *memory = (struct rank_memory){0};
}
