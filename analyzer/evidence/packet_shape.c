#include "analyzer/evidence/packet_shape.h"

#include "analyzer/evidence/evidence.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* Types of members. */
static const struct shape_type string_type = {SHAPE_STRING, NULL}, u64_type = {SHAPE_U64, NULL};
#define STRING                                                                                               \
    {                                                                                                        \
        SHAPE_STRING, NULL                                                                                   \
    }
#define U64                                                                                                  \
    {                                                                                                        \
        SHAPE_U64, NULL                                                                                      \
    }
#define F64                                                                                                  \
    {                                                                                                        \
        SHAPE_F64, NULL                                                                                      \
    }
#define BOOL                                                                                                 \
    {                                                                                                        \
        SHAPE_BOOL, NULL                                                                                     \
    }
#define DECIMAL                                                                                              \
    {                                                                                                        \
        SHAPE_DECIMAL, NULL                                                                                  \
    }
#define NODE_KIND                                                                                            \
    {                                                                                                        \
        SHAPE_OPEN_ENUM, node_words                                                                          \
    }
#define WORD(words)                                                                                          \
    {                                                                                                        \
        SHAPE_ENUM, words                                                                                    \
    }
#define OBJECT(shape)                                                                                        \
    {                                                                                                        \
        SHAPE_OBJECT, &shape                                                                                 \
    }
#define STRINGS                                                                                              \
    {                                                                                                        \
        SHAPE_LIST, &string_type                                                                             \
    }
#define U64S                                                                                                 \
    {                                                                                                        \
        SHAPE_LIST, &u64_type                                                                                \
    }
#define LIST(type)                                                                                           \
    {                                                                                                        \
        SHAPE_LIST, &type                                                                                    \
    }
#define MAP(type)                                                                                            \
    {                                                                                                        \
        SHAPE_MAP, &type                                                                                     \
    }

/* Members. */
#define REQUIRED(name, type)                                                                                 \
    {                                                                                                        \
        name, type, SHAPE_REQUIRED, NULL                                                                     \
    }
#define DEFAULT(name, type, initial)                                                                         \
    {                                                                                                        \
        name, type, SHAPE_DEFAULT, initial                                                                   \
    }
#define OMITTED(name, type)                                                                                  \
    {                                                                                                        \
        name, type, SHAPE_OMITTED, NULL                                                                      \
    }
#define EMPTY(name, type)                                                                                    \
    {                                                                                                        \
        name, type, SHAPE_EMPTY, NULL                                                                        \
    }
#define NULLABLE(name, type)                                                                                 \
    {                                                                                                        \
        name, type, SHAPE_NULLABLE, NULL                                                                     \
    }

/* Defines shape_<name> from its members. */
#define SHAPE(name, ...)                                                                                     \
    static const struct shape_field name##_fields[] = {__VA_ARGS__};                                         \
    static const struct shape shape_##name = {name##_fields, COUNT_OF(name##_fields)};
/* And its type, for lists and for other files. */
#define LISTED(name, ...)                                                                                    \
    SHAPE(name, __VA_ARGS__)                                                                                 \
    static const struct shape_type name##_type = OBJECT(shape_##name);
#define EXPORTED(name, ...)                                                                                  \
    SHAPE(name, __VA_ARGS__)                                                                                 \
    const struct shape_type shape_of_##name = OBJECT(shape_##name);

/* Defaults, with the padding that the scanner wants. */
static const char no_list[JSON_PADDING + 4] = "[]\n", no_map[JSON_PADDING + 4] = "{}\n",
                                         is_false[JSON_PADDING + 8] = "false\n",
                                         none[JSON_PADDING + 8] = "\"none\"\n";
static const char not_recorded[JSON_PADDING + 128] =
    "{\"level\":\"unavailable\",\"source\":\"none\",\"reason\":\"not recorded\"}\n";

/* Words, from the event table where they are the trace's. */
#define EVENT_WORD(name, suffix, wire) wire,
static const char *const coverage_words[] = {CG_COVERAGE_VALUES(EVENT_WORD) NULL};
static const char *const category_words[] = {CG_CATEGORY_VALUES(EVENT_WORD) NULL};
static const char *const gradient_words[] = {CG_GRADIENT_STATE_VALUES(EVENT_WORD) NULL};
static const char *const phase_words[] = {CG_PHASE_VALUES(EVENT_WORD) NULL};
static const char *const timing_mode_words[] = {CG_TIMING_MODE_VALUES(EVENT_WORD) NULL};
static const char *const scope_words[] = {CG_SCOPE_VALUES(EVENT_WORD) NULL};
static const char *const expectation_words[] = {CG_EXPECTATION_VALUES(EVENT_WORD) NULL};
static const char *const level_words[] = {"unavailable", "partial", "complete", "invalid", NULL};
static const char *const severity_words[] = {"error", "warning", NULL};
static const char *const host_scope_words[] = {"measured_subtree", "concurrent_overlap", NULL};
static const char *const edge_words[] = {"call", "data", NULL};
static const char *const fact_words[] = {"duration_ns", "bytes", "count", "text", NULL};
static const char *const source_words[] = {"tensor_output", "logical_storage", NULL};
static const char *const join_key_words[] = {"correlation_id", "device", "context", "stream", NULL};
/* The last stands for every other word. */
static const char *const node_words[] = {"root", "function", "module", "op", "tensor", "other", NULL};
static const char *const status_words[] = {"available", "unavailable", "failed", NULL};
static const char *const binding_words[] = {"bound", "partial", "mismatch", NULL};
#define KIND_WORD(constant, member, kind, spelling, row) kind,
static const char *const capability_words[] = {CAPABILITIES(KIND_WORD) NULL};
static const struct shape_type capability_kind_type = WORD(capability_words),
                               source_type = WORD(source_words), join_key_type = WORD(join_key_words);

/* ---- run ---- */

LISTED(gradient_entry, REQUIRED("root", STRING), REQUIRED("key", STRING), REQUIRED("family", STRING))
LISTED(gradient_family, REQUIRED("family", STRING), REQUIRED("expectation", WORD(expectation_words)),
       REQUIRED("min_present", U64))
SHAPE(gradient_contract, REQUIRED("manifest_sha256", STRING), REQUIRED("expected", LIST(gradient_entry_type)),
      REQUIRED("families", LIST(gradient_family_type)))
SHAPE(capture_contract, REQUIRED("measurement_scope", WORD(scope_words)),
      REQUIRED("operations", WORD(coverage_words)), DEFAULT("activations", WORD(coverage_words), none),
      DEFAULT("tensors", WORD(coverage_words), none), DEFAULT("gradients", WORD(coverage_words), none),
      OMITTED("gradient_contract", OBJECT(shape_gradient_contract)),
      REQUIRED("logical_memory", WORD(coverage_words)), REQUIRED("physical_memory", WORD(coverage_words)),
      REQUIRED("device_timing", WORD(coverage_words)), DEFAULT("required_semantic_labels", STRINGS, no_list),
      EMPTY("gpu_expected_semantic_labels", STRINGS), EMPTY("cpu_only_semantic_labels", STRINGS))
SHAPE(identity, OMITTED("implementation_id", STRING), REQUIRED("workload_id", STRING),
      REQUIRED("model_id", STRING), REQUIRED("config_id", STRING), REQUIRED("data_id", STRING),
      REQUIRED("seed_policy", STRING), REQUIRED("physical_batch", U64), REQUIRED("accumulation_steps", U64),
      REQUIRED("precision", STRING), REQUIRED("device_state", STRING), OMITTED("pair_id", STRING))
EXPORTED(provenance, REQUIRED("run_id", STRING), REQUIRED("correlation_id", STRING),
         REQUIRED("entrypoint", STRING), REQUIRED("phase", WORD(phase_words)), REQUIRED("timestamp", STRING),
         REQUIRED("capture_step", U64), REQUIRED("warmup_steps", U64), REQUIRED("device", STRING),
         DEFAULT("measured_region_device_synchronized", BOOL, is_false),
         REQUIRED("timing_mode", WORD(timing_mode_words)),
         REQUIRED("capture_contract", OBJECT(shape_capture_contract)),
         OMITTED("comparison_identity", OBJECT(shape_identity)), REQUIRED("tags", MAP(string_type)),
         OMITTED("candle_version", STRING))

/* ---- health, capabilities, findings, facts ---- */

LISTED(issue, REQUIRED("severity", WORD(severity_words)), REQUIRED("code", STRING),
       REQUIRED("message", STRING))
#define COVERAGE_FIELD(name) REQUIRED(#name, U64),
static const struct shape_field health_coverage_fields[] = {HEALTH_COVERAGE(COVERAGE_FIELD)};
static const struct shape shape_health_coverage = {health_coverage_fields, COUNT_OF(health_coverage_fields)};
EXPORTED(health, REQUIRED("structurally_valid", BOOL), REQUIRED("capture_complete", BOOL),
         REQUIRED("issues", LIST(issue_type)), REQUIRED("coverage", OBJECT(shape_health_coverage)))

EXPORTED(activation_state, REQUIRED("level", WORD(level_words)), REQUIRED("source", STRING),
         REQUIRED("reason", STRING))
#define STATE OBJECT(shape_activation_state)
EXPORTED(capabilities, REQUIRED("structural_trace", STATE), REQUIRED("outer_wall_time", STATE),
         REQUIRED("nested_host_time", STATE), REQUIRED("nested_device_time", STATE),
         REQUIRED("operation_coverage", STATE), DEFAULT("tensor_coverage", STATE, not_recorded),
         DEFAULT("gradient_coverage", STATE, not_recorded), REQUIRED("logical_memory_coverage", STATE),
         REQUIRED("physical_memory_coverage", STATE), REQUIRED("gpu_correlation", STATE),
         REQUIRED("provenance_binding", STATE))

LISTED(finding, REQUIRED("code", STRING), REQUIRED("summary", STRING), REQUIRED("source", STRING),
       REQUIRED("requires", LIST(capability_kind_type)), REQUIRED("qualification", WORD(level_words)))
static const struct shape_field fact_number_fields[] = {REQUIRED("kind", WORD(fact_words)),
                                                        REQUIRED("value", U64)},
                                fact_text_fields[] = {REQUIRED("kind", WORD(fact_words)),
                                                      REQUIRED("value", STRING)};
/* One for each word of the kind. */
static const struct shape fact_shapes[] = {
    {fact_number_fields, 2}, {fact_number_fields, 2}, {fact_number_fields, 2}, {fact_text_fields, 2}};
static const struct shape_variant fact_value = {"kind", fact_words, fact_shapes};
#define FACT_VALUE                                                                                           \
    {                                                                                                        \
        SHAPE_VARIANT, &fact_value                                                                           \
    }
LISTED(fact, REQUIRED("code", STRING), REQUIRED("label", STRING), REQUIRED("value", FACT_VALUE),
       REQUIRED("source", STRING), REQUIRED("capability", WORD(capability_words)))

/* ---- graph ---- */

LISTED(node_timing, REQUIRED("device", STRING), REQUIRED("clock_id", STRING), REQUIRED("busy_ns", U64))
EXPORTED(node, REQUIRED("id", STRING), NULLABLE("parent_id", STRING), REQUIRED("name", STRING),
         REQUIRED("kind", NODE_KIND), REQUIRED("start_ns", U64), REQUIRED("host_self_time_ns", U64),
         REQUIRED("host_total_time_ns", U64), EMPTY("device_timings", LIST(node_timing_type)),
         OMITTED("shape", U64S), OMITTED("dtype", STRING), OMITTED("device", STRING),
         OMITTED("allocated_bytes", U64), OMITTED("peak_live_bytes", U64), OMITTED("residual_bytes", U64),
         OMITTED("dense_bytes", U64))
static const struct shape_field call_fields[] = {REQUIRED("kind", WORD(edge_words)),
                                                 REQUIRED("from_span", STRING), REQUIRED("to_span", STRING),
                                                 REQUIRED("host_duration_ns", U64), OMITTED("label", STRING)},
                                data_fields[] = {REQUIRED("kind", WORD(edge_words)),
                                                 REQUIRED("from_tensor", STRING),
                                                 REQUIRED("to_tensor", STRING), OMITTED("label", STRING)};
static const struct shape edge_shapes[] = {{call_fields, COUNT_OF(call_fields)},
                                           {data_fields, COUNT_OF(data_fields)}};
static const struct shape_variant edge_variant = {"kind", edge_words, edge_shapes};
const struct shape_type shape_of_edge = {SHAPE_VARIANT, &edge_variant};
EXPORTED(tensor, REQUIRED("span_id", STRING), REQUIRED("tensor_id", STRING), OMITTED("label", STRING),
         REQUIRED("shape", U64S), REQUIRED("dtype", STRING), REQUIRED("device", STRING),
         REQUIRED("requires_grad", BOOL), OMITTED("dense_bytes", U64),
         REQUIRED("category", WORD(category_words)))
EXPORTED(gradient, REQUIRED("root", STRING), REQUIRED("key", STRING), REQUIRED("state", WORD(gradient_words)),
         OMITTED("norm", F64))
EXPORTED(tensor_stats, REQUIRED("span_id", STRING), REQUIRED("label", STRING), REQUIRED("shape", U64S),
         REQUIRED("dtype", STRING), REQUIRED("elements", U64), REQUIRED("non_finite", U64),
         REQUIRED("rms", F64), REQUIRED("abs_max", F64), REQUIRED("mean", F64))
EXPORTED(host_cost, REQUIRED("id", STRING), REQUIRED("name", STRING),
         REQUIRED("scope", WORD(host_scope_words)), REQUIRED("host_self_time_ns", U64),
         REQUIRED("measured_overlap_self_time_ns", U64), REQUIRED("full_duration_ns", U64),
         REQUIRED("measured_overlap_duration_ns", U64))
EXPORTED(device_cost, REQUIRED("id", STRING), REQUIRED("name", STRING), REQUIRED("device", STRING),
         REQUIRED("clock_id", STRING), REQUIRED("device_busy_ns", U64))
EXPORTED(heavy_span, REQUIRED("id", STRING), REQUIRED("name", STRING), REQUIRED("allocated_bytes", U64),
         NULLABLE("peak_live_bytes", U64))
EXPORTED(graph_summary, REQUIRED("entrypoint", STRING), REQUIRED("outer_wall_time_ns", U64),
         REQUIRED("slowest_host_spans", LIST(shape_of_host_cost)),
         REQUIRED("slowest_device_spans", LIST(shape_of_device_cost)),
         REQUIRED("heaviest_spans", LIST(shape_of_heavy_span)))
static const char *const graph_schema_words[] = {EVIDENCE_GRAPH_SCHEMA, NULL};
EXPORTED(graph, REQUIRED("schema", WORD(graph_schema_words)), REQUIRED("spans", LIST(shape_of_node)),
         REQUIRED("edges", LIST(shape_of_edge)), REQUIRED("tensors", LIST(shape_of_tensor)),
         REQUIRED("gradients", LIST(shape_of_gradient)), REQUIRED("summary", OBJECT(shape_graph_summary)))

/* ---- timing and memory ---- */

LISTED(timing_span, REQUIRED("span_id", STRING), REQUIRED("device", STRING), REQUIRED("clock_id", STRING),
       REQUIRED("backends", STRINGS), REQUIRED("streams", STRINGS), REQUIRED("interval_count", U64),
       REQUIRED("busy_ns", U64))
LISTED(timing_clock, REQUIRED("device", STRING), REQUIRED("clock_id", STRING),
       REQUIRED("interval_count", U64), REQUIRED("busy_ns", U64))
EXPORTED(timing, REQUIRED("device_coverage", WORD(coverage_words)),
         REQUIRED("device_spans", LIST(timing_span_type)), REQUIRED("device_clocks", LIST(timing_clock_type)))

LISTED(lifetime, REQUIRED("device", STRING), REQUIRED("storage_id", STRING), REQUIRED("tensor_ids", STRINGS),
       REQUIRED("allocation_span_id", STRING), NULLABLE("op_name", STRING), REQUIRED("bytes", U64),
       REQUIRED("shape", U64S), REQUIRED("dtype", STRING), REQUIRED("category", WORD(category_words)),
       REQUIRED("start_timestamp_ns", U64), OMITTED("end_timestamp_ns", U64))
LISTED(point, REQUIRED("timestamp_ns", U64), REQUIRED("live_bytes", U64),
       REQUIRED("live_bytes_by_device", MAP(u64_type)), REQUIRED("live_bytes_by_category", MAP(u64_type)))
SHAPE(peak, REQUIRED("timestamp_ns", U64), REQUIRED("live_bytes", U64),
      REQUIRED("live_bytes_by_device", MAP(u64_type)), REQUIRED("live_bytes_by_category", MAP(u64_type)),
      REQUIRED("live_allocations", LIST(lifetime_type)))
LISTED(memory_device, REQUIRED("device", STRING), REQUIRED("storage_allocation_count", U64),
       REQUIRED("matched_storage_free_count", U64), REQUIRED("total_allocated_bytes", U64),
       OMITTED("peak_live_bytes", U64), OMITTED("peak_timestamp_ns", U64))
SHAPE(logical, REQUIRED("storage_allocation_count", U64), REQUIRED("matched_storage_free_count", U64),
      REQUIRED("total_allocated_bytes", U64), OMITTED("peak", OBJECT(shape_peak)),
      REQUIRED("timeline", LIST(point_type)), REQUIRED("lifetimes", LIST(lifetime_type)),
      REQUIRED("by_device", LIST(memory_device_type)))
LISTED(sample, REQUIRED("timestamp_ns", U64), REQUIRED("device", STRING), OMITTED("used_bytes", U64),
       OMITTED("free_bytes", U64), OMITTED("reserved_bytes", U64), OMITTED("capacity_bytes", U64))
LISTED(sampled_device, REQUIRED("device", STRING), REQUIRED("sample_count", U64),
       REQUIRED("used_sample_count", U64), REQUIRED("free_sample_count", U64),
       REQUIRED("reserved_sample_count", U64), REQUIRED("capacity_sample_count", U64),
       OMITTED("peak_used_bytes", U64), OMITTED("peak_used_timestamp_ns", U64),
       OMITTED("peak_reserved_bytes", U64), OMITTED("peak_reserved_timestamp_ns", U64),
       OMITTED("minimum_free_bytes", U64), OMITTED("minimum_free_timestamp_ns", U64),
       OMITTED("maximum_observed_capacity_bytes", U64))
SHAPE(physical, REQUIRED("timeline", LIST(sample_type)), REQUIRED("by_device", LIST(sampled_device_type)))
EXPORTED(memory, OMITTED("logical", OBJECT(shape_logical)), OMITTED("physical", OBJECT(shape_physical)))

/* ---- activations ---- */

LISTED(activation_timing, REQUIRED("device", STRING), REQUIRED("clock_id", STRING),
       REQUIRED("backends", STRINGS), REQUIRED("streams", STRINGS), REQUIRED("interval_count", U64),
       REQUIRED("busy_ns", U64))
EXPORTED(activation_operation, REQUIRED("id", STRING), REQUIRED("span_id", STRING), REQUIRED("op_index", U64),
         REQUIRED("name", STRING), OMITTED("output_tensor_id", STRING), REQUIRED("shape", U64S),
         REQUIRED("dtype", STRING), REQUIRED("device", STRING), REQUIRED("observed_host_duration_ns", U64),
         REQUIRED("device_timings", LIST(activation_timing_type)), OMITTED("dense_output_bytes", U64),
         OMITTED("logical_allocated_bytes", U64), OMITTED("logical_storage_count", U64),
         OMITTED("logical_storage_live_duration_ns", U64), OMITTED("logical_byte_nanoseconds", DECIMAL),
         OMITTED("logical_retained_bytes_at_measured_end", U64),
         REQUIRED("classification_sources", LIST(source_type)))
#define ACTIVATION_STATE_FIELD(name) REQUIRED(#name, STATE),
static const struct shape_field activations_fields[] = {
    REQUIRED("definition", STRING),
    ACTIVATION_STATES(ACTIVATION_STATE_FIELD) REQUIRED("unattributed_activation_storages", U64),
    REQUIRED("operations", LIST(shape_of_activation_operation))};
static const struct shape shape_activations = {activations_fields, COUNT_OF(activations_fields)};
const struct shape_type shape_of_activations = OBJECT(shape_activations);

/* ---- GPU (doc/spec/nsight.md 3, 6 to 11) ---- */

LISTED(artifact, REQUIRED("path", STRING), REQUIRED("size_bytes", U64), REQUIRED("sha256", STRING))
SHAPE(manifest_run, REQUIRED("id", STRING), OMITTED("started_at", STRING))
SHAPE(manifest_correlation, REQUIRED("id", STRING))
SHAPE(manifest_tool, REQUIRED("name", STRING), REQUIRED("version", STRING))
SHAPE(manifest_hardware, OMITTED("host", STRING), DEFAULT("devices", STRINGS, no_list))
EXPORTED(manifest, REQUIRED("schema", STRING), REQUIRED("run", OBJECT(shape_manifest_run)),
      REQUIRED("correlation", OBJECT(shape_manifest_correlation)),
      REQUIRED("tool", OBJECT(shape_manifest_tool)), REQUIRED("commands", STRINGS),
      REQUIRED("hardware", OBJECT(shape_manifest_hardware)), REQUIRED("source_revisions", MAP(string_type)),
      REQUIRED("required_semantic_labels", STRINGS), EMPTY("gpu_expected_semantic_labels", STRINGS),
      EMPTY("cpu_only_semantic_labels", STRINGS), REQUIRED("artifacts", LIST(artifact_type)))
SHAPE(gpu_provenance, REQUIRED("binding", WORD(binding_words)), OMITTED("manifest", OBJECT(shape_manifest)),
      DEFAULT("diagnostics", STRINGS, no_list))
#define REPORT_FIELD(constant, flag, kind, rows) REQUIRED(#flag, BOOL),
static const struct shape_field gpu_coverage_fields[] = {GPU_REPORTS(REPORT_FIELD)};
static const struct shape shape_gpu_coverage = {gpu_coverage_fields, COUNT_OF(gpu_coverage_fields)};
LISTED(duplicate, REQUIRED("semantic_key", STRING), REQUIRED("occurrences", U64))
SHAPE(ledger, REQUIRED("expected", STRINGS), EMPTY("cpu_only", STRINGS), REQUIRED("observed", STRINGS),
      REQUIRED("matched", STRINGS), REQUIRED("missing_expected", STRINGS),
      REQUIRED("unexpected_observed", STRINGS), EMPTY("unexpected_cpu_only", STRINGS),
      REQUIRED("duplicates", LIST(duplicate_type)))
SHAPE(correlation, REQUIRED("mode", STRING), REQUIRED("clock_aligned", BOOL), REQUIRED("complete", BOOL),
      REQUIRED("ledger", OBJECT(shape_ledger)), OMITTED("reason", STRING), OMITTED("label_form", STRING))
LISTED(limit, REQUIRED("total_rows", U64), REQUIRED("displayed_rows", U64), REQUIRED("truncated", BOOL))
LISTED(summary_row, REQUIRED("name", STRING), REQUIRED("total_ns", U64), OMITTED("count", U64),
       OMITTED("average_ns", U64), OMITTED("minimum_ns", U64), OMITTED("maximum_ns", U64),
       OMITTED("category", STRING))
LISTED(timeline_row, REQUIRED("name", STRING), REQUIRED("kind", STRING), OMITTED("device", STRING),
       OMITTED("context", STRING), OMITTED("stream", STRING), OMITTED("correlation_id", STRING),
       OMITTED("semantic_key", STRING), REQUIRED("start_ns", U64), REQUIRED("duration_ns", U64),
       OMITTED("projected_start_ns", U64), OMITTED("projected_duration_ns", U64),
       OMITTED("gpu_operations", U64))
LISTED(phase_row, REQUIRED("semantic_key", STRING), REQUIRED("clock_aligned", BOOL),
       REQUIRED("projected_start_ns", U64), REQUIRED("projected_duration_ns", U64),
       REQUIRED("gpu_busy_ns", U64), REQUIRED("gpu_operation_count", U64),
       REQUIRED("join_keys", LIST(join_key_type)))
SHAPE(gpu, REQUIRED("status", WORD(status_words)), OMITTED("reason", STRING),
      OMITTED("raw_report", OBJECT(shape_artifact)), DEFAULT("source_csv", LIST(artifact_type), no_list),
      REQUIRED("provenance", OBJECT(shape_gpu_provenance)), REQUIRED("coverage", OBJECT(shape_gpu_coverage)),
      REQUIRED("correlation", OBJECT(shape_correlation)), DEFAULT("diagnostics", STRINGS, no_list),
      DEFAULT("limits", MAP(limit_type), no_map), DEFAULT("kernels", LIST(summary_row_type), no_list),
      DEFAULT("runtime_calls", LIST(summary_row_type), no_list),
      DEFAULT("memory_operations", LIST(summary_row_type), no_list),
      DEFAULT("nvtx_ranges", LIST(timeline_row_type), no_list),
      DEFAULT("gpu_timeline", LIST(timeline_row_type), no_list),
      DEFAULT("phase_attribution", LIST(phase_row_type), no_list))

/* ---- the packet ---- */

static const char *const schema_words[] = {EVIDENCE_SCHEMA, NULL};
EXPORTED(packet, REQUIRED("schema", WORD(schema_words)), REQUIRED("provenance", OBJECT(shape_provenance)),
         REQUIRED("health", OBJECT(shape_health)), REQUIRED("capabilities", OBJECT(shape_capabilities)),
         REQUIRED("findings", LIST(finding_type)), REQUIRED("facts", LIST(fact_type)),
         REQUIRED("gaps", STRINGS), OMITTED("graph", OBJECT(shape_graph)),
         EMPTY("tensor_stats", LIST(shape_of_tensor_stats)), REQUIRED("timing", OBJECT(shape_timing)),
         REQUIRED("memory", OBJECT(shape_memory)), REQUIRED("activations", OBJECT(shape_activations)),
         REQUIRED("gpu", OBJECT(shape_gpu)))
