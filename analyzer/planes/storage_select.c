/* Which storages leak, are temporary, or are alive at a moment. */
#include <stdlib.h>

#include "analyzer/planes/array.h"
#include "analyzer/planes/order.h"
#include "analyzer/planes/pair_map.h"
#include "analyzer/planes/storage_groups.h"

/* ---- leaks ---- */

static bool never_freed(const struct cg_trace *trace, const struct lifetime *lifetime)
{
    return lifetime->end_row == CG_NONE || trace->memory.end_reason[lifetime->end_row] != CG_ABSENT;
}

/* Is it alive when so many further steps of the thread of its step have ended? */
static bool outlives(const struct cg_trace *trace, const struct training_steps *steps,
                     const struct lifetime *lifetime, uint32_t step, uint64_t further)
{
    /* Between steps, or before the first, nothing belongs to a step. */
    if (step == CG_NONE || further >= steps->count - step) return false;
    const struct training_step *last = &steps->at[step + further];
    return last->thread == steps->at[step].thread && lifetime_end(trace, lifetime) > last->end_ns;
}

void select_leaks(const struct cg_trace *trace, const struct logical_memory *memory,
                  const struct training_steps *steps, uint64_t after_steps, uint8_t *selected)
{
    for (size_t i = 0; i < memory->lifetime_count; i++) {
        const struct lifetime *lifetime = &memory->lifetimes[i];
        bool before = trace->memory.preexisting[lifetime->row];
        selected[i] =
            !before && (never_freed(trace, lifetime) ||
                        (after_steps > 0 && outlives(trace, steps, lifetime, steps->of[i], after_steps)));
    }
}

/* ---- temporaries ---- */

/* How many memory records each thread has so far. */
struct record_counts {
    struct pair_map threads, highest; /* by tid; a map's keys are too few for those with all upper bits set */
    uint32_t unknown;                 /* of no known thread */
};

/* The count of the record's thread; NULL when memory is short. */
static uint32_t *count_of(struct record_counts *counts, const struct cg_memory *records, uint32_t row)
{
    if (!records->tid_set[row]) return &counts->unknown;
    uint32_t high = (uint32_t)(records->tid[row] >> 32), low = (uint32_t)records->tid[row];
    struct pair_entry *entry = high == UINT32_MAX ? pair_map_insert(&counts->highest, high, low, NULL)
                                                  : pair_map_insert(&counts->threads, high + 1, low, NULL);
    return entry ? &entry->value : NULL;
}

/* The number of each memory record among those of its thread; threads are told apart by tid. */
static uint32_t *number_records(const struct cg_trace *trace, const struct logical_memory *memory)
{
    uint32_t *numbers = array_raw(trace->memory.rows, sizeof *numbers);
    struct record_counts counts = {0};
    for (size_t place = 0; numbers && place < trace->memory.rows; place++) {
        uint32_t row = ordered_row(memory->order, place);
        if (memory->left_out && memory->left_out[row]) continue;
        uint32_t *count = count_of(&counts, &trace->memory, row);
        if (!count) {
            free(numbers);
            numbers = NULL;
        } else {
            numbers[row] = (*count)++;
        }
    }
    pair_map_free(&counts.threads);
    pair_map_free(&counts.highest);
    return numbers;
}

/* Are all records of one thread, or of none that is known? */
static bool one_thread(const struct cg_memory *records)
{
    for (size_t row = 1; row < records->rows; row++)
        if (records->tid_set[row] != records->tid_set[0] ||
            (records->tid_set[row] && records->tid[row] != records->tid[0]))
            return false;
    return true;
}

static bool same_thread(const struct cg_memory *records, uint32_t a, uint32_t b)
{
    return records->tid_set[a] == records->tid_set[b] &&
           (!records->tid_set[a] || records->tid[a] == records->tid[b]);
}

bool select_temporaries(const struct cg_trace *trace, const struct logical_memory *memory,
                        uint64_t within_events, uint8_t *selected)
{
    /* Where rows are numbers already none are made: 6 ms of 40 for 6 million records. */
    bool numbered = !memory->order && !memory->left_out && one_thread(&trace->memory);
    uint32_t *numbers = numbered ? NULL : number_records(trace, memory);
    if (!numbered && !numbers) return false;
    for (size_t i = 0; i < memory->lifetime_count; i++) {
        const struct lifetime *lifetime = &memory->lifetimes[i];
        uint32_t begin = lifetime->row, end = lifetime->end_row;
        selected[i] = end != CG_NONE && trace->memory.end_reason[end] == CG_ABSENT &&
                      same_thread(&trace->memory, begin, end) &&
                      (numbered ? end - begin : numbers[end] - numbers[begin]) <= within_events;
    }
    free(numbers);
    return true;
}

/* ---- moments ---- */

/* Alive once everything up to this time has happened. */
static bool alive_after(const struct cg_trace *trace, const struct lifetime *lifetime, uint64_t time)
{
    return lifetime_start(trace, lifetime) <= time &&
           (lifetime->end_row == CG_NONE || lifetime_end(trace, lifetime) > time);
}

bool select_peak(const struct cg_trace *trace, const struct logical_memory *memory, cg_str device,
                 uint64_t *timestamp_ns, uint8_t *selected)
{
    bool known = device == CG_ABSENT && memory->peak_known;
    *timestamp_ns = memory->peak_timestamp_ns;
    for (size_t i = 0; device != CG_ABSENT && i < memory->device_count; i++) {
        if (memory->devices[i].device != device) continue;
        known = memory->devices[i].peak_known;
        *timestamp_ns = memory->devices[i].peak_timestamp_ns;
    }
    for (size_t i = 0; i < memory->lifetime_count; i++)
        selected[i] = known && alive_after(trace, &memory->lifetimes[i], *timestamp_ns);
    if (device != CG_ABSENT) select_device(trace, memory, device, selected);
    return known;
}

void select_device(const struct cg_trace *trace, const struct logical_memory *memory, cg_str device,
                   uint8_t *selected)
{
    for (size_t i = 0; i < memory->lifetime_count; i++)
        selected[i] = selected[i] && trace->memory.device[memory->lifetimes[i].row] == device;
}
