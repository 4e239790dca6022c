#include "analyzer/cmd/tops.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/planes/correlation.h"

#define SUSPECT_TEXT(constant, rule, meaning) {rule, meaning},
const struct suspect_rule_text suspect_rules[SUSPECT_RULE_COUNT] = {SUSPECT_RULES(SUSPECT_TEXT)};

enum { NOT_SUSPECT = SUSPECT_RULE_COUNT };
enum { OVERLAP_TOLERANCE_NS = 1000 };

/* ---- what an interval or a call is ---- */

static bool contains(struct cg_text text, const char *part)
{
    return text.bytes && memmem(text.bytes, text.length, part, strlen(part)) != NULL;
}

static bool is_launch(const struct cg_trace *trace, uint32_t op)
{
    return trace->op.grid[op].count > 0;
}

static bool is_copy(const struct cg_trace *trace, uint32_t op)
{
    struct cg_text api = trace_text(trace, trace->op.api[op]);
    return contains(api, "Memcpy") || contains(api, "Memset");
}

enum class { CLASS_UNKNOWN, CLASS_KERNEL, CLASS_COPY, CLASS_OTHER };

/* What the interval says of itself counts; else what the call that issued it was. */
static enum class class_of(const struct cg_trace *trace, size_t row, uint32_t op) {
    cg_str activity = trace->device_interval.activity[row]; struct cg_text text = trace_text(trace, activity);
    if (activity != CG_ABSENT) return contains(text, "kernel") ? CLASS_KERNEL
    : contains(text, "memcpy") || contains(text, "memset")     ? CLASS_COPY
                                                               : CLASS_OTHER;
    if (op == CG_NONE) return CLASS_UNKNOWN;
    return is_launch(trace, op) ? CLASS_KERNEL
           : is_copy(trace, op) ? CLASS_COPY
                                : CLASS_OTHER;
}

/* The class that a kind looks at; for calls it is any work that a call issued. */
static bool is_wanted(enum top_kind kind, enum class class, uint32_t op)
{
    if (kind == TOP_API) return op != CG_NONE;
    return class == (kind == TOP_KERNELS ? CLASS_KERNEL : CLASS_COPY);
}

static bool is_unassigned(enum top_kind kind, enum class class, uint32_t op)
{
    return kind == TOP_API ? op == CG_NONE : class == CLASS_UNKNOWN;
}

/* ---- tallies ---- */

/* Open addressing; slot 0 of an entry is empty when its number is 0, else row + 1. */
struct tally_map {
    struct tallies *tallies;
    size_t room;
    uint32_t *slots;
    size_t mask;
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

/* Adds one interval or call: sample holds its key, its duration in total_ns, and its bytes and errors. */
static bool tally_add(struct tally_map *map, const struct tally *sample)
{
    struct tallies *tallies = map->tallies;
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
        return true;
    }
    struct tally *row = &tallies->rows[map->slots[at] - 1];
    row->count++;
    if (sample->total_ns < row->minimum_ns) row->minimum_ns = sample->total_ns;
    if (sample->total_ns > row->maximum_ns) row->maximum_ns = sample->total_ns;
    row->total_ns = cg_sat_add(row->total_ns, sample->total_ns);
    row->bytes = cg_sat_add(row->bytes, sample->bytes);
    row->errors += sample->errors;
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

/* ---- suspects ---- */

struct suspect_search {
    const struct cg_device_intervals *interval;
    const uint8_t *kernel;
    uint8_t *rule; /* by interval: enum suspect_rule, or NOT_SUSPECT */
    uint32_t *order;
    uint64_t run_ns;
};

static int compare_places(const void *left, const void *right, void *context)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    const struct cg_device_intervals *interval = context;
    if (interval->device[a] != interval->device[b]) return interval->device[a] < interval->device[b] ? -1 : 1;
    if (interval->clock_id[a] != interval->clock_id[b])
        return interval->clock_id[a] < interval->clock_id[b] ? -1 : 1;
    if (interval->stream_id[a] != interval->stream_id[b])
        return interval->stream_id[a] < interval->stream_id[b] ? -1 : 1;
    if (interval->start_ns[a] != interval->start_ns[b])
        return interval->start_ns[a] < interval->start_ns[b] ? -1 : 1;
    return (a > b) - (a < b);
}

static bool same_clock(const struct cg_device_intervals *interval, uint32_t a, uint32_t b)
{
    return interval->device[a] == interval->device[b] && interval->clock_id[a] == interval->clock_id[b];
}

/* Intervals of one clock, order[from .. to-1]: starts of 0 that stand alone. */
static void find_no_start(struct suspect_search *search, size_t from, size_t to)
{
    const struct cg_device_intervals *interval = search->interval;
    uint64_t earliest = UINT64_MAX;
    for (size_t i = from; i < to; i++) {
        uint64_t start = interval->start_ns[search->order[i]];
        if (start > 0 && start < earliest) earliest = start;
    }
    if (earliest == UINT64_MAX || earliest <= search->run_ns) return;
    for (size_t i = from; i < to; i++)
        if (interval->start_ns[search->order[i]] == 0) search->rule[search->order[i]] = SUSPECT_NO_START;
}

static uint64_t slack(const struct cg_device_intervals *interval, uint32_t row)
{
    return interval->uncertainty_ns_set[row] ? interval->uncertainty_ns[row] : 0;
}

/* Kernels of one stream follow one another; what is suspect already is no measure for the next. */
static void find_overlaps(struct suspect_search *search, size_t count)
{
    const struct cg_device_intervals *interval = search->interval;
    uint32_t before = CG_NONE;
    for (size_t i = 0; i < count; i++) {
        uint32_t row = search->order[i];
        if (search->rule[row] != NOT_SUSPECT || !search->kernel[row]) continue;
        if (before != CG_NONE && same_clock(interval, before, row) &&
            interval->stream_id[before] == interval->stream_id[row]) {
            uint64_t end = cg_sat_add(interval->start_ns[before], interval->duration_ns[before]);
            uint64_t over = cg_sat_sub(end, interval->start_ns[row]);
            uint64_t allowed =
                cg_sat_add(cg_sat_add(slack(interval, before), slack(interval, row)), OVERLAP_TOLERANCE_NS);
            if (over > allowed) {
                search->rule[row] = SUSPECT_OVERLAP;
                continue;
            }
        }
        before = row;
    }
}

static bool find_suspects(const struct cg_trace *trace, const uint8_t *kernel, uint8_t *rule)
{
    const struct cg_device_intervals *interval = &trace->device_interval;
    struct suspect_search search = {.interval = interval,
                                    .kernel = kernel,
                                    .rule = rule,
                                    .order = malloc((interval->rows + 1) * sizeof *search.order),
                                    .run_ns = trace->terminal.timestamp_ns};
    if (!search.order) return false;
    for (size_t i = 0; i < interval->rows; i++) {
        rule[i] = interval->duration_ns[i] > search.run_ns ? SUSPECT_LONGER_THAN_RUN : NOT_SUSPECT;
        search.order[i] = (uint32_t)i;
    }
    qsort_r(search.order, interval->rows, sizeof *search.order, compare_places, (void *)interval);
    for (size_t from = 0, to; from < interval->rows; from = to) {
        for (to = from + 1; to < interval->rows; to++)
            if (!same_clock(interval, search.order[from], search.order[to])) break;
        find_no_start(&search, from, to);
    }
    find_overlaps(&search, interval->rows);
    free(search.order);
    return true;
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

static bool add_intervals(const struct cg_trace *trace, enum top_kind kind, const uint32_t *issuer,
                          uint8_t *timed, struct tops *tops)
{
    size_t rows = trace->device_interval.rows;
    uint8_t *class = malloc(3 * rows + 1), *kernel = class + rows, *rule = kernel + rows;
    struct tally_map map = {.tallies = &tops->device};
    if (!class) return false;
    for (size_t i = 0; i < rows; i++) {
        uint32_t op = issuer[i];
        class[i] = (uint8_t)class_of(trace, i, op);
        kernel[i] = class[i] == CLASS_KERNEL;
        tops->unassigned += is_unassigned(kind, class[i], op);
    }
    bool good = find_suspects(trace, kernel, rule);
    for (size_t i = 0; i < rows && good; i++) {
        uint32_t op = issuer[i];
        if (!is_wanted(kind, class[i], op)) continue;
        tops->intervals++;
        if (rule[i] != NOT_SUSPECT) {
            tops->suspects[rule[i]]++;
            continue;
        }
        tops->intervals_used++;
        if (op != CG_NONE) timed[op] = 1;
        good = add_interval(trace, kind, i, op, &map);
    }
    free(class);
    free(map.slots);
    return good;
}

static bool add_calls(const struct cg_trace *trace, enum top_kind kind, const uint8_t *timed,
                      struct tops *tops)
{
    const struct cg_ops *op = &trace->op;
    struct tally_map map = {.tallies = &tops->host};
    bool good = true;
    for (uint32_t i = 0; i < op->rows && good; i++) {
        if (kind == TOP_KERNELS && !is_launch(trace, i)) continue;
        if (kind == TOP_COPIES && !is_copy(trace, i)) continue;
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

bool tops_make(const struct cg_trace *trace, enum top_kind kind, struct tops *tops)
{
    *tops = (struct tops){0};
    uint32_t *issuer;
    uint8_t *timed = calloc(trace->op.rows + 1, 1);
    bool good = correlation_issuers(trace, &issuer) && timed &&
                add_intervals(trace, kind, issuer, timed, tops) && add_calls(trace, kind, timed, tops);
    free(issuer);
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
