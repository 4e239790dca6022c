/* Numbers of reports: whole ones, with thousands separators, with a fraction or an exponent, in a unit; never
 * through a double (doc/spec/nsight.md 6). */
#include <string.h>

#include "analyzer/evidence/nsight_private.h"
#include "common/utf8.h"

/* A cell of more digits than this is no number that nsys would write. */
enum { NUMBER_BYTES_MAX = 1000 };

struct decimal {
    char digits[NUMBER_BYTES_MAX]; /* without leading zeros */
    size_t count;
    int64_t point; /* digits before the decimal point; may be negative or beyond count */
};

/* The exponent behind an e; false when there is none. */
static bool read_exponent(const char *at, const char *end, int64_t *exponent)
{
    bool minus = at < end && *at == '-';
    if (at < end && (*at == '-' || *at == '+')) at++;
    if (at == end) return false;
    int64_t value = 0;
    for (; at < end; at++) {
        if (*at < '0' || *at > '9') return false;
        if (value < 1000000) value = 10 * value + (*at - '0');
    }
    *exponent = minus ? -value : value;
    return true;
}

static bool read_decimal(const char *at, const char *end, struct decimal *decimal)
{
    bool fraction = false, any = false;
    int64_t exponent = 0;
    decimal->count = 0;
    decimal->point = 0;
    if (at < end && *at == '+') at++;
    for (; at < end; at++) {
        if (*at == '.' && !fraction) {
            fraction = true;
        } else if (*at >= '0' && *at <= '9') {
            any = true;
            bool leading = decimal->count == 0 && *at == '0';
            if (!leading) decimal->digits[decimal->count++] = *at;
            if (!leading && !fraction) decimal->point++;
            if (leading && fraction) decimal->point--;
        } else {
            break;
        }
    }
    if (!any) return false;
    if (at < end && ((*at != 'e' && *at != 'E') || !read_exponent(at + 1, end, &exponent))) return false;
    decimal->point += exponent;
    return true;
}

static bool truncate_decimal(const struct decimal *decimal, uint64_t *value)
{
    *value = 0;
    if (decimal->count == 0 || decimal->point <= 0) return true;
    if (decimal->point > 20) return false;
    for (int64_t i = 0; i < decimal->point; i++) {
        unsigned digit = (size_t)i < decimal->count ? (unsigned)(decimal->digits[i] - '0') : 0;
        if (__builtin_mul_overflow(*value, 10, value) || __builtin_add_overflow(*value, digit, value))
            return false;
    }
    return true;
}

int nsight_number(struct cg_text cell, unsigned scale, uint64_t *value)
{
    char plain[NUMBER_BYTES_MAX];
    struct decimal decimal;
    size_t length = 0;

    utf8_trim(&cell.bytes, &cell.length);
    for (size_t i = 0; i < cell.length; i++) {
        if (cell.bytes[i] == ',') continue;
        if (length == sizeof plain) return -1;
        plain[length++] = cell.bytes[i];
    }
    if (length == 0) return 0;
    if (!read_decimal(plain, plain + length, &decimal)) return -1;
    decimal.point += scale;
    return truncate_decimal(&decimal, value) ? 1 : -1;
}
