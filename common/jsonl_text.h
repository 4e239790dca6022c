/* Pieces of JSON text, written at a cursor that has room: each returns the cursor behind what it wrote. The
 * caller knows the bound of each: 20 bytes for a number, 6 for each byte of a string. */
#ifndef CGTRACE_COMMON_JSONL_TEXT_H
#define CGTRACE_COMMON_JSONL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

extern const char jsonl_pairs[201]; /* "00" to "99" */

/* A literal, its length known to the compiler. */
#define jsonl_literal(cursor, text) jsonl_bytes((cursor), (text), sizeof(text) - 1)

static inline char *jsonl_bytes(char *out, const void *bytes, size_t length)
{
    memcpy(out, bytes, length);
    return out + length;
}

static inline char *jsonl_u64(char *out, uint64_t value)
{
    char digits[20];
    char *at = digits + sizeof digits;

    while (value >= 100) {
        const char *pair = &jsonl_pairs[(value % 100) * 2];
        value /= 100;
        at -= 2;
        memcpy(at, pair, 2);
    }
    if (value >= 10) {
        at -= 2;
        memcpy(at, &jsonl_pairs[value * 2], 2);
    } else {
        *--at = (char)('0' + value);
    }
    return jsonl_bytes(out, at, (size_t)(digits + sizeof digits - at));
}

char *jsonl_i64(char *out, int64_t value);
/* value as 0x and lower-case hexadecimal digits, no leading zeros. */
char *jsonl_hex(char *out, uint64_t value);

/* The bytes as the inside of a JSON string: '"', '\' and controls escaped (doc/spec/trace.md 14), each
 * maximal part that is not valid UTF-8 as U+FFFD. *replaced is set when there was one, else left alone. At
 * most 6 bytes for each. */
char *jsonl_text(char *out, const char *bytes, size_t length, bool *replaced);
/* With the quotes around it. */
char *jsonl_string(char *out, const char *text, size_t length);
/* Two lower-case hexadecimal digits for each byte. */
char *jsonl_hex_bytes(char *out, const char *bytes, size_t length);
/* Whether all of it is valid UTF-8. */
bool jsonl_valid(const char *bytes, size_t length);
/* The longest prefix of at most limit bytes that does not cut a character of valid UTF-8. */
size_t jsonl_prefix(const char *bytes, size_t length, size_t limit);

#endif
