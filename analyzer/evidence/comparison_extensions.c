#include "analyzer/evidence/comparison_extensions.h"

#include <math.h>

const char *extended_verdict_name(enum extended_verdict verdict)
{
    static const char *const names[] = {
#define NAME(suffix, word) word,
        EXTENDED_VERDICTS(NAME)
#undef NAME
    };
    return names[verdict];
}

static const struct {
    const char *code, *meaning;
} reason_texts[] = {
#define REASON_TEXT(suffix, code, meaning) {code, meaning},
    EXTENDED_REASONS(REASON_TEXT)
#undef REASON_TEXT
};

static void find_threshold(struct comparison_extensions *extensions)
{
    const struct extension_request *request = &extensions->request;
    double threshold = 0.0;
    if (request->percent_given)
        threshold = request->percent / 100.0 * extensions->comparison->baseline.statistics.median_ns;
    if (request->ns_given) threshold = fmax(threshold, (double)request->ns);
    if (extensions->noise && extensions->noise->interval_known) {
        const struct confidence_interval *interval = &extensions->noise->interval;
        extensions->noise_floor_ns = fmax(fabs(interval->lower_delta_ns), fabs(interval->upper_delta_ns));
        threshold = fmax(threshold, extensions->noise_floor_ns);
    }
    extensions->threshold_ns = threshold;
}

static void judge(struct comparison_extensions *extensions)
{
    const struct comparison *comparison = extensions->comparison;
    const struct confidence_interval *interval = &comparison->interval;
    bool *reasons = extensions->reasons;
    double threshold = extensions->threshold_ns;

    reasons[EXTENDED_REASON_COHORTS] = !comparison->interval_known;
    reasons[EXTENDED_REASON_NOISE] = extensions->noise && !extensions->noise->interval_known;
    extensions->verdict = EXTENDED_NOT_COMPARABLE;
    if (reasons[EXTENDED_REASON_COHORTS] || reasons[EXTENDED_REASON_NOISE]) return;
    extensions->verdict = EXTENDED_SAME;
    reasons[EXTENDED_REASON_WITHIN] =
        threshold > 0.0 && interval->lower_delta_ns >= -threshold && interval->upper_delta_ns <= threshold;
    if (reasons[EXTENDED_REASON_WITHIN]) return;
    reasons[EXTENDED_REASON_ZERO] = interval->lower_delta_ns <= 0.0 && interval->upper_delta_ns >= 0.0;
    reasons[EXTENDED_REASON_SMALL] = fabs(comparison->median_delta_ns) <= threshold;
    reasons[EXTENDED_REASON_CHANCE] = extensions->test.p_value > EXTENDED_LEVEL;
    extensions->verdict = EXTENDED_INCONCLUSIVE;
    if (reasons[EXTENDED_REASON_ZERO] || reasons[EXTENDED_REASON_SMALL] || reasons[EXTENDED_REASON_CHANCE])
        return;
    reasons[EXTENDED_REASON_CLEAR] = true;
    extensions->verdict = interval->upper_delta_ns < 0.0 ? EXTENDED_FASTER : EXTENDED_SLOWER;
}

bool comparison_extend(const struct comparison *comparison, const struct comparison *noise,
                       const struct extension_request *request, struct comparison_extensions *extensions)
{
    *extensions = (struct comparison_extensions){.request = *request,
                                                 .comparison = comparison,
                                                 .noise = noise,
                                                 .test_known = comparison->interval_known};
    if (comparison->interval_known && comparison->paired)
        permutation_paired(comparison->pairs, comparison->pair_count, &extensions->test);
    else if (comparison->interval_known &&
             !permutation_unpaired(comparison->baseline.samples_ns, comparison->baseline.count,
                                   comparison->candidate.samples_ns, comparison->candidate.count,
                                   &extensions->test))
        return false;
    extensions->few_runs = comparison->baseline.count < EXTENDED_RUNS_MIN ||
                           comparison->candidate.count < EXTENDED_RUNS_MIN ||
                           (noise && noise->candidate.count < EXTENDED_RUNS_MIN);
    find_threshold(extensions);
    judge(extensions);
    return true;
}

/* ---- writing ---- */

static void emit_code(struct json_doc *doc, const char *code, const char *message)
{
    doc_object(doc);
    doc_member_string(doc, "code", code);
    doc_member_string(doc, "message", message);
    doc_object_end(doc);
}

static void emit_test(struct json_doc *doc, const struct comparison_extensions *extensions)
{
    const struct permutation_test *test = &extensions->test;
    doc_key(doc, "permutation_test");
    if (!extensions->test_known) {
        doc_null(doc);
        return;
    }
    doc_object(doc);
    doc_member_string(doc, "statistic", "difference_of_means");
    doc_member_string(doc, "method", test->exact ? "exact" : "monte_carlo");
    doc_member_u64(doc, "assignments", test->assignments);
    doc_member_double(doc, "p_value", test->p_value);
    doc_member_double(doc, "standard_error", test->standard_error);
    doc_object_end(doc);
}

static void emit_noise(struct json_doc *doc, const struct comparison_extensions *extensions)
{
    const struct comparison *noise = extensions->noise;
    doc_key(doc, "noise");
    if (!noise) {
        doc_null(doc);
        return;
    }
    doc_object(doc);
    doc_member_u64(doc, "runs", noise->candidate.count);
    doc_member_double(doc, "median_ns", noise->candidate.statistics.median_ns);
    doc_member_double(doc, "median_delta_ns", noise->median_delta_ns);
    doc_key(doc, "floor_ns");
    if (noise->interval_known)
        doc_double(doc, extensions->noise_floor_ns);
    else
        doc_null(doc);
    doc_key(doc, "reasons");
    doc_array(doc);
    for (size_t i = 0; i < noise->reason_count; i++)
        doc_string(doc, comparison_code_name(noise->reasons[i].code));
    doc_array_end(doc);
    doc_object_end(doc);
}

static void emit_minimum(struct json_doc *doc, const struct comparison_extensions *extensions)
{
    const struct extension_request *request = &extensions->request;
    doc_key(doc, "minimum_effect");
    doc_object(doc);
    doc_key(doc, "percent");
    if (request->percent_given)
        doc_double(doc, request->percent);
    else
        doc_null(doc);
    doc_key(doc, "ns");
    if (request->ns_given)
        doc_u64(doc, request->ns);
    else
        doc_null(doc);
    doc_member_double(doc, "threshold_ns", extensions->threshold_ns);
    doc_object_end(doc);
}

void emit_comparison_extensions(struct json_doc *doc, const struct comparison_extensions *extensions)
{
    doc_object(doc);
    doc_member_string(doc, "verdict", extended_verdict_name(extensions->verdict));
    doc_key(doc, "reasons");
    doc_array(doc);
    for (size_t i = 0; i < EXTENDED_REASON_COUNT; i++)
        if (extensions->reasons[i]) emit_code(doc, reason_texts[i].code, reason_texts[i].meaning);
    doc_array_end(doc);
    emit_test(doc, extensions);
    emit_noise(doc, extensions);
    emit_minimum(doc, extensions);
    doc_key(doc, "warnings");
    doc_array(doc);
    if (extensions->few_runs)
        emit_code(doc, "few_runs",
                  "a cohort has fewer than ten runs: its interval is likely to be too narrow");
    doc_array_end(doc);
    if (extensions->structure) {
        doc_key(doc, "structure");
        emit_structure_comparison(doc, extensions->structure, extensions->structure_cap);
    }
    doc_object_end(doc);
}
