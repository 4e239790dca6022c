/* The extra field `stack`: ids, frames, source; and what does not fit, which is left out and never refused.
 */
#include "tests/unit/trace_vectors.h"

#include <stdio.h>

#define OP(more)                                                                                             \
    "{\"kind\":\"op\",\"span_id\":\"a\",\"op_name\":\"o\",\"shape\":[],\"dtype\":\"u8\",\"device\":\"cpu\"," \
    "\"duration_ns\":0,\"input_dense_bytes\":0" more "}\n"
#define MEMORY(more)                                                                                         \
    "{\"kind\":\"memory\",\"timestamp_ns\":1,\"storage_id\":\"s\",\"tensor_id\":\"t\",\"span_id\":\"a\","    \
    "\"device\":\"cpu\",\"bytes\":1,\"action\":\"alloc\",\"dtype\":\"u8\"" more "}\n"
#define STACK(text)   ",\"stack\":" text
#define MAIN_FRAME    "{\"module\":\"/bin/prog\",\"build_id\":\"00ff\",\"offset\":4660,\"symbol\":\"main\"}"
#define PLUGIN_FRAME  "{\"module\":\"/lib/a/plugin.so\",\"offset\":256}"
#define WHOLE(middle) META "\n" SPAN_A "\n" END_A "\n" middle TERMINAL "\n"

static struct cg_trace *loaded(const char *text)
{
    struct cg_load_options options = {.extras = true};
    struct cg_error error = {0};
    struct cg_trace *trace = NULL;

    if (trace_load_bytes("test", text, strlen(text), &options, &trace, &error) != 0)
        fail_msg("%s", error.message);
    return trace;
}

static void assert_text(const struct cg_trace *trace, cg_str string, const char *expected)
{
    struct cg_text text = trace_text(trace, string);

    assert_int_equal(text.length, strlen(expected));
    assert_memory_equal(text.bytes, expected, text.length);
}

static void assert_name(const struct cg_trace *trace, uint32_t frame, const char *expected)
{
    char name[128];

    assert_int_equal(trace_frame_name(trace, frame, name, sizeof name), strlen(expected));
    assert_string_equal(name, expected);
}

static void test_frames(void **state)
{
    static const char text[] =
        WHOLE(OP(STACK("{\"id\":\"stack:1\",\"frames\":[" PLUGIN_FRAME "," MAIN_FRAME "]}")) OP("")
                  MEMORY(STACK("{\"id\":\"stack:1\"}"))
                      MEMORY(STACK("{\"frames\":[" MAIN_FRAME
                                   ",{\"offset\":281474976710655}],\"truncated\":true,\"id\":\"stack:9\"}"))
                          MEMORY(""));
    struct cg_trace *trace = loaded(text);
    uint32_t count;

    (void)state;
    assert_int_equal(trace_stack_count(trace), 2);
    assert_int_equal(trace_frame_count(trace), 3);
    assert_int_equal(trace->op.stack[0], 0);
    assert_int_equal(trace->op.stack[1], CG_NONE);
    assert_int_equal(trace->memory.stack[0], 0);
    assert_int_equal(trace->memory.stack[1], 1);
    assert_int_equal(trace->memory.stack[2], CG_NONE);
    assert_text(trace, trace_stack_id(trace, 1), "stack:9");
    assert_false(trace_stack_truncated(trace, 0));
    assert_true(trace_stack_truncated(trace, 1));
    assert_int_equal(trace_find_stack(trace, trace_find(trace, "stack:9", 7)), 1);
    assert_int_equal(trace_find_stack(trace, trace_find(trace, "main", 4)), CG_NONE);
    assert_int_equal(trace_find_stack(trace, CG_ABSENT), CG_NONE);

    const uint32_t *frames = trace_stack_frames(trace, 0, &count);
    assert_int_equal(count, 2);
    assert_int_equal(frames[0], 0);
    assert_int_equal(frames[1], 1);
    const struct cg_frame *frame = trace_frame(trace, frames[1]);
    assert_text(trace, frame->module, "/bin/prog");
    assert_text(trace, frame->build_id, "00ff");
    assert_text(trace, frame->symbol, "main");
    assert_true(frame->offset == 4660);
    assert_null(trace_frame_source(trace, frame));
    frame = trace_frame(trace, frames[0]);
    assert_int_equal(frame->build_id, CG_ABSENT);
    assert_int_equal(frame->symbol, CG_ABSENT);
    frames = trace_stack_frames(trace, 1, &count);
    assert_int_equal(count, 2);
    assert_int_equal(frames[0], 1); /* main again */
    assert_int_equal(frames[1], 2);

    assert_name(trace, 0, "plugin.so+0x100");
    assert_name(trace, 1, "main");
    assert_name(trace, 2, "0xffffffffffff");
    trace_free(trace);

    trace = loaded(WHOLE(
        OP(STACK("{\"id\":\"s\",\"frames\":[{\"offset\":1,\"symbol\":\"_ZN1a1fIiEEvT_\"},"
                 "{\"offset\":2,\"symbol\":\"_RNvC1p1f\"},{\"offset\":3,\"symbol\":\"_Znonsense\"}]}"))));
    assert_name(trace, 0, "void a::f<int>(int)");
    assert_name(trace, 1, "p::f");
    assert_name(trace, 2, "_Znonsense");
    trace_free(trace);
}

static void test_source(void **state)
{
    static const char text[] = WHOLE(
        OP(STACK("{\"id\":\"s\",\"frames\":[{\"module\":\"/m\",\"offset\":1,\"symbol\":\"_Z1fi\",\"source\":["
                 "{\"function\":\"g\",\"file\":\"/src/"
                 "a.c\",\"line\":7},{\"function\":\"f(int)\",\"mangled\":\"_Z1fi\","
                 "\"file\":\"/src/"
                 "b\303\251.c\",\"line\":4294967296}]},{\"offset\":2,\"source\":[{\"function\":\"h\"}]},"
                 "{\"offset\":3,\"source\":[{\"function\":\"abcdefghijklmnopqrst\",\"file\":\"a.c\","
                 "\"line\":8}]}]}")));
    struct cg_trace *trace = loaded(text);
    const struct cg_source *source = trace_frame_source(trace, trace_frame(trace, 0));
    char name[24];

    (void)state;
    assert_int_equal(trace_frame(trace, 0)->source_count, 2);
    assert_text(trace, source[0].function, "g");
    assert_int_equal(source[0].mangled, CG_ABSENT);
    assert_int_equal(source[0].line, 7);
    assert_text(trace, source[1].mangled, "_Z1fi");
    assert_text(trace, source[1].file, "/src/b\303\251.c");
    assert_int_equal(source[1].line, 0); /* beyond what a line can be */
    assert_name(trace, 0, "g at a.c:7");
    assert_name(trace, 1, "h");
    assert_int_equal(trace_frame_name(trace, 0, name, 1), 0);
    assert_int_equal(trace_frame_name(trace, 0, name, 5), 4);
    assert_string_equal(name, "g at");
    /* Where there is no room for all, what tells calls of one function apart stays. */
    assert_int_equal(trace_frame_name(trace, 2, name, sizeof name), 23);
    assert_string_equal(name, "abcdefghijklmn at a.c:8");
    trace_free(trace);
}

/* Frames that come late or twice; the first ones count. */
static void test_order(void **state)
{
    static const char text[] =
        WHOLE(OP(STACK("{\"id\":\"s\"}")) OP(STACK("{\"id\":\"s\",\"frames\":[" MAIN_FRAME "]}"))
                  OP(STACK("{\"id\":\"s\",\"frames\":[" PLUGIN_FRAME "," PLUGIN_FRAME "]}"))
                      OP(STACK("{\"id\":\"t\"}")));
    struct cg_trace *trace = loaded(text);
    uint32_t count;

    (void)state;
    assert_int_equal(trace->op.stack[0], 0);
    assert_int_equal(trace->op.stack[1], 0);
    const uint32_t *frames = trace_stack_frames(trace, 0, &count);
    assert_int_equal(count, 1);
    assert_text(trace, trace_frame(trace, frames[0])->symbol, "main");
    trace_stack_frames(trace, trace->op.stack[3], &count);
    assert_int_equal(count, 0);
    trace_free(trace);
}

static void test_left_out(void **state)
{
    static const char *const odd[] = {
        "7",
        "null",
        "\"stack:1\"",
        "[]",
        "{}",
        "{\"id\":1}",
        "{\"id\":\"x\",\"id\":\"x\"}",
        "{\"id\":\"x\",\"frames\":{}}",
        "{\"id\":\"x\",\"frames\":[{}]}",
        "{\"id\":\"x\",\"frames\":[{\"offset\":-1}]}",
        "{\"id\":\"x\",\"frames\":[{\"offset\":1,\"symbol\":2}]}",
        "{\"id\":\"x\",\"frames\":[{\"offset\":1,\"source\":[{\"line\":2}]}]}",
    };
    struct cg_load_options options = {.extras = false};
    struct cg_error error = {0};

    (void)state;
    for (size_t i = 0; i < COUNT(odd); i++) {
        char text[4096];
        snprintf(text, sizeof text, WHOLE(OP(STACK("%s"))), odd[i]);
        struct cg_trace *trace = loaded(text);
        assert_int_equal(trace->op.stack[0], CG_NONE);
        assert_int_equal(trace_stack_count(trace), 0);
        assert_int_equal(trace_find_stack(trace, 1), CG_NONE);
        trace_free(trace);
        assert_int_equal(trace_load_bytes("test", text, strlen(text), &options, &trace, &error), 0);
        assert_null(trace->op.stack);
        trace_free(trace);
    }
}

/* Frames, or functions of a frame, one below and one above what is kept. */
static void test_limits(void **state)
{
    static const struct {
        size_t frames, sources;
        bool kept;
    } cases[] = {{1024, 0, true}, {1025, 0, false}, {1, 64, true}, {1, 65, false}};
    enum { ROOM = 1 << 20 };
    char *text = malloc(ROOM);

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        int at = snprintf(text, ROOM, "%s\n%s\n%s\n", META, SPAN_A, END_A);
        at += snprintf(text + at, (size_t)(ROOM - at), "%.*s,\"stack\":{\"id\":\"s\",\"frames\":[",
                       (int)strlen(OP("")) - 2, OP(""));
        for (size_t n = 0; n < cases[i].frames; n++) {
            at += snprintf(text + at, (size_t)(ROOM - at), "%s{\"offset\":%zu,\"source\":[", n ? "," : "", n);
            for (size_t s = 0; s < cases[i].sources; s++)
                at += snprintf(text + at, (size_t)(ROOM - at), "%s{\"function\":\"f\"}", s ? "," : "");
            at += snprintf(text + at, (size_t)(ROOM - at), "]}");
        }
        snprintf(text + at, (size_t)(ROOM - at), "]}}\n%s\n", TERMINAL);
        struct cg_trace *trace = loaded(text);
        assert_int_equal(trace_stack_count(trace), cases[i].kept ? 1 : 0);
        assert_int_equal(trace_frame_count(trace), cases[i].kept ? cases[i].frames : 0);
        if (cases[i].kept) assert_int_equal(trace_frame(trace, 0)->source_count, cases[i].sources);
        trace_free(trace);
    }
    free(text);
}

/* Many stacks of few frames, in several batches: numbers stay as they were given. */
static void test_many(void **state)
{
    enum { STACKS = 1000, FRAMES = 300, ROOM = 1 << 20 };
    char *text = malloc(ROOM);
    int at = snprintf(text, ROOM, "%s\n%s\n%s\n", META, SPAN_A, END_A);
    uint32_t count;

    (void)state;
    for (int i = 0; i < STACKS; i++)
        at += snprintf(text + at, (size_t)(ROOM - at),
                       "%.*s,\"stack\":{\"id\":\"stack:%d\",\"frames\":[{\"offset\":%d},{\"offset\":%d}]}}\n",
                       (int)strlen(OP("")) - 2, OP(""), i, i % FRAMES, (i + 1) % FRAMES);
    snprintf(text + at, (size_t)(ROOM - at), "%s\n", TERMINAL);
    struct cg_trace *trace = loaded(text);
    assert_int_equal(trace_stack_count(trace), STACKS);
    assert_int_equal(trace_frame_count(trace), FRAMES);
    for (uint32_t i = 0; i < STACKS; i++) {
        const uint32_t *frames = trace_stack_frames(trace, trace->op.stack[i], &count);
        assert_int_equal(count, 2);
        assert_true(trace_frame(trace, frames[0])->offset == i % FRAMES);
        assert_true(trace_frame(trace, frames[1])->offset == (i + 1) % FRAMES);
    }
    trace_free(trace);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_frames), cmocka_unit_test(test_source),
                                       cmocka_unit_test(test_order),  cmocka_unit_test(test_left_out),
                                       cmocka_unit_test(test_limits), cmocka_unit_test(test_many)};
    return run_tap(tests);
}
