/* Health (doc/spec/trace.md 10, 11 and 16.3, 16.4): every issue code with a trace made for it, the order of
 * emission, severities, and what must not be an issue. The parts are in health_*.c. */
#include "tests/unit/health.h"

bool health_seen[HEALTH_CODE_COUNT];

void test_minimal(void **state) /* 16.3 */
{
    (void)state;
    struct text text = {0};
    put_minimal(&text);
    put_end(&text, 5);
    expect_trace(load(&text), true,
                 "warning operations_absent\nwarning tensors_absent\nwarning logical_memory_absent\n"
                 "warning physical_memory_absent\nwarning device_timing_absent\n");

    put(&text, META_WITH("train", LEVELS_NONE));
    put_span(&text, "a", "", 0, 5, true);
    put_end(&text, 5);
    expect_trace(load(&text), true,
                 "warning operations_absent\nwarning tensors_absent\nwarning logical_memory_absent\n"
                 "warning physical_memory_absent\nwarning device_timing_absent\nwarning gradients_absent\n"
                 "warning forward_absent\nwarning backward_absent\nwarning optimizer_absent\n");

    put(&text, META);
    put_open(&text, "a", "", "a");
    put_failed(&text, 5);
    expect_trace(load(&text), true,
                 "warning capture_failed killed\nwarning open_span a\n"
                 "warning operations_absent\nwarning tensors_absent\nwarning logical_memory_absent\n"
                 "warning physical_memory_absent\nwarning device_timing_absent\n");
}

static void put_broken(struct text *text) /* 16.3 */
{
    put(text,
        "{\"kind\":\"meta\",\"schema\":\"candle-graph/trace/10\",\"run_id\":\"r\",\"correlation_id\":\"c\","
        "\"entrypoint\":\"e\",\"phase\":\"train\",\"timestamp\":\"t\",\"capture_step\":1,\"warmup_steps\":1,"
        "\"device\":\"cpu\",\"timing_mode\":\"host\",\"tags\":{},\"capture_contract\":{"
        "\"measurement_scope\":\"unknown\"," LEVELS_NONE
        ",\"required_semantic_labels\":[\"fwd\",\"fwd\",\"nope\"],"
        "\"gpu_expected_semantic_labels\":[\"fwd\",\"fwd\"],\"cpu_only_semantic_labels\":[\"other\"]}}\n");
    put_span(text, "s1", "", 0, 100, false);
    put(text, "{\"kind\":\"span_start\",\"id\":\"s10\",\"parent_id\":\"s1\",\"name\":\"fwd\",\"start_ns\":10,"
              "\"span_kind\":\"module\",\"measured\":true,\"step\":\"forward\"}\n"
              "{\"kind\":\"span_end\",\"id\":\"s10\",\"duration_ns\":50}\n");
    put_span(text, "s2", "s1", 90, 20, false);
    put_open(text, "s3", "s4", "x");
    put_open(text, "s4", "s3", "x");
    put(text,
        "{\"kind\":\"op\",\"span_id\":\"s10\",\"op_name\":\"mm\",\"inputs\":[\"a\"],\"output\":\"b\","
        "\"shape\":[],\"dtype\":\"f32\",\"device\":\"cpu\",\"duration_ns\":1,\"input_dense_bytes\":0}\n");
    put_memory(text, 20, "cpu", "m", "b", "s10", 16, "alloc", "");
    put_memory(text, 30, "cpu", "m", "b", "s10", 16, "alloc", "");
    put_memory(text, 40, "cpu", "m", "b2", "s10", 8, "alloc", "");
    put_memory(text, 25, "cuda:0", "m", "b", "zz", 8, "free", "");
    put_call(text, "s10", "s2", 19);
    put_data(text, "a", "q");
    put(text,
        "{\"kind\":\"gradient\",\"event_id\":\"g\",\"root\":\"vb\",\"key\":\"w\",\"state\":\"zero\","
        "\"norm\":-0.0}\n"
        "{\"kind\":\"gradient\",\"event_id\":\"g\",\"root\":\"vb\",\"key\":\" \",\"state\":\"present\"}\n");
}

#define BROKEN_FIRST "error run_provenance_invalid\n"
#define BROKEN_HARD                                                                                          \
    "error unknown_span zz\nerror operation_outside_span mm s10\n"                                           \
    "error call_edge_hierarchy_mismatch s10 s2\nerror call_edge_duration_mismatch s10 s2 19\n"               \
    "error unknown_data_edge_tensor a q\nerror unpaired_free m cuda:0\n"                                     \
    "error duplicate_allocation m cpu\nerror allocation_size_mismatch m cpu 8\n"                             \
    "warning retained_allocations 1\nerror gradient_state_norm_inconsistent vb w\n"                          \
    "error empty_gradient_parameter_key vb  \nerror duplicate_gradient_event_id g\n"                         \
    "error gradient_state_norm_inconsistent vb  \n"                                                          \
    "warning tensors_absent\nwarning physical_memory_absent\nwarning device_timing_absent\n"                 \
    "warning backward_absent\nwarning optimizer_absent\n"
#define BROKEN_SPANS(severity)                                                                               \
    "error child_outside_parent s2 s1\n" severity " open_span s3\nerror span_cycle s3\n" severity            \
    " open_span s4\nerror span_cycle s4\n"
#define BROKEN_LABELS(severity)                                                                              \
    severity " duplicate_required_semantic_label fwd\n" severity                                             \
             " required_semantic_label_cardinality nope\n" severity                                          \
             " duplicate_semantic_label_classification fwd\n" severity                                       \
             " overlapping_semantic_label_classification fwd\n" severity                                     \
             " unrequired_semantic_label_classification other\n" severity                                    \
             " incomplete_semantic_label_partition\n"

void test_broken(void **state) /* 16.3 */
{
    (void)state;
    struct text text = {0};
    put_broken(&text);
    put_end(&text, 200);
    struct cg_trace *trace = load(&text);
    struct logical_memory memory;
    struct trace_summary summary;
    assert_true(logical_memory_make(trace, &memory));
    assert_true(trace_summary_make(trace, &memory, &summary));
    assert_int_equal(summary.op_count, 1);
    assert_int_equal(summary.total_ns, 50);
    assert_int_equal(summary.span_count, 5);
    assert_int_equal(summary.root_span_count, 1);
    assert_int_equal(summary.max_depth, 2);
    assert_int_equal(summary.alloc_count, 3);
    assert_int_equal(summary.free_count, 1);
    assert_int_equal(summary.logical_peak_bytes, 16);
    logical_memory_free(&memory);
    expect_trace(trace, true, BROKEN_FIRST BROKEN_SPANS("error") BROKEN_HARD BROKEN_LABELS("error"));

    put_broken(&text);
    put_failed(&text, 200);
    expect_trace(load(&text), true,
                 BROKEN_FIRST "warning capture_failed killed\n" BROKEN_SPANS("warning")
                     BROKEN_HARD BROKEN_LABELS("warning"));
}

void test_coverage(void **state) /* 10.2 */
{
    (void)state;
    struct text text = {0};
    put_broken(&text);
    put_end(&text, 200);
    struct cg_trace *trace = load(&text);
    struct health health;
    assert_true(health_make(trace, &health));
    /* spans, closed, roots, measured, operations, tensors, memory, samples, intervals, gradients, call edges,
     * data edges, forward, backward, optimizer */
    static const uint64_t expected[] = {5, 3, 1, 1, 1, 0, 4, 0, 0, 2, 1, 1, 1, 0, 0};
    const uint64_t got[] = {
#define COUNT(name) health.coverage.name,
        HEALTH_COVERAGE(COUNT)
#undef COUNT
    };
    assert_int_equal(sizeof got, sizeof expected);
    assert_memory_equal(got, expected, sizeof expected);
    health_free(&health);
    trace_free(trace);
}

void test_messages(void **state) /* ids are quoted, controls escaped, long ones cut at a character */
{
    (void)state;
    struct text text = {0};
    put_minimal(&text);
    put_open(&text, "x\\u0000\\ny\\u00e9", "a", "x");
    put(&text, "{\"kind\":\"span_start\",\"id\":\"z");
    for (int i = 0; i < 400; i++)
        put(&text, "\u00e9");
    put(&text, "\",\"parent_id\":\"a\",\"name\":\"x\",\"start_ns\":0,\"span_kind\":\"op\"}\n");
    put_end(&text, 5);
    struct cg_trace *trace = load(&text);
    struct health health;
    char message[HEALTH_MESSAGE_SIZE];
    assert_true(health_make(trace, &health));
    health_message(trace, &health.issues[0], message);
    assert_string_equal(message, "span \"x\\u0000\\u000ay\u00e9\" never ended");
    health_message(trace, &health.issues[1], message);
    assert_true(strlen(message) < 340);
    assert_non_null(strstr(message, "\u00e9...\" never ended"));
    health_free(&health);
    trace_free(trace);
}

void test_names(void **state) /* 10.3: 57 codes, each provoked by a test above */
{
    (void)state;
    assert_int_equal(HEALTH_CODE_COUNT, 57);
    for (int i = 0; i < HEALTH_CODE_COUNT; i++)
        if (!health_seen[i]) fail_msg("no test provokes %s", health_code_name(i));
}

int main(void)
{
#define HEALTH_TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {HEALTH_TESTS(HEALTH_TEST)};
#undef HEALTH_TEST
    return run_tap(tests);
}
