/* Which storages are alive: against a look at every one of them. */
#include "tests/unit/plane_trace.h"

#include "analyzer/planes/live_index.h"

static struct cg_trace *loaded(struct text *text, struct logical_memory *memory, struct live_index *index)
{
    put_end(text, UINT64_MAX);
    struct cg_trace *trace = load(text);
    assert_true(logical_memory_make(trace, memory));
    assert_true(live_index_make(trace, memory, index));
    return trace;
}

static void drop(struct cg_trace *trace, struct logical_memory *memory, struct live_index *index)
{
    live_index_free(index);
    logical_memory_free(memory);
    trace_free(trace);
}

/* Looks at every lifetime. */
static void expect_alive(const struct cg_trace *trace, const struct live_index *index, const char *device,
                         uint64_t time)
{
    cg_str name = trace_find(trace, device, strlen(device));
    uint32_t *found;
    size_t count, expected = 0;
    assert_true(live_index_find(index, name, time, &found, &count));
    for (size_t i = 0; i < index->memory->lifetime_count; i++) {
        const struct lifetime *lifetime = &index->memory->lifetimes[i];
        bool alive = trace->memory.device[lifetime->row] == name &&
                     trace->memory.timestamp_ns[lifetime->row] <= time &&
                     (lifetime->end_row == CG_NONE || trace->memory.timestamp_ns[lifetime->end_row] > time);
        if (!alive) continue;
        assert_true(expected < count);
        assert_int_equal(found[expected++], i);
    }
    assert_int_equal(count, expected);
    free(found);
}

/* Mostly short lives and some long ones, over many blocks. */
static void many(void **state)
{
    (void)state;
    struct text text = {0};
    struct logical_memory memory;
    struct live_index index;
    uint64_t random = 11;
    enum { STORAGES = 12000, LONG = 300000 };
    put(&text, META_WITH("train", MEMORY_COMPLETE));
    put_span(&text, "m", "", 0, UINT64_MAX, true);
    for (int i = 0; i < STORAGES; i++) {
        char id[16];
        uint64_t from = 20 * (uint64_t)i,
                 lasts = draw(&random, 500) ? draw(&random, 90) : draw(&random, LONG);
        const char *device = draw(&random, 4) ? "d0" : "d1";
        snprintf(id, sizeof id, "s%d", i);
        put_memory(&text, from, device, id, id, "m", 8, "alloc", "");
        if (draw(&random, 3000)) put_memory(&text, from + lasts, device, id, id, "m", 8, "free", "");
    }
    struct cg_trace *trace = loaded(&text, &memory, &index);
    assert_int_equal(memory.lifetime_count, STORAGES);
    for (int i = 0; i < 300; i++)
        expect_alive(trace, &index, draw(&random, 2) ? "d0" : "d1", draw(&random, 20 * STORAGES + 1000));
    drop(trace, &memory, &index);
}

static void edges(void **state)
{
    (void)state;
    struct text text = {0};
    struct logical_memory memory;
    struct live_index index;
    put(&text, META_WITH("train", MEMORY_COMPLETE));
    put_span(&text, "m", "", 0, UINT64_MAX, true);
    put_memory(&text, 0, "d", "a", "a", "m", 8, "alloc", "");
    put_memory(&text, 5, "d", "a", "a", "m", 8, "free", "");
    put_memory(&text, 5, "d", "b", "b", "m", 8, "alloc", "");
    put_memory(&text, 7, "d", "c", "c", "m", 8, "alloc", "");
    put_memory(&text, UINT64_MAX, "d", "b", "b", "m", 8, "free", "");
    struct cg_trace *trace = loaded(&text, &memory, &index);
    static const uint64_t times[] = {0, 4, 5, 6, 7, UINT64_MAX - 1, UINT64_MAX};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        expect_alive(trace, &index, "d", times[i]);
    uint32_t *found;
    size_t count;
    assert_true(live_index_find(&index, trace_find(trace, "d", 1), UINT64_MAX, &found, &count));
    assert_int_equal(count, 1); /* c, which never ends; b ends then */
    free(found);
    drop(trace, &memory, &index);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many),
        cmocka_unit_test(edges),
    };
    return run_tap(tests);
}
