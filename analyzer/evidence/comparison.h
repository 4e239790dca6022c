/* candle-graph/comparison/6: two cohorts of runs of one workload (doc/spec/compare.md 1). */
#ifndef CGTRACE_ANALYZER_EVIDENCE_COMPARISON_H
#define CGTRACE_ANALYZER_EVIDENCE_COMPARISON_H

#include "analyzer/evidence/run_facts.h"
#include "analyzer/evidence/statistics.h"
#include "common/json_doc.h"

#define COMPARISON_SCHEMA "candle-graph/comparison/6"

/* Why runs cannot be compared, R(constant suffix, "code", "what it means"): for the code and for the manual.
 */
#define COMPARISON_REASONS(R)                                                                                \
    R(UNVERIFIED_INPUTS, "unverified_inputs", "the inputs are raw traces, whose bytes nothing vouches for")  \
    R(RECEIPT_COUNT, "receipt_count_mismatch", "a cohort has more or fewer receipts than traces")            \
    R(RECEIPT_RUN_ID, "receipt_run_id_mismatch", "a receipt names another run than its trace")               \
    R(RECEIPT_DIGEST, "receipt_digest_invalid", "a receipt's digest is not 64 hexadecimal digits")           \
    R(INCOMPLETE, "incomplete_capture", "a run's capture failed or its trace is not structurally valid")     \
    R(NOT_EQUIVALENT, "not_production_equivalent", "a run's measured time does not stand for production")    \
    R(UNSYNCHRONIZED, "unsynchronized_device_region",                                                        \
      "a run on a device does not declare its measured region synchronised")                                 \
    R(MEASURED_COUNT, "measured_region_count_invalid", "a run has not exactly one closed measured region")   \
    R(INSUFFICIENT, "insufficient_runs", "a cohort has fewer than five runs")                                \
    R(DUPLICATE_RUNS, "duplicate_run_ids", "one run was given twice")                                        \
    R(NO_RUNS, "no_runs", "no run was given")                                                                \
    R(SEMANTICS, "capture_semantics_mismatch", "the runs were not captured under the same contract")         \
    R(IDENTITY_MISSING, "identity_missing", "a run has no comparison identity")                              \
    R(IDENTITY_INVALID, "identity_invalid", "the comparison identity has a blank or zero member")            \
    R(IDENTITY_DIFFERS, "identity_conditions_differ", "the runs were made under different conditions")       \
    R(IMPLEMENTATION_MISSING, "implementation_id_missing", "a run does not name its implementation")         \
    R(IMPLEMENTATION_EMPTY, "implementation_id_empty", "a run's implementation id is blank")                 \
    R(IMPLEMENTATION_INCONSISTENT, "implementation_id_inconsistent", "a cohort mixes implementations")       \
    R(PAIRING_INCOMPLETE, "pairing_incomplete", "some runs have a pair id, one has none or no region")       \
    R(PAIR_DUPLICATED, "pair_ids_duplicated", "a pair id occurs twice in a cohort")                          \
    R(PAIR_SETS, "pair_sets_mismatch", "the cohorts do not have the same pair ids")

enum comparison_code {
#define COMPARISON_CODE(suffix, wire, meaning) COMPARISON_##suffix,
    COMPARISON_REASONS(COMPARISON_CODE)
#undef COMPARISON_CODE
        COMPARISON_CODE_COUNT
};
/* Wire name of a code. */
const char *comparison_code_name(enum comparison_code code);

enum comparison_verdict { VERDICT_INELIGIBLE, VERDICT_INCONCLUSIVE, VERDICT_FASTER, VERDICT_SLOWER };
const char *comparison_verdict_name(enum comparison_verdict verdict);

/* What vouches for a run of a verified bundle. */
struct comparison_receipt {
    struct cg_text run_id; /* of the bundle's manifest */
    char manifest_sha256[65];
};

struct cohort {
    const struct run_facts *runs; /* in argument order */
    size_t count;
    const struct comparison_receipt *receipts;
    size_t receipt_count;
};

struct comparison_reason {
    enum comparison_code code;
    struct cg_text message;
};

struct cohort_result {
    uint64_t *samples_ns; /* argument order */
    size_t count;
    struct sample_statistics statistics;
    const struct cg_text *implementation_id; /* NULL when there is no common one */
};

struct stats_row {
    struct cg_text label;
    double rms_a, rms_b, rms_ratio, abs_max_ratio;
    bool rms_ratio_known, abs_max_ratio_known;
    uint64_t non_finite_a, non_finite_b, samples_a, samples_b, runs_a, runs_b;
};

struct comparison {
    struct text_arena arena; /* owns the messages */
    bool verified;
    struct cohort baseline_inputs, candidate_inputs;
    struct comparison_reason *reasons;
    size_t reason_count, reason_capacity;
    bool paired;
    enum comparison_verdict verdict;
    const struct fact_identity *identity; /* of the first run; NULL when there is no common one */
    struct cohort_result baseline, candidate;
    struct sample_pair *pairs; /* ascending pair id; only when paired */
    size_t pair_count;
    double median_delta_ns, median_delta_percent;
    bool percent_known;
    bool interval_known;
    struct confidence_interval interval;
    struct stats_row *matched;
    size_t matched_count;
    struct cg_text *unmatched_a, *unmatched_b;
    size_t unmatched_a_count, unmatched_b_count;
};

/* Compares; the cohorts must outlive the comparison. verified: the runs come from verified bundles, and the
 * receipts are theirs. False when memory is short. */
bool comparison_make(const struct cohort *baseline, const struct cohort *candidate, bool verified,
                     struct comparison *comparison);
void comparison_free(struct comparison *comparison);

/* The members of the document, in declared order, into an open object. */
void comparison_emit(struct json_doc *doc, const struct comparison *comparison);

#endif
