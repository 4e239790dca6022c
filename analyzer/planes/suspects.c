#include "analyzer/planes/suspects.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/planes/array.h"
#include "analyzer/planes/pair_map.h"

#define RULE_TEXT(suffix, plane, rule, meaning) {rule, meaning, SUSPECT_##plane},
const struct suspect_rule_text suspect_rules[SUSPECT_RULE_COUNT] = {SUSPECT_RULES(RULE_TEXT)};
#define PLANE_KIND(suffix, kind, sum, share) kind,
const char *const suspect_plane_kind[SUSPECT_PLANE_COUNT] = {SUSPECT_PLANES(PLANE_KIND)};

enum { TOLERANCE_NS = 1000 };

struct search {
    const struct cg_trace *trace;
    const struct device_work *work;
    struct suspects *suspects;
    uint64_t allocated; /* bytes, of all storages */
    bool failed;        /* memory is short */
};

static size_t plane_rows(const struct cg_trace *trace, enum suspect_plane plane)
{
    switch (plane) {
    case SUSPECT_INTERVALS:
        return trace->device_interval.rows;
    case SUSPECT_STORAGES:
        return trace->memory.rows;
    case SUSPECT_SAMPLES:
    case SUSPECT_PLANE_COUNT:
        break;
    }
    return trace->device_memory.rows;
}

static uint64_t amount_of(const struct cg_trace *trace, enum suspect_plane plane, size_t row)
{
    if (plane == SUSPECT_INTERVALS) return trace->device_interval.duration_ns[row];
    bool alloc = plane == SUSPECT_STORAGES && trace->memory.action[row] == CG_ACTION_ALLOC;
    return alloc ? trace->memory.bytes[row] : 0;
}

/* A record that is suspect already stays what it is. */
static void mark(struct search *search, enum suspect_rule rule, size_t row, uint64_t excess)
{
    struct suspects *suspects = search->suspects;
    enum suspect_plane plane = suspect_rules[rule].plane;
    if (suspect_is(suspects, plane, row) || search->failed) return;
    if (!suspects->rule[plane]) suspects->rule[plane] = array_zeroed(plane_rows(search->trace, plane), 1);
    if (!suspects->rule[plane] ||
        !array_room(&suspects->found, suspects->count, &suspects->room, sizeof *suspects->found)) {
        search->failed = true;
        return;
    }
    suspects->rule[plane][row] = (uint8_t)(rule + 1);
    suspects->found[suspects->count++] = (struct suspect){(uint8_t)plane, (uint8_t)rule, (uint32_t)row,
                                                          amount_of(search->trace, plane, row), excess};
}

/* ---- intervals ---- */

/* How far the start may be too early, and the duration too long. */
static uint64_t slack(const struct cg_device_intervals *interval, size_t row)
{
    return interval->uncertainty_ns_set[row] ? interval->uncertainty_ns[row] : 0;
}

static void find_longer_than_run(struct search *search)
{
    const struct cg_device_intervals *interval = &search->trace->device_interval;
    uint64_t run = search->trace->terminal.timestamp_ns;
    for (size_t row = 0; row < interval->rows; row++) {
        if (interval->duration_ns[row] <= run) continue;
        uint64_t excess = interval->duration_ns[row] - run;
        if (excess > slack(interval, row)) mark(search, SUSPECT_LONGER_THAN_RUN, row, excess);
    }
}

/* Starts of 0 that stand alone: the first intervals of each stream are the earliest. */
static void find_no_start(struct search *search, const struct work_clock *clock)
{
    const struct cg_device_intervals *interval = &search->trace->device_interval;
    const struct device_work *work = search->work;
    const struct work_stream *streams = &work->streams[clock->first_stream];
    uint64_t earliest = UINT64_MAX;
    for (size_t i = 0; i < clock->stream_count; i++) {
        size_t at = streams[i].first, end = at + streams[i].count;
        while (at < end && interval->start_ns[work->order[at]] == 0)
            at++;
        if (at < end && interval->start_ns[work->order[at]] < earliest)
            earliest = interval->start_ns[work->order[at]];
    }
    if (earliest == UINT64_MAX || earliest <= search->trace->terminal.timestamp_ns) return;
    for (size_t i = 0; i < clock->stream_count; i++)
        for (size_t at = streams[i].first, end = at + streams[i].count;
             at < end && interval->start_ns[work->order[at]] == 0; at++)
            mark(search, SUSPECT_NO_START, work->order[at], 0);
}

static void find_before_launch(struct search *search)
{
    const struct cg_trace *trace = search->trace;
    const struct cg_device_intervals *interval = &trace->device_interval;
    const struct device_work *work = search->work;
    for (size_t row = 0; trace->clocks && row < interval->rows; row++) {
        uint32_t op = work->issuer[row];
        const struct cg_device_clock *anchors = work->clocks[work->streams[work->stream[row]].clock].anchors;
        if (op == CG_NONE || !anchors || suspect_is(search->suspects, SUSPECT_INTERVALS, row)) continue;
        struct host_time start = device_clock_host(anchors, interval->start_ns[row]);
        __int128 early = trace->op.timestamp_ns[op] - start.ns;
        uint64_t allowed = cg_sat_add(cg_sat_add(start.uncertainty_ns, slack(interval, row)), TOLERANCE_NS);
        search->suspects->launches_compared++;
        if (early > allowed)
            mark(search, SUSPECT_BEFORE_LAUNCH, row, early > UINT64_MAX ? UINT64_MAX : (uint64_t)early);
    }
}

static uint64_t end_of(const struct cg_device_intervals *interval, uint32_t row)
{
    return cg_sat_add(interval->start_ns[row], interval->duration_ns[row]);
}

/* By how much a runs on after b, which begins no earlier, has begun, beyond what is allowed; 0: not, or b may
 * have run before a: a short kernel that begins with a long one. Branches of a
 * graph run at once, and all have the stream and the correlation of its launch. */
static uint64_t overlap(const struct cg_device_intervals *interval, uint32_t a, uint32_t b)
{
    if (interval->correlation_set[a] && interval->correlation_set[b] &&
        interval->correlation[a] == interval->correlation[b])
        return 0;
    uint64_t allowed = cg_sat_add(cg_sat_add(slack(interval, a), slack(interval, b)), TOLERANCE_NS);
    uint64_t over = cg_sat_sub(end_of(interval, a), interval->start_ns[b]);
    uint64_t turned = cg_sat_sub(end_of(interval, b), interval->start_ns[a]);
    return over > allowed && turned > allowed ? over : 0;
}

static bool is_judged(const struct search *search, uint32_t row)
{
    return search->work->class[row] == WORK_KERNEL && !suspect_is(search->suspects, SUSPECT_INTERVALS, row);
}

/* The place of the next kernel of the stream from a place on. */
static size_t next_kernel(const struct search *search, size_t at, size_t end)
{
    while (at < end && !is_judged(search, search->work->order[at]))
        at++;
    return at;
}

/* Kernels of one stream follow one another; what is suspect already is no measure for the next. */
static void find_overlaps(struct search *search, const struct work_stream *stream)
{
    const struct cg_device_intervals *interval = &search->trace->device_interval;
    const uint32_t *order = search->work->order;
    size_t end = stream->first + stream->count, at = next_kernel(search, stream->first, end);
    uint32_t before = at < end ? order[at] : CG_NONE;
    for (at = at < end ? next_kernel(search, at + 1, end) : end; at < end;) {
        uint32_t row = order[at];
        uint64_t over = overlap(interval, before, row);
        size_t next = next_kernel(search, at + 1, end);
        at = next;
        if (over == 0) {
            if (end_of(interval, row) >= end_of(interval, before)) before = row;
        } else if (next < end && overlap(interval, before, order[next]) &&
                   !overlap(interval, row, order[next])) {
            mark(search, SUSPECT_OVERLAP, before, over);
            before = row;
        } else {
            mark(search, SUSPECT_OVERLAP, row, over);
        }
    }
}

static void find_intervals(struct search *search)
{
    find_longer_than_run(search);
    for (size_t i = 0; i < search->work->clock_count; i++)
        find_no_start(search, &search->work->clocks[i]);
    find_before_launch(search);
    for (size_t i = 0; i < search->work->stream_count; i++)
        find_overlaps(search, &search->work->streams[i]);
}

/* ---- storages ---- */

/* Kinds of memory that need not lie on the device. */
static const char *const elsewhere[] = {"managed", "host", "registered"};

static bool lies_elsewhere(const struct cg_trace *trace, size_t row)
{
    struct cg_text kind = trace_text(trace, trace->memory.memory_kind[row]);
    for (size_t i = 0; kind.bytes && i < sizeof elsewhere / sizeof *elsewhere; i++)
        if (kind.length == strlen(elsewhere[i]) && memcmp(kind.bytes, elsewhere[i], kind.length) == 0)
            return true;
    return false;
}

static bool is_cuda(struct cg_text device)
{
    return device.length > 5 && memcmp(device.bytes, "cuda:", 5) == 0;
}

static void judge_time(struct search *search, size_t row)
{
    const struct cg_trace *trace = search->trace;
    if (trace->memory.timestamp_ns[row] > 0 || trace->memory.preexisting[row]) return;
    uint32_t span = trace_span(trace, trace->memory.span_id[row]);
    if (span != CG_NONE && trace->span.start_ns[span] > 0)
        mark(search, SUSPECT_NO_TIME, row, trace->span.start_ns[span]);
}

/* Memory records without a time, and those larger than their device. numbers: (device, 0) to the place of its
 * capacity. One pass, which also sums up what is allocated: for 6 million records it takes 10 ms less than
 * three. */
static void find_in_memory(struct search *search, const struct pair_map *numbers, const uint64_t *capacity)
{
    const struct cg_trace *trace = search->trace;
    const struct cg_memory *records = &trace->memory;
    cg_str device = CG_ABSENT; /* of the record before: mostly that of this one */
    uint64_t most = UINT64_MAX;
    unsigned __int128 allocated = 0;
    for (size_t row = 0; row < records->rows; row++) {
        judge_time(search, row);
        if (records->action[row] != CG_ACTION_ALLOC) continue;
        allocated += records->bytes[row];
        if (records->device[row] != device) {
            device = records->device[row];
            const struct pair_entry *entry = pair_map_find(numbers, device, 0);
            bool known = entry && capacity && is_cuda(trace_text(trace, device));
            most = known ? capacity[entry->value] : UINT64_MAX;
        }
        if (records->bytes[row] <= most || lies_elsewhere(trace, row)) continue;
        mark(search, SUSPECT_LARGER_THAN_DEVICE, row, records->bytes[row] - most);
    }
    search->allocated = allocated > UINT64_MAX ? UINT64_MAX : (uint64_t)allocated;
}

static bool find_storages_alone(struct search *search)
{
    const struct cg_trace *trace = search->trace;
    const struct cg_device_memory *samples = &trace->device_memory;
    struct pair_map numbers = {0}; /* (device, 0) to its capacity's place */
    uint64_t *capacity = NULL;
    size_t room = 0;
    for (size_t i = 0; i < samples->rows; i++) {
        bool made;
        if (!samples->capacity_bytes_set[i] || samples->capacity_bytes[i] == 0) continue;
        struct pair_entry *entry = pair_map_insert(&numbers, samples->device[i], 0, &made);
        if (!entry || !array_room(&capacity, numbers.count, &room, sizeof *capacity)) goto failed;
        if (made) {
            entry->value = (uint32_t)numbers.count - 1;
            capacity[entry->value] = 0;
        }
        if (samples->capacity_bytes[i] > capacity[entry->value])
            capacity[entry->value] = samples->capacity_bytes[i];
    }
    find_in_memory(search, &numbers, capacity);
    pair_map_free(&numbers);
    free(capacity);
    return true;
failed:
    pair_map_free(&numbers);
    free(capacity);
    return false;
}

/* A storage is left out whole. Its records stand in the file in the order in which they happened. */
static bool find_partners(struct search *search)
{
    const struct cg_memory *records = &search->trace->memory;
    struct pair_map live = {0}; /* (device, storage) to the row of its allocation */
    bool ok = true;
    for (uint32_t row = 0; ok && search->suspects->rule[SUSPECT_STORAGES] && row < records->rows; row++) {
        struct pair_entry *entry;
        if (records->action[row] == CG_ACTION_ALLOC) {
            entry = pair_map_insert(&live, records->device[row], records->storage_id[row], NULL);
            ok = entry != NULL;
            if (ok) entry->value = row;
            continue;
        }
        entry = pair_map_find(&live, records->device[row], records->storage_id[row]);
        if (!entry) continue;
        if (suspect_is(search->suspects, SUSPECT_STORAGES, entry->value))
            mark(search, SUSPECT_PARTNER, row, 0);
        else if (suspect_is(search->suspects, SUSPECT_STORAGES, row))
            mark(search, SUSPECT_PARTNER, entry->value, 0);
        pair_map_remove(&live, entry);
    }
    pair_map_free(&live);
    return ok;
}

static bool find_storages(struct search *search)
{
    return find_storages_alone(search) && find_partners(search);
}

/* ---- samples ---- */

static void find_samples(struct search *search)
{
    const struct cg_device_memory *samples = &search->trace->device_memory;
    for (size_t row = 0; row < samples->rows; row++) {
        uint64_t capacity = samples->capacity_bytes[row], used = 0, unused = 0;
        if (!samples->capacity_bytes_set[row] || capacity == 0) continue;
        if (samples->used_bytes_set[row]) used = samples->used_bytes[row];
        if (samples->free_bytes_set[row]) unused = samples->free_bytes[row];
        uint64_t most = used > unused ? used : unused;
        if (most > capacity) mark(search, SUSPECT_MORE_THAN_CAPACITY, row, most - capacity);
    }
}

/* ---- all of them ---- */

static int compare_suspects(const void *left, const void *right)
{
    const struct suspect *a = left, *b = right;
    if (a->plane != b->plane) return a->plane < b->plane ? -1 : 1;
    if (a->amount != b->amount) return a->amount > b->amount ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

void suspect_tally_add(struct suspect_tally *tally, const struct suspects *suspects, enum suspect_plane plane,
                       size_t row, uint64_t amount)
{
    tally->records++;
    tally->amount = cg_sat_add(tally->amount, amount);
    if (!suspect_is(suspects, plane, row)) return;
    tally->suspects++;
    tally->suspect_amount = cg_sat_add(tally->suspect_amount, amount);
    tally->by_rule[suspects->rule[plane][row] - 1]++;
}

/* Of a plane without suspects, where only the amounts are to be summed: four times as quick as one by one.
 * What is allocated is known already, and samples have no amount. */
static void tally_whole(const struct search *search, enum suspect_plane plane, struct suspect_tally *tally)
{
    unsigned __int128 amount = plane == SUSPECT_STORAGES ? search->allocated : 0;
    tally->records = plane_rows(search->trace, plane);
    for (size_t row = 0; plane == SUSPECT_INTERVALS && row < tally->records; row++)
        amount += search->trace->device_interval.duration_ns[row];
    tally->amount = amount > UINT64_MAX ? UINT64_MAX : (uint64_t)amount;
}

/* What is summed up of them. */
static void sum_up(const struct search *search)
{
    const struct cg_trace *trace = search->trace;
    const struct device_work *work = search->work;
    struct suspects *suspects = search->suspects;
    for (enum suspect_plane plane = work ? 0 : SUSPECT_STORAGES; plane < SUSPECT_PLANE_COUNT; plane++)
        if (!suspects->rule[plane])
            tally_whole(search, plane, &suspects->tally[plane]);
        else
            for (size_t row = 0, rows = plane_rows(trace, plane); row < rows; row++)
                suspect_tally_add(&suspects->tally[plane], suspects, plane, row,
                                  amount_of(trace, plane, row));
    for (size_t i = 0; i < suspects->count; i++) {
        const struct suspect *suspect = &suspects->found[i];
        if (suspect->plane != SUSPECT_INTERVALS || !work) continue;
        struct suspect_clock *clock = &suspects->clocks[work->streams[work->stream[suspect->row]].clock];
        clock->count++;
        clock->duration_ns = cg_sat_add(clock->duration_ns, suspect->amount);
    }
}

bool suspects_make(const struct cg_trace *trace, const struct device_work *work, struct suspects *suspects)
{
    struct search search = {.trace = trace, .work = work, .suspects = suspects};
    *suspects =
        (struct suspects){.clocks = array_zeroed(work ? work->clock_count : 0, sizeof *suspects->clocks)};
    if (!suspects->clocks) return false;
    if (work) find_intervals(&search);
    search.failed |= !find_storages(&search);
    find_samples(&search);
    if (search.failed) {
        suspects_free(suspects);
        return false;
    }
    if (suspects->count > 1)
        qsort(suspects->found, suspects->count, sizeof *suspects->found, compare_suspects);
    sum_up(&search);
    return true;
}

void suspects_free(struct suspects *suspects)
{
    for (enum suspect_plane plane = 0; plane < SUSPECT_PLANE_COUNT; plane++)
        free(suspects->rule[plane]);
    free(suspects->found);
    free(suspects->clocks);
    *suspects = (struct suspects){0};
}
