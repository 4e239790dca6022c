/* Interned strings: numbers stay, also through strings_finish() and what is interned after it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/trace/strings.h"
#include "tests/unit/cmocka_tap.h"

enum { COUNT = 5000, LONGEST = 40 };

/* Text n: another one for each n, of every length up to LONGEST; its number is n + 1 when they are interned
 * in turn. */
static size_t text_of(unsigned n, char *text)
{
    size_t length = (size_t)snprintf(text, LONGEST + 1, "%u", n), wanted = 4 + n % (LONGEST - 3);
    while (length < wanted)
        text[length++] = (char)('a' + n % 26);
    return length;
}

static cg_str intern(struct cg_strings *strings, const char *text, size_t length)
{
    return strings_intern(strings, strings_hash(text, length), text, length);
}

static void expect_all(const struct cg_strings *strings, unsigned count)
{
    char text[LONGEST + 1];
    for (unsigned n = 0; n < COUNT; n++) {
        size_t length = text_of(n, text);
        assert_int_equal(strings_find(strings, text, length), n < count ? n + 1 : CG_ABSENT);
        if (n >= count) continue;
        struct cg_text have = strings_text(strings, n + 1);
        assert_int_equal(have.length, length);
        assert_memory_equal(have.bytes, text, length);
    }
}

static void test_finish(void **state)
{
    (void)state;
    char text[LONGEST + 1];
    struct cg_strings *strings = strings_new();
    unsigned n = 0;
    assert_non_null(strings);
    for (unsigned end = COUNT / 3; end <= COUNT; end += COUNT / 3) {
        for (; n < end; n++)
            assert_int_equal(intern(strings, text, text_of(n, text)), n + 1);
        for (unsigned again = 0; again < n; again++)
            assert_int_equal(intern(strings, text, text_of(again, text)), again + 1);
        expect_all(strings, n);
        strings_finish(strings);
        expect_all(strings, n);
        strings_finish(strings);
        expect_all(strings, n);
    }
    strings_free(strings);
}

/* The empty string and texts of few bytes, NUL bytes among them. */
static void test_short(void **state)
{
    (void)state;
    static const char bytes[] = "\0\0\0\0a\0b";
    struct cg_strings *strings = strings_new();
    cg_str number = 0;
    assert_non_null(strings);
    for (size_t length = 0; length < sizeof bytes; length++)
        assert_int_equal(intern(strings, bytes, length), ++number);
    strings_finish(strings);
    for (size_t length = 0; length < sizeof bytes; length++)
        assert_int_equal(strings_find(strings, bytes, length), length + 1);
    assert_int_equal(strings_find(strings, "b", 1), CG_ABSENT);
    assert_int_equal(strings_text(strings, 1).length, 0);
    assert_null(strings_text(strings, CG_ABSENT).bytes);
    strings_free(strings);
}

/* Texts of one hash are told apart by each of their bytes. */
static void test_one_hash(void **state)
{
    (void)state;
    enum { HASH = 7 };
    char text[LONGEST + 1];
    struct cg_strings *strings = strings_new();
    cg_str number = 0;
    assert_non_null(strings);
    for (size_t length = 0; length <= LONGEST; length++) {
        memset(text, 'x', sizeof text);
        assert_int_equal(strings_intern(strings, HASH, text, length), ++number);
        for (size_t i = 0; i < length; i++) {
            text[i] = 'y';
            assert_int_equal(strings_intern(strings, HASH, text, length), ++number);
            assert_int_equal(strings_intern(strings, HASH, text, length), number);
            text[i] = 'x';
        }
        assert_int_equal(strings_intern(strings, HASH, text, length), number - length);
    }
    strings_free(strings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_finish), cmocka_unit_test(test_short),
                                       cmocka_unit_test(test_one_hash)};
    return run_tap(tests);
}
