/* Training steps, by thread, and the step that each storage was made in. */
#include <stdlib.h>

#include "analyzer/planes/array.h"
#include "analyzer/planes/order.h"
#include "analyzer/planes/pair_map.h"
#include "analyzer/planes/storage_groups.h"

/* Threads by tid: numbers from 1 on; 0 is all that is of no known thread. */
struct threads {
    struct pair_map known, highest; /* a map's keys are too few for tids with all upper bits set */
    uint32_t count;
};

static void threads_free(struct threads *threads)
{
    pair_map_free(&threads->known);
    pair_map_free(&threads->highest);
}

/* The entry of a tid, made when make is set; NULL when it is not there, or memory is short. */
static struct pair_entry *thread_entry(struct threads *threads, uint64_t tid, bool make)
{
    uint32_t high = (uint32_t)(tid >> 32), low = (uint32_t)tid;
    struct pair_map *map = high == UINT32_MAX ? &threads->highest : &threads->known;
    uint32_t first = high == UINT32_MAX ? high : high + 1;
    bool made;
    if (!make) return pair_map_find(map, first, low);
    struct pair_entry *entry = pair_map_insert(map, first, low, &made);
    if (entry && made) entry->value = ++threads->count;
    return entry;
}

struct maker {
    const struct cg_trace *trace;
    const struct logical_memory *memory;
    struct training_steps *steps;
    struct threads threads;
    struct training_step *starts; /* of spans with a step: start_ns and thread alone */
    size_t start_count;
};

/* ---- the steps ---- */

static int compare_steps(const void *left, const void *right)
{
    const struct training_step *a = left, *b = right;
    if (a->thread != b->thread) return a->thread < b->thread ? -1 : 1;
    if (a->start_ns != b->start_ns) return a->start_ns < b->start_ns ? -1 : 1;
    return (a->end_ns < b->end_ns) - (a->end_ns > b->end_ns); /* the longer one first */
}

static bool in_order(const struct training_step *steps, size_t count)
{
    size_t i = 1;
    while (i < count && compare_steps(&steps[i - 1], &steps[i]) <= 0)
        i++;
    return i >= count;
}

/* Spans come in the order of their ids, so that of many few are in order. They are sorted by their starts,
 * then dealt out to their threads, and only those of one start are compared: the leaks of a trace with
 * 600,000 spans take 49 ms, and took 70 ms with qsort(). False when memory is short. */
static bool sort_steps(const struct threads *threads, struct training_step *steps, size_t count)
{
    if (in_order(steps, count)) return true;
    uint64_t *starts = array_raw(count, sizeof *starts);
    struct training_step *from = array_raw(count, sizeof *from);
    size_t *place = array_zeroed((size_t)threads->count + 2, sizeof *place);
    uint32_t *order = NULL;
    bool ok = starts && from && place;
    for (size_t i = 0; ok && i < count; i++) {
        from[i] = steps[i];
        starts[i] = steps[i].start_ns;
        place[steps[i].thread + 1]++;
    }
    for (size_t i = 0; ok && i < threads->count; i++)
        place[i + 1] += place[i];
    ok = ok && order_by_time(starts, count, &order);
    for (size_t i = 0; ok && i < count; i++) {
        const struct training_step *step = &from[ordered_row(order, i)];
        steps[place[step->thread]++] = *step;
    }
    for (size_t first = 0, end; ok && first < count; first = end) {
        for (end = first + 1; end < count && steps[end].start_ns == steps[first].start_ns;)
            end++;
        if (!in_order(steps + first, end - first))
            qsort(steps + first, end - first, sizeof *steps, compare_steps);
    }
    free(starts);
    free(from);
    free(place);
    free(order);
    return ok;
}

/* A step inside another one of its thread is a part of it. */
static void drop_inner(struct training_steps *steps)
{
    size_t kept = 0;
    for (size_t i = 0; i < steps->count; i++) {
        const struct training_step *last = kept ? &steps->at[kept - 1] : NULL;
        if (last && last->thread == steps->at[i].thread && steps->at[i].end_ns <= last->end_ns) continue;
        steps->at[kept++] = steps->at[i];
    }
    steps->count = kept;
}

/* Each step begins with the first of starts after the end of the step of its thread before: of starts of its
 * thread, or of any when all steps are of one thread. */
static bool set_starts(struct maker *maker)
{
    struct training_steps *steps = maker->steps;
    struct training_step *starts = maker->starts;
    bool one = steps->count > 0 && steps->at[0].thread == steps->at[steps->count - 1].thread;
    for (size_t i = 0; one && i < maker->start_count; i++)
        starts[i].thread = steps->at[0].thread;
    if (!sort_steps(&maker->threads, starts, maker->start_count)) return false;
    for (size_t i = 0, next = 0; i < steps->count; i++) {
        struct training_step *step = &steps->at[i];
        bool follows = i > 0 && steps->at[i - 1].thread == step->thread;
        uint64_t after = follows ? steps->at[i - 1].end_ns : 0;
        while (next < maker->start_count &&
               (starts[next].thread < step->thread ||
                (starts[next].thread == step->thread && starts[next].start_ns < after)))
            next++;
        if (next < maker->start_count && starts[next].thread == step->thread &&
            starts[next].start_ns < step->start_ns)
            step->start_ns = starts[next].start_ns;
    }
    return true;
}

static bool find_steps(struct maker *maker, cg_str name)
{
    const struct cg_spans *span = &maker->trace->span;
    struct training_steps *steps = maker->steps;
    for (uint32_t row = 0; row < span->rows; row++) {
        bool named = name != CG_ABSENT && span->name[row] == name;
        bool ends = name != CG_ABSENT ? named : span->step[row] == CG_STEP_OPTIMIZER + 1;
        bool starts = name == CG_ABSENT && span->step[row];
        if (!starts && !(ends && span->closed[row])) continue;
        uint32_t thread = 0;
        if (span->tid_set && span->tid_set[row]) {
            struct pair_entry *entry = thread_entry(&maker->threads, span->tid[row], true);
            if (!entry) return false;
            thread = entry->value;
        }
        struct training_step step = {span->start_ns[row], trace_span_end(maker->trace, row), thread};
        if (starts) maker->starts[maker->start_count++] = step;
        if (ends && span->closed[row]) steps->at[steps->count++] = step;
    }
    if (!sort_steps(&maker->threads, steps->at, steps->count)) return false;
    drop_inner(steps);
    return name != CG_ABSENT || set_starts(maker);
}

/* ---- the step of each storage ---- */

/* Where in its steps each thread is: storages come in the order of their allocations. */
struct places {
    size_t *next; /* by thread: its first step that has not ended */
    size_t *end;  /* by thread: behind its last step */
    /* Steps of all threads by start; those that have begun lie on a stack, and what has ended is taken off it
     * once and for all when it is met. */
    uint32_t *by_start, *begun;
    size_t begun_count, started;
};

static int compare_starts(const void *left, const void *right, void *context)
{
    const struct training_step *steps = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    if (steps[a].start_ns != steps[b].start_ns) return steps[a].start_ns < steps[b].start_ns ? -1 : 1;
    return (a > b) - (a < b);
}

static bool places_make(const struct maker *maker, struct places *places)
{
    const struct training_steps *steps = maker->steps;
    size_t threads = (size_t)maker->threads.count + 1;
    *places = (struct places){.next = array_zeroed(threads, sizeof *places->next),
                              .end = array_zeroed(threads, sizeof *places->end),
                              .by_start = array_raw(steps->count, sizeof *places->by_start),
                              .begun = array_raw(steps->count, sizeof *places->begun)};
    if (!places->next || !places->end || !places->by_start || !places->begun) return false;
    for (size_t i = 0; i < steps->count; i++) {
        uint32_t thread = steps->at[i].thread;
        if (places->end[thread] == 0) places->next[thread] = i;
        places->end[thread] = i + 1;
        places->by_start[i] = (uint32_t)i;
    }
    if (steps->count > 1)
        qsort_r(places->by_start, steps->count, sizeof *places->by_start, compare_starts, steps->at);
    return true;
}

static void places_free(struct places *places)
{
    free(places->next);
    free(places->end);
    free(places->by_start);
    free(places->begun);
}

static uint32_t step_of_thread(const struct training_steps *steps, struct places *places, uint32_t thread,
                               uint64_t time)
{
    size_t *next = &places->next[thread];
    while (*next < places->end[thread] && steps->at[*next].end_ns < time)
        ++*next;
    return *next < places->end[thread] && steps->at[*next].start_ns <= time ? (uint32_t)*next : CG_NONE;
}

/* The step that began last, of those of any thread. */
static uint32_t step_of_any(const struct training_steps *steps, struct places *places, uint64_t time)
{
    while (places->started < steps->count && steps->at[places->by_start[places->started]].start_ns <= time)
        places->begun[places->begun_count++] = places->by_start[places->started++];
    while (places->begun_count > 0 && steps->at[places->begun[places->begun_count - 1]].end_ns < time)
        places->begun_count--;
    return places->begun_count > 0 ? places->begun[places->begun_count - 1] : CG_NONE;
}

static bool place_storages(struct maker *maker, const uint8_t *wanted)
{
    const struct cg_memory *records = &maker->trace->memory;
    const struct logical_memory *memory = maker->memory;
    struct training_steps *steps = maker->steps;
    struct places places;
    steps->of = array_raw(memory->lifetime_count, sizeof *steps->of);
    bool ok = places_make(maker, &places) && steps->of;
    for (size_t i = 0; ok && i < memory->lifetime_count; i++) {
        steps->of[i] = CG_NONE;
        if (wanted && !wanted[i]) continue;
        uint32_t row = memory->lifetimes[i].row;
        uint64_t time = records->timestamp_ns[row];
        const struct pair_entry *thread = records->tid_set && records->tid_set[row]
                                              ? thread_entry(&maker->threads, records->tid[row], false)
                                              : NULL;
        bool own = thread && places.end[thread->value] > 0;
        steps->of[i] =
            own ? step_of_thread(steps, &places, thread->value, time) : step_of_any(steps, &places, time);
    }
    places_free(&places);
    return ok;
}

bool training_steps_make(const struct cg_trace *trace, const struct logical_memory *memory, cg_str name,
                         const uint8_t *wanted, struct training_steps *steps)
{
    struct maker maker = {.trace = trace,
                          .memory = memory,
                          .steps = steps,
                          .starts = array_raw(trace->span.rows, sizeof *maker.starts)};
    *steps = (struct training_steps){.at = array_raw(trace->span.rows, sizeof *steps->at)};
    bool ok = maker.starts && steps->at && find_steps(&maker, name) && place_storages(&maker, wanted);
    free(maker.starts);
    threads_free(&maker.threads);
    if (!ok) training_steps_free(steps);
    return ok;
}

void training_steps_free(struct training_steps *steps)
{
    free(steps->at);
    free(steps->of);
    *steps = (struct training_steps){0};
}
