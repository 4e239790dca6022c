/* Work of devices in order, clocks with anchors, and records that cannot be true: all by hand. */
#include "tests/unit/plane_trace.h"

#include "analyzer/planes/suspects.h"

struct made {
    struct cg_trace *trace;
    struct device_work work;
    struct suspects suspects;
};

/* meta with anchors: "" for none. */
static void begin(struct text *text, const char *anchors)
{
    put(text,
        "{\"kind\":\"meta\",\"schema\":\"candle-graph/trace/10\",\"run_id\":\"r\",\"correlation_id\":\"c\","
        "\"entrypoint\":\"e\",\"phase\":\"infer\",\"timestamp\":\"t\",\"capture_step\":1,\"warmup_steps\":0,"
        "\"device\":\"cuda:0\",\"timing_mode\":\"host\",\"tags\":{},\"clock\":{\"devices\":{%s}},"
        "\"capture_contract\":{\"measurement_scope\":\"unknown\"," LEVELS_NONE "}}\n",
        anchors);
    put_span(text, "m", "", 0, 100000, true);
    put_span(text, "late", "m", 500, 1000, false);
}

static void make(struct text *text, struct made *made)
{
    put_end(text, 100000);
    made->trace = load_extras(text);
    assert_true(device_work_make(made->trace, &made->work));
    assert_true(suspects_make(made->trace, &made->work, &made->suspects));
}

static void drop(struct made *made)
{
    suspects_free(&made->suspects);
    device_work_free(&made->work);
    trace_free(made->trace);
}

static void put_call(struct text *text, uint64_t time, unsigned correlation, const char *more)
{
    put(text,
        "{\"kind\":\"op\",\"span_id\":\"m\",\"op_name\":\"k\",\"shape\":[],\"dtype\":\"f32\",\"device\":"
        "\"cuda:0\","
        "\"duration_ns\":1,\"timestamp_ns\":%llu,\"input_dense_bytes\":0,\"correlation\":%u%s}\n",
        (unsigned long long)time, correlation, more);
}

static void put_work(struct text *text, const char *stream, const char *clock, uint64_t start,
                     uint64_t duration, const char *more)
{
    put(text,
        "{\"kind\":\"device_interval\",\"span_id\":\"m\",\"device\":\"cuda:0\",\"stream_id\":\"%s\",\"clock_"
        "id\":\"%s\","
        "\"backend\":\"b\",\"start_ns\":%llu,\"duration_ns\":%llu%s}\n",
        stream, clock, (unsigned long long)start, (unsigned long long)duration, more);
}

static void expect_suspect(const struct made *made, size_t number, enum suspect_rule rule, uint32_t row,
                           uint64_t amount, uint64_t excess)
{
    assert_true(number < made->suspects.count);
    const struct suspect *suspect = &made->suspects.found[number];
    assert_int_equal(suspect->rule, rule);
    assert_int_equal(suspect->plane, suspect_rules[rule].plane);
    assert_int_equal(suspect->row, row);
    assert_int_equal(suspect->amount, amount);
    assert_int_equal(suspect->excess, excess);
    assert_true(suspect_is(&made->suspects, suspect_rules[rule].plane, row));
}

#define KERNEL ",\"activity\":\"kernel\""

static void order_and_classes(void **state)
{
    (void)state;
    struct text text = {0};
    struct made made;
    static const uint32_t order[] = {4, 0, 2, 3, 1, 5};
    begin(&text, "");
    put_call(&text, 10, 1, ",\"grid\":[1,1,1]");
    put_call(&text, 10, 2, ",\"api\":\"cuMemcpyHtoDAsync_v2\"");
    put_call(&text, 10, 3, ",\"api\":\"cuStreamSynchronize\"");
    put_work(&text, "7", "k1", 50, 5, ",\"correlation\":1");
    put_work(&text, "8", "k1", 40, 5, ",\"correlation\":2");
    put_work(&text, "7", "k1", 60, 5, ",\"correlation\":3");
    put_work(&text, "7", "k1", 60, 5, ",\"activity\":\"memset\",\"correlation\":1");
    put_work(&text, "7", "k0", 90, 5, ",\"activity\":\"graph\"");
    put_work(&text, "8", "k1", 45, 6, ",\"correlation\":9");
    make(&text, &made);
    assert_int_equal(made.work.stream_count, 3);
    assert_int_equal(made.work.clock_count, 2);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(made.work.order[i], order[i]);
    static const uint8_t classes[] = {WORK_KERNEL, WORK_COPY,  WORK_OTHER,
                                      WORK_COPY,   WORK_OTHER, WORK_UNKNOWN};
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(made.work.class[i], classes[i]);
    static const uint32_t issuers[] = {0, 1, 2, 0, CG_NONE, CG_NONE};
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(made.work.issuer[i], issuers[i]);
    expect_text(made.trace, made.work.clocks[0].clock_id, "k0");
    assert_int_equal(made.work.clocks[1].first_stream, 1);
    assert_int_equal(made.work.clocks[1].stream_count, 2);
    assert_int_equal(made.work.clocks[1].interval_count, 5);
    assert_int_equal(made.work.clocks[1].duration_ns, 26);
    assert_int_equal(made.work.streams[1].first, 1);
    assert_int_equal(made.work.streams[1].count, 3);
    expect_text(made.trace, made.work.streams[2].stream_id, "8");
    assert_int_equal(made.suspects.count, 0);
    drop(&made);
}

static void host_times(void **state)
{
    (void)state;
    /* Between: 3 ns of the host for 2 of the device. Outside: 1 for 1, off by 1/8192 more. */
    struct cg_device_clock clock = {.count = 2, .anchors = {{1000, 5000, 7}, {3000, 8000, 4}}};
    static const struct {
        uint64_t device;
        int64_t host;
        uint64_t uncertainty;
    } expected[] = {
        {1000, 5000, 7}, {2000, 6500, 7}, {3000, 8000, 4}, {500, 4500, 7}, {3000 + 81920, 8000 + 81920, 14}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        struct host_time time = device_clock_host(&clock, expected[i].device);
        assert_int_equal((int64_t)time.ns, expected[i].host);
        assert_int_equal(time.uncertainty_ns, expected[i].uncertainty);
    }
    clock.count = 1;
    clock.anchors[0].device_ns = 6000;
    struct host_time time = device_clock_host(&clock, 0);
    assert_int_equal((int64_t)time.ns, -1000);
    time = device_clock_host(&clock, UINT64_MAX);
    assert_true(time.ns == (__int128)UINT64_MAX - 1000);
}

static void intervals(void **state)
{
    (void)state;
    struct text text = {0};
    struct made made;
    /* The run has 100000 ns. The clock of the device is 1000000 ahead of the host's, give or take 50. */
    begin(&text, "\"a\":[{\"device_ns\":1000000,\"host_ns\":0,\"uncertainty_ns\":50}]");
    put_call(&text, 3000, 1, ",\"grid\":[1,1,1]");
    put_work(&text, "1", "a", 1002000, 10,
             KERNEL ",\"correlation\":1"); /* 0: 1000 early: 50 + 1000 allowed */
    put_work(&text, "2", "a", 1001950, 10, KERNEL ",\"correlation\":1"); /* 1: 1050 early: allowed */
    put_work(&text, "3", "a", 1001949, 10, KERNEL ",\"correlation\":1"); /* 2: 1051 early */
    put_work(&text, "4", "a", 1001900, 10,
             KERNEL ",\"correlation\":1,\"uncertainty_ns\":50");      /* 3: allowed */
    put_work(&text, "5", "b", 1000, 10, KERNEL ",\"correlation\":1"); /* 4: no anchors: nothing to say */
    put_work(&text, "6", "a", 1003000, 100000, KERNEL);               /* 5: as long as the run */
    put_work(&text, "6", "a", 2003000, 100001, KERNEL);               /* 6 */
    put_work(&text, "6", "a", 3003000, 100009, KERNEL ",\"uncertainty_ns\":9"); /* 7: allowed */
    put_work(&text, "6", "a", 0, 25, KERNEL);                                   /* 8: no start */
    put_work(&text, "6", "b", 0, 30, KERNEL); /* 9: a clock that begins at 0 */
    make(&text, &made);
    assert_int_equal(made.suspects.count, 3);
    expect_suspect(&made, 0, SUSPECT_LONGER_THAN_RUN, 6, 100001, 1);
    expect_suspect(&made, 1, SUSPECT_NO_START, 8, 25, 0);
    expect_suspect(&made, 2, SUSPECT_BEFORE_LAUNCH, 2, 10, 1051);
    assert_int_equal(made.suspects.launches_compared, 4);
    const struct suspect_tally *tally = &made.suspects.tally[SUSPECT_INTERVALS];
    assert_int_equal(tally->records, 10);
    assert_int_equal(tally->suspects, 3);
    assert_int_equal(tally->suspect_amount, 100036);
    assert_int_equal(tally->amount, 5 * 10 + 100000 + 100001 + 100009 + 25 + 30);
    assert_int_equal(made.suspects.clocks[0].count, 3);
    assert_int_equal(made.suspects.clocks[0].duration_ns, 100036);
    assert_int_equal(made.suspects.clocks[1].count, 0);
    drop(&made);
}

static void overlaps(void **state)
{
    (void)state;
    struct text text = {0};
    struct made made;
    begin(&text, "");
    put_work(&text, "1", "a", 1000, 5000, KERNEL); /* 0 */
    put_work(&text, "1", "a", 4000, 100, KERNEL);  /* 1: runs while 0 does; the next one does not */
    put_work(&text, "1", "a", 5000, 1500, KERNEL); /* 2: by 1000: allowed */
    put_work(&text, "1", "a", 5500, 1000, ",\"activity\":\"memcpy\""); /* 3: copies are not judged */
    put_work(&text, "2", "a", 1000, 90000, KERNEL);                    /* 4: runs over all that follow */
    put_work(&text, "2", "a", 3000, 1000, KERNEL);                     /* 5 */
    put_work(&text, "2", "a", 5000, 1000, KERNEL);                     /* 6 */
    put_work(&text, "2", "a", 80000, 1000, KERNEL);                    /* 7 */
    put_work(&text, "3", "a", 1000, 3000, KERNEL ",\"uncertainty_ns\":500"); /* 8 */
    put_work(&text, "3", "a", 2000, 3000,
             KERNEL ",\"uncertainty_ns\":500");    /* 9: 2000, and so much is allowed */
    put_work(&text, "3", "a", 2999, 3000, KERNEL); /* 10: 2001 after 9, 1500 allowed */
    /* A graph: branches that run at once, and what follows them waits for the longest. */
    put_work(&text, "4", "a", 1000, 8000, KERNEL ",\"correlation\":5"); /* 11 */
    put_work(&text, "4", "a", 2000, 3000, KERNEL ",\"correlation\":5"); /* 12 */
    put_work(&text, "4", "a", 10000, 10, KERNEL ",\"correlation\":6");  /* 13 */
    put_work(&text, "5", "a", 1000, 8000, KERNEL ",\"correlation\":5"); /* 14 */
    put_work(&text, "5", "a", 2000, 3000, KERNEL ",\"correlation\":5"); /* 15 */
    put_work(&text, "5", "a", 6000, 20, KERNEL ",\"correlation\":6");   /* 16: while 14 runs */
    /* Two that begin at once, in either order of the file: the short one may have been first, by 900. */
    put_work(&text, "6", "a", 1000, 9000, KERNEL); /* 17 */
    put_work(&text, "6", "a", 1000, 900, KERNEL);  /* 18 */
    put_work(&text, "7", "a", 1000, 900, KERNEL);  /* 19 */
    put_work(&text, "7", "a", 1000, 9000, KERNEL); /* 20 */
    make(&text, &made);
    assert_int_equal(made.suspects.count, 4);
    expect_suspect(&made, 3, SUSPECT_OVERLAP, 16, 20, 3000);
    expect_suspect(&made, 0, SUSPECT_OVERLAP, 4, 90000, 88000);
    expect_suspect(&made, 1, SUSPECT_OVERLAP, 10, 3000, 2001);
    expect_suspect(&made, 2, SUSPECT_OVERLAP, 1, 100, 2000);
    drop(&made);
}

static void storages(void **state)
{
    (void)state;
    struct text text = {0};
    struct made made;
    begin(&text, "");
    put(&text,
        "{\"kind\":\"device_memory\",\"timestamp_ns\":1,\"device\":\"cuda:0\",\"capacity_bytes\":1000}\n");
    put(&text, "{\"kind\":\"device_memory\",\"timestamp_ns\":2,\"device\":\"cuda:0\",\"capacity_bytes\":1000,"
               "\"used_bytes\":1001,\"free_bytes\":7}\n");
    put(&text, "{\"kind\":\"device_memory\",\"timestamp_ns\":2,\"device\":\"cuda:0\",\"capacity_bytes\":1000,"
               "\"used_bytes\":1000}\n");
    put_memory(&text, 0, "cuda:0", "old", "t", "m", 10, "alloc", ",\"preexisting\":true"); /* 0 */
    put_memory(&text, 0, "cuda:0", "odd", "t", "late", 20, "alloc", "");                   /* 1: suspect */
    put_memory(&text, 0, "cuda:0", "first", "t", "m", 30, "alloc", ""); /* 2: its span begins then */
    put_memory(&text, 9, "cuda:0", "odd", "t", "late", 20, "free", ""); /* 3: of 1 */
    put_memory(&text, 10, "cuda:0", "odd", "t", "m", 21, "alloc", "");  /* 4: another one */
    put_memory(&text, 11, "cuda:0", "huge", "t", "m", 1001, "alloc",
               ",\"memory_kind\":\"device\""); /* 5: suspect */
    put_memory(&text, 12, "cuda:0", "all", "t", "m", 1000, "alloc", ",\"memory_kind\":\"device\""); /* 6 */
    put_memory(&text, 13, "cuda:0", "managed", "t", "m", 5000, "alloc",
               ",\"memory_kind\":\"managed\"");                          /* 7 */
    put_memory(&text, 14, "cpu", "host", "t", "m", 5000, "alloc", "");   /* 8 */
    put_memory(&text, 15, "cuda:0", "kept", "t", "m", 40, "alloc", "");  /* 9: of 10 */
    put_memory(&text, 0, "cuda:0", "kept", "t", "late", 40, "free", ""); /* 10: suspect */
    make(&text, &made);
    assert_int_equal(made.suspects.count, 6);
    expect_suspect(&made, 0, SUSPECT_LARGER_THAN_DEVICE, 5, 1001, 1);
    expect_suspect(&made, 1, SUSPECT_PARTNER, 9, 40, 0);
    expect_suspect(&made, 2, SUSPECT_NO_TIME, 1, 20, 500);
    expect_suspect(&made, 3, SUSPECT_PARTNER, 3, 0, 0);
    expect_suspect(&made, 4, SUSPECT_NO_TIME, 10, 0, 500);
    expect_suspect(&made, 5, SUSPECT_MORE_THAN_CAPACITY, 1, 0, 1);
    drop(&made);
}

static void nothing(void **state)
{
    (void)state;
    struct text text = {0};
    struct made made;
    begin(&text, "");
    make(&text, &made);
    assert_int_equal(made.suspects.count, 0);
    assert_int_equal(made.work.clock_count, 0);
    drop(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(order_and_classes), cmocka_unit_test(host_times),
                                       cmocka_unit_test(intervals),         cmocka_unit_test(overlaps),
                                       cmocka_unit_test(storages),          cmocka_unit_test(nothing)};
    return run_tap(tests);
}
