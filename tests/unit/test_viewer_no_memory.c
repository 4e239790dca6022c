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

static struct cg_trace *make_trace(void)
{
    struct text text = {0};
    put_some_of_all(&text, 200);
    return load_extras(&text);
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
    struct viewer_run run = {.trace = trace,
                             .evidence = &evidence,
                             .input = "t.jsonl",
                             .documents = &document,
                             .document_count = 1};
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

#endif
