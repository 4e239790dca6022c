/* Two-sided permutation test of a difference of means.
 *
 * Under the hypothesis that the label of a run (baseline or candidate) says nothing about its duration, every
 * assignment of labels is equally likely. The p-value is the share of assignments whose means differ by at
 * least as much as those observed (E. Pitman, 1937). Means are compared as integer sums, so no rounding
 * decides. Paired runs exchange their labels within each pair. */
#ifndef CGTRACE_ANALYZER_EVIDENCE_PERMUTATION_H
#define CGTRACE_ANALYZER_EVIDENCE_PERMUTATION_H

#include "analyzer/evidence/statistics.h"

/* Up to this many assignments all are looked at; beyond, this many are drawn with the fixed seed of the
 * bootstrap, and the p-value is (1 + hits) / (1 + draws). */
#define PERMUTATION_EXACT_MAX 4000000u
#define PERMUTATION_DRAWS     100000u

struct permutation_test {
    bool exact;
    uint64_t assignments; /* looked at or drawn */
    double p_value;
    double standard_error; /* of a drawn p-value; 0 when exact */
};

/* Both cohorts hold at least one sample, together at most 2^32. False when memory is short. */
bool permutation_unpaired(const uint64_t *baseline, size_t baseline_count, const uint64_t *candidate,
                          size_t candidate_count, struct permutation_test *test);
/* At least one pair. */
void permutation_paired(const struct sample_pair *pairs, size_t count, struct permutation_test *test);

#endif
