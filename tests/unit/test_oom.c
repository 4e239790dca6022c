/* Failed allocations: what the device had, what was alive, what came before. Expectations are by hand. */
#include "tests/unit/plane_trace.h"

#include "analyzer/planes/oom.h"

struct made {
    struct cg_trace *trace;
    struct logical_memory memory;
    struct oom_failures failures;
    struct live_index index;
};

static void begin(struct text *text)
{
    put(text, META_WITH("train", MEMORY_COMPLETE));
    put_span(text, "m", "", 0, 100000, true);
}

static void make(struct text *text, struct made *made)
{
    const struct cg_load_options options = {.extras = true};
    struct cg_error error;
    put_end(text, 100000);
    if (trace_load_bytes("test", text->bytes, text->length, &options, &made->trace, &error) != 0)
        fail_msg("%s", error.message);
    free(text->bytes);
    *text = (struct text){0};
    assert_true(logical_memory_make(made->trace, &made->memory));
    assert_true(oom_failures_make(made->trace, &made->failures));
    assert_true(live_index_make(made->trace, &made->memory, &made->index));
}

static void drop(struct made *made)
{
    live_index_free(&made->index);
    oom_failures_free(&made->failures);
    logical_memory_free(&made->memory);
    trace_free(made->trace);
}

static void put_op(struct text *text, const char *name, uint64_t time, uint64_t duration, const char *more)
{
    put(text,
        "{\"kind\":\"op\",\"span_id\":\"m\",\"op_name\":\"%s\",\"shape\":[],\"dtype\":\"unknown\",\"device\":"
        "\"cuda:0\",\"duration_ns\":%llu,\"timestamp_ns\":%llu,\"input_dense_bytes\":0%s}\n",
        name, (unsigned long long)duration, (unsigned long long)time, more);
}

static void put_sample(struct text *text, uint64_t time, const char *device, const char *values)
{
    put(text, "{\"kind\":\"device_memory\",\"timestamp_ns\":%llu,\"device\":\"%s\",%s}\n",
        (unsigned long long)time, device, values);
}

/* An allocation as the recorder writes it: the operation, then the storage at its end. */
static void put_alloc(struct text *text, const char *id, uint64_t time, uint64_t bytes, const char *more)
{
    put_op(text, "alloc", time, 10, ",\"tid\":1");
    put_memory(text, time + 10, "cuda:0", id, id, "m", bytes, "alloc", more);
}

#define BY_CALL ",\"op_name\":\"alloc\",\"tid\":1"

static void failures_by_time(void **state)
{
    (void)state;
    struct text text = {0};
    struct made made;
    begin(&text);
    put_op(&text, "later", 500, 1, ",\"error\":2");
    put_op(&text, "other", 300, 1, ",\"error\":1");
    put_op(&text, "fine", 300, 1, "");
    put_op(&text, "first", 200, 1, ",\"error\":2");
    put_op(&text, "again", 500, 1, ",\"error\":2");
    make(&text, &made);
    static const char *const names[] = {"first", "later", "again"};
    assert_int_equal(made.failures.count, 3);
    for (size_t i = 0; i < 3; i++)
        expect_text(made.trace, made.trace->op.op_name[made.failures.ops[i]], names[i]);
    drop(&made);
}

static void what_the_device_had(void **state)
{
    (void)state;
    struct text text = {0};
    struct made made;
    struct oom_detail detail;
    begin(&text);
    put_sample(&text, 199, "cuda:0", "\"free_bytes\":1");
    put_op(&text, "a", 200, 10, ",\"error\":2,\"requested_bytes\":64"); /* 65 free: fits */
    put_sample(&text, 205, "cuda:1", "\"free_bytes\":2");
    put_memory(&text, 206, "cuda:0", "x", "x", "m", 8, "alloc", "");
    put_memory(&text, 207, "cuda:1", "y", "y", "m", 8, "alloc", "");
    put_sample(&text, 208, "cuda:0", "\"free_bytes\":65,\"used_bytes\":7");
    put_op(&text, "b", 300, 10, ",\"error\":2,\"requested_bytes\":65"); /* 64 free: does not */
    put_sample(&text, 300, "cuda:0", "\"free_bytes\":64");
    put_op(&text, "c", 400, 10, ",\"error\":2"); /* its size is not known */
    put_sample(&text, 405, "cuda:0", "\"free_bytes\":0");
    put_op(&text, "d", 500, 10, ",\"error\":2,\"requested_bytes\":1"); /* no sample follows */
    make(&text, &made);
    static const enum oom_verdict verdicts[] = {OOM_FITS_IN_FREE, OOM_MORE_THAN_FREE, OOM_NOT_KNOWN,
                                                OOM_NOT_KNOWN};
    static const uint64_t times[] = {208, 300, 405};
    for (size_t i = 0; i < 4; i++) {
        assert_true(oom_detail_make(&made.index, &made.failures, made.failures.ops[i], &detail));
        assert_int_equal(detail.verdict, verdicts[i]);
        if (i < 3)
            assert_int_equal(made.trace->device_memory.timestamp_ns[detail.sample], times[i]);
        else
            assert_int_equal(detail.sample, CG_NONE);
        assert_int_equal(detail.changes, i == 0); /* x; y is another device's */
        oom_detail_free(&detail);
    }
    drop(&made);
}

static void what_was_alive(void **state)
{
    (void)state;
    struct text text = {0};
    struct made made;
    struct oom_detail detail;
    begin(&text);
    put_memory(&text, 0, "cuda:0", "old", "old", "m", 5, "alloc",
               ",\"preexisting\":true,\"memory_kind\":\"device\"");
    for (int i = 0; i < 12; i++) { /* 100, 101, ... 111 bytes */
        char id[8];
        snprintf(id, sizeof id, "s%d", i);
        put_memory(&text, 10 + (uint64_t)i, "cuda:0", id, id, "m", 100 + (uint64_t)i, "alloc",
                   i % 2 ? ",\"memory_kind\":\"pool\"" : ",\"memory_kind\":\"device\"");
    }
    put_memory(&text, 30, "cuda:0", "s11", "s11", "m", 111, "free", "");
    put_memory(&text, 40, "cpu", "h", "h", "m", 1000, "alloc", "");
    put_memory(&text, 41, "cuda:0", "eq", "eq", "m", 110, "alloc", ",\"memory_kind\":\"managed\"");
    put_op(&text, "alloc", 50, 10, ",\"error\":2");
    put_memory(&text, 51, "cuda:0", "late", "late", "m", 5000, "alloc", "");
    make(&text, &made);
    assert_true(oom_detail_make(&made.index, &made.failures, made.failures.ops[0], &detail));
    assert_int_equal(detail.live_count, 13);                 /* old, s0 to s10, eq */
    assert_int_equal(detail.live_bytes, 5 + 11 * 105 + 110); /* the mean of 100 to 110 is 105 */
    assert_int_equal(detail.live_pool_bytes, 101 + 103 + 105 + 107 + 109);
    static const char *const largest[] = {"s10", "eq", "s9", "s8", "s7", "s6", "s5", "s4", "s3", "s2"};
    uint32_t found[OOM_LARGEST];
    assert_int_equal(oom_largest(&made.index, detail.live, detail.live_count, found), OOM_LARGEST);
    for (size_t i = 0; i < OOM_LARGEST; i++)
        expect_text(made.trace, made.trace->memory.storage_id[made.memory.lifetimes[found[i]].row],
                    largest[i]);
    oom_detail_free(&detail);
    drop(&made);
}

/* What a framework's allocator gives out is apart where there are storages of the driver, and is all there is
 * where there are none. */
static void two_layers(void **state)
{
    (void)state;
    static const char *const expected[] = {"d1", "d2", "f1", "f2"};
    struct text text = {0};
    struct made made;
    struct oom_detail detail;
    begin(&text);
    put_memory(&text, 10, "cuda:0", "f1", "f1", "m", 30, "alloc", "");
    put_memory(&text, 11, "cuda:0", "d1", "d1", "m", 100, "alloc", ",\"memory_kind\":\"device\"");
    put_memory(&text, 12, "cuda:0", "f2", "f2", "m", 40, "alloc", "");
    put_memory(&text, 13, "cuda:0", "d2", "d2", "m", 200, "alloc", ",\"memory_kind\":\"pool\"");
    put_op(&text, "alloc", 50, 10, ",\"error\":2");
    put_memory(&text, 60, "cuda:0", "d1", "d1", "m", 100, "free", ",\"memory_kind\":\"device\"");
    put_memory(&text, 61, "cuda:0", "d2", "d2", "m", 200, "free", ",\"memory_kind\":\"pool\"");
    put_op(&text, "alloc", 70, 10, ",\"error\":2");
    make(&text, &made);
    assert_true(oom_detail_make(&made.index, &made.failures, made.failures.ops[0], &detail));
    assert_int_equal(detail.live_count, 2);
    assert_int_equal(detail.framework_count, 2);
    assert_int_equal(detail.live_bytes, 300);
    for (size_t i = 0; i < 4; i++)
        expect_text(made.trace, made.trace->memory.storage_id[made.memory.lifetimes[detail.live[i]].row],
                    expected[i]);
    oom_detail_free(&detail);
    assert_true(oom_detail_make(&made.index, &made.failures, made.failures.ops[1], &detail));
    assert_int_equal(detail.live_count, 2);
    assert_int_equal(detail.framework_count, 0);
    assert_int_equal(detail.live_bytes, 70);
    oom_detail_free(&detail);
    drop(&made);
}

static void expect_event(const struct made *made, const struct oom_event *event, uint64_t time,
                         const char *storage, const char *op)
{
    assert_int_equal(event->time_ns, time);
    if (storage)
        expect_text(made->trace, made->trace->memory.storage_id[event->memory_row], storage);
    else
        assert_int_equal(event->memory_row, CG_NONE);
    if (op)
        expect_text(made->trace, made->trace->op.op_name[event->op_row], op);
    else
        assert_int_equal(event->op_row, CG_NONE);
}

static void what_came_before(void **state)
{
    (void)state;
    struct text text = {0};
    struct made made;
    struct oom_detail detail;
    begin(&text);
    put_op(&text, "launch", 10, 5, ",\"tid\":1");
    put_alloc(&text, "a", 20, 8, BY_CALL); /* 20 to 30; the storage is stamped with 30 */
    put_op(&text, "launch", 25, 5, ",\"tid\":2");
    put_memory(&text, 35, "cuda:0", "b", "b", "m", 8, "alloc", ""); /* of no operation */
    put_op(&text, "free", 40, 10, ",\"tid\":1");
    put_memory(&text, 40, "cuda:0", "a", "a", "m", 8, "free", ",\"op_name\":\"free\",\"tid\":1");
    put_op(&text, "alloc", 45, 20, ",\"tid\":3"); /* still going on, its storage comes later */
    put_op(&text, "alloc", 50, 2, ",\"tid\":1,\"error\":2");
    put_memory(&text, 65, "cuda:0", "c", "c", "m", 8, "alloc", ",\"op_name\":\"alloc\",\"tid\":3");
    make(&text, &made);
    assert_true(oom_detail_make(&made.index, &made.failures, made.failures.ops[0], &detail));
    assert_int_equal(detail.event_count, 6);
    expect_event(&made, &detail.events[0], 10, NULL, "launch");
    expect_event(&made, &detail.events[1], 25, NULL, "launch");
    expect_event(&made, &detail.events[2], 30, "a", "alloc");
    expect_event(&made, &detail.events[3], 35, "b", NULL);
    expect_event(&made, &detail.events[4], 40, "a", "free");
    expect_event(&made, &detail.events[5], 45, NULL, "alloc");
    oom_detail_free(&detail);
    drop(&made);
}

/* Only the last ones, and of the earliest of these the operation too. */
static void no_more_than_fit(void **state)
{
    (void)state;
    struct text text = {0};
    struct made made;
    struct oom_detail detail;
    begin(&text);
    for (int i = 0; i < 30; i++) {
        char id[8];
        snprintf(id, sizeof id, "s%d", i);
        put_alloc(&text, id, 100 * (uint64_t)(i + 1), 8, BY_CALL);
    }
    put_op(&text, "alloc", 5000, 2, ",\"error\":2,\"tid\":1");
    make(&text, &made);
    assert_true(oom_detail_make(&made.index, &made.failures, made.failures.ops[0], &detail));
    assert_int_equal(detail.event_count, OOM_EVENTS);
    expect_event(&made, &detail.events[0], 1110, "s10", "alloc");
    expect_event(&made, &detail.events[OOM_EVENTS - 1], 3010, "s29", "alloc");
    oom_detail_free(&detail);
    drop(&made);
}

/* They are counted whether or not the extra fields are kept, however the number is spelled. */
static void counted_without_extra_fields(void **state)
{
    (void)state;
    static const char *const errors[] = {",\"error\":2",     ", \"error\" : 2 ",
                                         ",\"error\":\"2\"", ",\"error\":2.0",
                                         ",\"error\":null",  ",\"error\":20",
                                         ",\"error\":[2]",   "",
                                         ",\"tid\":2",       ",\"x\":1,\"error\":2,\"y\":{}"};
    for (int extras = 0; extras < 2; extras++) {
        const struct cg_load_options options = {.extras = extras};
        struct text text = {0};
        struct cg_trace *trace;
        struct cg_error error;
        begin(&text);
        for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
            put_op(&text, "alloc", 500, 1, errors[i]);
        put_end(&text, 100000);
        assert_int_equal(trace_load_bytes("test", text.bytes, text.length, &options, &trace, &error), 0);
        assert_int_equal(trace->out_of_memory_count, 3);
        free(text.bytes);
        trace_free(trace);
    }
}

static void nothing_failed(void **state)
{
    (void)state;
    struct text text = {0};
    struct made made;
    put(&text, META);
    put_span(&text, "m", "", 0, 100000, true);
    make(&text, &made);
    assert_int_equal(made.failures.count, 0);
    drop(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failures_by_time), cmocka_unit_test(what_the_device_had),
        cmocka_unit_test(what_was_alive),   cmocka_unit_test(what_came_before),
        cmocka_unit_test(two_layers),       cmocka_unit_test(no_more_than_fit),
        cmocka_unit_test(nothing_failed),   cmocka_unit_test(counted_without_extra_fields),
    };
    return run_tap(tests);
}
