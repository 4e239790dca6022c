/* Memory metrics of spans and ops: the vectors of doc/spec/planes.md 8 and doc/spec/evidence.md 12, and
 * random traces against a direct, quadratic reading of doc/spec/planes.md 4. */
#include "tests/unit/plane_trace.h"

#include "analyzer/planes/planes.h"

struct made {
    struct cg_trace *trace;
    struct logical_memory memory;
    struct node_memory metrics;
};

static struct made make(struct text *text)
{
    struct made made = {.trace = load(text)};
    assert_true(logical_memory_make(made.trace, &made.memory));
    assert_true(node_memory_make(made.trace, &made.memory, &made.metrics));
    return made;
}

static void release(struct made *made)
{
    node_memory_free(&made->metrics);
    logical_memory_free(&made->memory);
    trace_free(made->trace);
}

#define ABSENT UINT64_MAX /* no test has a known value of this size */

static void expect_span(const struct made *made, const char *id, uint64_t direct, uint64_t peak,
                        uint64_t residual)
{
    uint32_t row = span_row(made->trace, id);
    const struct node_memory *metrics = &made->metrics;
    assert_int_equal(metrics->allocated_set[row], direct != ABSENT);
    if (direct != ABSENT) assert_int_equal(metrics->allocated_bytes[row], direct);
    assert_int_equal(metrics->subtree_set[row], peak != ABSENT);
    if (peak == ABSENT) return;
    assert_int_equal(metrics->peak_live_bytes[row], peak);
    assert_int_equal(metrics->residual_bytes[row], residual);
}

static void expect_op(const struct made *made, size_t row, uint64_t direct)
{
    assert_int_equal(made->metrics.op_allocated_set[row], direct != ABSENT);
    if (direct != ABSENT) assert_int_equal(made->metrics.op_allocated_bytes[row], direct);
}

static void put_op(struct text *text, const char *span, const char *name)
{
    put(text,
        "{\"kind\":\"op\",\"span_id\":\"%s\",\"op_name\":\"%s\",\"shape\":[2],\"dtype\":\"f32\","
        "\"device\":\"cpu\",\"duration_ns\":1,\"timestamp_ns\":1,\"input_dense_bytes\":0}\n",
        span, name);
}

static void test_aliases(void **state)
{
    (void)state;
    struct text text = {0};
    put_aliases(&text);
    struct made made = make(&text);
    expect_span(&made, "s", 112, 96, 16);
    release(&made);
}

static void test_one_timestamp(void **state) /* 8.4 */
{
    (void)state;
    struct text text = {0};
    put(&text, META);
    put_span(&text, "s", "", 0, 50, true);
    put_op(&text, "s", "mm");
    put_op(&text, "s", "add");
    put_op(&text, "s", "add");
    put_memory(&text, 5, "d0", "a", "a", "s", 64, "alloc", "");
    put_memory(&text, 5, "d0", "a", "a", "s", 64, "free", "");
    put_memory(&text, 6, "d1", "z", "z", "s", 0, "alloc", ",\"category\":\"parameter\"");
    put_memory(&text, 6, "d0", "a", "a", "s", 1, "alloc", "");
    put_memory(&text, 6, "d0", "a", "b", "s", 9, "alloc", "");
    put_memory(&text, 7, "d0", "a", "a", "s", 5, "free", "");
    put_memory(&text, 8, "d0", "b", "b", "s", 2, "alloc", ",\"op_name\":\"mm\"");
    put_memory(&text, 8, "d0", "b", "b", "s", 2, "free", "");
    put_memory(&text, 8, "d0", "b", "b", "s", 3, "alloc", "");
    put_end(&text, 50);
    struct made made = make(&text);
    expect_span(&made, "s", 70, 67, 3);
    expect_op(&made, 0, 2);
    expect_op(&made, 1, ABSENT);
    expect_op(&made, 2, ABSENT);
    release(&made);
}

static void test_unmatched_free(void **state) /* 8.5 */
{
    (void)state;
    for (int complete = 0; complete < 2; complete++) {
        struct text text = {0};
        put(&text, "%s", complete ? META_WITH("infer", MEMORY_COMPLETE) : META);
        put_span(&text, "s", "", 0, 50, true);
        put_memory(&text, 5, "cpu", "zz", "t", "s", 1, "free", "");
        put_end(&text, 50);
        struct made made = make(&text);
        expect_span(&made, "s", complete ? 0 : ABSENT, complete ? 0 : ABSENT, 0);
        release(&made);
    }
}

static void test_no_plane(void **state) /* 4.2: nothing is known without a memory record, even if declared */
{
    (void)state;
    struct text text = {0};
    put(&text, META_WITH("infer", MEMORY_COMPLETE));
    put_span(&text, "s", "", 0, 50, true);
    put_end(&text, 50);
    struct made made = make(&text);
    expect_span(&made, "s", ABSENT, ABSENT, ABSENT);
    release(&made);
}

static void test_clipping(void **state) /* 8.6 */
{
    (void)state;
    for (int complete = 0; complete < 2; complete++) {
        const uint64_t unknown = complete ? 0 : ABSENT;
        struct text text = {0};
        put(&text, "%s", complete ? META_WITH("infer", MEMORY_COMPLETE) : META);
        put_span(&text, "root", "", 0, 100, true);
        put_span(&text, "child", "root", 20, 40, false);
        put_span(&text, "idle", "root", 70, 10, false);
        put_span(&text, "nil", "root", 90, 0, false);
        put_memory(&text, 20, "cpu", "p", "p", "child", 10, "alloc", "");
        put_memory(&text, 30, "cpu", "q", "q", "child", 20, "alloc", "");
        put_memory(&text, 50, "cpu", "o", "o", "child", 5, "alloc", "");
        put_memory(&text, 60, "cpu", "q", "q", "child", 20, "free", "");
        put_memory(&text, 60, "cpu", "z", "z", "child", 7, "alloc", "");
        put_memory(&text, 100, "cpu", "p", "p", "root", 10, "free", "");
        put_end(&text, 100);
        struct made made = make(&text);
        expect_span(&made, "child", 42, 35, 15);
        expect_span(&made, "root", unknown, 35, 12);
        expect_span(&made, "idle", unknown, unknown, unknown);
        expect_span(&made, "nil", unknown, unknown, unknown);
        release(&made);
    }
}

static void test_instant(void **state) /* 8.7, and "saturation oddity" of evidence.md 12 */
{
    (void)state;
    struct text text = {0};
    put(&text, META);
    put_span(&text, "s", "", 0, 100, true);
    put_memory(&text, 10, "cpu", "x", "x", "s", 50, "alloc", "");
    put_memory(&text, 10, "cpu", "x", "x", "s", 50, "free", "");
    put_memory(&text, 20, "cpu", "y", "y", "s", 8, "alloc", "");
    put_memory(&text, 30, "cpu", "y", "y", "s", 8, "free", "");
    put_end(&text, 100);
    struct made made = make(&text);
    expect_span(&made, "s", 58, 58, 0);
    assert_int_equal(made.memory.peak_live_bytes, 8);
    release(&made);

    put(&text, META);
    put_span(&text, "s", "", 0, 100, true);
    put_memory(&text, 50, "cpu", "x", "x", "s", 64, "alloc", "");
    put_memory(&text, 50, "cpu", "x", "x", "s", 64, "free", "");
    put_memory(&text, 60, "cpu", "y", "y", "s", 10, "alloc", "");
    put_end(&text, 100);
    made = make(&text);
    expect_span(&made, "s", 74, 74, 10);
    release(&made);
}

static void test_ops(void **state) /* evidence.md 12, "ops and allocations" */
{
    (void)state;
    struct text text = {0};
    put(&text, META);
    put_span(&text, "root", "", 0, 100, true);
    put_op(&text, "root", "matmul");
    put_op(&text, "root", "add");
    put_op(&text, "root", "add");
    put_memory(&text, 5, "cpu", "a", "a", "root", 64, "alloc", ",\"op_name\":\"matmul\"");
    put_memory(&text, 6, "cpu", "b", "b", "root", 32, "alloc", ",\"op_name\":\"add\"");
    put_end(&text, 100);
    struct made made = make(&text);
    expect_op(&made, 0, 64);
    expect_op(&made, 1, ABSENT);
    expect_op(&made, 2, ABSENT);
    expect_span(&made, "root", 96, 96, 96);
    release(&made);
}

static void
test_open_span(void **state) /* 4.2: no subtree metric for an open span; direct bytes all the same */
{
    (void)state;
    struct text text = {0};
    put(&text, META);
    put(&text,
        "{\"kind\":\"span_start\",\"id\":\"s\",\"name\":\"s\",\"start_ns\":0,\"span_kind\":\"function\"}\n");
    put_memory(&text, 5, "cpu", "a", "a", "s", 64, "alloc", "");
    put_end(&text, 100);
    struct made made = make(&text);
    expect_span(&made, "s", 64, ABSENT, ABSENT);
    release(&made);
}

/* ---- a direct reading of 4.2 and 4.3 ---- */

struct naive_lifetime {
    char storage[8];
    int device, span;
    uint64_t bytes, start, end; /* end MAX while it has none */
    bool live;
};

struct naive_span {
    int parent;
    uint64_t start, duration;
};

static bool in_subtree(const struct naive_span *spans, int span, int top)
{
    for (; span >= 0; span = spans[span].parent)
        if (span == top) return true;
    return false;
}

static int compare_u64(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

static void naive_sweep(const struct naive_span *spans, int top, const struct naive_lifetime *lifetimes,
                        size_t count, uint64_t *peak, uint64_t *residual)
{
    uint64_t a = spans[top].start, b = cg_sat_add(a, spans[top].duration);
    uint64_t *times = malloc((count * 2 + 1) * sizeof *times), live = 0;
    size_t time_count = 0;
    *residual = 0;
    for (size_t i = 0; i < count; i++) {
        const struct naive_lifetime *l = &lifetimes[i];
        if (!in_subtree(spans, l->span, top) || l->start >= b || l->end <= a) continue;
        if (l->start <= a)
            live = cg_sat_add(live, l->bytes);
        else
            times[time_count++] = l->start;
        if (l->end < b) times[time_count++] = l->end;
        if (l->end > b) *residual = cg_sat_add(*residual, l->bytes);
    }
    qsort(times, time_count, sizeof *times, compare_u64);
    *peak = live;
    for (size_t t = 0; t < time_count; t++) {
        if (t && times[t] == times[t - 1]) continue;
        uint64_t freed = 0, added = 0;
        for (size_t i = 0; i < count; i++) {
            const struct naive_lifetime *l = &lifetimes[i];
            if (!in_subtree(spans, l->span, top) || l->start >= b || l->end <= a) continue;
            if (l->end < b && l->end == times[t]) freed = cg_sat_add(freed, l->bytes);
            if (l->start > a && l->start == times[t]) added = cg_sat_add(added, l->bytes);
        }
        live = cg_sat_add(cg_sat_sub(live, freed), added);
        if (live > *peak) *peak = live;
    }
    if (b <= a) *peak = *residual = 0;
    free(times);
}

#define SPANS   24
#define RECORDS 160

/* One random trace: spans in a random tree (intervals at will, so that clipping happens), records in a random
 * order of times, few storages and few times, so that everything meets. */
struct naive {
    uint64_t seed, horizon, base;
    int span_count, record_count;
    struct naive_span spans[SPANS];
    struct naive_record {
        uint64_t time, bytes;
        int storage, device, span;
        bool alloc, applied;
    } records[RECORDS];
    struct naive_lifetime lifetimes[RECORDS];
    size_t count; /* of lifetimes */
};

static void put_random_spans(struct naive *n, struct text *text, uint64_t *state)
{
    for (int i = 0; i < n->span_count; i++) {
        struct naive_span *span = &n->spans[i];
        /* Deep and wide trees. */
        span->parent = i == 0 ? -1 : draw(state, 2) ? i - 1 : (int)draw(state, (uint64_t)i);
        span->start = n->base + draw(state, n->horizon);
        span->duration = draw(state, n->horizon + 1);
        char id[8], parent[8] = "";
        snprintf(id, sizeof id, "s%d", i);
        if (i) snprintf(parent, sizeof parent, "s%d", span->parent);
        put_span(text, id, parent, span->start, span->duration, i == 0);
    }
}

/* huge: bytes that sum beyond 64 bits; alike: all records of a storage have the same bytes. */
static void put_random_records(struct naive *n, struct text *text, uint64_t *state, bool huge, bool alike)
{
    uint64_t times[RECORDS];
    bool sorted = draw(state, 2);
    for (int i = 0; i < n->record_count; i++)
        times[i] = n->base + draw(state, n->horizon + 1);
    if (sorted) qsort(times, (size_t)n->record_count, sizeof *times, compare_u64);
    for (int i = 0; i < n->record_count; i++) {
        struct naive_record *r = &n->records[i];
        r->time = times[i];
        r->bytes = huge && draw(state, 3) == 0 ? UINT64_MAX - draw(state, 3) : draw(state, 40);
        r->storage = (int)draw(state, 12 + (n->seed % 3) * 60);
        if (alike) r->bytes = (uint64_t)r->storage * (huge && r->storage % 3 == 0 ? UINT64_MAX / 20 : 1);
        r->device = (int)draw(state, 2);
        r->span = (int)draw(state, (uint64_t)n->span_count);
        r->alloc = draw(state, 5) < 3;
        char device[4], storage[16], span[8];
        snprintf(device, sizeof device, "d%d", r->device);
        snprintf(storage, sizeof storage, "m%d", r->storage);
        snprintf(span, sizeof span, "s%d", r->span);
        put_memory(text, r->time, device, storage, storage, span, r->bytes, r->alloc ? "alloc" : "free", "");
    }
}

/* The record that comes next: the earliest not applied; of equal times the first in the file. */
static struct naive_record *next_record(struct naive *n)
{
    struct naive_record *next = NULL;
    for (int i = 0; i < n->record_count; i++)
        if (!n->records[i].applied && (!next || n->records[i].time < next->time)) next = &n->records[i];
    return next;
}

static void naive_lifetimes(struct naive *n)
{
    struct naive_record *next;
    while ((next = next_record(n)) != NULL) {
        struct naive_lifetime *live = NULL;
        char key[8];
        next->applied = true;
        snprintf(key, sizeof key, "m%d", next->storage);
        for (size_t i = 0; i < n->count; i++)
            if (n->lifetimes[i].live && n->lifetimes[i].device == next->device &&
                !strcmp(n->lifetimes[i].storage, key))
                live = &n->lifetimes[i];
        if (next->alloc && !live) {
            struct naive_lifetime *made = &n->lifetimes[n->count++];
            *made = (struct naive_lifetime){.device = next->device,
                                            .span = next->span,
                                            .bytes = next->bytes,
                                            .start = next->time,
                                            .end = UINT64_MAX,
                                            .live = true};
            memcpy(made->storage, key, sizeof key);
        } else if (!next->alloc && live) {
            live->live = false;
            live->end = next->time;
        }
    }
}

static void compare_span(const struct naive *n, const struct made *made, int i)
{
    char id[16];
    snprintf(id, sizeof id, "s%d", i);
    uint32_t row = span_row(made->trace, id);
    uint64_t direct = 0, peak, residual;
    bool has_direct = false, has_any = false;
    for (size_t j = 0; j < n->count; j++) {
        has_any = has_any || in_subtree(n->spans, n->lifetimes[j].span, i);
        if (n->lifetimes[j].span != i) continue;
        has_direct = true;
        direct = cg_sat_add(direct, n->lifetimes[j].bytes);
    }
    assert_int_equal(made->metrics.allocated_set[row], has_direct);
    if (has_direct) assert_int_equal(made->metrics.allocated_bytes[row], direct);
    assert_int_equal(made->metrics.subtree_set[row], has_any);
    if (!has_any) return;
    naive_sweep(n->spans, i, n->lifetimes, n->count, &peak, &residual);
    if (made->metrics.peak_live_bytes[row] != peak || made->metrics.residual_bytes[row] != residual)
        fail_msg("seed %llu span %d: peak %llu residual %llu, expected %llu and %llu",
                 (unsigned long long)n->seed, i, (unsigned long long)made->metrics.peak_live_bytes[row],
                 (unsigned long long)made->metrics.residual_bytes[row], (unsigned long long)peak,
                 (unsigned long long)residual);
}

static void compare_random(uint64_t seed)
{
    uint64_t state = seed * 0x9e3779b97f4a7c15ull + 1;
    struct naive n = {.seed = seed, .horizon = draw(&state, 3) ? 12 + draw(&state, 200) : 4};
    bool huge = draw(&state, 8) == 0;
    bool late = draw(&state, 6) == 0; /* times up to 2^64-1 */
    bool alike = draw(&state, 2);
    struct text text = {0};
    n.span_count = 1 + (int)draw(&state, SPANS);
    n.record_count = 1 + (int)draw(&state, RECORDS);
    n.base = late ? UINT64_MAX - n.horizon : 0;
    put(&text, META);
    put_random_spans(&n, &text, &state);
    put_random_records(&n, &text, &state, huge, alike);
    put_end(&text, UINT64_MAX);
    naive_lifetimes(&n);
    struct made made = make(&text);
    assert_int_equal(made.memory.lifetime_count, n.count);
    for (int i = 0; i < n.span_count; i++)
        compare_span(&n, &made, i);
    release(&made);
}

static void test_random(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 2000; seed++)
        compare_random(seed);
}

/* A chain or a fan of spans, one storage each, freed a little later: what a quadratic step would never
 * finish. */
static void test_large(void **state)
{
    (void)state;
    const uint32_t count = 200000;
    for (int deep = 0; deep < 2; deep++) {
        struct text text = {0};
        put(&text, META);
        put_span(&text, "s0", "", 0, 4 * count, true);
        for (uint32_t i = 1; i < count; i++) {
            char id[16], parent[16], storage[16];
            snprintf(id, sizeof id, "s%u", i);
            snprintf(parent, sizeof parent, "s%u", deep ? i - 1 : 0);
            snprintf(storage, sizeof storage, "m%u", i);
            put_span(&text, id, parent, i, deep ? 4 * count - 2 * i : 1, false);
            put_memory(&text, i, "cpu", storage, storage, id, 3, "alloc", "");
        }
        for (uint32_t i = count - 1; i > 0; i--) {
            char storage[16];
            snprintf(storage, sizeof storage, "m%u", i);
            put_memory(&text, 2 * count - i, "cpu", storage, storage, "s0", 3, "free", "");
        }
        put_end(&text, 4 * count);
        struct made made = make(&text);
        /* All are live together at the time count - 1. */
        expect_span(&made, "s0", ABSENT, 3 * (count - 1), 0);
        /* Deep: of the span k all from k on lie in the subtree. Wide: its own storage outlives it. */
        expect_span(&made, "s1000", 3, deep ? 3 * (count - 1000) : 3, deep ? 0 : 3);
        release(&made);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_aliases),
        cmocka_unit_test(test_one_timestamp),
        cmocka_unit_test(test_unmatched_free),
        cmocka_unit_test(test_no_plane),
        cmocka_unit_test(test_clipping),
        cmocka_unit_test(test_instant),
        cmocka_unit_test(test_ops),
        cmocka_unit_test(test_open_span),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_large),
    };
    return run_tap(tests);
}
