/* Whole streams: framing, order of records, the document, dense bytes (doc/spec/trace.md 1, 6.2 to
 * 8, 16.2, 16.5). */
#include "tests/unit/trace_vectors.h"

#include <math.h>
#include <stdio.h>

#include "analyzer/trace/strings.h"

#define NBSP "\xC2\xA0"
#define IDEO "\xE3\x80\x80"
#define NEL  "\xC2\x85"
#define STATS(label, shape, elements, non_finite, rms, abs_max, mean)                                        \
    "{\"kind\":\"tensor_stats\",\"span_id\":\"a\",\"label\":\"" label "\",\"shape\":" shape                  \
    ",\"dtype\":\"f32\",\"elements\":" elements ",\"non_finite\":" non_finite ",\"rms\":" rms                \
    ",\"abs_max\":" abs_max ",\"mean\":" mean "}"
#define GOOD_STATS              STATS("l", "[2,3]", "6", "0", "1.0", "2.0", "0.5")
#define END_WITH(terminal)      META "\n" SPAN_A "\n" END_A "\n" terminal "\n"
#define TERMINAL_OF(o, t, more) "{\"kind\":\"terminal\",\"outcome\":\"" o "\",\"timestamp_ns\":" t more "}"
#define MEMORY(t)                                                                                            \
    "{\"kind\":\"memory\",\"timestamp_ns\":" t                                                               \
    ",\"storage_id\":\"s\",\"tensor_id\":\"t\",\"span_id\":\"a\","                                           \
    "\"device\":\"cpu\",\"bytes\":1,\"action\":\"alloc\",\"dtype\":\"u8\"}"
#define OP(t, d)                                                                                             \
    "{\"kind\":\"op\",\"span_id\":\"a\",\"op_name\":\"o\",\"shape\":[],\"dtype\":\"u8\",\"device\":\"cpu\"," \
    "\"duration_ns\":" d ",\"timestamp_ns\":" t ",\"input_dense_bytes\":0}"

static const struct vector vectors[] = {
    ACCEPT("minimal stream", STREAM),
    ACCEPT("CRLF line ends", META "\r\n" SPAN_A "\r\n" END_A "\r\n" TERMINAL "\r\n"),
    ACCEPT("no final newline", META "\n" SPAN_A "\n" END_A "\n" TERMINAL),
    ACCEPT("carriage return at the end of the file", META "\n" SPAN_A "\n" END_A "\n" TERMINAL "\r"),
    ACCEPT("blank lines anywhere",
           "\n \n\t\r\n" META "\n\n\n" SPAN_A "\n" NBSP "\n" END_A "\n\v\f\n" TERMINAL "\n\n  "),
    ACCEPT("Unicode white space around lines",
           NBSP META IDEO "\n\v" SPAN_A NEL "\n" IDEO "\f " END_A "\v\n\xE2\x80\x80\xE2\x80\x8A" TERMINAL
                          "\xE1\x9A\x80\xE2\x80\xA8\xE2\x80\xA9\xE2\x80\xAF\xE2\x81\x9F\n"),
    REJECT("byte order mark", "\xEF\xBB\xBF" STREAM, "test:1:1: byte order mark"),
    REJECT("byte order mark in a later line", META "\n\xEF\xBB\xBF" SPAN_A "\n" TERMINAL,
           "test:2:1: byte order mark"),
    REJECT("U+200B on a line", AROUND("\xE2\x80\x8B"), "test:4:1: expected a JSON object"),
    REJECT("U+180E on a line", AROUND("\xE1\xA0\x8E"), "test:4:1: expected a JSON object"),
    REJECT("U+001C on a line", AROUND("\x1C"), "test:4:1: expected a JSON object"),
    REJECT("vertical tab inside a line", AROUND("{\v}"), "key in quotes"),
    REJECT("lone carriage return between records", META "\r" SPAN_A "\n" TERMINAL,
           "test:1:356: text after the record"),
    REJECT("byte 0xFF on a line", AROUND("\xFF"), "test:4:1: not valid UTF-8"),
    REJECT("byte 0xFF after a record", META "\n" SPAN_A "\xFF\n" TERMINAL, "not valid UTF-8"),
    REJECT("byte 0xFF in a string", AROUND("{\"kind\":\"op\",\"x\":\"\xFF\"}"),
           "test:4:19: op: not valid UTF-8"),
    REJECT("byte 0xFF in a key", AROUND("{\"k\xFF\":1}"), "test:4:4: not valid UTF-8"),
    REJECT("cut UTF-8 at the end of a line", META "\xE3\x80\n" TERMINAL, "not valid UTF-8"),
    REJECT("byte 0xFF after the terminal", STREAM "\xFF", "follows the terminal"),
    REJECT("empty file", "", "no record at all"),
    REJECT("blank lines only", "\n \n\t\n", "no record at all"),
    REJECT("cut inside a line", META "\n" SPAN_A "\n{\"kind\":\"span_end\",\"id\":\"a",
           "the file is cut off here"),
    REJECT("cut between lines", META "\n" SPAN_A "\n", "without a terminal"),
    REJECT("R1 record after terminal", STREAM SPAN_A, "test:5: a record follows the terminal"),
    REJECT("R1 second terminal", STREAM TERMINAL, "test:5: a record follows the terminal"),
    REJECT("R1 before the record is looked at", STREAM "{", "test:5: a record follows the terminal"),
    REJECT("R2 meta second", AROUND(META), "test:4: meta: must be the first"),
    REJECT("R2 meta after a span", SPAN_A "\n" META "\n" TERMINAL, "test:1: the first record is not meta"),
    REJECT("R3 second start", AROUND(SPAN_A), "test:4: span_start: span \"a\" has started already"),
    REJECT("R4 end before start", META "\n" END_A "\n" SPAN_A "\n" TERMINAL,
           "test:2: span_end: span \"a\" has not"),
    REJECT("R4 end of another id", AROUND("{\"kind\":\"span_end\",\"id\":\"b\"}"),
           "span \"b\" has not started"),
    REJECT("R5 second end", AROUND(END_A), "test:4: span_end: span \"a\" has ended already"),
    ACCEPT("statistics", AROUND(GOOD_STATS)),
    REJECT("R6 elements not the product", AROUND(STATS("l", "[2,3]", "5", "0", "1", "1", "1")),
           "product of shape"),
    REJECT("R6 non_finite over elements", AROUND(STATS("l", "[2,3]", "6", "7", "1", "1", "1")), "7 of 6"),
    REJECT("R6 rms negative", AROUND(STATS("l", "[2,3]", "6", "0", "-1", "1", "1")), "rms"),
    REJECT("R6 abs_max negative", AROUND(STATS("l", "[2,3]", "6", "0", "1", "-0.5", "1")), "abs_max"),
    REJECT("R6 label blank", AROUND(STATS(" \\t", "[2,3]", "6", "0", "1", "1", "1")), "label is blank"),
    REJECT("R6 label empty", AROUND(STATS("", "[2,3]", "6", "0", "1", "1", "1")), "label is blank"),
    REJECT("R6 overflow before a zero",
           AROUND(STATS("l", "[18446744073709551615,2,0]", "0", "0", "0", "0", "0")), "product of shape"),
    ACCEPT("R6 zero before an overflow",
           AROUND(STATS("l", "[0,18446744073709551615,2]", "0", "0", "0", "0", "0"))),
    REJECT("rms null", AROUND(STATS("l", "[2,3]", "6", "0", "null", "1", "1")), "\"rms\": expected a number"),
    ACCEPT("statistics of a scalar", AROUND(STATS("l", "[]", "1", "1", "0", "0", "-1"))),
    ACCEPT("rms -0.0 and abs_max -0.0", AROUND(STATS("l", "[1]", "1", "0", "-0.0", "-0", "1"))),
    ACCEPT("rms over abs_max", AROUND(STATS("l", "[1]", "1", "0", "100", "2", "1"))),
    REJECT("E3 trace/11", META_WITH("candle-graph/trace/11", CONTRACT, "{}", "") "\n" TERMINAL,
           "candle-graph/trace/11"),
    REJECT("E3 empty schema", META_WITH("", CONTRACT, "{}", "") "\n" TERMINAL, "meta: schema is \"\""),
    ACCEPT("trace/9", META_WITH("candle-graph/trace/9", CONTRACT, "{}", "") "\n" TERMINAL),
    REJECT("E4 statistics in trace/9",
           META_WITH("candle-graph/trace/9", CONTRACT, "{}", "") "\n" GOOD_STATS "\n" TERMINAL,
           "no such records in candle-graph/trace/9"),
    REJECT("R6 before E4",
           META_WITH("candle-graph/trace/9", CONTRACT, "{}", "") "\n" STATS("", "[]", "1", "0", "0", "0",
                                                                            "0") "\n" TERMINAL,
           "label is blank"),
    REJECT("E5 complete with a reason", END_WITH(TERMINAL_OF("complete", "5", ",\"reason\":\"x\"")),
           "has a reason"),
    REJECT("E5 complete with an empty reason", END_WITH(TERMINAL_OF("complete", "5", ",\"reason\":\"\"")),
           "has a reason"),
    ACCEPT("complete with reason null", END_WITH(TERMINAL_OF("complete", "5", ",\"reason\":null"))),
    ACCEPT("failed with a reason", END_WITH(TERMINAL_OF("failed", "5", ",\"reason\":\"x\""))),
    REJECT("E6 failed without reason", END_WITH(TERMINAL_OF("failed", "5", "")), "failed without a reason"),
    REJECT("E6 failed with a blank reason",
           END_WITH(TERMINAL_OF("failed", "5", ",\"reason\":\"" IDEO NBSP "\"")), "failed without a reason"),
    REJECT("E7 terminal before a span's end", END_WITH(TERMINAL_OF("complete", "4", "")),
           "timestamp_ns is 4, before the latest host time 5"),
    REJECT("E7 memory", AROUND(MEMORY("6")), "latest host time 6"),
    REJECT("E7 operation", AROUND(OP("4", "2")), "latest host time 6"),
    REJECT("E7 operation whose end saturates", AROUND(OP("18446744073709551615", "2")),
           "host time 18446744073709551615"),
    REJECT("E7 device_memory", AROUND("{\"kind\":\"device_memory\",\"timestamp_ns\":6,\"device\":\"d\"}"),
           "host time 6"),
    REJECT(
        "E7 open span",
        AROUND("{\"kind\":\"span_start\",\"id\":\"b\",\"name\":\"n\",\"start_ns\":6,\"span_kind\":\"op\"}"),
        "latest host time 6"),
    ACCEPT("E7 device intervals have another clock",
           AROUND("{\"kind\":\"device_interval\",\"span_id\":\"a\",\"device\":\"d\",\"stream_id\":\"s\","
                  "\"clock_id\":\"c\","
                  "\"backend\":\"b\",\"start_ns\":600,\"duration_ns\":1}")),
    REJECT("tags: value is no string",
           META_WITH("candle-graph/trace/10", CONTRACT, "{\"a\":1}", "") "\n" TERMINAL,
           "\"tags\": expected a string"),
    REJECT("tags: nested object",
           META_WITH("candle-graph/trace/10", CONTRACT, "{\"a\":{}}", "") "\n" TERMINAL,
           "\"tags\": expected a string"),
    REJECT(
        "known field twice in the contract",
        META_WITH(
            "candle-graph/trace/10",
            "{\"measurement_scope\":\"unknown\",\"measurement_scope\":\"unknown\",\"operations\":\"none\"}",
            "{}", "") "\n" TERMINAL,
        "\"measurement_scope\": given twice"),
    ACCEPT("a field `kind` inside the contract, twice",
           META_WITH("candle-graph/trace/10",
                     "{\"kind\":1,\"kind\":2,\"measurement_scope\":\"unknown\",\"operations\":\"none\","
                     "\"logical_memory\":\"none\",\"physical_memory\":\"none\",\"device_timing\":\"none\"}",
                     "{}", "") "\n" TERMINAL),
};

/* A stream with an unknown field of this many nested lists, or objects. */
static char *nested(size_t levels, bool objects, size_t *length)
{
    const char *head = META "\n" SPAN_A "\n{\"kind\":\"span_end\",\"id\":\"a\",\"duration_ns\":5,\"x\":";
    const char *tail = "}\n" TERMINAL "\n", *open = objects ? "{\"k\":" : "[", *close = objects ? "}" : "]";
    char *text = malloc(strlen(head) + strlen(tail) + levels * 8 + 2), *at = text;
    assert_non_null(text);
    at = stpcpy(at, head);
    for (size_t i = 0; i < levels; i++)
        at = stpcpy(at, open);
    at = stpcpy(at, "1");
    for (size_t i = 0; i < levels; i++)
        at = stpcpy(at, close);
    at = stpcpy(at, tail);
    *length = (size_t)(at - text);
    return text;
}

static void test_nesting(void **state)
{
    (void)state;
    size_t length;
    for (int objects = 0; objects < 2; objects++) {
        char *text = nested(126, objects, &length); /* and the record itself */
        trace_free(accepted(text, length));
        free(text);
        static const size_t too_deep[] = {127, 128, 10000, 1000000};
        for (size_t i = 0; i < COUNT(too_deep); i++) {
            text = nested(too_deep[i], objects, &length);
            assert_non_null(strstr(refused(text, length, CG_EXIT_INPUT), "nested more than 127"));
            free(text);
        }
    }
}

/* Bytes that C strings cannot hold. */
static void test_nul_bytes(void **state)
{
    (void)state;
    static const char line[] = META "\n\0\n" TERMINAL;
    assert_non_null(
        strstr(refused(line, sizeof line - 1, CG_EXIT_INPUT), "test:2:1: expected a JSON object"));
    static const char in_string[] = META "\n{\"kind\":\"op\",\"x\":\"\0\"}\n" TERMINAL;
    assert_non_null(strstr(refused(in_string, sizeof in_string - 1, CG_EXIT_INPUT), "test:2:19"));
    static const char escaped[] =
        META "\n{\"kind\":\"span_start\",\"id\":\"a\\u0000b\",\"name\":\"\\u0000\",\"start_ns\":0,"
             "\"span_kind\":\"op\"}\n" TERMINAL;
    struct cg_trace *trace = accepted(escaped, sizeof escaped - 1);
    struct cg_text id = trace_text(trace, trace->span.id[0]);
    assert_int_equal(id.length, 3);
    assert_memory_equal(id.bytes, "a\0b", 3);
    assert_int_equal(trace_text(trace, trace->span.name[0]).length, 1);
    assert_int_equal(trace_find(trace, "a", 1), CG_ABSENT);
    trace_free(trace);
}

static void assert_text(const struct cg_trace *trace, cg_str string, const char *expected)
{
    struct cg_text text = trace_text(trace, string);
    assert_int_equal(text.length, strlen(expected));
    assert_memory_equal(text.bytes, expected, text.length);
}

static void test_run(void **state)
{
    (void)state;
    static const char text[] = META_WITH(
        "candle-graph/trace/10",
        "{\"measurement_scope\":\"profiled_work\",\"operations\":\"complete\",\"gradients\":\"partial\","
        "\"gradient_contract\":{"
        "\"manifest_sha256\":\"m\",\"expected\":[{\"root\":\"r1\",\"key\":\"k1\",\"family\":\"f\"},{"
        "\"family\":\"f\",\"key\":"
        "\"k2\",\"root\":\"r2\"}],\"families\":[{\"family\":\"f\",\"expectation\":\"data_conditional\",\"min_"
        "present\":7}]},"
        "\"logical_memory\":\"partial\",\"physical_memory\":\"none\",\"device_timing\":\"complete\","
        "\"required_semantic_labels\":[\"x\",\"y\",\"x\"],\"cpu_only_semantic_labels\":[]}",
        "{\"s10\":\"1\",\"s2\":\"2\",\"a\":\"3\",\"s2\":\"4\",\"\":\"5\",\"s2\":\"6\"}",
        ",\"comparison_identity\":{\"workload_id\":\"w\",\"model_id\":\"m\",\"config_id\":\"c\",\"data_id\":"
        "\"d\","
        "\"seed_policy\":\"s\",\"physical_batch\":8,\"accumulation_steps\":18446744073709551615,"
        "\"precision\":\"p\","
        "\"device_state\":\"\",\"pair_id\":null},\"measured_region_device_synchronized\":true") "\n" TERMINAL;
    struct cg_trace *trace = accepted(text, sizeof text - 1);
    const struct cg_run *run = &trace->run;
    assert_text(trace, run->schema, "candle-graph/trace/10");
    assert_int_equal(run->phase, CG_PHASE_INFER);
    assert_int_equal(run->capture_step, 1);
    assert_true(run->measured_region_device_synchronized);
    assert_int_equal(run->candle_version, CG_ABSENT);
    const struct CG_OBJECT_CONTRACT *contract = &run->capture_contract;
    assert_int_equal(contract->measurement_scope, CG_SCOPE_PROFILED_WORK);
    assert_int_equal(contract->operations, CG_COVERAGE_COMPLETE);
    assert_int_equal(contract->activations, CG_COVERAGE_NONE);
    assert_int_equal(contract->gradients, CG_COVERAGE_PARTIAL);
    assert_int_equal(contract->required_semantic_labels.count, 3);
    assert_text(trace, trace->str_pool[contract->required_semantic_labels.first + 1], "y");
    assert_int_equal(contract->cpu_only_semantic_labels.count, 0);
    assert_true(contract->gradient_contract.present);
    assert_int_equal(contract->gradient_contract.expected_count, 2);
    assert_text(trace, contract->gradient_contract.expected[1].root, "r2");
    assert_text(trace, contract->gradient_contract.expected[1].key, "k2");
    assert_int_equal(contract->gradient_contract.families_count, 1);
    assert_int_equal(contract->gradient_contract.families[0].expectation, CG_EXPECTATION_DATA_CONDITIONAL);
    assert_int_equal(contract->gradient_contract.families[0].min_present, 7);
    assert_true(run->comparison_identity.present);
    assert_int_equal(run->comparison_identity.implementation_id, CG_ABSENT);
    assert_int_equal(run->comparison_identity.pair_id, CG_ABSENT);
    assert_text(trace, run->comparison_identity.device_state, "");
    assert_true(run->comparison_identity.accumulation_steps == UINT64_MAX);
    /* Byte order of the keys, the last value of equal ones: "" a s10 s2. */
    assert_int_equal(run->tags_count, 4);
    static const char *const keys[] = {"", "a", "s10", "s2"}, *const values[] = {"5", "3", "1", "6"};
    for (size_t i = 0; i < 4; i++) {
        assert_text(trace, run->tags[i].key, keys[i]);
        assert_text(trace, run->tags[i].value, values[i]);
    }
    trace_free(trace);
}

#define START(id, more)                                                                                      \
    "{\"kind\":\"span_start\",\"id\":\"" id "\",\"name\":\"n" id                                             \
    "\",\"span_kind\":\"module\",\"start_ns\":1" more "}\n"

static void test_spans(void **state)
{
    (void)state;
    static const char text[] = META "\n" START("s2", ",\"parent_id\":\"s10\",\"step\":\"backward\"")
        START("s10", "") START("s1", ",\"parent_id\":\"s2\",\"measured\":true")
            START("", ",\"parent_id\":\"nowhere\"") START("s\xC3\xA9", ",\"parent_id\":\"\",\"step\":null")
                START("s", "") "{\"kind\":\"span_end\",\"id\":\"s10\",\"duration_ns\":9}\n{\"kind\":\"span_"
                               "end\",\"id\":\"s\"}\n"
                               "{\"kind\":\"terminal\",\"outcome\":\"complete\",\"timestamp_ns\":10}";
    struct cg_trace *trace = accepted(text, sizeof text - 1);
    /* Bytes: 0xC3 of U+00E9 is greater than every ASCII byte, a shorter prefix comes first. */
    static const char *const ids[] = {"", "s", "s1", "s10", "s2", "s\xC3\xA9"};
    const cg_str strings = trace_string_count(trace);
    static const char *const names[] = {"n", "ns", "ns1", "ns10", "ns2", "ns\xC3\xA9"};
    static const uint32_t parents[] = {CG_NONE, CG_NONE, 4, CG_NONE, 3, 0};
    static const int closed[] = {0, 1, 0, 1, 0, 0}, durations[] = {0, 0, 0, 9, 0, 0},
                     steps[] = {0, 0, 0, 0, 2, 0};
    assert_int_equal(trace->span.rows, 6);
    for (uint32_t i = 0; i < 6; i++) {
        assert_text(trace, trace->span.id[i], ids[i]);
        assert_text(trace, trace->span.name[i], names[i]);
        assert_int_equal(trace->span.parent[i], parents[i]);
        assert_int_equal(trace->span.closed[i], closed[i]);
        assert_int_equal(trace->span.duration_ns[i], durations[i]);
        assert_int_equal(trace->span.step[i], steps[i]);
        assert_int_equal(trace->span.measured[i], i == 2);
        assert_int_equal(trace->span.span_kind[i], CG_SPAN_KIND_MODULE);
        assert_int_equal(trace_span(trace, trace->span.id[i]), i);
    }
    assert_non_null(trace->u64_pool); /* also without a list: a place in it is computed */
    assert_non_null(trace->str_pool);
    assert_text(trace, trace->span.parent_id[0], "nowhere");
    assert_int_equal(trace->span.parent_id[1], CG_ABSENT);
    assert_int_equal(trace_span(trace, trace->span.parent_id[0]), CG_NONE);
    assert_int_equal(trace_span(trace, CG_ABSENT), CG_NONE);
    /* What is interned into a trace that is read already is the id of no span. */
    static const char late[] = "span:late";
    cg_str string =
        strings_intern(trace->strings, strings_hash(late, sizeof late - 1), late, sizeof late - 1);
    assert_true(string > strings);
    assert_int_equal(trace_span(trace, string), CG_NONE);
    assert_true(trace->latest_host_ns == 10);
    assert_true(trace->file_bytes == sizeof text - 1);
    trace_free(trace);
}

/* 16.5 and the rules of 8: explicit wins, saturation, 0 wherever a dimension is 0, unknown dtype. */
static void test_dense_bytes(void **state)
{
    (void)state;
    static const struct {
        const char *shape, *dtype, *explicit_bytes;
        bool known;
        uint64_t bytes;
    } cases[] = {
        {"[32,32]", "f32", NULL, true, 4096},
        {"[]", "F64", NULL, true, 8},
        {"[3]", " bf16 ", NULL, true, 6},
        {"[0,9223372036854775808,4]", "u8", NULL, true, 0},
        {"[9223372036854775808,4,0]", "u8", NULL, true, 0},
        {"[9223372036854775808,4]", "u16", NULL, true, UINT64_MAX},
        {"[9223372036854775808]", "u8", NULL, true, UINT64_C(1) << 63},
        {"[9223372036854775808]", "i16", NULL, true, UINT64_MAX},
        {"[2]", "q4", NULL, false, 0},
        {"[2]", "", NULL, false, 0},
        {"[2]", "float32", NULL, false, 0},
        {"[2]", "f 32", NULL, false, 0},
        {"[2]", "f32", "0", true, 0},
        {"[2]", "q4", "7", true, 7},
        {"[2]", "f32", "null", true, 8},
        {"[3]", NBSP "Bool" IDEO, NULL, true, 3},
        {"[3]", "f8", NULL, true, 3},
        {"[3]", "i64", NULL, true, 24},
        {"[3]", "u32", NULL, true, 12},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[4096], explicit_op[64] = "", explicit_tensor[64] = "";
        if (cases[i].explicit_bytes != NULL) {
            snprintf(explicit_op, sizeof explicit_op, ",\"output_dense_bytes\":%s", cases[i].explicit_bytes);
            snprintf(explicit_tensor, sizeof explicit_tensor, ",\"dense_bytes\":%s", cases[i].explicit_bytes);
        }
        int length = snprintf(
            text, sizeof text,
            META "\n{\"kind\":\"op\",\"span_id\":\"a\",\"op_name\":\"o\",\"shape\":%s,\"dtype\":\"%s\","
                 "\"device\":\"cpu\",\"duration_ns\":1,\"input_dense_bytes\":0%s}\n{\"kind\":\"tensor\","
                 "\"span_id\":\"a\",\"tensor_id\":\"t\",\"shape\":%s,\"dtype\":\"%s\",\"device\":\"cpu\"%s}\n"
                 "{\"kind\":\"memory\",\"timestamp_ns\":1,\"storage_id\":\"s\",\"tensor_id\":\"t\","
                 "\"span_id\":\"a\",\"device\":\"cpu\",\"bytes\":11,\"action\":\"alloc\",\"shape\":[5],"
                 "\"dtype\":\"f32\"}\n" TERMINAL,
            cases[i].shape, cases[i].dtype, explicit_op, cases[i].shape, cases[i].dtype, explicit_tensor);
        struct cg_trace *trace = accepted(text, (size_t)length);
        assert_int_equal(trace->op.output_dense_bytes_set[0], cases[i].known);
        assert_int_equal(trace->tensor.dense_bytes_set[0], cases[i].known);
        if (cases[i].known) {
            assert_true(trace->op.output_dense_bytes[0] == cases[i].bytes);
            assert_true(trace->tensor.dense_bytes[0] == cases[i].bytes);
        }
        assert_true(trace->memory.bytes[0] == 11);
        trace_free(trace);
    }
}

/* Every column of a record, in the order of the table and in another one; defaults and absent fields. */
static void test_columns(void **state)
{
    (void)state;
    static const char text[] =
        META "\n{\"kind\":\"op\",\"span_id\":\"a\",\"op_name\":\"mm\",\"inputs\":[\"x\",\"y\"],\"output\":"
             "\"z\",\"shape\":[2,3],"
             "\"dtype\":\"f32\",\"device\":\"cuda:0\",\"duration_ns\":7,\"timestamp_ns\":9,\"output_dense_"
             "bytes\":24,"
             "\"input_dense_bytes\":48,\"tid\":12,\"api\":\"cuLaunchKernel\",\"grid\":[1,2,3],\"error\":2}\n"
             "{\"input_dense_bytes\":1,\"unknown\":[{}],\"device\":\"cpu\",\"dtype\":\"q\",\"shape\":[],"
             "\"output\":null,"
             "\"op_name\":\"n\",\"duration_ns\":3,\"tid\":\"wrong\",\"grid\":[1,-2],\"span_id\":\"b\","
             "\"kind\":\"op\"}\n"
             "{\"kind\":\"device_memory\",\"timestamp_ns\":4,\"device\":\"d\",\"free_bytes\":0,\"capacity_"
             "bytes\":null}\n"
             "{\"kind\":\"edge\",\"edge_kind\":\"call\",\"from_span\":\"a\",\"to_span\":\"b\",\"host_"
             "duration_ns\":0,"
             "\"from_tensor\":\"t\"}\n"
             "{\"kind\":\"edge\",\"edge_kind\":\"data\",\"from_tensor\":\"t\",\"to_tensor\":\"u\"}\n"
             "{\"kind\":\"terminal\",\"outcome\":\"failed\",\"timestamp_ns\":16,\"reason\":\"why\"}\n";
    struct cg_load_options options = {.extras = true};
    struct cg_error error = {0};
    struct cg_trace *trace;
    if (trace_load_bytes("test", text, sizeof text - 1, &options, &trace, &error) != 0)
        fail_msg("%s", error.message);
    const struct cg_ops *op = &trace->op;
    assert_int_equal(op->rows, 2);
    assert_text(trace, op->span_id[0], "a");
    assert_text(trace, op->op_name[0], "mm");
    assert_int_equal(op->inputs[0].count, 2);
    assert_text(trace, trace->str_pool[op->inputs[0].first], "x");
    assert_text(trace, trace->str_pool[op->inputs[0].first + 1], "y");
    assert_text(trace, op->output[0], "z");
    assert_int_equal(op->shape[0].count, 2);
    assert_true(trace->u64_pool[op->shape[0].first + 1] == 3);
    assert_true(op->duration_ns[0] == 7 && op->timestamp_ns[0] == 9 && op->input_dense_bytes[0] == 48);
    assert_true(op->tid_set[0] == 1 && op->tid[0] == 12);
    assert_text(trace, op->api[0], "cuLaunchKernel");
    assert_int_equal(op->grid[0].count, 3);
    assert_true(trace->u64_pool[op->grid[0].first + 2] == 3);
    assert_true(op->error_set[0] == 1 && op->error[0] == 2);
    assert_int_equal(op->bytes_set[0], 0);
    assert_text(trace, op->span_id[1], "b");
    assert_int_equal(op->inputs[1].count, 0);
    assert_int_equal(op->output[1], CG_ABSENT);
    assert_int_equal(op->shape[1].count, 0);
    assert_true(op->timestamp_ns[1] == 0 && op->duration_ns[1] == 3);
    assert_int_equal(op->output_dense_bytes_set[1], 0);
    assert_int_equal(op->tid_set[1], 0);
    assert_int_equal(op->grid[1].count, 0);
    assert_int_equal(op->api[1], CG_ABSENT);
    const struct cg_device_memory *sample = &trace->device_memory;
    assert_true(sample->used_bytes_set[0] == 0 && sample->free_bytes_set[0] == 1 &&
                sample->free_bytes[0] == 0);
    assert_true(sample->reserved_bytes_set[0] == 0 && sample->capacity_bytes_set[0] == 0);
    const struct cg_edges *edge = &trace->edge;
    assert_int_equal(edge->edge_kind[0], CG_EDGE_KIND_CALL);
    assert_int_equal(edge->edge_kind[1], CG_EDGE_KIND_DATA);
    assert_int_equal(edge->from_tensor[0], CG_ABSENT);
    assert_int_equal(edge->host_duration_ns_set[0], 1);
    assert_int_equal(edge->host_duration_ns_set[1], 0);
    assert_text(trace, edge->to_tensor[1], "u");
    assert_int_equal(trace->terminal.outcome, CG_OUTCOME_FAILED);
    assert_text(trace, trace->terminal.reason, "why");
    assert_true(trace->terminal.timestamp_ns == 16);
    trace_free(trace);
    trace = accepted(text, sizeof text - 1);
    assert_null(trace->op.tid);
    assert_null(trace->op.grid);
    trace_free(trace);
}

int main(void)
{
    static struct CMUnitTest tests[COUNT(vectors) + 6];
    const struct CMUnitTest others[] = {cmocka_unit_test(test_nesting),     cmocka_unit_test(test_nul_bytes),
                                        cmocka_unit_test(test_run),         cmocka_unit_test(test_spans),
                                        cmocka_unit_test(test_dense_bytes), cmocka_unit_test(test_columns)};
    add_vectors(tests, vectors, COUNT(vectors));
    memcpy(tests + COUNT(vectors), others, sizeof others);
    return run_tap(tests);
}
