/* Leaks, temporaries, the peak, and the groups of storages: every expectation is worked out by hand. */
#include "tests/unit/plane_trace.h"

#include "analyzer/planes/storage_groups.h"

struct made {
    struct cg_trace *trace;
    struct logical_memory memory;
    struct span_paths paths;
    struct training_steps steps;
    uint8_t *selected;
};

static void make(struct text *text, struct made *made, const char *step_span)
{
    const struct cg_load_options options = {.extras = true};
    struct cg_error error;
    *made = (struct made){0};
    if (trace_load_bytes("test", text->bytes, text->length, &options, &made->trace, &error) != 0)
        fail_msg("%s", error.message);
    free(text->bytes);
    *text = (struct text){0};
    cg_str name = step_span ? trace_find(made->trace, step_span, strlen(step_span)) : CG_ABSENT;
    assert_true(logical_memory_make(made->trace, &made->memory));
    assert_true(span_paths_make(made->trace, &made->paths));
    assert_true(training_steps_make(made->trace, &made->memory, name, NULL, &made->steps));
    made->selected = calloc(made->memory.lifetime_count + 1, 1);
    assert_non_null(made->selected);
}

static void drop(struct made *made)
{
    free(made->selected);
    training_steps_free(&made->steps);
    span_paths_free(&made->paths);
    logical_memory_free(&made->memory);
    trace_free(made->trace);
}

/* The storage ids of the selected ones, in the order of their starts. */
static void expect_selected(const struct made *made, const char *expected)
{
    char ids[256] = "";
    for (size_t i = 0; i < made->memory.lifetime_count; i++) {
        struct cg_text id =
            trace_text(made->trace, made->trace->memory.storage_id[made->memory.lifetimes[i].row]);
        if (made->selected[i])
            snprintf(ids + strlen(ids), sizeof ids - strlen(ids), "%s%.*s", *ids ? " " : "", (int)id.length,
                     id.bytes);
    }
    assert_string_equal(ids, expected);
}

static void put_step(struct text *text, const char *id, const char *name, const char *step, uint64_t start,
                     uint64_t duration)
{
    put(text,
        "{\"kind\":\"span_start\",\"id\":\"%s\",\"parent_id\":\"m\",\"name\":\"%s\",\"start_ns\":%llu,"
        "\"span_kind\":\"function\",\"step\":\"%s\"}\n{\"kind\":\"span_end\",\"id\":\"%s\",\"duration_ns\":%"
        "llu}\n",
        id, name, (unsigned long long)start, step, id, (unsigned long long)duration);
}

/* A storage of cuda:0 from one time to another (0: it stays). */
static void put_life(struct text *text, const char *id, uint64_t from, uint64_t to, uint64_t bytes,
                     const char *more)
{
    put_memory(text, from, "cuda:0", id, id, "m", bytes, "alloc", more);
    if (to) put_memory(text, to, "cuda:0", id, id, "m", bytes, "free", more);
}

/* Three steps: 100 to 200, 300 to 400, 500 to 600. */
static void put_steps(struct text *text)
{
    put(text, META_WITH("train", MEMORY_COMPLETE));
    put_span(text, "m", "", 0, 1000, true);
    for (int i = 0; i < 3; i++) {
        char id[8];
        uint64_t at = 100 + 200 * (uint64_t)i;
        snprintf(id, sizeof id, "f%d", i);
        put_step(text, id, "forward", "forward", at, 50);
        snprintf(id, sizeof id, "o%d", i);
        put_step(text, id, "optimizer", "optimizer", at + 60, 40);
    }
}

static void leaks_at_the_end(void **state)
{
    (void)state;
    struct text text = {0};
    struct made made;
    put_steps(&text);
    put_life(&text, "before", 0, 0, 8, ",\"preexisting\":true");
    put_life(&text, "setup", 50, 950, 8, "");
    put_life(&text, "leak", 150, 0, 8, "");
    put_memory(&text, 160, "cuda:0", "ctx", "ctx", "m", 8, "alloc", "");
    put_memory(&text, 990, "cuda:0", "ctx", "ctx", "m", 8, "free", ",\"end_reason\":\"ctx_destroy\"");
    put_end(&text, 1000);
    make(&text, &made, NULL);
    select_leaks(made.trace, &made.memory, &made.steps, 0, made.selected);
    expect_selected(&made, "leak ctx");
    drop(&made);
}

static void leaks_over_steps(void **state)
{
    (void)state;
    struct text text = {0};
    struct made made;
    put_steps(&text);
    put_life(&text, "setup", 50, 950, 8, ""); /* before the first step */
    put_life(&text, "next", 150, 350, 8, ""); /* freed within the next step */
    put_life(&text, "edge", 150, 400, 8, ""); /* freed as the next step ends: not alive when it has ended */
    put_life(&text, "one", 200, 401, 8, "");  /* at a step's end: still of it; over one further step */
    put_life(&text, "between", 250, 950, 8, ""); /* between two steps */
    put_life(&text, "two", 100, 601, 8, "");     /* over two further steps */
    put_life(&text, "late", 500, 950, 8, "");    /* no further step */
    put_life(&text, "old", 160, 0, 8, ",\"preexisting\":true");
    put_end(&text, 1000);
    make(&text, &made, NULL);
    assert_int_equal(made.steps.count, 3);
    assert_int_equal(made.steps.at[1].start_ns, 300); /* of its forward span */
    assert_int_equal(made.steps.at[1].end_ns, 400);
    select_leaks(made.trace, &made.memory, &made.steps, 1, made.selected);
    expect_selected(&made, "two one");
    select_leaks(made.trace, &made.memory, &made.steps, 2, made.selected);
    expect_selected(&made, "two");
    select_leaks(made.trace, &made.memory, &made.steps, 3, made.selected);
    expect_selected(&made, "");
    drop(&made);
}

/* Whose steps are asked for does not change them: a is of the first step, b of the second, d of none. */
static void steps_of_some(void **state)
{
    (void)state;
    struct text text = {0};
    struct made made;
    struct training_steps some;
    put_steps(&text);
    put_life(&text, "a", 150, 160, 8, "");
    put_life(&text, "b", 350, 360, 8, "");
    put_life(&text, "c", 550, 560, 8, "");
    put_life(&text, "d", 650, 660, 8, "");
    put_end(&text, 1000);
    make(&text, &made, NULL);
    const uint8_t wanted[] = {1, 1, 0, 1};
    assert_true(training_steps_make(made.trace, &made.memory, CG_ABSENT, wanted, &some));
    assert_int_equal(some.count, 3);
    const uint32_t expected[] = {0, 1, CG_NONE, CG_NONE}, all[] = {0, 1, 2, CG_NONE};
    assert_memory_equal(some.of, expected, sizeof expected);
    assert_memory_equal(made.steps.of, all, sizeof all);
    training_steps_free(&some);
    drop(&made);
}

static void steps_by_name(void **state)
{
    (void)state;
    struct text text = {0};
    struct made made;
    put_steps(&text);
    put_life(&text, "a", 120, 390, 8, ""); /* forward spans end at 150 and 350 */
    put_life(&text, "b", 155, 390, 8, ""); /* in no forward span */
    put_end(&text, 1000);
    make(&text, &made, "forward");
    assert_int_equal(made.steps.count, 3);
    assert_int_equal(made.steps.at[0].end_ns, 150);
    select_leaks(made.trace, &made.memory, &made.steps, 1, made.selected);
    expect_selected(&made, "a");
    drop(&made);
}

static void put_thread_span(struct text *text, const char *id, unsigned tid, uint64_t start,
                            uint64_t duration)
{
    put(text,
        "{\"kind\":\"span_start\",\"id\":\"%s\",\"parent_id\":\"m\",\"name\":\"step\",\"start_ns\":%llu,"
        "\"span_kind\":\"function\",\"tid\":%u}\n{\"kind\":\"span_end\",\"id\":\"%s\",\"duration_ns\":%llu}"
        "\n",
        id, (unsigned long long)start, tid, id, (unsigned long long)duration);
}

/* Thread 1: 100 to 400 with one inside, 500 to 600, 700 to 800. Thread 2: 50 to 150, 300 to 900. */
static void steps_of_threads(void **state)
{
    (void)state;
    struct text text = {0};
    struct made made;
    static const struct {
        uint64_t start, end;
    } steps[] = {{100, 400}, {500, 600}, {700, 800}, {50, 150}, {300, 900}};
    put(&text, META);
    put_span(&text, "m", "", 0, 1000, true);
    put_thread_span(&text, "a1", 1, 100, 300);
    put_thread_span(&text, "inner", 1, 150, 50);
    put_thread_span(&text, "b1", 2, 50, 100);
    put_thread_span(&text, "a2", 1, 500, 100);
    put_thread_span(&text, "b2", 2, 300, 600);
    put_thread_span(&text, "a3", 1, 700, 100);
    put_life(&text, "one", 160, 601, 8, ",\"tid\":1");   /* in a1, alive when a2 has ended */
    put_life(&text, "two", 120, 850, 8, ",\"tid\":2");   /* in b1, and b2 ends at 900 */
    put_life(&text, "three", 120, 901, 8, ",\"tid\":2"); /* in b1, alive when b2 has ended */
    put_life(&text, "gap", 450, 990, 8,
             ",\"tid\":1"); /* between two steps of its thread, though b2 goes on */
    put_life(&text, "other", 550, 801, 8, ",\"tid\":3"); /* a2 began last, alive when a3 has ended */
    put_life(&text, "none", 560, 901, 8, ",\"tid\":2");  /* in b2, which nothing of its thread follows */
    put_life(&text, "late", 850, 990, 8, "");            /* in b2 again: a3 has ended */
    put_life(&text, "early", 40, 990, 8, "");            /* before all steps */
    put_end(&text, 1000);
    make(&text, &made, "step");
    assert_int_equal(made.steps.count, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(made.steps.at[i].start_ns, steps[i].start);
        assert_int_equal(made.steps.at[i].end_ns, steps[i].end);
    }
    /* Storages by start: early, three, two, one, gap, other, none, late. */
    static const uint32_t of[] = {CG_NONE, 3, 3, 0, CG_NONE, 1, 4, 4};
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(made.steps.of[i], of[i]);
    select_leaks(made.trace, &made.memory, &made.steps, 1, made.selected);
    expect_selected(&made, "three one other");
    drop(&made);
}

static void temporaries(void **state)
{
    (void)state;
    struct text text = {0};
    struct made made;
    put(&text, META_WITH("train", MEMORY_COMPLETE));
    put_span(&text, "m", "", 0, 1000, true);
    put_life(&text, "t1", 10, 12, 8, ",\"tid\":1"); /* the next record of its thread frees it */
    put_life(&text, "u", 11, 900, 8, ",\"tid\":2"); /* another thread's in between does not count */
    put_memory(&text, 20, "cuda:0", "x", "x", "m", 8, "alloc", ",\"tid\":1");
    put_memory(&text, 21, "cuda:0", "y", "y", "m", 8, "alloc", ",\"tid\":1");
    put_memory(&text, 22, "cuda:0", "x", "x", "m", 8, "free", ",\"tid\":1"); /* two records on */
    put_memory(&text, 23, "cuda:0", "y", "y", "m", 8, "free", ",\"tid\":3"); /* by another thread */
    put_memory(&text, 30, "cuda:0", "z", "z", "m", 8, "alloc", ",\"tid\":1");
    put_memory(&text, 31, "cuda:0", "z", "z", "m", 8, "free", ",\"tid\":1,\"end_reason\":\"ctx_destroy\"");
    put_life(&text, "n", 40, 41, 8, ""); /* no thread is known of either */
    /* Threads 0, 2^64 - 2^32 and none are three: of each the next record frees. */
    put_memory(&text, 50, "cuda:0", "h", "h", "m", 8, "alloc", ",\"tid\":18446744069414584320");
    put_memory(&text, 51, "cuda:0", "i", "i", "m", 8, "alloc", ",\"tid\":0");
    put_memory(&text, 52, "cuda:0", "j", "j", "m", 8, "alloc", "");
    put_memory(&text, 53, "cuda:0", "h", "h", "m", 8, "free", ",\"tid\":18446744069414584320");
    put_memory(&text, 54, "cuda:0", "i", "i", "m", 8, "free", ",\"tid\":0");
    put_memory(&text, 55, "cuda:0", "j", "j", "m", 8, "free", "");
    put_end(&text, 1000);
    make(&text, &made, NULL);
    assert_true(select_temporaries(made.trace, &made.memory, 1, made.selected));
    expect_selected(&made, "t1 u n h i j");
    assert_true(select_temporaries(made.trace, &made.memory, 2, made.selected));
    expect_selected(&made, "t1 u x n h i j");
    drop(&made);
}

static void peaks(void **state)
{
    (void)state;
    struct text text = {0};
    struct made made;
    uint64_t at;
    put(&text, META_WITH("train", MEMORY_COMPLETE));
    put_span(&text, "m", "", 0, 1000, true);
    put_life(&text, "a", 10, 30, 100, "");
    put_life(&text, "b", 20, 40, 50, "");                          /* cuda:0: 150 at 20 */
    put_memory(&text, 35, "cpu", "c", "c", "m", 120, "alloc", ""); /* all: 170 at 35 */
    put_end(&text, 1000);
    make(&text, &made, NULL);
    assert_true(select_peak(made.trace, &made.memory, CG_ABSENT, &at, made.selected));
    assert_int_equal(at, 35);
    expect_selected(&made, "b c");
    assert_true(
        select_peak(made.trace, &made.memory, trace_find(made.trace, "cuda:0", 6), &at, made.selected));
    assert_int_equal(at, 20);
    expect_selected(&made, "a b");
    assert_false(select_peak(made.trace, &made.memory, trace_find(made.trace, "m", 1), &at, made.selected));
    expect_selected(&made, "");
    drop(&made);
}

/* ---- groups ---- */

#define FRAMES(id, symbols) ",\"stack\":{\"id\":\"" id "\",\"frames\":[" symbols "]}"
#define FRAME(symbol)       "{\"module\":\"/x\",\"offset\":1,\"symbol\":\"" symbol "\"}"

static void put_groups(struct text *text)
{
    put(text, META_WITH("train", MEMORY_COMPLETE));
    put_span(text, "m", "", 0, 1000, true);
    put_span(text, "s1", "m", 0, 500, false);
    put(text, "{\"kind\":\"span_start\",\"id\":\"i1\",\"parent_id\":\"s1\",\"name\":\"inner\",\"start_ns\":0,"
              "\"span_kind\":\"function\"}\n"
              "{\"kind\":\"span_start\",\"id\":\"i2\",\"parent_id\":\"s1\",\"name\":\"inner\",\"start_ns\":9,"
              "\"span_kind\":\"function\"}\n");
    put_memory(text, 10, "d", "a", "a", "i1", 100, "alloc", FRAMES("st:1", FRAME("f") "," FRAME("main")));
    put_memory(text, 11, "d", "b", "b", "i2", 200, "alloc", ",\"stack\":{\"id\":\"st:1\"}");
    put_memory(text, 12, "d", "c", "c", "m", 255, "alloc", ",\"op_name\":\"mm\",\"category\":\"gradient\"");
    put_memory(text, 13, "d", "e", "e", "nowhere", 256, "alloc", ",\"api\":\"cuMemAlloc_v2\"");
    put_memory(text, 14, "d", "z", "z", "m", 0, "alloc", "");
    put_memory(text, 40, "d", "a", "a", "i1", 100, "free", "");
    put_memory(text, 61, "d", "b", "b", "i1", 200, "free", "");
    put_end(text, 1000);
}

static void grouped(const struct made *made, enum storage_grouping by, struct storage_groups *groups)
{
    memset(made->selected, 1, made->memory.lifetime_count);
    assert_true(storage_groups_make(made->trace, &made->memory, &made->paths, NULL, by, CG_ABSENT,
                                    made->selected, true, groups));
    assert_int_equal(groups->selected, 5);
    assert_int_equal(groups->selected_bytes, 811);
    assert_int_equal(groups->with_stack, 2);
}

static void groups_by_stack(void **state)
{
    (void)state;
    struct text text = {0};
    struct made made;
    struct storage_groups groups;
    put_groups(&text);
    make(&text, &made, NULL);
    grouped(&made, GROUP_BY_STACK, &groups);
    assert_int_equal(groups.count, 4);
    const struct storage_group *group = &groups.groups[0]; /* 100 + 200 bytes */
    assert_int_not_equal(storage_group_stack(&groups, group), CG_NONE);
    assert_int_equal(group->allocations, 2);
    assert_int_equal(group->allocated_bytes, 300);
    assert_int_equal(group->frees, 2);
    assert_int_equal(group->freed_bytes, 300);
    assert_true(group->freed_lifetime_ns == 30 + 50);
    assert_int_equal(group->first_ns, 10);
    assert_int_equal(group->largest_bytes, 200);
    assert_int_equal(storage_group_stack(&groups, &groups.groups[1]), CG_NONE);
    expect_text(made.trace, storage_group_call(&groups, &groups.groups[1]), "cuMemAlloc_v2");
    expect_text(made.trace, storage_group_call(&groups, &groups.groups[2]), "mm");
    assert_int_equal(storage_group_call(&groups, &groups.groups[3]), CG_ABSENT);
    assert_int_equal(groups.groups[3].selected, 1); /* of 0 bytes */
    storage_groups_free(&groups);
    drop(&made);
}

static void groups_by_span(void **state)
{
    (void)state;
    struct text text = {0};
    struct made made;
    struct storage_groups groups;
    cg_str names[2];
    put_groups(&text);
    make(&text, &made, NULL);
    assert_int_equal(made.paths.count, 3); /* m, m / s1, m / s1 / inner */
    grouped(&made, GROUP_BY_SPAN, &groups);
    assert_int_equal(groups.count, 3);
    assert_int_equal(groups.groups[0].selected_bytes, 300);
    assert_int_equal(span_path_names(&made.paths, storage_group_path(&groups.groups[0]), names, 2), 3);
    expect_text(made.trace, names[0], "s1"); /* the innermost two */
    expect_text(made.trace, names[1], "inner");
    assert_int_equal(groups.groups[1].selected_bytes, 256);
    assert_int_equal(storage_group_path(&groups.groups[1]), CG_NONE);
    assert_int_equal(groups.groups[2].selected, 2);
    assert_int_equal(span_path_names(&made.paths, storage_group_path(&groups.groups[2]), names, 2), 1);
    expect_text(made.trace, names[0], "m");
    storage_groups_free(&groups);
    drop(&made);
}

static void groups_by_category_and_size(void **state)
{
    (void)state;
    struct text text = {0};
    struct made made;
    struct storage_groups groups;
    uint64_t from, to;
    put_groups(&text);
    make(&text, &made, NULL);
    grouped(&made, GROUP_BY_CATEGORY, &groups);
    assert_int_equal(groups.count, 2);
    assert_int_equal(storage_group_category(&groups.groups[0]), CG_CATEGORY_OTHER);
    assert_int_equal(groups.groups[0].selected_bytes, 556);
    assert_int_equal(storage_group_category(&groups.groups[1]), CG_CATEGORY_GRADIENT);
    storage_groups_free(&groups);
    grouped(&made, GROUP_BY_SIZE, &groups);
    static const uint64_t expected[][4] = {
        {128, 255, 2, 455}, {256, 511, 1, 256}, {64, 127, 1, 100}, {0, 0, 1, 0}};
    assert_int_equal(groups.count, 4);
    for (size_t i = 0; i < 4; i++) {
        storage_group_sizes(&groups.groups[i], &from, &to);
        assert_int_equal(from, expected[i][0]);
        assert_int_equal(to, expected[i][1]);
        assert_int_equal(groups.groups[i].selected, expected[i][2]);
        assert_int_equal(groups.groups[i].selected_bytes, expected[i][3]);
    }
    struct storage_group largest = {.key = 64};
    storage_group_sizes(&largest, &from, &to);
    assert_int_equal(from, UINT64_C(1) << 63);
    assert_int_equal(to, UINT64_MAX);
    storage_groups_free(&groups);
    drop(&made);
}

/* Storages by list, set after set: each as if it were the only one. */
static void sets_in_turn(void **state)
{
    (void)state;
    struct text text = {0};
    struct made made;
    struct storage_groups groups;
    put_groups(&text); /* a, b, c, e, z */
    make(&text, &made, NULL);
    struct storage_grouper *grouper =
        storage_grouper_new(made.trace, &made.memory, &made.paths, GROUP_BY_STACK);
    assert_non_null(grouper);
    for (int again = 0; again < 2; again++) {
        assert_true(storage_grouper_list(grouper, (const uint32_t[]){1, 2}, 2, &groups)); /* b, c */
        assert_int_equal(groups.count, 2);
        assert_int_equal(groups.groups[0].selected_bytes, 255);
        assert_int_equal(groups.groups[1].selected_bytes, 200);
        assert_int_not_equal(storage_group_stack(&groups, &groups.groups[1]), CG_NONE);
        storage_groups_free(&groups);
        assert_true(storage_grouper_list(grouper, (const uint32_t[]){0, 1, 3}, 3, &groups)); /* a, b, e */
        assert_int_equal(groups.count, 2);
        assert_int_equal(groups.groups[0].selected, 2);
        assert_int_equal(groups.groups[0].selected_bytes, 300);
        assert_int_equal(groups.selected_bytes, 556);
        storage_groups_free(&groups);
        assert_true(storage_grouper_list(grouper, NULL, 0, &groups));
        assert_int_equal(groups.count, 0);
        storage_groups_free(&groups);
    }
    storage_grouper_free(grouper);
    drop(&made);
}

/* Groups are counted whole, whatever is selected; steps count once each. */
static void what_is_selected(void **state)
{
    (void)state;
    struct text text = {0};
    struct made made;
    struct storage_groups groups;
    put_steps(&text);
    put_life(&text, "kept1", 110, 0, 8, ",\"op_name\":\"f\"");
    put_life(&text, "kept2", 120, 0, 16, ",\"op_name\":\"f\"");
    put_life(&text, "gone", 130, 140, 64, ",\"op_name\":\"f\"");
    put_life(&text, "other", 131, 140, 64, ",\"op_name\":\"g\"");
    put_life(&text, "kept3", 510, 0, 8, ",\"op_name\":\"f\"");
    put_life(&text, "kept4", 450, 0, 8, ",\"op_name\":\"f\""); /* between steps */
    put_end(&text, 1000);
    make(&text, &made, NULL);
    select_leaks(made.trace, &made.memory, &made.steps, 0, made.selected);
    assert_true(storage_groups_make(made.trace, &made.memory, &made.paths, &made.steps, GROUP_BY_STACK,
                                    CG_ABSENT, made.selected, true, &groups));
    assert_int_equal(groups.count, 1);
    assert_int_equal(groups.groups[0].selected, 4);
    assert_int_equal(groups.groups[0].selected_bytes, 40);
    assert_int_equal(groups.groups[0].allocations, 5);
    assert_int_equal(groups.groups[0].allocated_bytes, 104);
    assert_int_equal(groups.groups[0].steps, 2);
    storage_groups_free(&groups);
    drop(&made);
}

/* Of one device: what others have in the group is not counted with it. */
static void of_one_device(void **state)
{
    (void)state;
    struct text text = {0};
    struct made made;
    struct storage_groups groups;
    put(&text, META_WITH("train", MEMORY_COMPLETE));
    put_span(&text, "m", "", 0, 1000, true);
    put_life(&text, "a", 10, 30, 100, ",\"op_name\":\"f\"");
    put_life(&text, "b", 20, 0, 50, ",\"op_name\":\"f\"");
    put_memory(&text, 35, "cpu", "c", "c", "m", 120, "alloc", ",\"op_name\":\"f\"");
    put_memory(&text, 95, "cpu", "c", "c", "m", 120, "free", "");
    put_memory(&text, 36, "cpu", "d", "d", "m", 7, "alloc", ",\"op_name\":\"g\"");
    put_end(&text, 1000);
    make(&text, &made, NULL);
    cg_str device = trace_find(made.trace, "cuda:0", 6);
    memset(made.selected, 1, made.memory.lifetime_count);
    select_device(made.trace, &made.memory, device, made.selected);
    assert_true(storage_groups_make(made.trace, &made.memory, NULL, NULL, GROUP_BY_STACK, device,
                                    made.selected, true, &groups));
    assert_int_equal(groups.count, 1);
    assert_int_equal(groups.groups[0].allocations, 2);
    assert_int_equal(groups.groups[0].allocated_bytes, 150);
    assert_int_equal(groups.groups[0].frees, 1);
    assert_int_equal(groups.groups[0].freed_bytes, 100);
    assert_true(groups.groups[0].freed_lifetime_ns == 20);
    storage_groups_free(&groups);
    drop(&made);
}

/* Parents that lead back to themselves begin a path. */
static void cycles(void **state)
{
    (void)state;
    struct text text = {0};
    struct made made;
    cg_str names[4];
    put(&text, META_WITH("train", MEMORY_COMPLETE));
    put_span(&text, "m", "", 0, 1000, true);
    put_span(&text, "x", "y", 0, 1, false);
    put_span(&text, "y", "x", 0, 1, false);
    put_span(&text, "z", "z", 0, 1, false);
    put_end(&text, 1000);
    make(&text, &made, NULL);
    assert_int_equal(made.paths.count, 4);
    size_t depths = 0;
    for (uint32_t i = 0; i < 4; i++)
        depths += span_path_names(&made.paths, made.paths.of_span[i], names, 4);
    assert_int_equal(depths, 1 + 1 + 2 + 1);
    drop(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaks_at_the_end),
        cmocka_unit_test(steps_of_some),
        cmocka_unit_test(leaks_over_steps),
        cmocka_unit_test(steps_by_name),
        cmocka_unit_test(steps_of_threads),
        cmocka_unit_test(temporaries),
        cmocka_unit_test(peaks),
        cmocka_unit_test(groups_by_stack),
        cmocka_unit_test(groups_by_span),
        cmocka_unit_test(groups_by_category_and_size),
        cmocka_unit_test(what_is_selected),
        cmocka_unit_test(of_one_device),
        cmocka_unit_test(cycles),
        cmocka_unit_test(sets_in_turn),
    };
    return run_tap(tests);
}
