/* One line: syntax, types, presence, numbers, enums (doc/spec/trace.md 2 to 5, 6.1 and the vectors of 16.1).
 */
#include "tests/unit/trace_vectors.h"

#include <math.h>
#include <stdio.h>

/* A span_end of the open span s1; a gradient with these members. */
#define S1          "{\"kind\":\"span_start\",\"id\":\"s1\",\"name\":\"n\",\"start_ns\":0,\"span_kind\":\"op\"}\n"
#define LATE        "{\"kind\":\"terminal\",\"outcome\":\"complete\",\"timestamp_ns\":18446744073709551615}\n"
#define END(line)   META "\n" S1 line "\n" LATE
#define DURATION(n) END("{\"kind\":\"span_end\",\"id\":\"s1\",\"duration_ns\":" n "}")
#define UNKNOWN(v)  END("{\"kind\":\"span_end\",\"id\":\"s1\",\"x\":" v "}")
#define GRADIENT(m) AROUND("{\"kind\":\"gradient\",\"event_id\":\"g\",\"root\":\"r\",\"key\":\"k\"," m "}")
#define ANY(line)   AROUND(line)

static const struct vector vectors[] = {
    ACCEPT("duration missing", END("{\"id\":\"s1\",\"kind\":\"span_end\"}")),
    REJECT("duration null", DURATION("null"), "found null"),
    ACCEPT("duration 2^64-1", DURATION("18446744073709551615")),
    ACCEPT("duration 0", DURATION("0")),
    REJECT("duration 2^64", DURATION("18446744073709551616"), "18446744073709551615"),
    REJECT("duration 20 digits too large", DURATION("99999999999999999999"), "18446744073709551615"),
    REJECT("duration 5.0", DURATION("5.0"), "unsigned integer"),
    REJECT("duration 5e0", DURATION("5e0"), "unsigned integer"),
    REJECT("duration 5E0", DURATION("5E0"), "unsigned integer"),
    REJECT("duration -5", DURATION("-5"), "unsigned integer"),
    REJECT("duration -0", DURATION("-0"), "unsigned integer"),
    REJECT("duration string", DURATION("\"5\""), "found a string"),
    REJECT("duration true", DURATION("true"), "found a boolean"),
    REJECT("duration 05", DURATION("05"), "leading zero"),
    REJECT("duration 00", DURATION("00"), "leading zero"),
    REJECT("duration -01", DURATION("-01"), "leading zero"),
    REJECT("duration +1", DURATION("+1"), "unsigned integer"),
    REJECT("duration .5", DURATION(".5"), "unsigned integer"),
    REJECT("duration 1.", DURATION("1."), "digit after the point"),
    REJECT("duration 1e", DURATION("1e"), "digits in the exponent"),
    REJECT("duration 1e+", DURATION("1e+"), "digits in the exponent"),
    REJECT("duration bare minus", DURATION("-"), "expected a digit"),
    REJECT("duration 0x1", DURATION("0x1"), "expected ',' or '}'"),
    REJECT("duration NaN", DURATION("NaN"), "unsigned integer"),
    REJECT("duration 1 000", DURATION("1 000"), "expected ',' or '}'"),
    ACCEPT("unknown field twice", END("{\"kind\":\"span_end\",\"id\":\"s1\",\"x\":1,\"x\":2}")),
    REJECT("id twice", END("{\"kind\":\"span_end\",\"id\":\"s1\",\"id\":\"s1\"}"), "\"id\": given twice"),
    REJECT("kind twice", END("{\"kind\":\"span_end\",\"kind\":\"span_end\",\"id\":\"s1\"}"),
           "\"kind\": given twice"),
    REJECT("kind twice, the second last", END("{\"kind\":\"span_end\",\"id\":\"s1\",\"kind\":\"span_end\"}"),
           "\"kind\": given twice"),
    REJECT("kind twice, neither first", END("{\"id\":\"s1\",\"kind\":\"span_end\",\"kind\":\"op\"}"),
           "\"kind\": given twice"),
    REJECT("kind twice, one escaped",
           END("{\"kind\":\"span_end\",\"id\":\"s1\",\"\\u006bind\":\"span_end\"}"), "\"kind\": given twice"),
    ACCEPT("escaped key and value", END("{\"k\\u0069nd\":\"span\\u005fend\",\"id\":\"s1\"}")),
    ACCEPT("escaped field names", END("{\"kind\":\"span_end\",\"\\u0069\\u0064\":\"\\u0073\\u0031\"}")),
    REJECT("unknown 1e999", UNKNOWN("1e999"), "range of a double"),
    REJECT("unknown -1e999", UNKNOWN("-1e999"), "range of a double"),
    ACCEPT("unknown 1e-999", UNKNOWN("1e-999")),
    ACCEPT("unknown 0e999", UNKNOWN("0e999")),
    ACCEPT("unknown -0", UNKNOWN("-0")),
    REJECT("unknown lone high surrogate", UNKNOWN("\"\\ud800\""), "surrogate"),
    REJECT("unknown lone low surrogate", UNKNOWN("\"\\udc00\""), "surrogate"),
    REJECT("unknown high surrogate twice", UNKNOWN("\"\\ud800\\ud800\""), "surrogate"),
    REJECT("unknown surrogate cut", UNKNOWN("\"\\ud800\\u12\""), "hexadecimal"),
    ACCEPT("unknown surrogate pair", UNKNOWN("\"\\ud83d\\uDE00\"")),
    ACCEPT("unknown NUL escape", UNKNOWN("\"\\u0000\"")),
    REJECT("unknown escape q", UNKNOWN("\"\\q\""), "unknown escape"),
    REJECT("unknown escape U", UNKNOWN("\"\\U0041\""), "unknown escape"),
    REJECT("unknown escape x", UNKNOWN("\"\\x41\""), "unknown escape"),
    REJECT("unknown escape at the end", UNKNOWN("\"\\"), "unknown escape"),
    REJECT("unknown raw tab in a string", UNKNOWN("\"\t\""), "control byte"),
    REJECT("unknown raw 0x1f in a string", UNKNOWN("\"\x1f\""), "control byte"),
    ACCEPT("unknown raw 0x7f and U+2028", UNKNOWN("\"\x7f\xE2\x80\xA8\xE2\x80\xA9\"")),
    ACCEPT("unknown byte order mark in a string", UNKNOWN("\"\xEF\xBB\xBF\"")),
    REJECT("unknown tru", UNKNOWN("tru"), "expected a JSON value"),
    REJECT("unknown truex", UNKNOWN("truex"), "expected ',' or '}'"),
    REJECT("unknown NaN", UNKNOWN("NaN"), "expected a JSON value"),
    REJECT("unknown Infinity", UNKNOWN("Infinity"), "expected a JSON value"),
    REJECT("unknown -Infinity", UNKNOWN("-Infinity"), "expected a digit"),
    ACCEPT("unknown 30 digits", UNKNOWN("123456789012345678901234567890")),
    REJECT("unknown overlong UTF-8", UNKNOWN("\"\xC0\xAF\""), "UTF-8"),
    REJECT("unknown surrogate in UTF-8", UNKNOWN("\"\xED\xA0\x80\""), "UTF-8"),
    REJECT("unknown over U+10FFFF", UNKNOWN("\"\xF4\x90\x80\x80\""), "UTF-8"),
    REJECT("unknown cut UTF-8", UNKNOWN("\"\xE2\x82\""), "UTF-8"),
    REJECT("unknown trailing comma in a list", UNKNOWN("[1,]"), "expected a JSON value"),
    REJECT("unknown trailing comma in an object", UNKNOWN("{\"a\":1,}"), "key in quotes"),
    REJECT("unknown list without comma", UNKNOWN("[1 2]"), "',' or ']'"),
    REJECT("unknown object without colon", UNKNOWN("{\"a\" 1}"), "':'"),
    REJECT("unknown object with bare key", UNKNOWN("{a:1}"), "key in quotes"),
    REJECT("unknown mismatched brackets", UNKNOWN("[{]}"), "key in quotes"),
    REJECT("unknown list closed by a brace", UNKNOWN("[1}"), "',' or ']'"),
    REJECT("unknown comment", UNKNOWN("1 /* c */"), "expected ',' or '}'"),
    REJECT("unknown single quotes", UNKNOWN("'a'"), "expected a JSON value"),
    REJECT("unknown missing value", UNKNOWN(""), "expected a JSON value"),
    ACCEPT("unknown deep mix", UNKNOWN("[[],{},{\"a\":[{\"b\":null},true,false,-1.5e3,\"\\n\"]}]")),
    REJECT("unknown vertical tab as space", UNKNOWN("\v1"), "expected a JSON value"),
    ACCEPT("space, tab and carriage return as space",
           END(" { \t\"kind\"\r:\"span_end\" , \"id\" :\t\"s1\"\r, \"duration_ns\" : 1 } ")),
    REJECT("text after the record", END("{\"kind\":\"span_end\",\"id\":\"s1\"} x"), "text after the record"),
    REJECT("two records in a line", END("{\"kind\":\"span_end\",\"id\":\"s1\"}{}"), "text after the record"),
    REJECT("empty object", ANY("{}"), "\"kind\": missing"),
    REJECT("empty object before members", ANY("{}\"kind\":\"span_end\",\"id\":\"a\"}"), "\"kind\": missing"),
    REJECT("object of a kind alone before members", ANY("{\"kind\":\"span_end\"}\"id\":\"a\"}"),
           "\"id\": missing"),
    REJECT("edge of a kind alone before members",
           ANY("{\"kind\":\"edge\"}\"edge_kind\":\"data\",\"from_tensor\":\"a\",\"to_tensor\":\"b\"}"),
           "\"edge_kind\": missing"),
    REJECT("array", ANY("[]"), "expected a JSON object"),
    REJECT("null", ANY("null"), "expected a JSON object"),
    REJECT("string", ANY("\"span_end\""), "expected a JSON object"),
    REJECT("number", ANY("42"), "expected a JSON object"),
    REJECT("kind in capitals", ANY("{\"kind\":\"Span_end\",\"id\":\"a\"}"), "expected one of"),
    REJECT("kind a number", ANY("{\"kind\":0,\"id\":\"a\"}"), "\"kind\": expected a string"),
    REJECT("kind null", ANY("{\"kind\":null,\"id\":\"a\"}"), "\"kind\": expected a string"),
    REJECT("kind missing", ANY("{\"id\":\"a\"}"), "\"kind\": missing"),
    REJECT("kind of a longer name", ANY("{\"kind\":\"operation\",\"id\":\"a\"}"), "expected one of"),
    REJECT("kind of a shorter name", ANY("{\"kind\":\"\",\"id\":\"a\"}"), "expected one of"),
    ACCEPT("norm 1", GRADIENT("\"state\":\"present\",\"norm\":1")),
    ACCEPT("norm null", GRADIENT("\"state\":\"missing\",\"norm\":null")),
    REJECT("norm string", GRADIENT("\"state\":\"present\",\"norm\":\"NaN\""), "expected a number"),
    REJECT("norm NaN", GRADIENT("\"state\":\"present\",\"norm\":NaN"), "expected a number"),
    REJECT("norm 1e400", GRADIENT("\"state\":\"present\",\"norm\":1e400"), "range of a double"),
    REJECT("norm true", GRADIENT("\"state\":\"present\",\"norm\":true"), "expected a number"),
    REJECT("state object", GRADIENT("\"state\":{\"present\":null}"), "\"state\": expected a string"),
    REJECT("state object with object", GRADIENT("\"state\":{\"present\":{}}"),
           "\"state\": expected a string"),
    REJECT("state object with list", GRADIENT("\"state\":{\"present\":[]}"), "\"state\": expected a string"),
    REJECT("state list", GRADIENT("\"state\":[\"present\"]"), "\"state\": expected a string"),
    REJECT("state number", GRADIENT("\"state\":0"), "\"state\": expected a string"),
    REJECT("state empty object", GRADIENT("\"state\":{}"), "\"state\": expected a string"),
    REJECT("state nonfinite", GRADIENT("\"state\":\"nonfinite\""), "non_finite"),
    REJECT("param_key is not key",
           ANY("{\"kind\":\"gradient\",\"event_id\":\"g\",\"root\":\"r\",\"param_key\":\"k\",\"state\":"
               "\"missing\"}"),
           "\"key\": missing"),
    REJECT("edge_kind number",
           ANY("{\"kind\":\"edge\",\"edge_kind\":0,\"from_span\":\"a\",\"to_span\":\"b\",\"host_duration_"
               "ns\":1}"),
           "\"edge_kind\": expected a string"),
    REJECT("edge_kind missing", ANY("{\"kind\":\"edge\",\"from_span\":\"a\",\"to_span\":\"b\"}"),
           "\"edge_kind\": missing"),
    REJECT("edge without members", ANY("{\"kind\":\"edge\"}"), "\"edge_kind\": missing"),
    REJECT("edge_kind unknown", ANY("{\"kind\":\"edge\",\"edge_kind\":\"Call\",\"from_span\":\"a\"}"),
           "call, data"),
    REJECT("edge_kind twice",
           ANY("{\"kind\":\"edge\",\"edge_kind\":\"data\",\"from_tensor\":\"a\",\"to_tensor\":\"b\","
               "\"edge_kind\":\"data\"}"),
           "\"edge_kind\": given twice"),
    ACCEPT("data edge, from_span of any type", ANY("{\"kind\":\"edge\",\"edge_kind\":\"data\",\"from_"
                                                   "tensor\":\"a\",\"to_tensor\":\"b\",\"from_span\":3}")),
    ACCEPT("data edge, from_span twice", ANY("{\"kind\":\"edge\",\"edge_kind\":\"data\",\"from_span\":3,"
                                             "\"from_span\":[],\"from_tensor\":\"a\","
                                             "\"to_tensor\":\"b\"}")),
    ACCEPT("call edge, edge_kind and kind last, foreign fields",
           ANY("{\"from_span\":\"a\",\"from_tensor\":7,\"to_span\":\"b\",\"host_duration_ns\":1,\"edge_"
               "kind\":\"call\","
               "\"kind\":\"edge\"}")),
    REJECT("call edge, from_span null",
           ANY("{\"kind\":\"edge\",\"edge_kind\":\"call\",\"from_span\":null,\"to_span\":\"b\",\"host_"
               "duration_ns\":1}"),
           "\"from_span\": expected a string"),
    REJECT("tensor, category null",
           ANY("{\"kind\":\"tensor\",\"span_id\":\"r\",\"tensor_id\":\"t\",\"shape\":[],\"dtype\":\"f32\","
               "\"device\":\"cpu\",\"category\":null}"),
           "\"category\": expected a string"),
    REJECT(
        "tensor, shape with a negative dimension",
        ANY("{\"kind\":\"tensor\",\"span_id\":\"r\",\"tensor_id\":\"t\",\"shape\":[1,-1],\"dtype\":\"f32\","
            "\"device\":\"cpu\"}"),
        "\"shape\": expected an unsigned integer"),
    REJECT("tensor, shape with a trailing comma",
           ANY("{\"kind\":\"tensor\",\"span_id\":\"r\",\"tensor_id\":\"t\",\"shape\":[1,],\"dtype\":\"f32\","
               "\"device\":\"cpu\"}"),
           "\"shape\": expected an unsigned integer"),
    REJECT("span_start, requires quotes around keys", ANY("{kind:\"op\"}"), "key in quotes"),
    REJECT("trailing comma in a record", END("{\"kind\":\"span_end\",\"id\":\"s1\",}"), "key in quotes"),
    REJECT("record that is never closed", END("{\"kind\":\"span_end\",\"id\":\"s1\""), "expected ',' or '}'"),
    REJECT("device_memory with a string", ANY("{\"kind\":\"device_memory\",\"timestamp_ns\":1,\"device\":1}"),
           "\"device\": expected a string, found a number"),
    ACCEPT("device_memory without values",
           ANY("{\"kind\":\"device_memory\",\"timestamp_ns\":1,\"device\":\"d\"}")),
    ACCEPT(
        "an extra field of ours with the wrong type",
        AROUND(
            "{\"kind\":\"device_interval\",\"span_id\":\"a\",\"device\":\"d\",\"stream_id\":\"s\",\"clock_"
            "id\":\"c\","
            "\"backend\":\"b\",\"start_ns\":1,\"duration_ns\":1,\"correlation\":\"x\",\"correlation\":{}}")),
};

/* Every field of every kind, written down from doc/spec/trace.md 3 and 4: type, presence.
 * Types: s string, u u64, f f64, b bool, S list of strings, U list of u64, o object, l list of objects, m
 * map, else an enum (one of its values stands behind the colon). Presence: r required, d default, o optional.
 */
struct spec_kind {
    const char *name;
    const char *prefix, *suffix; /* what stands around the members in a stream */
    const char *fields;
};
#define RECORD(kind) META "\n" SPAN_A "\n{\"kind\":\"" kind "\"", "}\n" LATE
static const struct spec_kind kinds[] = {
    {"meta", "{\"kind\":\"meta\"", "}\n" SPAN_A "\n" TERMINAL,
     "schema:s10r run_id:sr correlation_id:sr entrypoint:sr phase:train:r timestamp:sr capture_step:ur "
     "warmup_steps:ur "
     "device:sr measured_region_device_synchronized:bd timing_mode:device_synchronized:r capture_contract:cr "
     "comparison_identity:io tags:mr candle_version:so"},
    {"comparison_identity",
     "{\"kind\":\"meta\",\"schema\":\"candle-graph/trace/"
     "10\",\"run_id\":\"r\",\"correlation_id\":\"c\",\"entrypoint\":\"e\","
     "\"phase\":\"infer\",\"timestamp\":\"t\",\"capture_step\":1,\"warmup_steps\":0,\"device\":\"cpu\","
     "\"timing_mode\":"
     "\"host\",\"capture_contract\":" CONTRACT ",\"tags\":{},\"comparison_identity\":{\"unknown\":1",
     "}}\n" SPAN_A "\n" TERMINAL,
     "implementation_id:so workload_id:sr model_id:sr config_id:sr data_id:sr seed_policy:sr "
     "physical_batch:ur "
     "accumulation_steps:ur precision:sr device_state:sr pair_id:so"},
    {"capture_contract",
     "{\"kind\":\"meta\",\"schema\":\"candle-graph/trace/"
     "10\",\"run_id\":\"r\",\"correlation_id\":\"c\",\"entrypoint\":\"e\","
     "\"phase\":\"infer\",\"timestamp\":\"t\",\"capture_step\":1,\"warmup_steps\":0,\"device\":\"cpu\","
     "\"timing_mode\":"
     "\"host\",\"tags\":{},\"capture_contract\":{\"unknown\":1",
     "}}\n" SPAN_A "\n" TERMINAL,
     "measurement_scope:profiled_work:r operations:partial:r activations:partial:d tensors:complete:d "
     "gradients:none:d "
     "gradient_contract:go logical_memory:none:r physical_memory:partial:r device_timing:complete:r "
     "required_semantic_labels:Sd gpu_expected_semantic_labels:Sd cpu_only_semantic_labels:Sd"},
    {"gradient_contract",
     "{\"kind\":\"meta\",\"schema\":\"candle-graph/trace/"
     "10\",\"run_id\":\"r\",\"correlation_id\":\"c\",\"entrypoint\":\"e\","
     "\"phase\":\"infer\",\"timestamp\":\"t\",\"capture_step\":1,\"warmup_steps\":0,\"device\":\"cpu\","
     "\"timing_mode\":"
     "\"host\",\"tags\":{},\"capture_contract\":{\"measurement_scope\":\"unknown\",\"operations\":\"none\","
     "\"logical_memory\":\"none\",\"physical_memory\":\"none\",\"device_timing\":\"none\",\"gradient_"
     "contract\":{\"u\":1",
     "}}}\n" SPAN_A "\n" TERMINAL, "manifest_sha256:sr expected:er families:yr"},
    {"span_start", META "\n{\"kind\":\"span_start\"", "}\n" LATE,
     "id:sr parent_id:so name:sr start_ns:ur span_kind:module:r measured:bd step:optimizer:o"},
    {"span_end",
     META "\n{\"kind\":\"span_start\",\"id\":\"v\",\"name\":\"n\",\"start_ns\":0,\"span_kind\":\"op\"}\n"
          "{\"kind\":\"span_end\"",
     "}\n" LATE, "id:sr duration_ns:ud"},
    {"op", RECORD("op"),
     "span_id:sr op_name:sr inputs:Sd output:so shape:Ur dtype:sr device:sr duration_ns:ur timestamp_ns:ud "
     "output_dense_bytes:uo input_dense_bytes:ur"},
    {"tensor", RECORD("tensor"),
     "span_id:sr tensor_id:sr label:so shape:Ur dtype:sr device:sr requires_grad:bd dense_bytes:uo "
     "category:parameter:d"},
    {"tensor_stats", RECORD("tensor_stats"),
     "span_id:sr label:sr shape:Ur dtype:sr elements:ur non_finite:ur rms:fr abs_max:fr mean:fr"},
    {"memory", RECORD("memory"),
     "timestamp_ns:ur storage_id:sr tensor_id:sr span_id:sr op_name:so device:sr bytes:ur action:free:r "
     "shape:Ud dtype:sr "
     "category:gradient:d"},
    {"device_memory", RECORD("device_memory"),
     "timestamp_ns:ur device:sr used_bytes:uo free_bytes:uo reserved_bytes:uo capacity_bytes:uo"},
    {"device_interval", RECORD("device_interval"),
     "span_id:sr device:sr stream_id:sr clock_id:sr backend:sr start_ns:ur duration_ns:ur"},
    {"gradient", RECORD("gradient"), "event_id:sr root:sr key:sr state:non_finite:r norm:fo"},
    {"edge call", RECORD("edge"), "edge_kind:call:r from_span:sr to_span:sr host_duration_ns:ur"},
    {"edge data", RECORD("edge"), "edge_kind:data:r from_tensor:sr to_tensor:sr"},
    {"terminal", META "\n{\"kind\":\"terminal\"", "}\n", "outcome:failed:r timestamp_ns:ur reason:so"},
};

struct spec_field {
    char name[64], type, presence, value[256];
};

static size_t parse_fields(const char *text, struct spec_field *fields)
{
    size_t count = 0;
    while (*text != '\0') {
        struct spec_field *f = &fields[count++];
        char word[128], enumerator[64] = "";
        int used;
        assert_int_equal(sscanf(text, "%127s%n", word, &used), 1);
        text += used + (text[used] == ' ');
        char *colon = strchr(word, ':');
        snprintf(f->name, sizeof f->name, "%.*s", (int)(colon - word), word);
        f->presence = word[strlen(word) - 1];
        f->type = colon[1];
        if (strchr(colon + 1, ':') != NULL) {
            f->type = 'E';
            snprintf(enumerator, sizeof enumerator, "%.*s", (int)(strrchr(word, ':') - colon - 1), colon + 1);
        }
        const char *value =
            f->type == 's'   ? (strncmp(colon, ":s10", 4) == 0 ? "\"candle-graph/trace/10\"" : "\"v\"")
            : f->type == 'u' ? "1"
            : f->type == 'f' ? "1.5"
            : f->type == 'b' ? "true"
            : f->type == 'S' ? "[\"x\",\"y\"]"
            : f->type == 'U' ? "[1]"
            : f->type == 'm' ? "{\"k\":\"v\"}"
            : f->type == 'c' ? CONTRACT
            : f->type == 'i' ? "{\"workload_id\":\"v\",\"model_id\":\"v\",\"config_id\":\"v\",\"data_id\":"
                               "\"v\",\"seed_policy\":\"v\",\"physical_batch\":1,\"accumulation_steps\":1,"
                               "\"precision\":\"v\",\"device_state\":\"v\"}"
            : f->type == 'g' ? "{\"manifest_sha256\":\"v\",\"expected\":[],\"families\":[]}"
            : f->type == 'e' ? "[{\"root\":\"v\",\"key\":\"v\",\"family\":\"v\"}]"
            : f->type == 'y' ? "[{\"family\":\"v\",\"expectation\":\"active\",\"min_present\":1}]"
                             : "";
        if (f->type == 'E')
            snprintf(f->value, sizeof f->value, "\"%s\"", enumerator);
        else
            snprintf(f->value, sizeof f->value, "%s", value);
    }
    return count;
}

/* A stream with the record's fields in order, or backwards; the field at changed has another value, or none
 * (NULL), and stands there twice when the other value is "twice". */
static char *build(const struct spec_kind *kind, const struct spec_field *fields, size_t count,
                   size_t changed, const char *other, bool backwards)
{
    static char text[1 << 14];
    size_t used = (size_t)snprintf(text, sizeof text, "%s", kind->prefix);
    for (size_t n = 0; n < count; n++) {
        size_t i = backwards ? count - 1 - n : n;
        const char *value = i == changed ? other : fields[i].value;
        if (value == NULL) continue;
        bool twice = strcmp(value, "twice") == 0;
        for (int times = twice ? 2 : 1; times > 0; times--)
            used += (size_t)snprintf(text + used, sizeof text - used, ",\"%s\":%s", fields[i].name,
                                     twice ? fields[i].value : value);
    }
    snprintf(text + used, sizeof text - used, "%s", kind->suffix);
    return text;
}

static void expect(const char *text, bool accept, const char *field)
{
    struct cg_error error = {0};
    struct cg_trace *trace = NULL;
    int status = trace_load_bytes("test", text, strlen(text), NULL, &trace, &error);
    if (accept && status != 0) fail_msg("%s\nrefused: %s", text, error.message);
    if (!accept && status != CG_EXIT_INPUT) fail_msg("%s\naccepted, expected a refusal of %s", text, field);
    char named[96];
    snprintf(named, sizeof named, "field \"%s\"", field);
    if (!accept && strstr(error.message, named) == NULL)
        fail_msg("%s\ndoes not name %s: %s", text, field, error.message);
    trace_free(trace);
}

/* What no field of this type may hold. */
static const char *const *wrong_values(char type)
{
    static const char *const not_s[] = {"1", "true", "[]", "{}", NULL};
    static const char *const not_u[] = {"\"1\"", "1.0", "-1", "false", "[1]", "{}", "18446744073709551616",
                                        NULL};
    static const char *const not_f[] = {"\"1\"", "true", "[1.5]", "{}", "1e309", NULL};
    static const char *const not_b[] = {"0", "\"true\"", "[]", "{}", NULL};
    static const char *const not_list_s[] = {"\"x\"", "[1]", "[null]", "{}", "1", "[[\"x\"]]", NULL};
    static const char *const not_list_u[] = {"1", "[\"1\"]", "[null]", "{}", "[1.0]", "[-1]", "[[1]]", NULL};
    static const char *const not_object[] = {"[]", "\"x\"", "1", "true", NULL};
    static const char *const not_list[] = {"{}", "\"x\"", "1", "true", "[1]", "[[]]", NULL};
    static const char *const not_enum[] = {"\"no such value\"", "\"\"", "0", "true", "[]", "{}", NULL};
    switch (type) {
    case 's':
        return not_s;
    case 'u':
        return not_u;
    case 'f':
        return not_f;
    case 'b':
        return not_b;
    case 'S':
        return not_list_s;
    case 'U':
        return not_list_u;
    case 'e':
    case 'y':
        return not_list;
    case 'E':
        return not_enum;
    default:
        return not_object;
    }
}

static void test_kind(void **state)
{
    const struct spec_kind *kind = *state;
    struct spec_field fields[32] = {0};
    size_t count = parse_fields(kind->fields, fields);
    expect(build(kind, fields, count, count, "", false), true, "");
    expect(build(kind, fields, count, count, "", true), true, "");
    for (size_t i = 0; i < count; i++) {
        const struct spec_field *f = &fields[i];
        bool failed_needs_reason = strcmp(kind->name, "terminal") == 0 && strcmp(f->name, "reason") == 0;
        expect(build(kind, fields, count, i, "twice", false), false, f->name);
        if (failed_needs_reason) continue;
        expect(build(kind, fields, count, i, NULL, false), f->presence != 'r', f->name);
        expect(build(kind, fields, count, i, "null", false), f->presence == 'o', f->name);
    }
    for (size_t i = 0; i < count; i++)
        for (const char *const *wrong = wrong_values(fields[i].type); *wrong != NULL; wrong++)
            expect(build(kind, fields, count, i, *wrong, false), false, fields[i].name);
}

/* The enum values of doc/spec/trace.md 5, and the number that each has in the columns. */
static void test_enum_values(void **state)
{
    (void)state;
    static const char *const categories[] = {"parameter", "activation", "gradient", "optimizer", "other"};
    for (unsigned i = 0; i < COUNT(categories); i++) {
        char text[2048];
        int length = snprintf(
            text, sizeof text,
            META "\n" SPAN_A "\n"
                 "{\"kind\":\"memory\",\"timestamp_ns\":1,\"storage_id\":\"s\",\"tensor_id\":\"t\","
                 "\"span_id\":\"a\",\"device\":\"d\",\"bytes\":1,\"action\":\"free\",\"dtype\":\"u8\","
                 "\"category\":\"%s\"}\n" TERMINAL,
            categories[i]);
        struct cg_trace *trace = accepted(text, (size_t)length);
        assert_int_equal(trace->memory.category[0], i);
        assert_int_equal(trace->memory.action[0], CG_ACTION_FREE);
        trace_free(trace);
    }
}

static double norm_of(const char *literal)
{
    char text[2048];
    int length = snprintf(text, sizeof text, GRADIENT("\"state\":\"present\",\"norm\":%s"), literal);
    struct cg_trace *trace = accepted(text, (size_t)length);
    assert_int_equal(trace->gradient.norm_set[0], 1);
    double norm = trace->gradient.norm[0];
    trace_free(trace);
    return norm;
}

static void test_norms(void **state)
{
    (void)state;
    assert_true(norm_of("1") == 1.0);
    assert_true(norm_of("-0") == 0.0 && signbit(norm_of("-0")));
    assert_true(norm_of("-0.0") == 0.0 && signbit(norm_of("-0.0")));
    assert_true(norm_of("1e-400") == 0.0 && !signbit(norm_of("1e-400")));
    assert_true(norm_of("-1e-400") == 0.0 && signbit(norm_of("-1e-400")));
    assert_true(norm_of("-3") == -3.0);
    /* 2^53 + 1 lies between 2^53 and 2^53 + 2: ties to even. */
    assert_true(norm_of("9007199254740993") == 0x1p53);
    assert_true(norm_of("-9007199254740995") == -0x1.0000000000002p53);
    assert_true(norm_of("18446744073709551615") == 0x1p64);
    assert_true(norm_of("18446744073709551616") == 0x1p64);
    assert_true(norm_of("1.7976931348623157e308") == 0x1.fffffffffffffp1023);
    assert_true(norm_of("5e-324") == 0x1p-1074);
}

int main(void)
{
    static struct CMUnitTest tests[COUNT(vectors) + COUNT(kinds) + 2];
    add_vectors(tests, vectors, COUNT(vectors));
    for (size_t i = 0; i < COUNT(kinds); i++)
        tests[COUNT(vectors) + i] =
            (struct CMUnitTest){kinds[i].name, test_kind, NULL, NULL, (void *)&kinds[i]};
    tests[COUNT(tests) - 2] = (struct CMUnitTest)cmocka_unit_test(test_enum_values);
    tests[COUNT(tests) - 1] = (struct CMUnitTest)cmocka_unit_test(test_norms);
    return run_tap(tests);
}
