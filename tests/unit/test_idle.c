/* Sets of moments, and the causes of idle time where the command line's tests do not reach. */
#include "tests/unit/plane_trace.h"

#include "analyzer/planes/idle.h"
#include "analyzer/planes/interval_set.h"

static void expect_set(const struct interval_set *set, size_t count, const uint64_t *bounds)
{
    assert_int_equal(set->count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(set->at[i].start, bounds[2 * i]);
        assert_int_equal(set->at[i].end, bounds[2 * i + 1]);
    }
}

static void fill(struct interval_set *set, size_t count, const uint64_t *bounds)
{
    for (size_t i = 0; i < count; i++)
        assert_true(interval_set_add(set, bounds[2 * i], bounds[2 * i + 1]));
    interval_set_settle(set);
}

static void sets(void **state)
{
    (void)state;
    struct interval_set a = {0}, b = {0}, rest = {0}, none = {0};
    static const uint64_t in_a[] = {50, 60, 10, 20, 20, 30, 55, 58, 5, 5, 90, UINT64_MAX};
    static const uint64_t in_b[] = {0, 11, 12, 13, 29, 52, 70, 80, 100, 200};
    static const uint64_t made[] = {10, 30, 50, 60, 90, UINT64_MAX};
    static const uint64_t left[] = {11, 12, 13, 29, 52, 60, 90, 100, 200, UINT64_MAX};
    fill(&a, 6, in_a);
    expect_set(&a, 3, made);
    assert_true(interval_set_length(&a) == 20 + 10 + (UINT64_MAX - 90));
    fill(&b, 5, in_b);
    assert_true(interval_set_subtract(&a, &b, &rest));
    expect_set(&rest, 5, left);
    interval_set_free(&rest);
    assert_true(interval_set_subtract(&a, &none, &rest));
    expect_set(&rest, 3, made);
    interval_set_free(&rest);
    assert_true(interval_set_subtract(&none, &a, &rest));
    assert_int_equal(rest.count, 0);
    interval_set_settle(&none);
    assert_int_equal(interval_set_length(&none), 0);
    interval_set_free(&a);
    interval_set_free(&b);
}

/* Ten pieces of work, issued one a nanosecond from 100 on, each 100 long, one after the other. */
static struct cg_trace *queue_trace(void)
{
    struct text text = {0};
    put(&text,
        "{\"kind\":\"meta\",\"schema\":\"candle-graph/trace/10\",\"run_id\":\"r\",\"correlation_id\":\"c\","
        "\"entrypoint\":\"e\",\"phase\":\"infer\",\"timestamp\":\"t\",\"capture_step\":1,\"warmup_steps\":0,"
        "\"device\":\"cuda:0\",\"timing_mode\":\"host\",\"tags\":{},\"clock\":{\"devices\":{\"a\":[{\"device_"
        "ns\":"
        "1000,\"host_ns\":0,\"uncertainty_ns\":1},{\"device_ns\":11000,\"host_ns\":10000,\"uncertainty_ns\":"
        "2}]}},"
        "\"capture_contract\":{\"measurement_scope\":\"unknown\"," LEVELS_NONE "}}\n");
    put_span(&text, "m", "", 0, 2000, true);
    for (unsigned i = 0; i < 10; i++) {
        put(&text,
            "{\"kind\":\"op\",\"span_id\":\"m\",\"op_name\":\"k\",\"shape\":[],\"dtype\":\"f32\",\"device\":"
            "\"cuda:0\","
            "\"duration_ns\":1,\"timestamp_ns\":%u,\"input_dense_bytes\":0,\"correlation\":%u,\"grid\":[1,1,"
            "1]}\n",
            100 + i, i);
        put(&text,
            "{\"kind\":\"device_interval\",\"span_id\":\"m\",\"device\":\"cuda:0\",\"stream_id\":\"1\","
            "\"clock_id\":\"a\","
            "\"backend\":\"b\",\"start_ns\":%u,\"duration_ns\":100,\"correlation\":%u}\n",
            1200 + 100 * i, i);
    }
    put_end(&text, 2000);
    return load_extras(&text);
}

static void depths(void **state)
{
    (void)state;
    struct cg_trace *trace = queue_trace();
    struct device_work work;
    struct suspects suspects;
    struct idle idle;
    const struct idle_options options = {.kernel_wait_ns = 30, .launch_gap_ns = 50};
    assert_true(device_work_make(trace, &work));
    assert_true(suspects_make(trace, &work, &suspects));
    assert_true(idle_make(trace, &work, &suspects, &options, &idle));
    assert_int_equal(idle.clock_count, 1);
    const struct idle_clock *clock = &idle.clocks[0];
    assert_int_equal(clock->busy_ns, 1000);
    assert_int_equal(clock->idle_ns, 1000);
    /* 0 to 100 elsewhere, 100 to 101 in the first call, from then on work was enqueued; 1200 to 2000
     * elsewhere. */
    assert_int_equal(clock->cause_ns[IDLE_LAUNCHING], 1);
    assert_int_equal(clock->cause_ns[IDLE_OTHER], 99);
    assert_int_equal(clock->cause_ns[IDLE_HOST], 900);
    assert_int_equal(clock->cause_ns[IDLE_KERNEL_WAIT], 0);
    assert_int_equal(clock->anchor_uncertainty_ns, 2);
    /* One to nine are there for 1 ns each while they are issued; ten until the first has ended at 300. */
    assert_int_equal(clock->depth_count, 11);
    assert_int_equal(clock->at_depth[0], 101 + 800);
    assert_int_equal(clock->at_depth[10], 190);
    for (size_t depth = 1; depth < 10; depth++)
        assert_int_equal(clock->at_depth[depth], 101);
    assert_int_equal(idle_depth_quantile(clock, 0.45), 0);
    assert_int_equal(idle_depth_quantile(clock, 0.46), 1);
    assert_int_equal(idle_depth_quantile(clock, 1), 10);
    assert_int_equal(clock->delay_count, 10);
    assert_int_equal(clock->delays[0], 200 - 101);
    assert_int_equal(clock->delays[9], 1100 - 110);
    idle_free(&idle);
    suspects_free(&suspects);
    device_work_free(&work);
    trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sets), cmocka_unit_test(depths)};
    return run_tap(tests);
}
