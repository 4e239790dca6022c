/* Every plane when memory is short: each allocation of each plane fails once. The plane must say so, leave
 * nothing behind. */
#include "tests/unit/no_memory.h"
#include "tests/unit/plane_trace.h"

#include "analyzer/planes/activations.h"
#include "analyzer/planes/idle.h"
#include "analyzer/planes/planes.h"
#include "analyzer/planes/suspects.h"

#ifdef CAN_FAIL

struct planes {
    const struct cg_trace *trace;
    struct health health;
    struct timing timing;
    struct logical_memory memory;
    struct physical_memory physical;
    struct node_memory nodes;
    struct activations activations;
    struct trace_summary summary;
    struct device_work work;
    struct suspects suspects;
    struct idle idle;
};

static void no_visit(void *context, const struct memory_point *point)
{
    (void)context;
    (void)point;
}

/* Each needs at most what the first four made. */
static bool make_health(struct planes *planes)
{
    return health_make(planes->trace, &planes->health);
}
static bool make_timing(struct planes *planes)
{
    return timing_make(planes->trace, &planes->timing);
}
static bool make_logical(struct planes *planes)
{
    return logical_memory_make(planes->trace, &planes->memory);
}
static bool make_physical(struct planes *planes)
{
    return physical_memory_make(planes->trace, &planes->physical);
}
static bool make_work(struct planes *planes)
{
    return device_work_make(planes->trace, &planes->work);
}
static bool make_suspects(struct planes *planes)
{
    return suspects_make(planes->trace, &planes->work, &planes->suspects);
}
static bool make_idle(struct planes *planes)
{
    const struct idle_options options = {.input = planes->trace->span.name[0], .launch_gap_ns = 5};
    const struct suspects none = {0};
    return idle_make(planes->trace, &planes->work, &none, &options, &planes->idle);
}
static bool make_nodes(struct planes *planes)
{
    return node_memory_make(planes->trace, &planes->memory, &planes->nodes);
}
static bool make_summary(struct planes *planes)
{
    return trace_summary_make(planes->trace, &planes->memory, &planes->summary);
}
static bool make_points(struct planes *planes)
{
    return logical_memory_points(planes->trace, &planes->memory, no_visit, NULL);
}
static bool make_activations(struct planes *planes)
{
    const struct activation_inputs inputs = {&planes->health, &planes->timing, &planes->memory,
                                             CAPABILITY_PARTIAL, CAPABILITY_PARTIAL};
    return activations_make(planes->trace, &inputs, &planes->activations);
}

static bool (*const makers[])(struct planes *planes) = {
    make_health,  make_timing, make_logical,     make_work,     make_physical, make_nodes,
    make_summary, make_points, make_activations, make_suspects, make_idle};
#define MAKERS (sizeof makers / sizeof *makers)

static void release(struct planes *planes)
{
    health_free(&planes->health);
    timing_free(&planes->timing);
    logical_memory_free(&planes->memory);
    physical_memory_free(&planes->physical);
    node_memory_free(&planes->nodes);
    activations_free(&planes->activations);
    suspects_free(&planes->suspects);
    idle_free(&planes->idle);
    device_work_free(&planes->work);
}

/* A little of everything, out of order, and enough lifetimes for the tree over time; behind the phase stand
 * the anchors of a clock. */
static struct cg_trace *make_trace(void)
{
    struct text text = {0};
    put(&text,
        META_WITH(
            "infer\",\"clock\":{\"devices\":{\"k\":[{\"device_ns\":0,\"host_ns\":0,\"uncertainty_ns\":0}]}},"
            "\"x\":\"",
            "\"gradients\":\"complete\",\"gradient_contract\":{\"manifest_sha256\":"
            "\"sha256:de70e615a9b5de77aa4865f5447e560a1520ae6b2e07a972b75d7255822c66ee\","
            "\"expected\":[{\"root\":\"r\",\"key\":\"k\",\"family\":\"f\"}],\"families\":"
            "[{\"family\":\"f\",\"expectation\":\"active\",\"min_present\":1}]},"
            "\"required_semantic_labels\":[\"s\"],\"gpu_expected_semantic_labels\":[\"s\"]," LEVELS_NONE));
    put_span(&text, "s", "", 0, 100, true);
    put_span(&text, "c", "s", 0, 100, false);
    put(&text, "{\"kind\":\"gradient\",\"event_id\":\"g\",\"root\":\"r\",\"key\":\"k\",\"state\":\"present\","
               "\"norm\":1}\n");
    put(&text, "{\"kind\":\"op\",\"span_id\":\"s\",\"op_name\":\"mm\",\"output\":\"t1\",\"shape\":[],"
               "\"dtype\":\"f32\",\"device\":\"d\",\"duration_ns\":1,\"input_dense_bytes\":0}\n");
    put(&text, "{\"kind\":\"edge\",\"edge_kind\":\"data\",\"from_tensor\":\"t1\",\"to_tensor\":\"t1\"}\n");
    for (unsigned i = 0; i < 50; i++) {
        char storage[8], tensor[8];
        snprintf(storage, sizeof storage, "m%u", i);
        snprintf(tensor, sizeof tensor, "t%u", i);
        put_memory(&text, 60 - i, i % 2 ? "d" : "e", storage, tensor, i % 3 ? "s" : "c", 4, "alloc",
                   i % 5 ? ",\"category\":\"activation\"" : ",\"op_name\":\"mm\"");
        put_memory(&text, 61, i % 2 ? "d" : "e", storage, "alias", "s", 4, "alloc", "");
    }
    for (unsigned i = 0; i < 3; i++) {
        put(&text,
            "{\"kind\":\"device_interval\",\"span_id\":\"s\",\"device\":\"d\",\"stream_id\":\"%u\","
            "\"clock_id\":\"k\",\"backend\":\"b\",\"start_ns\":%u,\"duration_ns\":%u}\n",
            i, 9 - i, i ? 3 : 1000);
        put(&text,
            "{\"kind\":\"device_memory\",\"timestamp_ns\":%u,\"device\":\"d\",\"used_bytes\":1,"
            "\"capacity_bytes\":2}\n",
            9 - i);
    }
    put_memory(&text, 62, "cuda:0", "huge", "huge", "s", 400, "alloc", "");
    put_memory(&text, 63, "cuda:0", "huge", "huge", "s", 400, "free", "");
    put(&text,
        "{\"kind\":\"device_memory\",\"timestamp_ns\":1,\"device\":\"cuda:0\",\"capacity_bytes\":200}\n");
    put_end(&text, 100);
    return load_extras(&text);
}

static void test_each_allocation(void **state)
{
    (void)state;
    struct cg_trace *trace = make_trace();
    struct health first; /* the first digest sets up libcrypto, which does not survive that without memory */
    assert_true(health_make(trace, &first));
    health_free(&first);
    for (size_t maker = 0; maker < MAKERS; maker++) {
        long failing = 0, refused = 0;
        for (bool reached = true; reached; failing++) {
            struct planes planes = {.trace = trace};
            long before = held;
            for (size_t i = 0; i < maker && i < 4; i++)
                assert_true(makers[i](&planes));
            allowed = failing;
            bool made = makers[maker](&planes);
            reached = allowed == 0;
            allowed = -1;
            if (!reached) assert_true(made);
            refused += !made;
            release(&planes);
            assert_int_equal(held, before);
            assert_true(failing < 1000);
        }
        /* A list that cannot be made shorter, or a sort that does without room, is no reason to fail. */
        assert_true(refused > 0);
    }
    trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_allocation)};
    return run_tap(tests);
}

#endif
