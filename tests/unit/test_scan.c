/* The scanner's primitives: UTF-8, white space, numbers, and the fast ways against plain ones. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json_scan.h"
#include "common/utf8.h"
#include "tests/unit/cmocka_tap.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static uint64_t random_state = 88172645463325252u;
static uint64_t random_u64(void) /* xorshift64 */
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* Every code point, encoded by the definition of UTF-8, and every sequence of two bytes. */
static void test_utf8_code_points(void **state)
{
    (void)state;
    for (uint32_t code = 0; code <= 0x10FFFF; code++) {
        char bytes[4];
        if (code >= 0xD800 && code <= 0xDFFF) {
            const char surrogate[] = {(char)(0xE0 | code >> 12), (char)(0x80 | (code >> 6 & 0x3F)),
                                      (char)(0x80 | (code & 0x3F))};
            assert_int_equal(utf8_sequence(surrogate, 3), 0);
            continue;
        }
        unsigned expected = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
        if (utf8_encode(code, bytes) != expected || utf8_sequence(bytes, 4) != expected)
            fail_msg("U+%04X", code);
        for (unsigned left = 0; left < expected; left++)
            assert_int_equal(utf8_sequence(bytes, left), 0);
    }
    for (unsigned first = 0x80; first < 0x100; first++)
        for (unsigned second = 0; second < 0x100; second++) {
            const char bytes[] = {(char)first, (char)second};
            bool two = first >= 0xC2 && first <= 0xDF && second >= 0x80 && second <= 0xBF;
            assert_int_equal(utf8_sequence(bytes, 2), two ? 2 : 0);
        }
}

static void test_utf8_overlong(void **state)
{
    (void)state;
    static const char *const bad[] = {"\xC0\x80",
                                      "\xC1\xBF",
                                      "\xE0\x80\x80",
                                      "\xE0\x9F\xBF",
                                      "\xF0\x80\x80\x80",
                                      "\xF0\x8F\xBF\xBF",
                                      "\xF4\x90\x80\x80",
                                      "\xF5\x80\x80\x80",
                                      "\xFF",
                                      "\x80",
                                      "\xBF"};
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_int_equal(utf8_sequence(bad[i], strlen(bad[i])), 0);
    assert_int_equal(utf8_valid_length("ab\xC3\xA9\xFFz", 6), 4);
    assert_int_equal(utf8_valid_length("ab\xC3", 3), 2);
}

/* The 25 characters of White_Space, and all others not. */
static void test_white_space(void **state)
{
    (void)state;
    for (uint32_t code = 0; code <= 0xFFFF; code++) {
        char bytes[4];
        bool space = (code >= 0x9 && code <= 0xD) || code == 0x20 || code == 0x85 || code == 0xA0 ||
                     code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 ||
                     code == 0x2029 || code == 0x202F || code == 0x205F || code == 0x3000;
        if (code >= 0xD800 && code <= 0xDFFF) continue;
        unsigned length = utf8_encode(code, bytes);
        if (utf8_blank(bytes, length) != space || utf8_space(bytes, length) != (space ? length : 0))
            fail_msg("U+%04X", code);
    }
    const char *text = " \t\xE3\x80\x80 a\xC2\xA0"
                       "b\xE2\x80\x8B \xC2\x85\v";
    size_t length = strlen(text);
    utf8_trim(&text, &length);
    assert_int_equal(length, 7);
    assert_memory_equal(text,
                        "a\xC2\xA0"
                        "b\xE2\x80\x8B",
                        7);
    length = 0;
    utf8_trim(&text, &length);
    assert_int_equal(length, 0);
    assert_true(utf8_blank("", 0));
}

/* A number followed by a line feed, with the padding that the scanner asks for. */
static struct json_number number_of(const char *literal, bool *ok)
{
    char text[512 + JSON_PADDING] = {0};
    struct json_scan scan = {0};
    struct json_number number = {0};
    size_t length = strlen(literal);
    assert_true(length < 512);
    memcpy(text, literal, length);
    text[length] = '\n';
    const char *end = json_number(&scan, text, &number);
    *ok = end == text + length;
    return number;
}

static void test_number_classes(void **state)
{
    (void)state;
    static const struct {
        const char *literal;
        enum json_class class;
        uint64_t u;
        double f;
    } cases[] = {
        {"0", JSON_U, 0, 0.0},
        {"18446744073709551615", JSON_U, UINT64_MAX, 0x1p64},
        {"18446744073709551616", JSON_F, 0, 0x1p64},
        {"-1", JSON_I, 1, -1.0},
        {"-9223372036854775808", JSON_I, UINT64_C(1) << 63, -0x1p63},
        {"-9223372036854775809", JSON_F, 0, -0x1p63},
        {"-0", JSON_F, 0, -0.0},
        {"5.0", JSON_F, 0, 5.0},
        {"5e0", JSON_F, 0, 5.0},
        {"1E2", JSON_F, 0, 100.0},
        {"0e99999999999999999999", JSON_F, 0, 0.0},
        {"1e-99999999999999999999", JSON_F, 0, 0.0},
        {"-1e-400", JSON_F, 0, -0.0},
        {"0.1", JSON_F, 0, 0x1.999999999999ap-4},
        {"2.2250738585072014e-308", JSON_F, 0, 0x1p-1022},
        {"4.9406564584124654e-324", JSON_F, 0, 0x1p-1074},
        {"2.4703282292062327e-324", JSON_F, 0, 0.0}, /* just below half of the smallest */
        {"2.4703282292062328e-324", JSON_F, 0, 0x1p-1074},
        {"1.7976931348623157e+308", JSON_F, 0, 0x1.fffffffffffffp1023},
        {"1.7976931348623158e308", JSON_F, 0, 0x1.fffffffffffffp1023}, /* below half a place more */
        {"9007199254740993.0", JSON_F, 0, 0x1p53},                     /* tie, to even */
        {"9007199254740995.0", JSON_F, 0, 0x1.0000000000002p53},
        {"9007199254740993.00000000000000000000000000001", JSON_F, 0, 0x1.0000000000001p53},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        bool ok;
        struct json_number number = number_of(cases[i].literal, &ok);
        if (!ok || number.class != cases[i].class || (number.class != JSON_F && number.u != cases[i].u) ||
            number.f != cases[i].f || !signbit(number.f) != !signbit(cases[i].f))
            fail_msg("%s: class %d u %llu f %a", cases[i].literal, number.class, (unsigned long long)number.u,
                     number.f);
    }
    static const char *const bad[] = {"",
                                      "-",
                                      "+1",
                                      ".5",
                                      "1.",
                                      "1.e1",
                                      "01",
                                      "-01",
                                      "1e",
                                      "1e+",
                                      "1e400",
                                      "-1e309",
                                      "1.7976931348623159e308",
                                      "--1",
                                      "1e1.5",
                                      "0x10",
                                      "1_0",
                                      "Infinity"};
    for (size_t i = 0; i < COUNT(bad); i++) {
        bool ok;
        number_of(bad[i], &ok);
        if (ok) fail_msg("accepted: %s", bad[i]);
    }
}

/* Against the C library on literals of every length and exponent. */
static void test_doubles(void **state)
{
    (void)state;
    for (int i = 0; i < 200000; i++) {
        char literal[64];
        uint64_t r = random_u64();
        double value;
        memcpy(&value, &r, sizeof value);
        int form = (int)(random_u64() % 4);
        if (form == 0)
            snprintf(literal, sizeof literal, "%.*e", (int)(random_u64() % 20),
                     isfinite(value) ? value : 1.0);
        else if (form == 1)
            snprintf(literal, sizeof literal, "%llu.%06llu", (unsigned long long)(r >> (r & 63)),
                     (unsigned long long)(random_u64() % 1000000));
        else if (form == 2)
            snprintf(literal, sizeof literal, "%llue%d", (unsigned long long)(r >> (r & 63)),
                     (int)(random_u64() % 60) - 30);
        else
            snprintf(literal, sizeof literal, "%.17g", isfinite(value) ? value : 0.5);
        bool ok;
        struct json_number number = number_of(literal, &ok);
        double expected = strtod(literal, NULL);
        if (isinf(expected) ? ok : !ok || number.f != expected)
            fail_msg("%s: %a, expected %a", literal, number.f, expected);
    }
}

/* json_u64() against the general way: all lengths, all limits, all bytes that may follow. */
static void test_u64(void **state)
{
    (void)state;
    for (int i = 0; i < 300000; i++) {
        char text[64 + JSON_PADDING];
        memset(text, '7', sizeof text); /* digits behind the line feed must not matter */
        uint64_t r = random_u64(), expected = r >> (random_u64() & 63), value = 1234567;
        if (i < 40) expected = UINT64_MAX - (uint64_t)i;
        int length = snprintf(text, 64, "%llu", (unsigned long long)expected);
        char follows = "\n,]} .eE-"[random_u64() % 9];
        text[length] = follows;
        text[length + 1] = '\n';
        struct json_scan scan = {0};
        const char *end = json_u64(&scan, text, &value);
        bool number = follows != '.' && follows != 'e' && follows != 'E';
        if (number ? end != text + length || value != expected : end != NULL)
            fail_msg("%.*s", length + 1, text);
    }
}

static void test_plain_runs(void **state)
{
    (void)state;
    for (int i = 0; i < 100000; i++) {
        char text[256 + JSON_PADDING];
        size_t length = random_u64() % 100;
        for (size_t j = 0; j < length; j++)
            text[j] = (char)(0x20 + random_u64() % 0x60);
        for (int odd = (int)(random_u64() % 3); odd > 0 && length > 0; odd--)
            text[random_u64() % length] = (char)random_u64();
        memset(text + length, '\n', sizeof text - length);
        assert_ptr_equal(json_plain_run(text), json_plain_run_portable(text));
    }
}

/* Strings with escapes: decoded by hand. */
static void test_strings(void **state)
{
    (void)state;
    static const struct {
        const char *text, *expected;
        size_t length;
    } cases[] = {
        {"\"\"", "", 0},
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 8},
        {"\"a\\u0000b\"", "a\0b", 3},
        {"\"\\u00e9\\u00E9\"", "\xC3\xA9\xC3\xA9", 4},
        {"\"\\ud83d\\ude00x\"", "\xF0\x9F\x98\x80x", 5},
        {"\"\\uFFFF\\uD7FF\\uE000\"", "\xEF\xBF\xBF\xED\x9F\xBF\xEE\x80\x80", 9},
        {"\"\\uDBFF\\uDFFF\"", "\xF4\x8F\xBF\xBF", 4},
        {"\"\xC3\xA9\\n\x7F\"", "\xC3\xA9\n\x7F", 4},
    };
    struct json_scan scan = {0};
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[128 + JSON_PADDING] = {0};
        const char *bytes;
        size_t length;
        strcpy(text, cases[i].text);
        strcat(text, "\n");
        const char *end = json_string(&scan, text, &bytes, &length);
        assert_ptr_equal(end, text + strlen(cases[i].text));
        assert_int_equal(length, cases[i].length);
        assert_memory_equal(bytes, cases[i].expected, length);
        assert_ptr_equal(json_skip_value(&scan, text, 0), end);
    }
    json_scan_free(&scan);
}

/* Controls of both blocks and what is not UTF-8 are told from their neighbours, and no character is cut. */
static void test_utf8_shown(void **state)
{
    static const char text[] =
        "a\x1F\x20~\x7F\xC2\x80\xC2\x9F\xC2\xA0\xFF\xE3\x81z\xC3"
        "\xE2\x80\xA9\xE2\x80\xAA\xE2\x80\xAE\xE2\x80\xAF\xE2\x81\xA5\xE2\x81\xA6\xE2\x81\xA9\xE2\x81\xAA";
    static const char shown[] = "a\\x1f ~\\x7f\\x80\\x9f\xC2\xA0\\xff\\xe3\\x81z\\xc3"
                                "\xE2\x80\xA9\\xe2\\x80\\xaa\\xe2\\x80\\xae\xE2\x80\xAF\xE2\x81\xA5\\xe2\\x81"
                                "\\xa6\\xe2\\x81\\xa9\xE2\x81\xAA"; /* by hand */
    char out[4 * sizeof text];
    (void)state;
    assert_int_equal(utf8_shown(out, sizeof out, text, sizeof text - 1), sizeof shown - 1);
    assert_string_equal(out, shown);
    static const struct {
        size_t room;
        const char *out;
    } cuts[] = {{1, ""},
                {2, "a"},
                {3, "a"},
                {4, "a\xC3\xA9"},
                {5, "a\xC3\xA9"},
                {7, "a\xC3\xA9"},
                {8, "a\xC3\xA9\\x1b"}};
    for (size_t i = 0; i < COUNT(cuts); i++) {
        memset(out, '!', sizeof out);
        assert_int_equal(utf8_shown(out, cuts[i].room, "a\xC3\xA9\x1B", 4), strlen(cuts[i].out));
        assert_string_equal(out, cuts[i].out);
        assert_int_equal(out[cuts[i].room], '!');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_utf8_code_points),
        cmocka_unit_test(test_utf8_overlong),
        cmocka_unit_test(test_utf8_shown),
        cmocka_unit_test(test_white_space),
        cmocka_unit_test(test_number_classes),
        cmocka_unit_test(test_doubles),
        cmocka_unit_test(test_u64),
        cmocka_unit_test(test_plain_runs),
        cmocka_unit_test(test_strings),
    };
    return run_tap(tests);
}
