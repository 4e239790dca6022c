#include "analyzer/evidence/comparison.h"

static void emit_member_text(struct json_doc *doc, const char *key, struct cg_text text)
{
    json_member_bytes(doc, key, text.bytes, text.length);
}

static void emit_receipts(struct json_doc *doc, const char *key, const struct cohort *cohort, bool verified)
{
    json_key(doc, key);
    json_array(doc);
    for (size_t i = 0; verified && i < cohort->receipt_count; i++) {
        json_object(doc);
        json_member_string(doc, "run_id", cohort->receipts[i].run_id);
        json_member_string(doc, "manifest_sha256", cohort->receipts[i].manifest_sha256);
        json_object_end(doc);
    }
    json_array_end(doc);
}

static void emit_inputs(struct json_doc *doc, const struct comparison *comparison)
{
    json_key(doc, "inputs");
    json_object(doc);
    json_member_string(doc, "verification", comparison->verified ? "verified_bundles" : "unverified_traces");
    emit_receipts(doc, "baseline", &comparison->baseline_inputs, comparison->verified);
    emit_receipts(doc, "candidate", &comparison->candidate_inputs, comparison->verified);
    json_object_end(doc);
}

static void emit_reasons(struct json_doc *doc, const struct comparison *comparison)
{
    json_key(doc, "reasons");
    json_array(doc);
    for (size_t i = 0; i < comparison->reason_count; i++) {
        json_object(doc);
        json_member_string(doc, "code", comparison_code_name(comparison->reasons[i].code));
        emit_member_text(doc, "message", comparison->reasons[i].message);
        json_object_end(doc);
    }
    json_array_end(doc);
}

static void emit_identity(struct json_doc *doc, const struct fact_identity *identity)
{
    json_key(doc, "identity");
    if (!identity) {
        json_null(doc);
        return;
    }
    json_object(doc);
#define EMIT_TEXT(name)            emit_member_text(doc, #name, identity->name);
#define EMIT_NUMBER(name)          json_member_u64(doc, #name, identity->name);
#define EMIT_CONDITION(name, type) EMIT_##type(name)
    FACT_CONDITIONS(EMIT_CONDITION)
#undef EMIT_CONDITION
#undef EMIT_NUMBER
#undef EMIT_TEXT
    json_object_end(doc);
}

static void emit_implementation(struct json_doc *doc, const char *key, const struct cohort_result *result)
{
    if (result->implementation_id)
        emit_member_text(doc, key, *result->implementation_id);
    else
        json_member_null(doc, key);
}

static void emit_cohort(struct json_doc *doc, const char *key, const struct cohort_result *result)
{
    json_key(doc, key);
    json_object(doc);
    json_key(doc, "samples_ns");
    json_array(doc);
    for (size_t i = 0; i < result->count; i++)
        json_u64(doc, result->samples_ns[i]);
    json_array_end(doc);
    json_member_double(doc, "median_ns", result->statistics.median_ns);
    json_member_double(doc, "p95_ns", result->statistics.p95_ns);
    json_member_double(doc, "mad_ns", result->statistics.mad_ns);
    json_object_end(doc);
}

static void emit_interval(struct json_doc *doc, const struct comparison *comparison)
{
    json_key(doc, "confidence_interval");
    if (!comparison->interval_known) {
        json_null(doc);
        return;
    }
    json_object(doc);
    json_member_double(doc, "level", comparison->interval.level);
    json_member_double(doc, "lower_delta_ns", comparison->interval.lower_delta_ns);
    json_member_double(doc, "upper_delta_ns", comparison->interval.upper_delta_ns);
    json_object_end(doc);
}

static void emit_ratio(struct json_doc *doc, const char *key, bool known, double value)
{
    if (known)
        json_member_double(doc, key, value);
    else
        json_member_null(doc, key);
}

static void emit_stats_row(struct json_doc *doc, const struct stats_row *row)
{
    json_object(doc);
    emit_member_text(doc, "label", row->label);
    json_member_double(doc, "rms_a", row->rms_a);
    json_member_double(doc, "rms_b", row->rms_b);
    emit_ratio(doc, "rms_ratio", row->rms_ratio_known, row->rms_ratio);
    emit_ratio(doc, "abs_max_ratio", row->abs_max_ratio_known, row->abs_max_ratio);
    json_member_u64(doc, "non_finite_a", row->non_finite_a);
    json_member_u64(doc, "non_finite_b", row->non_finite_b);
    json_member_u64(doc, "samples_a", row->samples_a);
    json_member_u64(doc, "samples_b", row->samples_b);
    json_member_u64(doc, "runs_a", row->runs_a);
    json_member_u64(doc, "runs_b", row->runs_b);
    json_object_end(doc);
}

static void emit_labels(struct json_doc *doc, const char *key, const struct cg_text *labels, size_t count)
{
    json_key(doc, key);
    json_array(doc);
    for (size_t i = 0; i < count; i++)
        json_string_bytes(doc, labels[i].bytes, labels[i].length);
    json_array_end(doc);
}

static void emit_stats(struct json_doc *doc, const struct comparison *comparison)
{
    json_key(doc, "tensor_stats");
    json_object(doc);
    json_member_u64(doc, "baseline_runs", comparison->baseline_inputs.count);
    json_member_u64(doc, "candidate_runs", comparison->candidate_inputs.count);
    json_key(doc, "matched");
    json_array(doc);
    for (size_t i = 0; i < comparison->matched_count; i++)
        emit_stats_row(doc, &comparison->matched[i]);
    json_array_end(doc);
    emit_labels(doc, "unmatched_a", comparison->unmatched_a, comparison->unmatched_a_count);
    emit_labels(doc, "unmatched_b", comparison->unmatched_b, comparison->unmatched_b_count);
    json_object_end(doc);
}

void comparison_emit(struct json_doc *doc, const struct comparison *comparison)
{
    json_member_string(doc, "schema", COMPARISON_SCHEMA);
    json_member_string(doc, "metric", "outer_wall_time_ns");
    emit_inputs(doc, comparison);
    json_member_bool(doc, "comparable", comparison->reason_count == 0);
    json_member_bool(doc, "paired", comparison->paired);
    json_member_string(doc, "verdict", comparison_verdict_name(comparison->verdict));
    emit_reasons(doc, comparison);
    emit_implementation(doc, "baseline_implementation_id", &comparison->baseline);
    emit_implementation(doc, "candidate_implementation_id", &comparison->candidate);
    emit_identity(doc, comparison->identity);
    emit_cohort(doc, "baseline", &comparison->baseline);
    emit_cohort(doc, "candidate", &comparison->candidate);
    json_member_double(doc, "median_delta_ns", comparison->median_delta_ns);
    emit_ratio(doc, "median_delta_percent", comparison->percent_known, comparison->median_delta_percent);
    emit_interval(doc, comparison);
    emit_stats(doc, comparison);
}
