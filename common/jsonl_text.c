#include "common/jsonl_text.h"

#define PAIRS(tens) tens "0" tens "1" tens "2" tens "3" tens "4" tens "5" tens "6" tens "7" tens "8" tens "9"
const char jsonl_pairs[201] = PAIRS("0") PAIRS("1") PAIRS("2") PAIRS("3") PAIRS("4") PAIRS("5") PAIRS("6")
    PAIRS("7") PAIRS("8") PAIRS("9");
#undef PAIRS
const uint64_t jsonl_powers[20] = {0,
                                   10,
                                   100,
                                   1000,
                                   10000,
                                   100000,
                                   1000000,
                                   10000000,
                                   100000000,
                                   1000000000,
                                   10000000000,
                                   100000000000,
                                   1000000000000,
                                   10000000000000,
                                   100000000000000,
                                   1000000000000000,
                                   10000000000000000,
                                   100000000000000000,
                                   1000000000000000000,
                                   10000000000000000000u};

static const char hex_digits[] = "0123456789abcdef";

char *jsonl_i64(char *out, int64_t value)
{
    if (value >= 0) return jsonl_u64(out, (uint64_t)value);
    *out++ = '-';
    return jsonl_u64(out, 0 - (uint64_t)value);
}

char *jsonl_hex(char *out, uint64_t value)
{
    char digits[16];
    char *at = digits + sizeof digits;

    do {
        *--at = hex_digits[value & 15];
        value >>= 4;
    } while (value);
    out = jsonl_literal(out, "0x");
    return jsonl_bytes(out, at, (size_t)(digits + sizeof digits - at));
}

/* Number of bytes of the character that begins at bytes, 0 when it is not valid UTF-8; then *bad is the
 * length of the maximal part to replace (Unicode 15, 3.9, table 3-7: no overlong forms, no surrogates, at
 * most U+10FFFF). */
static size_t character(const unsigned char *bytes, size_t length, size_t *bad)
{
    unsigned char first = bytes[0];
    unsigned char low = 0x80, high = 0xbf;
    size_t need;

    *bad = 1;
    if (first < 0x80) return 1;
    if (first < 0xc2 || first > 0xf4) return 0;
    need = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (first == 0xe0) low = 0xa0;
    if (first == 0xed) high = 0x9f;
    if (first == 0xf0) low = 0x90;
    if (first == 0xf4) high = 0x8f;
    for (size_t i = 1; i < need; i++) {
        if (i == length || bytes[i] < low || bytes[i] > high) {
            *bad = i;
            return 0;
        }
        low = 0x80;
        high = 0xbf;
    }
    return need;
}

static char *escape(char *out, unsigned char byte)
{
    static const char letters[32] = {['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r'};

    *out++ = '\\';
    if (byte == '"' || byte == '\\') {
        *out++ = (char)byte;
    } else if (letters[byte]) {
        *out++ = letters[byte];
    } else {
        out = jsonl_literal(out, "u00");
        *out++ = hex_digits[byte >> 4];
        *out++ = hex_digits[byte & 15];
    }
    return out;
}

/* ---- plain bytes: 8 at a time (a launch's line with a name of 26: 388 instructions fewer) ---- */

enum { WORD = 8 };
#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* The high bit of each byte that is not plain: a control, '"', '\\' or no ASCII. Behind the first one a byte
 * may be marked that is plain, for the borrow of the subtractions. */
static inline uint64_t not_plain(uint64_t word)
{
    uint64_t quote = word ^ EACH('"'), backslash = word ^ EACH('\\');
    uint64_t controls = (word - EACH(0x20)) & ~word;

    return (word | controls | ((quote - EACH(1)) & ~quote) | ((backslash - EACH(1)) & ~backslash)) &
           EACH(0x80);
}

/* The bytes in the order of their addresses, the first lowest. */
static inline uint64_t in_order(uint64_t word)
{
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? word : __builtin_bswap64(word);
}
static inline uint64_t load(const unsigned char *at)
{
    uint64_t word;

    memcpy(&word, at, WORD);
    return in_order(word);
}
static inline uint64_t load_half(const unsigned char *at)
{
    uint64_t word = 0;

    memcpy(&word, at, WORD / 2);
    return in_order(word);
}

/* The same of 4 to 7 bytes, as one word: its halves overlap, and what is behind them is plain. */
static inline size_t copy_short(char *out, const unsigned char *at, size_t length)
{
    unsigned behind = 8 * (unsigned)(length - WORD / 2);
    uint64_t word = load_half(at) | load_half(at + length - WORD / 2) << behind, stops;

    stops = not_plain(word | EACH(' ') << 8 * length);
    word = in_order(word);
    memcpy(out, &word, WORD);
    return stops ? (unsigned)__builtin_ctzll(stops) / 8 : length;
}

/* Copies the plain bytes that `at` begins with; how many they are. Writes up to 7 bytes more, in the room
 * that the rest of the text has. */
static inline size_t copy_plain(char *out, const unsigned char *at, size_t length)
{
    size_t done = 0;

    if (length >= WORD / 2 && length < WORD) return copy_short(out, at, length);
    for (; length - done >= WORD; done += WORD) {
        uint64_t stops = not_plain(load(at + done));

        memcpy(out + done, at + done, WORD);
        if (stops) return done + (unsigned)__builtin_ctzll(stops) / 8;
    }
    if (done > 0 && done < length && !not_plain(load(at + length - WORD))) {
        memcpy(out + length - WORD, at + length - WORD, WORD);
        return length;
    }
    for (; done < length && at[done] < 0x80 && at[done] >= 0x20 && at[done] != '"' && at[done] != '\\';
         done++)
        out[done] = (char)at[done];
    return done;
}

char *jsonl_text(char *out, const char *bytes, size_t length, bool *replaced)
{
    const unsigned char *at = (const unsigned char *)bytes, *end = at + length;

    for (;;) {
        size_t bad, good, plain = copy_plain(out, at, (size_t)(end - at));

        out += plain;
        at += plain;
        if (at == end) return out;
        if (*at < 0x20 || *at == '"' || *at == '\\') {
            out = escape(out, *at++);
        } else if ((good = character(at, (size_t)(end - at), &bad)) != 0) {
            out = jsonl_bytes(out, at, good);
            at += good;
        } else {
            out = jsonl_literal(out, "\xef\xbf\xbd");
            at += bad;
            *replaced = true;
        }
    }
}

char *jsonl_string(char *out, const char *text, size_t length)
{
    bool replaced;

    *out++ = '"';
    out = jsonl_text(out, text, length, &replaced);
    *out++ = '"';
    return out;
}

char *jsonl_hex_bytes(char *out, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        *out++ = hex_digits[(unsigned char)bytes[i] >> 4];
        *out++ = hex_digits[(unsigned char)bytes[i] & 15];
    }
    return out;
}

size_t jsonl_prefix(const char *bytes, size_t length, size_t limit)
{
    size_t end = length < limit ? length : limit;

    if (end == length) return end;
    for (size_t back = 1; back <= 3 && back <= end; back++) {
        size_t bad, good;

        if (((unsigned char)bytes[end - back] & 0xc0) == 0x80) continue;
        good = character((const unsigned char *)bytes + end - back, length - (end - back), &bad);
        return good > back ? end - back : end;
    }
    return end;
}

bool jsonl_valid(const char *bytes, size_t length)
{
    const unsigned char *at = (const unsigned char *)bytes, *end = at + length;

    while (at < end) {
        size_t bad, good = character(at, (size_t)(end - at), &bad);

        if (!good) return false;
        at += good;
    }
    return true;
}
