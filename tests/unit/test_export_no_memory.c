/* Exports when memory is short: from each allocation on all fail. Making one must say so and leave nothing
 * behind. */
#include "tests/unit/no_memory.h"
#include "tests/unit/plane_trace.h"

#include <errno.h>

#include "analyzer/export/export.h"

#ifdef CAN_FAIL

static int no_sink(void *context, const char *bytes, size_t length)
{
    (void)bytes;
    *(size_t *)context += length;
    return 0;
}

/* A sink that takes so many bytes and no more. */
static int full_sink(void *context, const char *bytes, size_t length)
{
    size_t *room = context;
    (void)bytes;
    if (*room < length) return ENOSPC;
    *room -= length;
    return 0;
}

/* A little of all that is exported, with call stacks. */
static struct cg_trace *make_trace(void)
{
    struct text text = {0};
    struct cg_trace *trace = NULL;
    struct cg_error error = {0};
    struct cg_load_options options = {.extras = true};
    put(&text, META_WITH("infer", LEVELS_NONE));
    put_span(&text, "s", "", 0, 5000, true);
    put_span(&text, "c", "s", 0, 4000, false);
    for (unsigned i = 0; i < 40; i++) {
        char storage[8];
        snprintf(storage, sizeof storage, "m%u", i);
        put(&text,
            "{\"kind\":\"op\",\"span_id\":\"c\",\"op_name\":\"op%u\",\"inputs\":[\"t%u\"],\"shape\":[%u],"
            "\"dtype\":\"f32\",\"device\":\"d\",\"duration_ns\":25,\"timestamp_ns\":%u,\"input_dense_bytes\":"
            "0,\"tid\":%u,\"correlation\":%u,\"stack\":{\"id\":\"k%u\",\"frames\":[{\"offset\":%u}]}}\n",
            i % 20, i, i, 10 * i + 1, i % 3, 500 - i, i, i);
        put(&text,
            "{\"kind\":\"device_interval\",\"span_id\":\"s\",\"device\":\"d\",\"stream_id\":\"%u\",\"clock_"
            "id\":\"k\",\"backend\":\"b\",\"start_ns\":%u,\"duration_ns\":3,\"correlation\":%u}\n",
            i % 20, 9000 - i, 500 - i);
        put_memory(&text, 3000 - i, "d", storage, storage, "c", 4 + i, "alloc", "");
        put(&text, "{\"kind\":\"device_memory\",\"timestamp_ns\":%u,\"device\":\"d\",\"used_bytes\":1}\n",
            900 - i);
    }
    put_end(&text, 5000);
    if (trace_load_bytes("test", text.bytes, text.length, &options, &trace, &error) != 0)
        fail_msg("%s", error.message);
    free(text.bytes);
    return trace;
}

static int write_one(const struct cg_trace *trace, const struct export_format *format,
                     enum export_weight weight, const struct table *table, size_t *length)
{
    struct export_job job = {
        .trace = trace, .weight = weight, .table = table, .sink = no_sink, .context = length};
    *length = 0;
    return format->write(&job);
}

static long fail_each(const struct cg_trace *trace, const struct export_format *format,
                      enum export_weight weight, const struct table *table)
{
    enum { MOST = 5000 };
    size_t whole, length;
    assert_int_equal(write_one(trace, format, weight, table, &whole), 0);
    assert_true(whole > 20);
    long refused = 0;
    int status = ENOMEM;
    for (long failing = 0; status != 0; failing++) {
        long before = held;
        allowed = failing;
        status = write_one(trace, format, weight, table, &length);
        allowed = -1;
        assert_true(status == 0 || status == ENOMEM);
        assert_int_equal(held, before);
        refused += status != 0;
        assert_true(failing < MOST);
    }
    assert_int_equal(length, whole);
    return refused;
}

static void test_each_allocation(void **state)
{
    (void)state;
    struct cg_trace *trace = make_trace();
    for (size_t f = 0; f < export_format_count; f++) {
        const struct export_format *format = export_formats[f];
        long refused = 0;
        for (unsigned w = 0; w < (format->weighed ? EXPORT_WEIGHT_COUNT : 1); w++)
            for (size_t t = 0; t < (format->tabular ? table_count : 1); t++)
                refused += fail_each(trace, format, w, format->tabular ? &tables[t] : NULL);
        assert_true(refused > 2);
    }
    trace_free(trace);
}

static void test_full_sink(void **state)
{
    (void)state;
    struct cg_trace *trace = make_trace();
    for (size_t f = 0; f < export_format_count; f++) {
        size_t room = 100;
        long before = held;
        struct export_job job = {.trace = trace,
                                 .table = export_formats[f]->tabular ? tables : NULL,
                                 .sink = full_sink,
                                 .context = &room};
        assert_int_equal(export_formats[f]->write(&job), ENOSPC);
        assert_int_equal(held, before);
    }
    trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_allocation),
                                       cmocka_unit_test(test_full_sink)};
    return run_tap(tests);
}

#else

int main(void)
{
    puts("1..1\nok 1 - test_each_allocation # SKIP the allocator of this build cannot be told to fail");
    return 0;
}

#endif
