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

static struct cg_trace *make_trace(void)
{
    struct text text = {0};
    put_some_of_all(&text, 40);
    return load_extras(&text);
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

#endif
