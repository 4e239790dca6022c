/* Strict JSON, scanned in place: the primitives of the trace reader (doc/spec/trace.md 2.1 to 2.4).
 *
 * The text must be followed by a line feed, and JSON_PADDING bytes from there on must be readable. No token
 * crosses a line feed, so it stops every loop and nothing compares with an end pointer.
 *
 * Every function takes the place where it begins and returns the place behind what it took. On a defect it
 * returns NULL and fills scan->fault. The place travels in a register: kept in memory it cost a third of the
 * scan's time. */
#ifndef CGTRACE_COMMON_JSON_SCAN_H
#define CGTRACE_COMMON_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef __AVX2__
#include <immintrin.h>
#elif defined __SSE2__
#include <emmintrin.h>
#endif

/* Arrays and objects nested in each other, the record itself included. */
#define JSON_MAX_DEPTH 127
/* Readable bytes after the text, its line feed included. */
#define JSON_PADDING 64

struct json_scan {
    const char *fault; /* for people; static text */
    const char *fault_at;
    bool no_memory; /* the fault is that memory is short */
    char *scratch;  /* decoded text of the last string with escapes */
    size_t scratch_size;
};

/* Frees what the scanner holds; the struct begins zeroed and may be used again. */
void json_scan_free(struct json_scan *scan);

/* Sets the fault; returns NULL. */
const char *json_fault(struct json_scan *scan, const char *at, const char *fault);

/* Behind the white space that JSON knows; the line feed is not part of it. */
static inline const char *json_space(const char *at)
{
    while (*at == ' ' || *at == '\t' || *at == '\r')
        at++;
    return at;
}

/* The first byte that is not plain inside a string: quote, backslash, control or non-ASCII. */
static inline const char *json_plain_run_portable(const char *at)
{
    while ((signed char)*at >= 0x20 && *at != '"' && *at != '\\')
        at++;
    return at;
}
static inline const char *json_plain_run(const char *at)
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
    return json_plain_run_portable(at);
#endif
}

/* A string, decoded; at is its opening quote. *bytes points into the text, or into scan->scratch when there
 * was an escape: valid until the next string. It may hold NUL bytes and is not ended by one. */
const char *json_string_slow(struct json_scan *scan, const char *at, const char **bytes, size_t *length);
static inline const char *json_string(struct json_scan *scan, const char *at, const char **bytes,
                                      size_t *length)
{
    const char *end = json_plain_run(at + 1);
    if (__builtin_expect(*end != '"', 0)) return json_string_slow(scan, at, bytes, length);
    *bytes = at + 1;
    *length = (size_t)(end - at - 1);
    return end + 1;
}

/* doc/spec/trace.md 2.4: U is value in u; I is -u; F is value in f, finite. */
enum json_class { JSON_U, JSON_I, JSON_F };
struct json_number {
    enum json_class class;
    uint64_t u;
    double f; /* nearest double, ties to even, in every class */
};
const char *json_number(struct json_scan *scan, const char *at, struct json_number *number);

/* A number of class U. *value is unchanged on a fault. */
const char *json_u64_slow(struct json_scan *scan, const char *at, uint64_t *value);

#ifdef __AVX2__
/* What the first digits of the text say, of which '0' was taken away: 1 to 16 of them. They are moved to the
 * end of the register, zeros before them, and added up in pairs, fours, eights and sixteens. */
static inline uint64_t json_digits_sum(__m128i text, unsigned digits)
{
    static const signed char shift[32] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                                          0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15};
    text = _mm_shuffle_epi8(text, _mm_loadu_si128((const __m128i *)(const void *)(shift + digits)));
    text = _mm_maddubs_epi16(text, _mm_set1_epi16(1 << 8 | 10));
    text = _mm_madd_epi16(text, _mm_set1_epi32(1 << 16 | 100));
    text = _mm_packus_epi32(text, text);
    text = _mm_madd_epi16(text, _mm_set1_epi32(1 << 16 | 10000));
    uint64_t eights = (uint64_t)_mm_cvtsi128_si64(text);
    return (eights & UINT32_MAX) * 100000000 + (eights >> 32);
}

/* The digits that stand here, at most 16, and what they say: 23 instructions for any number of them, where
 * eight at a time took 33. */
static inline unsigned json_digits(const char *at, uint64_t *value)
{
    __m128i text = _mm_sub_epi8(_mm_loadu_si128((const __m128i *)(const void *)at), _mm_set1_epi8('0'));
    __m128i digit = _mm_cmpeq_epi8(_mm_min_epu8(text, _mm_set1_epi8(9)), text);
    unsigned digits = (unsigned)__builtin_ctz(~(unsigned)_mm_movemask_epi8(digit));
    *value = json_digits_sum(text, digits);
    return digits;
}

/* The same where it is known that as many digits stand here. */
static inline uint64_t json_digits_known(const char *at, unsigned digits)
{
    return json_digits_sum(
        _mm_sub_epi8(_mm_loadu_si128((const __m128i *)(const void *)at), _mm_set1_epi8('0')), digits);
}
#elif __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
/* The same eight digits at a time. Bytes of digits: those where '0' to '9', turned into 0 to 9, plus 0x76 has
 * no high bit; a carry runs towards later bytes only, so the first byte that is no digit is found rightly.
 * The digits are moved to the end of the word, zeros before them, and added up in pairs, fours and eights. */
static inline unsigned json_digits(const char *at, uint64_t *value)
{
    static const uint64_t power[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    unsigned all = 0;
    uint64_t sum = 0;
    for (int words = 0; words < 2; words++) {
        uint64_t word;
        memcpy(&word, at + all, sizeof word);
        word ^= UINT64_C(0x3030303030303030);
        uint64_t other = ((word + UINT64_C(0x7676767676767676)) | word) & UINT64_C(0x8080808080808080);
        unsigned digits = other != 0 ? (unsigned)__builtin_ctzll(other) / 8 : 8;
        if (digits == 0) break;
        word <<= 64 - 8 * digits;
        word = (word * 10 + (word >> 8)) & UINT64_C(0x00FF00FF00FF00FF);
        word = (word * 100 + (word >> 16)) & UINT64_C(0x0000FFFF0000FFFF);
        word = (word * 10000 + (word >> 32)) & UINT64_C(0x00000000FFFFFFFF);
        sum = sum * power[digits] + word;
        all += digits;
        if (digits < 8) break;
    }
    *value = sum;
    return all;
}
#else
static inline unsigned json_digits(const char *at, uint64_t *value)
{
    unsigned digits = 0;
    for (*value = 0; digits < 16 && (unsigned char)(at[digits] - '0') <= 9; digits++)
        *value = *value * 10 + (uint64_t)(at[digits] - '0');
    return digits;
}
#endif

/* A number of one to sixteen digits with nothing but a comma or a closing bracket behind it, as nearly all
 * are: behind it. NULL, and *value is unchanged, for all else: longer ones, irregular ones, and what is no
 * number. */
static inline const char *json_u64_usual(const char *at, uint64_t *value)
{
    uint64_t sum;
    unsigned digits = json_digits(at, &sum);
    const char *end = at + digits;
    bool bare = *end == ',' || (*end | 0x20) == '}'; /* a bracket is a brace without that bit */
    if (__builtin_expect(!bare || digits == 0 || (*at == '0' && digits > 1), 0)) return NULL;
    *value = sum;
    return end;
}
static inline const char *json_u64(struct json_scan *scan, const char *at, uint64_t *value)
{
    const char *end = json_u64_usual(at, value);
    return __builtin_expect(end != NULL, 1) ? end : json_u64_slow(scan, at, value);
}

/* Any value, checked to the last byte and thrown away; open is the number of arrays and objects around it. */
const char *json_skip_value(struct json_scan *scan, const char *at, unsigned open);

/* Behind the literal, such as "null", if it stands here; else NULL without a fault. */
static inline const char *json_literal(const char *at, const char *literal)
{
    size_t length = strlen(literal);
    return memcmp(at, literal, length) == 0 ? at + length : NULL;
}

/* "a string", "null", ...: what begins here, for messages. */
const char *json_found(const char *at);

#endif
