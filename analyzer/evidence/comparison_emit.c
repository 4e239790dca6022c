#include "analyzer/evidence/comparison.h"

static void emit_member_text(struct json_doc *doc, const char *key, struct cg_text text)
{
    doc_member_bytes(doc, key, text.bytes, text.length);
}

static void emit_receipts(struct json_doc *doc, const char *key, const struct cohort *cohort, bool verified)
{
    doc_key(doc, key);
    doc_array(doc);
    for (size_t i = 0; verified && i < cohort->receipt_count; i++) {
        doc_object(doc);
        doc_member_bytes(doc, "run_id", cohort->receipts[i].run_id.bytes, cohort->receipts[i].run_id.length);
        doc_member_string(doc, "manifest_sha256", cohort->receipts[i].manifest_sha256);
        doc_object_end(doc);
    }
    doc_array_end(doc);
}

static void emit_inputs(struct json_doc *doc, const struct comparison *comparison)
{
    doc_key(doc, "inputs");
    doc_object(doc);
    doc_member_string(doc, "verification", comparison->verified ? "verified_bundles" : "unverified_traces");
    emit_receipts(doc, "baseline", &comparison->baseline_inputs, comparison->verified);
    emit_receipts(doc, "candidate", &comparison->candidate_inputs, comparison->verified);
    doc_object_end(doc);
}

static void emit_reasons(struct json_doc *doc, const struct comparison *comparison)
{
    doc_key(doc, "reasons");
    doc_array(doc);
    for (size_t i = 0; i < comparison->reason_count; i++) {
        doc_object(doc);
        doc_member_string(doc, "code", comparison_code_name(comparison->reasons[i].code));
        emit_member_text(doc, "message", comparison->reasons[i].message);
        doc_object_end(doc);
    }
    doc_array_end(doc);
}

static void emit_identity(struct json_doc *doc, const struct fact_identity *identity)
{
    doc_key(doc, "identity");
    if (!identity) {
        doc_null(doc);
        return;
    }
    doc_object(doc);
#define EMIT_TEXT(name)            emit_member_text(doc, #name, identity->name);
#define EMIT_NUMBER(name)          doc_member_u64(doc, #name, identity->name);
#define EMIT_CONDITION(name, type) EMIT_##type(name)
    FACT_CONDITIONS(EMIT_CONDITION)
#undef EMIT_CONDITION
#undef EMIT_NUMBER
#undef EMIT_TEXT
    doc_object_end(doc);
}

static void emit_implementation(struct json_doc *doc, const char *key, const struct cohort_result *result)
{
    if (result->implementation_id)
        emit_member_text(doc, key, *result->implementation_id);
    else
        doc_member_null(doc, key);
}

static void emit_cohort(struct json_doc *doc, const char *key, const struct cohort_result *result)
{
    doc_key(doc, key);
    doc_object(doc);
    doc_key(doc, "samples_ns");
    doc_array(doc);
    for (size_t i = 0; i < result->count; i++)
        doc_u64(doc, result->samples_ns[i]);
    doc_array_end(doc);
    doc_member_double(doc, "median_ns", result->statistics.median_ns);
    doc_member_double(doc, "p95_ns", result->statistics.p95_ns);
    doc_member_double(doc, "mad_ns", result->statistics.mad_ns);
    doc_object_end(doc);
}

static void emit_interval(struct json_doc *doc, const struct comparison *comparison)
{
    doc_key(doc, "confidence_interval");
    if (!comparison->interval_known) {
        doc_null(doc);
        return;
    }
    doc_object(doc);
    doc_member_double(doc, "level", comparison->interval.level);
    doc_member_double(doc, "lower_delta_ns", comparison->interval.lower_delta_ns);
    doc_member_double(doc, "upper_delta_ns", comparison->interval.upper_delta_ns);
    doc_object_end(doc);
}

static void emit_stats_row(struct json_doc *doc, const struct stats_row *row)
{
    doc_object(doc);
    emit_member_text(doc, "label", row->label);
    doc_member_double(doc, "rms_a", row->rms_a);
    doc_member_double(doc, "rms_b", row->rms_b);
    doc_member_double_or_null(doc, "rms_ratio", row->rms_ratio_known, row->rms_ratio);
    doc_member_double_or_null(doc, "abs_max_ratio", row->abs_max_ratio_known, row->abs_max_ratio);
    doc_member_u64(doc, "non_finite_a", row->non_finite_a);
    doc_member_u64(doc, "non_finite_b", row->non_finite_b);
    doc_member_u64(doc, "samples_a", row->samples_a);
    doc_member_u64(doc, "samples_b", row->samples_b);
    doc_member_u64(doc, "runs_a", row->runs_a);
    doc_member_u64(doc, "runs_b", row->runs_b);
    doc_object_end(doc);
}

static void emit_labels(struct json_doc *doc, const char *key, const struct cg_text *labels, size_t count)
{
    doc_key(doc, key);
    doc_array(doc);
    for (size_t i = 0; i < count; i++)
        doc_string_bytes(doc, labels[i].bytes, labels[i].length);
    doc_array_end(doc);
}

static void emit_stats(struct json_doc *doc, const struct comparison *comparison)
{
    doc_key(doc, "tensor_stats");
    doc_object(doc);
    doc_member_u64(doc, "baseline_runs", comparison->baseline_inputs.count);
    doc_member_u64(doc, "candidate_runs", comparison->candidate_inputs.count);
    doc_key(doc, "matched");
    doc_array(doc);
    for (size_t i = 0; i < comparison->matched_count; i++)
        emit_stats_row(doc, &comparison->matched[i]);
    doc_array_end(doc);
    emit_labels(doc, "unmatched_a", comparison->unmatched_a, comparison->unmatched_a_count);
    emit_labels(doc, "unmatched_b", comparison->unmatched_b, comparison->unmatched_b_count);
    doc_object_end(doc);
}

void comparison_emit(struct json_doc *doc, const struct comparison *comparison)
{
    doc_member_string(doc, "schema", COMPARISON_SCHEMA);
    doc_member_string(doc, "metric", "outer_wall_time_ns");
    emit_inputs(doc, comparison);
    doc_member_bool(doc, "comparable", comparison->reason_count == 0);
    doc_member_bool(doc, "paired", comparison->paired);
    doc_member_string(doc, "verdict", comparison_verdict_name(comparison->verdict));
    emit_reasons(doc, comparison);
    emit_implementation(doc, "baseline_implementation_id", &comparison->baseline);
    emit_implementation(doc, "candidate_implementation_id", &comparison->candidate);
    emit_identity(doc, comparison->identity);
    emit_cohort(doc, "baseline", &comparison->baseline);
    emit_cohort(doc, "candidate", &comparison->candidate);
    doc_member_double(doc, "median_delta_ns", comparison->median_delta_ns);
    doc_member_double_or_null(doc, "median_delta_percent", comparison->percent_known, comparison->median_delta_percent);
    emit_interval(doc, comparison);
    emit_stats(doc, comparison);
}
