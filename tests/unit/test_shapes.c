/* Lines that are not parsed but held against the shape of earlier ones (analyzer/trace/shapes.h): each way of
 * reading must say of them what the portable one says, which parses every line. */
#include "tests/unit/trace_vectors.h"

#include <stdio.h>

#include "analyzer/trace/batch.h"
#include "analyzer/trace/shapes.h"
#include "tests/unit/same_trace.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define LATE_END     "{\"kind\":\"terminal\",\"outcome\":\"complete\",\"timestamp_ns\":18446744073709551615}"

/* In place of # another digit stands in each line, in place of @ another letter. BLOCK_BYTES: a few lines;
 * from the second block on shapes are learned. */
enum { LEARNED = 16, LONGEST = 600, BLOCK_BYTES = 1000 };
static const struct {
    const char *text;
    bool fit; /* when several came before */
} lines[] = {
    {"{\"kind\":\"memory\",\"timestamp_ns\":1##,\"storage_id\":\"s@@\",\"tensor_id\":\"s@@\",\"span_id\":"
     "\"a\","
     "\"device\":\"cpu\",\"bytes\":#,\"action\":\"alloc\",\"shape\":[2#,3],\"dtype\":\"f@\",\"x\":\"@\","
     "\"y\":[1#,"
     "\"@\",{\"z\":-1}],\"category\":\"activation\"}",
     true},
    {"{\"kind\":\"op\",\"span_id\":\"a\",\"op_name\":\"a name of more than thirty-two bytes @\",\"shape\":[],"
     "\"dtype\":\"f32\",\"device\":\"cpu\",\"duration_ns\":1#2345678901234#,\"timestamp_ns\":"
     "1234567890123456789,"
     "\"input_dense_bytes\":# , \"output_dense_bytes\":null,\"tid\":#,\"correlation\":1#,\"error\":2,"
     "\"api\":\"@\",\"grid\":[#,1,1],\"block\":[12345678901234567#,1,1]}",
     true},
    /* The same key twice, a string that is not plain. */
    {"{\"kind\":\"device_interval\",\"span_id\":\"a\",\"device\":\"cpu\",\"stream_id\":\"@\",\"clock_id\":"
     "\"c\","
     "\"backend\":\"cuda_events\",\"start_ns\":1#,\"duration_ns\":1#,\"correlation\":1,\"correlation\":2#}",
     false},
    {"{\"kind\":\"op\",\"span_id\":\"a\",\"op_name\":\"\xC3\xA9@\",\"shape\":[1],\"dtype\":\"f32\","
     "\"device\":"
     "\"cpu\",\"duration_ns\":1,\"timestamp_ns\":1#,\"input_dense_bytes\":#}",
     false},
};

/* The n-th line, ended by a line feed. */
static char *put_line(char *to, const char *line, unsigned n)
{
    for (; *line != '\0'; line++)
        *to++ = *line == '#' ? (char)('0' + (n * 7 + 3) % 10) : *line == '@' ? (char)('a' + n % 26) : *line;
    *to++ = '\n';
    return to;
}

static void same_answers(const char *text, size_t length, bool extras)
{
    const struct cg_load_options parse = {.extras = extras, .portable = true, .threads = 1};
    const struct cg_load_options fit[] = {
        {.extras = extras, .threads = 1, .block_bytes = BLOCK_BYTES},
        {.extras = extras, .threads = 1, .block_bytes = BLOCK_BYTES, .narrow = true}};
    struct cg_trace *expected = NULL;
    struct cg_error why = {0};
    int status = trace_load_bytes("test", text, length, &parse, &expected, &why);
    for (size_t i = 0; i < COUNT(fit); i++) {
        struct cg_trace *trace = NULL;
        struct cg_error error = {0};
        int answer = trace_load_bytes("test", text, length, &fit[i], &trace, &error);
        if (answer != status || strcmp(error.message, why.message) != 0)
            fail_msg("way %zu: %d \"%s\", expected %d \"%s\" of\n%s", i, answer, error.message, status,
                     why.message, text);
        if (status == 0) same_trace(expected, trace, text);
        trace_free(trace);
    }
    trace_free(expected);
}

/* Each byte of a line becomes each of these, behind lines from which the shape was learned. */
static void any_byte_changed(void **state)
{
    static const char bytes[] = "09\"\\ ,}a-\x1F\x7F\x80";
    static char text[(LEARNED + 8) * LONGEST];
    (void)state;
    for (size_t i = 0; i < COUNT(lines); i++) {
        char *begin = stpcpy(text, META "\n" SPAN_A "\n");
        for (unsigned n = 0; n < LEARNED; n++)
            begin = put_line(begin, lines[i].text, n);
        char *line_end = put_line(begin, lines[i].text, LEARNED), *end = line_end;
        end = put_line(end, lines[i].text, LEARNED + 1);
        end = stpcpy(end, END_A "\n" LATE_END "\n");
        for (char *at = begin; at < line_end; at++) {
            char kept = *at;
            for (const char *byte = bytes; *byte != '\0'; byte++) {
                *at = *byte;
                same_answers(text, (size_t)(end - text), (at - begin + (byte - bytes)) % 2 == 0);
            }
            *at = kept;
        }
    }
}

/* A number that nobody reads must be one that a double holds, which its number of digits alone does not tell:
 * 10^308 and a tenth more are, 9 10^308 is not. */
static void beyond_a_double(void **state)
{
    enum { DIGITS = 309, FIRST = 3 }; /* lines: of META, SPAN_A, and from 1 */
    static char text[(LEARNED + 8) * LONGEST];
    struct cg_load_options options = {.threads = 1, .block_bytes = BLOCK_BYTES};
    struct cg_error error = {0};
    struct cg_trace *trace = NULL;
    char digits[DIGITS + 1] = "", line[LONGEST], expected[96];
    char *at = stpcpy(text, META "\n" SPAN_A "\n");
    (void)state;
    memset(digits, '0', DIGITS);
    for (unsigned n = 0; n <= LEARNED; n++) {
        digits[0] = n < LEARNED ? '1' : '9';
        digits[1] = n % 2 == 0 ? '1' : '0';
        snprintf(line, sizeof line,
                 "{\"kind\":\"device_interval\",\"span_id\":\"a\",\"device\":\"cpu\",\"stream_id\":\"s\","
                 "\"clock_id\":\"c\",\"backend\":\"b\",\"start_ns\":1,\"duration_ns\":1,\"x\":%s}",
                 digits);
        at = put_line(at, line, n);
        if (n + 1 == LEARNED) same_answers(text, (size_t)(at - text), false);
    }
    same_answers(text, (size_t)(at - text), false);
    snprintf(expected, sizeof expected, "test:%d:%zu: device_interval: number beyond the range of a double",
             FIRST + LEARNED, strlen(line) - DIGITS);
    assert_int_equal(trace_load_bytes("test", text, (size_t)(at - text), &options, &trace, &error),
                     CG_EXIT_INPUT);
    assert_string_equal(error.message, expected);
}

/* Numbers, texts and lists that came once, twice and not at all in the lines before. */
static void values_of_lines(void **state)
{
    static char text[LEARNED * LONGEST];
    struct cg_load_options options = {.threads = 1, .block_bytes = BLOCK_BYTES};
    struct cg_error error;
    struct cg_trace *trace;
    char *at = stpcpy(text, META "\n" SPAN_A "\n");
    (void)state;
    for (unsigned n = 0; n < LEARNED; n++)
        at = put_line(at, lines[0].text, n);
    at = stpcpy(at, END_A "\n" LATE_END "\n");
    assert_int_equal(trace_load_bytes("test", text, (size_t)(at - text), &options, &trace, &error), 0);
    assert_int_equal(trace->memory.rows, LEARNED);
    /* The digits of line n are (7 n + 3) mod 10: 3, 0, 7, 4, 1, 8, 5, 2, 9, 6, 3, 0, and so on. */
    assert_int_equal(trace->memory.timestamp_ns[9], 166);
    assert_int_equal(trace->memory.timestamp_ns[10], 133);
    assert_int_equal(trace->memory.bytes[10], 3);
    assert_int_equal(trace->memory.bytes[11], 0);
    assert_int_equal(trace->u64_pool[trace->memory.shape[11].first], 20);
    assert_int_equal(trace->u64_pool[trace->memory.shape[11].first + 1], 3);
    assert_int_equal(trace->memory.shape[11].first, trace->memory.shape[1].first);
    assert_int_equal(trace->memory.shape[10].first, trace->memory.shape[0].first);
    for (unsigned n = 0; n < LEARNED; n++) {
        char expected[] = {'s', (char)('a' + n), (char)('a' + n)};
        struct cg_text text_of = trace_text(trace, trace->memory.storage_id[n]);
        assert_int_equal(text_of.length, sizeof expected);
        assert_memory_equal(text_of.bytes, expected, sizeof expected);
        assert_int_equal(trace->memory.tensor_id[n], trace->memory.storage_id[n]);
        assert_int_equal(trace->memory.device[n], trace->memory.device[0]);
    }
    trace_free(trace);
}

/* The other tests would pass if no line ever fitted. */
static void lines_do_fit(void **state)
{
    static char text[LEARNED * LONGEST];
    (void)state;
    for (size_t i = 0; i < COUNT(lines); i++) {
        struct cg_load_options options = {.narrow = true};
        struct cg_error error;
        struct batch batch;
        char *at = text;
        uint32_t fitted = 0;
        for (unsigned n = 0; n < LEARNED; n++)
            at = put_line(at, lines[i].text, n);
        struct input *input = input_open_bytes("test", text, (size_t)(at - text), &error);
        assert_true(batch_init(&batch, &options));
        if (batch.decoder.decode_record == decode_record_as) {
            printf("# this processor has no wide vectors: every line is parsed\n");
        } else {
            input_set_block(input, BLOCK_BYTES);
            while (input_lines(input, &batch.block, &error) == 0 && batch.block.length > 0) {
                batch_rewind(&batch);
                assert_false(batch_decode(&batch));
            }
            for (size_t shape = 0; shape < (size_t)SHAPE_WAYS << SHAPE_BITS; shape++)
                fitted += batch.decoder.shapes[shape].hits;
            assert_int_equal(fitted > 0, lines[i].fit);
        }
        batch_free(&batch);
        input_close(input);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(lines_do_fit), cmocka_unit_test(values_of_lines),
                                       cmocka_unit_test(beyond_a_double), cmocka_unit_test(any_byte_changed)};
    return run_tap(tests);
}
