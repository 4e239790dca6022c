/* Health of spans, and of the records that name them (doc/spec/trace.md 10.1, steps 6 to 9). */
#include "tests/unit/health.h"

void test_span_set(void **state) /* steps 6 and 7 */
{
    (void)state;
    struct text text = {0};
    put(&text, META);
    put_end(&text, 5);
    expect(&text, "error root_count\nerror measurement_count\n"); /* 0 of each */

    put_minimal(&text);
    put_span(&text, "b", "", 0, 5, true);
    put_end(&text, 5);
    expect(&text, "error root_count 2\nerror measurement_count 2\n");

    put_minimal(&text);
    put_span(&text, "b", "", 0, 5, true);
    put_failed(&text, 5);
    expect(&text, "warning capture_failed killed\nerror root_count 2\n");
}

void test_each_span(void **state) /* step 8 */
{
    (void)state;
    struct text text = {0};
    put_minimal(&text);
    put_open(&text, "open", "a", "x");
    put_open(&text, "orphan", "nobody", "x");
    put_open(&text, "self", "self", "x");
    put_open(&text, "under", "self", "x");
    put_end(&text, 5);
    expect(&text,
           "error open_span open\nerror open_span orphan\nerror unknown_parent orphan nobody\n"
           "error open_span self\nerror span_cycle self\nerror open_span under\nerror span_cycle under\n");

    put(&text, META);
    put_span(&text, "a", "", 10, 5, true);
    put_span(&text, "early", "a", 9, 2, false);
    put_span(&text, "equal", "a", 10, 5, false);
    put_span(&text, "late", "a", 15, 1, false);
    put_span(&text, "touching", "a", 15, 0, false);
    put_open(&text, "undecided", "a", "x"); /* starts at 0, but an open span has no end to compare */
    put_failed(&text, 16);
    expect(&text, "warning capture_failed killed\nerror child_outside_parent early a\n"
                  "error child_outside_parent late a\nwarning open_span undecided\n");

    /* Ends beyond 64 bits are the same end. */
    put(&text, META);
    put_span(&text, "a", "", 10, UINT64_MAX, true);
    put_span(&text, "b", "a", 20, UINT64_MAX, false);
    put_end(&text, UINT64_MAX);
    expect(&text, "");
}

static void put_reference(struct text *text, const char *kind)
{
    static const char *const fields[][2] = {
        {"op", "\"op_name\":\"mm\",\"shape\":[],\"dtype\":\"f32\",\"device\":\"cpu\",\"duration_ns\":1,"
               "\"input_dense_bytes\":0"},
        {"tensor", "\"tensor_id\":\"t\",\"shape\":[],\"dtype\":\"f32\",\"device\":\"cpu\""},
        {"tensor_stats", "\"label\":\"l\",\"shape\":[],\"dtype\":\"f32\",\"elements\":1,\"non_finite\":0,"
                         "\"rms\":0,\"abs_max\":0,\"mean\":0"},
        {"memory",
         "\"timestamp_ns\":1,\"storage_id\":\"s\",\"tensor_id\":\"t\",\"device\":\"cpu\",\"bytes\":1,"
         "\"action\":\"alloc\",\"dtype\":\"f32\""},
        {"device_interval", "\"device\":\"cpu\",\"stream_id\":\"1\",\"clock_id\":\"k\",\"backend\":\"b\","
                            "\"start_ns\":0,\"duration_ns\":1"}};
    for (size_t i = 0; i < 5; i++)
        if (!strcmp(fields[i][0], kind))
            put(text, "{\"kind\":\"%s\",\"span_id\":\"no-%s\",%s}\n", kind, kind, fields[i][1]);
}

void test_references(void **state) /* step 9: by kind, not by place in the file */
{
    (void)state;
    struct text text = {0};
    put_minimal(&text);
    put_reference(&text, "device_interval");
    put_reference(&text, "memory");
    put_reference(&text, "tensor_stats");
    put_reference(&text, "tensor");
    put_reference(&text, "op");
    put_end(&text, 5);
    struct cg_trace *trace = load(&text);
    struct health health;
    char message[HEALTH_MESSAGE_SIZE];
    assert_true(health_make(trace, &health));
    health_message(trace, &health.issues[3], message);
    assert_string_equal(message, "a memory record names the span \"no-memory\", which does not exist");
    health_free(&health);
    expect_trace(
        trace, false,
        "error unknown_span no-op\nerror unknown_span no-tensor\nerror unknown_span no-tensor_stats\n"
        "error unknown_span no-memory\nerror unknown_span no-device_interval\n"
        "warning retained_allocations 1\n");
}
