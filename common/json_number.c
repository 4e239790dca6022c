/* Numbers of JSON: their class and their value (doc/spec/trace.md 2.4). */
#include "common/json_scan.h"

#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

/* What the grammar found: significand x 10^exponent, or too many digits for that. */
struct literal {
    const char *begin;
    uint64_t significand; /* of the first 19 digits that count */
    int64_t exponent;
    bool negative, integer, exact; /* exact: the significand holds every digit */
};

static locale_t c_locale;
static void make_c_locale(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

/* Exactly rounded by the C library, whatever the program's locale. The text ends before a byte that no number
 * has. */
static double convert_slowly(const char *begin)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_c_locale);
    return c_locale != (locale_t)0 ? strtod_l(begin, NULL, c_locale) : strtod(begin, NULL);
}

/* Both operands exact and one rounding: the quotient or product of a significand up to 2^53 and a power of
 * ten up to 10^22 is the nearest double. Source: W. D. Clinger, How to Read Floating Point Numbers
 * Accurately, PLDI 1990. */
static double convert(const struct literal *literal)
{
    static const double power[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (literal->exact && literal->significand == 0) return literal->negative ? -0.0 : 0.0;
    if (!literal->exact || literal->significand > (UINT64_C(1) << 53) || literal->exponent < -22 ||
        literal->exponent > 22)
        return convert_slowly(literal->begin);
    double value = (double)literal->significand;
    value = literal->exponent < 0 ? value / power[-literal->exponent] : value * power[literal->exponent];
    return literal->negative ? -value : value;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Takes digits into the significand; shift is what a digit taken (fraction) or dropped (integer) does to the
 * exponent. */
static const char *digits(struct literal *literal, const char *at, bool fraction)
{
    for (; is_digit(*at); at++) {
        uint64_t next;
        if (literal->exact && !__builtin_mul_overflow(literal->significand, 10, &next) &&
            !__builtin_add_overflow(next, (uint64_t)(*at - '0'), &next)) {
            literal->significand = next;
            if (fraction) literal->exponent--;
        } else {
            literal->exact = false;
        }
    }
    return at;
}

static const char *exponent_part(struct literal *literal, const char *at)
{
    bool negative = *at == '-';
    if (*at == '-' || *at == '+') at++;
    if (!is_digit(*at)) return NULL;
    int64_t exponent = 0;
    for (; is_digit(*at); at++)
        if (exponent < 1000000) exponent = exponent * 10 + (*at - '0');
    literal->exponent += negative ? -exponent : exponent;
    return at;
}

/* The grammar of RFC 8259, section 6. */
static const char *scan_literal(struct json_scan *scan, const char *at, struct literal *literal)
{
    *literal = (struct literal){.begin = at, .integer = true, .exact = true, .negative = *at == '-'};
    if (literal->negative) at++;
    if (!is_digit(*at)) return json_fault(scan, at, "expected a digit");
    if (*at == '0' && is_digit(at[1])) return json_fault(scan, at, "number with a leading zero");
    at = digits(literal, at, false);
    if (*at == '.') {
        literal->integer = false;
        if (!is_digit(at[1])) return json_fault(scan, at + 1, "expected a digit after the point");
        at = digits(literal, at + 1, true);
    }
    if (*at == 'e' || *at == 'E') {
        literal->integer = false;
        const char *end = exponent_part(literal, at + 1);
        if (end == NULL) return json_fault(scan, at + 1, "expected digits in the exponent");
        at = end;
    }
    return at;
}

const char *json_number(struct json_scan *scan, const char *at, struct json_number *number)
{
    struct literal literal;
    const char *end = scan_literal(scan, at, &literal);
    if (end == NULL) return NULL;
    if (literal.integer && literal.exact && !literal.negative) {
        *number =
            (struct json_number){.class = JSON_U, .u = literal.significand, .f = (double)literal.significand};
    } else if (literal.integer && literal.exact && literal.significand >= 1 &&
               literal.significand <= UINT64_C(1) << 63) {
        *number = (struct json_number){
            .class = JSON_I, .u = literal.significand, .f = -(double)literal.significand};
    } else {
        *number = (struct json_number){.class = JSON_F, .f = convert(&literal)};
        if (isinf(number->f)) return json_fault(scan, at, "number beyond the range of a double");
    }
    return end;
}

const char *json_u64_slow(struct json_scan *scan, const char *at, uint64_t *value)
{
    struct json_number number;
    if (*at != '-' && !is_digit(*at)) return json_fault(scan, at, "expected an unsigned integer");
    const char *end = json_number(scan, at, &number);
    if (end == NULL) return NULL;
    if (number.class != JSON_U)
        return json_fault(scan, at, "expected an unsigned integer of at most 18446744073709551615");
    *value = number.u;
    return end;
}
