#include "analyzer/viewer/levels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/planes/array.h"
#include "analyzer/trace/jobs.h"

/* A slice that stands for `count` ones, whose durations sum to `sum`. */
struct level_entry {
    uint32_t slice, count;
    uint64_t sum;
};

enum { COARSEST = 2048, FACTOR = 4 };

/* How many buckets of 2^bits ns begin a new entry, for every bits at once: two neighbours of a lane are in
 * different buckets exactly when the highest bit in which their starts differ is not below `bits`. */
static void sum_borders(const struct slices *slices, size_t borders[65])
{
    memcpy(borders, slices->borders, sizeof slices->borders);
    for (unsigned bits = 64; bits-- > 0;) /* borders[b + 1]: of buckets of 2^b ns */
        borders[bits] += borders[bits + 1];
}

void levels_choose(const struct slices *slices, const struct level_base *base, size_t most,
                   struct levels *levels)
{
    const size_t *borders = base->borders;
    size_t entries = slices->count, bits = 0;
    bool merged = false;
    *levels = (struct levels){0};
    if (entries > most) {
        merged = true;
        while (bits < 63 && slices->lane_count + borders[bits + 1] > most)
            bits++;
        entries = slices->lane_count + borders[bits + 1];
    }
    for (;;) {
        levels->list[levels->count++] = (struct level){(unsigned)bits, merged, entries};
        if (entries <= COARSEST || levels->count == LEVELS_MAX || bits == 63) return;
        size_t next = bits;
        while (next < 63 && slices->lane_count + borders[next + 1] > entries / FACTOR)
            next++;
        if (merged && next == bits) return;
        size_t fewer = slices->lane_count + borders[next + 1];
        if (fewer >= entries) return; /* lanes of one slice each: nothing to merge */
        bits = next;
        entries = fewer;
        merged = true;
    }
}

/* ---- reduction ---- */

/* The entries of a level, of all lanes, one after the other. */
struct reduced {
    struct level_entry *entries;
    size_t *lane_first;
};

static void reduced_free(struct reduced *reduced)
{
    free(reduced->entries);
    free(reduced->lane_first);
}

static bool reduce_first(const struct slices *slices, const struct level *level, struct reduced *reduced)
{
    *reduced = (struct reduced){array_raw(level->entries, sizeof *reduced->entries),
                                array_zeroed(slices->lane_count + 1, sizeof(size_t))};
    if (!reduced->entries || !reduced->lane_first) return false;
    size_t used = 0;
    for (size_t lane = 0; lane < slices->lane_count; lane++) {
        size_t begin = reduced->lane_first[lane] = used;
        for (size_t i = slices->lane_first[lane]; i < slices->lane_first[lane + 1]; i++) {
            const struct slice *slice = &slices->list[i];
            struct level_entry *last = used > begin ? &reduced->entries[used - 1] : NULL;
            const struct slice *stands = last ? &slices->list[last->slice] : NULL;
            if (level->merged && last && stands->start >> level->bits == slice->start >> level->bits) {
                last->count++;
                last->sum = cg_sat_add(last->sum, slice->duration);
                if (slice->duration > stands->duration) last->slice = (uint32_t)i;
            } else {
                reduced->entries[used++] = (struct level_entry){(uint32_t)i, 1, slice->duration};
            }
        }
    }
    reduced->lane_first[slices->lane_count] = used;
    return true;
}

/* ---- columns; analyzer/viewer/page/model.js reads them ---- */

enum { ENTRIES, START, DURATION, NAME, MORE, REST, ROW, LEVEL_COLUMNS };

/* A name, which becomes a number of the page's table when that is made, and a bit that goes with it. */
struct level_name {
    cg_str name;
    bool op;
};
/* A level but for the column of names. */
struct level_columns {
    struct buffer columns[LEVEL_COLUMNS];
    struct level_name *names;
    size_t count;
};

static void make_entry(const struct slice *slice, const struct level_entry *entry, const struct slice *before,
                       struct buffer *columns)
{
    buffer_number(&columns[START], slice->start - before->start);
    buffer_number(&columns[DURATION], slice->duration);
    buffer_number(&columns[MORE], entry->count - 1);
    if (entry->count > 1) buffer_number(&columns[REST], entry->sum - slice->duration);
    buffer_step(&columns[ROW], before->row, slice->row);
}

/* What level 0 tells of a slice beyond its bar: a column of each kind has one value for each slice of that
 * kind, in the order of the level. */
enum {
    SPAN_ID,
    SPAN_PARENT,
    OP_BYTES,
    OP_ERROR,
    OP_API,
    OP_SPAN,
    ISSUER,
    ISSUED_AT,
    INTERVAL_BYTES,
    DETAIL_COLUMNS
};

/* But for the column of entry points. */
struct details {
    struct buffer columns[DETAIL_COLUMNS];
    cg_str *apis;
    size_t api_count;
    struct cg_text last_id;
    uint64_t parent, op_span, issuer, issued_at;
};

static void detail_step(struct details *details, unsigned column, uint64_t *last, uint64_t value)
{
    buffer_step(&details->columns[column], *last, value);
    *last = value;
}

/* Rows are written as row + 1; 0 is none. */
static void add_details(const struct cg_trace *trace, const struct slices *slices, const struct slice *slice,
                        struct details *details)
{
    const struct cg_ops *ops = &trace->op;
    const struct cg_device_intervals *intervals = &trace->device_interval;
    uint32_t row = slice->row, issuer;
    switch (slice->kind) {
    case SLICE_SPAN:
        buffer_text(&details->columns[SPAN_ID], &details->last_id,
                    text_beginning(trace_text(trace, trace->span.id[row]), NAME_BYTES_MAX));
        detail_step(details, SPAN_PARENT, &details->parent, trace->span.parent[row] + UINT32_C(1));
        break;
    case SLICE_OP:
        buffer_number(&details->columns[OP_BYTES], ops->bytes_set[row] ? ops->bytes[row] + 1 : 0);
        buffer_number(&details->columns[OP_ERROR], ops->error_set[row] ? ops->error[row] + 1 : 0);
        details->apis[details->api_count++] = ops->api[row];
        detail_step(details, OP_SPAN, &details->op_span, trace_span(trace, ops->span_id[row]) + UINT32_C(1));
        break;
    default:
        issuer = slices->issuer[row];
        detail_step(details, ISSUER, &details->issuer, issuer + UINT32_C(1));
        detail_step(details, ISSUED_AT, &details->issued_at,
                    issuer == CG_NONE ? 0 : ops->timestamp_ns[issuer]);
        buffer_number(&details->columns[INTERVAL_BYTES],
                      intervals->bytes_set[row] ? intervals->bytes[row] + 1 : 0);
    }
}

/* ---- a level, and the next one from it ---- */

/* The entries of the next level while those of one are passed over: they take the places of those that were
 * passed. */
struct next_level {
    const struct slices *slices;
    struct level_entry *entries;
    size_t begin, used; /* begin: of the lane */
    unsigned bits;
};

static void add_to_next(struct next_level *next, struct level_entry entry, const struct slice *slice)
{
    if (next->used > next->begin) {
        struct level_entry *last = &next->entries[next->used - 1];
        const struct slice *stands = &next->slices->list[last->slice];
        if (stands->start >> next->bits == slice->start >> next->bits) {
            last->count += entry.count;
            last->sum = cg_sat_add(last->sum, entry.sum);
            if (slice->duration > stands->duration) last->slice = entry.slice;
            return;
        }
    }
    next->entries[next->used++] = entry;
}

/* The columns of a level; those of details unless that is NULL. One pass for all, and for what the next level
 * begins with (next: NULL for the last one), as most of it is waiting for slices: four took 15 ms more. */
static bool make_level(const struct cg_trace *trace, const struct slices *slices, struct reduced *reduced,
                       const struct level *following, struct level_columns *level, struct details *details)
{
    const struct track *track = slices->tracks;
    struct next_level next = {.slices = slices, .entries = reduced->entries};
    size_t count = reduced->lane_first[slices->lane_count], i = 0;
    level->names = array_raw(count, sizeof *level->names);
    if (details) details->apis = array_raw(count, sizeof *details->apis);
    if (!level->names || (details && !details->apis)) return false;
    if (following) next.bits = following->bits;
    for (size_t lane = 0; lane < slices->lane_count; lane++) {
        size_t end = reduced->lane_first[lane + 1];
        if (lane >= track->first_lane + track->lanes) track++;
        /* Of a device clock, which may count from anywhere, times are told from its first slice on: a number
         * of a browser is exact up to 2^53. */
        struct slice origin = {.start =
                                   track->device == CG_ABSENT ? 0 : slices->clocks[track->clock].first_ns};
        const struct slice *before = &origin;
        buffer_number(&level->columns[ENTRIES], end - i);
        for (next.begin = next.used; i < end; i++) {
            struct level_entry entry = reduced->entries[i];
            const struct slice *slice = &slices->list[entry.slice];
            make_entry(slice, &entry, before, level->columns);
            level->names[level->count++] =
                (struct level_name){slice_name(trace, slices, slice), slice->kind == SLICE_OP};
            if (details) add_details(trace, slices, slice, details);
            if (following) add_to_next(&next, entry, slice);
            before = slice;
        }
        if (following) reduced->lane_first[lane] = next.begin;
    }
    if (following) reduced->lane_first[slices->lane_count] = next.used;
    return true;
}

/* ---- the levels that follow from one finest level, all but the numbers of names ---- */

struct level_set {
    struct level finest;
    struct level_columns levels[LEVELS_MAX];
    struct details details;
};

static void level_set_free(struct level_set *set)
{
    for (size_t i = 0; set && i < LEVELS_MAX; i++) {
        for (unsigned column = 0; column < LEVEL_COLUMNS; column++)
            buffer_free(&set->levels[i].columns[column]);
        free(set->levels[i].names);
    }
    for (unsigned column = 0; set && column < DETAIL_COLUMNS; column++)
        buffer_free(&set->details.columns[column]);
    if (set) free(set->details.apis);
    free(set);
}

static struct level_set *level_set_make(const struct cg_trace *trace, const struct slices *slices,
                                        const struct levels *levels)
{
    struct level_set *set = array_zeroed(1, sizeof *set);
    struct reduced reduced = {0};
    bool good = set && reduce_first(slices, &levels->list[0], &reduced);
    for (size_t i = 0; i < levels->count && good; i++)
        good = make_level(trace, slices, &reduced, i + 1 < levels->count ? &levels->list[i + 1] : NULL,
                          &set->levels[i], i == 0 ? &set->details : NULL);
    reduced_free(&reduced);
    if (good) {
        set->finest = levels->list[0];
        return set;
    }
    level_set_free(set);
    return NULL;
}

bool level_same(const struct level *a, const struct level *b)
{
    return a->merged == b->merged && (!a->merged || a->bits == b->bits);
}

/* The set that the levels are, which the base then holds. */
static bool find_set(const struct cg_trace *trace, const struct slices *slices, const struct levels *levels,
                     struct level_base *base)
{
    if (base->set && level_same(&base->set->finest, &levels->list[0])) return true;
    level_base_free(base);
    base->set = level_set_make(trace, slices, levels);
    return base->set != NULL;
}

bool level_base_make(const struct cg_trace *trace, const struct slices *slices, size_t most,
                     struct level_base *base)
{
    struct levels levels;
    *base = (struct level_base){0};
    sum_borders(slices, base->borders);
    levels_choose(slices, base, most, &levels);
    return find_set(trace, slices, &levels, base);
}

void level_base_free(struct level_base *base)
{
    level_set_free(base->set);
    base->set = NULL;
}

/* ---- packing ---- */

/* A part that is made of columns and of the one that is made last. */
struct level_part {
    char name[32];
    const struct buffer *columns;
    unsigned count, last;
    struct buffer last_column;
    const struct level_columns *level; /* whose names are to be numbered yet; NULL: they are */
    const struct names *names;
    struct parts made;
};

static bool pack_level_part(void *context)
{
    struct level_part *part = context;
    struct buffer columns[DETAIL_COLUMNS];
    _Static_assert((int)LEVEL_COLUMNS <= (int)DETAIL_COLUMNS, "the columns of a level have room");
    for (size_t i = 0; part->level && i < part->level->count; i++)
        buffer_number(&part->last_column, (uint64_t)names_number(part->names, part->level->names[i].name)
                                                  << 1 |
                                              part->level->names[i].op);
    memcpy(columns, part->columns, part->count * sizeof *columns);
    columns[part->last] = part->last_column;
    bool good =
        parts_add_copies(&part->made, part->name, columns, part->count) && part_pack(&part->made.list[0]);
    buffer_free(&part->last_column);
    return good;
}

/* Level 0 brings its names into use, then the details theirs; the slices of all other levels are among those
 * of level 0. */
static void use_names(const struct level_set *set, struct names *names, struct buffer *level,
                      struct buffer *details)
{
    for (size_t i = 0; i < set->levels[0].count; i++)
        buffer_number(level, (uint64_t)names_use(names, set->levels[0].names[i].name) << 1 |
                                 set->levels[0].names[i].op);
    for (size_t i = 0; i < set->details.api_count; i++)
        buffer_number(details, names_use(names, set->details.apis[i]));
}

bool levels_pack(const struct cg_trace *trace, const struct slices *slices, const struct levels *levels,
                 struct level_base *base, struct names *names, struct parts *parts, unsigned threads)
{
    struct level_part made[LEVELS_MAX + 1] = {0};
    struct job jobs[LEVELS_MAX + 1];
    size_t count = levels->count + 1; /* the second one are the details */
    if (!find_set(trace, slices, levels, base)) return false;
    for (size_t i = 0; i < count; i++) {
        size_t number = i > 1 ? i - 1 : 0;
        made[i] = (struct level_part){.columns = base->set->levels[number].columns,
                                      .count = LEVEL_COLUMNS,
                                      .last = NAME,
                                      .level = i > 1 ? &base->set->levels[number] : NULL,
                                      .names = names};
        snprintf(made[i].name, sizeof made[i].name, "level-%zu", number);
        jobs[i] = (struct job){.run = pack_level_part, .context = &made[i]};
    }
    made[1] = (struct level_part){
        .name = "details", .columns = base->set->details.columns, .count = DETAIL_COLUMNS, .last = OP_API};
    use_names(base->set, names, &made[0].last_column, &made[1].last_column);
    bool good = jobs_run(jobs, count, threads);
    for (size_t i = 0; i < count; i++) {
        good = good && parts_move(parts, &made[i].made);
        parts_free(&made[i].made);
    }
    return good;
}
