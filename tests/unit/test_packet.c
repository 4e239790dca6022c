/* The packet as a document: both orders, the run's metadata, u64 limits, and the Markdown report. */
#include "tests/unit/packet.h"

/* A trace in which every part of the packet has something in it. */
static void rich(struct buffer *trace)
{
    add(trace,
        "{\"kind\":\"meta\",\"schema\":\"candle-graph/trace/"
        "10\",\"run_id\":\"run|1\",\"correlation_id\":\"c\","
        "\"entrypoint\":\"a`b\",\"phase\":\"train\",\"timestamp\":\"t\",\"capture_step\":2,\"warmup_steps\":"
        "1,"
        "\"device\":\"cuda:0\\n\\u0007x\",\"timing_mode\":\"device_synchronized\",\"unknown\":{\"x\":[1]},"
        "\"capture_contract\":{\"measurement_scope\":\"production_equivalent\",\"operations\":\"partial\","
        "\"gradients\":\"complete\",\"gradient_contract\":{\"manifest_sha256\":\"no\","
        "\"expected\":[{\"root\":\"m\",\"key\":\"w\",\"family\":\"f\"}],\"families\":[{\"family\":\"f\","
        "\"expectation\":\"data_conditional\",\"min_present\":0}]},\"logical_memory\":\"complete\","
        "\"physical_memory\":\"none\",\"device_timing\":\"none\",\"required_semantic_labels\":[\"r\",\"a\"],"
        "\"gpu_expected_semantic_labels\":[\"a\"],\"cpu_only_semantic_labels\":[\"r\"]},"
        "\"comparison_identity\":{\"workload_id\":\"w\",\"model_id\":\"m\",\"config_id\":\"c\",\"data_id\":"
        "\"d\","
        "\"seed_policy\":\"s\",\"physical_batch\":1,\"accumulation_steps\":2,\"precision\":\"p\","
        "\"device_state\":\"x\",\"pair_id\":\"q\"},\"tags\":{\"z\":\"1\",\"a\":\"2\",\"z\":\"3\"},"
        "\"candle_version\":\"0.9\"}");
    measured(trace, "r", NULL, 0, 100);
    span(trace, "a", "r", 10, 20);
    op(trace, "a", "mm", 10, 5, "\"t\"", "u");
    add(trace, "{\"kind\":\"tensor\",\"span_id\":\"a\",\"tensor_id\":\"u\",\"shape\":[2],\"dtype\":\"f32\","
               "\"device\":\"cuda:0\",\"category\":\"activation\"}");
    add(trace,
        "{\"kind\":\"tensor_stats\",\"span_id\":\"a\",\"label\":\"loss\",\"shape\":[],\"dtype\":\"f32\","
        "\"elements\":1,\"non_finite\":0,\"rms\":1,\"abs_max\":1e300,\"mean\":-0.0}");
    memory(trace, "alloc", 10, "u", "a", 8, ",\"category\":\"activation\",\"op_name\":\"mm\"");
    memory(trace, "alloc", 12, "u2", "a", 1, "");
    memory(trace, "free", 20, "u2", "a", 1, "");
    add(trace, "{\"kind\":\"device_memory\",\"timestamp_ns\":1,\"device\":\"cuda:0\",\"used_bytes\":1}");
    interval(trace, "a", "cuda:0", "c", 0, 5);
    complete(trace, 100);
}

/* ---- order ---- */

static void assert_sorted(const json_t *tree)
{
    const char *key, *before = NULL;
    json_t *value;
    size_t row;
    if (json_is_array(tree)) {
        json_array_foreach((json_t *)(uintptr_t)tree, row, value) assert_sorted(value);
        return;
    }
    json_object_foreach((json_t *)(uintptr_t)tree, key, value)
    {
        if (before && strcmp(before, key) >= 0) fail_msg("%s stands before %s", before, key);
        before = key;
        assert_sorted(value);
    }
}

static void both_orders_say_the_same(void **state)
{
    (void)state;
    struct buffer trace = {0};
    rich(&trace);
    struct evidence *evidence = evidence_of(&trace);
    struct buffer declared = packet_text(evidence, DOC_PRETTY, DOC_DECLARED);
    struct buffer sorted = packet_text(evidence, DOC_PRETTY, DOC_SORTED);
    json_t *one = json_loadb(declared.at, declared.length, JSON_REJECT_DUPLICATES, NULL);
    json_t *other = json_loadb(sorted.at, sorted.length, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(one);
    assert_true(json_equal(one, other));
    assert_sorted(other);
    assert_memory_equal(declared.at,
                        "{\n  \"schema\": \"candle-graph/evidence/5\",\n  \"provenance\": {\n    \"", 63);
    assert_string_equal(declared.at + declared.length - 4, "}\n}\n");
    json_decref(one);
    json_decref(other);
    free(declared.at);
    free(sorted.at);
    evidence_drop(evidence);
}

static void assert_keys(const json_t *object, const char *expected)
{
    char keys[512] = "";
    const char *key;
    json_t *value;
    assert_true(json_is_object(object));
    json_object_foreach((json_t *)(uintptr_t)object, key, value) strcat(strcat(keys, key), " ");
    assert_string_equal(keys, expected);
}

static void declared_order_of_the_parts(void **state)
{
    (void)state;
    struct buffer trace = {0};
    rich(&trace);
    json_t *packet = packet_of(&trace);
    /* The gradient contract's digest is wrong, so there is no graph. */
    assert_keys(packet,
                "schema provenance health capabilities findings facts gaps tensor_stats timing memory "
                "activations gpu ");
    assert_keys(walk(packet, "health"), "structurally_valid capture_complete issues coverage ");
    assert_keys(walk(packet, "health.issues.0"), "severity code message ");
    assert_keys(walk(packet, "health.coverage"),
                "spans closed_spans root_spans measured_spans operations tensors memory_events "
                "device_memory_samples device_intervals gradients call_edges data_edges forward_spans "
                "backward_spans optimizer_spans ");
    assert_keys(walk(packet, "capabilities"),
                "structural_trace outer_wall_time nested_host_time nested_device_time operation_coverage "
                "tensor_coverage gradient_coverage logical_memory_coverage physical_memory_coverage "
                "gpu_correlation provenance_binding ");
    assert_keys(walk(packet, "timing"), "device_coverage device_spans device_clocks ");
    assert_keys(walk(packet, "timing.device_spans.0"),
                "span_id device clock_id backends streams interval_count busy_ns ");
    assert_keys(walk(packet, "memory"), "logical physical ");
    assert_keys(walk(packet, "memory.logical"),
                "storage_allocation_count matched_storage_free_count total_allocated_bytes peak timeline "
                "lifetimes by_device ");
    assert_keys(walk(packet, "memory.logical.peak"),
                "timestamp_ns live_bytes live_bytes_by_device live_bytes_by_category live_allocations ");
    assert_part(
        packet, "memory.logical.peak.live_allocations.0",
        "{\"device\":\"cpu\",\"storage_id\":\"u\",\"tensor_ids\":[\"u\"],\"allocation_span_id\":\"a\","
        "\"op_name\":\"mm\",\"bytes\":8,\"shape\":[],\"dtype\":\"u8\",\"category\":\"activation\","
        "\"start_timestamp_ns\":10}");
    assert_part(
        packet, "memory.logical.lifetimes.1",
        "{\"device\":\"cpu\",\"storage_id\":\"u2\",\"tensor_ids\":[\"u2\"],\"allocation_span_id\":\"a\","
        "\"op_name\":null,\"bytes\":1,\"shape\":[],\"dtype\":\"u8\",\"category\":\"other\","
        "\"start_timestamp_ns\":12,\"end_timestamp_ns\":20}");
    assert_part(packet, "memory.logical.timeline.0",
                "{\"timestamp_ns\":10,\"live_bytes\":8,\"live_bytes_by_device\":{\"cpu\":8},"
                "\"live_bytes_by_category\":{\"activation\":8}}");
    assert_keys(walk(packet, "memory.physical"), "timeline by_device ");
    assert_part(packet, "memory.physical.by_device.0",
                "{\"device\":\"cuda:0\",\"sample_count\":1,\"used_sample_count\":1,\"free_sample_count\":0,"
                "\"reserved_sample_count\":0,\"capacity_sample_count\":0,\"peak_used_bytes\":1,"
                "\"peak_used_timestamp_ns\":1}");
    assert_part(packet, "tensor_stats.0",
                "{\"span_id\":\"a\",\"label\":\"loss\",\"shape\":[],\"dtype\":\"f32\",\"elements\":1,"
                "\"non_finite\":0,\"rms\":1.0,\"abs_max\":1.0000000000000001e300,\"mean\":-0.0}");
    json_decref(packet);
}

/* ---- provenance ---- */

static void provenance_is_the_metadata_again(void **state)
{
    (void)state;
    struct buffer trace = {0};
    rich(&trace);
    json_t *packet = packet_of(&trace);
    assert_part(
        packet, "provenance",
        "{\"run_id\":\"run|1\",\"correlation_id\":\"c\",\"entrypoint\":\"a`b\",\"phase\":\"train\","
        "\"timestamp\":\"t\",\"capture_step\":2,\"warmup_steps\":1,\"device\":\"cuda:0\\n\\u0007x\","
        "\"measured_region_device_synchronized\":false,\"timing_mode\":\"device_synchronized\","
        "\"capture_contract\":{\"measurement_scope\":\"production_equivalent\",\"operations\":\"partial\","
        "\"activations\":\"none\",\"tensors\":\"none\",\"gradients\":\"complete\",\"gradient_contract\":{"
        "\"manifest_sha256\":\"no\",\"expected\":[{\"root\":\"m\",\"key\":\"w\",\"family\":\"f\"}],"
        "\"families\":[{\"family\":\"f\",\"expectation\":\"data_conditional\",\"min_present\":0}]},"
        "\"logical_memory\":\"complete\",\"physical_memory\":\"none\",\"device_timing\":\"none\","
        "\"required_semantic_labels\":[\"r\",\"a\"],\"gpu_expected_semantic_labels\":[\"a\"],"
        "\"cpu_only_semantic_labels\":[\"r\"]},\"comparison_identity\":{\"workload_id\":\"w\","
        "\"model_id\":\"m\",\"config_id\":\"c\",\"data_id\":\"d\",\"seed_policy\":\"s\",\"physical_batch\":1,"
        "\"accumulation_steps\":2,\"precision\":\"p\",\"device_state\":\"x\",\"pair_id\":\"q\"},"
        "\"tags\":{\"a\":\"2\",\"z\":\"3\"},\"candle_version\":\"0.9\"}");
    json_decref(packet);
    /* Left out when there is nothing: lists of classes, contract of gradients, identity, version. */
    meta(&trace, (struct contract){0});
    complete(&trace, 1);
    packet = packet_of(&trace);
    assert_keys(walk(packet, "provenance.capture_contract"),
                "measurement_scope operations activations tensors gradients logical_memory physical_memory "
                "device_timing required_semantic_labels ");
    assert_keys(walk(packet, "provenance"),
                "run_id correlation_id entrypoint phase timestamp capture_step warmup_steps device "
                "measured_region_device_synchronized timing_mode capture_contract tags ");
    assert_part(packet, "provenance.capture_contract.required_semantic_labels", "[]");
    assert_part(packet, "memory", "{}");
    json_decref(packet);
}

static json_t *bounded(struct buffer *trace)
{
    struct evidence *evidence = evidence_of(trace);
    struct buffer text = {0};
    struct json_doc *doc = doc_start(DOC_COMPACT, DOC_SORTED, to_buffer, &text);
    emit_provenance_bounded(doc, evidence);
    assert_int_equal(doc_finish(doc), 0);
    json_t *tree = json_loadb(text.at, text.length, JSON_REJECT_DUPLICATES, NULL);
    free(text.at);
    evidence_drop(evidence);
    return tree;
}

static void bounded_provenance(void **state)
{
    (void)state;
    for (unsigned count = 20; count < 22; count++) {
        struct buffer trace = {0}, labels = {0};
        for (unsigned i = 0; i < count; i++)
            labels.length += (size_t)sprintf((labels.at = realloc(labels.at, 4096)) + labels.length,
                                             "%s\"l%02u\"", i ? "," : "", i);
        meta(&trace, (struct contract){.labels = labels.at});
        free(labels.at);
        complete(&trace, 1);
        json_t *tree = bounded(&trace);
        json_t *list = walk(tree, "capture_contract.required_semantic_labels");
        if (count == 20) {
            assert_int_equal(json_array_size(list), 20);
        } else {
            assert_keys(list, "displayed rows total truncated ");
            assert_part(list, "displayed", "20");
            assert_part(list, "total", "21");
            assert_part(list, "truncated", "true");
            assert_part(list, "rows.19", "\"l19\"");
            assert_int_equal(json_array_size(walk(list, "rows")), 20);
        }
        json_decref(tree);
    }
    /* 4095 bytes and a character of two: cut before it. */
    char *tag = calloc(1, 5000);
    memset(tag, 'x', 4095);
    strcat(tag, "\xc3\xa9y");
    struct buffer trace = {0};
    add(&trace,
        "{\"kind\":\"meta\",\"schema\":\"candle-graph/trace/10\",\"run_id\":\"r\",\"correlation_id\":\"c\","
        "\"entrypoint\":\"e\",\"phase\":\"infer\",\"timestamp\":\"t\",\"capture_step\":1,\"warmup_steps\":0,"
        "\"device\":\"cpu\",\"timing_mode\":\"host\",\"capture_contract\":{\"measurement_scope\":\"unknown\","
        "\"operations\":\"none\",\"logical_memory\":\"none\",\"physical_memory\":\"none\","
        "\"device_timing\":\"none\"},\"tags\":{\"k\":\"%s\",\"l\":\"%.4096s\"}}",
        tag, "short");
    complete(&trace, 1);
    json_t *tree = bounded(&trace);
    const char *cut = json_string_value(walk(tree, "tags.k"));
    assert_int_equal(strlen(cut), 4095 + 3);
    assert_string_equal(cut + 4095, "\xe2\x80\xa6");
    assert_part(tree, "tags.l", "\"short\"");
    json_decref(tree);
    free(tag);
}

static void integers_in_full(void **state)
{
    (void)state;
    struct buffer trace = {0};
    meta(&trace, (struct contract){0});
    measured(&trace, "r", NULL, 0, UINT64_MAX);
    memory(&trace, "alloc", 1, "s", "r", UINT64_MAX, "");
    memory(&trace, "alloc", 1, "t", "r", UINT64_MAX, "");
    complete(&trace, UINT64_MAX);
    struct evidence *evidence = evidence_of(&trace);
    struct buffer text = packet_text(evidence, DOC_COMPACT, DOC_DECLARED);
    /* Sums are clamped, never wrapped. */
    assert_non_null(strstr(text.at, "\"total_allocated_bytes\":18446744073709551615,"));
    assert_non_null(strstr(text.at, "\"live_bytes\":18446744073709551615,"));
    assert_non_null(strstr(text.at, "\"live_bytes_by_device\":{\"cpu\":18446744073709551615}"));
    assert_non_null(strstr(text.at, "\"outer_wall_time_ns\":18446744073709551615,"));
    free(text.at);
    evidence_drop(evidence);
}

/* ---- report ---- */

static struct buffer report_of(struct buffer *trace)
{
    struct evidence *evidence = evidence_of(trace);
    struct buffer text = {0};
    assert_int_equal(write_report_markdown(evidence, to_buffer, &text), 0);
    evidence_drop(evidence);
    return text;
}

static void assert_has(const struct buffer *text, const char *expected)
{
    if (!strstr(text->at, expected)) fail_msg("%s is not in:\n%s", expected, text->at);
}

static void report_of_an_invalid_trace(void **state)
{
    (void)state;
    struct buffer trace = {0};
    rich(&trace);
    struct buffer text = report_of(&trace);
    /* Backticks lengthen the fence, controls become one blank, a pipe is plain outside tables. */
    assert_has(&text, "# cg-analyze evidence report\n\n- status: **STRUCTURALLY INVALID**\n"
                      "- entrypoint: `` a`b ``\n- run id: `run|1`\n- phase: `train`\n- device: `cuda:0 x`\n\n"
                      "## Capability matrix\n\n| Capability | Level | Source | Reason |\n|---|---|---|---|\n"
                      "| structural trace | `Invalid` | `candle-graph/trace/10 validation` | ");
    assert_has(&text, "\n## Qualified findings\n\nThere are none.\n");
    assert_has(&text, "\n## Evidence gaps\n\n- ");
    /* The parts in their order, eleven rows in the matrix. */
    assert_true(strstr(text.at, "## Capability") < strstr(text.at, "## Qualified"));
    assert_true(strstr(text.at, "## Qualified") < strstr(text.at, "## Evidence gaps"));
    static const char *const rows[] = {"structural trace",   "outer wall time",   "measured-scope host time",
                                       "nested device time", "operations",        "tensors",
                                       "gradients",          "logical memory",    "physical memory",
                                       "GPU correlation",    "provenance binding"};
    const char *from = text.at;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char row[64];
        snprintf(row, sizeof row, "\n| %s | `", rows[i]);
        from = strstr(from, row);
        assert_non_null(from);
    }
    free(text.at);
}

static void report_of_a_complete_capture(void **state)
{
    (void)state;
    struct buffer trace = {0};
    meta(&trace, (struct contract){0});
    measured(&trace, "r", NULL, 0, 1500000);
    complete(&trace, 1500000);
    struct buffer text = report_of(&trace);
    assert_has(&text, "- status: **COMPLETE CAPTURE**\n");
    assert_has(&text, "\n## Qualified findings\n\n- `Complete` \"r\" has the largest host self time");
    assert_has(&text, " (requires `NestedHostTime`)\n");
    assert_has(&text, "\n## Facts\n\n| Fact | Value | Capability |\n|---|---|---|\n"
                      "| Wall time of the measured region | `1500000 ns` | outer wall time `Complete` |\n");
    free(text.at);
    meta(&trace, (struct contract){0});
    failed(&trace, 5);
    text = report_of(&trace);
    assert_has(&text, "- status: **STRUCTURALLY INVALID**\n");
    free(text.at);
    meta(&trace, (struct contract){0});
    span(&trace, "r", NULL, 0, 5);
    failed(&trace, 5);
    text = report_of(&trace);
    assert_has(&text, "- status: **FAILED CAPTURE**\n");
    free(text.at);
}

/* ---- activations ---- */

/* An op of its own span of kind op, whose storage lives on: the specification's byte-nanoseconds. */
static void activation(struct buffer *trace)
{
    meta(trace,
         (struct contract){.activations = "complete", .logical = "complete", .device_timing = "complete"});
    measured(trace, "m", NULL, 0, 10000000000);
    span_of(trace, "k", "m", 0, 50, "op", false);
    op(trace, "k", "mm|x", 0, 7, "", "t");
    interval(trace, "k", "cuda:0", "c", 3, 9);
    memory(trace, "alloc", 0, "t", "k", 1ull << 40, ",\"category\":\"activation\"");
    complete(trace, 10000000000);
}

static void activation_operation_in_full(void **state)
{
    (void)state;
    struct buffer trace = {0};
    activation(&trace);
    json_t *packet = packet_of(&trace);
    assert_keys(walk(packet, "activations"),
                "definition coverage host_time device_time dense_output logical_memory "
                "physical_memory_attribution unattributed_activation_storages operations ");
    assert_part(
        packet, "activations.operations",
        "[{\"id\":\"k\",\"span_id\":\"k\",\"op_index\":0,\"name\":\"mm|x\",\"output_tensor_id\":\"t\","
        "\"shape\":[2],\"dtype\":\"f32\",\"device\":\"cpu\",\"observed_host_duration_ns\":7,"
        "\"device_timings\":[{\"device\":\"cuda:0\",\"clock_id\":\"c\",\"backends\":[\"events\"],"
        "\"streams\":[\"7\"],\"interval_count\":1,\"busy_ns\":9}],\"dense_output_bytes\":8,"
        "\"logical_allocated_bytes\":1099511627776,\"logical_storage_count\":1,"
        "\"logical_storage_live_duration_ns\":10000000000,"
        "\"logical_byte_nanoseconds\":\"10995116277760000000000\","
        "\"logical_retained_bytes_at_measured_end\":1099511627776,"
        "\"classification_sources\":[\"logical_storage\"]}]");
    assert_part(packet, "activations.unattributed_activation_storages", "0");
    assert_part(packet, "activations.coverage.level", "\"complete\"");
    assert_part(packet, "activations.physical_memory_attribution.source", "\"none\"");
    json_decref(packet);
}

static void report_of_activations(void **state)
{
    (void)state;
    struct buffer trace = {0};
    activation(&trace);
    struct buffer text = report_of(&trace);
    assert_has(&text, "\n## Activations\n\n| State | Level | Source | Reason |\n|---|---|---|---|\n| ");
    assert_has(&text, "`mm|x` (`k`): 7 ns\n");
    assert_has(&text, "on `cuda:0`, clock `c`: `mm|x` (`k`): 9 ns\n");
    assert_has(&text, "`mm|x` (`k`): 10995116277760000000000 byte ns\n");
    assert_true(strstr(text.at, "## Facts") < strstr(text.at, "## Activations"));
    assert_true(strstr(text.at, "## Activations") < strstr(text.at, "## Evidence gaps"));
    free(text.at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_orders_say_the_same),
        cmocka_unit_test(declared_order_of_the_parts),
        cmocka_unit_test(provenance_is_the_metadata_again),
        cmocka_unit_test(bounded_provenance),
        cmocka_unit_test(integers_in_full),
        cmocka_unit_test(report_of_an_invalid_trace),
        cmocka_unit_test(report_of_a_complete_capture),
        cmocka_unit_test(activation_operation_in_full),
        cmocka_unit_test(report_of_activations),
    };
    return run_tap(tests);
}
