#include "analyzer/cmd/tops.h"

#include <stdlib.h>
#include <string.h>

/* The class that a kind looks at; for calls it is any work that a call issued. */
static bool is_wanted(enum top_kind kind, enum work_class class, uint32_t op)
{
    if (kind == TOP_API) return op != CG_NONE;
    return class == (kind == TOP_KERNELS ? WORK_KERNEL : WORK_COPY);
}

static bool is_unassigned(enum top_kind kind, enum work_class class, uint32_t op)
{
    return kind == TOP_API ? op == CG_NONE : class == WORK_UNKNOWN;
}

/* ---- tallies ---- */

/* Open addressing; slot 0 of an entry is empty when its number is 0, else row + 1. */
struct tally_map {
    struct tallies *tallies;
    size_t room;
    uint32_t *slots;
    size_t mask;
    uint32_t recent[16]; /* row + 1 of the one met last, by the lowest bits of its name: mostly met again */
};

static size_t hash(const struct tally *key)
{
    uint64_t h = key->name * UINT64_C(0x9e3779b97f4a7c15);
    h = (h ^ key->device) * UINT64_C(0x9e3779b97f4a7c15);
    h = (h ^ key->clock_id) * UINT64_C(0x9e3779b97f4a7c15);
    h = (h ^ key->api) * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(h ^ h >> 32);
}

static bool same_key(const struct tally *a, const struct tally *b)
{
    return a->name == b->name && a->device == b->device && a->clock_id == b->clock_id && a->api == b->api;
}

static bool grow(struct tally_map *map)
{
    size_t room = map->room ? 2 * map->room : 64;
    struct tally *rows = realloc(map->tallies->rows, room * sizeof *rows);
    if (!rows) return false;
    map->tallies->rows = rows;
    uint32_t *slots = calloc(2 * room, sizeof *slots);
    if (!slots) return false;
    free(map->slots);
    map->slots = slots;
    map->room = room;
    map->mask = 2 * room - 1;
    for (size_t i = 0; i < map->tallies->count; i++) {
        size_t at = hash(&rows[i]) & map->mask;
        while (slots[at])
            at = (at + 1) & map->mask;
        slots[at] = (uint32_t)i + 1;
    }
    return true;
}

static void add_to_row(struct tally *row, const struct tally *sample)
{
    row->count++;
    if (sample->total_ns < row->minimum_ns) row->minimum_ns = sample->total_ns;
    if (sample->total_ns > row->maximum_ns) row->maximum_ns = sample->total_ns;
    row->total_ns = cg_sat_add(row->total_ns, sample->total_ns);
    row->bytes = cg_sat_add(row->bytes, sample->bytes);
    row->errors += sample->errors;
}

/* Adds one interval or call: sample holds its key, its duration in total_ns, and its bytes and errors. */
static bool tally_add(struct tally_map *map, const struct tally *sample)
{
    struct tallies *tallies = map->tallies;
    uint32_t *recent = &map->recent[sample->name % 16];
    if (*recent > 0 && same_key(&tallies->rows[*recent - 1], sample)) {
        add_to_row(&tallies->rows[*recent - 1], sample);
        return true;
    }
    if (tallies->count == map->room && !grow(map)) return false;
    size_t at = hash(sample) & map->mask;
    while (map->slots[at] && !same_key(&tallies->rows[map->slots[at] - 1], sample))
        at = (at + 1) & map->mask;
    if (!map->slots[at]) {
        tallies->rows[tallies->count] = *sample;
        tallies->rows[tallies->count].count = 1;
        tallies->rows[tallies->count].minimum_ns = tallies->rows[tallies->count].maximum_ns =
            sample->total_ns;
        map->slots[at] = (uint32_t)++tallies->count;
    } else {
        add_to_row(&tallies->rows[map->slots[at] - 1], sample);
    }
    *recent = map->slots[at];
    return true;
}

static int compare_tallies(const void *left, const void *right, void *context)
{
    const struct tally *a = left, *b = right;
    const struct cg_trace *trace = context;
    if (a->total_ns != b->total_ns) return a->total_ns > b->total_ns ? -1 : 1;
    int order = trace_compare(trace, a->name, b->name);
    if (order == 0) order = trace_compare(trace, a->device, b->device);
    if (order == 0) order = trace_compare(trace, a->clock_id, b->clock_id);
    if (order == 0) order = trace_compare(trace, a->api, b->api);
    return order;
}

static void sort_tallies(const struct cg_trace *trace, struct tallies *tallies)
{
    if (tallies->count > 1)
        qsort_r(tallies->rows, tallies->count, sizeof *tallies->rows, compare_tallies, (void *)trace);
}

/* ---- the tops ---- */

static cg_str call_name(const struct cg_trace *trace, uint32_t op)
{
    return trace->op.api[op] != CG_ABSENT ? trace->op.api[op] : trace->op.op_name[op];
}

static cg_str interval_name(const struct cg_trace *trace, enum top_kind kind, size_t row, uint32_t op)
{
    const struct cg_device_intervals *interval = &trace->device_interval;
    if (kind == TOP_API && op != CG_NONE) return call_name(trace, op);
    if (interval->name[row] != CG_ABSENT) return interval->name[row];
    return op != CG_NONE ? trace->op.op_name[op] : interval->activity[row];
}

static bool add_interval(const struct cg_trace *trace, enum top_kind kind, size_t row, uint32_t op,
                         struct tally_map *map)
{
    const struct cg_device_intervals *interval = &trace->device_interval;
    struct tally sample = {.name = interval_name(trace, kind, row, op),
                           .device = interval->device[row],
                           .clock_id = interval->clock_id[row],
                           .total_ns = interval->duration_ns[row]};
    if (interval->bytes_set[row])
        sample.bytes = interval->bytes[row];
    else if (op != CG_NONE && trace->op.bytes_set[op])
        sample.bytes = trace->op.bytes[op];
    return tally_add(map, &sample);
}

static bool add_intervals(const struct cg_trace *trace, const struct device_work *work,
                          const struct suspects *suspects, enum top_kind kind, uint8_t *timed,
                          struct tops *tops)
{
    const struct cg_device_intervals *interval = &trace->device_interval;
    struct tally_map map = {.tallies = &tops->device};
    bool good = true;
    for (size_t i = 0; i < interval->rows && good; i++) {
        enum work_class class = (enum work_class)work->class[i];
        uint32_t op = work->issuer[i];
        tops->unassigned += is_unassigned(kind, class, op);
        if (!is_wanted(kind, class, op)) continue;
        suspect_tally_add(&tops->tally, suspects, SUSPECT_INTERVALS, i, interval->duration_ns[i]);
        if (suspect_is(suspects, SUSPECT_INTERVALS, i)) continue;
        if (op != CG_NONE) timed[op] = 1;
        good = add_interval(trace, kind, i, op, &map);
    }
    free(map.slots);
    return good;
}

static bool add_calls(const struct cg_trace *trace, const struct device_work *work, enum top_kind kind,
                      const uint8_t *timed, struct tops *tops)
{
    const struct cg_ops *op = &trace->op;
    struct tally_map map = {.tallies = &tops->host};
    bool good = true;
    for (uint32_t i = 0; i < op->rows && good; i++) {
        if (kind == TOP_KERNELS && work->op_class[i] != WORK_KERNEL) continue;
        if (kind == TOP_COPIES && work->op_class[i] != WORK_COPY) continue;
        tops->calls++;
        tops->calls_timed += timed[i];
        struct tally sample = {.name = kind == TOP_KERNELS ? op->op_name[i] : call_name(trace, i),
                               .api = kind == TOP_KERNELS ? op->api[i] : CG_ABSENT,
                               .total_ns = op->duration_ns[i],
                               .bytes = op->bytes_set[i] ? op->bytes[i] : 0,
                               .errors = op->error_set[i] && op->error[i] != 0};
        good = tally_add(&map, &sample);
    }
    free(map.slots);
    return good;
}

bool tops_make(const struct cg_trace *trace, const struct device_work *work, const struct suspects *suspects,
               enum top_kind kind, struct tops *tops)
{
    *tops = (struct tops){0};
    uint8_t *timed = calloc(trace->op.rows + 1, 1);
    bool good = timed && add_intervals(trace, work, suspects, kind, timed, tops) &&
                add_calls(trace, work, kind, timed, tops);
    free(timed);
    if (!good) {
        tops_free(tops);
        return false;
    }
    sort_tallies(trace, &tops->device);
    sort_tallies(trace, &tops->host);
    return true;
}

void tops_free(struct tops *tops)
{
    free(tops->device.rows);
    free(tops->host.rows);
    *tops = (struct tops){0};
}
