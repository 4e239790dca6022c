/* The trace reader against jansson on 100,000 mutated lines: the same acceptance, and the same values.
 *
 * What jansson cannot hold is skipped and counted: integers beyond 63 bits, -0, NUL bytes, NUL in
 * a key, a key given twice.
 * The rules of the event table are applied to jansson's values here in the plainest way. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "tests/unit/trace_vectors.h"

enum { LINES = 100000, LONGEST = 2048, LEARNED = 3, MOST_LINES = LEARNED + 1 };

static const char *const seeds[] = {
    ("{\"kind\":\"op\",\"span_id\":\"a\",\"op_name\":\"mm\",\"inputs\":[\"x\",\"y\\u00e9\"],\"output\":\"z\","
     "\"shape\":[2,30,0],"
     "\"dtype\":\"f32\",\"device\":\"cuda:0\",\"duration_ns\":7,\"timestamp_ns\":1234567890123,\"output_"
     "dense_"
     "bytes\":24,"
     "\"input_dense_bytes\":48,\"tid\":12,\"grid\":[1,2,3],\"x\":{\"y\":[1.5e3,-2,null,true,"
     "\"\\ud83d\\ude00\"]}}"),
    ("{\"input_dense_bytes\":1,\"device\":\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\",\"dtype\":\"q\",\"shape\":"
     "["
     "],\"output\":null,"
     "\"op_name\":\"n\",\"duration_ns\":3,\"span_id\":\"b\",\"kind\":\"op\"}"),
    ("{\"kind\": \"memory\", \"timestamp_ns\": 10, \"storage_id\": \"7f00\", \"tensor_id\": \"7f00\", "
     "\"span_id\": \"a\", "
     "\"device\": \"cuda:0\", \"bytes\": 1024, \"action\": \"alloc\", \"shape\": [1,256], \"dtype\": "
     "\"f32\", "
     "\"category\": "
     "\"activation\"}"),
    ("{\"kind\":\"tensor\",\"span_id\":\"r\",\"tensor_id\":\"t\",\"label\":\"l\",\"shape\":[4],\"dtype\":"
     "\"f16\",\"device\":\"cpu\","
     "\"requires_grad\":true,\"dense_bytes\":0,\"category\":\"other\"}"),
    "{\"kind\":\"device_memory\",\"timestamp_ns\":1,\"device\":\"d\",\"used_bytes\":5,\"free_bytes\":null}",
    ("{\"kind\":\"device_interval\",\"span_id\":\"a\",\"device\":\"d\",\"stream_id\":\"s\\/"
     "\\n\",\"clock_id\":\"c\",\"backend\":"
     "\"b\",\"start_ns\":0,\"duration_ns\":1,\"activity\":\"kernel\"}"),
    ("{\"kind\":\"gradient\",\"event_id\":\"g\",\"root\":\"r\",\"key\":\"k\",\"state\":\"non_finite\","
     "\"norm\":-1.25e-7}"),
    "{\"kind\":\"gradient\",\"event_id\":\"g\",\"root\":\"r\",\"key\":\"k\",\"state\":\"zero\",\"norm\":12}",
    "{\"kind\":\"edge\",\"edge_kind\":\"call\",\"from_span\":\"a\",\"to_span\":\"b\",\"host_duration_ns\":1}",
    "{\"from_tensor\":\"a\",\"edge_kind\":\"data\",\"to_tensor\":\"b\",\"kind\":\"edge\",\"from_span\":3}",
};

static uint64_t random_state = 2463534242u;
static size_t random_below(size_t limit) /* xorshift64 */
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state % limit;
}

/* One change: a byte changed, removed or inserted, a piece doubled, removed or moved in from another line. */
static size_t mutate(char *line, size_t length)
{
    static const char alphabet[] =
        "{}[]\",:\\u0123456789.-+eEnultrfasx \t\r/\x01\x7F\x80\xC3\xA9\xED\xA0\xFF\0";
    static const char *const pieces[] = {"null",
                                         "true",
                                         "-0",
                                         "1e400",
                                         "0.5",
                                         "1e2",
                                         "\"\"",
                                         "[]",
                                         "{}",
                                         "\\u0000",
                                         "\\ud800",
                                         "9223372036854775807",
                                         "18446744073709551615",
                                         "\"kind\":\"op\",",
                                         "\"x\":1,",
                                         ","};
    size_t at = random_below(length), piece = 1 + random_below(12);
    char inserted[16 + LONGEST];
    size_t inserted_length = 1, removed = 0;
    inserted[0] = alphabet[random_below(sizeof alphabet - 1)];
    switch (random_below(6)) {
    case 0:
        removed = 1;
        break;
    case 1:
        break;
    case 2:
        inserted_length = 0;
        removed = piece;
        break;
    case 3:
        inserted_length = piece;
        if (piece > length - at) inserted_length = length - at;
        memcpy(inserted, line + at, inserted_length);
        break;
    case 4: {
        const char *other = pieces[random_below(COUNT(pieces))];
        inserted_length = strlen(other);
        memcpy(inserted, other, inserted_length);
        removed = random_below(2) * piece;
        break;
    }
    default: {
        const char *other = seeds[random_below(COUNT(seeds))];
        size_t from = random_below(strlen(other));
        inserted_length = strlen(other + from) < piece ? strlen(other + from) : piece;
        memcpy(inserted, other + from, inserted_length);
        break;
    }
    }
    if (removed > length - at) removed = length - at;
    if (length - removed + inserted_length >= LONGEST) return length;
    memmove(line + at + inserted_length, line + at + removed, length - at - removed);
    memcpy(line + at, inserted, inserted_length);
    return length - removed + inserted_length;
}

/* the event table over jansson's values */

static bool is_list_of(const json_t *value, bool (*element)(const json_t *))
{
    size_t i;
    json_t *item;
    if (!json_is_array(value)) return false;
    json_array_foreach(value, i, item) if (!element(item)) return false;
    return true;
}
static bool is_string(const json_t *value)
{
    return json_is_string(value);
}
/* -0 is a float to the format and an integer to jansson: those lines are skipped before. */
static bool is_u64(const json_t *value)
{
    return json_is_integer(value) && json_integer_value(value) >= 0;
}
static bool is_value_of(const json_t *value, const char *const *names, unsigned count)
{
    for (unsigned i = 0; json_is_string(value) && i < count; i++)
        if (strlen(names[i]) == json_string_length(value) &&
            memcmp(names[i], json_string_value(value), json_string_length(value)) == 0)
            return true;
    return false;
}

#define TYPE_STR(value, argument)      is_string(value)
#define TYPE_OPT_STR(value, argument)  is_string(value)
#define TYPE_U64(value, argument)      is_u64(value)
#define TYPE_OPT_U64(value, argument)  is_u64(value)
#define TYPE_OPT_F64(value, argument)  json_is_number(value)
#define TYPE_BOOL(value, argument)     json_is_boolean(value)
#define TYPE_ENUM(value, argument)     is_value_of(value, cg_name_##argument, CG_##argument##_COUNT)
#define TYPE_U64_LIST(value, argument) is_list_of(value, is_u64)
#define TYPE_STR_LIST(value, argument) is_list_of(value, is_string)
#define REQUIRED(value)                (value != NULL)
#define DEFAULT(value)                 true
#define OPTIONAL(value)                true
#define IF_CALL(value)                 (!call || value != NULL)
#define IF_DATA(value)                 (call || value != NULL)
#define KNOWN_REQUIRED                 true
#define KNOWN_DEFAULT                  true
#define KNOWN_OPTIONAL                 true
#define KNOWN_IF_CALL                  call
#define KNOWN_IF_DATA                  !call
#define NULL_REQUIRED                  false
#define NULL_DEFAULT                   false
#define NULL_OPTIONAL                  true
#define NULL_IF_CALL                   false
#define NULL_IF_DATA                   false
#define ACCEPT_FIELD(name, wire, type, presence, argument, meaning)                                          \
    {                                                                                                        \
        json_t *value = json_object_get(record, wire);                                                       \
        ok = ok && presence(value);                                                                          \
        ok = ok && (!(KNOWN_##presence) || value == NULL || (NULL_##presence && json_is_null(value)) ||      \
                    TYPE_##type(value, argument));                                                           \
    }

/* T(member, wire kind, fields) */
#define TABLES(T)                                                                                            \
    T(op, "op", CG_OP_FIELDS)                                                                                \
    T(tensor, "tensor", CG_TENSOR_FIELDS)                                                                    \
    T(memory, "memory", CG_MEMORY_FIELDS)                                                                    \
    T(device_memory, "device_memory", CG_DEVICE_MEMORY_FIELDS)                                               \
    T(device_interval, "device_interval", CG_DEVICE_INTERVAL_FIELDS)                                         \
    T(gradient, "gradient", CG_GRADIENT_FIELDS)                                                              \
    T(edge, "edge", CG_EDGE_FIELDS)

enum answer { REFUSE, TAKE, OTHER_KIND };

static bool is_text(const json_t *value, const char *text)
{
    return json_is_string(value) && json_string_length(value) == strlen(text) &&
           memcmp(json_string_value(value), text, strlen(text)) == 0;
}

static enum answer judge(const json_t *record)
{
    const json_t *kind = json_object_get(record, "kind");
    bool ok = true, call = is_text(json_object_get(record, "edge_kind"), "call");
    if (!json_is_object(record) || !json_is_string(kind)) return REFUSE;
#define JUDGE_TABLE(member, wire, fields)                                                                    \
    if (is_text(kind, wire)) {                                                                               \
        fields(ACCEPT_FIELD) return ok ? TAKE : REFUSE;                                                      \
    }
    TABLES(JUDGE_TABLE)
    static const char *const others[] = {"meta", "span_start", "span_end", "tensor_stats", "terminal"};
    return is_value_of(kind, others, COUNT(others)) ? OTHER_KIND : REFUSE;
}

static bool same_text(const struct cg_trace *trace, cg_str string, const json_t *value)
{
    struct cg_text text = trace_text(trace, string);
    if (value == NULL || json_is_null(value)) return string == CG_ABSENT;
    return string != CG_ABSENT && text.length == json_string_length(value) &&
           memcmp(text.bytes, json_string_value(value), text.length) == 0;
}
static bool same_number(bool set, double have, const json_t *value)
{
    if (value == NULL || json_is_null(value)) return !set;
    return set && have == json_number_value(value) && !signbit(have) == !signbit(json_number_value(value));
}
static bool same_u64_list(const struct cg_trace *trace, struct cg_list list, const json_t *value)
{
    for (uint32_t i = 0; i < list.count; i++)
        if (trace->u64_pool[list.first + i] != (uint64_t)json_integer_value(json_array_get(value, i)))
            return false;
    return list.count == json_array_size(value);
}
static bool same_str_list(const struct cg_trace *trace, struct cg_list list, const json_t *value)
{
    for (uint32_t i = 0; i < list.count; i++)
        if (!same_text(trace, trace->str_pool[list.first + i], json_array_get(value, i))) return false;
    return list.count == json_array_size(value);
}
static bool same_enum(unsigned have, const char *const *names, unsigned initial, const json_t *value)
{
    return is_text(value, names[have]) || (value == NULL && have == initial);
}
/* Footprints that are left out are resolved when reading; 16.5 covers that. */
static bool same_optional_u64(bool set, uint64_t have, const json_t *value)
{
    return value == NULL || json_is_null(value) || (set && have == (uint64_t)json_integer_value(value));
}

#define SAME_STR(name, argument)      same_text(trace, columns->name[row], value)
#define SAME_OPT_STR(name, argument)  same_text(trace, columns->name[row], value)
#define SAME_U64(name, argument)      (columns->name[row] == (uint64_t)json_integer_value(value))
#define SAME_OPT_U64(name, argument)  same_optional_u64(columns->name##_set[row], columns->name[row], value)
#define SAME_OPT_F64(name, argument)  same_number(columns->name##_set[row], columns->name[row], value)
#define SAME_BOOL(name, argument)     (columns->name[row] == json_is_true(value))
#define SAME_ENUM(name, argument)     same_enum(columns->name[row], cg_name_##argument, initial_##argument, value)
#define SAME_U64_LIST(name, argument) same_u64_list(trace, columns->name[row], value)
#define SAME_STR_LIST(name, argument) same_str_list(trace, columns->name[row], value)
#define SAME_FIELD(name, wire, type, presence, argument, meaning)                                            \
    {                                                                                                        \
        const json_t *value = json_object_get(record, wire);                                                 \
        if (KNOWN_##presence && !SAME_##type(name, argument)) return wire;                                   \
    }
#define INITIAL(name, values, initial) enum { initial_##name = CG_##name##_##initial };
CG_ENUMS(INITIAL)

/* The field whose value differs, NULL when all are the same. rows: how many records of each kind came before.
 */
#define ROWS_TABLE(member, wire, fields) OF_##member,
enum { TABLES(ROWS_TABLE) TABLE_COUNT };
static const char *difference(const struct cg_trace *trace, const json_t *record, size_t rows[])
{
    const json_t *kind = json_object_get(record, "kind");
    bool call = is_text(json_object_get(record, "edge_kind"), "call");
    (void)call;
#define SAME_TABLE(member, wire, fields)                                                                     \
    if (is_text(kind, wire)) {                                                                               \
        __typeof__(&trace->member) columns = &trace->member;                                                 \
        size_t row = rows[OF_##member]++;                                                                    \
        if (row >= columns->rows) return wire;                                                               \
        fields(SAME_FIELD)                                                                                   \
    }
    TABLES(SAME_TABLE)
    return NULL;
}

/* What jansson takes for something else than the format does. */
static bool beyond_jansson(const json_error_t *error, const char *line, size_t length)
{
    if (strstr(error->text, "too big") != NULL || strstr(error->text, "NUL byte in object key") != NULL ||
        strstr(error->text, "duplicate object key") != NULL)
        return true;
    if (memchr(line, '\0', length) != NULL) return true; /* its buffer ends at a NUL byte: some pass unseen */
    for (size_t i = 0; i + 1 < length; i++)
        if (line[i] == '-' && line[i + 1] == '0') return true;
    return false;
}

/* In turn with the instructions of this processor and with those that all have. */
static int load_in_turn(const char *text, size_t length, struct cg_trace **trace, struct cg_error *error)
{
    static struct cg_load_options options;
    options.portable = !options.portable;
    return trace_load_bytes("line", text, length, &options, trace, error);
}

static int load_line(const char *line, size_t length, struct cg_trace **trace, struct cg_error *error)
{
    static const char
        head[] = META "\n" SPAN_A "\n",
        tail[] = "\n{\"kind\":\"terminal\",\"outcome\":\"complete\",\"timestamp_ns\":18446744073709551615}\n";
    static char text[sizeof head + sizeof tail + MOST_LINES * LONGEST];
    char *at = stpcpy(text, head);
    at = (char *)mempcpy(at, line, length);
    at = stpcpy(at, tail);
    return load_in_turn(text, (size_t)(at - text), trace, error);
}

static void test_mutated_lines(void **state)
{
    (void)state;
    unsigned accepted_lines = 0, refused_lines = 0, skipped = 0;
    for (int i = 0; i < LINES; i++) {
        char line[LONGEST];
        const char *seed = seeds[random_below(COUNT(seeds))];
        size_t length = strlen(seed);
        memcpy(line, seed, length);
        for (size_t changes = random_below(4); changes > 0 && length > 0; changes--)
            length = mutate(line, length);
        json_error_t why = {0};
        json_t *record =
            json_loadb(line, length, JSON_ALLOW_NUL | JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &why);
        enum answer answer = record != NULL ? judge(record) : REFUSE;
        bool blank = length == 0 || strspn(line, " \t\r") >= length;
        if (beyond_jansson(&why, line, length) || answer == OTHER_KIND || blank) {
            skipped++;
        } else {
            struct cg_trace *trace = NULL;
            struct cg_error error = {0};
            int status = load_line(line, length, &trace, &error);
            if ((status == 0) != (answer == TAKE))
                fail_msg("%.*s\nours: %s\njansson: %s", (int)length, line,
                         status == 0 ? "accepted" : error.message, record != NULL ? "accepted" : why.text);
            const char *field = status == 0 ? difference(trace, record, (size_t[TABLE_COUNT]){0}) : NULL;
            if (field != NULL) fail_msg("%.*s\nother value: %s", (int)length, line, field);
            accepted_lines += status == 0;
            refused_lines += status != 0;
            trace_free(trace);
        }
        json_decref(record);
    }
    printf("# %u lines accepted, %u refused, %u skipped (beyond jansson or another kind)\n", accepted_lines,
           refused_lines, skipped);
    /* Enough of each, else the mutations prove nothing. */
    assert_true(accepted_lines > LINES / 10 && refused_lines > LINES / 10 && skipped < LINES / 3);
}

/* Many accepted lines in one stream: what the reader has learned from a line, and remembers of it, must not
 * show in the next. */
static void test_streams(void **state)
{
    (void)state;
    enum { STREAMS = 200, STREAM_LINES = 300 };
    static char text[STREAM_LINES * LONGEST];
    static json_t *records[STREAM_LINES];
    for (int stream = 0; stream < STREAMS; stream++) {
        char *at = stpcpy(text, META "\n" SPAN_A "\n");
        size_t count = 0, rows[TABLE_COUNT] = {0};
        while (count < STREAM_LINES) {
            char line[LONGEST];
            const char *seed = seeds[random_below(COUNT(seeds))];
            size_t length = strlen(seed);
            memcpy(line, seed, length);
            for (size_t changes = random_below(3); changes > 0; changes--)
                length = mutate(line, length);
            json_error_t why = {0};
            json_t *record =
                json_loadb(line, length, JSON_ALLOW_NUL | JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &why);
            if (record == NULL || judge(record) != TAKE || beyond_jansson(&why, line, length)) {
                json_decref(record);
                continue;
            }
            records[count++] = record;
            at = mempcpy(at, line, length);
            *at++ = '\n';
        }
        at = stpcpy(
            at, "{\"kind\":\"terminal\",\"outcome\":\"complete\",\"timestamp_ns\":18446744073709551615}\n");
        struct cg_trace *trace = NULL;
        struct cg_error error = {0};
        if (load_in_turn(text, (size_t)(at - text), &trace, &error) != 0)
            fail_msg("stream %d: %s", stream, error.message);
        for (size_t i = 0; i < count; i++) {
            const char *field = difference(trace, records[i], rows);
            if (field != NULL) fail_msg("stream %d, line %zu: other value: %s", stream, i + 3, field);
            json_decref(records[i]);
        }
        trace_free(trace);
    }
}

/* A mutated line behind lines of its kind: what was learned from them must not let a defect pass. */
static void test_learned(void **state)
{
    (void)state;
    static char text[MOST_LINES * LONGEST];
    unsigned accepted_lines = 0, refused_lines = 0;
    for (int i = 0; i < LINES; i++) {
        char *at = text, line[LONGEST];
        const char *seed = seeds[random_below(COUNT(seeds))];
        size_t length = strlen(seed);
        for (size_t before = 1 + random_below(LEARNED); before > 0; before--) {
            at = mempcpy(at, seed, length);
            *at++ = '\n';
        }
        memcpy(line, seed, length);
        for (size_t changes = 1 + random_below(2); changes > 0 && length > 0; changes--)
            length = mutate(line, length);
        json_error_t why = {0};
        json_t *record =
            json_loadb(line, length, JSON_ALLOW_NUL | JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &why);
        enum answer answer = record != NULL ? judge(record) : REFUSE;
        json_decref(record);
        if (beyond_jansson(&why, line, length) || answer == OTHER_KIND || length == 0 ||
            strspn(line, " \t\r") >= length)
            continue;
        at = mempcpy(at, line, length);
        struct cg_trace *trace = NULL;
        struct cg_error error = {0};
        int status = load_line(text, (size_t)(at - text), &trace, &error);
        trace_free(trace);
        if ((status == 0) != (answer == TAKE))
            fail_msg("%.*s\nours: %s\njansson: %s", (int)(at - text), text,
                     status == 0 ? "accepted" : error.message, answer == TAKE ? "accepted" : why.text);
        accepted_lines += status == 0;
        refused_lines += status != 0;
    }
    printf("# %u lines accepted, %u refused\n", accepted_lines, refused_lines);
    assert_true(accepted_lines > LINES / 20 && refused_lines > LINES / 20);
}

/* Every length of a number, every limit and what may follow it, at the place where numbers are read at once.
 */
static void test_numbers(void **state)
{
    (void)state;
    static const char *const follow[] = {",",   "}",   " ,", "\t}", ".",  "e", "E",
                                         ".0,", "e1,", "-",  "]",   "\"", ""};
    enum { GOOD = 4 }; /* of follow */
    unsigned taken = 0;
    for (unsigned i = 0; i < 20000; i++) {
        char number[32], line[256];
        uint64_t value =
            ((uint64_t)random_below(UINT32_MAX) << 32 | random_below(UINT32_MAX)) >> random_below(64);
        if (i < 20) value = UINT64_MAX - i;
        bool zero = i % 8 == 7; /* before other digits */
        unsigned next = (unsigned)random_below(COUNT(follow));
        snprintf(number, sizeof number, "%s%llu", zero ? "0" : "", (unsigned long long)value);
        const char *rest =
            follow[next][strlen(follow[next]) - (follow[next][0] != '\0')] == '}' ? "" : "\"x\":1}";
        int length =
            snprintf(line, sizeof line,
                     "{\"kind\":\"device_memory\",\"timestamp_ns\":1,\"device\":\"d\",\"used_bytes\":%s%s%s",
                     number, follow[next], rest);
        char two[512];
        int both = snprintf(
            two, sizeof two,
            "{\"kind\":\"device_memory\",\"timestamp_ns\":1,\"device\":\"d\",\"used_bytes\":2}\n%.*s", length,
            line);
        struct cg_trace *trace = NULL;
        struct cg_error error = {0};
        int status = load_line(two, (size_t)both, &trace, &error);
        bool good = next < GOOD && !zero;
        if ((status == 0) != good || (good && trace->device_memory.used_bytes[1] != value))
            fail_msg("%s: %s", line, status == 0 ? "accepted, or another value" : error.message);
        taken += status == 0;
        trace_free(trace);
    }
    assert_true(taken > 4000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_mutated_lines), cmocka_unit_test(test_streams),
                                       cmocka_unit_test(test_learned), cmocka_unit_test(test_numbers)};
    return run_tap(tests);
}
