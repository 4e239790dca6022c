/* Device timing (doc/spec/planes.md 1, 2 and 8.1, 8.2), unions of intervals, ancestors of spans. */
#include "tests/unit/plane_trace.h"

#include "analyzer/planes/capability.h"
#include "analyzer/planes/planes.h"

static void test_capability_arithmetic(void **state) /* 8.1 and 1.2 */
{
    (void)state;
    assert_int_equal(coverage_raise(CG_COVERAGE_NONE, 0), CG_COVERAGE_NONE);
    assert_int_equal(coverage_raise(CG_COVERAGE_NONE, 3), CG_COVERAGE_PARTIAL);
    assert_int_equal(coverage_raise(CG_COVERAGE_PARTIAL, 3), CG_COVERAGE_PARTIAL);
    assert_int_equal(coverage_raise(CG_COVERAGE_COMPLETE, 0), CG_COVERAGE_COMPLETE);
    assert_int_equal(capability_observed(CG_COVERAGE_COMPLETE, 0), CAPABILITY_INVALID);
    assert_int_equal(capability_observed(CG_COVERAGE_COMPLETE, 1), CAPABILITY_COMPLETE);
    assert_int_equal(capability_observed(CG_COVERAGE_PARTIAL, 0), CAPABILITY_UNAVAILABLE);
    assert_int_equal(capability_observed(CG_COVERAGE_PARTIAL, 1), CAPABILITY_PARTIAL);
    assert_int_equal(capability_observed(CG_COVERAGE_NONE, 0), CAPABILITY_UNAVAILABLE);
    assert_int_equal(capability_observed(CG_COVERAGE_NONE, 1), CAPABILITY_PARTIAL);

    /* Rows and columns: unavailable, partial, complete, invalid. */
    static const char weakest[4][5] = {"uuui", "uppi", "upci", "iiii"};
    for (int a = 0; a < 4; a++)
        for (int b = 0; b < 4; b++)
            assert_int_equal(capability_level_name[capability_weakest((enum capability_level)a,
                                                                      (enum capability_level)b)][0],
                             weakest[a][b]);
    static const bool available[4] = {false, true, true, false};
    for (int a = 0; a < 4; a++)
        assert_int_equal(capability_available((enum capability_level)a), available[a]);
}

static void test_union(void **state) /* 2.3 */
{
    (void)state;
    struct interval apart[] = {{10, 20}, {0, 5}}, touching[] = {{5, 9}, {0, 5}},
                    inside[] = {{0, 50}, {10, 20}, {60, 61}}, empty[] = {{7, 7}, {3, 3}},
                    all[] = {{5, UINT64_MAX}, {0, 5}, {1, UINT64_MAX}};
    assert_int_equal(interval_union(apart, 2), 15);
    assert_int_equal(interval_union(touching, 2), 9);
    assert_int_equal(interval_union(inside, 3), 51);
    assert_int_equal(interval_union(empty, 2), 0);
    assert_true(interval_union(all, 3) == UINT64_MAX);
    assert_int_equal(interval_union(NULL, 0), 0);
}

static void put_interval(struct text *text, const char *span, const char *stream, const char *clock,
                         const char *backend, uint64_t start, uint64_t duration)
{
    put(text,
        "{\"kind\":\"device_interval\",\"span_id\":\"%s\",\"device\":\"cuda:0\",\"stream_id\":\"%s\","
        "\"clock_id\":\"%s\",\"backend\":\"%s\",\"start_ns\":%llu,\"duration_ns\":%llu}\n",
        span, stream, clock, backend, (unsigned long long)start, (unsigned long long)duration);
}

static void put_vector(struct text *text) /* 8.2 */
{
    put(text, META);
    put_span(text, "s", "", 0, 100, true);
    put_interval(text, "s", "7", "k", "events", 30, 5);
    put_interval(text, "s", "7", "k", "events", 0, 10);
    put_interval(text, "s", "13", "k", "cupti", 5, 15);
    put_interval(text, "gone", "7", "k", "events", 18, 4);
    put_interval(text, "s", "7", "k2", "events", 0, 0);
}

static void expect_names(const struct cg_trace *trace, const struct timing *timing, struct cg_list list,
                         const char *first, const char *second)
{
    assert_int_equal(list.count, second ? 2 : 1);
    expect_text(trace, timing->strings[list.first], first);
    if (second) expect_text(trace, timing->strings[list.first + 1], second);
}

static void test_profile(void **state) /* 8.2 */
{
    (void)state;
    struct text text = {0};
    put_vector(&text);
    put_end(&text, 100);
    struct cg_trace *trace = load(&text);
    struct timing timing;
    assert_true(timing_make(trace, &timing));
    assert_int_equal(timing.device_coverage, CG_COVERAGE_PARTIAL);

    static const struct {
        const char *span, *clock, *backends[2], *streams[2];
        uint64_t count, busy;
    } expected[] = {{"gone", "k", {"events", NULL}, {"7", NULL}, 1, 4},
                    {"s", "k", {"cupti", "events"}, {"13", "7"}, 3, 25},
                    {"s", "k2", {"events", NULL}, {"7", NULL}, 1, 0}};
    assert_int_equal(timing.span_count, 3);
    for (size_t i = 0; i < 3; i++) {
        const struct timing_span *span = &timing.spans[i];
        expect_text(trace, span->span_id, expected[i].span);
        expect_text(trace, span->device, "cuda:0");
        expect_text(trace, span->clock_id, expected[i].clock);
        expect_names(trace, &timing, span->backends, expected[i].backends[0], expected[i].backends[1]);
        expect_names(trace, &timing, span->streams, expected[i].streams[0], expected[i].streams[1]);
        assert_int_equal(span->interval_count, expected[i].count);
        assert_int_equal(span->busy_ns, expected[i].busy);
    }
    assert_int_equal(timing.clock_count, 2);
    expect_text(trace, timing.clocks[0].clock_id, "k");
    assert_int_equal(timing.clocks[0].interval_count, 4);
    assert_int_equal(timing.clocks[0].busy_ns, 27);
    expect_text(trace, timing.clocks[1].clock_id, "k2");
    assert_int_equal(timing.clocks[1].interval_count, 1);
    assert_int_equal(timing.clocks[1].busy_ns, 0);
    timing_free(&timing);
    trace_free(trace);
}

/* Rows by bytes of span, then of clock, whatever the order of the intervals and whether the spans are known.
 */
static void test_order(void **state)
{
    (void)state;
    static const char *const expected[][2] = {{"s:1", "k0"}, {"s:1", "k1"}, {"s:1", "k2"}, {"s:10", "k1"},
                                              {"s:2", "k0"}, {"s:2", "k1"}, {"t", "k1"}};
    enum { ROWS = sizeof expected / sizeof *expected };
    for (size_t known = ROWS - 1; known <= ROWS; known++) {
        struct text text = {0};
        put(&text, META);
        put_span(&text, "r", "", 0, 100, true);
        put_span(&text, "s:1", "r", 0, 50, false);
        put_span(&text, "s:2", "r", 0, 50, false);
        put_span(&text, "s:10", "r", 0, 50, false);
        for (size_t i = 0; i < 3 * known; i++) {
            size_t row = (5 * i + 3) % known; /* 5 has no factor in common with 6 or 7 */
            put_interval(&text, expected[row][0], "7", expected[row][1], "events", 10 * row, row + 1);
        }
        put_end(&text, 100);
        struct cg_trace *trace = load(&text);
        struct timing timing;
        assert_true(timing_make(trace, &timing));
        assert_int_equal(timing.span_count, known);
        for (size_t i = 0; i < known; i++) {
            expect_text(trace, timing.spans[i].span_id, expected[i][0]);
            expect_text(trace, timing.spans[i].clock_id, expected[i][1]);
            assert_int_equal(timing.spans[i].interval_count, 3);
            assert_int_equal(timing.spans[i].busy_ns, i + 1);
        }
        timing_free(&timing);
        trace_free(trace);
    }
}

static void test_saturation(void **state) /* 8.2, last line */
{
    (void)state;
    struct text text = {0};
    put_vector(&text);
    put_interval(&text, "s", "7", "k", "events", 40, UINT64_MAX);
    put_end(&text, 100);
    struct cg_trace *trace = load(&text);
    struct timing timing;
    assert_true(timing_make(trace, &timing));
    assert_true(timing.spans[1].busy_ns == 18446744073709551600u);
    assert_true(timing.clocks[0].busy_ns == 18446744073709551602u);
    timing_free(&timing);
    trace_free(trace);
}

static void test_nothing(void **state) /* 2: without intervals the level is the declared one */
{
    (void)state;
    struct text text = {0};
    put(&text, META_WITH("infer", "\"operations\":\"none\",\"logical_memory\":\"none\","
                                  "\"physical_memory\":\"none\",\"device_timing\":\"complete\""));
    put_span(&text, "s", "", 0, 100, true);
    put_end(&text, 100);
    struct cg_trace *trace = load(&text);
    struct timing timing;
    assert_true(timing_make(trace, &timing));
    assert_int_equal(timing.device_coverage, CG_COVERAGE_COMPLETE);
    assert_int_equal(timing.span_count, 0);
    assert_int_equal(timing.clock_count, 0);
    timing_free(&timing);
    trace_free(trace);
}

static void put_open(struct text *text, const char *id, const char *parent)
{
    put(text,
        "{\"kind\":\"span_start\",\"id\":\"%s\",\"parent_id\":\"%s\",\"name\":\"%s\",\"start_ns\":0,"
        "\"span_kind\":\"function\"}\n",
        id, parent, id);
}

static void test_walk(void **state) /* trace.md 9: every case of the table */
{
    (void)state;
    struct text text = {0};
    put(&text, META);
    put_span(&text, "root", "", 0, 100, true);
    put_open(&text, "child", "root");
    put_open(&text, "lost", "nowhere");
    put_open(&text, "lost-child", "lost");
    put_open(&text, "self", "self");
    put_open(&text, "below-self", "self");
    put_open(&text, "a", "b");
    put_open(&text, "b", "c");
    put_open(&text, "c", "a");
    put_open(&text, "below", "b");
    put_open(&text, "below-below", "below");
    put_end(&text, 100);
    struct cg_trace *trace = load(&text);
    static const struct {
        const char *id;
        uint32_t depth;
        bool cyclic;
    } expected[] = {{"root", 0, false},       {"child", 1, false},     {"lost", 1, false},
                    {"lost-child", 2, false}, {"self", 1, true},       {"below-self", 1, true},
                    {"a", 3, true},           {"b", 3, true},          {"c", 3, true},
                    {"below", 3, true},       {"below-below", 4, true}};
    struct span_walk walk;
    assert_true(span_walk_make(trace, &walk));
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        uint32_t row = span_row(trace, expected[i].id);
        assert_int_equal(walk.depth[row], expected[i].depth);
        assert_int_equal(walk.cyclic[row], expected[i].cyclic);
    }
    span_walk_free(&walk);

    struct span_children children;
    assert_true(span_children_make(trace, &children));
    uint32_t b = span_row(trace, "b"), rows = (uint32_t)trace->span.rows;
    assert_int_equal(children.first[b + 1] - children.first[b], 2); /* a, below: ascending rows */
    assert_int_equal(children.child[children.first[b]], span_row(trace, "a"));
    assert_int_equal(children.child[children.first[b] + 1], span_row(trace, "below"));
    assert_int_equal(children.first[rows + 1] - children.first[rows], 2); /* lost, root */
    assert_int_equal(children.child[children.first[rows]], span_row(trace, "lost"));
    assert_int_equal(children.child[children.first[rows] + 1], span_row(trace, "root"));
    span_children_free(&children);
    trace_free(trace);
}

/* Random intervals against marking each nanosecond. */
static void test_random_union(void **state)
{
    (void)state;
    uint64_t random = 20;
    for (int round = 0; round < 3000; round++) {
        struct interval intervals[12];
        size_t count = draw(&random, 13);
        bool marked[64] = {false};
        for (size_t i = 0; i < count; i++) {
            uint64_t start = draw(&random, 56), length = draw(&random, 8);
            intervals[i] = (struct interval){start, start + length};
            for (uint64_t t = start; t < start + length; t++)
                marked[t] = true;
        }
        uint64_t expected = 0;
        for (size_t t = 0; t < 64; t++)
            expected += marked[t];
        assert_int_equal(interval_union(intervals, count), expected);
    }
}

/* So many ascending runs that some are merged and more are sorted by digits: in order, and each as it was. */
static void test_sort_runs(void **state)
{
    (void)state;
    enum { COUNT = 6000 };
    static struct interval intervals[COUNT];
    static const size_t run_counts[] = {1, 2, 3, 4, 63, 64, 65, 200, COUNT};
    for (size_t round = 0; round < sizeof run_counts / sizeof *run_counts; round++) {
        size_t runs = run_counts[round], length = COUNT / runs;
        static uint64_t starts[COUNT];
        bool seen[COUNT] = {false};
        for (size_t i = 0; i < COUNT; i++) {
            starts[i] = i % length / 2 * 10 + (runs - i / length) % 10;
            intervals[i] = (struct interval){starts[i], starts[i] + i};
        }
        interval_sort(intervals, COUNT);
        for (size_t i = 0; i < COUNT; i++) {
            size_t number = (size_t)(intervals[i].end - intervals[i].start);
            if (i > 0) assert_true(intervals[i - 1].start <= intervals[i].start);
            assert_true(number < COUNT && !seen[number] && intervals[i].start == starts[number]);
            seen[number] = true;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_capability_arithmetic),
        cmocka_unit_test(test_union),
        cmocka_unit_test(test_profile),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_saturation),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_walk),
        cmocka_unit_test(test_random_union),
        cmocka_unit_test(test_sort_runs),
    };
    return run_tap(tests);
}
