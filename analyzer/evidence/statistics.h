/* Statistics of a comparison: order statistics and the fixed-seed bootstrap.
 *
 * Every operation is rounded to binary64 by itself (the build forbids contraction), so that two
 * implementations of doc/spec/compare.md agree to the last bit. */
#ifndef CGTRACE_ANALYZER_EVIDENCE_STATISTICS_H
#define CGTRACE_ANALYZER_EVIDENCE_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Two durations of one pair, in nanoseconds. */
struct sample_pair {
    uint64_t baseline, candidate;
};

struct confidence_interval {
    double level, lower_delta_ns, upper_delta_ns;
};

struct sample_statistics {
    double median_ns, p95_ns, mad_ns;
};

#define BOOTSTRAP_ROUNDS 10000u
#define BOOTSTRAP_SEED   0x4d595df4d0f33173u

/* Quantile with linear interpolation of n values in ascending order; 0 for none (doc/spec/compare.md 1.7). */
double quantile_sorted(const uint64_t *sorted, size_t count, double q);

/* Median, 95th percentile and unscaled median absolute deviation of values in any order. False when memory is
 * short. */
bool sample_statistics_make(const uint64_t *values, size_t count, struct sample_statistics *statistics);

/* Median of candidate - baseline over pairs, exact up to the conversion to double (1.8). False when memory is
 * short. */
bool paired_median_delta(const struct sample_pair *pairs, size_t count, double *delta);

/* Percentile bootstrap of the difference of medians (1.9): candidate minus baseline, each resampled in
 * argument order. *state is the generator's: BOOTSTRAP_SEED to begin with, the end state afterwards. Both
 * cohorts hold at least one sample. False when memory is short. */
bool bootstrap_unpaired(const uint64_t *baseline, size_t baseline_count, const uint64_t *candidate,
                        size_t candidate_count, uint64_t *state, struct confidence_interval *interval);
/* The same for the median of differences over resampled pairs; pairs in ascending order of their ids. */
bool bootstrap_paired(const struct sample_pair *pairs, size_t count, uint64_t *state,
                      struct confidence_interval *interval);

#endif
