/* The graph: nodes, edges, durations, summary (doc/spec/evidence.md 1 to 3 and 12). Expected values are
 * worked out by hand. */
#include "tests/unit/packet.h"

static const struct contract nothing;

static void host_scopes_of_the_specification(void **state)
{
    (void)state;
    struct buffer trace = {0};
    meta(&trace, nothing);
    span(&trace, "s1", NULL, 0, 120);
    measured(&trace, "s2", "s1", 20, 60);
    span(&trace, "s3", "s2", 30, 10);
    span(&trace, "z-worker", "s1", 10, 30);
    span(&trace, "a-worker", "s1", 60, 30);
    span(&trace, "outside", "s1", 80, 10);
    complete(&trace, 130);
    json_t *packet = packet_of(&trace);
    assert_part(
        packet, "graph.summary.slowest_host_spans",
        "[{\"id\":\"s2\",\"name\":\"s2\",\"scope\":\"measured_subtree\",\"host_self_time_ns\":50,"
        "\"measured_overlap_self_time_ns\":50,\"full_duration_ns\":60,\"measured_overlap_duration_ns\":60},"
        "{\"id\":\"a-worker\",\"name\":\"a-worker\",\"scope\":\"concurrent_overlap\","
        "\"host_self_time_ns\":30,\"measured_overlap_self_time_ns\":20,\"full_duration_ns\":30,"
        "\"measured_overlap_duration_ns\":20},"
        "{\"id\":\"z-worker\",\"name\":\"z-worker\",\"scope\":\"concurrent_overlap\","
        "\"host_self_time_ns\":30,\"measured_overlap_self_time_ns\":20,\"full_duration_ns\":30,"
        "\"measured_overlap_duration_ns\":20},"
        "{\"id\":\"s3\",\"name\":\"s3\",\"scope\":\"measured_subtree\",\"host_self_time_ns\":10,"
        "\"measured_overlap_self_time_ns\":10,\"full_duration_ns\":10,\"measured_overlap_duration_ns\":10}]");
    assert_part(packet, "graph.summary.outer_wall_time_ns", "60");
    assert_part(packet, "graph.summary.entrypoint", "\"train::step\"");
    assert_string_equal(column(walk(packet, "graph.spans"), "id"),
                        "\"a-worker\",\"outside\",\"s1\",\"s2\",\"s3\",\"z-worker\"");
    assert_string_equal(column(walk(packet, "graph.edges"), "from_span"),
                        "\"s1\",\"s1\",\"s1\",\"s1\",\"s2\"");
    assert_string_equal(column(walk(packet, "graph.edges"), "to_span"),
                        "\"a-worker\",\"outside\",\"s2\",\"z-worker\",\"s3\"");
    /* Self of the root: 120 less the union of [10,40) [20,80) [60,90) [80,90) = 80. */
    assert_part(packet, "graph.spans.2.host_self_time_ns", "40");
    json_decref(packet);
}

static void self_time_unites_children_and_ops(void **state)
{
    (void)state;
    struct buffer trace = {0};
    meta(&trace, nothing);
    measured(&trace, "r", NULL, 0, 100);
    span(&trace, "a", "r", 10, 20);
    span(&trace, "b", "r", 20, 20);
    span(&trace, "c", "r", 40, 5);
    op(&trace, "r", "x", 35, 15, "", NULL);
    op(&trace, "r", "y", 90, 10, "", NULL);
    op(&trace, "a", "z", 10, 20, "", NULL);
    complete(&trace, 100);
    json_t *packet = packet_of(&trace);
    /* r: [10,50) and [90,100): 50 of 100 are its own; a is all in its op. */
    assert_string_equal(column(walk(packet, "graph.spans"), "id"),
                        "\"a\",\"b\",\"c\",\"r\",\"r/op/0\",\"r/op/1\",\"a/op/0\"");
    assert_string_equal(column(walk(packet, "graph.spans"), "host_self_time_ns"), "0,20,5,50,15,10,20");
    assert_string_equal(column(walk(packet, "graph.spans"), "host_total_time_ns"), "20,20,5,100,15,10,20");
    assert_string_equal(column(walk(packet, "graph.spans"), "kind"),
                        "\"function\",\"function\",\"function\",\"root\",\"op\",\"op\",\"op\"");
    assert_part(packet, "graph.spans.4",
                "{\"id\":\"r/op/0\",\"parent_id\":\"r\",\"name\":\"x\",\"kind\":\"op\",\"start_ns\":35,"
                "\"host_self_time_ns\":15,\"host_total_time_ns\":15,\"shape\":[2],\"dtype\":\"f32\","
                "\"device\":\"cpu\",\"dense_bytes\":8}");
    json_decref(packet);
}

static void lists_are_cut_at_eight_and_ties_are_by_id(void **state)
{
    (void)state;
    struct buffer trace = {0};
    char id[16];
    meta(&trace, (struct contract){.logical = "complete"});
    measured(&trace, "root", NULL, 0, 1000);
    for (unsigned i = 0; i < 11; i++) {
        snprintf(id, sizeof id, "w%02u", 10 - i);
        span(&trace, id, "root", 10 * i, i == 3 ? 9 : 5);
        interval(&trace, id, "cuda:0", "k", 100 * i, i == 4 ? 9 : 5);
        memory(&trace, "alloc", 10 * i, id, id, i == 5 ? 9 : 5, "");
        memory(&trace, "free", 10 * i + 2, id, id, i == 5 ? 9 : 5, "");
    }
    complete(&trace, 1000);
    json_t *packet = packet_of(&trace);
    assert_string_equal(column(walk(packet, "graph.summary.slowest_host_spans"), "id"),
                        "\"root\",\"w07\",\"w00\",\"w01\",\"w02\",\"w03\",\"w04\",\"w05\"");
    assert_string_equal(column(walk(packet, "graph.summary.slowest_device_spans"), "id"),
                        "\"w06\",\"w00\",\"w01\",\"w02\",\"w03\",\"w04\",\"w05\",\"w07\"");
    assert_string_equal(column(walk(packet, "graph.summary.heaviest_spans"), "id"),
                        "\"w05\",\"w00\",\"w01\",\"w02\",\"w03\",\"w04\",\"w06\",\"w07\"");
    json_decref(packet);
}

static void host_ties_are_by_unclipped_self_time_then_id(void **state)
{
    (void)state;
    struct buffer trace = {0};
    meta(&trace, nothing);
    span(&trace, "r", NULL, 0, 100);
    measured(&trace, "m", "r", 50, 10);
    /* Each overlaps the measured [50,60) by 5 ns of its own time. */
    span(&trace, "c1", "r", 55, 10);
    span(&trace, "c2", "r", 45, 10);
    span(&trace, "c3", "r", 40, 15);
    span(&trace, "c0", "r", 55, 10);
    complete(&trace, 100);
    json_t *packet = packet_of(&trace);
    assert_string_equal(column(walk(packet, "graph.summary.slowest_host_spans"), "id"),
                        "\"m\",\"c3\",\"c0\",\"c1\",\"c2\"");
    assert_string_equal(column(walk(packet, "graph.summary.slowest_host_spans"), "host_self_time_ns"),
                        "10,15,10,10,10");
    json_decref(packet);
}

static void device_spans_by_span_device_and_clock(void **state)
{
    (void)state;
    struct buffer trace = {0};
    meta(&trace, nothing);
    span(&trace, "r", NULL, 0, 100);
    measured(&trace, "m", "r", 0, 50);
    span(&trace, "z", "r", 60, 10);
    interval(&trace, "m", "cuda:1", "a", 0, 5);
    interval(&trace, "m", "cuda:0", "b", 0, 5);
    interval(&trace, "m", "cuda:0", "a", 0, 5);
    interval(&trace, "m", "cuda:0", "a", 3, 4);
    interval(&trace, "z", "cuda:0", "a", 0, 99);
    interval(&trace, "r", "cuda:0", "a", 0, 99);
    complete(&trace, 100);
    json_t *packet = packet_of(&trace);
    assert_part(
        packet, "graph.summary.slowest_device_spans",
        "[{\"id\":\"m\",\"name\":\"m\",\"device\":\"cuda:0\",\"clock_id\":\"a\",\"device_busy_ns\":7},"
        "{\"id\":\"m\",\"name\":\"m\",\"device\":\"cuda:0\",\"clock_id\":\"b\",\"device_busy_ns\":5},"
        "{\"id\":\"m\",\"name\":\"m\",\"device\":\"cuda:1\",\"clock_id\":\"a\",\"device_busy_ns\":5}]");
    assert_part(packet, "graph.spans.0.device_timings",
                "[{\"device\":\"cuda:0\",\"clock_id\":\"a\",\"busy_ns\":7},"
                "{\"device\":\"cuda:0\",\"clock_id\":\"b\",\"busy_ns\":5},"
                "{\"device\":\"cuda:1\",\"clock_id\":\"a\",\"busy_ns\":5}]");
    json_decref(packet);
}

static void a_measured_span_of_no_length_has_no_host_spans(void **state)
{
    (void)state;
    struct buffer trace = {0};
    meta(&trace, nothing);
    span(&trace, "r", NULL, 0, 100);
    measured(&trace, "m", "r", 50, 0);
    complete(&trace, 100);
    json_t *packet = packet_of(&trace);
    assert_part(packet, "graph.summary.slowest_host_spans", "[]");
    assert_part(packet, "graph.summary.outer_wall_time_ns", "0");
    assert_part(packet, "findings", "[]");
    json_decref(packet);
}

/* Only a saturated end lets something of length hang in a span of no length. */
static void durations_of_empty_spans_come_from_what_they_hold(void **state)
{
    (void)state;
    struct buffer trace = {0};
    meta(&trace, nothing);
    measured(&trace, "r", NULL, UINT64_MAX, 0);
    span(&trace, "a", "r", UINT64_MAX, 0);
    span(&trace, "b", "a", UINT64_MAX, 7);
    op(&trace, "a", "x", UINT64_MAX, 5, "", NULL);
    complete(&trace, UINT64_MAX);
    struct evidence *evidence = evidence_of(&trace);
    const uint64_t a_b_r[] = {12, 7, 12};
    assert_memory_equal(evidence->graph.effective_ns, a_b_r, sizeof a_b_r);
    /* The fact is the recorded duration. */
    assert_string_equal(evidence->facts[0].code, "outer_wall_time");
    assert_int_equal(evidence->facts[0].number, 0);
    evidence_drop(evidence);
}

static void op_kind_span_of_the_specification(void **state)
{
    (void)state;
    struct buffer trace = {0};
    meta(&trace, (struct contract){.logical = "complete"});
    measured(&trace, "root", NULL, 0, 100);
    span_of(&trace, "k", "root", 10, 50, "op", false);
    op(&trace, "k", "mm", 10, 5, "", NULL);
    interval(&trace, "k", "cuda:0", "c", 3, 9);
    memory(&trace, "alloc", 20, "s", "k", 8, "");
    complete(&trace, 100);
    json_t *packet = packet_of(&trace);
    assert_part(packet, "graph.edges",
                "[{\"kind\":\"call\",\"from_span\":\"k\",\"to_span\":\"k/op/0\",\"host_duration_ns\":5,"
                "\"label\":\"mm\"}]");
    assert_string_equal(column(walk(packet, "graph.summary.slowest_host_spans"), "id"), "\"root\"");
    assert_string_equal(column(walk(packet, "graph.summary.heaviest_spans"), "id"), "\"root\"");
    assert_part(packet, "graph.summary.slowest_device_spans.0.id", "\"k\"");
    json_decref(packet);
}

static void edges_are_sorted_and_not_repeated(void **state)
{
    (void)state;
    struct buffer trace = {0};
    meta(&trace, nothing);
    measured(&trace, "s1", NULL, 0, 100);
    span(&trace, "s1-x", "s1", 10, 10);
    span_of(&trace, "k", "s1", 30, 10, "op", false);
    span(&trace, "s10", "s1", 50, 10);
    for (unsigned i = 0; i < 12; i++)
        op(&trace, "s1", "n", 0, 1, i == 10 ? "\"t\",\"u\",\"t\"" : "", i == 2 ? "v" : NULL);
    op(&trace, "s10", "n", 50, 1, "", NULL);
    op(&trace, "s1-x", "n", 10, 1, "", NULL);
    add(&trace, "{\"kind\":\"edge\",\"edge_kind\":\"data\",\"from_tensor\":\"u\",\"to_tensor\":\"t\"}");
    add(&trace, "{\"kind\":\"edge\",\"edge_kind\":\"data\",\"from_tensor\":\"u\",\"to_tensor\":\"t\"}");
    add(&trace, "{\"kind\":\"edge\",\"edge_kind\":\"call\",\"from_span\":\"s1\",\"to_span\":\"k\","
                "\"host_duration_ns\":10}");
    add(&trace, "{\"kind\":\"edge\",\"edge_kind\":\"call\",\"from_span\":\"s1\",\"to_span\":\"s10\","
                "\"host_duration_ns\":10}");
    complete(&trace, 100);
    json_t *packet = packet_of(&trace);
    const json_t *edges = walk(packet, "graph.edges");
    assert_string_equal(
        column(edges, "from_span"),
        "\"s1\",\"s1\",\"s1\",\"s1\",\"s1\",\"s1\",\"s1\",\"s1\",\"s1\",\"s1\",\"s1\",\"s1\",\"s1\","
        "\"s1\",\"s1\",\"s1-x\",-,\"s10\",-,-,-,-");
    assert_string_equal(
        column(edges, "to_span"),
        "\"k\",\"s1-x\",\"s1/op/0\",\"s1/op/1\",\"s1/op/10\",\"s1/op/11\",\"s1/op/2\",\"s1/op/3\","
        "\"s1/op/4\",\"s1/op/5\",\"s1/op/6\",\"s1/op/7\",\"s1/op/8\",\"s1/op/9\",\"s10\","
        "\"s1-x/op/0\",-,\"s10/op/0\",-,-,-,-");
    assert_part(
        packet, "graph.edges.16",
        "{\"kind\":\"data\",\"from_tensor\":\"s1/op/2\",\"to_tensor\":\"tensor/v\",\"label\":\"output\"}");
    assert_part(
        packet, "graph.edges.18",
        "{\"kind\":\"data\",\"from_tensor\":\"tensor/t\",\"to_tensor\":\"s1/op/10\",\"label\":\"input\"}");
    assert_part(
        packet, "graph.edges.19",
        "{\"kind\":\"data\",\"from_tensor\":\"tensor/u\",\"to_tensor\":\"s1/op/10\",\"label\":\"input\"}");
    assert_part(packet, "graph.edges.20",
                "{\"kind\":\"data\",\"from_tensor\":\"tensor/u\",\"to_tensor\":\"tensor/t\"}");
    assert_part(packet, "graph.edges.21",
                "{\"kind\":\"data\",\"from_tensor\":\"tensor/u\",\"to_tensor\":\"tensor/t\"}");
    assert_part(packet, "graph.edges.0",
                "{\"kind\":\"call\",\"from_span\":\"s1\",\"to_span\":\"k\",\"host_duration_ns\":10}");
    json_decref(packet);
}

static void tensors_by_id_with_their_first_event(void **state)
{
    (void)state;
    struct buffer trace = {0};
    meta(&trace, nothing);
    measured(&trace, "r", NULL, 0, 100);
    const char *tensor = "{\"kind\":\"tensor\",\"span_id\":\"r\",\"tensor_id\":\"%s\",%s\"shape\":[%s],"
                         "\"dtype\":\"f32\",\"device\":\"cuda:0\"}";
    char line[256];
    const char *const events[][3] = {{"backend:2", "\"label\":\"prediction\",", "2,3"},
                                     {"backend:1", "\"label\":\"prediction\",", ""},
                                     {"backend:1", "\"label\":\"later\",", "9"},
                                     {"a", "", "4"}};
    for (unsigned i = 0; i < 4; i++) {
        snprintf(line, sizeof line, tensor, events[i][0], events[i][1], events[i][2]);
        add(&trace, "%s", line);
    }
    op(&trace, "r", "mm", 1, 1, "\"zz\",\"a\"", "out");
    complete(&trace, 100);
    json_t *packet = packet_of(&trace);
    assert_string_equal(
        column(walk(packet, "graph.spans"), "id"),
        "\"r\",\"r/op/0\",\"tensor/a\",\"tensor/backend:1\",\"tensor/backend:2\",\"tensor/out\","
        "\"tensor/zz\"");
    assert_part(packet, "graph.spans.2.name", "\"a\"");
    assert_part(
        packet, "graph.spans.3",
        "{\"id\":\"tensor/backend:1\",\"parent_id\":\"r\",\"name\":\"prediction\",\"kind\":\"tensor\","
        "\"start_ns\":0,\"host_self_time_ns\":0,\"host_total_time_ns\":0,\"dtype\":\"f32\","
        "\"device\":\"cuda:0\",\"dense_bytes\":4}");
    assert_part(
        packet, "graph.spans.4",
        "{\"id\":\"tensor/backend:2\",\"parent_id\":\"r\",\"name\":\"prediction\",\"kind\":\"tensor\","
        "\"start_ns\":0,\"host_self_time_ns\":0,\"host_total_time_ns\":0,\"shape\":[2,3],"
        "\"dtype\":\"f32\",\"device\":\"cuda:0\",\"dense_bytes\":24}");
    assert_part(packet, "graph.spans.6",
                "{\"id\":\"tensor/zz\",\"parent_id\":null,\"name\":\"zz\",\"kind\":\"tensor\",\"start_ns\":0,"
                "\"host_self_time_ns\":0,\"host_total_time_ns\":0}");
    assert_string_equal(column(walk(packet, "graph.tensors"), "tensor_id"),
                        "\"backend:2\",\"backend:1\",\"backend:1\",\"a\"");
    assert_part(packet, "graph.tensors.1",
                "{\"span_id\":\"r\",\"tensor_id\":\"backend:1\",\"label\":\"prediction\",\"shape\":[],"
                "\"dtype\":\"f32\",\"device\":\"cuda:0\",\"requires_grad\":false,\"dense_bytes\":4,"
                "\"category\":\"other\"}");
    json_decref(packet);
}

/* ---- memory of nodes ---- */

static void known_zeros_only_when_declared_complete(void **state)
{
    (void)state;
    for (unsigned declared = 0; declared < 2; declared++) {
        struct buffer trace = {0};
        meta(&trace, (struct contract){.logical = declared ? "complete" : "partial"});
        measured(&trace, "root", NULL, 0, 100);
        span(&trace, "busy", "root", 0, 100);
        span(&trace, "quiet", "root", 0, 100);
        memory(&trace, "alloc", 10, "s", "busy", 40, "");
        memory(&trace, "free", 20, "s", "busy", 40, "");
        complete(&trace, 100);
        json_t *packet = packet_of(&trace);
        assert_string_equal(column(walk(packet, "graph.spans"), "allocated_bytes"),
                            declared ? "40,0,0" : "40,-,-");
        assert_string_equal(column(walk(packet, "graph.spans"), "peak_live_bytes"),
                            declared ? "40,0,40" : "40,-,40");
        assert_string_equal(column(walk(packet, "graph.spans"), "residual_bytes"),
                            declared ? "0,0,0" : "0,-,0");
        assert_string_equal(column(walk(packet, "graph.summary.heaviest_spans"), "id"),
                            declared ? "\"busy\",\"quiet\",\"root\"" : "\"busy\"");
        json_decref(packet);
    }
}

static void allocations_are_credited_to_the_only_op_of_their_name(void **state)
{
    (void)state;
    struct buffer trace = {0};
    meta(&trace, nothing);
    measured(&trace, "root", NULL, 0, 100);
    op(&trace, "root", "matmul", 0, 1, "", NULL);
    op(&trace, "root", "add", 1, 1, "", NULL);
    op(&trace, "root", "add", 2, 1, "", NULL);
    memory(&trace, "alloc", 0, "a", "root", 64, ",\"op_name\":\"matmul\"");
    memory(&trace, "alloc", 1, "b", "root", 32, ",\"op_name\":\"add\"");
    complete(&trace, 100);
    json_t *packet = packet_of(&trace);
    assert_string_equal(column(walk(packet, "graph.spans"), "allocated_bytes"), "96,64,-,-");
    json_decref(packet);
}

static void heaviest_ops_by_bytes_then_id(void **state)
{
    (void)state;
    struct buffer trace = {0};
    char name[8], storage[8], more[32];
    meta(&trace, nothing);
    measured(&trace, "r", NULL, 0, 100);
    span_of(&trace, "k", "r", 0, 100, "op", false);
    memory(&trace, "alloc", 5, "own", "k", 50, "");
    for (unsigned i = 0; i < 12; i++) {
        snprintf(name, sizeof name, "op%u", i);
        snprintf(storage, sizeof storage, "s%u", i);
        snprintf(more, sizeof more, ",\"op_name\":\"%s\"", name);
        op(&trace, "r", name, i, 1, "", NULL);
        if (i != 4) memory(&trace, "alloc", i, storage, "r", i == 7 ? 900 : 10, more);
    }
    complete(&trace, 100);
    struct evidence *evidence = evidence_of(&trace);
    uint32_t nodes[50];
    uint64_t total;
    /* Nodes: 0 k, 1 r, 2 + i is r/op/i. */
    assert_int_equal(evidence_heaviest_ops(evidence, nodes, 50, &total), 12);
    assert_int_equal(total, 12);
    const uint32_t expected[] = {9, 0, 2, 3, 12, 13, 4, 5, 7, 8, 10, 11};
    assert_memory_equal(nodes, expected, sizeof expected);
    assert_int_equal(evidence_heaviest_ops(evidence, nodes, 5, &total), 5);
    assert_int_equal(total, 12);
    assert_memory_equal(nodes, expected, 5 * sizeof *expected);
    assert_int_equal(evidence_heaviest_ops(evidence, nodes, 1, &total), 1);
    assert_int_equal(nodes[0], 9);
    evidence_drop(evidence);
}

/* ---- ids ---- */

static void assert_refused(struct buffer *text, const char *id)
{
    struct cg_trace *trace = load(text);
    struct evidence evidence;
    struct cg_error error;
    assert_int_equal(evidence_make(trace, NULL, 0, &evidence, &error), CG_EXIT_INPUT);
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\"", id);
    if (!strstr(error.message, quoted)) fail_msg("%s does not name %s", error.message, id);
    trace_free(trace);
}

static void a_span_that_looks_like_an_op_is_refused(void **state)
{
    (void)state;
    struct buffer trace = {0};
    meta(&trace, nothing);
    measured(&trace, "root", NULL, 0, 100);
    span(&trace, "root/op/1", "root", 0, 1);
    span(&trace, "root/op/0", "root", 0, 1);
    op(&trace, "root", "x", 0, 1, "", NULL);
    op(&trace, "root", "x", 0, 1, "", NULL);
    complete(&trace, 100);
    assert_refused(&trace, "root/op/0");
}

static void a_span_or_op_that_looks_like_a_tensor_is_refused(void **state)
{
    (void)state;
    struct buffer trace = {0};
    meta(&trace, nothing);
    measured(&trace, "root", NULL, 0, 100);
    span(&trace, "tensor/z", "root", 0, 1);
    op(&trace, "root", "x", 0, 1, "\"z\"", NULL);
    complete(&trace, 100);
    assert_refused(&trace, "tensor/z");
    meta(&trace, nothing);
    measured(&trace, "root", NULL, 0, 100);
    span(&trace, "tensor/x", "root", 0, 1);
    op(&trace, "tensor/x", "x", 0, 1, "\"x/op/0\",\"zz\"", NULL);
    complete(&trace, 100);
    assert_refused(&trace, "tensor/x/op/0");
}

static void ids_that_only_resemble_others_are_accepted(void **state)
{
    (void)state;
    struct buffer trace = {0};
    meta(&trace, nothing);
    measured(&trace, "root", NULL, 0, 100);
    span(&trace, "root/op/1", "root", 0, 1);
    span(&trace, "root/op/00", "root", 0, 1);
    span(&trace, "root/op/", "root", 0, 1);
    span(&trace, "/op/0", "root", 0, 1);
    span(&trace, "tensor/x", "root", 0, 1);
    op(&trace, "root", "x", 0, 1, "\"x/op/1\",\"root\"", NULL);
    op(&trace, "tensor/x", "x", 0, 1, "", NULL);
    complete(&trace, 100);
    json_decref(packet_of(&trace));
}

static void no_graph_without_a_complete_and_valid_capture(void **state)
{
    (void)state;
    struct buffer trace = {0};
    meta(&trace, nothing);
    span(&trace, "r", NULL, 0, 100);
    failed(&trace, 100);
    json_t *packet = packet_of(&trace);
    assert_part(packet, "graph", "-");
    assert_part(packet, "findings", "[]");
    json_decref(packet);
    meta(&trace, nothing);
    span(&trace, "r", NULL, 0, 100);
    complete(&trace, 100);
    packet = packet_of(&trace);
    assert_part(packet, "health.structurally_valid", "false");
    assert_part(packet, "graph", "-");
    json_decref(packet);
}

/* ---- size ---- */

static void deep_and_wide_trees_are_no_burden(void **state)
{
    (void)state;
    enum { SPANS = 60000 };
    for (unsigned deep = 0; deep < 2; deep++) {
        struct buffer trace = {0};
        char id[16], parent[16];
        meta(&trace, nothing);
        measured(&trace, "s0", NULL, 0, 2 * SPANS);
        for (unsigned i = 1; i < SPANS; i++) {
            snprintf(id, sizeof id, "s%u", i);
            snprintf(parent, sizeof parent, "s%u", deep ? i - 1 : 0);
            span(&trace, id, parent, i, deep ? 2 * (SPANS - i) : 1);
        }
        complete(&trace, 2 * SPANS);
        struct evidence *evidence = evidence_of(&trace);
        assert_true(evidence->has_graph);
        assert_int_equal(evidence_rows(evidence, LIST_NODES), SPANS);
        assert_int_equal(evidence_rows(evidence, LIST_EDGES), SPANS - 1);
        /* Deep: each span holds all but 2 ns of its parent but the innermost. Wide: the root has all but
         * [1, SPANS) to itself. */
        assert_int_equal(evidence->graph.host[0].self_ns, deep ? 2 : 2 * SPANS - (SPANS - 1));
        evidence_drop(evidence);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_scopes_of_the_specification),
        cmocka_unit_test(self_time_unites_children_and_ops),
        cmocka_unit_test(lists_are_cut_at_eight_and_ties_are_by_id),
        cmocka_unit_test(host_ties_are_by_unclipped_self_time_then_id),
        cmocka_unit_test(device_spans_by_span_device_and_clock),
        cmocka_unit_test(a_measured_span_of_no_length_has_no_host_spans),
        cmocka_unit_test(durations_of_empty_spans_come_from_what_they_hold),
        cmocka_unit_test(op_kind_span_of_the_specification),
        cmocka_unit_test(edges_are_sorted_and_not_repeated),
        cmocka_unit_test(tensors_by_id_with_their_first_event),
        cmocka_unit_test(known_zeros_only_when_declared_complete),
        cmocka_unit_test(allocations_are_credited_to_the_only_op_of_their_name),
        cmocka_unit_test(heaviest_ops_by_bytes_then_id),
        cmocka_unit_test(a_span_that_looks_like_an_op_is_refused),
        cmocka_unit_test(a_span_or_op_that_looks_like_a_tensor_is_refused),
        cmocka_unit_test(ids_that_only_resemble_others_are_accepted),
        cmocka_unit_test(no_graph_without_a_complete_and_valid_capture),
        cmocka_unit_test(deep_and_wide_trees_are_no_burden),
    };
    return run_tap(tests);
}
