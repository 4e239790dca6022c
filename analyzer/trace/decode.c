#include "analyzer/trace/decode.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* `"key":` or `"value"`, to be compared with the text at once; length 0 is never equal to anything. */
enum { PATTERN_WORDS = 3, PATTERN_MAX = PATTERN_WORDS * 8 };
struct pattern {
    uint64_t word[PATTERN_WORDS], mask[PATTERN_WORDS];
    unsigned length;
};

/* The fields of one object, and the order in which the producer writes them: the field that followed field n
 * last time is tried first the next time, by one comparison with its whole key. */
struct layout {
    const struct object_schema *schema;
    uint32_t known, required;                  /* masks of fields */
    uint8_t follower[SCHEMA_MAX_FIELDS + 1];   /* of field n - 1; [0]: the first field */
    struct pattern key[SCHEMA_MAX_FIELDS + 1]; /* of field n; the last one never matches */
};
/* An edge has another set of known fields for each edge_kind. */
enum { LAYOUT_EDGE_DATA = OBJECT_COUNT, LAYOUT_COUNT };
/* Instead of a field: a key that is unknown here; the `kind` of a record. */
enum { NO_FIELD = SCHEMA_MAX_FIELDS, KIND_KEY };

struct allocation {
    struct allocation *next;
    max_align_t bytes[];
};

/* faults */

static bool fail_at(struct decoder *decoder, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static bool fail_at(struct decoder *decoder, const char *at, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(decoder->fault.text, sizeof decoder->fault.text, format, arguments);
    va_end(arguments);
    decoder->fault.at = at;
    decoder->fault.field = decoder->field;
    return false;
}

static bool scan_failed(struct decoder *decoder)
{
    decoder->fault.no_memory = decoder->scan.no_memory;
    return fail_at(decoder, decoder->scan.fault_at, "%s", decoder->scan.fault);
}

static bool out_of_memory(struct decoder *decoder)
{
    decoder->fault.no_memory = true;
    return fail_at(decoder, decoder->scan.at, "out of memory");
}

static bool wrong_type(struct decoder *decoder, const char *expected)
{
    return fail_at(decoder, decoder->scan.at, "expected %s, found %s", expected,
                   json_found(decoder->scan.at));
}

/* memory */

/* Room for one more element; false when memory is short or the columns' 32-bit positions would not reach it.
 */
static bool grow(void **array, size_t *capacity, size_t count, size_t element)
{
    if (count < *capacity) return true;
    if (count >= UINT32_MAX) return false;
    size_t larger = *capacity == 0 ? 16 : *capacity * 2;
    void *grown = realloc(*array, larger * element);
    if (grown == NULL) return false;
    *array = grown;
    *capacity = larger;
    return true;
}

static void *allocate(struct decoder *decoder, size_t size)
{
    struct allocation *made = calloc(1, sizeof *made + size);
    if (made == NULL) return NULL;
    made->next = decoder->allocations;
    decoder->allocations = made;
    return made->bytes;
}

static void free_allocations(struct decoder *decoder)
{
    while (decoder->allocations != NULL) {
        struct allocation *next = decoder->allocations->next;
        free(decoder->allocations);
        decoder->allocations = next;
    }
}

/* layouts */

static struct pattern pattern_of(const char *text, size_t length, const char *tail)
{
    char bytes[PATTERN_MAX] = {'"'}, mask[PATTERN_MAX] = {0};
    struct pattern pattern = {.word = {1}};
    size_t tail_length = strlen(tail), whole = 1 + length + tail_length;
    if (whole > PATTERN_MAX) return pattern;
    memcpy(bytes + 1, text, length);
    memcpy(bytes + 1 + length, tail, tail_length);
    memset(mask, 0xFF, whole);
    memcpy(pattern.word, bytes, sizeof bytes);
    memcpy(pattern.mask, mask, sizeof mask);
    pattern.length = (unsigned)whole;
    return pattern;
}

/* Reads PATTERN_MAX bytes, which the padding of the text allows everywhere. */
static inline bool pattern_here(const struct pattern *pattern, const char *at)
{
    uint64_t word[PATTERN_WORDS], difference = 0;
    memcpy(word, at, sizeof word);
    for (int i = 0; i < PATTERN_WORDS; i++)
        difference |= (word[i] & pattern->mask[i]) ^ pattern->word[i];
    return difference == 0;
}

static void layout_init(struct layout *layout, const struct object_schema *schema, bool call, bool data)
{
    layout->schema = schema;
    for (unsigned i = 0; i < schema->count; i++) {
        const struct field *field = &schema->fields[i];
        bool conditional =
            (field->presence == PRESENCE_IF_CALL && call) || (field->presence == PRESENCE_IF_DATA && data);
        bool foreign =
            !conditional && (field->presence == PRESENCE_IF_CALL || field->presence == PRESENCE_IF_DATA);
        layout->key[i] = (struct pattern){.word = {1}};
        if (!foreign) {
            layout->known |= UINT32_C(1) << i;
            layout->key[i] = pattern_of(field->key, field->key_length, "\":");
        }
        if (conditional || field->presence == PRESENCE_REQUIRED) layout->required |= UINT32_C(1) << i;
        layout->follower[i] = (uint8_t)i;
    }
    layout->follower[schema->count] = NO_FIELD;
    layout->key[NO_FIELD] = (struct pattern){.word = {1}};
}

bool decoder_init(struct decoder *decoder, struct cg_strings *strings, bool extras)
{
    *decoder = (struct decoder){.strings = strings, .extras = extras};
    decoder->layouts = calloc(LAYOUT_COUNT, sizeof *decoder->layouts);
    if (decoder->layouts == NULL) return false;
    for (unsigned i = 0; i < OBJECT_COUNT; i++)
        layout_init(&decoder->layouts[i], &schema_objects[i], true, false);
    layout_init(&decoder->layouts[LAYOUT_EDGE_DATA], &schema_objects[OBJECT_EDGE], false, true);
    return true;
}

void decoder_free(struct decoder *decoder)
{
    free_allocations(decoder);
    free(decoder->layouts);
    decoder->layouts = NULL;
    json_scan_free(&decoder->scan);
}

/* values */

static bool decode_string(struct decoder *decoder, cg_str *string)
{
    const char *bytes;
    size_t length;
    if (*decoder->scan.at != '"') return wrong_type(decoder, "a string");
    if (!json_scan_string(&decoder->scan, &bytes, &length)) return scan_failed(decoder);
    *string = strings_intern(decoder->strings, bytes, length);
    return *string != CG_ABSENT || out_of_memory(decoder);
}

static bool decode_u64(struct decoder *decoder, uint64_t *value)
{
    char c = *decoder->scan.at;
    if (c != '-' && (c < '0' || c > '9')) return wrong_type(decoder, "an unsigned integer");
    return json_scan_u64(&decoder->scan, value) || scan_failed(decoder);
}

static bool decode_f64(struct decoder *decoder, double *value)
{
    struct json_number number;
    char c = *decoder->scan.at;
    if (c != '-' && (c < '0' || c > '9')) return wrong_type(decoder, "a number");
    if (!json_scan_number(&decoder->scan, &number)) return scan_failed(decoder);
    *value = number.f;
    return true;
}

static bool decode_bool(struct decoder *decoder, uint64_t *value)
{
    *value = *decoder->scan.at == 't';
    return json_scan_literal(&decoder->scan, *value ? "true" : "false") ||
           wrong_type(decoder, "true or false");
}

static bool unknown_value(struct decoder *decoder, const char *at, const struct values *values)
{
    char list[128];
    size_t used = 0;
    for (unsigned i = 0; i < values->count; i++)
        used +=
            (size_t)snprintf(list + used, sizeof list - used, "%s%s", i == 0 ? "" : ", ", values->names[i]);
    return fail_at(decoder, at, "expected one of: %s", list);
}

static bool decode_enum(struct decoder *decoder, const struct values *values, uint64_t *value)
{
    const char *bytes, *begin = decoder->scan.at;
    size_t length;
    if (*begin != '"') return wrong_type(decoder, "a string");
    if (!json_scan_string(&decoder->scan, &bytes, &length)) return scan_failed(decoder);
    for (unsigned i = 0; i < values->count; i++) {
        if (strlen(values->names[i]) == length && memcmp(values->names[i], bytes, length) == 0) {
            *value = i;
            return true;
        }
    }
    return unknown_value(decoder, begin, values);
}

/* After an element of a list or a member of an object: true when there is a next one, at which the scanner
 * then stands. */
static bool list_goes_on(struct decoder *decoder, char close, bool *more)
{
    json_space(&decoder->scan);
    *more = *decoder->scan.at == ',';
    if (!*more && *decoder->scan.at != close)
        return fail_at(decoder, decoder->scan.at,
                       close == ']' ? "expected ',' or ']'" : "expected ',' or '}'");
    decoder->scan.at++;
    if (*more) json_space(&decoder->scan);
    return true;
}

/* The opening bracket; *more is false when the list is empty, which is then taken whole. */
static bool list_begins(struct decoder *decoder, char open, char close, bool *more)
{
    if (*decoder->scan.at != open) return wrong_type(decoder, open == '[' ? "a list" : "an object");
    decoder->scan.at++;
    json_space(&decoder->scan);
    *more = *decoder->scan.at != close;
    if (!*more) decoder->scan.at++;
    return true;
}

static bool decode_u64_list(struct decoder *decoder, struct cg_list *list)
{
    bool more;
    size_t first = decoder->u64_count;
    if (!list_begins(decoder, '[', ']', &more)) return false;
    while (more) {
        if (!grow((void **)&decoder->u64_pool, &decoder->u64_capacity, decoder->u64_count, sizeof(uint64_t)))
            return out_of_memory(decoder);
        if (!decode_u64(decoder, &decoder->u64_pool[decoder->u64_count])) return false;
        decoder->u64_count++;
        if (!list_goes_on(decoder, ']', &more)) return false;
    }
    *list = (struct cg_list){(uint32_t)first, (uint32_t)(decoder->u64_count - first)};
    return true;
}

static bool decode_str_list(struct decoder *decoder, struct cg_list *list)
{
    bool more;
    size_t first = decoder->str_count;
    if (!list_begins(decoder, '[', ']', &more)) return false;
    while (more) {
        if (!grow((void **)&decoder->str_pool, &decoder->str_capacity, decoder->str_count, sizeof(cg_str)))
            return out_of_memory(decoder);
        if (!decode_string(decoder, &decoder->str_pool[decoder->str_count])) return false;
        decoder->str_count++;
        if (!list_goes_on(decoder, ']', &more)) return false;
    }
    *list = (struct cg_list){(uint32_t)first, (uint32_t)(decoder->str_count - first)};
    return true;
}

/* A key and its colon; the scanner then stands at the value. */
static bool decode_key(struct decoder *decoder, const char **bytes, size_t *length)
{
    if (*decoder->scan.at != '"') return fail_at(decoder, decoder->scan.at, "expected a key in quotes");
    if (!json_scan_string(&decoder->scan, bytes, length)) return scan_failed(decoder);
    json_space(&decoder->scan);
    if (*decoder->scan.at != ':') return fail_at(decoder, decoder->scan.at, "expected ':' after the key");
    decoder->scan.at++;
    json_space(&decoder->scan);
    return true;
}

static bool decode_map(struct decoder *decoder, struct pair_list **map)
{
    bool more;
    struct pair_list *list = *map = allocate(decoder, sizeof *list);
    if (list == NULL) return out_of_memory(decoder);
    if (!list_begins(decoder, '{', '}', &more)) return false;
    while (more) {
        const char *bytes;
        size_t length;
        if (list->count == list->capacity) {
            size_t capacity = list->capacity * 2 + 16;
            struct cg_pair *pairs = allocate(decoder, capacity * sizeof *pairs);
            if (pairs == NULL) return out_of_memory(decoder);
            if (list->count > 0) memcpy(pairs, list->pairs, list->count * sizeof *pairs);
            list->pairs = pairs;
            list->capacity = capacity;
        }
        struct cg_pair *pair = &list->pairs[list->count];
        if (!decode_key(decoder, &bytes, &length)) return false;
        pair->key = strings_intern(decoder->strings, bytes, length);
        if (pair->key == CG_ABSENT) return out_of_memory(decoder);
        if (!decode_string(decoder, &pair->value)) return false;
        list->count++;
        if (!list_goes_on(decoder, '}', &more)) return false;
    }
    return true;
}

static bool decode_object(struct decoder *decoder, struct layout *layout, unsigned open,
                          struct record *record);

static bool decode_object_list(struct decoder *decoder, struct layout *layout, unsigned open,
                               struct record_list **objects)
{
    bool more;
    struct record_list *list = *objects = allocate(decoder, sizeof *list);
    if (list == NULL) return out_of_memory(decoder);
    if (!list_begins(decoder, '[', ']', &more)) return false;
    while (more) {
        if (list->count == list->capacity) {
            size_t capacity = list->capacity * 2 + 16;
            struct record *records = allocate(decoder, capacity * sizeof *records);
            if (records == NULL) return out_of_memory(decoder);
            if (list->count > 0) memcpy(records, list->records, list->count * sizeof *records);
            list->records = records;
            list->capacity = capacity;
        }
        if (*decoder->scan.at != '{') return wrong_type(decoder, "an object");
        if (!decode_object(decoder, layout, open + 1, &list->records[list->count])) return false;
        list->count++;
        if (!list_goes_on(decoder, ']', &more)) return false;
    }
    return true;
}

/* open: arrays and objects around the value. Objects known to the schema are at most four deep, so this
 * recursion through decode_object() is bounded by the tables, not by the input. */
static bool decode_value(struct decoder *decoder, const struct field *field, unsigned open,
                         union value *value)
{
    switch ((enum field_type)field->type) {
    case TYPE_STR:
    case TYPE_OPT_STR: {
        cg_str string;
        if (!decode_string(decoder, &string)) return false;
        value->u = string;
        return true;
    }
    case TYPE_U64:
    case TYPE_OPT_U64:
        return decode_u64(decoder, &value->u);
    case TYPE_F64:
    case TYPE_OPT_F64:
        return decode_f64(decoder, &value->f);
    case TYPE_BOOL:
        return decode_bool(decoder, &value->u);
    case TYPE_ENUM:
        return decode_enum(decoder, &schema_values[field->argument], &value->u);
    case TYPE_OPT_ENUM:
        if (!decode_enum(decoder, &schema_values[field->argument], &value->u)) return false;
        value->u++;
        return true;
    case TYPE_U64_LIST:
        return decode_u64_list(decoder, &value->list);
    case TYPE_STR_LIST:
        return decode_str_list(decoder, &value->list);
    case TYPE_OBJECT:
        if (*decoder->scan.at != '{') return wrong_type(decoder, "an object");
        value->object = allocate(decoder, sizeof *value->object);
        if (value->object == NULL) return out_of_memory(decoder);
        return decode_object(decoder, &decoder->layouts[field->argument], open, value->object);
    case TYPE_OBJECT_LIST:
        return decode_object_list(decoder, &decoder->layouts[field->argument], open, &value->objects);
    case TYPE_MAP:
        return decode_map(decoder, &value->pairs);
    }
    return false;
}

/* An extra field is an unknown field to the format: checked like one, kept when it has the type that we
 * write. */
static bool decode_extra(struct decoder *decoder, const struct field *field, unsigned open,
                         union value *value, bool *present)
{
    const char *begin = decoder->scan.at;
    size_t u64_count = decoder->u64_count;
    if (!json_skip_value(&decoder->scan, open)) return scan_failed(decoder);
    const char *end = decoder->scan.at;
    if (!decoder->extras) return true;
    decoder->scan.at = begin;
    union value kept;
    if (decode_value(decoder, field, open, &kept)) {
        *value = kept;
        *present = true;
    } else if (decoder->fault.no_memory) {
        return false;
    } else {
        decoder->u64_count = u64_count;
    }
    decoder->scan.at = end;
    return true;
}

/* objects */

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

/* The key at which the scanner stands, its colon and the white space after it: a field, NO_FIELD or KIND_KEY.
 */
static bool next_key(struct decoder *decoder, struct layout *layout, uint8_t *follower, unsigned *field)
{
    unsigned expected = *follower;
    if (__builtin_expect(pattern_here(&layout->key[expected], decoder->scan.at), 1)) {
        decoder->scan.at += layout->key[expected].length;
        json_space(&decoder->scan);
        *field = expected;
        return true;
    }
    const char *bytes;
    size_t length;
    if (!decode_key(decoder, &bytes, &length)) return false;
    *field = find_field(layout, bytes, length);
    if (*field != NO_FIELD)
        *follower = (uint8_t)*field;
    else if (is_kind(bytes, length))
        *field = KIND_KEY;
    return true;
}

/* What a missing field stands for. */
static void set_missing(const struct layout *layout, struct record *record, uint32_t seen)
{
    for (uint32_t left = layout->known & ~seen; left != 0; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctz(left);
        const struct field *field = &layout->schema->fields[i];
        record->value[i].u = field->type == TYPE_ENUM ? schema_values[field->argument].initial : 0;
    }
}

static bool finish_object(struct decoder *decoder, const struct layout *layout, struct record *record,
                          uint32_t seen)
{
    uint32_t missing = layout->required & ~seen;
    if (missing != 0) {
        decoder->field = layout->schema->fields[__builtin_ctz(missing)].key;
        return fail_at(decoder, NULL, "missing, but required");
    }
    uint32_t all = layout->schema->count == 32 ? UINT32_MAX : (UINT32_C(1) << layout->schema->count) - 1;
    for (uint32_t foreign = all & ~layout->known; foreign != 0; foreign &= foreign - 1)
        record->value[__builtin_ctz(foreign)].u = 0;
    set_missing(layout, record, seen & record->present);
    return true;
}

static bool decode_field(struct decoder *decoder, const struct layout *layout, unsigned index, unsigned open,
                         struct record *record)
{
    const struct field *field = &layout->schema->fields[index];
    uint32_t bit = UINT32_C(1) << index;
    bool present = true;
    if (field->presence == PRESENCE_EXTRA) {
        present = record->present & bit;
        if (!decode_extra(decoder, field, open, &record->value[index], &present)) return false;
    } else if (field->presence == PRESENCE_OPTIONAL && json_scan_literal(&decoder->scan, "null")) {
        present = false;
    } else if (!decode_value(decoder, field, open, &record->value[index])) {
        return false;
    }
    if (present) record->present |= bit;
    return true;
}

/* The members of an object from the first key on, or from a later one, up to and with its closing brace.
 * kinds: how many members `kind` may still come, which have been dealt with already; -1 where `kind` has no
 * meaning. open: arrays and objects around the values, this object included. */
static bool decode_members(struct decoder *decoder, struct layout *layout, unsigned open, int kinds,
                           struct record *record)
{
    uint32_t seen = 0;
    uint8_t *follower = &layout->follower[0];
    record->present = 0;
    for (bool more = true; more;) {
        const char *key = decoder->scan.at;
        unsigned field;
        decoder->field = NULL;
        if (!next_key(decoder, layout, follower, &field)) return false;
        if (field < NO_FIELD) {
            uint32_t bit = UINT32_C(1) << field;
            decoder->field = layout->schema->fields[field].key;
            if (seen & bit && layout->schema->fields[field].presence != PRESENCE_EXTRA)
                return fail_at(decoder, key, "given twice");
            seen |= bit;
            if (!decode_field(decoder, layout, field, open, record)) return false;
            follower = &layout->follower[field + 1];
        } else {
            if (field == KIND_KEY && kinds == 0) {
                decoder->field = "kind";
                return fail_at(decoder, key, "given twice");
            }
            if (field == KIND_KEY) kinds--;
            if (!json_skip_value(&decoder->scan, open)) return scan_failed(decoder);
        }
        if (!list_goes_on(decoder, '}', &more)) return false;
    }
    return finish_object(decoder, layout, record, seen);
}

/* The object at which the scanner stands; open: arrays and objects around it. */
static bool decode_object(struct decoder *decoder, struct layout *layout, unsigned open,
                          struct record *record)
{
    bool more;
    list_begins(decoder, '{', '}', &more);
    if (more) return decode_members(decoder, layout, open + 1, -1, record);
    record->present = 0;
    return finish_object(decoder, layout, record, 0);
}

/* records */

/* Looks through a whole record for the member that decides about the others: its value; NULL with a fault
 * when it is not there exactly once. The scanner does not move. */
static const char *find_member(struct decoder *decoder, const char *line, const char *key)
{
    const char *value = NULL, *back = decoder->scan.at;
    bool more;
    decoder->scan.at = line;
    decoder->field = NULL;
    list_begins(decoder, '{', '}', &more);
    while (more) {
        const char *bytes, *begin = decoder->scan.at;
        size_t length;
        if (!decode_key(decoder, &bytes, &length)) return NULL;
        if (length == strlen(key) && memcmp(bytes, key, length) == 0) {
            if (value != NULL) {
                decoder->field = key;
                fail_at(decoder, begin, "given twice");
                return NULL;
            }
            value = decoder->scan.at;
        }
        if (!json_skip_value(&decoder->scan, 1)) {
            scan_failed(decoder);
            return NULL;
        }
        if (!list_goes_on(decoder, '}', &more)) return NULL;
    }
    decoder->scan.at = back;
    decoder->field = key;
    if (value == NULL) fail_at(decoder, NULL, "missing, but required");
    return value;
}

static bool decode_kind(struct decoder *decoder, enum cg_kind *kind)
{
    static const char *const names[] = {
#define NAME(suffix, member, wire, fields, extras, meaning) wire,
        CG_KINDS(NAME)
#undef NAME
    };
    static const struct values kinds = {names, CG_KIND_COUNT, 0};
    uint64_t value;
    decoder->field = "kind";
    if (!decode_enum(decoder, &kinds, &value)) return false;
    *kind = (enum cg_kind)value;
    return true;
}

/* The layout of an edge: by its edge_kind, which usually comes next. */
static struct layout *edge_layout(struct decoder *decoder, const char *line)
{
    const char *back = decoder->scan.at;
    struct pattern pattern = pattern_of("edge_kind", 9, "\":");
    const char *value =
        pattern_here(&pattern, back) ? back + pattern.length : find_member(decoder, line, "edge_kind");
    if (value == NULL) return NULL;
    uint64_t edge_kind;
    decoder->field = "edge_kind";
    decoder->scan.at = value;
    json_space(&decoder->scan);
    if (!decode_enum(decoder, &schema_values[VALUES_EDGE_KIND], &edge_kind)) return NULL;
    decoder->scan.at = back;
    return &decoder->layouts[edge_kind == CG_EDGE_KIND_CALL ? (unsigned)OBJECT_EDGE : LAYOUT_EDGE_DATA];
}

bool decode_record(struct decoder *decoder, const char *line, enum cg_kind *kind, struct record *record,
                   const char **end)
{
    static const char first[] = "\"kind\":";
    bool more;
    int kinds = 0;
    free_allocations(decoder);
    decoder->scan.at = line;
    decoder->field = NULL;
    if (!list_begins(decoder, '{', '}', &more)) return false;
    if (memcmp(decoder->scan.at, first, sizeof first - 1) == 0) {
        decoder->scan.at += sizeof first - 1;
        json_space(&decoder->scan);
        if (!decode_kind(decoder, kind) || !list_goes_on(decoder, '}', &more)) return false;
    } else {
        const char *begin = decoder->scan.at;
        decoder->scan.at = find_member(decoder, line, "kind");
        if (decoder->scan.at == NULL || !decode_kind(decoder, kind)) return false;
        decoder->scan.at = begin;
        kinds = 1;
    }
    struct layout *layout = &decoder->layouts[*kind];
    if (*kind == CG_KIND_EDGE && more && (layout = edge_layout(decoder, line)) == NULL) return false;
    record->present = 0;
    if (more ? !decode_members(decoder, layout, 1, kinds, record)
             : !finish_object(decoder, layout, record, 0))
        return false;
    *end = decoder->scan.at;
    return true;
}
