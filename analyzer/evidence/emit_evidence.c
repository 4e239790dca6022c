/* Health, capabilities, facts, findings, gaps, timing, activations, and the packet itself
 * (doc/spec/evidence.md 4). */
#include "analyzer/evidence/emit.h"
#include "analyzer/evidence/evidence_private.h"

/* ---- health ---- */

uint64_t evidence_issue_count(const struct evidence *evidence, enum health_severity severity)
{
    uint64_t count = 0;
    if (evidence->stored) return stored_issue_count(evidence, severity);
    for (size_t i = 0; i < evidence->health.issue_count; i++)
        count += evidence->health.issues[i].severity == severity;
    return count;
}

static void health_valid(struct json_doc *doc, const void *object)
{
    doc_bool(doc, ((const struct evidence *)object)->health.structurally_valid);
}
static void health_complete(struct json_doc *doc, const void *object)
{
    doc_bool(doc, ((const struct evidence *)object)->health.capture_complete);
}
static void health_issues(struct json_doc *doc, const void *object)
{
    const struct evidence *evidence = object;
    doc_array(doc);
    for (size_t i = 0; i < evidence->health.issue_count; i++) {
        const struct health_issue *issue = &evidence->health.issues[i];
        char message[HEALTH_MESSAGE_SIZE];
        health_message(evidence->trace, issue, message);
        doc_object(doc);
        doc_member_string(doc, "severity", issue->severity == HEALTH_ERROR ? "error" : "warning");
        doc_member_string(doc, "code", health_code_name(issue->code));
        doc_member_string(doc, "message", message);
        doc_object_end(doc);
    }
    doc_array_end(doc);
}
static void health_coverage(struct json_doc *doc, const void *object)
{
    const struct health_coverage *coverage = &((const struct evidence *)object)->health.coverage;
    doc_object(doc);
#define COVERAGE_MEMBER(name) doc_member_u64(doc, #name, coverage->name);
    HEALTH_COVERAGE(COVERAGE_MEMBER)
    doc_object_end(doc);
}

void emit_health(struct json_doc *doc, const struct evidence *evidence)
{
    if (evidence->stored) {
        stored_emit(doc, evidence, STORED_HEALTH);
        return;
    }
    static const struct json_member members[] = {{"structurally_valid", health_valid, NULL},
                                                 {"capture_complete", health_complete, NULL},
                                                 {"issues", health_issues, NULL},
                                                 {"coverage", health_coverage, NULL}};
    doc_members(doc, members, COUNT_OF(members), evidence);
}

/* ---- capabilities, findings, facts, gaps ---- */

void emit_capability(struct json_doc *doc, const struct capability *capability)
{
    doc_object(doc);
    doc_member_string(doc, "level", capability_level_name[capability->level]);
    member_text(doc, "source", capability->source);
    member_text(doc, "reason", capability->reason);
    doc_object_end(doc);
}

void emit_capabilities(struct json_doc *doc, const struct evidence *evidence)
{
    if (evidence->stored) {
        stored_emit(doc, evidence, STORED_CAPABILITIES);
        return;
    }
    doc_object(doc);
    for (unsigned kind = 0; kind < CAPABILITY_KIND_COUNT; kind++) {
        doc_key(doc, capability_names[kind].member);
        emit_capability(doc, &evidence->capabilities[kind]);
    }
    doc_object_end(doc);
}

void emit_finding(struct json_doc *doc, const struct finding *finding)
{
    doc_object(doc);
    doc_member_string(doc, "code", finding->code);
    member_text(doc, "summary", finding->summary);
    member_text(doc, "source", finding->source);
    doc_key(doc, "requires");
    doc_array(doc);
    for (unsigned i = 0; i < finding->require_count; i++)
        doc_string(doc, capability_names[finding->requires[i]].kind);
    doc_array_end(doc);
    doc_member_string(doc, "qualification", capability_level_name[finding->qualification]);
    doc_object_end(doc);
}

void emit_fact(struct json_doc *doc, const struct fact *fact)
{
    static const char *const kinds[] = {[FACT_DURATION_NS] = "duration_ns",
                                        [FACT_BYTES] = "bytes",
                                        [FACT_COUNT] = "count",
                                        [FACT_TEXT] = "text"};
    doc_object(doc);
    doc_member_string(doc, "code", fact->code);
    doc_member_string(doc, "label", fact->label);
    doc_key(doc, "value");
    doc_object(doc);
    doc_member_string(doc, "kind", kinds[fact->kind]);
    if (fact->kind == FACT_TEXT)
        member_text(doc, "value", fact->text);
    else
        doc_member_u64(doc, "value", fact->number);
    doc_object_end(doc);
    doc_member_string(doc, "source", fact->source);
    doc_member_string(doc, "capability", capability_names[fact->capability].kind);
    doc_object_end(doc);
}

void emit_findings(struct json_doc *doc, const struct evidence *evidence)
{
    doc_array(doc);
    for (size_t i = 0; i < evidence->finding_count; i++)
        emit_finding(doc, &evidence->findings[i]);
    doc_array_end(doc);
}

void emit_facts(struct json_doc *doc, const struct evidence *evidence)
{
    doc_array(doc);
    for (size_t i = 0; i < evidence->fact_count; i++)
        emit_fact(doc, &evidence->facts[i]);
    doc_array_end(doc);
}

void emit_gaps(struct json_doc *doc, const struct evidence *evidence)
{
    doc_array(doc);
    for (size_t i = 0; i < evidence->gap_count; i++)
        emit_text(doc, evidence->gaps[i]);
    doc_array_end(doc);
}

/* ---- timing ---- */

static void timing_members(struct json_doc *doc, const struct evidence *evidence,
                           const struct timing_span *span)
{
    const struct cg_trace *trace = evidence->trace;
    const cg_str *strings = evidence->timing.strings;
    member_str(doc, trace, "device", span->device);
    member_str(doc, trace, "clock_id", span->clock_id);
    member_strs(doc, trace, "backends", strings + span->backends.first, span->backends.count);
    member_strs(doc, trace, "streams", strings + span->streams.first, span->streams.count);
    doc_member_u64(doc, "interval_count", span->interval_count);
    doc_member_u64(doc, "busy_ns", span->busy_ns);
}

static void timing_coverage(struct json_doc *doc, const void *object)
{
    doc_string(doc, cg_name_COVERAGE[((const struct evidence *)object)->timing.device_coverage]);
}
static void timing_spans(struct json_doc *doc, const void *object)
{
    const struct evidence *evidence = object;
    doc_array(doc);
    for (size_t i = 0; i < evidence->timing.span_count; i++) {
        doc_object(doc);
        member_str(doc, evidence->trace, "span_id", evidence->timing.spans[i].span_id);
        timing_members(doc, evidence, &evidence->timing.spans[i]);
        doc_object_end(doc);
    }
    doc_array_end(doc);
}
static void timing_clocks(struct json_doc *doc, const void *object)
{
    const struct evidence *evidence = object;
    doc_array(doc);
    for (size_t i = 0; i < evidence->timing.clock_count; i++) {
        const struct timing_clock *clock = &evidence->timing.clocks[i];
        doc_object(doc);
        member_str(doc, evidence->trace, "device", clock->device);
        member_str(doc, evidence->trace, "clock_id", clock->clock_id);
        doc_member_u64(doc, "interval_count", clock->interval_count);
        doc_member_u64(doc, "busy_ns", clock->busy_ns);
        doc_object_end(doc);
    }
    doc_array_end(doc);
}

void emit_timing(struct json_doc *doc, const struct evidence *evidence)
{
    if (evidence->stored) {
        stored_emit(doc, evidence, STORED_TIMING);
        return;
    }
    static const struct json_member members[] = {{"device_coverage", timing_coverage, NULL},
                                                 {"device_spans", timing_spans, NULL},
                                                 {"device_clocks", timing_clocks, NULL}};
    doc_members(doc, members, COUNT_OF(members), evidence);
}

/* ---- activations ---- */

void emit_activation_state(struct json_doc *doc, const struct evidence *evidence,
                           const struct activation_state *state)
{
    if (evidence->stored) {
        stored_emit_activation_state(doc, evidence, (size_t)(state - &evidence->activations.coverage));
        return;
    }
    doc_object(doc);
    doc_member_string(doc, "level", capability_level_name[state->level]);
    doc_member_string(doc, "source", state->source);
    doc_member_string(doc, "reason", state->reason);
    doc_object_end(doc);
}

static void logical_members(struct json_doc *doc, const struct activation_operation *operation)
{
    member_opt_u64(doc, "logical_allocated_bytes", operation->logical_known, operation->allocated_bytes);
    member_opt_u64(doc, "logical_storage_count", operation->logical_known, operation->storage_count);
    member_opt_u64(doc, "logical_storage_live_duration_ns", operation->interval_known,
                   operation->live_duration_ns);
    if (operation->interval_known) {
        doc_key(doc, "logical_byte_nanoseconds");
        doc_u128(doc, operation->byte_nanoseconds);
    }
    member_opt_u64(doc, "logical_retained_bytes_at_measured_end", operation->retained_known,
                   operation->retained_bytes);
}

void emit_activation_operation(struct json_doc *doc, const struct evidence *evidence,
                               const struct activation_operation *operation)
{
    if (evidence->stored) {
        stored_emit_operation(doc, evidence, (size_t)(operation - evidence->activations.operations));
        return;
    }
    const struct cg_trace *trace = evidence->trace;
    const struct cg_ops *ops = &trace->op;
    uint32_t op = operation->op;
    doc_object(doc);
    doc_key(doc, "id");
    emit_activation_id(doc, evidence, operation);
    member_str(doc, trace, "span_id", ops->span_id[op]);
    doc_member_u64(doc, "op_index", operation->op_index);
    member_str(doc, trace, "name", ops->op_name[op]);
    member_opt_str(doc, trace, "output_tensor_id", ops->output[op]);
    member_shape(doc, trace, ops->shape[op]);
    member_str(doc, trace, "dtype", ops->dtype[op]);
    member_str(doc, trace, "device", ops->device[op]);
    doc_member_u64(doc, "observed_host_duration_ns", ops->duration_ns[op]);
    doc_key(doc, "device_timings");
    doc_array(doc);
    for (uint32_t i = 0; i < operation->timings.count; i++) {
        doc_object(doc);
        timing_members(doc, evidence, &evidence->timing.spans[operation->timings.first + i]);
        doc_object_end(doc);
    }
    doc_array_end(doc);
    member_opt_u64(doc, "dense_output_bytes", ops->output_dense_bytes_set[op], ops->output_dense_bytes[op]);
    logical_members(doc, operation);
    doc_key(doc, "classification_sources");
    doc_array(doc);
    if (operation->tensor_output) doc_string(doc, "tensor_output");
    if (operation->logical_storage) doc_string(doc, "logical_storage");
    doc_array_end(doc);
    doc_object_end(doc);
}

void emit_activation_definition(struct json_doc *doc, const struct evidence *evidence)
{
    if (evidence->stored)
        stored_emit_definition(doc, evidence);
    else
        doc_string(doc, activation_definition);
}
static void activation_definition_member(struct json_doc *doc, const void *object)
{
    emit_activation_definition(doc, object);
}
#define STATE_FUNCTION(name)                                                                                 \
    static void activation_##name(struct json_doc *doc, const void *object)                                  \
    {                                                                                                        \
        emit_activation_state(doc, object, &((const struct evidence *)object)->activations.name);            \
    }
ACTIVATION_STATES(STATE_FUNCTION)
static void activation_unattributed(struct json_doc *doc, const void *object)
{
    doc_u64(doc, ((const struct evidence *)object)->activations.unattributed_storages);
}
static void activation_operations(struct json_doc *doc, const void *object)
{
    const struct evidence *evidence = object;
    doc_array(doc);
    for (size_t i = 0; i < evidence->activations.operation_count; i++)
        emit_activation_operation(doc, evidence, &evidence->activations.operations[i]);
    doc_array_end(doc);
}

void emit_activations(struct json_doc *doc, const struct evidence *evidence)
{
    if (evidence->stored) {
        stored_emit(doc, evidence, STORED_ACTIVATIONS);
        return;
    }
#define STATE_MEMBER(name) {#name, activation_##name, NULL},
    static const struct json_member members[] = {
        {"definition", activation_definition_member, NULL},
        ACTIVATION_STATES(STATE_MEMBER){"unattributed_activation_storages", activation_unattributed, NULL},
        {"operations", activation_operations, NULL}};
    doc_members(doc, members, COUNT_OF(members), evidence);
}

/* ---- the packet ---- */

#define PACKET_PART(name)                                                                                    \
    static void packet_##name(struct json_doc *doc, const void *object)                                      \
    {                                                                                                        \
        emit_##name(doc, object);                                                                            \
    }
PACKET_PART(provenance)
PACKET_PART(health)
PACKET_PART(capabilities)
PACKET_PART(findings)
PACKET_PART(facts)
PACKET_PART(gaps)
PACKET_PART(graph)
PACKET_PART(tensor_stats_list)
PACKET_PART(timing)
PACKET_PART(memory)
PACKET_PART(activations)

static void packet_schema(struct json_doc *doc, const void *object)
{
    (void)object;
    doc_string(doc, EVIDENCE_SCHEMA);
}
static void packet_gpu(struct json_doc *doc, const void *object)
{
    emit_gpu(doc, &((const struct evidence *)object)->gpu);
}
static bool has_graph(const void *object)
{
    return ((const struct evidence *)object)->has_graph;
}
static bool has_tensor_stats(const void *object)
{
    return evidence_rows(object, LIST_TENSOR_STATS) > 0;
}

void emit_packet(struct json_doc *doc, const struct evidence *evidence)
{
    if (evidence->stored) {
        stored_emit(doc, evidence, STORED_PACKET);
        return;
    }
    static const struct json_member members[] = {{"schema", packet_schema, NULL},
                                                 {"provenance", packet_provenance, NULL},
                                                 {"health", packet_health, NULL},
                                                 {"capabilities", packet_capabilities, NULL},
                                                 {"findings", packet_findings, NULL},
                                                 {"facts", packet_facts, NULL},
                                                 {"gaps", packet_gaps, NULL},
                                                 {"graph", packet_graph, has_graph},
                                                 {"tensor_stats", packet_tensor_stats_list, has_tensor_stats},
                                                 {"timing", packet_timing, NULL},
                                                 {"memory", packet_memory, NULL},
                                                 {"activations", packet_activations, NULL},
                                                 {"gpu", packet_gpu, NULL}};
    doc_members(doc, members, COUNT_OF(members), evidence);
}
