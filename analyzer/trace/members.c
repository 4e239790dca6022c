/* Records and the members of objects: the loop that reads nearly every byte of a trace, and what it does when
 * something is not as it was last time. */
#include <string.h>

#include "analyzer/trace/decode_internal.h"
#include "analyzer/trace/shapes.h"

/* The text of the member, from its comma to the end of its value, stands for the value from now on. */
static inline void remember(struct slot *slot, const char *begin, const char *end, union value value)
{
    size_t length = (size_t)(end - begin);
    copy_pattern(slot->text, begin);
    slot->member = length <= PATTERN_MAX ? mask_of(length) : NO_MATCH;
    slot->length = (uint8_t)length;
    slot->value = value;
}

/* The same for a string, which is known by its position in the batch. */
static inline void remember_string(struct decoder *decoder, struct slot *slot, const char *begin,
                                   const char *end, union value value)
{
    remember(slot, begin, end, value);
    if (slot->listed) return;
    slot->listed = true;
    decoder->string_slots[decoder->string_slot_count++] = slot;
}

/* values */

static const char *decode_object(struct decoder *decoder, const char *at, struct layout *layout,
                                 unsigned open, struct record *record);

static size_t list_most(const struct object_schema *schema)
{
    return schema == &schema_objects[OBJECT_FRAME]    ? CG_FRAMES_MAX
           : schema == &schema_objects[OBJECT_SOURCE] ? CG_SOURCES_MAX
                                                      : SIZE_MAX;
}

static const char *decode_object_list(struct decoder *decoder, const char *at, struct layout *layout,
                                      unsigned open, struct record_list **objects)
{
    bool more;
    size_t most = list_most(layout->schema);
    struct record_list *list = *objects = decode_allocate(decoder, sizeof *list);
    if (list == NULL) return decode_no_memory(decoder);
    if ((at = list_begins(decoder, at, '[', ']', &more)) == NULL) return NULL;
    while (more) {
        if (list->count == most) return decode_fail(decoder, at, "expected %zu at most", most);
        if (list->count == list->capacity) {
            size_t capacity = list->capacity * 2 + 16;
            struct record *records = decode_allocate(decoder, capacity * sizeof *records);
            if (records == NULL) return decode_no_memory(decoder);
            if (list->count > 0) memcpy(records, list->records, list->count * sizeof *records);
            list->records = records;
            list->capacity = capacity;
        }
        at = decode_object(decoder, at, layout, open + 1, &list->records[list->count]);
        if (at == NULL) return NULL;
        list->count++;
        if ((at = list_goes_on(decoder, at, ']', &more)) == NULL) return NULL;
    }
    return at;
}

/* open: arrays and objects around the value. Objects known to the schema are at most four deep, so this
 * recursion through decode_object() is bounded by the tables, not by the input. */
static const char *decode_value(struct decoder *decoder, const char *at, const struct field *field,
                                unsigned open, union value *value)
{
    uint32_t position = 0;
    switch ((enum field_type)field->type) {
    case TYPE_STR:
    case TYPE_OPT_STR:
        at = decode_string(decoder, at, &position);
        value->string = position;
        return at;
    case TYPE_U64:
    case TYPE_OPT_U64:
        return decode_u64(decoder, at, &value->u);
    case TYPE_F64:
    case TYPE_OPT_F64:
        return decode_f64(decoder, at, &value->f);
    case TYPE_BOOL:
        return decode_bool(decoder, at, &value->u);
    case TYPE_ENUM:
        return decode_enum(decoder, at, &schema_values[field->argument],
                           patterns_of(decoder, field->argument), &value->u);
    case TYPE_OPT_ENUM:
        at = decode_enum(decoder, at, &schema_values[field->argument], patterns_of(decoder, field->argument),
                         &value->u);
        value->u++;
        return at;
    case TYPE_U64_LIST:
        return decode_u64_list(decoder, at, &value->numbers);
    case TYPE_STR_LIST:
        return decode_str_list(decoder, at, &value->strings);
    case TYPE_STACK:
    case TYPE_OBJECT:
        value->object = decode_allocate(decoder, sizeof *value->object);
        if (value->object == NULL) return decode_no_memory(decoder);
        return decode_object(decoder, at, &decoder->layouts[field->argument], open, value->object);
    case TYPE_OBJECT_LIST:
        return decode_object_list(decoder, at, &decoder->layouts[field->argument], open, &value->objects);
    case TYPE_MAP:
        return decode_map(decoder, at, &value->pairs);
    }
    return NULL;
}

/* An extra field is an unknown field to the format: checked like one, kept when it has the type that we
 * write. */
static const char *decode_extra(struct decoder *decoder, const char *at, const struct field *field,
                                unsigned open, union value *value, bool *present)
{
    union value kept = {0};
    const char *end = json_skip_value(&decoder->scan, at, open);
    *present = false;
    if (end == NULL) return decode_scan_failed(decoder);
    if (!decoder->extras && !decoder_watches(field)) return end;
    if (decode_value(decoder, at, field, open, &kept) != NULL) {
        *value = kept;
        *present = true;
    } else if (decoder->fault.no_memory) {
        return NULL;
    }
    return end;
}

/* Any value of a field; *present is false when it stands for none. */
static const char *decode_field(struct decoder *decoder, const char *at, const struct field *field,
                                unsigned open, union value *value, bool *present)
{
    const char *null;
    decoder->field = field->key;
    at = json_space(at);
    if (field->presence == PRESENCE_EXTRA) return decode_extra(decoder, at, field, open, value, present);
    *present = false;
    if (field->presence == PRESENCE_OPTIONAL && (null = json_literal(at, "null")) != NULL) return null;
    *present = true;
    return decode_value(decoder, at, field, open, value);
}

/* A value as it usually stands: behind it; NULL for all else, which decode_field() decodes or refuses. begin:
 * of the member. */
static inline __attribute__((always_inline)) const char *
usual_value(struct decoder *decoder, const char *begin, const char *at, struct slot *slot, union value *value)
{
    const char *end;
    switch ((enum action)slot->action) {
    case ACTION_STR: {
        uint32_t position;
        if (*at != '"' || (end = decode_quoted(decoder, at, &position)) == NULL) return NULL;
        value->string = position;
        remember_string(decoder, slot, begin, end, *value);
        return end;
    }
    case ACTION_U64:
        return json_u64_usual(at, &value->u);
    case ACTION_ENUM: {
        const struct pattern *pattern = patterns_of(decoder, slot->values);
        for (unsigned i = 0; i < schema_values[slot->values].count; i++, pattern++) {
            if (!pattern_here(pattern, at)) continue;
            value->u = i;
            end = at + pattern->length;
            remember(slot, begin, end, *value);
            return end;
        }
        return NULL;
    }
    case ACTION_U64_LIST: {
        unsigned length;
        const struct list_memo *memo = list_memo(decoder, at, &length);
        if (length == 0 || (~equal_bytes(memo->text, at) & mask_of(length)) != 0) return NULL;
        value->numbers = memo->list;
        remember(slot, begin, at + length, *value);
        return at + length;
    }
    case ACTION_SKIP: {
        uint64_t number;
        if (*at != '"') return json_u64_usual(at, &number);
        end = json_plain_run(at + 1);
        if (*end != '"') return NULL;
        value->u = 0;
        remember(slot, begin, end + 1, *value);
        return end + 1;
    }
    case ACTION_KEEP:
    case ACTION_OTHER:
        return NULL;
    }
    __builtin_unreachable();
}

/* members */

static bool is_kind(const char *bytes, size_t length)
{
    return length == 4 && memcmp(bytes, "kind", 4) == 0;
}

/* Moves the field behind the one that it followed. */
static void link_field(struct layout *layout, unsigned field, unsigned before)
{
    struct slot *slots = layout->slot;
    if (field == before) return; /* an extra field that comes twice */
    if (slots[field].next != NOT_LINKED) {
        unsigned at = LIST_HEAD;
        while (slots[at].next != field)
            at = slots[at].next;
        slots[at].next = slots[field].next;
    }
    slots[field].next = slots[before].next;
    slots[before].next = (uint8_t)field;
}

/* From behind a value, or where first is set from the first key on, to a value. */
struct step {
    const char *at; /* of the value, or behind the closing brace; NULL: a defect */
    unsigned field; /* or NO_FIELD, KIND_KEY, OBJECT_END */
};

/* A member that the list does not expect here: what its key says, in the text as it stands. before: the field
 * before it. What stands before the first member differs from what stands before the others, so nothing is
 * learned from it. */
static struct step unexpected_member(struct decoder *decoder, const char *at, bool first,
                                     struct layout *layout, unsigned before)
{
    bool more = true;
    const char *begin = at, *bytes;
    size_t length;
    struct step step = {.field = OBJECT_END};
    decoder->field = before < OBJECT_END ? layout->schema->fields[before].key : NULL;
    if (!first && (step.at = at = list_goes_on(decoder, at, '}', &more), at == NULL || !more)) return step;
    decoder->field = NULL;
    if ((step.at = at = decode_key(decoder, at, &bytes, &length)) == NULL) return step;
    step.field = layout_field(layout, bytes, length);
    if (step.field == NO_FIELD) {
        if (is_kind(bytes, length)) step.field = KIND_KEY;
        return step;
    }
    struct slot *slot = &layout->slot[step.field];
    link_field(layout, step.field, before);
    if (!first && at - begin <= PATTERN_MAX) {
        memcpy(slot->text, begin, PATTERN_MAX);
        slot->key = mask_of((size_t)(at - begin));
        slot->key_length = (uint8_t)(at - begin);
        slot->member = NO_MATCH;
    }
    return step;
}

static __attribute__((noinline)) bool missing_field(struct decoder *decoder, const struct layout *layout,
                                                    uint32_t missing)
{
    decoder->field = layout->schema->fields[__builtin_ctz(missing)].key;
    decode_fail(decoder, NULL, "missing, but required");
    return false;
}

/* What missing fields stand for, and whether they may be missing. */
static inline bool finish_object(struct decoder *decoder, const struct layout *layout, struct record *record,
                                 uint32_t seen)
{
    uint32_t missing = layout->required & ~seen;
    if (__builtin_expect(missing != 0, 0)) return missing_field(decoder, layout, missing);
    for (uint32_t left = layout->stored & ~record->present; left != 0; left &= left - 1)
        record->value[__builtin_ctz(left)] = (union value){0};
    for (uint32_t left = layout->defaults & ~seen; left != 0; left &= left - 1) {
        unsigned index = (unsigned)__builtin_ctz(left);
        record->value[index].u = schema_values[layout->schema->fields[index].argument].initial;
    }
    return true;
}

/* before: behind the value before the member, or its key when it is the first one. */
static const char *given_twice(struct decoder *decoder, const char *before, const char *field)
{
    before = json_space(before);
    decoder->field = field;
    return decode_fail(decoder, *before == ',' ? json_space(before + 1) : before, "given twice");
}

/* An object that is being read. */
struct members {
    struct layout *layout;
    struct record *record;
    uint32_t seen, absent; /* masks of fields; absent: what came stands for nothing */
    unsigned open;
    int kinds;
    unsigned next; /* the field that the list expects next */
    bool over;     /* its closing brace was found */
};

/* The value of a field that was read neither from memory nor in the usual form. begin: of the member; NULL
 * when it is the first one, which nothing is learned from. */
static __attribute__((noinline)) const char *other_value(struct decoder *decoder, struct members *members,
                                                         const char *begin, const char *at, unsigned field)
{
    struct slot *slot = &members->layout->slot[field];
    union value *value = &members->record->value[field];
    bool present;
    at = decode_field(decoder, at, &members->layout->schema->fields[field], members->open, value, &present);
    if (at == NULL) return NULL;
    if (!present)
        members->absent |= UINT32_C(1) << field;
    else if (slot->action == ACTION_KEEP && begin != NULL)
        remember(slot, begin, at, *value);
    return at;
}

/* The last field of the list that was seen: with all fields seen before it, since a reader goes forward. */
static unsigned last_seen(const struct layout *layout, uint32_t seen)
{
    unsigned last = LIST_HEAD;
    for (unsigned field = layout->slot[LIST_HEAD].next; field != OBJECT_END; field = layout->slot[field].next)
        if (seen >> field & 1) last = field;
    return last;
}

/* From begin on a member that the list does not expect: behind its value, or behind the closing brace. */
static __attribute__((noinline)) const char *other_member(struct decoder *decoder, struct members *members,
                                                          const char *begin, bool first)
{
    struct layout *layout = members->layout;
    unsigned before = last_seen(layout, members->seen);
    struct step step = unexpected_member(decoder, begin, first, layout, before);
    members->over = step.field == OBJECT_END;
    if (step.at == NULL || members->over) return step.at;
    if (step.field >= NO_FIELD) {
        members->next = layout->slot[before].next;
        if (step.field == KIND_KEY && members->kinds-- == 0) return given_twice(decoder, begin, "kind");
        return scanned(decoder, json_skip_value(&decoder->scan, step.at, members->open));
    }
    uint32_t bit = UINT32_C(1) << step.field;
    if ((members->seen & bit & layout->single) != 0)
        return given_twice(decoder, begin, layout->schema->fields[step.field].key);
    members->seen |= bit;
    members->next = layout->slot[step.field].next;
    return other_value(decoder, members, first ? NULL : begin, step.at, step.field);
}

/* The members of an object up to and with its closing brace, from behind a value on, or where first is set
 * from the first key on. kinds: how many members `kind` may still come, which have been dealt with already;
 * -1 where `kind` has no meaning. open: arrays and objects around the values, this object included. Part of
 * decode_record_as(), which so needs 30 instructions a record fewer. */
static inline __attribute__((always_inline)) const char *decode_members(struct decoder *decoder,
                                                                        const char *at, bool first,
                                                                        struct layout *layout, unsigned open,
                                                                        int kinds, struct record *record)
{
    struct members members = {.layout = layout, .record = record, .open = open, .kinds = kinds};
    uint32_t seen = 0;                             /* in a register; members.seen is for the others */
    unsigned field = layout->slot[LIST_HEAD].next; /* that is expected */
    if (first) {
        at = other_member(decoder, &members, at, true);
        seen = members.seen;
        field = members.next;
    }
    while (at != NULL) {
        struct slot *slot = &layout->slot[field];
        uint64_t differing = differing_bytes(slot->text, at);
        if ((differing & slot->member) == 0) {
            record->value[field] = slot->value;
            at += slot->length;
            seen |= UINT32_C(1) << field;
            field = slot->next;
        } else if ((differing & slot->key) == 0) {
            if (field == OBJECT_END) {
                at++;
                break;
            }
            const char *begin = at, *value = at + slot->key_length;
            seen |= UINT32_C(1) << field;
            at = usual_value(decoder, begin, value, slot, &record->value[field]);
            if (__builtin_expect(at == NULL, 0)) at = other_value(decoder, &members, begin, value, field);
            field = slot->next;
        } else if (field != OBJECT_END) {
            field = slot->next; /* not in this object */
        } else {
            members.seen = seen;
            at = other_member(decoder, &members, at, false);
            seen = members.seen;
            field = members.next;
            if (members.over) break;
        }
    }
    record->present = seen & ~members.absent;
    return at != NULL && finish_object(decoder, layout, record, seen) ? at : NULL;
}

static const char *decode_object(struct decoder *decoder, const char *at, struct layout *layout,
                                 unsigned open, struct record *record)
{
    bool more;
    if ((at = list_begins(decoder, at, '{', '}', &more)) == NULL) return NULL;
    if (more) return decode_members(decoder, at, true, layout, open + 1, -1, record);
    record->present = 0;
    return finish_object(decoder, layout, record, 0) ? at : NULL;
}

/* records */

/* Looks through a whole record for the member that decides about the others: its value; NULL with a fault
 * when it is not there exactly once. */
static const char *find_member(struct decoder *decoder, const char *line, const char *key)
{
    const char *value = NULL;
    bool more = false;
    decoder->field = NULL;
    const char *at = list_begins(decoder, line, '{', '}', &more);
    while (more) {
        const char *bytes, *begin = at;
        size_t length;
        if ((at = decode_key(decoder, at, &bytes, &length)) == NULL) return NULL;
        if (length == strlen(key) && memcmp(bytes, key, length) == 0) {
            decoder->field = key;
            if (value != NULL) return decode_fail(decoder, begin, "given twice");
            value = at;
            decoder->field = NULL;
        }
        if ((at = scanned(decoder, json_skip_value(&decoder->scan, at, 1))) == NULL) return NULL;
        if ((at = list_goes_on(decoder, at, '}', &more)) == NULL) return NULL;
    }
    decoder->field = key;
    return value != NULL ? value : decode_fail(decoder, NULL, "missing, but required");
}

static const char *decode_kind(struct decoder *decoder, const char *at, enum cg_kind *kind)
{
    uint64_t value;
    decoder->field = "kind";
    at = decode_enum(decoder, at, &schema_kinds, patterns_of(decoder, VALUES_COUNT), &value);
    if (at != NULL) *kind = (enum cg_kind)value;
    return at;
}

/* The layout of an edge: by its edge_kind, which usually comes next. */
static struct layout *edge_layout(struct decoder *decoder, const char *line, const char *at)
{
    static const char next[] = ",\"edge_kind\":";
    bool usual = memcmp(at, next, sizeof next - 1) == 0;
    const char *value = usual ? at + sizeof next - 1 : find_member(decoder, line, "edge_kind");
    uint64_t edge_kind;
    decoder->field = "edge_kind";
    if (value == NULL || decode_enum(decoder, json_space(value), &schema_values[VALUES_EDGE_KIND],
                                     patterns_of(decoder, VALUES_EDGE_KIND), &edge_kind) == NULL)
        return NULL;
    return &decoder->layouts[edge_kind == CG_EDGE_KIND_CALL ? (unsigned)OBJECT_EDGE : LAYOUT_EDGE_DATA];
}

/* A record that begins as usual: behind its kind; NULL when it begins otherwise. The text behind `{"kind":"`
 * leads to the kind that began so last time, which saved 20 instructions a record against the kind that
 * followed the one before. */
static inline const char *usual_start(struct decoder *decoder, const char *line, enum cg_kind *kind)
{
    uint64_t word;
    memcpy(&word, line + sizeof "{\"kind\":\"" - 1, sizeof word);
    uint8_t *memo = &decoder->kind_memos[word * UINT64_C(0x9E3779B97F4A7C15) >> (64 - KIND_MEMO_BITS)];
    *kind = (enum cg_kind) * memo;
    if (__builtin_expect(pattern_here(&decoder->starts[*kind], line), 1))
        return line + decoder->starts[*kind].length;
    for (unsigned i = 0; i < CG_KIND_COUNT; i++) {
        if (!pattern_here(&decoder->starts[i], line)) continue;
        *memo = (uint8_t)i;
        *kind = (enum cg_kind)i;
        return line + decoder->starts[i].length;
    }
    *kind = CG_KIND_COUNT;
    return NULL;
}

/* A record that does not begin as expected: its kind; behind the member when it is the first one, else at the
 * first key, with *first set. */
static const char *unexpected_start(struct decoder *decoder, const char *line, enum cg_kind *kind,
                                    bool *first)
{
    static const char key[] = "\"kind\":";
    bool more;
    const char *at = list_begins(decoder, line, '{', '}', &more);
    if (at == NULL) return NULL;
    *first = !more || memcmp(at, key, sizeof key - 1) != 0;
    if (!*first) return decode_kind(decoder, json_space(at + sizeof key - 1), kind);
    const char *value = find_member(decoder, line, "kind");
    return value != NULL && decode_kind(decoder, value, kind) != NULL ? at : NULL;
}

/* Whatever the line looks like; layout is set to that of its members. */
static const char *parse_record(struct decoder *decoder, const char *line, enum cg_kind *kind,
                                struct layout **layout, struct record *record)
{
    bool first = false;
    decoder->field = NULL;
    const char *at = usual_start(decoder, line, kind);
    if (at == NULL && (at = unexpected_start(decoder, line, kind, &first)) == NULL) return NULL;
    *layout = &decoder->layouts[*kind];
    if (*kind == CG_KIND_EDGE && (*layout = edge_layout(decoder, line, at)) == NULL) return NULL;
    return decode_members(decoder, at, first, *layout, 1, first ? 1 : 0, record);
}

const char *decode_record_as(struct decoder *decoder, const char *line, enum cg_kind *kind,
                             struct record *record)
{
    struct layout *layout;
#ifdef __AVX2__
    if (decoder->shapes != NULL) {
        size_t length = shape_line_length(line);
        struct shape *shapes = shapes_for(decoder, line, length);
        for (struct shape *shape = shapes; shape < shapes + SHAPE_WAYS; shape++) {
            if (!shape_fits(shape, line, length)) continue;
            *kind = (enum cg_kind)shape->kind;
            if (shape_take(decoder, shape, line, record)) return line + shape->end;
            if (decoder->fault.no_memory) return NULL;
            break;
        }
        const char *end = parse_record(decoder, line, kind, &layout, record);
        if (end != NULL && length < SHAPE_TEXT)
            shape_missed(decoder, shapes, layout, line, end, *kind, record);
        return end;
    }
#endif
    return parse_record(decoder, line, kind, &layout, record);
}
