/* The JSON document writer: text, order, streaming, doubles. */
#include "tests/unit/cmocka_tap.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json_doc.h"

struct text {
    char *at;
    size_t length;
};

static int collect(void *context, const char *bytes, size_t length)
{
    struct text *text = context;
    text->at = realloc(text->at, text->length + length + 1);
    memcpy(text->at + text->length, bytes, length);
    text->length += length;
    text->at[text->length] = 0;
    return 0;
}

static void finish_equal(struct json_doc *doc, struct text *text, const char *expected)
{
    assert_int_equal(doc_finish(doc), 0);
    assert_string_equal(text->at, expected);
    free(text->at);
    *text = (struct text){0};
}

/* ---- doubles ---- */

struct row {
    double value;
    const char *text;
};

static void doubles_of_hand_listed_values(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {0.0, "0.0"},
        {-0.0, "-0.0"},
        {1.0, "1.0"},
        {-1.5, "-1.5"},
        {12.0, "12.0"},
        {82.6, "82.6"},
        {0.1, "0.1"},
        {0.3, "0.3"},
        {0.1 + 0.2, "0.30000000000000004"},
        {1.0 / 3.0, "0.3333333333333333"},
        {2.0 / 3.0, "0.6666666666666666"},
        {100.0, "100.0"},
        {123456.789, "123456.789"},
        {1e-5, "0.00001"},
        {1.2345e-5, "0.000012345"},
        {9.999e-6, "9.999e-6"},
        {1e-6, "1e-6"},
        {1.5e-7, "1.5e-7"},
        {-1.5e-7, "-1.5e-7"},
        {1e15, "1000000000000000.0"},
        {9999999999999998.0, "9999999999999998.0"},
        {1e16, "1e16"},
        {-1e16, "-1e16"},
        {1.2e17, "1.2e17"},
        {1e21, "1e21"},
        {1e22, "1e22"},
        {1e23, "1e23"},
        {9007199254740992.0, "9007199254740992.0"},     /* 2^53 */
        {18014398509481984.0, "1.8014398509481984e16"}, /* 2^54 */
        {0x1p-44, "5.684341886080802e-14"}, /* its rounding to 16 digits, ...801e-14, does not read back */
        {0x1p-1022, "2.2250738585072014e-308"},
        {0x1p-1074, "5e-324"},
        {0x1p-1073, "1e-323"},
        {3 * 0x1p-1074, "1.5e-323"},
        {DBL_MAX, "1.7976931348623157e308"},
        {-DBL_MAX, "-1.7976931348623157e308"},
        {-2.2250738585072014e-308, "-2.2250738585072014e-308"},
        {2.225073858507201e-308, "2.225073858507201e-308"}, /* the greatest subnormal */
        {5e-324, "5e-324"},
        {4.35, "4.35"},
        {1234567890123456.7, "1234567890123456.8"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[33];
        size_t length = json_double_text(text, rows[i].value);
        assert_string_equal(text, rows[i].text);
        assert_int_equal(length, strlen(rows[i].text));
    }
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void reads_back(double value)
{
    char text[33];
    size_t length = json_double_text(text, value);
    assert_true(length == strlen(text) && length <= 32);
    double again = strtod(text, NULL);
    if (memcmp(&again, &value, sizeof value)) fail_msg("%a became %s", value, text);
    assert_non_null(strpbrk(text, ".e"));
    /* No shorter decimal: that of one digit less, rounded either way, reads as another double. */
    char digits[33];
    int n = 0, exponent = 0;
    for (const char *c = text; *c && *c != 'e'; c++)
        if (*c >= '0' && *c <= '9' && (n || *c != '0')) digits[n++] = *c;
    while (n > 1 && digits[n - 1] == '0')
        n--;
    if (n < 2 || !isfinite(value) || value == 0) return;
    digits[n - 1] = 0;
    char shorter[64];
    snprintf(shorter, sizeof shorter, "%.16e", fabs(value));
    exponent = atoi(strchr(shorter, 'e') + 1);
    for (int up = 0; up < 2; up++) {
        snprintf(shorter, sizeof shorter, "%llue%d", strtoull(digits, NULL, 10) + (unsigned)up,
                 exponent - (n - 2));
        if (strtod(shorter, NULL) == fabs(value))
            fail_msg("%a became %s, %s is shorter", value, text, shorter);
    }
}

static void random_doubles_read_back(void **state)
{
    (void)state;
    uint64_t random = 0x9e3779b97f4a7c15;
    for (int i = 0; i < 60000; i++) {
        uint64_t bits = next_random(&random);
        if (i % 4 == 0) bits &= 0x800fffffffffffff; /* subnormals */
        double value;
        memcpy(&value, &bits, sizeof value);
        if (isfinite(value)) reads_back(value);
        reads_back((double)(next_random(&random) % 1000000) / 1000.0);
    }
}

static void powers_of_two_and_their_neighbours_read_back(void **state)
{
    (void)state;
    for (int e = -1074; e <= 1023; e++) {
        double value = ldexp(1.0, e);
        reads_back(value);
        reads_back(nextafter(value, 0));
        reads_back(nextafter(value, INFINITY) > DBL_MAX ? DBL_MAX : nextafter(value, INFINITY));
    }
}

/* ---- text ---- */

static void pretty_text(void **state)
{
    (void)state;
    struct text text = {0};
    struct json_doc *doc = doc_start(DOC_PRETTY, DOC_DECLARED, collect, &text);
    doc_object(doc);
    doc_member_u64(doc, "z", UINT64_MAX);
    doc_member_null(doc, "a");
    doc_key(doc, "empty");
    doc_object(doc);
    doc_object_end(doc);
    doc_key(doc, "none");
    doc_array(doc);
    doc_array_end(doc);
    doc_key(doc, "list");
    doc_array(doc);
    doc_bool(doc, true);
    doc_u128(doc, (unsigned __int128)-1);
    doc_u128(doc, 0);
    doc_double(doc, NAN);
    doc_object(doc);
    doc_member_double(doc, "d", -0.0);
    doc_object_end(doc);
    doc_array_end(doc);
    doc_member_bytes(doc, "s\"", "\"\\/\b\f\n\r\t\x01\x1f\x7f\0\xe2\x80\xa8", 15);
    doc_object_end(doc);
    finish_equal(doc, &text,
                 "{\n  \"z\": 18446744073709551615,\n  \"a\": null,\n  \"empty\": {},\n  \"none\": [],\n"
                 "  \"list\": [\n    true,\n    \"340282366920938463463374607431768211455\",\n    \"0\",\n"
                 "    null,\n    {\n      \"d\": -0.0\n    }\n  ],\n"
                 "  \"s\\\"\": \"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\\u0000\xe2\x80\xa8\"\n}\n");
}

static void compact_text(void **state)
{
    (void)state;
    struct text text = {0};
    struct json_doc *doc = doc_start(DOC_COMPACT, DOC_SORTED, collect, &text);
    doc_object(doc);
    doc_member_u64(doc, "b", 1);
    doc_key(doc, "a");
    doc_array(doc);
    doc_u64(doc, 0);
    doc_string(doc, NULL);
    doc_array_end(doc);
    doc_object_end(doc);
    finish_equal(doc, &text, "{\"a\":[0,null],\"b\":1}\n");
}

/* ---- order ---- */

static void emit_unsorted(struct json_doc *doc)
{
    doc_object(doc);
    doc_member_string(doc, "b", "1");
    doc_key(doc, "");
    doc_object(doc);
    doc_object_end(doc);
    doc_key(doc, "ab");
    doc_array(doc);
    doc_object(doc);
    doc_member_u64(doc, "y", 2);
    doc_member_u64(doc, "x", 3);
    doc_object_end(doc);
    doc_array_end(doc);
    doc_member_u64(doc, "a", 4);
    doc_key_bytes(doc, "a\0", 2);
    doc_bool(doc, false);
    doc_member_u64(doc, "\xc3\xa9", 5);
    doc_member_u64(doc, "\"", 6);
    doc_object_end(doc);
}

static void sorted_objects_at_every_level(void **state)
{
    (void)state;
    struct text text = {0};
    struct json_doc *doc = doc_start(DOC_PRETTY, DOC_SORTED, collect, &text);
    emit_unsorted(doc);
    finish_equal(doc, &text,
                 "{\n  \"\": {},\n  \"\\\"\": 6,\n  \"a\": 4,\n  \"a\\u0000\": false,\n  \"ab\": [\n    {\n"
                 "      \"x\": 3,\n      \"y\": 2\n    }\n  ],\n  \"b\": \"1\",\n  \"\xc3\xa9\": 5\n}\n");
    doc = doc_start(DOC_COMPACT, DOC_DECLARED, collect, &text);
    emit_unsorted(doc);
    finish_equal(doc, &text,
                 "{\"b\":\"1\",\"\":{},\"ab\":[{\"y\":2,\"x\":3}],\"a\":4,\"a\\u0000\":false,\"\xc3\xa9\":5,"
                 "\"\\\"\":6}\n");
}

struct streamed {
    size_t rows;
    const struct text *text; /* NULL: the sink only counts */
    size_t *taken;
    size_t most_held;
};

static void emit_one(struct json_doc *doc, const void *object)
{
    (void)object;
    doc_u64(doc, 1);
}
static void emit_row_object(struct json_doc *doc, const void *object)
{
    (void)object;
    doc_object(doc);
    doc_member_u64(doc, "b", 2);
    doc_member_u64(doc, "a", 1);
    doc_object_end(doc);
}
static bool never(const void *object)
{
    (void)object;
    return false;
}
static const struct json_member row_members[] = {
    {"z", emit_one, NULL}, {"left_out", emit_one, never}, {"m", emit_row_object, NULL}};

static void emit_rows(struct json_doc *doc, const void *object)
{
    struct streamed *streamed = (struct streamed *)(uintptr_t)object;
    size_t start = streamed->taken ? *streamed->taken : 0, made = 0;
    doc_array(doc);
    for (size_t i = 0; i < streamed->rows; i++) {
        doc_members(doc, row_members, 3, NULL);
        made += strlen("{\"m\":{\"a\":1,\"b\":2},\"z\":1},");
        if (streamed->taken && made > *streamed->taken - start + streamed->most_held)
            streamed->most_held = made - (*streamed->taken - start);
    }
    doc_array_end(doc);
}
static const struct json_member document_members[] = {{"rows", emit_rows, NULL}, {"a", emit_one, NULL}};

static void members_in_either_order(void **state)
{
    (void)state;
    struct text text = {0};
    struct streamed two = {.rows = 2};
    struct json_doc *doc = doc_start(DOC_COMPACT, DOC_SORTED, collect, &text);
    doc_members(doc, document_members, 2, &two);
    finish_equal(
        doc, &text,
        "{\"a\":1,\"rows\":[{\"m\":{\"a\":1,\"b\":2},\"z\":1},{\"m\":{\"a\":1,\"b\":2},\"z\":1}]}\n");
    doc = doc_start(DOC_COMPACT, DOC_DECLARED, collect, &text);
    doc_members(doc, document_members, 2, &two);
    finish_equal(
        doc, &text,
        "{\"rows\":[{\"z\":1,\"m\":{\"b\":2,\"a\":1}},{\"z\":1,\"m\":{\"b\":2,\"a\":1}}],\"a\":1}\n");
    /* Inside an object that is held back they are held back with it. */
    doc = doc_start(DOC_COMPACT, DOC_SORTED, collect, &text);
    doc_object(doc);
    doc_key(doc, "z");
    doc_members(doc, document_members + 1, 1, NULL);
    doc_member_u64(doc, "b", 1);
    doc_object_end(doc);
    finish_equal(doc, &text, "{\"b\":1,\"z\":{\"a\":1}}\n");
}

static int count_bytes(void *context, const char *bytes, size_t length)
{
    (void)bytes;
    *(size_t *)context += length;
    return 0;
}

static void streamed_members_hold_nothing_back(void **state)
{
    (void)state;
    size_t taken = 0;
    struct streamed many = {.rows = 200000, .taken = &taken};
    struct json_doc *doc = doc_start(DOC_COMPACT, DOC_SORTED, count_bytes, &taken);
    doc_members(doc, document_members, 2, &many);
    assert_int_equal(doc_finish(doc), 0);
    assert_int_equal(taken, strlen("{\"a\":1,\"rows\":[]}\n") + 200000 * 26 - 1);
    assert_true(many.most_held < 70000);
}

/* ---- failure ---- */

struct failing {
    int calls;
};
static int fail_second(void *context, const char *bytes, size_t length)
{
    (void)bytes, (void)length;
    return ++((struct failing *)context)->calls == 2 ? ENOSPC : 0;
}

static void sink_is_not_called_after_its_failure(void **state)
{
    (void)state;
    struct failing failing = {0};
    struct json_doc *doc = doc_start(DOC_COMPACT, DOC_DECLARED, fail_second, &failing);
    doc_array(doc);
    for (uint64_t i = 0; i < 100000; i++)
        doc_u64(doc, UINT64_MAX);
    doc_array_end(doc);
    assert_int_equal(doc_finish(doc), ENOSPC);
    assert_int_equal(failing.calls, 2);
}

static void too_deep_is_an_error(void **state)
{
    (void)state;
    size_t taken = 0;
    struct json_doc *doc = doc_start(DOC_COMPACT, DOC_SORTED, count_bytes, &taken);
    for (int i = 0; i < 1000; i++) {
        doc_object(doc);
        doc_key(doc, "k");
    }
    doc_null(doc);
    for (int i = 0; i < 1000; i++)
        doc_object_end(doc);
    assert_int_equal(doc_finish(doc), EOVERFLOW);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(doubles_of_hand_listed_values),
        cmocka_unit_test(random_doubles_read_back),
        cmocka_unit_test(powers_of_two_and_their_neighbours_read_back),
        cmocka_unit_test(pretty_text),
        cmocka_unit_test(compact_text),
        cmocka_unit_test(sorted_objects_at_every_level),
        cmocka_unit_test(members_in_either_order),
        cmocka_unit_test(streamed_members_hold_nothing_back),
        cmocka_unit_test(sink_is_not_called_after_its_failure),
        cmocka_unit_test(too_deep_is_an_error),
    };
    return run_tap(tests);
}
