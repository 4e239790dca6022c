/* Capabilities, facts, findings, gaps (doc/spec/evidence.md 5 to 8): every row of the tables, expected values
 * by hand. */
#include "tests/unit/packet.h"

#define VS "candle-graph/trace/10 validation"

static const struct contract nothing;

static void assert_state(json_t *packet, const char *member, const char *level, const char *source)
{
    json_t *state = json_object_get(json_object_get(packet, "capabilities"), member);
    assert_non_null(state);
    if (strcmp(json_string_value(json_object_get(state, "level")), level) ||
        strcmp(json_string_value(json_object_get(state, "source")), source))
        fail_msg("%s is %s, not %s by %s", member, part(state, ""), level, source);
    assert_true(strlen(json_string_value(json_object_get(state, "reason"))) > 0);
}

static void root(struct buffer *trace)
{
    measured(trace, "r", NULL, 0, 100);
}

/* ---- 5.2, 5.3: what was declared and what was seen ---- */

struct plane {
    const char *member, *source;
    size_t contract; /* place of the level in struct contract */
};

static const struct plane planes[] = {
    {"nested_device_time", "device intervals", offsetof(struct contract, device_timing)},
    {"operation_coverage", "trace op events", offsetof(struct contract, operations)},
    {"tensor_coverage", "trace tensor events", offsetof(struct contract, tensors)},
    {"logical_memory_coverage", "storage lifetime events", offsetof(struct contract, logical)},
    {"physical_memory_coverage", "device memory samples", offsetof(struct contract, physical)},
    {"gradient_coverage", "trace gradient events", offsetof(struct contract, gradients)},
};

static void observe(struct buffer *trace)
{
    interval(trace, "r", "cuda:0", "c", 0, 5);
    op(trace, "r", "x", 0, 1, "", NULL);
    add(trace, "{\"kind\":\"tensor\",\"span_id\":\"r\",\"tensor_id\":\"t\",\"shape\":[],\"dtype\":\"f32\","
               "\"device\":\"cpu\"}");
    memory(trace, "alloc", 1, "s", "r", 8, "");
    add(trace, "{\"kind\":\"device_memory\",\"timestamp_ns\":1,\"device\":\"cpu\",\"used_bytes\":1}");
    add(trace,
        "{\"kind\":\"gradient\",\"event_id\":\"g\",\"root\":\"m\",\"key\":\"w\",\"state\":\"missing\"}");
}

static void coverage_of_what_was_declared_and_seen(void **state)
{
    (void)state;
    static const char *const declared[] = {"complete", "partial", "none"};
    static const char *const levels[3][2] = {
        {"invalid", "complete"}, {"unavailable", "partial"}, {"unavailable", "partial"}};
    for (unsigned d = 0; d < 3; d++)
        for (unsigned seen = 0; seen < 2; seen++) {
            struct contract contract = nothing;
            for (size_t p = 0; p < 5; p++)
                memcpy((char *)&contract + planes[p].contract, &declared[d], sizeof declared[d]);
            /* Complete gradients need a contract of their own: below. */
            contract.gradients = d == 0 ? "none" : declared[d];
            struct buffer trace = {0};
            meta(&trace, contract);
            root(&trace);
            if (seen) observe(&trace);
            complete(&trace, 100);
            json_t *packet = packet_of(&trace);
            for (size_t p = 0; p < 6; p++) {
                const char *level = levels[p == 5 && d == 0 ? 2 : d][seen];
                assert_state(packet, planes[p].member, level,
                             strcmp(level, "unavailable") ? planes[p].source : "none");
            }
            json_decref(packet);
        }
}

static void times_of_a_complete_capture(void **state)
{
    (void)state;
    struct buffer trace = {0};
    meta(&trace, nothing);
    root(&trace);
    complete(&trace, 100);
    json_t *packet = packet_of(&trace);
    assert_state(packet, "structural_trace", "complete", VS);
    assert_state(packet, "outer_wall_time", "complete", "measured span");
    assert_state(packet, "nested_host_time", "complete", "span wall intervals");
    assert_state(packet, "gpu_correlation", "unavailable", "none");
    assert_state(packet, "provenance_binding", "unavailable", "none");
    assert_string_equal(part(packet, "facts.0.code"), "\"outer_wall_time\"");
    json_decref(packet);
}

/* The specification's own vector. */
static void failed_capture(void **state)
{
    (void)state;
    struct buffer trace = {0};
    meta(&trace, (struct contract){.operations = "complete",
                                   .device_timing = "complete",
                                   .tensors = "complete",
                                   .logical = "complete",
                                   .physical = "complete"});
    add(&trace,
        "{\"kind\":\"span_start\",\"id\":\"r\",\"name\":\"r\",\"start_ns\":0,\"span_kind\":\"function\"}");
    observe(&trace);
    failed(&trace, 100);
    json_t *packet = packet_of(&trace);
    assert_part(packet, "health.structurally_valid", "true");
    assert_part(packet, "health.capture_complete", "false");
    assert_state(packet, "structural_trace", "complete", VS);
    assert_state(packet, "outer_wall_time", "unavailable", "none");
    assert_state(packet, "nested_host_time", "unavailable", "none");
    for (size_t p = 0; p < 6; p++)
        assert_state(packet, planes[p].member, "partial", planes[p].source);
    assert_part(packet, "findings", "[]");
    assert_part(packet, "graph", "-");
    /* The peak is a fact without a graph too, the others are not. */
    assert_part(packet, "facts",
                "[{\"code\":\"logical_peak_live_bytes\",\"label\":\"Most bytes of storage alive at once\","
                "\"value\":{\"kind\":\"bytes\",\"value\":8},\"source\":\"logical_storage_lifetimes\","
                "\"capability\":\"logical_memory\"}]");
    const char *reason = part(packet, "capabilities.operation_coverage.reason");
    assert_non_null(strstr(reason, "diagnostic only"));
    json_decref(packet);
}

static void invalid_capture(void **state)
{
    (void)state;
    for (unsigned fails = 0; fails < 2; fails++) {
        struct buffer trace = {0};
        /* Tensors declared and not seen are invalid by their own source; gradients stay unavailable. */
        meta(&trace, (struct contract){.operations = "complete",
                                       .device_timing = "partial",
                                       .tensors = "complete",
                                       .logical = "complete",
                                       .physical = "complete"});
        root(&trace);
        span(&trace, "late", "r", 50, 100);
        interval(&trace, "r", "cuda:0", "c", 0, 5);
        op(&trace, "r", "x", 0, 1, "", NULL);
        memory(&trace, "alloc", 1, "s", "r", 8, "");
        add(&trace, "{\"kind\":\"device_memory\",\"timestamp_ns\":1,\"device\":\"cpu\",\"used_bytes\":1}");
        if (fails)
            failed(&trace, 200);
        else
            complete(&trace, 200);
        json_t *packet = packet_of(&trace);
        assert_state(packet, "structural_trace", "invalid", VS);
        assert_state(packet, "outer_wall_time", "invalid", VS);
        assert_state(packet, "nested_host_time", "invalid", VS);
        assert_state(packet, "nested_device_time", "invalid", VS);
        assert_state(packet, "operation_coverage", "invalid", VS);
        assert_state(packet, "tensor_coverage", "invalid", "trace tensor events");
        assert_state(packet, "gradient_coverage", "unavailable", "none");
        assert_state(packet, "logical_memory_coverage", "invalid", VS);
        assert_state(packet, "physical_memory_coverage", fails ? "partial" : "complete",
                     "device memory samples");
        assert_state(packet, "provenance_binding", "unavailable", "none");
        assert_part(packet, "facts", "[]");
        assert_part(packet, "findings", "[]");
        assert_part(packet, "graph", "-");
        json_decref(packet);
    }
}

/* Declared but empty: the specification's own vector. */
static void declared_but_empty(void **state)
{
    (void)state;
    struct buffer trace = {0};
    meta(&trace, (struct contract){.tensors = "complete"});
    root(&trace);
    add(&trace,
        "{\"kind\":\"gradient\",\"event_id\":\"g\",\"root\":\"m\",\"key\":\"w\",\"state\":\"missing\"}");
    complete(&trace, 100);
    json_t *packet = packet_of(&trace);
    assert_state(packet, "tensor_coverage", "invalid", "trace tensor events");
    assert_state(packet, "gradient_coverage", "partial", "trace gradient events");
    assert_part(
        packet, "facts.1",
        "{\"code\":\"gradient_observations\",\"label\":\"Gradient records whose gradient is not present\","
        "\"value\":{\"kind\":\"count\",\"value\":1},\"source\":\"trace.gradient\","
        "\"capability\":\"gradients\"}");
    json_decref(packet);
}

/* ---- 5.4: exact gradients ---- */

/* SHA-256 by doc/spec/trace.md 11.1 of the one entry root m, key w, family f; computed with Python's hashlib.
 */
#define DIGEST "sha256:fadc181116350eeed7ab207aa54f07867d6598b236346ef8077992e6811885b1"
#define CONTRACT(digest)                                                                                     \
    ",\"gradient_contract\":{\"manifest_sha256\":\"" digest                                                  \
    "\",\"expected\":[{\"root\":\"m\",\"key\":\"w\",\"family\":\"f\"}],\"families\":[{\"family\":\"f\","     \
    "\"expectation\":\"active\",\"min_present\":1}]}"

static json_t *gradients(const char *more, const char *record, bool fails)
{
    struct buffer trace = {0};
    meta(&trace, (struct contract){.gradients = "complete", .more = more});
    root(&trace);
    if (record)
        add(&trace, "{\"kind\":\"gradient\",\"event_id\":\"%s\",\"root\":\"m\",\"key\":\"w\",%s}", record,
            "\"state\":\"present\",\"norm\":1.5");
    if (fails)
        failed(&trace, 100);
    else
        complete(&trace, 100);
    return packet_of(&trace);
}

static void exact_gradients(void **state)
{
    (void)state;
    static const char source[] = "exact gradient contract";
    json_t *packet = gradients(CONTRACT(DIGEST), "g", false);
    assert_state(packet, "gradient_coverage", "complete", source);
    assert_part(packet, "facts.1",
                "{\"code\":\"gradient_manifest_sha256\",\"label\":\"Digest of the gradient manifest\","
                "\"value\":{\"kind\":\"text\",\"value\":\"" DIGEST
                "\"},\"source\":\"capture_contract.gradient_contract\",\"capability\":\"gradients\"}");
    assert_part(packet, "facts.2.code", "\"gradient_manifest_entries\"");
    assert_part(packet, "facts.2.value", "{\"kind\":\"count\",\"value\":1}");
    assert_part(packet, "facts.3.code", "\"gradient_family_expectations\"");
    assert_part(packet, "facts.3.value", "{\"kind\":\"count\",\"value\":1}");
    /* Present gradients: the count of those that are not is a known 0. */
    assert_part(packet, "facts.4.value", "{\"kind\":\"count\",\"value\":0}");
    assert_part(packet, "graph.gradients",
                "[{\"root\":\"m\",\"key\":\"w\",\"state\":\"present\",\"norm\":1.5}]");
    json_decref(packet);
    /* No record: an error in a complete capture, a warning in a failed one. */
    packet = gradients(CONTRACT(DIGEST), NULL, false);
    assert_state(packet, "gradient_coverage", "invalid", source);
    json_decref(packet);
    packet = gradients(CONTRACT(DIGEST), NULL, true);
    assert_state(packet, "gradient_coverage", "partial", source);
    assert_part(packet, "facts.0.code", "\"gradient_manifest_sha256\"");
    json_decref(packet);
    /* Nothing declared about them, a wrong digest, an empty event id. */
    packet = gradients("", "g", false);
    assert_state(packet, "gradient_coverage", "invalid", source);
    json_decref(packet);
    packet = gradients(CONTRACT("sha256:0000000000000000000000000000000000000000000000000000000000000000"),
                       "g", false);
    assert_state(packet, "gradient_coverage", "invalid", source);
    assert_true(strlen(part(packet, "capabilities.gradient_coverage.reason")) > 20);
    json_decref(packet);
    packet = gradients(CONTRACT(DIGEST), " ", false);
    assert_state(packet, "gradient_coverage", "invalid", source);
    json_decref(packet);
}

/* ---- GPU ---- */

static struct gpu_evidence gpu_available(enum gpu_binding binding, bool correlated)
{
    struct gpu_evidence gpu;
    gpu_make_empty(&gpu, GPU_AVAILABLE, "unused");
    gpu.reason = (struct cg_text){0};
    gpu.binding = binding == GPU_BOUND ? GPU_PARTIAL : binding;
    gpu.correlation.complete = correlated;
    gpu.correlation.reason = arena_string(&gpu.arena, "one label is missing");
    if (binding != GPU_PARTIAL) {
        gpu.manifest.present = true;
        gpu.manifest.schema = arena_string(&gpu.arena, "candle-graph/nsight-capture/1");
        gpu.manifest.run_id = arena_string(&gpu.arena, "run");
        gpu.manifest.correlation_id = arena_string(&gpu.arena, "corr");
    }
    gpu.kernels.at = calloc(1, sizeof *gpu.kernels.at);
    gpu.kernels.count = 1;
    gpu.kernels.at[0].name = arena_string(&gpu.arena, "sgemm");
    gpu.kernels.at[0].total_ns = 12345678;
    return gpu;
}

static void gpu_states(void **state)
{
    (void)state;
    static const struct {
        enum gpu_binding binding;
        bool correlated, finding;
        const char *correlation, *binding_level, *binding_source, *qualification;
    } rows[] = {
        {GPU_BOUND, true, true, "complete", "complete", "capture-manifest.json", "\"complete\""},
        {GPU_BOUND, false, true, "partial", "complete", "capture-manifest.json", "\"partial\""},
        {GPU_PARTIAL, true, true, "complete", "partial", "Nsight artifact hashes", "\"partial\""},
        {GPU_MISMATCH, true, false, "complete", "invalid", "capture-manifest.json", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct buffer trace = {0};
        struct gpu_evidence gpu = gpu_available(rows[i].binding, rows[i].correlated);
        meta(&trace, nothing);
        root(&trace);
        complete(&trace, 100);
        json_t *packet = packet_with(&trace, &gpu);
        assert_state(packet, "gpu_correlation", rows[i].correlation, "Nsight NVTX projection");
        if (!rows[i].correlated)
            assert_part(packet, "capabilities.gpu_correlation.reason", "\"one label is missing\"");
        assert_state(packet, "provenance_binding", rows[i].binding_level, rows[i].binding_source);
        if (rows[i].finding) {
            assert_part(packet, "findings.1.code", "\"largest_nsight_kernel_total\"");
            assert_part(packet, "findings.1.source", "\"nsight.cuda_gpu_kern_sum\"");
            assert_part(packet, "findings.1.requires", "[\"gpu_correlation\",\"provenance_binding\"]");
            assert_part(packet, "findings.1.qualification", rows[i].qualification);
            assert_non_null(strstr(part(packet, "findings.1.summary"), "12.345 ms"));
        } else {
            assert_int_equal(json_array_size(json_object_get(packet, "findings")), 1);
        }
        json_decref(packet);
    }
}

static void gpu_failed_failed_and_invalid_captures(void **state)
{
    (void)state;
    struct buffer trace = {0};
    struct gpu_evidence gpu;
    gpu_make_empty(&gpu, GPU_FAILED, "cannot list it");
    meta(&trace, nothing);
    root(&trace);
    complete(&trace, 100);
    json_t *packet = packet_with(&trace, &gpu);
    assert_state(packet, "gpu_correlation", "invalid", "Nsight normalization");
    assert_part(packet, "capabilities.gpu_correlation.reason", "\"cannot list it\"");
    assert_state(packet, "provenance_binding", "invalid", "Nsight artifact manifest");
    json_decref(packet);
    /* Of a failed capture: complete becomes partial, and there is no finding. */
    gpu = gpu_available(GPU_BOUND, true);
    meta(&trace, nothing);
    root(&trace);
    failed(&trace, 100);
    packet = packet_with(&trace, &gpu);
    assert_state(packet, "gpu_correlation", "partial", "Nsight NVTX projection");
    assert_state(packet, "provenance_binding", "partial", "capture-manifest.json");
    assert_part(packet, "findings", "[]");
    json_decref(packet);
    /* Of an invalid one (it has no span): what needs the trace is invalid, the binding is as it was. */
    gpu = gpu_available(GPU_BOUND, true);
    meta(&trace, nothing);
    complete(&trace, 100);
    packet = packet_with(&trace, &gpu);
    assert_state(packet, "gpu_correlation", "invalid", VS);
    assert_state(packet, "provenance_binding", "complete", "capture-manifest.json");
    assert_part(packet, "findings", "[]");
    json_decref(packet);
}

static void labels_come_before_the_reports(void **state)
{
    (void)state;
    /* Twice in the list; no span; two spans: each is a health error of a complete capture too, so the trace
     * is invalid, and an invalid state keeps its own source. */
    static const char *const labels[] = {"\"r\",\"r\"", "\"nowhere\"", "\"twice\""};
    for (size_t i = 0; i < 3; i++)
        for (unsigned fails = 0; fails < 2; fails++) {
            struct buffer trace = {0};
            meta(&trace, (struct contract){.labels = labels[i]});
            root(&trace);
            for (unsigned k = 0; k < 2; k++) {
                add(&trace,
                    "{\"kind\":\"span_start\",\"id\":\"t%u\",\"parent_id\":\"r\",\"name\":\"twice\","
                    "\"start_ns\":1,\"span_kind\":\"function\"}",
                    k);
                add(&trace, "{\"kind\":\"span_end\",\"id\":\"t%u\",\"duration_ns\":1}", k);
            }
            if (fails)
                failed(&trace, 100);
            else
                complete(&trace, 100);
            json_t *packet = packet_of(&trace);
            assert_state(packet, "gpu_correlation", "invalid", "trace semantic labels");
            json_decref(packet);
        }
    struct buffer trace = {0};
    meta(&trace, (struct contract){.labels = "\"r\""});
    root(&trace);
    complete(&trace, 100);
    json_t *packet = packet_of(&trace);
    assert_state(packet, "gpu_correlation", "unavailable", "none");
    json_decref(packet);
}

static void binding_to_the_trace(void **state)
{
    (void)state;
    static const struct cg_text run = {"run", 3}, corr = {"corr", 4}, other = {"other", 5};
    static const struct {
        bool manifest;
        enum gpu_binding before;
        bool same_run, same_correlation;
        enum gpu_binding after;
        size_t diagnostics;
    } rows[] = {
        {false, GPU_PARTIAL, true, true, GPU_PARTIAL, 1},
        {false, GPU_MISMATCH, true, true, GPU_PARTIAL, 1},
        {true, GPU_PARTIAL, true, true, GPU_BOUND, 0},
        {true, GPU_MISMATCH, true, true, GPU_MISMATCH, 0},
        {true, GPU_PARTIAL, false, true, GPU_MISMATCH, 1},
        {true, GPU_PARTIAL, true, false, GPU_MISMATCH, 1},
        {true, GPU_PARTIAL, false, false, GPU_MISMATCH, 2},
        {true, GPU_MISMATCH, false, true, GPU_MISMATCH, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct gpu_evidence gpu = {.binding = rows[i].before};
        gpu.manifest.present = rows[i].manifest;
        gpu.manifest.run_id = rows[i].same_run ? run : other;
        gpu.manifest.correlation_id = rows[i].same_correlation ? corr : other;
        assert_true(gpu_bind(&gpu, run, corr));
        assert_int_equal(gpu.binding, rows[i].after);
        assert_int_equal(gpu.provenance_diagnostics.count, rows[i].diagnostics);
        if (rows[i].diagnostics == 2)
            assert_non_null(strstr(gpu.provenance_diagnostics.at[0].bytes, "run.id"));
        gpu_free(&gpu);
    }
}

static void gpu_object_without_a_directory(void **state)
{
    (void)state;
    struct buffer trace = {0};
    meta(&trace, nothing);
    root(&trace);
    complete(&trace, 100);
    json_t *packet = packet_of(&trace);
    json_t *gpu = json_object_get(packet, "gpu");
    assert_part(gpu, "status", "\"unavailable\"");
    assert_part(gpu, "source_csv", "[]");
    assert_part(gpu, "raw_report", "-");
    assert_part(gpu, "provenance.binding", "\"partial\"");
    assert_part(gpu, "provenance.manifest", "-");
    assert_int_equal(json_array_size(walk(packet, "gpu.provenance.diagnostics")), 2);
    assert_part(gpu, "coverage",
                "{\"kernel_summary\":false,\"runtime_summary\":false,\"memory_summary\":false,"
                "\"nvtx_projection\":false,\"gpu_timeline\":false}");
    assert_part(gpu, "correlation.mode", "\"none\"");
    assert_part(gpu, "correlation.ledger",
                "{\"expected\":[],\"observed\":[],\"matched\":[],\"missing_expected\":[],"
                "\"unexpected_observed\":[],\"duplicates\":[]}");
    assert_part(gpu, "limits", "{}");
    const char *key;
    json_t *value;
    char order[512] = "";
    json_object_foreach(gpu, key, value) strcat(strcat(order, key), " ");
    assert_string_equal(order,
                        "status reason source_csv provenance coverage correlation diagnostics limits kernels "
                        "runtime_calls memory_operations nvtx_ranges gpu_timeline phase_attribution ");
    json_decref(packet);
}

/* ---- 7 and 8 ---- */

static void findings_of_host_and_device(void **state)
{
    (void)state;
    struct buffer trace = {0};
    meta(&trace, nothing);
    measured(&trace, "r", NULL, 0, 3000000);
    span(&trace, "work", "r", 0, 2500000);
    interval(&trace, "work", "cuda:0", "c", 0, 1234567);
    complete(&trace, 3000000);
    json_t *packet = packet_of(&trace);
    assert_part(packet, "findings.0.code", "\"largest_observed_host_self_time\"");
    assert_part(packet, "findings.0.source", "\"work\"");
    assert_part(packet, "findings.0.requires", "[\"nested_host_time\"]");
    assert_part(packet, "findings.0.qualification", "\"complete\"");
    const char *summary = part(packet, "findings.0.summary");
    assert_true(strstr(summary, "work") && strstr(summary, "2.500 ms") &&
                strstr(summary, "measured_subtree"));
    assert_part(packet, "findings.1.code", "\"largest_observed_device_busy_time\"");
    assert_part(packet, "findings.1.source", "\"work\"");
    assert_part(packet, "findings.1.requires", "[\"nested_device_time\"]");
    assert_part(packet, "findings.1.qualification", "\"partial\"");
    summary = part(packet, "findings.1.summary");
    assert_true(strstr(summary, "work") && strstr(summary, "1.234 ms") && strstr(summary, "cuda:0"));
    json_decref(packet);
}

static void gaps_are_warnings_and_reasons_sorted_once(void **state)
{
    (void)state;
    struct buffer trace = {0};
    meta(&trace, (struct contract){.operations = "complete"});
    root(&trace);
    op(&trace, "r", "x", 0, 1, "", NULL);
    memory(&trace, "alloc", 1, "s", "r", 8, "");
    complete(&trace, 100);
    json_t *packet = packet_of(&trace);
    json_t *gaps = json_object_get(packet, "gaps"), *issue, *capability, *gap;
    size_t expected = 0, row;
    const char *member;
    /* Every warning and every reason of an incomplete state is among them, and nothing else. */
    json_t *texts = json_object();
    json_array_foreach(walk(packet, "health.issues"), row, issue)
    {
        assert_string_equal(json_string_value(json_object_get(issue, "severity")), "warning");
        json_object_set(texts, json_string_value(json_object_get(issue, "message")), json_true());
    }
    json_object_foreach(json_object_get(packet, "capabilities"), member, capability)
    {
        (void)member;
        if (strcmp(json_string_value(json_object_get(capability, "level")), "complete"))
            json_object_set(texts, json_string_value(json_object_get(capability, "reason")), json_true());
    }
    expected = json_object_size(texts);
    /* 3 absences and a retained storage; 4 planes unseen, memory partial, two of the GPU. */
    assert_int_equal(expected, 4 + 4 + 1 + 2);
    assert_int_equal(json_array_size(gaps), expected);
    json_array_foreach(gaps, row, gap)
    {
        assert_non_null(json_object_get(texts, json_string_value(gap)));
        if (row)
            assert_true(strcmp(json_string_value(json_array_get(gaps, row - 1)), json_string_value(gap)) < 0);
    }
    json_decref(texts);
    json_decref(packet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(coverage_of_what_was_declared_and_seen),
        cmocka_unit_test(times_of_a_complete_capture),
        cmocka_unit_test(failed_capture),
        cmocka_unit_test(invalid_capture),
        cmocka_unit_test(declared_but_empty),
        cmocka_unit_test(exact_gradients),
        cmocka_unit_test(gpu_states),
        cmocka_unit_test(gpu_failed_failed_and_invalid_captures),
        cmocka_unit_test(labels_come_before_the_reports),
        cmocka_unit_test(binding_to_the_trace),
        cmocka_unit_test(gpu_object_without_a_directory),
        cmocka_unit_test(findings_of_host_and_device),
        cmocka_unit_test(gaps_are_warnings_and_reasons_sorted_once),
    };
    return run_tap(tests);
}
