/* Health (doc/spec/trace.md 10, 11 and 16.3, 16.4): every issue code with a trace made for it, the order of
 * emission, severities, and what must not be an issue. */
#include "tests/unit/plane_trace.h"

#include "analyzer/planes/health_codes.h"
#include "analyzer/planes/planes.h"

static bool seen[HEALTH_CODE_COUNT]; /* codes that some test has provoked */

/* "error open_span s3\n" for each issue: severity, code, then the ids and the number where there are any. The
 * warnings of absent evidence are left out unless asked for: nearly every small trace has them. */
static struct text describe(const struct cg_trace *trace, const struct health *health, bool absent)
{
    struct text text = {0};
    put(&text, "%s", "");
    for (size_t i = 0; i < health->issue_count; i++) {
        const struct health_issue *issue = &health->issues[i];
        seen[issue->code] = true;
        if (!absent && strstr(health_code_name(issue->code), "_absent")) continue;
        put(&text, "%s %s", issue->severity == HEALTH_ERROR ? "error" : "warning",
            health_code_name(issue->code));
        const cg_str ids[] = {issue->subject, issue->object};
        for (size_t j = 0; j < 2; j++)
            if (ids[j] != CG_ABSENT)
                put(&text, " %.*s", (int)trace_text(trace, ids[j]).length, trace_text(trace, ids[j]).bytes);
        if (issue->number) put(&text, " %llu", (unsigned long long)issue->number);
        put(&text, "\n");
    }
    return text;
}

static void expect_trace(struct cg_trace *trace, bool absent, const char *expected)
{
    struct health health;
    assert_true(health_make(trace, &health));
    struct text text = describe(trace, &health, absent);
    assert_string_equal(text.bytes, expected);
    bool errors = strstr(expected, "error ") != NULL;
    assert_int_equal(health.structurally_valid, !errors);
    assert_int_equal(health.capture_complete, trace->terminal.outcome == CG_OUTCOME_COMPLETE);
    free(text.bytes);
    health_free(&health);
    trace_free(trace);
}

/* Expects these issues of a trace, absent evidence aside. */
static void expect(struct text *text, const char *expected)
{
    expect_trace(load(text), false, expected);
}

static void put_failed(struct text *text, uint64_t time)
{
    put(text, "{\"kind\":\"terminal\",\"outcome\":\"failed\",\"timestamp_ns\":%llu,\"reason\":\"killed\"}\n",
        (unsigned long long)time);
}

/* META and a measured root "a" from 0 to 5 (16.2). */
static void put_minimal(struct text *text)
{
    put(text, META);
    put_span(text, "a", "", 0, 5, true);
}

static void put_open(struct text *text, const char *id, const char *parent, const char *name)
{
    put(text, "{\"kind\":\"span_start\",\"id\":\"%s\",", id);
    if (*parent) put(text, "\"parent_id\":\"%s\",", parent);
    put(text, "\"name\":\"%s\",\"start_ns\":0,\"span_kind\":\"function\"}\n", name);
}

static void put_op(struct text *text, const char *span, const char *inputs, const char *output, uint64_t time,
                   uint64_t duration)
{
    put(text,
        "{\"kind\":\"op\",\"span_id\":\"%s\",\"op_name\":\"mm\",\"inputs\":[%s],\"output\":\"%s\",\"shape\":["
        "],"
        "\"dtype\":\"f32\",\"device\":\"cpu\",\"timestamp_ns\":%llu,\"duration_ns\":%llu,"
        "\"input_dense_bytes\":0}\n",
        span, inputs, output, (unsigned long long)time, (unsigned long long)duration);
}

/* ---- run and terminal ---- */

#define RUN(run, correlation, entrypoint, timestamp, step, warmup, device, more)                             \
    "{\"kind\":\"meta\",\"schema\":\"candle-graph/trace/10\",\"run_id\":\"" run                              \
    "\",\"correlation_id\":\"" correlation "\",\"entrypoint\":\"" entrypoint                                 \
    "\",\"phase\":\"infer\",\"timestamp\":\"" timestamp "\",\"capture_step\":" step                          \
    ",\"warmup_steps\":" warmup ",\"device\":\"" device                                                      \
    "\",\"timing_mode\":\"host\",\"tags\":{},\"capture_contract\":{"                                         \
    "\"measurement_scope\":\"unknown\"," LEVELS_NONE "}" more "}\n"
#define IDENTITY(workload, model, config, data, seed, batch, steps, precision, state, more)                  \
    RUN("r", "c", "e", "t", "1", "0", "d",                                                                   \
        ",\"comparison_identity\":{\"workload_id\":\"" workload "\",\"model_id\":\"" model                   \
        "\",\"config_id\":\"" config "\",\"data_id\":\"" data "\",\"seed_policy\":\"" seed                   \
        "\",\"physical_batch\":" batch ",\"accumulation_steps\":" steps ",\"precision\":\"" precision        \
        "\",\"device_state\":\"" state "\"" more "}")

static void test_run(void **state) /* step 1: each field alone, and the first of several */
{
    (void)state;
    static const struct {
        const char *meta, *fault;
    } cases[] = {
        {RUN("r", "c", "e", "t", "3", "2", "d", ""), NULL},
        {RUN(" ", "", "", "", "0", "9", "", ""), "run_id is blank"},
        {RUN("r", "\\u3000", "", "", "0", "9", "", ""), "correlation_id is blank"},
        {RUN("r", "c", "\\t", "", "0", "9", "", ""), "entrypoint is blank"},
        {RUN("r", "c", "e", "", "0", "9", "", ""), "timestamp is blank"},
        {RUN("r", "c", "e", "t", "0", "9", "", ""), "device is blank"},
        {RUN("r", "c", "e", "t", "0", "0", "d", ""), "capture_step is 0; steps count from 1"},
        {RUN("r", "c", "e", "t", "3", "3", "d", ""), "warmup_steps is not below its capture_step"},
        {IDENTITY("w", "m", "c", "d", "s", "1", "1", "p", "x", ""), NULL},
        {IDENTITY("w", "m", "c", "d", "s", "1", "1", "p", "x",
                  ",\"implementation_id\":null,\"pair_id\":\"p\""),
         NULL},
        {IDENTITY("", "", "", "", "", "0", "0", "", "", ""), "workload_id is blank"},
        {IDENTITY("w", "", "", "", "", "0", "0", "", "", ""), "model_id is blank"},
        {IDENTITY("w", "m", "", "", "", "0", "0", "", "", ""), "config_id is blank"},
        {IDENTITY("w", "m", "c", "", "", "0", "0", "", "", ""), "data_id is blank"},
        {IDENTITY("w", "m", "c", "d", "", "0", "0", "", "", ""), "seed_policy is blank"},
        {IDENTITY("w", "m", "c", "d", "s", "0", "0", "", "", ""), "precision is blank"},
        {IDENTITY("w", "m", "c", "d", "s", "0", "0", "p", "", ""), "device_state is blank"},
        {IDENTITY("w", "m", "c", "d", "s", "0", "0", "p", "x",
                  ",\"implementation_id\":\"\",\"pair_id\":\"\""),
         "implementation_id is blank"},
        {IDENTITY("w", "m", "c", "d", "s", "0", "0", "p", "x", ",\"pair_id\":\"\""), "pair_id is blank"},
        {IDENTITY("w", "m", "c", "d", "s", "0", "0", "p", "x", ""), "physical_batch is 0"},
        {IDENTITY("w", "m", "c", "d", "s", "1", "0", "p", "x", ""), "accumulation_steps is 0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct text text = {0};
        put(&text, "%s", cases[i].meta);
        put_span(&text, "a", "", 0, 5, true);
        put_end(&text, 5);
        struct cg_trace *trace = load(&text);
        struct health health;
        char message[HEALTH_MESSAGE_SIZE], expected[HEALTH_MESSAGE_SIZE];
        assert_true(health_make(trace, &health));
        bool first = health.issues[0].code == HEALTH_RUN_PROVENANCE_INVALID;
        assert_int_equal(first, cases[i].fault != NULL);
        if (first) {
            seen[HEALTH_RUN_PROVENANCE_INVALID] = true;
            snprintf(expected, sizeof expected, "the run's %s", cases[i].fault);
            health_message(trace, &health.issues[0], message);
            assert_string_equal(message, expected);
        }
        assert_int_equal(health.structurally_valid, !first);
        health_free(&health);
        trace_free(trace);
    }
}

static void
test_unreadable(void **state) /* steps 2, 3 and 5: the reader refuses such files, so the trace is changed */
{
    (void)state;
    struct text text = {0};
    put_minimal(&text);
    put_end(&text, 5);
    struct cg_trace *trace = load(&text);
    trace->terminal.reason = trace->run.run_id;
    expect_trace(trace, false, "error complete_with_failure_reason r\n");

    put_minimal(&text);
    put_failed(&text, 5);
    trace = load(&text);
    trace->terminal.reason = CG_ABSENT;
    expect_trace(trace, false, "error failed_without_reason\nwarning capture_failed\n");

    put_minimal(&text);
    put_end(&text, 5);
    trace = load(&text);
    trace->terminal.timestamp_ns = 4;
    expect_trace(trace, false, "error terminal_precedes_evidence 5\n");

    put_minimal(&text);
    put_span(&text, "b", "a", 0, 5, false);
    put_end(&text, 5);
    trace = load(&text);
    trace->span.id[1] = trace->span.id[0];
    expect_trace(trace, false, "error duplicate_span_id a\n");
}

static void test_minimal(void **state) /* 16.3 */
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

/* ---- spans ---- */

static void test_span_set(void **state) /* steps 6 and 7 */
{
    (void)state;
    struct text text = {0};
    put(&text, META);
    put_end(&text, 5);
    expect(&text, "error root_count\nerror measurement_count\n"); /* 0 of each */

    put_minimal(&text);
    put_span(&text, "b", "", 0, 5, true);
    put_end(&text, 5);
    expect(&text, "error root_count 2\nerror measurement_count 2\n");

    put_minimal(&text);
    put_span(&text, "b", "", 0, 5, true);
    put_failed(&text, 5);
    expect(&text, "warning capture_failed killed\nerror root_count 2\n");
}

static void test_each_span(void **state) /* step 8 */
{
    (void)state;
    struct text text = {0};
    put_minimal(&text);
    put_open(&text, "open", "a", "x");
    put_open(&text, "orphan", "nobody", "x");
    put_open(&text, "self", "self", "x");
    put_open(&text, "under", "self", "x");
    put_end(&text, 5);
    expect(&text,
           "error open_span open\nerror open_span orphan\nerror unknown_parent orphan nobody\n"
           "error open_span self\nerror span_cycle self\nerror open_span under\nerror span_cycle under\n");

    put(&text, META);
    put_span(&text, "a", "", 10, 5, true);
    put_span(&text, "early", "a", 9, 2, false);
    put_span(&text, "equal", "a", 10, 5, false);
    put_span(&text, "late", "a", 15, 1, false);
    put_span(&text, "touching", "a", 15, 0, false);
    put_open(&text, "undecided", "a", "x"); /* starts at 0, but an open span has no end to compare */
    put_failed(&text, 16);
    expect(&text, "warning capture_failed killed\nerror child_outside_parent early a\n"
                  "error child_outside_parent late a\nwarning open_span undecided\n");

    /* Ends beyond 64 bits are the same end. */
    put(&text, META);
    put_span(&text, "a", "", 10, UINT64_MAX, true);
    put_span(&text, "b", "a", 20, UINT64_MAX, false);
    put_end(&text, UINT64_MAX);
    expect(&text, "");
}

static void put_reference(struct text *text, const char *kind)
{
    static const char *const fields[][2] = {
        {"op", "\"op_name\":\"mm\",\"shape\":[],\"dtype\":\"f32\",\"device\":\"cpu\",\"duration_ns\":1,"
               "\"input_dense_bytes\":0"},
        {"tensor", "\"tensor_id\":\"t\",\"shape\":[],\"dtype\":\"f32\",\"device\":\"cpu\""},
        {"tensor_stats", "\"label\":\"l\",\"shape\":[],\"dtype\":\"f32\",\"elements\":1,\"non_finite\":0,"
                         "\"rms\":0,\"abs_max\":0,\"mean\":0"},
        {"memory",
         "\"timestamp_ns\":1,\"storage_id\":\"s\",\"tensor_id\":\"t\",\"device\":\"cpu\",\"bytes\":1,"
         "\"action\":\"alloc\",\"dtype\":\"f32\""},
        {"device_interval", "\"device\":\"cpu\",\"stream_id\":\"1\",\"clock_id\":\"k\",\"backend\":\"b\","
                            "\"start_ns\":0,\"duration_ns\":1"}};
    for (size_t i = 0; i < 5; i++)
        if (!strcmp(fields[i][0], kind))
            put(text, "{\"kind\":\"%s\",\"span_id\":\"no-%s\",%s}\n", kind, kind, fields[i][1]);
}

static void test_references(void **state) /* step 9: by kind, not by place in the file */
{
    (void)state;
    struct text text = {0};
    put_minimal(&text);
    put_reference(&text, "device_interval");
    put_reference(&text, "memory");
    put_reference(&text, "tensor_stats");
    put_reference(&text, "tensor");
    put_reference(&text, "op");
    put_end(&text, 5);
    struct cg_trace *trace = load(&text);
    struct health health;
    char message[HEALTH_MESSAGE_SIZE];
    assert_true(health_make(trace, &health));
    health_message(trace, &health.issues[3], message);
    assert_string_equal(message, "a memory record names the span \"no-memory\", which does not exist");
    health_free(&health);
    expect_trace(
        trace, false,
        "error unknown_span no-op\nerror unknown_span no-tensor\nerror unknown_span no-tensor_stats\n"
        "error unknown_span no-memory\nerror unknown_span no-device_interval\n"
        "warning retained_allocations 1\n");
}

static void test_evidence(void **state) /* steps 10 to 13 */
{
    (void)state;
    struct text text = {0};
    put(&text, META);
    put_span(&text, "a", "", 10, 10, true);
    put_open(&text, "open", "a", "x");
    put(&text, "{\"kind\":\"device_interval\",\"span_id\":\"a\",\"device\":\"g\",\"stream_id\":\"1\","
               "\"clock_id\":\"k\",\"backend\":\"b\",\"start_ns\":0,\"duration_ns\":0}\n");
    put_op(&text, "a", "", "x", 10, 10);
    put_op(&text, "a", "", "x", 9, 1);
    put_op(&text, "a", "", "x", 20, 1);
    put_op(&text, "open", "", "x", 3, 1);
    put_memory(&text, 9, "cpu", "m1", "t", "a", 1, "alloc", "");
    put_memory(&text, 10, "cpu", "m2", "t", "a", 1, "alloc", "");
    put_memory(&text, 20, "cpu", "m2", "t", "a", 1, "free", "");
    put_memory(&text, 21, "cpu", "m1", "t", "a", 1, "free", "");
    put(&text, "{\"kind\":\"device_memory\",\"timestamp_ns\":1,\"device\":\"g\"}\n");
    put(&text, "{\"kind\":\"device_memory\",\"timestamp_ns\":1,\"device\":\"h\",\"free_bytes\":0}\n");
    put_failed(&text, 30);
    expect(&text, "warning capture_failed killed\nwarning open_span open\nerror empty_device_interval a\n"
                  "error operation_outside_span mm a\nerror operation_outside_span mm a\n"
                  "error memory_outside_span m1 a\nerror memory_outside_span m1 a\n"
                  "error empty_device_memory_sample g\n");
}

static void put_call(struct text *text, const char *from, const char *to, uint64_t duration)
{
    put(text,
        "{\"kind\":\"edge\",\"edge_kind\":\"call\",\"from_span\":\"%s\",\"to_span\":\"%s\","
        "\"host_duration_ns\":%llu}\n",
        from, to, (unsigned long long)duration);
}

static void put_data(struct text *text, const char *from, const char *to)
{
    put(text, "{\"kind\":\"edge\",\"edge_kind\":\"data\",\"from_tensor\":\"%s\",\"to_tensor\":\"%s\"}\n",
        from, to);
}

static void test_edges(void **state) /* step 14 */
{
    (void)state;
    struct text text = {0};
    put_minimal(&text);
    put_span(&text, "b", "a", 0, 3, false);
    put_span(&text, "c", "b", 0, 2, false);
    put(&text, "{\"kind\":\"tensor\",\"span_id\":\"a\",\"tensor_id\":\"t\",\"shape\":[],\"dtype\":\"f32\","
               "\"device\":\"cpu\"}\n");
    put_op(&text, "a", "\"in\",\"in2\"", "out", 0, 1);
    put_memory(&text, 1, "cpu", "m", "only-memory", "a", 1, "alloc", "");
    put_memory(&text, 1, "cpu", "m", "only-memory", "a", 1, "free", "");
    put_call(&text, "a", "b", 3);
    put_call(&text, "a", "b", 4);
    put_call(&text, "a", "c", 2);
    put_call(&text, "a", "c", 1);
    put_call(&text, "zz", "c", 1);
    put_call(&text, "a", "zz", 1);
    put_data(&text, "t", "out");
    put_data(&text, "in2", "in");
    put_data(&text, "", "nothing");
    put_data(&text, "t", "");
    put_data(&text, " ", "t"); /* blank is not empty, only unknown */
    put_data(&text, "t", "only-memory");
    put_end(&text, 5);
    expect(&text, "error call_edge_duration_mismatch a b 4\nerror call_edge_hierarchy_mismatch a c\n"
                  "error call_edge_hierarchy_mismatch a c\nerror call_edge_duration_mismatch a c 1\n"
                  "error unknown_call_edge_span zz c\nerror unknown_call_edge_span a zz\n"
                  "error empty_data_edge_endpoint  nothing\nerror empty_data_edge_endpoint t \n"
                  "error unknown_data_edge_tensor   t\nerror unknown_data_edge_tensor t only-memory\n");

    /* The duration of an open callee is not known. */
    put_minimal(&text);
    put_open(&text, "b", "a", "x");
    put_call(&text, "a", "b", 77);
    put_failed(&text, 5);
    expect(&text, "warning capture_failed killed\nwarning open_span b\n");
}

static void test_pairing(void **state) /* steps 15 and 16; in order of time, not of the file */
{
    (void)state;
    struct text text = {0};
    put(&text, META);
    put_span(&text, "a", "", 0, 100, true);
    put_memory(&text, 50, "cpu", "m", "t1", "a", 8, "free", "");  /* 7: ends all aliases */
    put_memory(&text, 1, "cpu", "m", "t1", "a", 8, "free", "");   /* 1: not live */
    put_memory(&text, 2, "cpu", "m", "t1", "a", 8, "alloc", "");  /* 2 */
    put_memory(&text, 3, "gpu", "m", "t1", "a", 9, "alloc", "");  /* another storage */
    put_memory(&text, 4, "cpu", "m", "t2", "a", 8, "alloc", "");  /* 3: alias */
    put_memory(&text, 5, "cpu", "m", "t3", "a", 9, "alloc", "");  /* 4: other size, t3 is not added */
    put_memory(&text, 6, "cpu", "m", "t3", "a", 8, "alloc", "");  /* 5: so it is an alias now */
    put_memory(&text, 7, "cpu", "m", "t2", "a", 8, "alloc", "");  /* 6: again */
    put_memory(&text, 60, "cpu", "m", "t2", "a", 8, "alloc", ""); /* 8: a new life: nothing of the old set */
    put_memory(&text, 61, "cpu", "m", "t1", "a", 8, "alloc", ""); /* 9: alias */
    put_memory(&text, 62, "cpu", "m", "t1", "a", 8, "alloc", ""); /* 10: again */
    put_memory(&text, 63, "cpu", "m", "t9", "a", 7, "free", "");  /* 11: other size, but ends it */
    put_memory(&text, 64, "cpu", "m", "t9", "a", 7, "free", "");  /* 12: not live */
    put_end(&text, 100);
    expect(&text, "error unpaired_free m cpu\nerror allocation_size_mismatch m cpu 9\n"
                  "error duplicate_allocation m cpu\nerror duplicate_allocation m cpu\n"
                  "error allocation_size_mismatch m cpu 7\nerror unpaired_free m cpu\n"
                  "warning retained_allocations 1\n");
}

/* ---- gradients ---- */

static void put_gradient(struct text *text, const char *id, const char *root, const char *key,
                         const char *state)
{
    put(text,
        "{\"kind\":\"gradient\",\"event_id\":\"%s\",\"root\":\"%s\",\"key\":\"%s\",\"state\":\"%s\"%s}\n", id,
        root, key, state,
        !strcmp(state, "present") ? ",\"norm\":0.5"
        : !strcmp(state, "zero")  ? ",\"norm\":0"
                                  : "");
}

static void test_gradient_records(void **state) /* 11.1 */
{
    (void)state;
    static const struct {
        const char *fields;
        bool consistent;
    } norms[] = {{"\"present\",\"norm\":0.1", true},    {"\"present\",\"norm\":0", false},
                 {"\"present\",\"norm\":-1", false},    {"\"present\"", false},
                 {"\"present\",\"norm\":5e-324", true}, {"\"zero\",\"norm\":0", true},
                 {"\"zero\",\"norm\":-0.0", false},     {"\"zero\",\"norm\":1", false},
                 {"\"zero\",\"norm\":null", false},     {"\"missing\"", true},
                 {"\"missing\",\"norm\":0", false},     {"\"non_finite\",\"norm\":null", true},
                 {"\"non_finite\",\"norm\":1", false}};
    for (size_t i = 0; i < sizeof norms / sizeof *norms; i++) {
        struct text text = {0};
        put_minimal(&text);
        put(&text, "{\"kind\":\"gradient\",\"event_id\":\"g\",\"root\":\"r\",\"key\":\"k\",\"state\":%s}\n",
            norms[i].fields);
        put_end(&text, 5);
        expect(&text, norms[i].consistent ? "" : "error gradient_state_norm_inconsistent r k\n");
    }

    struct text text = {0};
    put_minimal(&text);
    put_gradient(&text, " ", "r", "k", "missing");
    put_gradient(&text, " ", "", "k", "missing");
    put_gradient(&text, "g", "r", "\\t", "missing");
    put_gradient(&text, "g", " ", " ", "missing");
    put_end(&text, 5);
    expect(&text, "error empty_gradient_event_id r k\nerror empty_gradient_event_id  k\n"
                  "error empty_gradient_parameter_key  k\nerror duplicate_gradient_event_id  \n"
                  "error empty_gradient_parameter_key r \t\nerror empty_gradient_parameter_key    \n"
                  "error duplicate_gradient_event_id g\n");
}

#define GRADIENTS(level, contract) "\"gradients\":\"" level "\"," contract LEVELS_NONE
#define CONTRACT(digest, expected, families)                                                                 \
    "\"gradient_contract\":{\"manifest_sha256\":\"sha256:" digest "\",\"expected\":[" expected               \
    "],\"families\":[" families "]},"
#define ENTRY(root, key, family) "{\"root\":\"" root "\",\"key\":\"" key "\",\"family\":\"" family "\"}"
#define FAMILY(name, expectation, minimum)                                                                   \
    "{\"family\":\"" name "\",\"expectation\":\"" expectation "\",\"min_present\":" minimum "}"
/* 16.4 */
#define DIGEST_NONE "1a7019dd31b542e1d63c1ef86f0c96c188b624427fac0f6145678c3c453da80a"
#define DIGEST_RKF  "de70e615a9b5de77aa4865f5447e560a1520ae6b2e07a972b75d7255822c66ee"

static void test_digests(void **state) /* 16.4 */
{
    (void)state;
    static const struct {
        const char *expected, *digest;
    } cases[] = {
        {"", "sha256:" DIGEST_NONE},
        {ENTRY("r", "k", "f"), "sha256:" DIGEST_RKF},
        {ENTRY("vb", "w", "all"), "sha256:b672f934b48f71b84aa038d83d4f0e8be37b0f8320947be73003203b7205d6cf"},
        {ENTRY("vb", "\u00e9", "f"),
         "sha256:508f375206650ebfe68581e1af21f3fdba150ba5e28f60c997d09e1b4f27b629"},
        {ENTRY("vb", "encoder.weight", "encoder") "," ENTRY("vb", "head.bias", "head"),
         "sha256:7f1983ed6a3b87d5dfb81e8565e7c3177dc21b82be07503396367f7416a18502"},
        {ENTRY("vb", "head.bias", "head") "," ENTRY("vb", "encoder.weight", "encoder"),
         "sha256:000cc8c3270fc369301dc410ffce1762350caf2e502228ceaa56417f2e7fe27a"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct text text = {0};
        put(&text,
            META_WITH("infer", "\"gradient_contract\":{\"manifest_sha256\":\"\",\"expected\":[%s],"
                               "\"families\":[]}," LEVELS_NONE),
            cases[i].expected);
        put_end(&text, 5);
        struct cg_trace *trace = load(&text);
        char digest[GRADIENT_DIGEST_SIZE];
        assert_true(gradient_manifest_digest(trace, &trace->run.capture_contract.gradient_contract, digest));
        assert_string_equal(digest, cases[i].digest);
        trace_free(trace);
    }
}

static void test_gate(void **state) /* 11.2 */
{
    (void)state;
    static const struct {
        const char *meta, *issue;
    } cases[] = {
        {META_WITH("infer", GRADIENTS("complete", "")), "error gradient_contract_missing\n"},
        {META_WITH("infer", GRADIENTS("partial", "")), ""},
        {META_WITH("infer", GRADIENTS("partial", CONTRACT("", "", ""))),
         "error gradient_contract_without_complete_coverage\n"},
        {META_WITH("infer", CONTRACT("", "", "") LEVELS_NONE),
         "error gradient_contract_without_complete_coverage\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct text text = {0};
        put(&text, "%s", cases[i].meta);
        put_span(&text, "a", "", 0, 5, true);
        put_end(&text, 5);
        expect(&text, cases[i].issue);
    }
}

static void
test_contract(void **state) /* 11.2: the rules in their order; the digests are Python's hashlib's */
{
    (void)state;
    static const struct {
        const char *contract, *fault;
    } cases[] = {
        {CONTRACT("x", "", ""), "it expects no gradient"},
        {CONTRACT("x", ENTRY("", "", ""), ""), "it has no family"},
        {CONTRACT("x", ENTRY("", "", ""), FAMILY("f", "active", "1")),
         "manifest_sha256 is not the digest of its expected gradients"},
        {CONTRACT("DE70E615A9B5DE77AA4865F5447E560A1520AE6B2E07A972B75D7255822C66EE", ENTRY("r", "k", "f"),
                  FAMILY("f", "active", "1")),
         "manifest_sha256 is not the digest of its expected gradients"},
        {CONTRACT("@blank", ENTRY("r", " ", "f"), FAMILY("f", "active", "1")),
         "entry 1 has a blank root, key or family"},
        {CONTRACT("@twice", ENTRY("r", "k", "f") "," ENTRY("r", "k", "g"), FAMILY("f", "active", "1")),
         "gradient \"r\" \"k\" is expected more than once"},
        {CONTRACT(DIGEST_RKF, ENTRY("r", "k", "f"), FAMILY("\\u2003", "active", "1")),
         "the name of family 1 is blank"},
        {CONTRACT(DIGEST_RKF, ENTRY("r", "k", "f"),
                  FAMILY("f", "active", "1") "," FAMILY("f", "active", "1")),
         "family \"f\" occurs more than once"},
        {CONTRACT(DIGEST_RKF, ENTRY("r", "k", "f"), FAMILY("g", "active", "1")),
         "family \"g\" has no gradient"},
        {CONTRACT(DIGEST_RKF, ENTRY("r", "k", "f"), FAMILY("f", "inactive", "1")),
         "the inactive family \"f\" asks for 1 gradients instead of 0"},
        {CONTRACT(DIGEST_RKF, ENTRY("r", "k", "f"), FAMILY("f", "active", "0")),
         "family \"f\" asks for 0 gradients, which is not between 1 and the number of its gradients"},
        {CONTRACT(DIGEST_RKF, ENTRY("r", "k", "f"), FAMILY("f", "data_conditional", "2")),
         "family \"f\" asks for 2 gradients, which is not between 1 and the number of its gradients"},
        {CONTRACT("@two", ENTRY("r", "k", "f") "," ENTRY("r", "l", "g"), FAMILY("f", "active", "1")),
         "family \"g\" of an expected gradient is not declared"},
    };
    static const struct {
        const char *name, *digest;
    } digests[] = {
        {"@blank", "61597cf15dbff9089fe4dcd12179129f7de5515e56743c273fe6e0435d979a34"},
        {"@twice", "c2a96cd69955cc6f727f3f16cbccf74fc2e7887b071d486d11aa2063c49b41db"},
        {"@two", "f1d19fd786322bb352b875533bc04d1c115ff8aaf948ba51acba3c6b40875943"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char contract[1024];
        snprintf(contract, sizeof contract, "%s", cases[i].contract);
        for (size_t j = 0; j < 3; j++) {
            const char *mark = strstr(cases[i].contract, digests[j].name);
            if (mark)
                snprintf(contract, sizeof contract, "%.*s%s%s", (int)(mark - cases[i].contract),
                         cases[i].contract, digests[j].digest, mark + strlen(digests[j].name));
        }
        struct text text = {0};
        put(&text, META_WITH("infer", "\"gradients\":\"complete\",%s" LEVELS_NONE), contract);
        put_span(&text, "a", "", 0, 5, true);
        put_gradient(&text, "g1", "r", "unheard-of", "present"); /* not judged: the gate stops */
        put_end(&text, 5);
        struct cg_trace *trace = load(&text);
        struct health health;
        assert_true(health_make(trace, &health));
        assert_int_equal(health.gradient_contract_fault, 0);
        assert_int_equal(health.issues[0].code, HEALTH_GRADIENT_CONTRACT_INVALID);
        assert_int_equal(health.issues[0].severity, HEALTH_ERROR);
        char message[HEALTH_MESSAGE_SIZE], expected[HEALTH_MESSAGE_SIZE];
        snprintf(expected, sizeof expected, "the gradient contract is not valid: %s", cases[i].fault);
        health_message(trace, &health.issues[0], message);
        assert_string_equal(message, expected);
        /* Nothing of the manifest after it, only what is absent. */
        assert_non_null(strstr(health_code_name(health.issues[1].code), "_absent"));
        seen[HEALTH_GRADIENT_CONTRACT_INVALID] = true;
        health_free(&health);
        trace_free(trace);
    }
}

#define MANIFEST_DIGEST "356ca82f69dedb467131a517c324b54ad526934344fa53faa27851af7a48dc79"
/* Families: act (a1 a2 a3, at least 2), off (o1), cond (c1 c2, at least 2). */
/* clang-format off */
#define MANIFEST_ENTRIES                                                                                     \
    ENTRY("r", "a1", "act") "," ENTRY("r", "a2", "act") "," ENTRY("r", "a3", "act") ","                      \
    ENTRY("r", "o1", "off") "," ENTRY("r", "c1", "cond") "," ENTRY("r", "c2", "cond")
#define MANIFEST_FAMILIES                                                                                    \
    FAMILY("act", "active", "2") "," FAMILY("off", "inactive", "0") "," FAMILY("cond", "data_conditional", "2")
/* clang-format on */
#define MANIFEST                                                                                             \
    META_WITH("infer", GRADIENTS("complete", CONTRACT(MANIFEST_DIGEST, MANIFEST_ENTRIES, MANIFEST_FAMILIES)))

/* states: one letter for each of a1 a2 a3 o1 c1 c2: p(resent) m(issing) z(ero) n(on-finite) - (no record). */
static void put_manifest(struct text *text, const char *states)
{
    static const char *const keys[] = {"a1", "a2", "a3", "o1", "c1", "c2"};
    put(text, MANIFEST);
    put_span(text, "a", "", 0, 5, true);
    for (size_t i = 0; i < 6; i++) {
        const char *state = states[i] == 'p'   ? "present"
                            : states[i] == 'm' ? "missing"
                            : states[i] == 'z' ? "zero"
                                               : "non_finite";
        if (states[i] != '-') put_gradient(text, keys[i], "r", keys[i], state);
    }
}

static void test_manifest(void **state) /* 11.3 and 11.4 */
{
    (void)state;
    static const struct {
        const char *states, *complete, *failed;
    } cases[] = {
        {"pppmpp", "", ""},
        {"ppmmmm", "", ""}, /* two of three are enough; a conditional family may have none */
        {"pzmmmm", "error gradient_active_family_below_minimum act 1\n",
         "error gradient_active_family_below_minimum act 1\n"},
        {"pp-mmm", "error gradient_manifest_missing_key r a3\n",
         "warning gradient_manifest_missing_key r a3\n"},
        {"p--mmm",
         "error gradient_manifest_missing_key r a2\nerror gradient_manifest_missing_key r a3\n"
         "error gradient_active_family_below_minimum act 1\n",
         "warning gradient_manifest_missing_key r a2\nwarning gradient_manifest_missing_key r a3\n"},
        {"pppzmm", "error gradient_inactive_family_leakage off 1\n",
         "error gradient_inactive_family_leakage off 1\n"},
        {"pppnmm", "error gradient_family_non_finite off 1\nerror gradient_inactive_family_leakage off 1\n",
         "error gradient_family_non_finite off 1\nerror gradient_inactive_family_leakage off 1\n"},
        {"pppmpm", "error gradient_conditional_family_below_minimum cond 1\n",
         "error gradient_conditional_family_below_minimum cond 1\n"},
        {"pppmp-",
         "error gradient_manifest_missing_key r c2\nerror gradient_conditional_family_below_minimum cond 1\n",
         "warning gradient_manifest_missing_key r c2\n"},
        {"pnnmzn",
         "error gradient_family_non_finite act 2\nerror gradient_active_family_below_minimum act 1\n"
         "error gradient_family_non_finite cond 1\n",
         "error gradient_family_non_finite act 2\nerror gradient_active_family_below_minimum act 1\n"
         "error gradient_family_non_finite cond 1\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct text text = {0};
        put_manifest(&text, cases[i].states);
        put_end(&text, 5);
        expect(&text, cases[i].complete);
        char expected[1024];
        snprintf(expected, sizeof expected, "warning capture_failed killed\n%s", cases[i].failed);
        put_manifest(&text, cases[i].states);
        put_failed(&text, 5);
        expect(&text, expected);
    }

    /* Observed keys in byte order; the first record of a key is the one that counts. */
    struct text text = {0};
    put_manifest(&text, "pp-mmm");
    put_gradient(&text, "x1", "s", "a1", "missing");
    put_gradient(&text, "x2", "r", "zz", "missing");
    put_gradient(&text, "x3", "r", "a1", "non_finite");
    put_gradient(&text, "x4", "r", "a1", "missing");
    put_gradient(&text, "x5", "r", "zz", "missing");
    put_end(&text, 5);
    expect(&text,
           "error gradient_manifest_duplicate_key r a1 3\nerror gradient_manifest_duplicate_key r zz 2\n"
           "error gradient_manifest_undeclared_key r zz\nerror gradient_manifest_undeclared_key s a1\n"
           "error gradient_manifest_missing_key r a3\n");
}

/* ---- labels ---- */

#define LABELS(required, gpu, cpu)                                                                           \
    META_WITH("infer", LEVELS_NONE ",\"required_semantic_labels\":[" required                                \
                                   "],\"gpu_expected_semantic_labels\":[" gpu                                \
                                   "],\"cpu_only_semantic_labels\":[" cpu "]")

static void test_labels(void **state) /* steps 19 and 20 */
{
    (void)state;
    static const struct {
        const char *meta, *issues; /* spans are named a, b, b */
    } cases[] = {
        {LABELS("\"a\"", "", ""), ""},
        {LABELS("\"b\",\"c\",\"a\"", "", ""), "required_semantic_label_cardinality b 2\n"
                                              "required_semantic_label_cardinality c\n"},
        {LABELS("\" \",\"c\",\" \"", "", ""),
         "empty_required_semantic_label  \nrequired_semantic_label_cardinality  \n"
         "required_semantic_label_cardinality c\n"
         "empty_required_semantic_label  \nduplicate_required_semantic_label  \n"
         "required_semantic_label_cardinality  \n"},
        {LABELS("\"a\"", "\"a\"", ""), ""},
        {LABELS("\"a\"", "", "\"a\""), ""},
        {LABELS("\"a\"", "\"a\"", "\"a\""), "overlapping_semantic_label_classification a\n"},
        {LABELS("\"a\"", "\"a\",\"a\"", ""), "duplicate_semantic_label_classification a\n"
                                             "overlapping_semantic_label_classification a\n"},
        {LABELS("\"a\"", "\"a\"", "\"\""), "empty_semantic_label_classification \n"
                                           "unrequired_semantic_label_classification \n"
                                           "incomplete_semantic_label_partition\n"},
        {LABELS("\"a\"", "", "\"x\""), "unrequired_semantic_label_classification x\n"
                                       "incomplete_semantic_label_partition\n"},
        {LABELS("", "\"x\"", ""), "unrequired_semantic_label_classification x\n"
                                  "incomplete_semantic_label_partition\n"},
        {LABELS("\"a\",\"a\"", "\"a\"", ""), "duplicate_required_semantic_label a\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int failed = 0; failed < 2; failed++) { /* all of them are soft */
            struct text text = {0}, expected = {0};
            put(&text, "%s", cases[i].meta);
            put_span(&text, "a", "", 0, 5, true);
            for (int j = 0; j < 2; j++)
                put(&text,
                    "{\"kind\":\"span_start\",\"id\":\"s%d\",\"parent_id\":\"a\",\"name\":\"b\",\"start_ns\":"
                    "0,"
                    "\"span_kind\":\"op\"}\n{\"kind\":\"span_end\",\"id\":\"s%d\"}\n",
                    j, j);
            put(&expected, "%s", failed ? "warning capture_failed killed\n" : "");
            for (const char *line = cases[i].issues; *line; line += strcspn(line, "\n") + 1)
                put(&expected, "%s %.*s\n", failed ? "warning" : "error", (int)strcspn(line, "\n"), line);
            if (failed)
                put_failed(&text, 5);
            else
                put_end(&text, 5);
            expect(&text, expected.bytes);
            free(expected.bytes);
        }
    }
}

/* ---- the whole ---- */

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

static void test_broken(void **state) /* 16.3 */
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

static void test_coverage(void **state) /* 10.2 */
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

static void test_messages(void **state) /* ids are quoted, controls escaped, long ones cut at a character */
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

static void test_names(void **state) /* 10.3: 57 codes, each provoked by a test above */
{
    (void)state;
    assert_int_equal(HEALTH_CODE_COUNT, 57);
    for (int i = 0; i < HEALTH_CODE_COUNT; i++)
        if (!seen[i]) fail_msg("no test provokes %s", health_code_name(i));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_run),       cmocka_unit_test(test_unreadable),
        cmocka_unit_test(test_minimal),   cmocka_unit_test(test_span_set),
        cmocka_unit_test(test_each_span), cmocka_unit_test(test_references),
        cmocka_unit_test(test_evidence),  cmocka_unit_test(test_edges),
        cmocka_unit_test(test_pairing),   cmocka_unit_test(test_gradient_records),
        cmocka_unit_test(test_digests),   cmocka_unit_test(test_gate),
        cmocka_unit_test(test_contract),  cmocka_unit_test(test_manifest),
        cmocka_unit_test(test_labels),    cmocka_unit_test(test_broken),
        cmocka_unit_test(test_coverage),  cmocka_unit_test(test_messages),
        cmocka_unit_test(test_names),
    };
    return run_tap(tests);
}
