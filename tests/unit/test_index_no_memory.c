/* Indexes and ranks when memory is short: each allocation fails once; that must be said, and nothing left
 * behind. */
#include "tests/unit/no_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzer/planes/rank_memory.h"
#include "analyzer/planes/ranks.h"
#include "tests/unit/index_memory.h"

#ifdef CAN_FAIL

static const char whole[] =
#include "tests/unit/index_trace.h"
    ;

struct given {
    struct cg_trace *trace;
    struct evidence evidence;
    struct index_memory index;
    struct cg_strings *names;
    struct rank ranks[2];
};

static bool add_index(struct given *given)
{
    struct index_arrays arrays = {0};
    struct trace_index_copy copy;
    struct evidence_planes planes;
    bool made = trace_index_add(given->trace, &copy, &arrays) &&
                evidence_index_add(&given->evidence, &planes, &arrays);

    index_arrays_free(&arrays);
    trace_index_copy_free(&copy);
    return made;
}

static bool read_index(struct given *given)
{
    char why[INDEX_WHY] = "";
    struct index_file *file =
        index_file_of(given->index.bytes, given->index.length, trace_index_layout(), why);
    struct cg_trace *trace = file ? trace_index_read(file, true, why) : NULL;

    if (!trace) assert_true(why[0] != '\0');
    trace_free(trace);
    return trace != NULL;
}

static bool make_columns(struct given *given)
{
    struct rank_columns columns;
    bool made = rank_columns_make(given->trace, NULL, given->names, &columns);

    rank_columns_free(&columns);
    return made;
}

static bool make_memory(struct given *given)
{
    struct rank_memory memory;
    bool made = rank_memory_make(given->trace, &given->evidence.logical, &given->evidence.physical,
                                 given->names, &memory);

    rank_memory_free(&memory);
    return made;
}

static bool make_ranks(struct given *given)
{
    static const struct cg_origin origins[2] = {{.clock_known = true, .host = "a"},
                                                {.clock_known = true, .host = "b"}};
    const struct cg_origin *of[] = {&origins[0], &origins[1]};
    const uint64_t end_ns[] = {0, 0};
    const struct ranks_criteria criteria = {.slower_percent = 1, .collective = "m"};
    struct rank_axis axis;
    struct ranks ranks = {0};
    bool made = rank_axis_make(of, end_ns, 2, &axis) &&
                ranks_make(given->ranks, 2, &axis, given->names, &criteria, &ranks);

    ranks_free(&ranks);
    rank_axis_free(&axis);
    return made;
}

/* Lets each allocation fail until none is left to. */
static void each_fails(struct given *given, bool (*make)(struct given *given), const char *name)
{
    for (long n = 0;; n++) {
        long before = held;
        allowed = n;
        bool made = make(given);
        allowed = -1;
        if (held != before) fail_msg("%s: allocation %ld fails: %ld blocks are left", name, n, held - before);
        if (!made) continue;
        assert_true(n > 0);
        return;
    }
}

static void short_of_memory(void **state)
{
    struct cg_load_options options = {.extras = true, .threads = 1};
    struct cg_error error;
    struct given given = {.names = strings_new()};

    (void)state;
    assert_int_equal(trace_load_bytes("test", whole, sizeof whole - 1, &options, &given.trace, &error), 0);
    assert_int_equal(evidence_make(given.trace, NULL, 0, &given.evidence, &error), 0);
    assert_true(index_memory_make(given.trace, &given.evidence, &given.index));
    for (int i = 0; i < 2; i++) {
        given.ranks[i].complete = true;
        assert_true(rank_columns_make(given.trace, NULL, given.names, &given.ranks[i].columns));
    }
    each_fails(&given, add_index, "writing an index");
    each_fails(&given, read_index, "reading an index");
    each_fails(&given, make_columns, "columns of a rank");
    each_fails(&given, make_memory, "memory of a rank");
    each_fails(&given, make_ranks, "ranks");
    for (int i = 0; i < 2; i++)
        rank_columns_free(&given.ranks[i].columns);
    strings_free(given.names);
    free(given.index.bytes);
    evidence_free(&given.evidence);
    trace_free(given.trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(short_of_memory)};

    return cmocka_run_group_tests_name("indexes and ranks without memory", tests, NULL, NULL);
}

#endif
