#include "common/json_scan.h"

#include <stdlib.h>

#include "common/utf8.h"

void json_scan_free(struct json_scan *scan)
{
    free(scan->scratch);
    *scan = (struct json_scan){0};
}

const char *json_fault(struct json_scan *scan, const char *at, const char *fault)
{
    scan->fault = fault;
    scan->fault_at = at;
    return NULL;
}

const char *json_found(const char *at)
{
    switch (*at) {
    case '"':
        return "a string";
    case '{':
        return "an object";
    case '[':
        return "an array";
    case 't':
    case 'f':
        return "a boolean";
    case 'n':
        return "null";
    case '\n':
        return "the end of the line";
    default:
        return *at == '-' || (*at >= '0' && *at <= '9') ? "a number" : "something else";
    }
}

/* strings */

/* The first quote, backslash or control byte; NULL with a fault when the text before it is not UTF-8. */
static const char *string_run(struct json_scan *scan, const char *at)
{
    for (;;) {
        at = json_plain_run(at);
        if ((unsigned char)*at < 0x80) return at;
        unsigned sequence = utf8_sequence(at, 4);
        if (sequence == 0) {
            return json_fault(scan, at, "not valid UTF-8");
        }
        at += sequence;
    }
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* The four digits after \u; NULL with a fault. */
static const char *hex_unit(struct json_scan *scan, const char *at, uint32_t *unit)
{
    *unit = 0;
    for (int i = 0; i < 4; i++, at++) {
        int digit = hex_value(*at);
        if (digit < 0) {
            return json_fault(scan, at, "expected four hexadecimal digits after \\u");
        }
        *unit = *unit << 4 | (uint32_t)digit;
    }
    return at;
}

/* One escape, at is its backslash: the code point; NULL with a fault. */
static const char *escape(struct json_scan *scan, const char *at, uint32_t *code)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    const char *begin = at++;
    const char *name = *at != '\0' ? strchr(names, *at) : NULL;
    if (name != NULL) {
        *code = (unsigned char)values[name - names];
        return at + 1;
    }
    if (*at != 'u') {
        return json_fault(scan, begin, "unknown escape in a string");
    }
    at = hex_unit(scan, at + 1, code);
    if (at == NULL || *code < 0xD800 || *code > 0xDFFF) return at;
    uint32_t low;
    if (*code < 0xDC00 && at[0] == '\\' && at[1] == 'u') {
        at = hex_unit(scan, at + 2, &low);
        if (at == NULL) return NULL;
        if (low >= 0xDC00 && low <= 0xDFFF) {
            *code = 0x10000 + ((*code - 0xD800) << 10) + (low - 0xDC00);
            return at;
        }
    }
    return json_fault(scan, begin, "surrogate escape without its other half");
}

static const char *control_fault(struct json_scan *scan, const char *at)
{
    return json_fault(scan, at,
                      *at == '\n' ? "the line ends inside a string"
                                  : "control byte in a string (needs an escape)");
}

static bool scratch_reserve(struct json_scan *scan, size_t size)
{
    if (size <= scan->scratch_size) return true;
    size_t larger = scan->scratch_size * 2 > size ? scan->scratch_size * 2 : size + 256;
    char *scratch = realloc(scan->scratch, larger);
    if (scratch == NULL) return false;
    scan->scratch = scratch;
    scan->scratch_size = larger;
    return true;
}

/* The string from its first byte, at being its first backslash: decoded into the scratch. */
static const char *string_with_escapes(struct json_scan *scan, const char *first, const char *at,
                                       const char **bytes, size_t *length)
{
    size_t used = 0;
    for (;;) {
        size_t run = (size_t)(at - first);
        if (!scratch_reserve(scan, used + run + 4)) {
            scan->no_memory = true;
            return json_fault(scan, first, "out of memory");
        }
        memcpy(scan->scratch + used, first, run);
        used += run;
        if (*at == '"') break;
        if (*at != '\\') return control_fault(scan, at);
        uint32_t code;
        first = escape(scan, at, &code);
        if (first == NULL) return NULL;
        used += utf8_encode(code, scan->scratch + used);
        at = string_run(scan, first);
        if (at == NULL) return NULL;
    }
    *bytes = scan->scratch;
    *length = used;
    return at + 1;
}

const char *json_string_slow(struct json_scan *scan, const char *at, const char **bytes, size_t *length)
{
    const char *first = at + 1, *end = string_run(scan, first);
    if (end == NULL) return NULL;
    if (*end == '\\') return string_with_escapes(scan, first, end, bytes, length);
    if (*end != '"') return control_fault(scan, end);
    *bytes = first;
    *length = (size_t)(end - first);
    return end + 1;
}

static const char *skip_string(struct json_scan *scan, const char *at)
{
    at++;
    for (;;) {
        at = string_run(scan, at);
        if (at == NULL) return NULL;
        if (*at == '"') return at + 1;
        if (*at != '\\') return control_fault(scan, at);
        uint32_t code;
        at = escape(scan, at, &code);
        if (at == NULL) return NULL;
    }
}

/* values of any kind */

static const char *skip_scalar(struct json_scan *scan, const char *at)
{
    struct json_number number;
    const char *end = NULL;
    if (*at == '"') return skip_string(scan, at);
    if (*at == '-' || (*at >= '0' && *at <= '9')) return json_number(scan, at, &number);
    if (*at == 't') end = json_literal(at, "true");
    if (*at == 'f') end = json_literal(at, "false");
    if (*at == 'n') end = json_literal(at, "null");
    return end != NULL ? end : json_fault(scan, at, "expected a JSON value");
}

/* A key, its colon and the white space around that: the value. */
static const char *skip_key(struct json_scan *scan, const char *at)
{
    if (*at != '"') return json_fault(scan, at, "expected a key in quotes");
    at = skip_string(scan, at);
    if (at == NULL) return NULL;
    at = json_space(at);
    if (*at != ':') return json_fault(scan, at, "expected ':' after the key");
    return json_space(at + 1);
}

/* Which of the open levels are objects, one bit each: what recursion would keep on the stack. */
struct levels {
    unsigned __int128 objects;
    unsigned depth;
};

/* From behind a value: closes what ends here and moves on to the next value, or to depth base. */
static const char *after_value(struct json_scan *scan, const char *at, struct levels *levels, unsigned base)
{
    while (levels->depth > base) {
        bool object = levels->objects & 1;
        at = json_space(at);
        if (*at == ',') {
            at = json_space(at + 1);
            return object ? skip_key(scan, at) : at;
        }
        if (*at != (object ? '}' : ']'))
            return json_fault(scan, at, object ? "expected ',' or '}'" : "expected ',' or ']'");
        at++;
        levels->objects >>= 1;
        levels->depth--;
    }
    return at;
}

const char *json_skip_value(struct json_scan *scan, const char *at, unsigned open)
{
    struct levels levels = {.depth = open};
    do {
        bool object = *at == '{';
        if (object || *at == '[') {
            if (levels.depth == JSON_MAX_DEPTH)
                return json_fault(scan, at, "nested more than 127 levels deep");
            at = json_space(at + 1);
            if (*at != (object ? '}' : ']')) {
                levels.depth++;
                levels.objects = levels.objects << 1 | object;
                if (object && (at = skip_key(scan, at)) == NULL) return NULL;
                continue;
            }
            at++;
        } else if ((at = skip_scalar(scan, at)) == NULL) {
            return NULL;
        }
        if ((at = after_value(scan, at, &levels, open)) == NULL) return NULL;
    } while (levels.depth > open);
    return at;
}
