/* Files of other tools, cut and damaged at every byte: what is accepted becomes a trace without errors,
 * whatever the damage; and when memory is short it is said and nothing is left behind. */
#define OTHER_TESTS_TOO
#include "tests/unit/no_memory.h"
#include "tests/unit/plane_trace.h"

#include "analyzer/convert/convert.h"
#include "analyzer/planes/planes.h"

static const char kineto[] =
    "{\"schemaVersion\":1,\"deviceProperties\":[{\"id\":0,\"name\":\"A\"}],\"distributedInfo\":{\"rank\":1},"
    "\"traceEvents\":[\n{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":1,\"tid\":2,\"ts\":10.5,"
    "\"dur\":9},\n"
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"l\\u00e9\",\"pid\":1,\"tid\":2,\"ts\":11,\"dur\":2,"
    "\"args\":{\"correlation\":7}},{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,"
    "\"ts\":12,"
    "\"dur\":3,\"args\":{\"correlation\":7,\"device\":0,\"stream\":7,\"grid\":[1,2,3],\"block\":[1,1,1]}},"
    "{\"ph\":\"B\",\"name\":\"b\",\"pid\":1,\"tid\":2,\"ts\":30},{\"ph\":\"E\",\"pid\":1,\"tid\":2,\"ts\":31}"
    ","
    "{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":1,\"tid\":2,\"ts\":12,\"args\":{\"Addr\":64,\"Bytes\":8,"
    "\"Device Type\":1,\"Device Id\":0,\"Total Reserved\":9}},{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":1,"
    "\"tid\":2,\"ts\":14,\"args\":{\"Addr\":64,\"Bytes\":-8,\"Device Type\":1}}]}";

/* {"segments": [{"device": 0, "address": 16, "total_size": 9, "blocks": [{"size": 4, "state":
 * "active_allocated", "frames": []}]}], "device_traces": [[{"action": "alloc", "addr": 7, "size": 2,
 * "time_us": 5, "frames": [{"filename": "f", "line": 1, "name": "n"}]}, {"action": "free", "addr": 3, "size":
 * 2}, {"action": "oom", "size": 300}]]}, protocol 2. */
#define KEY(text, length)  "X" length "\0\0\0" text
#define TEXT(text, length) "X" length "\0\0\0" text
#define NUMBER(byte)       "K" byte
static const char snapshot[] = "\x80\x02}(" KEY("segments", "\x08") "]}(" KEY("device", "\x06") NUMBER("\0")
    KEY("address", "\x07") NUMBER("\x10") KEY("total_size", "\x0a") NUMBER("\x09")
        KEY("blocks", "\x06") "]}(" KEY("size", "\x04") NUMBER("\x04") KEY("state", "\x05")
            TEXT("active_allocated", "\x10") KEY("frames", "\x06") "]uaua" KEY(
                "device_traces", "\x0d") "](](}(" KEY("action", "\x06") TEXT("alloc", "\x05")
                KEY("addr", "\x04") NUMBER("\x07") KEY("size", "\x04") NUMBER("\x02") KEY("time_us", "\x07")
                    NUMBER("\x05") KEY("frames", "\x06") "]q\x01}(" KEY("filename", "\x08") TEXT("f", "\x01")
                        KEY("line", "\x04") NUMBER("\x01") KEY("name", "\x04")
                            TEXT("n", "\x01") "uau}(" KEY("action", "\x06") TEXT("free", "\x04")
                                KEY("addr", "\x04") NUMBER("\x03") KEY("size", "\x04")
                                    NUMBER("\x02") "u}(" KEY("action", "\x06") TEXT("oom", "\x03")
                                        KEY("size", "\x04") "M\x2c\x01" KEY("frames", "\x06") "h\x01ueeu.";

static int collect(void *context, const char *bytes, size_t length)
{
    struct text *text = context;
    if (text->length + length + 1 > text->capacity) {
        size_t larger = 2 * (text->length + length) + 1;
        char *moved = realloc(text->bytes, larger);
        if (!moved) return 12; /* ENOMEM */
        text->bytes = moved;
        text->capacity = larger;
    }
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
    return 0;
}

/* Whether it was accepted; the trace must then be without errors. */
static bool convert(const char *bytes, size_t length, struct convert_report *report)
{
    struct text text = {0};
    struct cg_error error = {0};
    struct health health;
    int status = convert_bytes("test", bytes, length, collect, &text, report, &error);
    if (status == 0) {
        struct cg_trace *trace = load_extras(&text);
        assert_true(health_make(trace, &health));
        for (size_t i = 0; i < health.issue_count; i++) {
            char message[HEALTH_MESSAGE_SIZE];
            health_message(trace, &health.issues[i], message);
            if (health.issues[i].severity == HEALTH_ERROR) fail_msg("%s", message);
        }
        health_free(&health);
        trace_free(trace);
    } else {
        assert_int_equal(status, CG_EXIT_INPUT);
        assert_true(error.message[0] != '\0');
        assert_null(strchr(error.message, '\n'));
        free(text.bytes);
    }
    return status == 0;
}

static void expect_whole(const char *bytes, size_t length, uint64_t memory, uint64_t intervals)
{
    struct convert_report report;
    assert_true(convert(bytes, length, &report));
    assert_int_equal(report.memory, memory);
    assert_int_equal(report.device_intervals, intervals);
    assert_int_equal(report.ops, 1);
    assert_false(report.cut);
}

static void whole(void **state)
{
    (void)state;
    expect_whole(kineto, sizeof kineto - 1, 2, 1);
    /* Two of before, the free of one of them, one new. */
    expect_whole(snapshot, sizeof snapshot - 1, 4, 0);
}

static void damage(const char *bytes, size_t length)
{
    static const char changes[] = {'\0', ' ', '"', '}', '9', '(', 'e', 'h', 'u', '\x7f', '\xff'};
    struct convert_report report;
    char *copy = malloc(length);
    assert_non_null(copy);
    for (size_t cut = 0; cut < length; cut++) {
        memcpy(copy, bytes, length);
        convert(copy, cut, &report);
        for (size_t i = 0; i < sizeof changes; i++) {
            copy[cut] = changes[i];
            convert(copy, length, &report);
        }
        /* A byte taken out. */
        memcpy(copy, bytes, cut);
        memcpy(copy + cut, bytes + cut + 1, length - cut - 1);
        convert(copy, length - 1, &report);
    }
    free(copy);
}

static void damaged_json(void **state)
{
    (void)state;
    damage(kineto, sizeof kineto - 1);
}
static void damaged_pickle(void **state)
{
    (void)state;
    damage(snapshot, sizeof snapshot - 1);
}

static int discard(void *context, const char *bytes, size_t length)
{
    (void)context;
    (void)bytes;
    (void)length;
    return 0;
}

static void no_memory(void **state)
{
    (void)state;
#ifdef CAN_FAIL
    const char *const files[] = {kineto, snapshot};
    const size_t lengths[] = {sizeof kineto - 1, sizeof snapshot - 1};
    for (size_t file = 0; file < 2; file++) {
        bool done = false;
        for (long failing = 0; !done; failing++) {
            struct convert_report report;
            struct cg_error error = {0};
            long before = held;
            allowed = failing;
            int status = convert_bytes("test", files[file], lengths[file], discard, NULL, &report, &error);
            done = status == 0;
            allowed = -1;
            if (!done) assert_int_equal(status, CG_EXIT_IO);
            assert_int_equal(held, before);
        }
    }
#else
    (void)discard;
    skip_because("the allocator of this build cannot be told to fail");
#endif
}

static int refuse(void *context, const char *bytes, size_t length)
{
    (void)context;
    (void)bytes;
    (void)length;
    return 28; /* ENOSPC */
}

static void full_disk(void **state)
{
    (void)state;
    struct convert_report report;
    struct cg_error error = {0};
    assert_int_equal(convert_bytes("test", kineto, sizeof kineto - 1, refuse, NULL, &report, &error),
                     CG_EXIT_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(whole), cmocka_unit_test(damaged_json),
                                       cmocka_unit_test(damaged_pickle), cmocka_unit_test(no_memory),
                                       cmocka_unit_test(full_disk)};
    return run_tap(tests);
}
