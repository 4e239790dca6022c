#include "analyzer/viewer/levels.h"

#include <stdio.h>
#include <stdlib.h>

#include "analyzer/planes/array.h"

/* A slice that stands for `count` ones, whose durations sum to `sum`. */
struct entry {
    uint32_t slice, count;
    uint64_t sum;
};
/* One level while it is made; entries of all lanes, one after the other. */
struct reduced {
    struct entry *entries;
    size_t *lane_first;
};

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

void levels_choose(const struct slices *slices, size_t most, struct levels *levels)
{
    size_t borders[65], entries = slices->count, bits = 0;
    bool merged = false;
    count_borders(slices, borders);
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

static bool reduce_first(const struct slices *slices, const struct level *level, struct reduced *reduced)
{
    *reduced = (struct reduced){array_raw(level->entries, sizeof *reduced->entries),
                                array_zeroed(slices->lane_count + 1, sizeof(size_t))};
    if (!reduced->entries || !reduced->lane_first) return false;
    size_t used = 0;
    for (size_t lane = 0; lane < slices->lane_count; lane++) {
        reduced->lane_first[lane] = used;
        for (size_t i = slices->lane_first[lane]; i < slices->lane_first[lane + 1]; i++) {
            const struct slice *slice = &slices->list[i];
            struct entry *last = used > reduced->lane_first[lane] ? &reduced->entries[used - 1] : NULL;
            const struct slice *stands = last ? &slices->list[last->slice] : NULL;
            if (level->merged && last && stands->start >> level->bits == slice->start >> level->bits) {
                last->count++;
                last->sum = cg_sat_add(last->sum, slice->duration);
                if (slice->duration > stands->duration) last->slice = (uint32_t)i;
            } else {
                reduced->entries[used++] = (struct entry){(uint32_t)i, 1, slice->duration};
            }
        }
    }
    reduced->lane_first[slices->lane_count] = used;
    return true;
}

/* The next level from the one before, in place. */
static void reduce_further(const struct slices *slices, unsigned bits, struct reduced *reduced)
{
    size_t used = 0, from = 0;
    for (size_t lane = 0; lane < slices->lane_count; lane++) {
        size_t to = reduced->lane_first[lane + 1], begin = used;
        for (; from < to; from++) {
            struct entry entry = reduced->entries[from];
            struct entry *last = used > begin ? &reduced->entries[used - 1] : NULL;
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

static void pack_entry(const struct cg_trace *trace, const struct slices *slices, const struct entry *entry,
                       const struct slice *before, struct names *names, struct buffer *columns)
{
    const struct slice *slice = &slices->list[entry->slice];
    buffer_number(&columns[START], slice->start - before->start);
    buffer_number(&columns[DURATION], slice->duration);
    buffer_number(&columns[NAME], (uint64_t)names_use(names, slice_name(trace, slices, slice)) << 1 |
                                      (slice->kind == SLICE_OP));
    buffer_number(&columns[MORE], entry->count - 1);
    if (entry->count > 1) buffer_number(&columns[REST], entry->sum - slice->duration);
    buffer_step(&columns[ROW], before->row, slice->row);
}

static bool pack_level(const struct cg_trace *trace, const struct slices *slices,
                       const struct reduced *reduced, size_t number, struct names *names, struct parts *parts)
{
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
        buffer_number(&columns[ENTRIES], reduced->lane_first[lane + 1] - reduced->lane_first[lane]);
        for (size_t i = reduced->lane_first[lane]; i < reduced->lane_first[lane + 1]; i++) {
            pack_entry(trace, slices, &reduced->entries[i], before, names, columns);
            before = &slices->list[reduced->entries[i].slice];
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

static bool pack_finest(const struct cg_trace *trace, const struct slices *slices,
                        const struct reduced *reduced, struct names *names, struct parts *parts)
{
    struct details details = {0};
    for (size_t i = 0; i < reduced->lane_first[slices->lane_count]; i++)
        pack_details(trace, slices, &slices->list[reduced->entries[i].slice], names, &details);
    return parts_add_columns(parts, "details", details.columns, DETAIL_COLUMNS);
}

bool levels_pack(const struct cg_trace *trace, const struct slices *slices, const struct levels *levels,
                 struct names *names, struct parts *parts)
{
    struct reduced reduced;
    bool good = reduce_first(slices, &levels->list[0], &reduced) &&
                pack_level(trace, slices, &reduced, 0, names, parts) &&
                pack_finest(trace, slices, &reduced, names, parts);
    for (size_t i = 1; i < levels->count && good; i++) {
        reduce_further(slices, levels->list[i].bits, &reduced);
        good = pack_level(trace, slices, &reduced, i, names, parts);
    }
    free(reduced.entries);
    free(reduced.lane_first);
    return good;
}
