/* Samples of device memory (doc/spec/planes.md 5). No value is ever made from another. */
#include <stdlib.h>

#include "analyzer/planes/array.h"
#include "analyzer/planes/order.h"
#include "analyzer/planes/pair_map.h"
#include "analyzer/planes/planes.h"

static int compare_devices(const void *a, const void *b, void *trace)
{
    const struct physical_device *left = a, *right = b;
    return trace_compare(trace, left->device, right->device);
}

/* The devices that occur, in byte order; rows maps each to its place there. */
static bool find_devices(const struct cg_trace *trace, struct physical_memory *memory, struct pair_map *rows)
{
    const struct cg_device_memory *samples = &trace->device_memory;
    size_t capacity = 0;
    for (size_t i = 0; i < samples->rows; i++) {
        bool made;
        if (!pair_map_insert(rows, samples->device[i], 0, &made)) return false;
        if (!made) continue;
        if (!array_room(&memory->devices, memory->device_count, &capacity, sizeof *memory->devices))
            return false;
        memory->devices[memory->device_count++] = (struct physical_device){.device = samples->device[i]};
    }
    qsort_r(memory->devices, memory->device_count, sizeof *memory->devices, compare_devices,
            (void *)(uintptr_t)trace);
    for (size_t i = 0; i < memory->device_count; i++)
        pair_map_find(rows, memory->devices[i].device, 0)->value = (uint32_t)i;
    return true;
}

struct sample {
    uint64_t timestamp_ns;
    uint32_t device, row;
};

static int compare_samples(const void *a, const void *b)
{
    const struct sample *left = a, *right = b;
    if (left->timestamp_ns != right->timestamp_ns) return left->timestamp_ns < right->timestamp_ns ? -1 : 1;
    if (left->device != right->device) return left->device < right->device ? -1 : 1;
    return (left->row > right->row) - (left->row < right->row);
}

/* The samples by (time, device, file order); the caller frees them. */
static struct sample *sorted_samples(const struct cg_trace *trace, const struct pair_map *devices)
{
    const struct cg_device_memory *records = &trace->device_memory;
    struct sample *samples = array_raw(records->rows, sizeof *samples);
    if (!samples) return NULL;
    bool sorted = true;
    for (size_t i = 0; i < records->rows; i++) {
        samples[i] = (struct sample){records->timestamp_ns[i],
                                     pair_map_find(devices, records->device[i], 0)->value, (uint32_t)i};
        sorted = sorted && (i == 0 || compare_samples(&samples[i - 1], &samples[i]) < 0);
    }
    if (!sorted) qsort(samples, records->rows, sizeof *samples, compare_samples);
    return samples;
}

/* An extremum: the first value, then whatever is strictly beyond it, so that the earliest time stays. */
static void extend(bool *known, uint64_t *extremum, uint64_t *time, bool greatest, uint64_t value,
                   uint64_t timestamp)
{
    if (*known && (greatest ? value <= *extremum : value >= *extremum)) return;
    *known = true;
    *extremum = value;
    if (time) *time = timestamp;
}

static void count_sample(const struct cg_device_memory *records, const struct sample *sample,
                         struct physical_device *device)
{
    uint32_t row = sample->row;
    uint64_t time = sample->timestamp_ns;
    device->sample_count++;
    if (records->used_bytes_set[row]) {
        device->used_sample_count++;
        extend(&device->used_known, &device->peak_used_bytes, &device->peak_used_ns, true,
               records->used_bytes[row], time);
    }
    if (records->free_bytes_set[row]) {
        device->free_sample_count++;
        extend(&device->free_known, &device->minimum_free_bytes, &device->minimum_free_ns, false,
               records->free_bytes[row], time);
    }
    if (records->reserved_bytes_set[row]) {
        device->reserved_sample_count++;
        extend(&device->reserved_known, &device->peak_reserved_bytes, &device->peak_reserved_ns, true,
               records->reserved_bytes[row], time);
    }
    if (records->capacity_bytes_set[row]) {
        device->capacity_sample_count++;
        extend(&device->capacity_known, &device->maximum_capacity_bytes, NULL, true,
               records->capacity_bytes[row], time);
    }
}

bool physical_memory_make(const struct cg_trace *trace, struct physical_memory *memory)
{
    size_t rows = trace->device_memory.rows;
    *memory = (struct physical_memory){.present = rows > 0};
    if (!memory->present) return true;
    struct pair_map devices = {0};
    memory->order = array_raw(rows, sizeof *memory->order);
    struct sample *samples =
        memory->order && find_devices(trace, memory, &devices) ? sorted_samples(trace, &devices) : NULL;
    for (size_t i = 0; samples && i < rows; i++) {
        memory->order[i] = samples[i].row;
        count_sample(&trace->device_memory, &samples[i], &memory->devices[samples[i].device]);
    }
    bool made = samples != NULL;
    free(samples);
    pair_map_free(&devices);
    if (!made) physical_memory_free(memory);
    return made;
}

void physical_memory_free(struct physical_memory *memory)
{
    free(memory->order);
    free(memory->devices);
    *memory = (struct physical_memory){0};
}
