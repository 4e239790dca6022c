/* The ledger of a device's memory, by hand. */
#include "tests/unit/plane_trace.h"

#include "analyzer/planes/memory_ledger.h"

struct made {
    struct cg_trace *trace;
    struct logical_memory memory;
};

static void begin(struct text *text)
{
    put(text, META_WITH("train", MEMORY_COMPLETE));
    put_span(text, "m", "", 0, 1000, true);
}

static void make(struct text *text, struct made *made)
{
    const struct cg_load_options options = {.extras = true};
    struct cg_error error;
    put_end(text, 1000);
    if (trace_load_bytes("test", text->bytes, text->length, &options, &made->trace, &error) != 0)
        fail_msg("%s", error.message);
    free(text->bytes);
    *text = (struct text){0};
    assert_true(logical_memory_make(made->trace, &made->memory));
}

static void drop(struct made *made)
{
    logical_memory_free(&made->memory);
    trace_free(made->trace);
}

static void put_sample(struct text *text, uint64_t time, const char *device, const char *values)
{
    put(text, "{\"kind\":\"device_memory\",\"timestamp_ns\":%llu,\"device\":\"%s\",%s}\n",
        (unsigned long long)time, device, values);
}

static void expect_row(const struct made *made, const struct ledger_row *row, uint64_t time, uint64_t logical,
                       uint64_t pools)
{
    assert_int_equal(made->trace->device_memory.timestamp_ns[row->sample], time);
    assert_int_equal(row->logical_bytes, logical);
    assert_int_equal(row->logical_pool_bytes, pools);
}

static void expect_settled(const struct ledger_row *row, uint64_t attributed, uint64_t unattributed,
                           uint64_t over)
{
    assert_true(row->used_known);
    assert_int_equal(row->attributed_bytes, attributed);
    assert_int_equal(row->unattributed_bytes, unattributed);
    assert_int_equal(row->over_bytes, over);
}

#define POOL ",\"memory_kind\":\"pool\""

static void over_time(void **state)
{
    (void)state;
    struct text text = {0};
    struct made made;
    struct memory_ledger ledger;
    begin(&text);
    put_sample(&text, 50, "d0", "\"used_bytes\":900,\"reserved_bytes\":300"); /* out of order in the file */
    put_sample(&text, 5, "d0", "\"used_bytes\":20");
    put_memory(&text, 10, "d0", "a", "a", "m", 100, "alloc", ",\"memory_kind\":\"device\"");
    put_sample(&text, 10, "d0", "\"used_bytes\":130");
    put_memory(&text, 20, "d0", "p", "p", "m", 200, "alloc", POOL);
    put_memory(&text, 20, "d1", "x", "x", "m", 7, "alloc", "");
    put_memory(&text, 20, "cpu", "h", "h", "m", 5000, "alloc", "");
    put_sample(&text, 30, "d1", "\"free_bytes\":1");
    put_sample(&text, 30, "d0", "\"used_bytes\":290"); /* less than storages hold */
    put_memory(&text, 40, "d0", "p", "p", "m", 200, "free", POOL);
    put_sample(&text, 40, "d0", "\"used_bytes\":900,\"reserved_bytes\":250");
    make(&text, &made);
    assert_true(memory_ledger_make(made.trace, &made.memory, CG_ABSENT, NULL, &ledger));
    assert_int_equal(ledger.count, 6);
    expect_row(&made, &ledger.rows[0], 5, 0, 0);
    expect_settled(&ledger.rows[0], 0, 20, 0);
    expect_row(&made, &ledger.rows[1], 10, 100, 0);
    expect_settled(&ledger.rows[1], 100, 30, 0);
    expect_row(&made, &ledger.rows[2], 30, 300, 200); /* what pools reserve is not known: what is in them */
    expect_settled(&ledger.rows[2], 300, 0, 10);
    expect_row(&made, &ledger.rows[3], 30, 7, 0); /* of d1 */
    assert_false(ledger.rows[3].used_known);
    expect_row(&made, &ledger.rows[4], 40, 100, 0);
    expect_settled(&ledger.rows[4], 100 + 250, 550, 0); /* the pool is empty and holds on to 250 */
    expect_row(&made, &ledger.rows[5], 50, 100, 0);
    expect_settled(&ledger.rows[5], 400, 500, 0);
    assert_int_equal(ledger.device_count, 2);
    expect_text(made.trace, ledger.devices[0].device, "d0");
    assert_int_equal(ledger.devices[0].samples, 5);
    assert_int_equal(ledger.devices[0].with_used, 5);
    assert_int_equal(ledger.devices[0].with_reserved, 2);
    assert_int_equal(ledger.devices[0].most_used, 4); /* 900: the earlier of two */
    assert_int_equal(ledger.devices[0].most_unattributed, 4);
    assert_int_equal(ledger.devices[1].most_used, CG_NONE);
    memory_ledger_free(&ledger);
    assert_true(memory_ledger_make(made.trace, &made.memory, trace_find(made.trace, "d1", 2), NULL, &ledger));
    assert_int_equal(ledger.count, 1);
    expect_row(&made, &ledger.rows[0], 30, 7, 0);
    memory_ledger_free(&ledger);
    drop(&made);
}

/* Storages inside of a larger reservation are not counted twice; a reservation smaller than what is in it is
 * believed less than the storages. */
static void pools(void **state)
{
    (void)state;
    struct text text = {0};
    struct made made;
    struct memory_ledger ledger;
    begin(&text);
    put_memory(&text, 10, "d", "p", "p", "m", 80, "alloc", POOL);
    put_memory(&text, 11, "d", "q", "q", "m", 5, "alloc", ",\"memory_kind\":\"device\"");
    put_sample(&text, 20, "d", "\"used_bytes\":200,\"reserved_bytes\":128");
    put_sample(&text, 21, "d", "\"used_bytes\":200,\"reserved_bytes\":64");
    put_memory(&text, 22, "d", "huge1", "huge1", "m", UINT64_MAX, "alloc", ",\"memory_kind\":\"device\"");
    put_memory(&text, 23, "d", "huge2", "huge2", "m", UINT64_MAX, "alloc", ",\"memory_kind\":\"device\"");
    put_sample(&text, 24, "d", "\"used_bytes\":200");
    put_memory(&text, 25, "d", "huge1", "huge1", "m", UINT64_MAX, "free", "");
    put_memory(&text, 25, "d", "huge2", "huge2", "m", UINT64_MAX, "free", "");
    put_sample(&text, 26, "d", "\"used_bytes\":200");
    make(&text, &made);
    assert_true(memory_ledger_make(made.trace, &made.memory, CG_ABSENT, NULL, &ledger));
    expect_settled(&ledger.rows[0], 5 + 128, 67, 0);
    expect_settled(&ledger.rows[1], 5 + 80, 115, 0);
    expect_row(&made, &ledger.rows[2], 24, UINT64_MAX, 80); /* clamped */
    expect_row(&made, &ledger.rows[3], 26, 85, 80);         /* and exact again */
    memory_ledger_free(&ledger);
    drop(&made);
}

/* What a framework's allocator gives out of the driver's storages explains nothing more; on a device without
 * any of these it is all that is known. */
static void two_layers(void **state)
{
    (void)state;
    struct text text = {0};
    struct made made;
    struct memory_ledger ledger;
    begin(&text);
    put_memory(&text, 5, "d", "f", "f", "m", 60, "alloc", ""); /* before the driver's is known to the trace */
    put_memory(&text, 10, "d", "s", "s", "m", 100, "alloc", ",\"memory_kind\":\"device\"");
    put_memory(&text, 10, "e", "g", "g", "m", 70, "alloc", "");
    put_sample(&text, 20, "d", "\"used_bytes\":150");
    put_sample(&text, 20, "e", "\"used_bytes\":150");
    make(&text, &made);
    assert_true(memory_ledger_make(made.trace, &made.memory, CG_ABSENT, NULL, &ledger));
    expect_row(&made, &ledger.rows[0], 20, 160, 0);
    assert_int_equal(ledger.rows[0].framework_bytes, 60);
    expect_settled(&ledger.rows[0], 100, 50, 0);
    expect_row(&made, &ledger.rows[1], 20, 70, 0);
    assert_int_equal(ledger.rows[1].framework_bytes, 0);
    expect_settled(&ledger.rows[1], 70, 80, 0);
    memory_ledger_free(&ledger);
    drop(&made);
}

static void nothing(void **state)
{
    (void)state;
    struct text text = {0};
    struct made made;
    struct memory_ledger ledger;
    begin(&text);
    put_memory(&text, 10, "d", "p", "p", "m", 80, "alloc", "");
    make(&text, &made);
    assert_true(memory_ledger_make(made.trace, &made.memory, CG_ABSENT, NULL, &ledger));
    assert_int_equal(ledger.count, 0);
    assert_int_equal(ledger.device_count, 0);
    memory_ledger_free(&ledger);
    drop(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(over_time),
        cmocka_unit_test(pools),
        cmocka_unit_test(two_layers),
        cmocka_unit_test(nothing),
    };
    return run_tap(tests);
}
