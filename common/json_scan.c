#include "common/json_scan.h"

#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "common/utf8.h"

void json_scan_free(struct json_scan *scan)
{
    free(scan->scratch);
    *scan = (struct json_scan){0};
}

bool json_fault(struct json_scan *scan, const char *at, const char *fault)
{
    scan->fault = fault;
    scan->fault_at = at;
    return false;
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

bool json_scan_literal(struct json_scan *scan, const char *literal)
{
    size_t length = strlen(literal);
    if (memcmp(scan->at, literal, length) != 0) return false;
    scan->at += length;
    return true;
}

/* strings */

/* The first byte that is not plain: quote, backslash, control or non-ASCII. */
static inline const char *plain_run(const char *at)
{
#ifdef __SSE2__
    for (;; at += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)at);
        /* Signed comparison: bytes from 0x80 up are negative, thus also below 0x20. */
        __m128i special = _mm_or_si128(_mm_cmplt_epi8(bytes, _mm_set1_epi8(0x20)),
                                       _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')),
                                                    _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'))));
        unsigned mask = (unsigned)_mm_movemask_epi8(special);
        if (mask != 0) return at + __builtin_ctz(mask);
    }
#else
    while ((signed char)*at >= 0x20 && *at != '"' && *at != '\\')
        at++;
    return at;
#endif
}

/* The first quote, backslash or control byte; NULL with a fault when the text before it is not UTF-8. */
static const char *string_run(struct json_scan *scan, const char *at)
{
    for (;;) {
        at = plain_run(at);
        if ((unsigned char)*at < 0x80) return at;
        unsigned sequence = utf8_sequence(at, 4);
        if (sequence == 0) {
            json_fault(scan, at, "not valid UTF-8");
            return NULL;
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
            json_fault(scan, at, "expected four hexadecimal digits after \\u");
            return NULL;
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
        json_fault(scan, begin, "unknown escape in a string");
        return NULL;
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
    json_fault(scan, begin, "surrogate escape without its other half");
    return NULL;
}

static bool control_fault(struct json_scan *scan, const char *at)
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
    if (scratch == NULL) {
        scan->no_memory = true;
        return json_fault(scan, scan->at, "out of memory");
    }
    scan->scratch = scratch;
    scan->scratch_size = larger;
    return true;
}

/* The string from its first byte, at being its first backslash: decoded into the scratch. */
static bool string_with_escapes(struct json_scan *scan, const char *first, const char *at, const char **bytes,
                                size_t *length)
{
    size_t used = 0;
    for (;;) {
        size_t run = (size_t)(at - first);
        if (!scratch_reserve(scan, used + run + 4)) return false;
        memcpy(scan->scratch + used, first, run);
        used += run;
        if (*at == '"') break;
        if (*at != '\\') return control_fault(scan, at);
        uint32_t code;
        first = escape(scan, at, &code);
        if (first == NULL) return false;
        used += utf8_encode(code, scan->scratch + used);
        at = string_run(scan, first);
        if (at == NULL) return false;
    }
    *bytes = scan->scratch;
    *length = used;
    scan->at = at + 1;
    return true;
}

bool json_scan_string(struct json_scan *scan, const char **bytes, size_t *length)
{
    const char *first = scan->at + 1;
    const char *at = string_run(scan, first);
    if (at == NULL) return false;
    if (__builtin_expect(*at == '"', 1)) {
        *bytes = first;
        *length = (size_t)(at - first);
        scan->at = at + 1;
        return true;
    }
    if (*at != '\\') return control_fault(scan, at);
    return string_with_escapes(scan, first, at, bytes, length);
}

static bool skip_string(struct json_scan *scan)
{
    const char *at = scan->at + 1;
    for (;;) {
        at = string_run(scan, at);
        if (at == NULL) return false;
        if (*at == '"') {
            scan->at = at + 1;
            return true;
        }
        if (*at != '\\') return control_fault(scan, at);
        uint32_t code;
        at = escape(scan, at, &code);
        if (at == NULL) return false;
    }
}

/* values of any kind */

static bool skip_scalar(struct json_scan *scan)
{
    struct json_number number;
    char c = *scan->at;
    if (c == '"') return skip_string(scan);
    if (c == '-' || (c >= '0' && c <= '9')) return json_scan_number(scan, &number);
    if (json_scan_literal(scan, "true") || json_scan_literal(scan, "false") ||
        json_scan_literal(scan, "null"))
        return true;
    return json_fault(scan, scan->at, "expected a JSON value");
}

/* A key, its colon and the white space around that; scan->at is then the value. */
static bool skip_key(struct json_scan *scan)
{
    if (*scan->at != '"') return json_fault(scan, scan->at, "expected a key in quotes");
    if (!skip_string(scan)) return false;
    json_space(scan);
    if (*scan->at != ':') return json_fault(scan, scan->at, "expected ':' after the key");
    scan->at++;
    json_space(scan);
    return true;
}

/* Which of the open levels are objects, one bit each: what recursion would keep on the stack. */
struct levels {
    unsigned __int128 objects;
    unsigned depth;
};

/* scan->at stands after a value: closes what ends here and moves on to the next value, or to depth base. */
static bool after_value(struct json_scan *scan, struct levels *levels, unsigned base)
{
    while (levels->depth > base) {
        bool object = levels->objects & 1;
        json_space(scan);
        if (*scan->at == ',') {
            scan->at++;
            json_space(scan);
            return !object || skip_key(scan);
        }
        if (*scan->at != (object ? '}' : ']'))
            return json_fault(scan, scan->at, object ? "expected ',' or '}'" : "expected ',' or ']'");
        scan->at++;
        levels->objects >>= 1;
        levels->depth--;
    }
    return true;
}

bool json_skip_value(struct json_scan *scan, unsigned open)
{
    struct levels levels = {.depth = open};
    do {
        char c = *scan->at;
        if (c == '{' || c == '[') {
            if (levels.depth == JSON_MAX_DEPTH)
                return json_fault(scan, scan->at, "nested more than 127 levels deep");
            levels.depth++;
            levels.objects = levels.objects << 1 | (c == '{');
            scan->at++;
            json_space(scan);
            if (*scan->at == (c == '{' ? '}' : ']')) {
                scan->at++;
                levels.objects >>= 1;
                levels.depth--;
            } else {
                if (c == '{' && !skip_key(scan)) return false;
                continue;
            }
        } else if (!skip_scalar(scan)) {
            return false;
        }
        if (!after_value(scan, &levels, open)) return false;
    } while (levels.depth > open);
    return true;
}
