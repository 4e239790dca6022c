/* Activations (doc/spec/evidence.md 10 and 12): classification, links, metrics, states and rankings by hand.
 */
#include "tests/unit/activations_trace.h"

#define LEVELS(activations, memory)                                                                          \
    META_WITH("infer", "\"operations\":\"none\",\"activations\":\"" activations                              \
                       "\",\"logical_memory\":\"" memory "\",\"physical_memory\":\"none\","                  \
                       "\"device_timing\":\"none\"")

static void put_kind_span(struct text *text, const char *id, const char *parent, const char *kind)
{
    put(text,
        "{\"kind\":\"span_start\",\"id\":\"%s\",\"parent_id\":\"%s\",\"name\":\"%s\",\"start_ns\":10,"
        "\"span_kind\":\"%s\"}\n{\"kind\":\"span_end\",\"id\":\"%s\",\"duration_ns\":10}\n",
        id, parent, id, kind, id);
}

static void put_failed(struct text *text, uint64_t time)
{
    put(text, "{\"kind\":\"terminal\",\"outcome\":\"failed\",\"timestamp_ns\":%llu,\"reason\":\"killed\"}\n",
        (unsigned long long)time);
}

/* ---- classification, scope and links ---- */

static void test_classification(void **state) /* 10.5 */
{
    (void)state;
    struct text text = {0};
    put(&text, META);
    put_span(&text, "s", "", 0, 100, true);
    put_op(&text, "s", "none", "t0", 1, 1);   /* s/0: output is no activation */
    put_op(&text, "s", "tensor", "t1", 1, 1); /* s/1 */
    put_op(&text, "s", "both", "t2", 1, 1);   /* s/2 */
    put_op(&text, "s", "store", "", 1, 1);    /* s/3: no output at all */
    put_op(&text, "s", "param", "t4", 1, 1);  /* s/4: its storage is no activation */
    put_tensor(&text, "s", "t0", "parameter");
    put_tensor(&text, "s", "t1", "other");
    put_tensor(&text, "s", "t1", "activation"); /* one of several records is enough */
    put_tensor(&text, "s", "t2", "activation");
    put_alloc(&text, 10, "m2", "t2", "s", 8, "both", "activation");
    put_alloc(&text, 20, "m3", "x", "s", 4, "store", "activation");
    put_alloc(&text, 20, "m4", "t4", "s", 2, "param", "parameter");
    put_alloc(&text, 20, "m5", "y", "s", 1, "", "activation"); /* nobody's */
    put_memory(&text, 50, "cpu", "m3", "x", "s", 4, "free", "");
    put_end(&text, 100);
    struct made made = make(&text);
    expect_operations(&made,
                      "s/1 tensor - - - - -\ns/2 tensor logical 8 1 90 720 8\ns/3 logical 4 1 30 120 0\n");
    assert_int_equal(made.activations.unattributed_storages, 1);
    release(&made);
}

static void
test_scope(void **state) /* 10.4: measured is [10, 20]; who overlaps it counts, wherever it hangs */
{
    (void)state;
    struct text text = {0};
    put(&text, META);
    put_span(&text, "root", "", 0, 100, false);
    put_span(&text, "m", "root", 10, 10, true);
    put_span(&text, "in", "m", 12, 3, false);
    static const struct {
        const char *span;
        uint64_t time, duration;
    } ops[] = {{"m", 15, 1},    {"in", 13, 1},   {"root", 5, 5},   {"root", 5, 6},
               {"root", 19, 9}, {"root", 20, 1}, {"root", 10, 0},  {"root", 20, 0},
               {"root", 9, 0},  {"root", 21, 0}, {"root", 0, 100}, {"root", 3, 2}};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        put_op(&text, ops[i].span, "op", "t", ops[i].time, ops[i].duration);
    put_tensor(&text, "m", "t", "activation");
    put_end(&text, 100);
    struct made made = make(&text);
    expect_operations(&made, "m/0 tensor - - - - -\nin/0 tensor - - - - -\n"
                             "root/1 tensor - - - - -\nroot/2 tensor - - - - -\n"
                             "root/4 tensor - - - - -\nroot/5 tensor - - - - -\nroot/8 tensor - - - - -\n");
    release(&made);
}

static void test_links(void **state) /* 10.5, L1 to L4; all storages are activations of 1, 2, 4, ... bytes */
{
    (void)state;
    struct text text = {0};
    put(&text, META);
    put_span(&text, "s", "", 0, 100, true);
    put_span(&text, "u", "s", 0, 100, false);
    put_op(&text, "s", "one", "a", 1, 1);                          /* s/0 */
    put_op(&text, "s", "two", "b", 1, 1);                          /* s/1 */
    put_op(&text, "s", "two", "c", 1, 1);                          /* s/2 */
    put_op(&text, "u", "far", "d", 1, 1);                          /* u/0 */
    put_op(&text, "u", "three", "e", 1, 1);                        /* u/1 */
    put_op(&text, "s", "three", "e", 1, 1);                        /* s/3 */
    put_alloc(&text, 10, "m0", "zz", "s", 1, "one", "activation"); /* L1: s/0, whatever the tensor */
    put_alloc(&text, 10, "m1", "b", "s", 2, "two", "activation");  /* L2: s/1 */
    put_alloc(&text, 10, "m2", "a", "s", 4, "two", "activation");  /* L2 finds none: nobody's */
    put_alloc(&text, 10, "m3", "b", "s", 8, "two", "activation");  /* L2: b and c, both: nobody's */
    put_memory(&text, 11, "cpu", "m3", "c", "s", 8, "alloc", "");
    put_alloc(&text, 10, "m4", "c", "s", 16, "", "activation");     /* L3: s/2 */
    put_alloc(&text, 10, "m5", "c", "s", 32, "gone", "activation"); /* L1 has no candidate, L3: s/2 */
    put_alloc(&text, 10, "m6", "d", "s", 64, "", "activation");     /* L4: u/0 */
    put_alloc(&text, 10, "m7", "e", "s", 128, "", "activation");    /* L3: s/3, though L4 has two */
    put_alloc(&text, 10, "m8", "a", "s", 256, "", "activation");    /* L3: a and b, L4 too: nobody's */
    put_memory(&text, 11, "cpu", "m8", "b", "s", 256, "alloc", "");
    put_alloc(&text, 10, "m9", "e", "u", 512, "three", "activation"); /* L1: u/1 */
    put_memory(&text, 20, "cpu", "m4", "late", "s", 16, "free",
               ""); /* the freeing record's id is in the set */
    put_end(&text, 100);
    struct made made = make(&text);
    expect_operations(&made, "s/0 logical 1 1 90 90 1\ns/1 logical 2 1 90 180 2\n"
                             "s/2 logical 48 2 100 3040 32\n" /* 16 for 10 ns, 32 for 90 ns and beyond */
                             "u/0 logical 64 1 90 5760 64\nu/1 logical 512 1 90 46080 512\n"
                             "s/3 logical 128 1 90 11520 128\n");
    assert_int_equal(made.activations.unattributed_storages, 3);
    release(&made);
}

static void test_scratch(void **state) /* 10.6: of other categories only what the output lives in counts */
{
    (void)state;
    for (int tensor_output = 0; tensor_output < 2; tensor_output++) {
        struct text text = {0};
        put(&text, META);
        put_span(&text, "s", "", 0, 100, true);
        put_op(&text, "s", "mm", "out", 1, 1);
        if (tensor_output) put_tensor(&text, "s", "out", "activation");
        put_alloc(&text, 10, "m0", "out", "s", 1, "mm", "other");
        put_alloc(&text, 10, "m1", "tmp", "s", 2, "mm", "other");
        put_alloc(&text, 10, "m2", "tmp2", "s", 4, "mm", "activation");
        put_end(&text, 100);
        struct made made = make(&text);
        expect_operations(&made, tensor_output ? "s/0 tensor logical 5 2 180 450 5\n"
                                               : "s/0 logical 4 1 90 360 4\n");
        release(&made);
    }
}

/* ---- metrics ---- */

static void test_byte_nanoseconds(void **state) /* 12 */
{
    (void)state;
    struct text text = {0};
    put(&text, META);
    put_span(&text, "s", "", 0, 10000000000, true);
    put_op(&text, "s", "mm", "t", 1, 1);
    put_alloc(&text, 0, "m", "t", "s", (uint64_t)1 << 40, "mm", "activation");
    put_end(&text, 10000000000);
    struct made made = make(&text);
    assert_int_equal(made.activations.operation_count, 1);
    const struct activation_operation *operation = &made.activations.operations[0];
    assert_int_equal(operation->storage_count, 1);
    assert_int_equal(operation->live_duration_ns, 10000000000);
    /* 10995116277760000000000 = 1099511627776 * 10^10 */
    assert_true(operation->byte_nanoseconds == (unsigned __int128)1099511627776u * 10000000000u);
    assert_int_equal(operation->retained_bytes, (uint64_t)1 << 40);
    release(&made);
}

static void
test_interval(void **state) /* 10.6: clipping to [10, 20], what is retained, open and absent regions */
{
    (void)state;
    static const struct {
        uint64_t start, end; /* end 0: never */
    } storages[] = {{5, 8}, {5, 15}, {12, 14}, {12, 20}, {12, 21}, {15, 0}, {20, 0}, {25, 30}};
    for (int variant = 0; variant < 3; variant++) { /* measured; measured but open; not measured */
        struct text text = {0};
        put(&text, META);
        put(&text, "{\"kind\":\"span_start\",\"id\":\"r\",\"name\":\"r\",\"start_ns\":0,\"span_kind\":"
                   "\"module\"}\n");
        put(&text,
            "{\"kind\":\"span_start\",\"id\":\"s\",\"parent_id\":\"r\",\"name\":\"s\",\"start_ns\":10,"
            "\"span_kind\":\"module\",\"measured\":%s}\n",
            variant < 2 ? "true" : "false");
        if (variant != 1) put(&text, "{\"kind\":\"span_end\",\"id\":\"s\",\"duration_ns\":10}\n");
        put_op(&text, "s", "mm", "t", 11, 1);
        for (size_t i = 0; i < sizeof storages / sizeof *storages; i++) {
            char storage[4];
            snprintf(storage, sizeof storage, "m%u", (unsigned)i % 10);
            put_alloc(&text, storages[i].start, storage, "t", "r", 1, "", "activation");
            if (storages[i].end) put_memory(&text, storages[i].end, "cpu", storage, "t", "r", 1, "free", "");
        }
        put_failed(&text, 30);
        struct made made = make(&text);
        /* [10, 20): 0 5 2 8 8 5 0 0, retained those to 21 and from 15 on. [10, 30): 0 5 2 8 9 15 10 5. */
        expect_operations(&made, variant == 0   ? "s/0 logical 8 8 28 28 2\n"
                                 : variant == 1 ? "s/0 logical 8 8 54 54 -\n"
                                                : "s/0 logical 8 8 - - -\n");
        release(&made);
    }
}

static void test_known_zero(void **state) /* 10.6: declared complete, and the plane exists */
{
    (void)state;
    for (int variant = 0; variant < 3; variant++) {
        struct text text = {0};
        put(&text, "%s", variant ? LEVELS("none", "complete") : LEVELS("none", "partial"));
        put_span(&text, "s", "", 0, 100, true);
        put_op(&text, "s", "mm", "t", 11, 1);
        put_tensor(&text, "s", "t", "activation");
        if (variant < 2) put_alloc(&text, 1, "m", "elsewhere", "s", 1, "", "other");
        put_end(&text, 100);
        struct made made = make(&text);
        expect_operations(&made, variant == 1 ? "s/0 tensor 0 0 0 0 0\n" : "s/0 tensor - - - - -\n");
        release(&made);
    }
}

static void put_interval(struct text *text, const char *span, const char *clock, uint64_t duration)
{
    put(text,
        "{\"kind\":\"device_interval\",\"span_id\":\"%s\",\"device\":\"cuda:0\",\"stream_id\":\"7\","
        "\"clock_id\":\"%s\",\"backend\":\"events\",\"start_ns\":5,\"duration_ns\":%llu}\n",
        span, clock, (unsigned long long)duration);
}

static void test_dedicated(void **state) /* 10.3, and "op-kind span" of 12 */
{
    (void)state;
    struct text text = {0};
    put(&text, META);
    put_span(&text, "root", "", 0, 100, true);
    put_kind_span(&text, "k", "root", "op");       /* one op: its own */
    put_kind_span(&text, "two", "root", "op");     /* two ops: nobody's */
    put_kind_span(&text, "mod", "root", "module"); /* not of kind op */
    put_op(&text, "k", "mm", "t", 11, 1);
    put_op(&text, "two", "mm", "t", 11, 1);
    put_op(&text, "mod", "mm", "t", 11, 1);
    put_op(&text, "two", "other", "u", 11, 1);
    put_tensor(&text, "root", "t", "activation");
    put_interval(&text, "k", "k2", 3);
    put_interval(&text, "two", "k1", 4);
    put_interval(&text, "mod", "k1", 5);
    put_interval(&text, "k", "k1", 6);
    put_end(&text, 100);
    struct made made = make(&text);
    expect_operations(&made, "k tensor - - - - -\ntwo/0 tensor - - - - -\nmod/0 tensor - - - - -\n");
    struct cg_list timings = made.activations.operations[0].timings;
    assert_int_equal(timings.count, 2);
    expect_text(made.trace, made.timing.spans[timings.first].span_id, "k");
    expect_text(made.trace, made.timing.spans[timings.first].clock_id, "k1");
    assert_int_equal(made.timing.spans[timings.first].busy_ns, 6);
    assert_int_equal(made.timing.spans[timings.first + 1].busy_ns, 3);
    assert_int_equal(made.activations.operations[1].timings.count, 0);
    assert_int_equal(made.activations.operations[2].timings.count, 0);

    uint32_t rows[3];
    const struct timing_clock *clock = &made.timing.clocks[0];
    assert_int_equal(activations_ranked_by_device(made.trace, &made.activations, &made.timing, clock->device,
                                                  clock->clock_id, 3, rows),
                     1);
    assert_int_equal(rows[0], 0);
    release(&made);
}

/* ---- rankings (10.1) ---- */

static void test_rankings(void **state)
{
    (void)state;
    struct text text = {0};
    put(&text, META);
    put_span(&text, "s", "", 0, 100, true);
    put_kind_span(&text, "s!", "s", "op"); /* '!' < '/': its id stands before s/op/... */
    put_kind_span(&text, "s0", "s", "op"); /* '0' > '/' */
    /* Rows of operations: 0 to 11 are s/op/0 to s/op/11, 12 is s!, 13 is s0. */
    for (int i = 0; i < 12; i++)
        put_op(&text, "s", "mm", "t", 11, i == 3 ? 9 : 5);
    put_op(&text, "s!", "mm", "t", 11, 5);
    put_op(&text, "s0", "mm", "t", 11, 5);
    put_tensor(&text, "s", "t", "activation");
    put_end(&text, 100);
    struct made made = make(&text);
    static const uint32_t expected[] = {3, 12, 0, 1, 10, 11, 2, 4, 5, 6, 7, 8, 9, 13};
    for (size_t limit = 0; limit <= 15; limit++) {
        uint32_t rows[16] = {0};
        size_t kept = limit < 14 ? limit : 14;
        assert_int_equal(
            activations_ranked(made.trace, &made.activations, ACTIVATION_HOST_DURATION, limit, rows), 14);
        if (kept) assert_memory_equal(rows, expected, kept * sizeof *rows);
    }
    uint32_t rows[14];
    /* Dense bytes are 8 for all; nobody has logical storage. */
    assert_int_equal(activations_ranked(made.trace, &made.activations, ACTIVATION_DENSE_OUTPUT, 14, rows),
                     14);
    assert_int_equal(rows[0], 12);
    assert_int_equal(
        activations_ranked(made.trace, &made.activations, ACTIVATION_LOGICAL_ALLOCATED, 14, rows), 0);
    assert_int_equal(activations_ranked(made.trace, &made.activations, ACTIVATION_BYTE_NANOSECONDS, 14, rows),
                     0);
    release(&made);
}

static void test_ranking_zero(void **state) /* a known 0 takes part, an absent value does not */
{
    (void)state;
    struct text text = {0};
    put(&text, META);
    put_span(&text, "s", "", 10, 90, true);
    put_op(&text, "s", "a", "t", 11, 1);
    put_op(&text, "s", "b", "t", 11, 1);
    put_op(&text, "s", "c", "t", 11, 1);
    put_tensor(&text, "s", "t", "activation");
    put_alloc(&text, 10, "m1", "t", "s", 0, "b", "activation");
    put_alloc(&text, 20, "m2", "t", "s", 7, "c", "activation");
    put_memory(&text, 20, "cpu", "m2", "t", "s", 7, "free", "");
    put_end(&text, 100);
    struct made made = make(&text);
    static const struct {
        enum activation_metric metric;
        uint32_t first, second;
    } cases[] = {{ACTIVATION_LOGICAL_ALLOCATED, 2, 1},
                 {ACTIVATION_LIVE_DURATION, 1, 2},
                 {ACTIVATION_BYTE_NANOSECONDS, 1, 2},
                 {ACTIVATION_RETAINED, 1, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t rows[3];
        assert_int_equal(activations_ranked(made.trace, &made.activations, cases[i].metric, 3, rows), 2);
        assert_int_equal(rows[0], cases[i].first);
        assert_int_equal(rows[1], cases[i].second);
    }
    release(&made);
}

/* ---- states (10.7) ---- */

#define U CAPABILITY_UNAVAILABLE
#define P CAPABILITY_PARTIAL
#define C CAPABILITY_COMPLETE
#define I CAPABILITY_INVALID

struct state_case {
    const char *meta;
    bool operation, second, storage, lost, device, failed, broken;
    enum capability_level device_plane, memory_plane;
    enum capability_level coverage, host, device_time, dense, logical;
};

static void expect_state(const struct activation_state *state, enum capability_level level,
                         const char *source)
{
    assert_int_equal(state->level, level);
    assert_string_equal(state->source, level == U ? "none" : source);
    assert_true(state->reason[0] != '\0');
}

static void check_states(const struct state_case *c)
{
    struct text text = {0};
    put(&text, "%s", c->meta);
    put_span(&text, "s", "", 0, 100, true);
    put_kind_span(&text, "k", "s", "op");
    if (c->operation) put_op(&text, "k", "mm", "t", 11, 1);
    if (c->second) /* another one, without device time, dense bytes or storage */
        put(&text, "{\"kind\":\"op\",\"span_id\":\"s\",\"op_name\":\"q\",\"output\":\"t\",\"shape\":[],"
                   "\"dtype\":\"q4\",\"device\":\"cpu\",\"timestamp_ns\":11,\"duration_ns\":1,"
                   "\"input_dense_bytes\":0}\n");
    put_tensor(&text, "s", "t", "activation");
    if (c->storage) put_alloc(&text, 12, "m", "t", "k", 8, "mm", "activation");
    if (c->lost) put_alloc(&text, 12, "n", "x", "s", 8, "", "activation");
    if (c->device) put_interval(&text, "k", "k1", 6);
    if (c->broken) put_span(&text, "root2", "", 0, 1, false);
    if (c->failed)
        put_failed(&text, 100);
    else
        put_end(&text, 100);
    struct made made = make_with(&text, c->device_plane, c->memory_plane);
    const char *broken = c->broken ? "candle-graph/trace/10 validation" : NULL;
    expect_state(&made.activations.coverage, c->coverage, broken ? broken : "activation category links");
    expect_state(&made.activations.host_time, c->host, broken ? broken : "trace op events");
    expect_state(&made.activations.device_time, c->device_time, broken ? broken : "device intervals");
    expect_state(&made.activations.dense_output, c->dense, broken ? broken : "dense tensor footprints");
    expect_state(&made.activations.logical_memory, c->logical, broken ? broken : "storage lifetime events");
    expect_state(&made.activations.physical_memory_attribution, U, "none");
    if (c->broken) {
        assert_int_equal(made.activations.operation_count, 0);
        assert_int_equal(made.activations.unattributed_storages, 0);
    }
    release(&made);
}

static void test_states(void **state)
{
    (void)state;
#define NONE     LEVELS("none", "none")
#define COMPLETE LEVELS("complete", "none")
    static const struct state_case cases[] = {
        /* meta, operation second storage lost device failed broken, planes, coverage host device dense
           logical */
        {NONE, 0, 0, 0, 0, 0, 0, 0, P, P, U, U, U, U, U},
        {COMPLETE, 0, 0, 0, 0, 0, 0, 0, P, P, I, U, U, U, U},
        {NONE, 1, 0, 1, 0, 1, 0, 0, C, C, P, P, P, P, P},
        {COMPLETE, 1, 0, 1, 0, 1, 0, 0, C, C, C, C, C, C, C},
        {COMPLETE, 1, 0, 1, 1, 1, 0, 0, C, C, P, P, P, P, P}, /* a storage belongs to nobody */
        {COMPLETE, 1, 1, 1, 0, 1, 0, 0, C, C, C, C, P, P, P}, /* one of two operations */
        {COMPLETE, 1, 0, 1, 0, 1, 0, 0, P, P, C, C, P, C, P}, /* planes that are partial */
        {COMPLETE, 1, 0, 1, 0, 0, 0, 0, C, I, C, C, U, C, I},
        {COMPLETE, 1, 0, 1, 0, 0, 0, 0, I, U, C, C, I, C, U},
        {COMPLETE, 0, 1, 0, 0, 0, 0, 0, C, C, C, C, U, U, U}, /* an operation without any metric */
        {COMPLETE, 1, 0, 1, 0, 1, 1, 0, P, P, P, P, P, P, P}, /* failed: complete becomes partial */
        {COMPLETE, 0, 0, 0, 0, 0, 1, 0, I, I, I, U, I, U, I},
        {COMPLETE, 1, 0, 1, 0, 1, 0, 1, C, C, I, I, I, I, I},
        {COMPLETE, 1, 0, 1, 0, 1, 1, 1, C, C, I, I, I, I, I},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_states(&cases[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_classification),
        cmocka_unit_test(test_scope),
        cmocka_unit_test(test_links),
        cmocka_unit_test(test_scratch),
        cmocka_unit_test(test_byte_nanoseconds),
        cmocka_unit_test(test_interval),
        cmocka_unit_test(test_known_zero),
        cmocka_unit_test(test_dedicated),
        cmocka_unit_test(test_rankings),
        cmocka_unit_test(test_ranking_zero),
        cmocka_unit_test(test_states),
    };
    return run_tap(tests);
}
