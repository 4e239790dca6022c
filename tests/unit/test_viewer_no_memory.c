/* The page when memory is short: from each allocation on all fail. Making it must say so and leave nothing
 * behind. */
#include "tests/unit/no_memory.h"
#include "tests/unit/plane_trace.h"

#include "analyzer/viewer/viewer.h"

#ifdef CAN_FAIL

static int no_sink(void *context, const char *bytes, size_t length)
{
    (void)bytes;
    *(size_t *)context += length;
    return 0;
}

/* A little of all that the page shows, with call stacks. */
static struct cg_trace *make_trace(void)
{
    struct text text = {0};
    struct cg_trace *trace = NULL;
    struct cg_error error = {0};
    struct cg_load_options options = {.extras = true};
    put(&text, META_WITH("infer", LEVELS_NONE));
    put_span(&text, "s", "", 0, 5000, true);
    put_span(&text, "c", "s", 0, 4000, false);
    for (unsigned i = 0; i < 200; i++) {
        char storage[8];
        snprintf(storage, sizeof storage, "m%u", i);
        put(&text,
            "{\"kind\":\"op\",\"span_id\":\"c\",\"op_name\":\"op%u\",\"inputs\":[\"t%u\"],\"output\":\"t%u\","
            "\"shape\":[],"
            "\"dtype\":\"f32\",\"device\":\"d\",\"duration_ns\":2,\"timestamp_ns\":%u,\"input_dense_bytes\":"
            "0,\"tid\":%u,"
            "\"correlation\":%u,\"stack\":{\"id\":\"k%u\",\"frames\":[{\"offset\":%u}]}}\n",
            i % 40, i, i + 1, 10 * i + 1, i % 3, 500 - i, i, i);
        put(&text,
            "{\"kind\":\"device_interval\",\"span_id\":\"s\",\"device\":\"d\",\"stream_id\":\"%u\",\"clock_"
            "id\":\"k\","
            "\"backend\":\"b\",\"start_ns\":%u,\"duration_ns\":3,\"correlation\":%u}\n",
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

static void emit_document(struct json_doc *doc, const void *evidence)
{
    emit_health(doc, evidence);
}

static int make_page(const struct viewer_run *run, size_t *length)
{
    struct cg_error error = {0};
    *length = 0;
    return viewer_write(run, run, VIEWER_SIZE, no_sink, length, &error);
}

static void test_each_allocation(void **state)
{
    (void)state;
    enum { MOST = 5000 };
    struct cg_trace *trace = make_trace();
    struct evidence evidence;
    struct cg_error error;
    assert_int_equal(evidence_make(trace, NULL, 0, &evidence, &error), 0);
    /* So small a trace is worth no thread: the counters of allocations are for one alone. */
    const struct viewer_document document = {"health", emit_document, &evidence};
    struct viewer_run run = {trace, &evidence, "t.jsonl", &document, 1};
    size_t whole, length;
    assert_int_equal(make_page(&run, &whole), 0); /* sets up libcrypto */
    assert_true(whole > 10000);
    long refused = 0;
    int status = CG_EXIT_IO;
    for (long failing = 0; status != 0 || length != whole; failing++) {
        long before = held;
        allowed = failing;
        status = make_page(&run, &length);
        allowed = -1;
        assert_true(status == 0 || status == CG_EXIT_IO);
        assert_int_equal(held, before);
        refused += status != 0;
        assert_true(failing < MOST);
    }
    assert_true(refused > 50);
    evidence_free(&evidence);
    trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_allocation)};
    return run_tap(tests);
}

#else

int main(void)
{
    puts("1..1\nok 1 - test_each_allocation # SKIP the allocator of this build cannot be told to fail");
    return 0;
}

#endif
