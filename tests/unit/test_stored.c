/* Stored packets: read, written again to the same bytes in both orders, rows and rankings as derived, and
 * refused where doc/spec/cli.md 1.5 refuses. */
#include "tests/unit/packet.h"

#include <glob.h>

/* Room behind the text, as the reader wants it. */
static char *padded(const struct buffer *text)
{
    char *bytes = malloc(text->length + EVIDENCE_PADDING);
    memcpy(bytes, text->at, text->length);
    return bytes;
}

static struct buffer written(const struct evidence *evidence, enum evidence_list list, uint64_t row)
{
    struct buffer text = {0};
    struct json_doc *doc = doc_start(DOC_COMPACT, DOC_DECLARED, to_buffer, &text);
    emit_row(doc, evidence, list, row);
    assert_int_equal(doc_finish(doc), 0);
    return text;
}

static void assert_same_rows(const struct evidence *derived, const struct evidence *stored)
{
    for (enum evidence_list list = LIST_NODES; list <= LIST_TENSOR_STATS; list++) {
        assert_int_equal(evidence_rows(derived, list), evidence_rows(stored, list));
        for (uint64_t row = 0; row < evidence_rows(derived, list); row++) {
            struct buffer one = written(derived, list, row), other = written(stored, list, row);
            assert_string_equal(one.at, other.at);
            free(one.at);
            free(other.at);
            struct cg_text a = evidence_row_label(derived, list, row),
                           b = evidence_row_label(stored, list, row);
            assert_int_equal(list == LIST_EDGES || text_compare(a, b) == 0, true);
        }
    }
}

static void assert_same_summary(const struct evidence *derived, const struct evidence *stored)
{
    uint32_t ours[50], theirs[50];
    uint64_t total, again;
    assert_int_equal(stored->has_graph, derived->has_graph);
    assert_int_equal(evidence_issue_count(stored, HEALTH_ERROR), evidence_issue_count(derived, HEALTH_ERROR));
    assert_int_equal(evidence_issue_count(stored, HEALTH_WARNING),
                     evidence_issue_count(derived, HEALTH_WARNING));
    assert_int_equal(evidence_non_finite_events(stored), evidence_non_finite_events(derived));
    assert_int_equal(stored->logical.peak_live_bytes, derived->logical.peak_live_bytes);
    assert_int_equal(stored->physical.present, derived->physical.present);
    if (!derived->has_graph) return;
    assert_int_equal(graph_node_count(&stored->graph), graph_node_count(&derived->graph));
    assert_int_equal(stored->graph.host_count, derived->graph.host_count);
    assert_int_equal(stored->graph.effective_ns[stored->graph.measured],
                     derived->graph.effective_ns[derived->graph.measured]);
    size_t count = evidence_heaviest_ops(derived, ours, 50, &total);
    assert_int_equal(evidence_heaviest_ops(stored, theirs, 50, &again), count);
    assert_int_equal(total, again);
    assert_memory_equal(ours, theirs, count * sizeof *ours);
}

static void assert_same_rankings(const struct evidence *derived, const struct evidence *stored)
{
    uint32_t ours[64], theirs[64];
    for (enum activation_metric metric = ACTIVATION_HOST_DURATION; metric <= ACTIVATION_RETAINED; metric++) {
        uint64_t count = activations_ranked(derived->trace, &derived->activations, metric, 64, ours);
        assert_int_equal(activations_ranked(stored->trace, &stored->activations, metric, 64, theirs), count);
        assert_memory_equal(ours, theirs, (count < 64 ? count : 64) * sizeof *ours);
    }
    assert_int_equal(stored->timing.clock_count, derived->timing.clock_count);
    for (size_t i = 0; i < derived->timing.clock_count; i++) {
        const struct timing_clock *a = &derived->timing.clocks[i], *b = &stored->timing.clocks[i];
        uint64_t count = activations_ranked_by_device(derived->trace, &derived->activations, &derived->timing,
                                                      a->device, a->clock_id, 64, ours);
        assert_int_equal(activations_ranked_by_device(stored->trace, &stored->activations, &stored->timing,
                                                      b->device, b->clock_id, 64, theirs),
                         count);
        assert_memory_equal(ours, theirs, (count < 64 ? count : 64) * sizeof *ours);
    }
}

/* Both documents of a packet that was read from one of them. */
static void round_trip(const struct evidence *derived, enum json_style style, enum json_order order)
{
    struct buffer text = packet_text(derived, style, order);
    char *bytes = padded(&text);
    struct evidence stored;
    struct cg_error error;
    if (evidence_read("evidence.json", bytes, text.length, &stored, &error)) fail_msg("%s", error.message);
    for (unsigned i = 0; i < 2; i++) {
        struct buffer one = packet_text(derived, DOC_PRETTY, i ? DOC_SORTED : DOC_DECLARED);
        struct buffer other = packet_text(&stored, DOC_PRETTY, i ? DOC_SORTED : DOC_DECLARED);
        assert_string_equal(one.at, other.at);
        free(one.at);
        free(other.at);
    }
    struct buffer ours = {0}, theirs = {0};
    assert_int_equal(write_report_markdown(derived, to_buffer, &ours), 0);
    assert_int_equal(write_report_markdown(&stored, to_buffer, &theirs), 0);
    assert_string_equal(ours.at, theirs.at);
    free(ours.at);
    free(theirs.at);
    assert_same_rows(derived, &stored);
    assert_same_summary(derived, &stored);
    assert_same_rankings(derived, &stored);
    assert_true(evidence_same_run(&stored, derived->trace));
    evidence_free(&stored);
    free(bytes);
    free(text.at);
}

static void a_trace(struct buffer *trace)
{
    meta(trace, (struct contract){.activations = "complete", .logical = "complete", .more = ",\"x\":1"});
    measured(trace, "m", NULL, 0, 1000);
    span_of(trace, "k", "m", 0, 50, "op", false);
    op(trace, "k", "mm", 0, 7, "\"in\"", "t");
    op(trace, "m", "add", 60, 9, "", "u");
    interval(trace, "k", "cuda:0", "c", 3, 9);
    add(trace, "{\"kind\":\"tensor\",\"span_id\":\"m\",\"tensor_id\":\"u\",\"label\":\"a\\u0000\\\"b\","
               "\"shape\":[2],"
               "\"dtype\":\"f32\",\"device\":\"cpu\",\"category\":\"activation\"}");
    memory(trace, "alloc", 0, "t", "k", UINT64_MAX, ",\"category\":\"activation\",\"op_name\":\"mm\"");
    memory(trace, "alloc", 70, "u", "m", 8, ",\"op_name\":\"add\"");
    add(trace, "{\"kind\":\"gradient\",\"event_id\":\"g\",\"root\":\"r\",\"key\":\"w\",\"state\":\"present\","
               "\"norm\":0.1}");
    add(trace,
        "{\"kind\":\"tensor_stats\",\"span_id\":\"m\",\"label\":\"loss\",\"shape\":[],\"dtype\":\"f32\","
        "\"elements\":1,\"non_finite\":1,\"rms\":0,\"abs_max\":0,\"mean\":0}");
    complete(trace, 1000);
}

static struct gpu_evidence some_gpu(void)
{
    struct gpu_evidence gpu;
    gpu_make_empty(&gpu, GPU_AVAILABLE, "unused");
    gpu.reason = (struct cg_text){0};
    gpu.manifest.present = true;
    struct cg_text *const texts[] = {&gpu.manifest.schema,       &gpu.manifest.tool_name,
                                     &gpu.manifest.tool_version, &gpu.manifest.host,
                                     &gpu.raw_report.path,       &gpu.raw_report.sha256};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        *texts[i] = arena_printf(&gpu.arena, "text %zu\n", i);
    gpu.manifest.run_id = arena_string(&gpu.arena, "run");
    gpu.manifest.correlation_id = arena_string(&gpu.arena, "corr");
    gpu.manifest.source_revisions = calloc(1, sizeof *gpu.manifest.source_revisions);
    gpu.manifest.source_revisions[0] =
        (struct gpu_pair){arena_string(&gpu.arena, "app"), arena_string(&gpu.arena, "1")};
    gpu.manifest.source_revision_count = 1;
    gpu_texts_add(&gpu.arena, &gpu.diagnostics, arena_string(&gpu.arena, "x.csv: cuda_api_sum: no header"));
    gpu_texts_add(&gpu.arena, &gpu.correlation.ledger.cpu_only, arena_string(&gpu.arena, "l"));
    gpu.limits = calloc(1, sizeof *gpu.limits);
    gpu.limits[0] = (struct gpu_limit){arena_string(&gpu.arena, "k.csv"), 3, 2, true};
    gpu.limit_count = 1;
    gpu.kernels.at = calloc(1, sizeof *gpu.kernels.at);
    gpu.kernels.at[0].name = arena_string(&gpu.arena, "sgemm");
    gpu.kernels.at[0].count = (struct gpu_u64){true, 0};
    gpu.kernels.count = 1;
    gpu.nvtx_ranges.at = calloc(1, sizeof *gpu.nvtx_ranges.at);
    gpu.nvtx_ranges.at[0].name = gpu.nvtx_ranges.at[0].kind = arena_string(&gpu.arena, "nvtx_range");
    gpu.nvtx_ranges.count = 1;
    gpu.phase_attribution.at = calloc(1, sizeof *gpu.phase_attribution.at);
    gpu.phase_attribution.at[0].semantic_key = arena_string(&gpu.arena, "l");
    gpu.phase_attribution.at[0].join_keys = GPU_JOIN_CORRELATION_ID | GPU_JOIN_STREAM;
    gpu.phase_attribution.count = 1;
    return gpu;
}

static struct buffer gpu_text(const struct evidence *evidence)
{
    struct buffer text = {0};
    struct json_doc *doc = doc_start(DOC_COMPACT, DOC_DECLARED, to_buffer, &text);
    emit_gpu(doc, &evidence->gpu);
    assert_int_equal(doc_finish(doc), 0);
    return text;
}

static void a_packet_with_everything(void **state)
{
    (void)state;
    struct buffer trace = {0};
    struct gpu_evidence gpu = some_gpu();
    a_trace(&trace);
    struct evidence *derived = evidence_with(&trace, &gpu);
    assert_int_equal(derived->activations.operation_count, 2);
    round_trip(derived, DOC_PRETTY, DOC_DECLARED);
    round_trip(derived, DOC_COMPACT, DOC_SORTED);
    /* The GPU object is read into its struct in full. */
    struct buffer text = packet_text(derived, DOC_COMPACT, DOC_DECLARED);
    char *bytes = padded(&text);
    struct evidence stored;
    struct cg_error error;
    assert_int_equal(evidence_read("e", bytes, text.length, &stored, &error), 0);
    struct buffer one = gpu_text(derived), other = gpu_text(&stored);
    assert_string_equal(one.at, other.at);
    assert_true(stored.gpu.parse_failed[GPU_REPORT_RUNTIME_CALLS]);
    assert_false(stored.gpu.parse_failed[GPU_REPORT_KERNELS]);
    evidence_free(&stored);
    free(one.at);
    free(other.at);
    free(bytes);
    free(text.at);
    evidence_drop(derived);
}

static void every_conformance_trace(void **state)
{
    (void)state;
    glob_t found;
    assert_int_equal(glob("tests/conformance/traces/*.jsonl", 0, NULL, &found), 0);
    unsigned packets = 0;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct cg_trace *trace;
        struct cg_error error;
        struct evidence derived;
        if (trace_load(found.gl_pathv[i], NULL, &trace, &error)) continue;
        if (!evidence_make(trace, NULL, EVIDENCE_EDGES, &derived, &error)) {
            round_trip(&derived, DOC_PRETTY, DOC_DECLARED);
            evidence_free(&derived);
            packets++;
        }
        trace_free(trace);
    }
    globfree(&found);
    assert_true(packets > 100);
}

/* ---- refused ---- */

/* The packet of a_trace() with one text replaced by another. */
static int read_changed(const char *from, const char *to, struct cg_error *error)
{
    struct buffer trace = {0}, changed = {0};
    a_trace(&trace);
    struct evidence *derived = evidence_of(&trace);
    struct buffer text = packet_text(derived, DOC_COMPACT, DOC_DECLARED);
    evidence_drop(derived);
    const char *at = strstr(text.at, from);
    if (!at) fail_msg("%s is not in the packet", from);
    to_buffer(&changed, text.at, (size_t)(at - text.at));
    to_buffer(&changed, to, strlen(to));
    to_buffer(&changed, at + strlen(from), strlen(at + strlen(from)));
    char *bytes = padded(&changed);
    struct evidence stored;
    int status = evidence_read("evidence.json", bytes, changed.length, &stored, error);
    if (!status) evidence_free(&stored);
    free(bytes);
    free(changed.at);
    free(text.at);
    return status;
}

static void what_is_refused(void **state)
{
    (void)state;
    static const char *const rows[][3] = {
        {"candle-graph/evidence/5", "candle-graph/evidence/4",
         "schema: expected \"candle-graph/evidence/5\", found"},
        {"candle-graph/graph/5", "candle-graph/graph/4", "graph.schema: expected \"candle-graph/graph/5\""},
        {"\"facts\":", "\"fakts\":", "member \"facts\" is missing"},
        {"\"capture_complete\":true", "\"capture_complete\":null",
         "health.capture_complete: expected true or false"},
        {"\"capture_complete\":true", "\"capture_complete\":true,\"capture_complete\":true", "given twice"},
        {"\"capture_complete\":true", "\"capture_complete\":1", "expected true or false, found a number"},
        {"\"op_index\":0", "\"op_index\":0.0", "activations.operations[].op_index: expected an integer"},
        {"\"op_index\":0", "\"op_index\":-1", "expected an integer from 0"},
        {"\"op_index\":0", "\"op_index\":1e0", "expected an integer from 0"},
        {"\"op_index\":0", "\"op_index\":18446744073709551616", "expected an integer from 0"},
        {"\"op_index\":0", "\"op_index\":00", "evidence.json: byte "},
        {"\"severity\":\"warning\"", "\"severity\":\"warn\"", "health.issues[].severity"},
        {"\"kind\":\"call\"", "\"kind\":\"jump\"", "graph.edges[]: unknown kind"},
        {"\"kind\":\"call\",", "", "member \"kind\" is missing"},
        {"{\"kind\":\"duration_ns\",\"value\":1000}", "{\"kind\":\"text\",\"value\":1000}",
         "expected a string"},
        {"\"logical_byte_nanoseconds\":\"", "\"logical_byte_nanoseconds\":\"-", "decimal number"},
        {"\"logical_byte_nanoseconds\":\"",
         "\"logical_byte_nanoseconds\":\"340282366920938463463374607431768211456", "decimal number"},
        {"\"id\":\"k\",\"span_id\":\"k\"", "\"id\":\"z\",\"span_id\":\"k\"", "neither span_id nor"},
        {"\"run_id\":\"run\"", "\"run_id\":\"ru\nn\"", "evidence.json: byte "},
        {"\"run_id\":\"run\"", "\"run_id\":\"\\ud800\"", "surrogate"},
        {"\"run_id\":\"run\"", "\"run_id\":\"run\",\"x\":[01]", "evidence.json: byte "},
        {"{\"schema\"", "\xef\xbb\xbf{\"schema\"", "evidence.json: byte 1: "},
        {"\"phase_attribution\":[]}}\n", "\"phase_attribution\":[]}} {}\n", "nothing more after the value"},
        {"\"phase_attribution\":[]}}\n", "\"phase_attribution\":[]}\n", "expected ',' or '}'"},
        {"\"spans\":[{", "\"spans\":[[],{", "graph.spans[]: expected an object, found an array"},
        {"\"gaps\":[", "\"gaps\":[null,", "gaps[]: expected a string, found null"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cg_error error = {0};
        if (read_changed(rows[i][0], rows[i][1], &error) != CG_EXIT_INPUT)
            fail_msg("%s was accepted for %s", rows[i][1], rows[i][0]);
        if (!strstr(error.message, rows[i][2]) || strncmp(error.message, "evidence.json: ", 15))
            fail_msg("\"%s\" does not say \"%s\"", error.message, rows[i][2]);
        assert_null(strchr(error.message, '\n'));
    }
}

static void what_is_accepted(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"\"capture_complete\":true", "\"capture_complete\":true,\"new\":{\"a\":[1,null,\"\\n\"]},\"new\":2"},
        {"\"kind\":\"root\"", "\"kind\":\"something\""},
        {"\"parent_id\":null,", ""},
        {"\"device\":\"cpu\",\"requires_grad\"", "\"device\":\"cpu\",\"dense_bytes\":null,\"requires_grad\""},
        {"\"activations\":\"complete\",", ""},
        {"\n", "\n\r \t\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cg_error error = {0};
        /* Of the dense bytes one is there already. */
        int status = read_changed(rows[i][0], rows[i][1], &error);
        if (i == 3)
            assert_non_null(strstr(error.message, "graph.tensors[].dense_bytes: member given twice"));
        else if (status)
            fail_msg("%s: %s", rows[i][1], error.message);
    }
}

/* Cut anywhere, the packet is refused in one line. */
static void every_prefix_is_refused(void **state)
{
    (void)state;
    struct buffer trace = {0};
    a_trace(&trace);
    struct evidence *derived = evidence_of(&trace);
    struct buffer text = packet_text(derived, DOC_PRETTY, DOC_DECLARED);
    evidence_drop(derived);
    for (size_t length = 0; length + 2 < text.length; length += 1 + length / 64) {
        struct buffer cut = {.at = text.at, .length = length};
        char *bytes = padded(&cut);
        struct evidence stored;
        struct cg_error error;
        assert_int_equal(evidence_read("evidence.json", bytes, length, &stored, &error), CG_EXIT_INPUT);
        free(bytes);
    }
    free(text.at);
}

static void deep_nesting_of_unknown_members_is_bounded(void **state)
{
    (void)state;
    char *deep = malloc(20100);
    struct cg_error error = {0};
    strcpy(deep, "{\"unknown\":");
    memset(deep + 11, '[', 10000);
    memset(deep + 10011, ']', 10000);
    strcpy(deep + 20011, ",\"schema\"");
    assert_int_equal(read_changed("{\"schema\"", deep, &error), CG_EXIT_INPUT);
    assert_non_null(strstr(error.message, "levels deep"));
    free(deep);
}

static void another_run_is_told_apart(void **state)
{
    (void)state;
    struct buffer trace = {0}, other = {0};
    a_trace(&trace);
    meta(&other, (struct contract){.activations = "complete", .logical = "partial"});
    complete(&other, 1);
    struct evidence *derived = evidence_of(&trace);
    struct buffer text = packet_text(derived, DOC_COMPACT, DOC_DECLARED);
    char *bytes = padded(&text);
    struct evidence stored;
    struct cg_error error;
    assert_int_equal(evidence_read("e", bytes, text.length, &stored, &error), 0);
    struct cg_trace *others = load(&other);
    assert_true(evidence_same_run(&stored, derived->trace));
    assert_false(evidence_same_run(&stored, others));
    trace_free(others);
    evidence_free(&stored);
    free(bytes);
    free(text.at);
    evidence_drop(derived);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_packet_with_everything),
        cmocka_unit_test(every_conformance_trace),
        cmocka_unit_test(what_is_refused),
        cmocka_unit_test(what_is_accepted),
        cmocka_unit_test(every_prefix_is_refused),
        cmocka_unit_test(deep_nesting_of_unknown_members_is_bounded),
        cmocka_unit_test(another_run_is_told_apart),
    };
    return run_tap(tests);
}
