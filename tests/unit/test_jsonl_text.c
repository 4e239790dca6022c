/* Pieces of JSON text: numbers against the C library's, texts against what is put together here piece by
 * piece. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/jsonl_text.h"
#include "tests/unit/cmocka_tap.h"

static void expect_number(uint64_t value)
{
    char ours[32], theirs[32];

    *jsonl_u64(ours, value) = '\0';
    snprintf(theirs, sizeof theirs, "%" PRIu64, value);
    assert_string_equal(ours, theirs);
}

static void test_numbers(void **state)
{
    (void)state;
    for (uint64_t value = 0; value < 20000; value++)
        expect_number(value);
    for (uint64_t power = 10; power < UINT64_MAX / 10; power *= 10) {
        expect_number(power - 1);
        expect_number(power);
        expect_number(power + 1);
    }
    for (unsigned bit = 0; bit < 64; bit++) {
        expect_number(UINT64_C(1) << bit);
        expect_number((UINT64_C(1) << bit) - 1);
    }
    expect_number(UINT64_C(9999999999999999999));
    expect_number(UINT64_C(10000000000000000000));
    expect_number(UINT64_MAX);
}

/* What is special at a place of a text that is plain otherwise, and what it becomes. */
struct special {
    const char *bytes, *escaped;
    size_t length;
    bool replaced;
};
static const struct special specials[] = {
    {"", "", 0, false},
    {"\"", "\\\"", 1, false},
    {"\\", "\\\\", 1, false},
    {"\n", "\\n", 1, false},
    {"\t", "\\t", 1, false},
    {"\x1f", "\\u001f", 1, false},
    {"\0", "\\u0000", 1, false},
    {"\x7f", "\x7f", 1, false},
    {" ", " ", 1, false},
    {"!#[]", "!#[]", 4, false}, /* the neighbours of '"' and '\' */
    {"\xc3\xa4", "\xc3\xa4", 2, false},
    {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80", 4, false},
    {"\xff", "\xef\xbf\xbd", 1, true},
    {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", 3, true}, /* a surrogate */
    {"\"\"", "\\\"\\\"", 2, false},
    {"\\\x01\x80", "\\\\\\u0001\xef\xbf\xbd", 3, true},
};

/* So many plain bytes, the special ones, so many plain bytes. */
static void expect_text(const struct special *special, size_t before, size_t after)
{
    char text[64], expected[256], ours[512];
    size_t length = before + special->length + after, escaped = strlen(special->escaped);
    bool replaced = false;
    char *end;

    for (size_t i = 0; i < before; i++)
        text[i] = expected[i] = (char)('a' + i % 26);
    memcpy(text + before, special->bytes, special->length);
    memcpy(expected + before, special->escaped, escaped);
    for (size_t i = 0; i < after; i++)
        text[before + special->length + i] = expected[before + escaped + i] = (char)('A' + i % 26);
    memset(ours, '?', sizeof ours);
    end = jsonl_text(ours, text, length, &replaced);
    assert_int_equal(end - ours, before + escaped + after);
    assert_memory_equal(ours, expected, before + escaped + after);
    assert_int_equal(replaced, special->replaced);
    /* Nothing behind the room: 6 bytes for each. */
    assert_int_equal(ours[6 * length], '?');
}

static void test_texts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof specials / sizeof *specials; i++)
        for (size_t before = 0; before <= 20; before++)
            for (size_t after = 0; after <= 20; after++)
                expect_text(&specials[i], before, after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_texts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
