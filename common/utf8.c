#include "common/utf8.h"

#include <string.h>

unsigned utf8_sequence(const char *bytes, size_t left)
{
    const unsigned char *b = (const unsigned char *)bytes;
    if (left == 0) return 0;
    if (b[0] < 0x80) return 1;
    unsigned length = b[0] >= 0xF0 ? 4 : b[0] >= 0xE0 ? 3 : 2;
    if (b[0] < 0xC2 || b[0] > 0xF4 || left < length) return 0;
    /* The second byte is where overlong forms, surrogates and too large values show. */
    unsigned char low = b[0] == 0xE0 ? 0xA0 : b[0] == 0xF0 ? 0x90 : 0x80;
    unsigned char high = b[0] == 0xED ? 0x9F : b[0] == 0xF4 ? 0x8F : 0xBF;
    if (b[1] < low || b[1] > high) return 0;
    for (unsigned i = 2; i < length; i++)
        if ((b[i] & 0xC0) != 0x80) return 0;
    return length;
}

size_t utf8_valid_length(const char *bytes, size_t length)
{
    size_t at = 0;
    while (at < length) {
        unsigned sequence = utf8_sequence(bytes + at, length - at);
        if (sequence == 0) break;
        at += sequence;
    }
    return at;
}

unsigned utf8_space(const char *bytes, size_t left)
{
    const unsigned char *b = (const unsigned char *)bytes;
    if (left == 0) return 0;
    if (b[0] == ' ' || (b[0] >= '\t' && b[0] <= '\r')) return 1;
    if (left >= 2 && b[0] == 0xC2 && (b[1] == 0x85 || b[1] == 0xA0)) return 2;
    if (left < 3) return 0;
    uint32_t three = (uint32_t)b[0] << 16 | (uint32_t)b[1] << 8 | b[2];
    switch (three) {
    case 0xE19A80: /* U+1680 */
    case 0xE280A8: /* U+2028 */
    case 0xE280A9: /* U+2029 */
    case 0xE280AF: /* U+202F */
    case 0xE2819F: /* U+205F */
    case 0xE38080: /* U+3000 */
        return 3;
    default: /* U+2000 to U+200A */
        return three >= 0xE28080 && three <= 0xE2808A ? 3 : 0;
    }
}

void utf8_trim(const char **bytes, size_t *length)
{
    if (*length == 0) return;
    const char *begin = *bytes, *end = begin + *length;
    for (unsigned space; (space = utf8_space(begin, (size_t)(end - begin))) != 0;)
        begin += space;
    while (begin < end) {
        /* A character begins at the last byte that is not a continuation byte. */
        const char *last = end - 1;
        while (last > begin && end - last < 4 && ((unsigned char)*last & 0xC0) == 0x80)
            last--;
        if (utf8_space(last, (size_t)(end - last)) != (size_t)(end - last)) break;
        end = last;
    }
    *bytes = begin;
    *length = (size_t)(end - begin);
}

bool utf8_blank(const char *bytes, size_t length)
{
    size_t at = 0;
    for (unsigned space; (space = utf8_space(bytes + at, length - at)) != 0;)
        at += space;
    return at == length;
}

/* Whether a terminal would act on the character, or show what follows it in another order: C0 and C1 controls
 * and DEL; the embeddings, overrides and isolates of the bidirectional algorithm (Unicode Standard Annex 9),
 * U+202A to U+202E and U+2066 to U+2069. sequence: its bytes; 0: it is none. */
static bool acts(const char *text, unsigned sequence)
{
    const unsigned char *b = (const unsigned char *)text;
    if (sequence == 0) return true;
    if (sequence == 1) return b[0] < 0x20 || b[0] == 0x7F;
    if (sequence == 2) return b[0] == 0xC2 && b[1] < 0xA0;
    return sequence == 3 && b[0] == 0xE2 &&
           ((b[1] == 0x80 && b[2] >= 0xAA && b[2] <= 0xAE) || (b[1] == 0x81 && b[2] >= 0xA6 && b[2] <= 0xA9));
}

size_t utf8_shown(char *out, size_t room, const char *text, size_t length)
{
    static const char digits[] = "0123456789abcdef";
    size_t used = 0;
    for (size_t i = 0; i < length;) {
        unsigned sequence = utf8_sequence(text + i, length - i);
        bool escaped = acts(text + i, sequence);
        unsigned taken = sequence > 0 ? sequence : 1;
        /* A C1 control is known by its number, which is its second byte. */
        unsigned skipped = escaped && sequence == 2 ? 1 : 0, bytes = escaped ? 4 * (taken - skipped) : taken;
        if (used + bytes >= room) break;
        for (unsigned k = skipped; escaped && k < taken; k++) {
            unsigned char byte = (unsigned char)text[i + k];
            memcpy(out + used + 4 * (k - skipped), (char[]){'\\', 'x', digits[byte >> 4], digits[byte & 15]},
                   4);
        }
        if (!escaped) memcpy(out + used, text + i, bytes);
        used += bytes;
        i += taken;
    }
    out[used] = '\0';
    return used;
}

unsigned utf8_encode(uint32_t code, char out[4])
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xC0 | code >> 6);
        out[1] = (char)(0x80 | (code & 0x3F));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (char)(0xE0 | code >> 12);
        out[1] = (char)(0x80 | (code >> 6 & 0x3F));
        out[2] = (char)(0x80 | (code & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | code >> 18);
    out[1] = (char)(0x80 | (code >> 12 & 0x3F));
    out[2] = (char)(0x80 | (code >> 6 & 0x3F));
    out[3] = (char)(0x80 | (code & 0x3F));
    return 4;
}
