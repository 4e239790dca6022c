/* Groups of storages, failed allocations, the ledger and structures when memory is short: each allocation of
 * each fails once. Each must say so and leave nothing behind. */
#include "tests/unit/no_memory.h"
#include "tests/unit/plane_trace.h"

#include "analyzer/evidence/structure.h"
#include "analyzer/planes/memory_ledger.h"
#include "analyzer/planes/oom.h"
#include "analyzer/planes/storage_groups.h"

#ifdef CAN_FAIL

struct given {
    struct cg_trace *trace;
    struct logical_memory memory;
    struct span_paths paths;
    struct training_steps steps;
    struct oom_failures failures;
    struct live_index index;
    struct structure structure;
    uint8_t *selected;
};

static bool try_paths(const struct given *given)
{
    struct span_paths paths;
    bool made = span_paths_make(given->trace, &paths);
    if (made) span_paths_free(&paths);
    return made;
}
static bool try_steps(const struct given *given)
{
    struct training_steps steps;
    bool made = training_steps_make(given->trace, &given->memory, CG_ABSENT, NULL, &steps);
    if (made) training_steps_free(&steps);
    return made;
}
static bool try_temporaries(const struct given *given)
{
    return select_temporaries(given->trace, &given->memory, 1, given->selected);
}
static bool try_groups(const struct given *given)
{
    for (int by = GROUP_BY_STACK; by <= GROUP_BY_SIZE; by++) {
        struct storage_groups groups;
        if (!storage_groups_make(given->trace, &given->memory, &given->paths, &given->steps,
                                 (enum storage_grouping)by, CG_ABSENT, given->selected, true, &groups))
            return false;
        storage_groups_free(&groups);
    }
    return true;
}
static bool try_failures(const struct given *given)
{
    struct oom_failures failures;
    bool made = oom_failures_make(given->trace, &failures);
    if (made) oom_failures_free(&failures);
    return made;
}
static bool try_index(const struct given *given)
{
    struct live_index index;
    bool made = live_index_make(given->trace, &given->memory, &index);
    if (made) live_index_free(&index);
    return made;
}
static bool try_detail(const struct given *given)
{
    struct oom_detail detail;
    bool made = oom_detail_make(&given->index, &given->failures, given->failures.ops[0], &detail);
    if (made) oom_detail_free(&detail);
    return made;
}
static bool try_list(const struct given *given)
{
    static const uint32_t lifetimes[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,
                                         10, 11, 12, 13, 14, 15, 16, 17, 18, 19};
    struct storage_groups groups;
    struct storage_grouper *grouper =
        storage_grouper_new(given->trace, &given->memory, &given->paths, GROUP_BY_SPAN);
    bool made = grouper && storage_grouper_list(grouper, lifetimes, 20, &groups);
    if (made) storage_groups_free(&groups);
    storage_grouper_free(grouper);
    return made;
}
static bool try_ledger(const struct given *given)
{
    struct memory_ledger ledger;
    bool made = memory_ledger_make(given->trace, &given->memory, CG_ABSENT, NULL, &ledger);
    if (made) memory_ledger_free(&ledger);
    return made;
}
static bool try_structure(const struct given *given)
{
    struct structure structure;
    bool made = structure_make(given->trace, &structure);
    if (made) structure_free(&structure);
    return made;
}
static bool try_comparison(const struct given *given)
{
    const struct structured_run run = {.structure = &given->structure};
    struct structure_comparison comparison;
    bool made = structure_compare(&run, &run, &comparison);
    if (made) structure_comparison_free(&comparison);
    return made;
}

static bool (*const tries[])(const struct given *given) = {
    try_paths,  try_steps, try_temporaries, try_groups,    try_failures,  try_index,
    try_detail, try_list,  try_ledger,      try_structure, try_comparison};

/* Twenty span paths, stacks and storages, out of order. */
static void give(struct given *given)
{
    const struct cg_load_options options = {.extras = true};
    struct text text = {0};
    struct cg_error error;
    put(&text, META_WITH("train", MEMORY_COMPLETE));
    put_span(&text, "m", "", 0, 1000, true);
    for (unsigned i = 0; i < 20; i++) {
        char id[16], more[160];
        snprintf(id, sizeof id, "s%u", i);
        put(&text,
            "{\"kind\":\"span_start\",\"id\":\"%s\",\"parent_id\":\"m\",\"name\":\"%s\",\"start_ns\":%u,"
            "\"span_kind\":\"function\",\"step\":\"optimizer\"}\n{\"kind\":\"span_end\",\"id\":\"%s\","
            "\"duration_ns\":900}\n",
            id, id, i, id);
        snprintf(more, sizeof more,
                 ",\"tid\":%u,\"stack\":{\"id\":\"st%u\",\"frames\":[{\"module\":\"/x\",\"offset\":%u}]}", i,
                 i, i);
        put_memory(&text, 100 - i, "d", id, id, id, 8, "alloc", more);
        put(&text, "{\"kind\":\"device_memory\",\"timestamp_ns\":%u,\"device\":\"d\",\"used_bytes\":1}\n",
            300 - i);
        put(&text,
            "{\"kind\":\"op\",\"span_id\":\"m\",\"op_name\":\"a%u\",\"shape\":[],\"dtype\":\"u\",\"device\":"
            "\"d\","
            "\"duration_ns\":1,\"timestamp_ns\":%u,\"input_dense_bytes\":0,\"error\":2}\n",
            i, 250 - i);
    }
    put_end(&text, 1000);
    *given = (struct given){0};
    assert_int_equal(trace_load_bytes("test", text.bytes, text.length, &options, &given->trace, &error), 0);
    free(text.bytes);
    assert_true(logical_memory_make(given->trace, &given->memory));
    assert_true(span_paths_make(given->trace, &given->paths));
    assert_true(training_steps_make(given->trace, &given->memory, CG_ABSENT, NULL, &given->steps));
    assert_true(oom_failures_make(given->trace, &given->failures));
    assert_true(live_index_make(given->trace, &given->memory, &given->index));
    assert_true(structure_make(given->trace, &given->structure)); /* sets up libcrypto, too */
    given->selected = calloc(given->memory.lifetime_count, 1);
    assert_non_null(given->selected);
    memset(given->selected, 1, given->memory.lifetime_count);
}

static void take_back(struct given *given)
{
    free(given->selected);
    structure_free(&given->structure);
    live_index_free(&given->index);
    oom_failures_free(&given->failures);
    training_steps_free(&given->steps);
    span_paths_free(&given->paths);
    logical_memory_free(&given->memory);
    trace_free(given->trace);
}

static void each_allocation(void **state)
{
    (void)state;
    struct given given;
    give(&given);
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        long failing = 0, refused = 0;
        for (bool reached = true; reached; failing++) {
            long before = held;
            allowed = failing;
            bool made = tries[i](&given);
            reached = allowed == 0;
            allowed = -1;
            assert_int_equal(held, before);
            if (!reached) assert_true(made);
            refused += !made;
            assert_true(failing < 1000);
        }
        assert_true(refused > 0);
    }
    take_back(&given);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_allocation)};
    return run_tap(tests);
}

#endif
