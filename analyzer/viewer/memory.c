#include "analyzer/viewer/memory.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/evidence/emit.h"
#include "analyzer/planes/array.h"
#include "analyzer/planes/order.h"
#include "analyzer/planes/storage_groups.h"
#include "analyzer/viewer/groups.h"

enum { POINTS_MAX = 8192, GROUPS_SHOWN = 8, ROWS_SHOWN = 200, SAMPLES_MAX = 8192 };

struct json_doc *part_document(struct buffer *raw)
{
    return doc_start(DOC_COMPACT, DOC_DECLARED, buffer_sink, raw);
}

/* ---- the curve: of the points of each bucket the highest ---- */

/* What is live after all records of one time; groups: the largest ones of each grouping. */
struct live {
    unsigned __int128 all, by_category[CG_CATEGORY_COUNT];
    uint64_t groups[BY_CATEGORY][GROUPS_SHOWN + 1]; /* by place + 1; at 0 is what is not shown */
};
struct point {
    uint64_t timestamp, stands_for;
    struct live live;
};
struct memory_curve {
    struct point *points;
    size_t count;
    unsigned bits; /* buckets of 2^bits ns */
    struct groups groups[GROUPING_COUNT];
    uint32_t *largest; /* the MEMORY_BLOCKS_MAX largest lifetimes, in their order */
    size_t largest_count;
};

/* The narrowest buckets of which there are not too many. */
static unsigned bucket_bits(uint64_t first, uint64_t last, uint64_t count, uint64_t most)
{
    unsigned bits = 0;
    if (count <= most) return 0;
    while (bits < 63 && (last >> bits) - (first >> bits) >= most)
        bits++;
    return bits;
}

/* *end: of the bucket of the point before, which is the last time in it. */
static inline void add_point(struct memory_curve *curve, uint64_t timestamp, const struct live *live,
                             uint64_t *end)
{
    if (curve->count > 0 && timestamp <= *end) {
        struct point *last = &curve->points[curve->count - 1];
        last->stands_for++;
        if (live->all < last->live.all) return;
        last->timestamp = timestamp;
        last->live = *live;
    } else {
        curve->points[curve->count++] = (struct point){timestamp, 1, *live};
        *end = timestamp | ((UINT64_C(1) << curve->bits) - 1);
    }
}

/* What a record does to the curve, in 16 bits, so that all that is looked up of a storage is at hand when it
 * ends: for each grouping but that by category its group's place + 1 when that is shown, else 0; above them
 * the category. */
enum { PLACE_BITS = 4, PLACES = (1 << PLACE_BITS) - 1, CATEGORY_AT = BY_CATEGORY * PLACE_BITS };
enum { CHANGES_NOTHING = UINT16_MAX }; /* neither begins nor ends a storage */
_Static_assert((int)GROUPS_SHOWN <= (int)PLACES && CG_CATEGORY_COUNT < 1 << (16 - CATEGORY_AT),
               "changes have room");

static uint16_t places_of(const struct cg_trace *trace, const struct memory_curve *curve, uint32_t storage)
{
    unsigned places = 0;
    for (unsigned g = 0; g < BY_CATEGORY; g++) {
        uint32_t place = curve->groups[g].place[storage_key(trace, (enum grouping)g, storage)];
        if (place <= GROUPS_SHOWN) places |= place << g * PLACE_BITS;
    }
    return (uint16_t)places;
}

/* By row of trace->memory. */
struct changes {
    uint16_t *change;
    uint32_t *storage; /* the row that allocated what it begins or ends; NULL: the bytes are the row's own */
};

static bool changes_make(const struct cg_trace *trace, const struct logical_memory *logical,
                         const struct memory_curve *curve, struct changes *changes)
{
    size_t rows = trace->memory.rows;
    uint32_t before = CG_NONE;
    uint16_t places = 0;
    *changes = (struct changes){.change = array_raw(rows, sizeof *changes->change)};
    if (!logical->frees_alike) changes->storage = array_raw(rows, sizeof *changes->storage);
    if (!changes->change || (!logical->frees_alike && !changes->storage)) return false;
    memset(changes->change, 0xff, rows * sizeof *changes->change);
    for (size_t i = 0; i < logical->lifetime_count; i++) {
        uint32_t row = logical->lifetimes[i].row, end = logical->lifetimes[i].end_row;
        if (before == CG_NONE || !storage_same_place(trace, row, before))
            places = places_of(trace, curve, row);
        before = row;
        uint16_t change = (uint16_t)(places | trace->memory.category[row] << CATEGORY_AT);
        changes->change[row] = change;
        if (end != CG_NONE) changes->change[end] = change;
        if (changes->storage) changes->storage[row] = row;
        if (changes->storage && end != CG_NONE) changes->storage[end] = row;
    }
    return true;
}

static inline void change_live(const struct cg_trace *trace, const struct changes *changes, uint32_t row,
                               struct live *live)
{
    unsigned change = changes->change[row];
    if (change == CHANGES_NOTHING) return;
    bool frees = trace->memory.action[row] != CG_ACTION_ALLOC;
    uint64_t bytes = trace->memory.bytes[changes->storage ? changes->storage[row] : row];
    unsigned __int128 step = frees ? -(unsigned __int128)bytes : bytes;
    live->all += step;
    live->by_category[change >> CATEGORY_AT] += step;
    for (unsigned g = 0; g < BY_CATEGORY; g++)
        live->groups[g][change >> g * PLACE_BITS & PLACES] += (uint64_t)step;
}

/* Walks the records by time. */
static bool make_points(const struct cg_trace *trace, const struct logical_memory *logical,
                        struct memory_curve *curve)
{
    size_t rows = trace->memory.rows;
    const uint64_t *times = trace->memory.timestamp_ns;
    if (rows == 0) return true;
    curve->bits = bucket_bits(times[ordered_row(logical->order, 0)],
                              times[ordered_row(logical->order, rows - 1)], logical->point_count, POINTS_MAX);
    curve->points =
        array_raw(curve->bits == 0 ? logical->point_count : POINTS_MAX + 1, sizeof *curve->points);
    struct changes changes;
    bool good = changes_make(trace, logical, curve, &changes) && curve->points;
    struct live live = {0};
    uint64_t end = 0;
    for (size_t i = 0; good && i < rows; i++) {
        uint32_t row = ordered_row(logical->order, i);
        change_live(trace, &changes, row, &live);
        if (i + 1 == rows || times[ordered_row(logical->order, i + 1)] != times[row])
            add_point(curve, times[row], &live, &end);
    }
    free(changes.change);
    free(changes.storage);
    return good;
}

/* ---- storages as blocks ---- */

static int descending(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a < b) - (a > b);
}

/* Sizes in ascending classes: their highest ten bits and where the first of them stands. */
enum { CLASS_BITS = 10, CLASSES = 65 << CLASS_BITS };
static uint32_t class_of(uint64_t size)
{
    unsigned length = size ? 64 - (unsigned)__builtin_clzll(size) : 0;
    uint64_t high = length > CLASS_BITS ? size >> (length - CLASS_BITS) : size << (CLASS_BITS - length);
    return (uint32_t)length << CLASS_BITS | (high & ((1u << CLASS_BITS) - 1));
}

/* The size from which on storages are shown when there is room for `most`; of those of exactly that size only
 * the first *equal. Counts classes of sizes and sorts the one class in which the limit lies. */
static bool choose_size(const struct cg_trace *trace, const struct logical_memory *logical, size_t most,
                        uint64_t *size, size_t *equal)
{
    *size = 0;
    *equal = SIZE_MAX;
    if (logical->lifetime_count <= most) return true;
    *size = UINT64_MAX;
    *equal = 0;
    if (most == 0) return true;
    size_t *counts = array_zeroed(CLASSES, sizeof *counts), above = 0, held = 0;
    if (!counts) return false;
    for (size_t i = 0; i < logical->lifetime_count; i++)
        counts[class_of(trace->memory.bytes[logical->lifetimes[i].row])]++;
    uint32_t class = CLASSES - 1;
    for (; above + counts[class] < most; class --)
        above += counts[class];
    uint64_t *sizes = array_raw(counts[class], sizeof *sizes);
    for (size_t i = 0; sizes && i < logical->lifetime_count; i++) {
        uint64_t bytes = trace->memory.bytes[logical->lifetimes[i].row];
        if (class_of(bytes) == class) sizes[held++] = bytes;
    }
    free(counts);
    if (!sizes) return false;
    qsort(sizes, held, sizeof *sizes, descending);
    *size = sizes[most - above - 1];
    for (size_t i = most - above; i-- > 0 && sizes[i] == *size;)
        ++*equal;
    free(sizes);
    return true;
}

/* The lifetimes that are shown when there is room for `most`: *chosen is the caller's. */
static bool choose_largest(const struct cg_trace *trace, const struct logical_memory *logical, size_t most,
                           uint32_t **chosen, size_t *count)
{
    uint64_t size;
    size_t equal;
    *count = 0;
    *chosen = array_raw(logical->lifetime_count < most ? logical->lifetime_count : most, sizeof **chosen);
    if (!*chosen || !choose_size(trace, logical, most, &size, &equal)) return false;
    for (size_t i = 0; i < logical->lifetime_count; i++) {
        uint64_t bytes = trace->memory.bytes[logical->lifetimes[i].row];
        if (bytes < size || (bytes == size && equal == 0)) continue;
        equal -= bytes == size;
        (*chosen)[(*count)++] = (uint32_t)i;
    }
    return true;
}

struct memory_curve *memory_curve_make(const struct cg_trace *trace, const struct logical_memory *logical)
{
    struct memory_curve *curve = array_zeroed(1, sizeof *curve);
    if (curve && groups_make(trace, logical, curve->groups) && make_points(trace, logical, curve) &&
        choose_largest(trace, logical, MEMORY_BLOCKS_MAX, &curve->largest, &curve->largest_count))
        return curve;
    memory_curve_free(curve);
    return NULL;
}

void memory_curve_free(struct memory_curve *curve)
{
    if (!curve) return;
    for (unsigned g = 0; g < GROUPING_COUNT; g++)
        groups_free(&curve->groups[g]);
    free(curve->points);
    free(curve->largest);
    free(curve);
}

/* Columns: time, live, what it stands for, each category, each group by span, by call, by call site. */
enum {
    POINT_TIME,
    POINT_LIVE,
    POINT_MORE,
    POINT_CATEGORY,
    POINT_GROUP = POINT_CATEGORY + CG_CATEGORY_COUNT,
    POINT_COLUMNS = POINT_GROUP + BY_CATEGORY * GROUPS_SHOWN
};

static bool pack_curve(const struct memory_curve *curve, struct parts *parts)
{
    static const struct point none = {0};
    struct buffer columns[POINT_COLUMNS] = {0};
    const struct point *before = &none;
    for (size_t i = 0; i < curve->count; i++) {
        const struct point *point = &curve->points[i];
        buffer_number(&columns[POINT_TIME], point->timestamp - before->timestamp);
        buffer_step(&columns[POINT_LIVE], clamp_u128(before->live.all), clamp_u128(point->live.all));
        buffer_number(&columns[POINT_MORE], point->stands_for - 1);
        for (unsigned c = 0; c < CG_CATEGORY_COUNT; c++)
            buffer_step(&columns[POINT_CATEGORY + c], clamp_u128(before->live.by_category[c]),
                        clamp_u128(point->live.by_category[c]));
        for (unsigned g = 0; g < BY_CATEGORY; g++)
            for (unsigned k = 0; k < GROUPS_SHOWN && k < curve->groups[g].count; k++)
                buffer_step(&columns[POINT_GROUP + g * GROUPS_SHOWN + k], before->live.groups[g][k + 1],
                            point->live.groups[g][k + 1]);
        before = point;
    }
    return parts_add_columns(parts, "curve", columns, POINT_COLUMNS);
}

/* ---- blocks ---- */

static uint64_t address_of(const struct cg_trace *trace, uint32_t row)
{
    struct cg_text text = trace_text(trace, trace->memory.address[row]);
    uint64_t address = 0;
    for (size_t i = 2; i < text.length; i++) {
        char digit = text.bytes[i];
        unsigned value = digit >= '0' && digit <= '9'   ? (unsigned)(digit - '0')
                         : digit >= 'a' && digit <= 'f' ? (unsigned)(digit - 'a') + 10
                                                        : 16;
        if (value == 16) return 0;
        address = address << 4 | value;
    }
    return address;
}

/* How long it lived + 1, 0: retained; category + 8 when preexisting; address 0: not recorded. */
enum {
    BLOCK_START,
    BLOCK_LIVED,
    BLOCK_BYTES,
    BLOCK_CATEGORY,
    BLOCK_SPAN,
    BLOCK_CALL,
    BLOCK_DEVICE,
    BLOCK_ADDRESS,
    BLOCK_STORAGE,
    BLOCK_COLUMNS
};

static bool pack_chosen(const struct cg_trace *trace, const struct logical_memory *logical,
                        const uint32_t *chosen, size_t count, struct names *names, struct parts *parts)
{
    const struct cg_memory *memory = &trace->memory;
    struct buffer columns[BLOCK_COLUMNS] = {0};
    struct cg_text last = {0};
    uint64_t start = 0, address = 0;
    for (size_t i = 0; i < count; i++) {
        const struct lifetime *lifetime = &logical->lifetimes[chosen[i]];
        uint32_t row = lifetime->row;
        buffer_step(&columns[BLOCK_START], start, memory->timestamp_ns[row]);
        start = memory->timestamp_ns[row];
        buffer_number(&columns[BLOCK_LIVED],
                      lifetime->end_row == CG_NONE ? 0 : lifetime_end(trace, lifetime) - start + 1);
        buffer_number(&columns[BLOCK_BYTES], memory->bytes[row]);
        buffer_number(&columns[BLOCK_CATEGORY], memory->category[row] + (memory->preexisting[row] ? 8u : 0u));
        buffer_number(&columns[BLOCK_SPAN], names_use(names, storage_key(trace, BY_SPAN, row)));
        buffer_number(&columns[BLOCK_CALL], names_use(names, storage_key(trace, BY_CALL, row)));
        buffer_number(&columns[BLOCK_DEVICE], names_use(names, memory->device[row]));
        buffer_step(&columns[BLOCK_ADDRESS], address, address_of(trace, row));
        address = address_of(trace, row);
        buffer_text(&columns[BLOCK_STORAGE], &last,
                    text_beginning(trace_text(trace, memory->storage_id[row]), NAME_BYTES_MAX));
    }
    return parts_add_columns(parts, "blocks", columns, BLOCK_COLUMNS);
}

static bool pack_blocks(const struct cg_trace *trace, const struct logical_memory *logical,
                        const struct memory_curve *curve, size_t most, struct names *names,
                        struct parts *parts)
{
    uint32_t *chosen;
    size_t count;
    if (most == MEMORY_BLOCKS_MAX)
        return pack_chosen(trace, logical, curve->largest, curve->largest_count, names, parts);
    bool good = choose_largest(trace, logical, most, &chosen, &count) &&
                pack_chosen(trace, logical, chosen, count, names, parts);
    free(chosen);
    return good;
}

/* ---- samples ---- */

/* Values are written + 1; 0 is not measured. */
enum {
    SAMPLE_TIME,
    SAMPLE_DEVICE,
    SAMPLE_USED,
    SAMPLE_FREE,
    SAMPLE_RESERVED,
    SAMPLE_CAPACITY,
    SAMPLE_COLUMNS
};

static bool pack_samples(const struct cg_trace *trace, const struct physical_memory *physical,
                         struct names *names, struct parts *parts)
{
    const struct cg_device_memory *samples = &trace->device_memory;
    struct buffer columns[SAMPLE_COLUMNS] = {0};
    size_t stride = samples->rows / SAMPLES_MAX + 1;
    uint64_t time = 0;
    for (size_t i = 0; physical->present && i < samples->rows; i += stride) {
        /* Of the samples that are passed over, the one with the most in use is the one shown. */
        uint32_t row = physical->order[i];
        for (size_t k = i + 1; k < samples->rows && k < i + stride; k++)
            if (samples->used_bytes[physical->order[k]] > samples->used_bytes[row]) row = physical->order[k];
        buffer_number(&columns[SAMPLE_TIME], samples->timestamp_ns[row] - time);
        time = samples->timestamp_ns[row];
        buffer_number(&columns[SAMPLE_DEVICE], names_use(names, samples->device[row]));
        buffer_number(&columns[SAMPLE_USED], samples->used_bytes_set[row] ? samples->used_bytes[row] + 1 : 0);
        buffer_number(&columns[SAMPLE_FREE], samples->free_bytes_set[row] ? samples->free_bytes[row] + 1 : 0);
        buffer_number(&columns[SAMPLE_RESERVED],
                      samples->reserved_bytes_set[row] ? samples->reserved_bytes[row] + 1 : 0);
        buffer_number(&columns[SAMPLE_CAPACITY],
                      samples->capacity_bytes_set[row] ? samples->capacity_bytes[row] + 1 : 0);
    }
    return parts_add_columns(parts, "samples", columns, SAMPLE_COLUMNS);
}

/* ---- the document ---- */

static void emit_group_key(struct json_doc *doc, struct names *names, enum grouping grouping, uint32_t key)
{
    char frame[NAME_BYTES_MAX / 4];
    if (grouping == BY_CATEGORY)
        doc_member_string(doc, "category", cg_name_CATEGORY[key - 1]);
    else if (grouping == BY_SITE && key == 0)
        doc_member_string(doc, "frame", "(no call stack)");
    else if (grouping == BY_SITE)
        doc_member_bytes(doc, "frame", frame, trace_frame_name(names->trace, key - 1, frame, sizeof frame));
    else
        doc_member_u64(doc, "name", names_use(names, key));
}

static void emit_groups(struct json_doc *doc, struct names *names, const char *key, enum grouping grouping,
                        const struct groups *groups)
{
    size_t shown = groups->count < ROWS_SHOWN ? groups->count : ROWS_SHOWN;
    doc_key(doc, key);
    doc_object(doc);
    doc_member_u64(doc, "displayed", shown);
    doc_member_u64(doc, "total", groups->count);
    doc_key(doc, "rows");
    doc_array(doc);
    for (size_t i = 0; i < shown; i++) {
        const struct group *group = &groups->list[i];
        doc_object(doc);
        emit_group_key(doc, names, grouping, group->key);
        doc_member_u64(doc, "bytes_at_peak", group->bytes);
        doc_member_u64(doc, "storages_at_peak", group->storages);
        doc_member_u64(doc, "allocated_bytes", group->allocated_bytes);
        doc_member_u64(doc, "allocations", group->allocations);
        doc_object_end(doc);
    }
    doc_array_end(doc);
    doc_object_end(doc);
}

static void emit_memory_document(struct json_doc *doc, const struct cg_trace *trace,
                                 const struct logical_memory *logical, const struct memory_curve *curve,
                                 struct names *names)
{
    doc_object(doc);
    doc_member_bool(doc, "present", logical->present);
    doc_member_u64(doc, "points", logical->point_count);
    doc_member_u64(doc, "points_shown", curve->count);
    doc_member_u64(doc, "bucket_ns", curve->bits ? UINT64_C(1) << curve->bits : 0);
    doc_member_u64(doc, "storages", logical->lifetime_count);
    doc_member_u64(doc, "samples", trace->device_memory.rows);
    doc_member_u64(doc, "groups_shown", GROUPS_SHOWN);
    doc_key(doc, "categories");
    doc_array(doc);
    for (unsigned i = 0; i < CG_CATEGORY_COUNT; i++)
        doc_string(doc, cg_name_CATEGORY[i]);
    doc_array_end(doc);
    emit_groups(doc, names, "by_span", BY_SPAN, &curve->groups[BY_SPAN]);
    emit_groups(doc, names, "by_call", BY_CALL, &curve->groups[BY_CALL]);
    emit_groups(doc, names, "by_site", BY_SITE, &curve->groups[BY_SITE]);
    emit_groups(doc, names, "by_category", BY_CATEGORY, &curve->groups[BY_CATEGORY]);
    doc_object_end(doc);
}

bool memory_pack(const struct cg_trace *trace, const struct logical_memory *logical,
                 const struct physical_memory *physical, const struct memory_curve *curve, size_t most,
                 struct names *names, struct parts *parts)
{
    struct buffer raw = {0};
    struct json_doc *doc = part_document(&raw);
    if (doc) emit_memory_document(doc, trace, logical, curve, names);
    if (doc && doc_finish(doc) == 0)
        return parts_add(parts, "memory", &raw) && pack_curve(curve, parts) &&
               pack_samples(trace, physical, names, parts) &&
               pack_blocks(trace, logical, curve, most, names, parts);
    buffer_free(&raw);
    return false;
}
