#include "analyzer/viewer/levels.h"

#include <stdio.h>
#include <stdlib.h>

#include "analyzer/planes/array.h"
#include "analyzer/trace/jobs.h"

enum { COARSEST = 2048, FACTOR = 4 };

/* How many buckets of 2^bits ns begin a new entry, for every bits at once: two neighbours of a lane are in
 * different buckets exactly when the highest bit in which their starts differ is not below `bits`. */
static void count_borders(const struct slices *slices, size_t borders[65])
{
    for (unsigned i = 0; i <= 64; i++)
        borders[i] = 0;
    for (size_t lane = 0; lane < slices->lane_count; lane++)
        for (size_t i = slices->lane_first[lane] + 1; i < slices->lane_first[lane + 1]; i++) {
            uint64_t differ = slices->list[i].start ^ slices->list[i - 1].start;
            borders[differ ? 64 - __builtin_clzll(differ) : 0]++;
        }
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

static bool same_level(const struct level *a, const struct level *b)
{
    return a->merged == b->merged && (!a->merged || a->bits == b->bits);
}

/* Level 0, which the base then holds. */
static bool reduce_first(const struct slices *slices, const struct level *level, struct level_base *base)
{
    if (base->entries && same_level(&base->level, level)) return true;
    level_base_free(base);
    base->entries = array_raw(level->entries, sizeof *base->entries);
    base->lane_first = array_zeroed(slices->lane_count + 1, sizeof *base->lane_first);
    base->level = *level;
    if (!base->entries || !base->lane_first) return false;
    size_t used = 0;
    for (size_t lane = 0; lane < slices->lane_count; lane++) {
        size_t begin = base->lane_first[lane] = used;
        for (size_t i = slices->lane_first[lane]; i < slices->lane_first[lane + 1]; i++) {
            const struct slice *slice = &slices->list[i];
            struct level_entry *last = used > begin ? &base->entries[used - 1] : NULL;
            const struct slice *stands = last ? &slices->list[last->slice] : NULL;
            if (level->merged && last && stands->start >> level->bits == slice->start >> level->bits) {
                last->count++;
                last->sum = cg_sat_add(last->sum, slice->duration);
                if (slice->duration > stands->duration) last->slice = (uint32_t)i;
            } else {
                base->entries[used++] = (struct level_entry){(uint32_t)i, 1, slice->duration};
            }
        }
    }
    base->lane_first[slices->lane_count] = used;
    return true;
}

bool level_base_make(const struct slices *slices, size_t most, struct level_base *base)
{
    struct levels levels;
    *base = (struct level_base){0};
    count_borders(slices, base->borders);
    levels_choose(slices, base, most, &levels);
    return reduce_first(slices, &levels.list[0], base);
}

void level_base_free(struct level_base *base)
{
    free(base->entries);
    free(base->lane_first);
    base->entries = NULL;
    base->lane_first = NULL;
}

/* Another level while it is made. */
struct reduced {
    struct level_entry *entries;
    size_t *lane_first;
};

/* The next level from the one before, which may be the same arrays. */
static void reduce_further(const struct slices *slices, unsigned bits, struct reduced before,
                           struct reduced *reduced)
{
    size_t used = 0, from = 0;
    for (size_t lane = 0; lane < slices->lane_count; lane++) {
        size_t to = before.lane_first[lane + 1], begin = used;
        for (; from < to; from++) {
            struct level_entry entry = before.entries[from];
            struct level_entry *last = used > begin ? &reduced->entries[used - 1] : NULL;
            const struct slice *stands = last ? &slices->list[last->slice] : NULL;
            if (last && stands->start >> bits == slices->list[entry.slice].start >> bits) {
                last->count += entry.count;
                last->sum = cg_sat_add(last->sum, entry.sum);
                if (slices->list[entry.slice].duration > stands->duration) last->slice = entry.slice;
            } else {
                reduced->entries[used++] = entry;
            }
        }
        reduced->lane_first[lane] = begin;
    }
    reduced->lane_first[slices->lane_count] = used;
}

/* ---- columns; analyzer/viewer/page/model.js reads them ---- */

enum { ENTRIES, START, DURATION, NAME, MORE, REST, ROW, LEVEL_COLUMNS };

/* What levels are packed from. */
struct level_pack {
    const struct cg_trace *trace;
    const struct slices *slices;
    const struct levels *levels;
    const struct level_base *base;
    struct names *names;
    struct parts first, finest, further; /* level 0, its details, the other levels */
};

static void pack_entry(const struct slices *slices, const struct level_entry *entry,
                       const struct slice *before, uint32_t name, struct buffer *columns)
{
    const struct slice *slice = &slices->list[entry->slice];
    buffer_number(&columns[START], slice->start - before->start);
    buffer_number(&columns[DURATION], slice->duration);
    buffer_number(&columns[NAME], (uint64_t)name << 1 | (slice->kind == SLICE_OP));
    buffer_number(&columns[MORE], entry->count - 1);
    if (entry->count > 1) buffer_number(&columns[REST], entry->sum - slice->duration);
    buffer_step(&columns[ROW], before->row, slice->row);
}

/* Level 0 brings the names into use; the slices of all others are among its own. */
static bool pack_level(struct level_pack *pack, struct reduced reduced, size_t number, struct parts *parts)
{
    const struct slices *slices = pack->slices;
    struct buffer columns[LEVEL_COLUMNS] = {0};
    const struct track *track = slices->tracks;
    char name[24];
    for (size_t lane = 0; lane < slices->lane_count; lane++) {
        if (lane >= track->first_lane + track->lanes) track++;
        /* Of a device clock, which may count from anywhere, times are told from its first slice on: a number
         * of a browser is exact up to 2^53. */
        struct slice origin = {.start =
                                   track->device == CG_ABSENT ? 0 : slices->clocks[track->clock].first_ns};
        const struct slice *before = &origin;
        buffer_number(&columns[ENTRIES], reduced.lane_first[lane + 1] - reduced.lane_first[lane]);
        for (size_t i = reduced.lane_first[lane]; i < reduced.lane_first[lane + 1]; i++) {
            const struct slice *slice = &slices->list[reduced.entries[i].slice];
            cg_str text = slice_name(pack->trace, slices, slice);
            pack_entry(slices, &reduced.entries[i], before,
                       number == 0 ? names_use(pack->names, text) : names_number(pack->names, text), columns);
            before = slice;
        }
    }
    snprintf(name, sizeof name, "level-%zu", number);
    return parts_add_columns(parts, name, columns, LEVEL_COLUMNS);
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

struct details {
    struct buffer columns[DETAIL_COLUMNS];
    struct cg_text last_id;
    uint64_t parent, op_span, issuer, issued_at;
};

static void detail_step(struct details *details, unsigned column, uint64_t *last, uint64_t value)
{
    buffer_step(&details->columns[column], *last, value);
    *last = value;
}

/* Rows are written as row + 1; 0 is none. */
static void pack_details(const struct cg_trace *trace, const struct slices *slices, const struct slice *slice,
                         struct names *names, struct details *details)
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
        buffer_number(&details->columns[OP_API], names_use(names, ops->api[row]));
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

/* ---- jobs ---- */

static bool pack_first(void *context)
{
    struct level_pack *pack = context;
    return part_pack(&pack->first.list[0]);
}

static bool pack_finest(void *context)
{
    struct level_pack *pack = context;
    const struct level_base *base = pack->base;
    struct details details = {0};
    for (size_t i = 0; i < base->lane_first[pack->slices->lane_count]; i++)
        pack_details(pack->trace, pack->slices, &pack->slices->list[base->entries[i].slice], pack->names,
                     &details);
    return parts_add_columns(&pack->finest, "details", details.columns, DETAIL_COLUMNS) &&
           part_pack(&pack->finest.list[0]);
}

static bool pack_further(void *context)
{
    struct level_pack *pack = context;
    const struct levels *levels = pack->levels;
    struct reduced before = {pack->base->entries, pack->base->lane_first};
    struct reduced reduced = {
        array_raw(levels->count > 1 ? levels->list[1].entries : 0, sizeof *reduced.entries),
        array_zeroed(pack->slices->lane_count + 1, sizeof *reduced.lane_first)};
    bool good = reduced.entries && reduced.lane_first;
    for (size_t i = 1; i < levels->count && good; i++) {
        reduce_further(pack->slices, levels->list[i].bits, before, &reduced);
        before = reduced;
        good = pack_level(pack, reduced, i, &pack->further) && part_pack(&pack->further.list[i - 1]);
    }
    free(reduced.entries);
    free(reduced.lane_first);
    return good;
}

bool levels_pack(const struct cg_trace *trace, const struct slices *slices, const struct levels *levels,
                 struct level_base *base, struct names *names, struct parts *parts, unsigned threads)
{
    struct level_pack pack = {
        .trace = trace, .slices = slices, .levels = levels, .base = base, .names = names};
    struct job jobs[] = {{.run = pack_first, .context = &pack},
                         {.run = pack_finest, .context = &pack},
                         {.run = pack_further, .context = &pack}};
    bool good = reduce_first(slices, &levels->list[0], base) &&
                pack_level(&pack, (struct reduced){base->entries, base->lane_first}, 0, &pack.first) &&
                jobs_run(jobs, sizeof jobs / sizeof *jobs, threads) && parts_move(parts, &pack.first) &&
                parts_move(parts, &pack.finest) && parts_move(parts, &pack.further);
    parts_free(&pack.first);
    parts_free(&pack.finest);
    parts_free(&pack.further);
    return good;
}
