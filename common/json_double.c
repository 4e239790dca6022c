/* The shortest decimal that reads back to the same double, from the C library's exact conversions.
 *
 * Of a normal double every decimal of up to 15 digits that reads back to it is its own rounding to 15 digits
 * (DBL_DIG), so the search begins there; 17 digits always suffice. The rounding to n digits is the nearest
 * decimal of n digits, and when that does not read back no other does, save at a power of two: there the
 * doubles below lie half as far apart as those above, so the decimal next above may still read back. */
#include "common/json_doc.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct decimal {
    uint64_t digits; /* significand as an integer of n digits */
    int exponent;    /* of its last digit */
};

/* The point is the locale's in "%e" and strtod(), so it is skipped in one and not written for the other. */
static struct decimal rounded(double magnitude, int n)
{
    char text[48];
    snprintf(text, sizeof text, "%.*e", n - 1, magnitude);
    const char *exponent = strrchr(text, 'e');
    struct decimal decimal = {0, atoi(exponent + 1) - (n - 1)};
    for (const char *c = text; c < exponent; c++)
        if (*c >= '0' && *c <= '9') decimal.digits = decimal.digits * 10 + (uint64_t)(*c - '0');
    return decimal;
}

static bool reads_back(struct decimal decimal, double magnitude)
{
    char text[48];
    snprintf(text, sizeof text, "%llue%d", (unsigned long long)decimal.digits, decimal.exponent);
    return strtod(text, NULL) == magnitude;
}

static struct decimal shortest(double magnitude)
{
    int binary;
    bool power_of_two = frexp(magnitude, &binary) == 0.5;
    for (int n = magnitude < DBL_MIN ? 1 : DBL_DIG;; n++) {
        struct decimal decimal = rounded(magnitude, n);
        if (n == 17 || reads_back(decimal, magnitude)) return decimal;
        struct decimal above = {decimal.digits + 1, decimal.exponent};
        if (power_of_two && reads_back(above, magnitude)) return above;
    }
}

size_t json_double_text(char text[33], double value)
{
    if (value == 0) return (size_t)sprintf(text, "%s0.0", signbit(value) ? "-" : "");
    struct decimal decimal = shortest(fabs(value));
    while (decimal.digits % 10 == 0) {
        decimal.digits /= 10;
        decimal.exponent++;
    }
    char digits[24], plain[64];
    int n = snprintf(digits, sizeof digits, "%llu", (unsigned long long)decimal.digits);
    int point = n + decimal.exponent; /* digits before the point */
    const size_t room = sizeof plain;
    int length;
    if (point > 16 || point < -4)
        length = snprintf(plain, room, "%.1s%s%se%d", digits, n > 1 ? "." : "", digits + 1, point - 1);
    else if (point <= 0)
        length = snprintf(plain, room, "0.%.*s%s", -point, "0000", digits);
    else if (point >= n)
        length = snprintf(plain, room, "%s%.*s.0", digits, point - n, "0000000000000000");
    else
        length = snprintf(plain, room, "%.*s.%s", point, digits, digits + point);
    char *to = text;
    if (signbit(value)) *to++ = '-';
    memcpy(to, plain, (size_t)length + 1);
    return (size_t)(to - text + length);
}
