#include "analyzer/trace/decode.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/trace/block.h"
#include "analyzer/trace/decode_internal.h"

static const struct pattern never = {.low = NO_MATCH};
static const char no_text[16]; /* no string to compare with, but bytes to read */

struct allocation {
    struct allocation *next;
    max_align_t bytes[];
};

/* faults */

const char *decode_fail(struct decoder *decoder, const char *at, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(decoder->fault.text, sizeof decoder->fault.text, format, arguments);
    va_end(arguments);
    decoder->fault.at = at;
    decoder->fault.field = decoder->field;
    return NULL;
}

const char *decode_scan_failed(struct decoder *decoder)
{
    decoder->fault.no_memory = decoder->scan.no_memory;
    return decode_fail(decoder, decoder->scan.fault_at, "%s", decoder->scan.fault);
}

const char *decode_no_memory(struct decoder *decoder)
{
    decoder->fault.no_memory = true;
    return decode_fail(decoder, NULL, "out of memory");
}

const char *decode_wrong_type(struct decoder *decoder, const char *at, const char *expected)
{
    return decode_fail(decoder, at, "expected %s, found %s", expected, json_found(at));
}

/* memory */

void *decode_allocate(struct decoder *decoder, size_t size)
{
    struct allocation *made = calloc(1, sizeof *made + size);
    if (made == NULL) return NULL;
    made->next = decoder->allocations;
    decoder->allocations = made;
    decoder->allocated += size;
    return made->bytes;
}

static void free_allocations(struct decoder *decoder)
{
    while (decoder->allocations != NULL) {
        struct allocation *next = decoder->allocations->next;
        free(decoder->allocations);
        decoder->allocations = next;
    }
    decoder->allocated = 0;
}

/* layouts */

static struct pattern pattern_of(const char *head, const char *text, const char *tail)
{
    struct pattern pattern = never;
    char whole_text[PATTERN_MAX + 1] = "";
    int whole = snprintf(whole_text, sizeof whole_text, "%s%s%s", head, text, tail);
    if (whole > PATTERN_MAX) return pattern;
    memcpy(pattern.text, whole_text, (size_t)whole);
    pattern.low = mask_of((size_t)whole);
    pattern.high = whole > 16 ? mask_of((size_t)whole - 16) : 0;
    pattern.length = (unsigned)whole;
    return pattern;
}

static struct pattern *patterns_of(struct decoder *decoder, unsigned set)
{
    return decoder->patterns + set * VALUES_MAX;
}

static void patterns_init(struct pattern *patterns, const struct values *values, const char *head)
{
    for (unsigned i = 0; i < values->count; i++)
        patterns[i] = pattern_of(head, values->names[i], "\"");
}

static enum action action_of(const struct field *field, bool extras)
{
    if (field->presence == PRESENCE_EXTRA) return extras ? ACTION_OTHER : ACTION_SKIP;
    switch ((enum field_type)field->type) {
    case TYPE_STR:
    case TYPE_OPT_STR:
        return ACTION_STR;
    case TYPE_U64:
    case TYPE_OPT_U64:
        return ACTION_U64;
    case TYPE_ENUM:
        return ACTION_ENUM;
    case TYPE_U64_LIST:
        return ACTION_U64_LIST;
    default:
        return ACTION_OTHER;
    }
}

static void layout_init(struct layout *layout, const struct object_schema *schema, bool call, bool data,
                        bool extras)
{
    layout->schema = schema;
    for (unsigned i = 0; i < schema->count; i++) {
        const struct field *field = &schema->fields[i];
        uint32_t bit = UINT32_C(1) << i;
        bool conditional =
            (field->presence == PRESENCE_IF_CALL && call) || (field->presence == PRESENCE_IF_DATA && data);
        bool foreign =
            !conditional && (field->presence == PRESENCE_IF_CALL || field->presence == PRESENCE_IF_DATA);
        struct slot *slot = &layout->slot[i];
        slot->key = foreign ? never : pattern_of(",\"", field->key, "\":");
        slot->follower = i + 1 < schema->count ? (uint8_t)(i + 1) : NO_FIELD;
        slot->action = (uint8_t)action_of(field, extras);
        slot->values = field->argument;
        layout->memo[i].low = NO_MATCH;
        if (!foreign) layout->known |= bit;
        if (conditional || field->presence == PRESENCE_REQUIRED) layout->required |= bit;
        if (field->type == TYPE_ENUM && schema_values[field->argument].initial != 0) layout->defaults |= bit;
        if (field->presence != PRESENCE_EXTRA) layout->single |= bit;
        if (extras || field->presence != PRESENCE_EXTRA) layout->stored |= bit;
    }
    layout->slot[NO_FIELD].key = never;
}

bool decoder_init(struct decoder *decoder, struct cg_strings *strings, bool extras)
{
    enum { FIRST_LISTS = 256, FIRST_TEXTS = 256, FIRST_POOL = 256 };
    *decoder = (struct decoder){.strings = strings, .extras = extras, .last_kind = CG_KIND_COUNT};
    decoder->layouts = block_zeroed(LAYOUT_COUNT * sizeof *decoder->layouts);
    decoder->patterns = calloc((VALUES_COUNT + 1) * VALUES_MAX, sizeof *decoder->patterns);
    decoder->starts = calloc(CG_KIND_COUNT, sizeof *decoder->starts);
    decoder->list_memos = calloc(1U << LIST_MEMO_BITS, sizeof *decoder->list_memos);
    decoder->lists = block_zeroed(FIRST_LISTS * sizeof *decoder->lists);
    decoder->list_mask = FIRST_LISTS - 1;
    decoder->texts.text = block_resize(NULL, FIRST_TEXTS * sizeof *decoder->texts.text);
    decoder->last_texts.text = block_resize(NULL, FIRST_TEXTS * sizeof *decoder->texts.text);
    decoder->texts.capacity = decoder->last_texts.capacity = FIRST_TEXTS;
    /* There from the start: the place of an empty list must be a pointer, too. */
    decoder->u64_pool = block_resize(NULL, FIRST_POOL * sizeof *decoder->u64_pool);
    decoder->str_pool = block_resize(NULL, FIRST_POOL * sizeof *decoder->str_pool);
    decoder->u64_capacity = decoder->str_capacity = FIRST_POOL;
    if (decoder->layouts == NULL || decoder->patterns == NULL || decoder->starts == NULL ||
        decoder->list_memos == NULL || decoder->u64_pool == NULL || decoder->str_pool == NULL ||
        decoder->lists == NULL || decoder->texts.text == NULL || decoder->last_texts.text == NULL)
        return false;
    for (unsigned i = 0; i < VALUES_COUNT; i++)
        patterns_init(patterns_of(decoder, i), &schema_values[i], "\"");
    patterns_init(patterns_of(decoder, VALUES_COUNT), &schema_kinds, "\"");
    patterns_init(decoder->starts, &schema_kinds, "{\"kind\":\"");
    for (unsigned i = 0; i < OBJECT_COUNT; i++)
        layout_init(&decoder->layouts[i], &schema_objects[i], true, false, extras);
    layout_init(&decoder->layouts[LAYOUT_EDGE_DATA], &schema_objects[OBJECT_EDGE], false, true, extras);
    return true;
}

void decoder_free(struct decoder *decoder)
{
    free_allocations(decoder);
    block_free(decoder->layouts);
    free(decoder->patterns);
    free(decoder->starts);
    free(decoder->list_memos);
    block_free(decoder->lists);
    block_free(decoder->texts.text);
    block_free(decoder->last_texts.text);
    json_scan_free(&decoder->scan);
}

void decoder_begin(struct decoder *decoder)
{
    struct texts before = decoder->texts;
    free_allocations(decoder);
    decoder->texts = decoder->last_texts;
    decoder->last_texts = before;
    decoder->texts.text[0] = (struct text){0}; /* what an absent string refers to */
    decoder->texts.count = 1;
    decoder->last_string.text = no_text;
    decoder->last_string.low = NO_MATCH;
    decoder->batch++;
}

/* objects */

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
static inline const char *decode_value(struct decoder *decoder, const char *at, struct layout *layout,
                                       unsigned index, unsigned open, union value *value)
{
    const struct field *field = &layout->schema->fields[index];
    switch ((enum field_type)field->type) {
    case TYPE_STR:
    case TYPE_OPT_STR:
        return decode_string(decoder, at, &layout->memo[index], &value->string);
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
        return decode_u64_list(decoder, at, &value->list);
    case TYPE_STR_LIST:
        return decode_str_list(decoder, at, &value->list);
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
static const char *decode_extra(struct decoder *decoder, const char *at, struct layout *layout,
                                unsigned index, unsigned open, struct record *record)
{
    size_t u64_count = decoder->u64_count;
    union value value = {0};
    const char *end = json_skip_value(&decoder->scan, at, open);
    if (end == NULL) return decode_scan_failed(decoder);
    if (!decoder->extras) return end;
    if (decode_value(decoder, at, layout, index, open, &value) != NULL) {
        record->value[index] = value;
        record->present |= UINT32_C(1) << index;
    } else if (decoder->fault.no_memory) {
        return NULL;
    } else {
        decoder->u64_count = u64_count;
    }
    return end;
}

static unsigned find_field(const struct layout *layout, const char *bytes, size_t length)
{
    for (unsigned i = 0; i < layout->schema->count; i++) {
        const struct field *field = &layout->schema->fields[i];
        if (field->key_length == length && memcmp(field->key, bytes, length) == 0)
            return layout->known >> i & 1 ? i : NO_FIELD;
    }
    return NO_FIELD;
}

static bool is_kind(const char *bytes, size_t length)
{
    return length == 4 && memcmp(bytes, "kind", 4) == 0;
}

/* The key that stands here, its colon and the white space after it: a field, NO_FIELD or KIND_KEY. What
 * stands before it has been taken. */
static const char *next_key(struct decoder *decoder, const char *at, struct layout *layout, uint8_t *follower,
                            unsigned *field)
{
    const char *bytes;
    size_t length;
    const struct pattern *expected = &layout->slot[*follower].key;
    const uint32_t comma = 1;
    decoder->field = NULL;
    if (pattern_here(expected, at - 1, comma)) {
        *field = *follower;
        return json_space(at - 1 + expected->length);
    }
    if ((at = decode_key(decoder, at, &bytes, &length)) == NULL) return NULL;
    *field = find_field(layout, bytes, length);
    if (*field != NO_FIELD)
        *follower = (uint8_t)*field;
    else if (is_kind(bytes, length))
        *field = KIND_KEY;
    return at;
}

/* What missing fields stand for, and whether they may be missing. */
static bool finish_object(struct decoder *decoder, const struct layout *layout, struct record *record,
                          uint32_t seen)
{
    uint32_t missing = layout->required & ~seen;
    if (missing != 0) {
        decoder->field = layout->schema->fields[__builtin_ctz(missing)].key;
        decode_fail(decoder, NULL, "missing, but required");
        return false;
    }
    for (uint32_t left = layout->stored & ~record->present; left != 0; left &= left - 1)
        record->value[__builtin_ctz(left)] = (union value){0};
    for (uint32_t left = layout->defaults & ~seen; left != 0; left &= left - 1) {
        unsigned index = (unsigned)__builtin_ctz(left);
        record->value[index].u = schema_values[layout->schema->fields[index].argument].initial;
    }
    return true;
}

static const char *decode_field(struct decoder *decoder, const char *at, struct layout *layout,
                                unsigned index, unsigned open, struct record *record)
{
    const struct field *field = &layout->schema->fields[index];
    const char *null;
    if (field->presence == PRESENCE_EXTRA) return decode_extra(decoder, at, layout, index, open, record);
    if (field->presence == PRESENCE_OPTIONAL && (null = json_literal(at, "null")) != NULL) return null;
    record->present |= UINT32_C(1) << index;
    return decode_value(decoder, at, layout, index, open, &record->value[index]);
}

/* A step of the loop over the members: to a value, or behind the closing brace. Small enough for two
 * registers: kept in memory it cost 5 instructions a member. */
struct step {
    const char *at; /* NULL: a defect */
    unsigned field; /* or NO_FIELD, KIND_KEY, OBJECT_END */
};

/* Behind a value that no expected key follows: white space, another key, the closing brace, or a defect.
 * last: the member before. */
static struct step unexpected_member(struct decoder *decoder, const char *at, struct layout *layout,
                                     uint8_t *follower, unsigned last)
{
    bool more;
    struct step step = {.field = OBJECT_END};
    decoder->field = last < NO_FIELD ? layout->schema->fields[last].key : NULL;
    step.at = list_goes_on(decoder, at, '}', &more);
    if (step.at != NULL && more) step.at = next_key(decoder, step.at, layout, follower, &step.field);
    return step;
}

/* From behind a value to the next one. Comma, key and colon are compared at once: 27 instructions a member.
 */
static inline struct step next_member(struct decoder *decoder, const char *at, struct layout *layout,
                                      uint8_t *follower, unsigned last)
{
    unsigned field = *follower;
    const struct pattern *expected = &layout->slot[field].key;
    if (__builtin_expect(!pattern_here(expected, at, 0), 0))
        return *at == '}' ? (struct step){at + 1, OBJECT_END}
                          : unexpected_member(decoder, at, layout, follower, last);
    at += expected->length;
    return (struct step){__builtin_expect(*at <= ' ', 0) ? json_space(at) : at, field};
}

/* A value as it usually stands: behind it; NULL for all else, which decode_field() decodes or refuses. */
static inline const char *usual_value(struct decoder *decoder, const char *at, struct layout *layout,
                                      unsigned field, union value *value)
{
    const struct slot *slot = &layout->slot[field];
    const char *end;
    switch ((enum action)slot->action) {
    case ACTION_STR:
        end = decode_string_again(decoder, at, &layout->memo[field], &value->string);
        return end != NULL || *at != '"' ? end
                                         : decode_string(decoder, at, &layout->memo[field], &value->string);
    case ACTION_U64:
        return json_u64_usual(at, &value->u);
    case ACTION_ENUM: {
        const struct pattern *pattern = patterns_of(decoder, slot->values);
        for (unsigned i = 0; i < schema_values[slot->values].count; i++, pattern++) {
            if (!pattern_here(pattern, at, 0)) continue;
            value->u = i;
            return at + pattern->length;
        }
        return NULL;
    }
    case ACTION_U64_LIST: {
        unsigned length;
        const struct list_memo *memo = list_memo(decoder, at, &length);
        if (length == 0 || !same_text(memo->text, mask_of(length), length, at)) return NULL;
        value->list = memo->list;
        return at + length;
    }
    case ACTION_SKIP: {
        uint64_t number;
        if (*at != '"') return json_u64_usual(at, &number);
        end = json_plain_run(at + 1);
        return *end == '"' ? end + 1 : NULL;
    }
    case ACTION_OTHER:
        return NULL;
    }
    __builtin_unreachable();
}

/* before: behind the value before the member, or its key when it is the first one. */
static const char *given_twice(struct decoder *decoder, const char *before, const char *field)
{
    before = json_space(before);
    decoder->field = field;
    return decode_fail(decoder, *before == ',' ? json_space(before + 1) : before, "given twice");
}

/* The members of an object up to and with its closing brace, from behind a value on, or where first is set
 * from the first key on. kinds: how many members `kind` may still come, which have been dealt with already;
 * -1 where `kind` has no meaning. open: arrays and objects around the values, this object included. */
static const char *decode_members(struct decoder *decoder, const char *at, bool first, struct layout *layout,
                                  unsigned open, int kinds, struct record *record)
{
    uint32_t seen = 0;
    uint8_t *follower = &layout->first;
    struct step step = {.field = NO_FIELD};
    record->present = 0;
    if (first)
        step.at = next_key(decoder, at, layout, follower, &step.field);
    else
        step = next_member(decoder, at, layout, follower, NO_FIELD);
    while (step.at != NULL && step.field != OBJECT_END) {
        unsigned field = step.field;
        if (__builtin_expect(field < NO_FIELD, 1)) {
            uint32_t bit = UINT32_C(1) << field;
            if (__builtin_expect((seen & bit & layout->single) != 0, 0))
                return given_twice(decoder, at, layout->schema->fields[field].key);
            seen |= bit;
            at = usual_value(decoder, step.at, layout, field, &record->value[field]);
            if (__builtin_expect(at != NULL, 1)) {
                record->present |= bit;
            } else {
                decoder->field = layout->schema->fields[field].key;
                at = decode_field(decoder, step.at, layout, field, open, record);
            }
            follower = &layout->slot[field].follower;
        } else {
            if (field == KIND_KEY && kinds-- == 0) return given_twice(decoder, at, "kind");
            at = scanned(decoder, json_skip_value(&decoder->scan, step.at, open));
        }
        if (at == NULL) return NULL;
        step = next_member(decoder, at, layout, follower, field);
    }
    return step.at != NULL && finish_object(decoder, layout, record, seen) ? step.at : NULL;
}

/* open: arrays and objects around the object. */
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
    const struct pattern *patterns = patterns_of(decoder, VALUES_COUNT);
    enum cg_kind *follower = &decoder->follower[decoder->last_kind];
    decoder->field = "kind";
    at = decode_enum(decoder, at, &schema_kinds, patterns, &value);
    if (at != NULL) decoder->last_kind = *follower = *kind = (enum cg_kind)value;
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

/* A record of another kind than the one that followed last time: behind its kind; NULL when it begins
 * otherwise. */
static const char *other_start(struct decoder *decoder, const char *line, enum cg_kind *kind)
{
    for (unsigned i = 0; i < CG_KIND_COUNT; i++) {
        if (!pattern_here(&decoder->starts[i], line, 0)) continue;
        decoder->follower[decoder->last_kind] = *kind = (enum cg_kind)i;
        decoder->last_kind = *kind;
        return line + decoder->starts[i].length;
    }
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

bool decode_record(struct decoder *decoder, const char *line, enum cg_kind *kind, struct record *record,
                   const char **end)
{
    enum cg_kind expected = decoder->follower[decoder->last_kind];
    const char *at = line + decoder->starts[expected].length;
    bool first = false;
    decoder->field = NULL;
    if (__builtin_expect(pattern_here(&decoder->starts[expected], line, 0), 1))
        decoder->last_kind = *kind = expected;
    else if ((at = other_start(decoder, line, kind)) == NULL &&
             (at = unexpected_start(decoder, line, kind, &first)) == NULL)
        return false;
    struct layout *layout = &decoder->layouts[*kind];
    if (*kind == CG_KIND_EDGE && (layout = edge_layout(decoder, line, at)) == NULL) return false;
    *end = decode_members(decoder, at, first, layout, 1, first ? 1 : 0, record);
    return *end != NULL;
}
