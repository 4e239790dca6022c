/* What compare can say beyond candle-graph/comparison/6, in one member `extensions`: a permutation test, the
 * noise floor of baselines against baselines, least effects that matter, a verdict that uses them, and what
 * differs in structure. */
#ifndef CGTRACE_ANALYZER_EVIDENCE_COMPARISON_EXTENSIONS_H
#define CGTRACE_ANALYZER_EVIDENCE_COMPARISON_EXTENSIONS_H

#include "analyzer/evidence/comparison.h"
#include "analyzer/evidence/permutation.h"
#include "analyzer/evidence/structure.h"

#define EXTENDED_LEVEL    0.05 /* a p-value above it does not speak for a difference */
#define EXTENDED_RUNS_MIN 10   /* cohorts with fewer runs are warned of */

/* V(constant suffix, "word") */
#define EXTENDED_VERDICTS(V)                                                                                 \
    V(NOT_COMPARABLE, "not_comparable")                                                                      \
    V(INCONCLUSIVE, "inconclusive")                                                                          \
    V(SAME, "same")                                                                                          \
    V(FASTER, "faster")                                                                                      \
    V(SLOWER, "slower")
enum extended_verdict {
#define EXTENDED_VERDICT(suffix, word) EXTENDED_##suffix,
    EXTENDED_VERDICTS(EXTENDED_VERDICT)
#undef EXTENDED_VERDICT
};

/* Why the verdict is what it is: W(constant suffix, "code", "meaning"). */
#define EXTENDED_REASONS(W)                                                                                  \
    W(COHORTS, "cohorts_not_comparable",                                                                     \
      "comparison/6 has reasons against comparing baseline and candidate")                                   \
    W(NOISE, "noise_not_comparable", "comparison/6 has reasons against comparing baseline and noise runs")   \
    W(WITHIN, "within_threshold", "the whole interval lies within the least effect that matters")            \
    W(ZERO, "interval_contains_zero", "the interval of the median difference contains 0")                    \
    W(SMALL, "below_threshold", "the median difference is not beyond the least effect that matters")         \
    W(CHANCE, "p_value_above_level", "the permutation test's p-value is above 0.05")                         \
    W(CLEAR, "difference_established", "interval, permutation test and least effect all speak for it")
enum extended_reason {
#define EXTENDED_REASON(suffix, code, meaning) EXTENDED_REASON_##suffix,
    EXTENDED_REASONS(EXTENDED_REASON)
#undef EXTENDED_REASON
        EXTENDED_REASON_COUNT
};

/* What was asked for. */
struct extension_request {
    bool percent_given, ns_given;
    double percent; /* of the baseline's median */
    uint64_t ns;
};

struct comparison_extensions {
    struct extension_request request;
    const struct comparison *comparison;
    const struct comparison *noise; /* baseline against the noise cohort; NULL: none given */
    bool test_known;                /* only of comparable cohorts */
    struct permutation_test test;
    double noise_floor_ns; /* the far end of the interval of baseline against noise */
    double threshold_ns;   /* the least effect that matters; 0: any */
    enum extended_verdict verdict;
    bool reasons[EXTENDED_REASON_COUNT];
    bool few_runs;
    const struct structure_comparison *structure; /* NULL: not asked for */
    uint64_t structure_cap;                       /* differences that are shown of each part */
};

/* Both comparisons must outlive the extensions. False when memory is short. */
bool comparison_extend(const struct comparison *comparison, const struct comparison *noise,
                       const struct extension_request *request, struct comparison_extensions *extensions);
const char *extended_verdict_name(enum extended_verdict verdict);
/* The object. */
void emit_comparison_extensions(struct json_doc *doc, const struct comparison_extensions *extensions);

#endif
