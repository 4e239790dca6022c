/* Health of a run: what meta and terminal say (doc/spec/trace.md 10.1, steps 1 to 5). */
#include "tests/unit/health.h"

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

void test_run(void **state) /* step 1: each field alone, and the first of several */
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
            health_seen[HEALTH_RUN_PROVENANCE_INVALID] = true;
            snprintf(expected, sizeof expected, "the run's %s", cases[i].fault);
            health_message(trace, &health.issues[0], message);
            assert_string_equal(message, expected);
        }
        assert_int_equal(health.structurally_valid, !first);
        health_free(&health);
        trace_free(trace);
    }
}

void test_unreadable(
    void **state) /* steps 2, 3 and 5: the reader refuses such files, so the trace is changed */
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
