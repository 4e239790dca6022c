/* What the tests of health share: they are one program in several files, so that it can be seen whether each
 * code was provoked. */
#ifndef CGTRACE_TESTS_UNIT_HEALTH_H
#define CGTRACE_TESTS_UNIT_HEALTH_H

#include "tests/unit/plane_trace.h"

#include "analyzer/planes/health_codes.h"
#include "analyzer/planes/planes.h"

/* In the order in which they run; the last one looks at health_seen. */
#define HEALTH_TESTS(T)                                                                                      \
    T(test_run)                                                                                              \
    T(test_unreadable)                                                                                       \
    T(test_minimal)                                                                                          \
    T(test_span_set)                                                                                         \
    T(test_each_span)                                                                                        \
    T(test_references)                                                                                       \
    T(test_evidence)                                                                                         \
    T(test_edges)                                                                                            \
    T(test_pairing)                                                                                          \
    T(test_gradient_records)                                                                                 \
    T(test_digests)                                                                                          \
    T(test_gate)                                                                                             \
    T(test_contract)                                                                                         \
    T(test_manifest)                                                                                         \
    T(test_labels)                                                                                           \
    T(test_broken)                                                                                           \
    T(test_coverage)                                                                                         \
    T(test_messages)                                                                                         \
    T(test_names)
#define HEALTH_TEST_DECLARE(name) void name(void **state);
HEALTH_TESTS(HEALTH_TEST_DECLARE)
#undef HEALTH_TEST_DECLARE

extern bool health_seen[HEALTH_CODE_COUNT]; /* codes that some test has provoked */

/* "error open_span s3\n" for each issue: severity, code, then the ids and the number where there are any. The
 * warnings of absent evidence are left out unless asked for: nearly every small trace has them. */
static inline struct text describe(const struct cg_trace *trace, const struct health *health, bool absent)
{
    struct text text = {0};
    put(&text, "%s", "");
    for (size_t i = 0; i < health->issue_count; i++) {
        const struct health_issue *issue = &health->issues[i];
        health_seen[issue->code] = true;
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

static inline void expect_trace(struct cg_trace *trace, bool absent, const char *expected)
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
static inline void expect(struct text *text, const char *expected)
{
    expect_trace(load(text), false, expected);
}

static inline void put_failed(struct text *text, uint64_t time)
{
    put(text, "{\"kind\":\"terminal\",\"outcome\":\"failed\",\"timestamp_ns\":%llu,\"reason\":\"killed\"}\n",
        (unsigned long long)time);
}

/* META and a measured root "a" from 0 to 5 (16.2). */
static inline void put_minimal(struct text *text)
{
    put(text, META);
    put_span(text, "a", "", 0, 5, true);
}

static inline void put_open(struct text *text, const char *id, const char *parent, const char *name)
{
    put(text, "{\"kind\":\"span_start\",\"id\":\"%s\",", id);
    if (*parent) put(text, "\"parent_id\":\"%s\",", parent);
    put(text, "\"name\":\"%s\",\"start_ns\":0,\"span_kind\":\"function\"}\n", name);
}

static inline void put_op(struct text *text, const char *span, const char *inputs, const char *output,
                          uint64_t time, uint64_t duration)
{
    put(text,
        "{\"kind\":\"op\",\"span_id\":\"%s\",\"op_name\":\"mm\",\"inputs\":[%s],\"output\":\"%s\",\"shape\":["
        "],"
        "\"dtype\":\"f32\",\"device\":\"cpu\",\"timestamp_ns\":%llu,\"duration_ns\":%llu,"
        "\"input_dense_bytes\":0}\n",
        span, inputs, output, (unsigned long long)time, (unsigned long long)duration);
}

static inline void put_call(struct text *text, const char *from, const char *to, uint64_t duration)
{
    put(text,
        "{\"kind\":\"edge\",\"edge_kind\":\"call\",\"from_span\":\"%s\",\"to_span\":\"%s\","
        "\"host_duration_ns\":%llu}\n",
        from, to, (unsigned long long)duration);
}

static inline void put_data(struct text *text, const char *from, const char *to)
{
    put(text, "{\"kind\":\"edge\",\"edge_kind\":\"data\",\"from_tensor\":\"%s\",\"to_tensor\":\"%s\"}\n",
        from, to);
}

#endif
