/* What a run is made of, and how two runs differ in it. */
#include "tests/unit/plane_trace.h"

#include "analyzer/evidence/structure.h"

#define META_MEMORY META_WITH("train", MEMORY_COMPLETE)

static void put_op(struct text *text, const char *name, const char *more)
{
    put(text,
        "{\"kind\":\"op\",\"span_id\":\"m\",\"op_name\":\"%s\",\"shape\":[],\"dtype\":\"unknown\",\"device\":"
        "\"cuda:0\",\"duration_ns\":1,\"timestamp_ns\":20,\"input_dense_bytes\":0%s}\n",
        name, more);
}

static struct structure made(struct text *text)
{
    struct structure structure;
    struct cg_trace *trace = NULL;
    struct cg_error error;
    const struct cg_load_options options = {.extras = true};
    put_end(text, 1000);
    if (trace_load_bytes("test", text->bytes, text->length, &options, &trace, &error) != 0)
        fail_msg("%s", error.message);
    free(text->bytes);
    *text = (struct text){0};
    assert_true(structure_make(trace, &structure));
    trace_free(trace); /* nothing of it is kept */
    return structure;
}

struct expected {
    const char *name;
    uint64_t count, bytes;
};

static bool is(struct cg_text text, const char *expected)
{
    return text.length == strlen(expected) && memcmp(text.bytes, expected, text.length) == 0;
}

static void expect(const struct structure *structure, enum structure_part part,
                   const struct expected *expected, size_t count)
{
    const struct structure_rows *rows = &structure->parts[part];
    assert_int_equal(rows->count, count);
    for (size_t i = 0; i < count; i++) {
        assert_true(is(rows->rows[i].name, expected[i].name));
        assert_int_equal(rows->rows[i].count, expected[i].count);
        assert_int_equal(rows->rows[i].bytes, expected[i].bytes);
    }
}
#define EXPECT(structure, part, ...)                                                                         \
    expect(structure, part, (const struct expected[]){__VA_ARGS__},                                          \
           sizeof((const struct expected[]){__VA_ARGS__}) / sizeof(struct expected))

static void put_body(struct text *text)
{
    put_span(text, "r", "", 0, 900, false);
    put_span(text, "m", "r", 10, 800, true);
    put_op(text, "copy", ",\"bytes\":7");
    put_op(text, "copy", ",\"bytes\":5,\"output_dense_bytes\":100");
    put_op(text, "mm", ",\"output_dense_bytes\":64");
    put_op(text, "gemm", ",\"grid\":[8,1,1],\"block\":[32,1,1],\"bytes\":9");
    put_op(text, "gemm", ",\"grid\":[4,1,1],\"block\":[32,1,1]");
    put_memory(text, 30, "cuda:0", "a", "ta", "m", 100, "alloc",
               ",\"op_name\":\"mm\",\"category\":\"gradient\"");
    put_memory(text, 31, "cuda:0", "a", "tb", "m", 100, "alloc",
               ",\"op_name\":\"view\""); /* the same storage */
    put_memory(text, 32, "cuda:0", "a", "ta", "m", 100, "free", "");
    put_memory(text, 33, "cuda:0", "a", "tc", "r", 50, "alloc", ",\"api\":\"cuMemAlloc_v2\""); /* a new one */
    put_memory(text, 34, "cuda:0", "b", "td", "r", 25, "alloc", "");
}

static void parts_of_a_run(void **state)
{
    (void)state;
    struct text text = {0};
    put(&text, META_MEMORY);
    put_body(&text);
    struct structure structure = made(&text);
    EXPECT(&structure, STRUCTURE_LABELS, {"m", 1, 0}, {"r", 1, 0});
    EXPECT(&structure, STRUCTURE_OPS, {"copy", 2, 12}, {"mm", 1, 64});
    EXPECT(&structure, STRUCTURE_KERNELS, {"gemm", 2, 0});
    EXPECT(&structure, STRUCTURE_STORAGES_BY_LABEL, {"m", 1, 100}, {"r", 2, 75});
    EXPECT(&structure, STRUCTURE_STORAGES_BY_CATEGORY, {"gradient", 1, 100}, {"other", 2, 75});
    EXPECT(&structure, STRUCTURE_STORAGES_BY_CALL_SITE, {"(not known)", 1, 25}, {"cuMemAlloc_v2", 1, 50},
           {"mm", 1, 100});
    assert_int_equal(structure.coverage[STRUCTURE_LABELS], CG_COVERAGE_COMPLETE);
    assert_int_equal(structure.coverage[STRUCTURE_KERNELS], CG_COVERAGE_NONE);
    assert_int_equal(structure.coverage[STRUCTURE_STORAGES_BY_CATEGORY], CG_COVERAGE_COMPLETE);
    structure_free(&structure);
}

/* Frames of one name are one call site, whatever their offsets; a stack without frames says nothing. */
static void call_sites_are_frames(void **state)
{
    (void)state;
    struct text text = {0};
    put(&text, META_MEMORY);
    put_span(&text, "m", "", 10, 800, true);
    put_memory(&text, 30, "cuda:0", "a", "ta", "m", 100, "alloc",
               ",\"op_name\":\"mm\",\"stack\":{\"id\":\"stack:1\",\"frames\":["
               "{\"module\":\"/bin/x\",\"offset\":16,\"symbol\":\"grow\"},"
               "{\"module\":\"/bin/x\",\"offset\":99,\"symbol\":\"main\"}]}");
    put_memory(&text, 31, "cuda:0", "b", "tb", "m", 10, "alloc",
               ",\"stack\":{\"id\":\"stack:2\",\"frames\":["
               "{\"module\":\"/bin/x\",\"offset\":24,\"symbol\":\"grow\"}]}");
    put_memory(&text, 32, "cuda:0", "c", "tc", "m", 5, "alloc", ",\"stack\":{\"id\":\"stack:1\"}");
    put_memory(&text, 33, "cuda:0", "d", "td", "m", 1, "alloc",
               ",\"stack\":{\"id\":\"stack:3\",\"frames\":[{\"module\":\"/lib/y.so\",\"offset\":255}]}");
    put_memory(&text, 34, "cuda:0", "e", "te", "m", 2, "alloc",
               ",\"api\":\"cuMemAlloc_v2\",\"stack\":{\"id\":\"stack:9\"}");
    put_memory(&text, 35, "cuda:0", "f", "tf", "m", 4, "alloc", ",\"op_name\":\"grow\"");
    struct structure structure = made(&text);
    EXPECT(&structure, STRUCTURE_STORAGES_BY_CALL_SITE, {"cuMemAlloc_v2", 1, 2}, {"grow", 4, 119},
           {"y.so+0xff", 1, 1});
    structure_free(&structure);
}

static void sums_are_clamped(void **state)
{
    (void)state;
    struct text text = {0};
    put(&text, META);
    put_span(&text, "m", "", 0, 900, true);
    put_op(&text, "set", ",\"bytes\":18446744073709551615");
    put_op(&text, "set", ",\"bytes\":2");
    struct structure structure = made(&text);
    EXPECT(&structure, STRUCTURE_OPS, {"set", 2, UINT64_MAX});
    assert_int_equal(structure.parts[STRUCTURE_STORAGES_BY_LABEL].count, 0);
    structure_free(&structure);
}

static void digests_tell_structures_apart(void **state)
{
    (void)state;
    struct structure structures[4];
    for (int i = 0; i < 4; i++) {
        struct text text = {0};
        put(&text, META_MEMORY);
        if (i == 1) put_span(&text, "x", "r", 1, 2, false);
        put_body(&text);
        if (i == 2) put_op(&text, "copy", "");
        structures[i] = made(&text);
    }
    assert_string_equal(structures[0].digest, structures[3].digest);
    assert_string_not_equal(structures[0].digest, structures[1].digest);
    assert_string_not_equal(structures[0].digest, structures[2].digest);
    for (int i = 0; i < 4; i++)
        structure_free(&structures[i]);
}

static void expect_difference(const struct structure_difference *difference, const char *name,
                              uint64_t baseline, uint64_t candidate)
{
    assert_true(is(difference->name, name));
    assert_int_equal(difference->bytes[STRUCTURE_BASELINE], baseline);
    assert_int_equal(difference->bytes[STRUCTURE_CANDIDATE], candidate);
}

static void largest_change_first(void **state)
{
    (void)state;
    struct text before = {0}, after = {0};
    put(&before, META);
    put_span(&before, "m", "", 0, 900, true);
    put(&after, META);
    put_span(&after, "m", "", 0, 900, true);
    put_op(&before, "same", ",\"bytes\":5");
    put_op(&after, "same", ",\"bytes\":5");
    put_op(&before, "shrunk", ",\"bytes\":1000");
    put_op(&after, "shrunk", ",\"bytes\":900"); /* 100 bytes */
    put_op(&before, "gone", ",\"bytes\":300");  /* 300 bytes */
    put_op(&after, "new", ",\"bytes\":100");    /* 100 bytes, 1 more */
    put_op(&before, "b", "");                   /* 0 bytes, 1 less */
    put_op(&before, "a", "");                   /* 0 bytes, 1 less */
    for (int i = 0; i < 3; i++)
        put_op(&after, "often", ""); /* 0 bytes, 3 more */
    struct structure sides[] = {made(&before), made(&after)};
    struct structured_run runs[] = {{.structure = &sides[0]}, {.structure = &sides[1]}};
    struct structure_comparison comparison;
    assert_true(structure_compare(&runs[0], &runs[1], &comparison));
    const struct structure_part_comparison *ops = &comparison.parts[STRUCTURE_OPS];
    assert_int_equal(ops->difference_count, 6);
    expect_difference(&ops->differences[0], "gone", 300, 0);
    expect_difference(&ops->differences[1], "new", 0, 100);
    expect_difference(&ops->differences[2], "shrunk", 1000, 900);
    expect_difference(&ops->differences[3], "often", 0, 0);
    expect_difference(&ops->differences[4], "a", 0, 0);
    expect_difference(&ops->differences[5], "b", 0, 0);
    assert_int_equal(ops->added, 2);
    assert_int_equal(ops->removed, 3);
    assert_int_equal(ops->changed, 1);
    assert_int_equal(ops->unchanged, 1);
    assert_int_equal(comparison.parts[STRUCTURE_LABELS].difference_count, 0);
    assert_int_equal(comparison.parts[STRUCTURE_LABELS].unchanged, 1);
    structure_comparison_free(&comparison);
    structure_free(&sides[0]);
    structure_free(&sides[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_of_a_run),       cmocka_unit_test(call_sites_are_frames),
        cmocka_unit_test(sums_are_clamped),     cmocka_unit_test(digests_tell_structures_apart),
        cmocka_unit_test(largest_change_first),
    };
    return run_tap(tests);
}
