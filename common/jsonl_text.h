/* Pieces of JSON text, written at a cursor that has room: each returns the cursor behind what it wrote. The
 * caller knows the bound of each: 20 bytes for a number, 6 for each byte of a string. */
#ifndef CGTRACE_COMMON_JSONL_TEXT_H
#define CGTRACE_COMMON_JSONL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

extern const char jsonl_pairs[201];     /* "00" to "99" */
extern const uint64_t jsonl_powers[20]; /* of 10; the first is 0 in place of 1: so 0 has a digit */

/* A literal, its length known to the compiler. */
#define jsonl_literal(cursor, text) jsonl_bytes((cursor), (text), sizeof(text) - 1)

static inline char *jsonl_bytes(char *out, const void *bytes, size_t length)
{
    memcpy(out, bytes, length);
    return out + length;
}

/* How many decimal digits a number has: 1233 / 4096 is a little more than log10(2). */
static inline unsigned jsonl_digits(uint64_t value)
{
    unsigned bits = 64 - (unsigned)__builtin_clzll(value | 1), about = bits * 1233 >> 12;

    return about + (value >= jsonl_powers[about]);
}

static inline char *jsonl_u64(char *out, uint64_t value)
{
    char *end, *at;

    if (value < 10) { /* most are */
        *out = (char)('0' + value);
        return out + 1;
    }
    at = end = out + jsonl_digits(value);
    for (; value >= 100; value /= 100)
        memcpy(at -= 2, &jsonl_pairs[(value % 100) * 2], 2);
    if (value >= 10)
        memcpy(at - 2, &jsonl_pairs[value * 2], 2);
    else
        at[-1] = (char)('0' + value);
    return end;
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
