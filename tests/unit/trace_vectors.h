/* Small streams for the tests of the trace reader: doc/spec/trace.md 16. */
#ifndef CGTRACE_TESTS_UNIT_TRACE_VECTORS_H
#define CGTRACE_TESTS_UNIT_TRACE_VECTORS_H

#include <stdlib.h>
#include <string.h>

#include "analyzer/trace/trace.h"
#include "tests/unit/cmocka_tap.h"

#define CONTRACT                                                                                             \
    "{\"measurement_scope\":\"unknown\",\"operations\":\"none\",\"logical_memory\":\"none\","                \
    "\"physical_memory\":\"none\",\"device_timing\":\"none\"}"
/* The minimal meta line, with another schema, contract, tags or further members. */
#define META_WITH(schema, contract, tags, more)                                                              \
    "{\"kind\":\"meta\",\"schema\":\"" schema "\",\"run_id\":\"r\",\"correlation_id\":\"c\","                \
    "\"entrypoint\":\"e\",\"phase\":\"infer\",\"timestamp\":\"t\",\"capture_step\":1,\"warmup_steps\":0,"    \
    "\"device\":\"cpu\",\"timing_mode\":\"host\",\"capture_contract\":" contract ",\"tags\":" tags more "}"
#define META META_WITH("candle-graph/trace/10", CONTRACT, "{}", "")
#define SPAN_A                                                                                               \
    "{\"kind\":\"span_start\",\"id\":\"a\",\"name\":\"a\",\"start_ns\":0,\"span_kind\":\"function\","        \
    "\"measured\":true}"
#define END_A    "{\"kind\":\"span_end\",\"id\":\"a\",\"duration_ns\":5}"
#define TERMINAL "{\"kind\":\"terminal\",\"outcome\":\"complete\",\"timestamp_ns\":5}"
#define STREAM   META "\n" SPAN_A "\n" END_A "\n" TERMINAL "\n"
/* A record inside the minimal stream. */
#define AROUND(line) META "\n" SPAN_A "\n" END_A "\n" line "\n" TERMINAL "\n"

/* A whole stream and its answer: message NULL means accepted, else a part of the error message. */
struct vector {
    const char *name;
    const char *text;
    const char *message;
};
#define ACCEPT(name, text)                                                                                   \
    {                                                                                                        \
        name, text, NULL                                                                                     \
    }
#define REJECT(name, text, message)                                                                          \
    {                                                                                                        \
        name, text, message                                                                                  \
    }

/* With the instructions of this processor, after a look that those of any processor give the same answer. */
static inline int load_both(const char *text, size_t length, struct cg_trace **trace, struct cg_error *error)
{
    static const struct cg_load_options portable = {.portable = true};
    struct cg_error other_error = {0};
    struct cg_trace *other = NULL;
    int other_status = trace_load_bytes("test", text, length, &portable, &other, &other_error);
    int status = trace_load_bytes("test", text, length, NULL, trace, error);
    trace_free(other);
    assert_int_equal(status, other_status);
    assert_string_equal(error->message, other_error.message);
    return status;
}

static inline struct cg_trace *accepted(const char *text, size_t length)
{
    struct cg_trace *trace = NULL;
    struct cg_error error = {0};
    if (load_both(text, length, &trace, &error) != 0) fail_msg("refused: %s", error.message);
    return trace;
}

/* The message of a refusal with this exit status. */
static inline const char *refused(const char *text, size_t length, int status)
{
    static struct cg_error error;
    struct cg_trace *trace = NULL;
    error = (struct cg_error){0};
    int answer = load_both(text, length, &trace, &error);
    assert_null(trace);
    assert_int_equal(answer, status);
    assert_int_equal(error.status, status);
    assert_non_null(strstr(error.message, "test"));
    return error.message;
}

static inline void run_vector(void **state)
{
    const struct vector *vector = *state;
    if (vector->message == NULL) {
        trace_free(accepted(vector->text, strlen(vector->text)));
        return;
    }
    const char *message = refused(vector->text, strlen(vector->text), CG_EXIT_INPUT);
    if (strstr(message, vector->message) == NULL)
        fail_msg("expected \"%s\" in the message: %s", vector->message, message);
}

/* One test for each vector, from tests on. */
static inline void add_vectors(struct CMUnitTest *tests, const struct vector *vectors, size_t count)
{
    for (size_t i = 0; i < count; i++)
        tests[i] = (struct CMUnitTest){vectors[i].name, run_vector, NULL, NULL, (void *)&vectors[i]};
}
#define COUNT(array) (sizeof(array) / sizeof *(array))

#endif
