#include "analyzer/evidence/shape.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void shape_open(struct shape_reader *reader, const char *name, char *bytes, size_t length)
{
    *reader = (struct shape_reader){.name = name, .begin = bytes, .end = bytes + length};
    for (char *at = bytes; (at = memchr(at, '\n', (size_t)(reader->end - at)));)
        *at = '\r';
    memset(bytes + length, 0, JSON_PADDING);
    bytes[length] = '\n';
}

void shape_close(struct shape_reader *reader)
{
    json_scan_free(&reader->scan);
    arena_free(&reader->arena);
}

/* ---- one token: the reader moves behind it, or stays where the fault is ---- */

static void space(struct shape_reader *reader)
{
    reader->at = json_space(reader->at);
}

static bool move(struct shape_reader *reader, const char *end)
{
    if (!end) return false;
    reader->at = end;
    return true;
}

static bool take_string(struct shape_reader *reader, const char **bytes, size_t *length)
{
    return move(reader, json_string(&reader->scan, reader->at, bytes, length));
}

static bool take_number(struct shape_reader *reader, struct json_number *number)
{
    return move(reader, json_number(&reader->scan, reader->at, number));
}

static bool take_literal(struct shape_reader *reader, const char *literal)
{
    return move(reader, json_literal(reader->at, literal));
}

/* Inside a packet values stand at most this deep; what is deeper than the scanner allows is refused. */
#define OPEN_LEVELS 16

static bool skip_value(struct shape_reader *reader)
{
    return move(reader, json_skip_value(&reader->scan, reader->at, OPEN_LEVELS));
}

/* ---- checking: depth of recursion is that of the shapes, never that of the document ---- */

static bool check(struct shape_reader *reader, const struct shape_type *type);

__attribute__((format(printf, 3, 4))) static bool fault(struct shape_reader *reader, const char *at,
                                                        const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reader->fault, sizeof reader->fault, format, arguments);
    va_end(arguments);
    reader->scan.fault_at = at;
    return false;
}

static bool expected(struct shape_reader *reader, const char *what)
{
    return fault(reader, reader->at, "expected %s, found %s", what, json_found(reader->at));
}

static bool key_and_colon(struct shape_reader *reader, const char **bytes, size_t *length)
{
    if (*reader->at != '"') return expected(reader, "a key in quotes");
    if (!take_string(reader, bytes, length)) return false;
    space(reader);
    if (*reader->at != ':') return fault(reader, reader->at, "expected ':' after the key");
    reader->at++;
    space(reader);
    return true;
}

/* Between elements or members: true with *more when another one follows. */
static bool goes_on(struct shape_reader *reader, char close, bool *more)
{
    space(reader);
    *more = *reader->at == ',';
    if (!*more && *reader->at != close) return fault(reader, reader->at, "expected ',' or '%c'", close);
    reader->at++;
    space(reader);
    return true;
}

/* Steps into an object or a list; *empty when it ends at once. */
static bool enter(struct shape_reader *reader, char open, char close, const char *what, bool *empty)
{
    if (*reader->at != open) return expected(reader, what);
    reader->at++;
    space(reader);
    *empty = *reader->at == close;
    if (*empty) reader->at++;
    return true;
}

static const struct shape_field *field_named(const struct shape *shape, const char *bytes, size_t length)
{
    for (size_t i = 0; i < shape->count; i++)
        if (strlen(shape->fields[i].name) == length && memcmp(shape->fields[i].name, bytes, length) == 0)
            return &shape->fields[i];
    return NULL;
}

static bool check_member(struct shape_reader *reader, const struct shape *shape, uint32_t *seen)
{
    const char *bytes, *at = reader->at;
    size_t length;
    if (!key_and_colon(reader, &bytes, &length)) return false;
    const struct shape_field *field = field_named(shape, bytes, length);
    if (!field) return skip_value(reader);
    uint32_t bit = UINT32_C(1) << (field - shape->fields);
    reader->path[reader->depth++] = field->name;
    if (*seen & bit) return fault(reader, at, "member given twice");
    *seen |= bit;
    bool may_be_null = field->presence == SHAPE_OMITTED || field->presence == SHAPE_NULLABLE;
    if (!(may_be_null && take_literal(reader, "null")) && !check(reader, &field->type)) return false;
    reader->depth--;
    return true;
}

static bool check_object(struct shape_reader *reader, const struct shape *shape)
{
    const char *object = reader->at;
    uint32_t seen = 0;
    bool empty;
    if (!enter(reader, '{', '}', "an object", &empty)) return false;
    for (bool more = !empty; more;)
        if (!check_member(reader, shape, &seen) || !goes_on(reader, '}', &more)) return false;
    for (size_t i = 0; i < shape->count; i++)
        if (shape->fields[i].presence == SHAPE_REQUIRED && !(seen >> i & 1))
            return fault(reader, object, "member \"%s\" is missing", shape->fields[i].name);
    return true;
}

static bool is_word(const char *const *words, const char *bytes, size_t length, size_t *which)
{
    for (*which = 0; words[*which]; ++*which)
        if (strlen(words[*which]) == length && memcmp(words[*which], bytes, length) == 0) return true;
    return false;
}

/* The shape that the object at reader->at has; NULL with a fault. */
static const struct shape *variant_shape(struct shape_reader *reader, const struct shape_variant *variant)
{
    const char *object = reader->at, *bytes;
    size_t length, which;
    bool empty, more;
    const struct shape *shape = NULL;
    if (!enter(reader, '{', '}', "an object", &empty)) return NULL;
    for (more = !empty; more && !shape;) {
        if (!key_and_colon(reader, &bytes, &length)) return NULL;
        if (length != strlen(variant->key) || memcmp(bytes, variant->key, length) != 0) {
            if (!skip_value(reader)) return NULL;
        } else if (*reader->at != '"') {
            expected(reader, "a string");
            return NULL;
        } else {
            const char *word = reader->at;
            if (!take_string(reader, &bytes, &length)) return NULL;
            if (!is_word(variant->words, bytes, length, &which)) {
                fault(reader, word, "unknown %s", variant->key);
                return NULL;
            }
            shape = &variant->shapes[which];
        }
        if (!goes_on(reader, '}', &more)) return NULL;
    }
    reader->at = object;
    if (!shape) fault(reader, object, "member \"%s\" is missing", variant->key);
    return shape;
}

static bool check_list(struct shape_reader *reader, const struct shape_type *element)
{
    bool empty;
    if (!enter(reader, '[', ']', "an array", &empty)) return false;
    reader->path[reader->depth++] = NULL;
    for (bool more = !empty; more;)
        if (!check(reader, element) || !goes_on(reader, ']', &more)) return false;
    reader->depth--;
    return true;
}

static bool check_map(struct shape_reader *reader, const struct shape_type *value)
{
    const char *bytes;
    size_t length;
    bool empty;
    if (!enter(reader, '{', '}', "an object", &empty)) return false;
    reader->path[reader->depth++] = NULL;
    for (bool more = !empty; more;)
        if (!key_and_colon(reader, &bytes, &length) || !check(reader, value) || !goes_on(reader, '}', &more))
            return false;
    reader->depth--;
    return true;
}

/* Digits of a 128-bit number (doc/spec/evidence.md 10.2). */
static bool is_decimal(const char *bytes, size_t length)
{
    unsigned __int128 value = 0;
    if (length == 0 || length > 39) return false;
    for (size_t i = 0; i < length; i++) {
        if (bytes[i] < '0' || bytes[i] > '9') return false;
        unsigned __int128 most = (unsigned __int128)-1, digit = (unsigned)(bytes[i] - '0');
        if (value > (most - digit) / 10) return false;
        value = value * 10 + digit;
    }
    return true;
}

static bool check_string(struct shape_reader *reader, const struct shape_type *type)
{
    const char *bytes, *at = reader->at;
    size_t length, which;
    if (*at != '"') return expected(reader, "a string");
    if (!take_string(reader, &bytes, &length)) return false;
    if (type->kind == SHAPE_ENUM && !is_word(type->of, bytes, length, &which)) {
        char name[TEXT_NAME_SIZE];
        const char *const *words = type->of;
        return fault(reader, at, "expected %s\"%s\", found \"%.80s\"", words[1] ? "a word such as " : "",
                     words[0], text_name((struct cg_text){bytes, length}, name));
    }
    if (type->kind == SHAPE_DECIMAL && !is_decimal(bytes, length))
        return fault(reader, at, "expected a decimal number of at most 128 bits in quotes");
    return true;
}

static bool check(struct shape_reader *reader, const struct shape_type *type)
{
    struct json_number number;
    const struct shape *shape;
    const char *at = reader->at;
    switch (type->kind) {
    case SHAPE_STRING:
    case SHAPE_ENUM:
    case SHAPE_OPEN_ENUM:
    case SHAPE_DECIMAL:
        return check_string(reader, type);
    case SHAPE_U64:
    case SHAPE_F64:
        if (*at != '-' && (*at < '0' || *at > '9')) return expected(reader, "a number");
        if (!take_number(reader, &number)) return false;
        return type->kind == SHAPE_F64 || number.class == JSON_U ||
               fault(reader, at, "expected an integer from 0 to 18446744073709551615");
    case SHAPE_BOOL:
        return take_literal(reader, "true") || take_literal(reader, "false") ||
               expected(reader, "true or false");
    case SHAPE_OBJECT:
        return check_object(reader, type->of);
    case SHAPE_VARIANT:
        shape = variant_shape(reader, type->of);
        return shape && check_object(reader, shape);
    case SHAPE_LIST:
        return check_list(reader, type->of);
    case SHAPE_MAP:
        return check_map(reader, type->of);
    }
    return false;
}

static int refuse(struct shape_reader *reader, struct cg_error *error)
{
    char path[256] = "";
    size_t length = 0;
    for (unsigned i = 0; i < reader->depth; i++)
        length += (size_t)snprintf(path + length, sizeof path - length, "%s%s",
                                   reader->path[i] && i ? "." : "", reader->path[i] ? reader->path[i] : "[]");
    if (reader->scan.no_memory) return cg_fail(error, CG_EXIT_IO, "%s: out of memory", reader->name);
    return cg_fail(error, CG_EXIT_INPUT, "%s: byte %zu: %s%s%s", reader->name,
                   (size_t)(reader->scan.fault_at - reader->begin) + 1, path, length ? ": " : "",
                   *reader->fault ? reader->fault : reader->scan.fault);
}

/* One value, checked against the type or, when that is NULL, for being JSON. */
static int check_document(struct shape_reader *reader, const struct shape_type *type, struct cg_error *error)
{
    reader->at = reader->begin;
    space(reader);
    if (!(type ? check(reader, type) : skip_value(reader))) return refuse(reader, error);
    space(reader);
    if (reader->at != reader->end) {
        reader->depth = 0;
        fault(reader, reader->at, "expected nothing more after the value");
        return refuse(reader, error);
    }
    return 0;
}

int shape_check(struct shape_reader *reader, const struct shape_type *type, struct cg_error *error)
{
    return check_document(reader, type, error);
}

int shape_check_any(struct shape_reader *reader, struct cg_error *error)
{
    return check_document(reader, NULL, error);
}

/* ---- finding and reading, in a document that was checked ---- */

static const char *after(struct shape_reader *reader, const char *value)
{
    reader->at = value;
    skip_value(reader);
    space(reader);
    return reader->at;
}

static const char *after_spaces(struct shape_reader *reader, const char *at)
{
    reader->at = at;
    space(reader);
    return reader->at;
}

/* The value behind the key at this place; the raw key may have escapes, then it is decoded. */
static const char *pair_value(struct shape_reader *reader, const char *key_at, const char **key,
                              size_t *length)
{
    reader->at = key_at;
    key_and_colon(reader, key, length);
    return reader->at;
}

const char *shape_member(struct shape_reader *reader, const char *object, const char *name)
{
    const char *at = object ? after_spaces(reader, object + 1) : "}";
    while (*at != '}') {
        const char *key;
        size_t length;
        const char *value = pair_value(reader, at, &key, &length);
        if (length == strlen(name) && memcmp(key, name, length) == 0) return *value == 'n' ? NULL : value;
        at = after(reader, value);
        if (*at == ',') at = after_spaces(reader, at + 1);
    }
    return NULL;
}

const char *shape_first(struct shape_reader *reader, const char *list)
{
    if (!list) return NULL;
    const char *at = after_spaces(reader, list + 1);
    return *at == ']' ? NULL : at;
}

const char *shape_next(struct shape_reader *reader, const char *element)
{
    const char *at = after(reader, element);
    return *at == ']' ? NULL : after_spaces(reader, at + 1);
}

/* A text that stays: in the document as it stands, or in the arena when it had escapes. */
static struct cg_text keep(struct shape_reader *reader, const char *bytes, size_t length)
{
    if (bytes >= reader->begin && bytes < reader->end) return (struct cg_text){bytes, length};
    struct cg_text text = arena_text(&reader->arena, bytes, length);
    if (!text.bytes) reader->scan.no_memory = true;
    return text;
}

static const char *pair_at(struct shape_reader *reader, const char *at, struct cg_text *key)
{
    if (*at == '}') return NULL;
    const char *bytes;
    size_t length;
    const char *value = pair_value(reader, at, &bytes, &length);
    *key = keep(reader, bytes, length);
    return value;
}

const char *shape_first_pair(struct shape_reader *reader, const char *map, struct cg_text *key)
{
    return map ? pair_at(reader, after_spaces(reader, map + 1), key) : NULL;
}

const char *shape_next_pair(struct shape_reader *reader, const char *value, struct cg_text *key)
{
    const char *at = after(reader, value);
    return pair_at(reader, *at == ',' ? after_spaces(reader, at + 1) : at, key);
}

struct cg_text shape_text(struct shape_reader *reader, const char *value)
{
    const char *bytes;
    size_t length;
    if (!value) return (struct cg_text){0};
    reader->at = value;
    if (!take_string(reader, &bytes, &length)) return (struct cg_text){0};
    return keep(reader, bytes, length);
}

uint64_t shape_u64(struct shape_reader *reader, const char *value)
{
    uint64_t number = 0;
    if (!value) return 0;
    json_u64(&reader->scan, value, &number);
    return number;
}

bool shape_bool(const char *value)
{
    return value && *value == 't';
}

double shape_f64(struct shape_reader *reader, const char *value)
{
    struct json_number number = {0};
    json_number(&reader->scan, value, &number);
    return number.f;
}

bool shape_string(struct shape_reader *reader, const char *value, struct cg_text *text)
{
    return json_string(&reader->scan, value, &text->bytes, &text->length) != NULL;
}

const char *shape_document(struct shape_reader *reader)
{
    return json_space(reader->begin);
}
