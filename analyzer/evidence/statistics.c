#include "analyzer/evidence/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The interval's ends among the sorted deltas: no interpolation (doc/spec/compare.md 1.9). */
enum { LOWER_RANK = 249, UPPER_RANK = 9749 };

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static int compare_double(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int compare_difference(const void *a, const void *b)
{
    __int128 x = *(const __int128 *)a, y = *(const __int128 *)b;
    return (x > y) - (x < y);
}

/* Between two neighbours of the sorted sample, as 1.7 writes it: two products and one sum. */
static double interpolate(uint64_t low, uint64_t high, double weight)
{
    return (double)low * (1.0 - weight) + (double)high * weight;
}

double quantile_sorted(const uint64_t *sorted, size_t count, double q)
{
    if (count == 0) return 0.0;
    double position = q * (double)(count - 1);
    double low = floor(position), high = ceil(position);
    return interpolate(sorted[(size_t)low], sorted[(size_t)high], position - low);
}

/* Half away from zero, clamped into u64; x is not negative. */
static uint64_t round_u64(double x)
{
    double rounded = round(x);
    return rounded >= 0x1p64 ? UINT64_MAX : (uint64_t)rounded;
}

bool sample_statistics_make(const uint64_t *values, size_t count, struct sample_statistics *statistics)
{
    uint64_t *sorted = malloc(count * sizeof *sorted + 1);
    if (!sorted) return false;
    if (count) memcpy(sorted, values, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare_u64);
    statistics->median_ns = quantile_sorted(sorted, count, 0.5);
    statistics->p95_ns = quantile_sorted(sorted, count, 0.95);
    uint64_t center = round_u64(statistics->median_ns);
    for (size_t i = 0; i < count; i++)
        sorted[i] = sorted[i] > center ? sorted[i] - center : center - sorted[i];
    qsort(sorted, count, sizeof *sorted, compare_u64);
    statistics->mad_ns = quantile_sorted(sorted, count, 0.5);
    free(sorted);
    return true;
}

static __int128 pair_difference(struct sample_pair pair)
{
    return (__int128)pair.candidate - (__int128)pair.baseline;
}

/* The median of ascending integers; both middle ones are converted before they are averaged (1.8). */
static double middle(__int128 low, __int128 high, bool odd)
{
    return odd ? (double)high : ((double)low + (double)high) / 2.0;
}

bool paired_median_delta(const struct sample_pair *pairs, size_t count, double *delta)
{
    *delta = 0.0;
    if (count == 0) return true;
    __int128 *differences = malloc(count * sizeof *differences);
    if (!differences) return false;
    for (size_t i = 0; i < count; i++)
        differences[i] = pair_difference(pairs[i]);
    qsort(differences, count, sizeof *differences, compare_difference);
    *delta = middle(differences[(count - 1) / 2], differences[count / 2], count % 2 == 1);
    free(differences);
    return true;
}

/* 64-bit xorshift, triple (13, 7, 17): G. Marsaglia, "Xorshift RNGs" (2003). */
static size_t draw(uint64_t *state, size_t count)
{
    uint64_t x = *state;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    *state = x;
    return (size_t)(x % count);
}

/* A sample prepared for resampling: its values ascending, and where each of the given order stands among
 * them. A resample is then a count for each rank, and its middle is found by walking the counts: linear,
 * nothing to sort. */
struct ranked {
    size_t count;
    uint32_t *rank;  /* by position in the given order */
    uint32_t *drawn; /* by rank: how often in this round */
    __int128 *sorted;
};

static void ranked_free(struct ranked *sample)
{
    free(sample->rank);
    free(sample->drawn);
    free(sample->sorted);
}

static bool ranked_make(struct ranked *sample, const __int128 *values, size_t count)
{
    *sample = (struct ranked){.count = count,
                              .rank = malloc(count * sizeof *sample->rank + 1),
                              .drawn = calloc(count + 1, sizeof *sample->drawn),
                              .sorted = malloc(count * sizeof *sample->sorted + 1)};
    if (!sample->rank || !sample->drawn || !sample->sorted) return false;
    memcpy(sample->sorted, values, count * sizeof *values);
    qsort(sample->sorted, count, sizeof *values, compare_difference);
    for (size_t i = 0; i < count; i++) {
        /* Equal values may share a rank: which of them was drawn makes no difference to a median. */
        const __int128 *at = bsearch(&values[i], sample->sorted, count, sizeof *values, compare_difference);
        sample->rank[i] = (uint32_t)(at - sample->sorted);
    }
    return true;
}

/* Draws count times with replacement; gives the two middle values, the same one twice when count is odd. */
static void resample_middle(struct ranked *sample, uint64_t *state, __int128 *low, __int128 *high)
{
    memset(sample->drawn, 0, sample->count * sizeof *sample->drawn);
    for (size_t i = 0; i < sample->count; i++)
        sample->drawn[sample->rank[draw(state, sample->count)]]++;
    size_t low_rank = (sample->count - 1) / 2, high_rank = sample->count / 2;
    size_t at = 0, seen = sample->drawn[0];
    while (seen <= low_rank)
        seen += sample->drawn[++at];
    *low = sample->sorted[at];
    while (seen <= high_rank)
        seen += sample->drawn[++at];
    *high = sample->sorted[at];
}

/* quantile_sorted(…, 0.5) of a resample of durations. */
static double resample_median(struct ranked *sample, uint64_t *state)
{
    __int128 low, high;
    resample_middle(sample, state, &low, &high);
    double position = 0.5 * (double)(sample->count - 1);
    return interpolate((uint64_t)low, (uint64_t)high, position - floor(position));
}

static void interval_of(double *deltas, struct confidence_interval *interval)
{
    qsort(deltas, BOOTSTRAP_ROUNDS, sizeof *deltas, compare_double);
    *interval = (struct confidence_interval){0.95, deltas[LOWER_RANK], deltas[UPPER_RANK]};
}

static bool ranked_from_durations(struct ranked *sample, const uint64_t *durations, size_t count)
{
    __int128 *values = malloc(count * sizeof *values + 1);
    if (!values) return false;
    for (size_t i = 0; i < count; i++)
        values[i] = durations[i];
    bool ok = ranked_make(sample, values, count);
    free(values);
    return ok;
}

bool bootstrap_unpaired(const uint64_t *baseline, size_t baseline_count, const uint64_t *candidate,
                        size_t candidate_count, uint64_t *state, struct confidence_interval *interval)
{
    struct ranked before = {0}, after = {0};
    double *deltas = malloc(BOOTSTRAP_ROUNDS * sizeof *deltas);
    bool ok = deltas && ranked_from_durations(&before, baseline, baseline_count) &&
              ranked_from_durations(&after, candidate, candidate_count);
    if (ok) {
        for (size_t i = 0; i < BOOTSTRAP_ROUNDS; i++) {
            double before_median = resample_median(&before, state);
            deltas[i] = resample_median(&after, state) - before_median;
        }
        interval_of(deltas, interval);
    }
    ranked_free(&before);
    ranked_free(&after);
    free(deltas);
    return ok;
}

bool bootstrap_paired(const struct sample_pair *pairs, size_t count, uint64_t *state,
                      struct confidence_interval *interval)
{
    struct ranked sample = {0};
    double *deltas = malloc(BOOTSTRAP_ROUNDS * sizeof *deltas);
    __int128 *differences = malloc(count * sizeof *differences + 1);
    bool ok = deltas && differences;
    if (ok) {
        for (size_t i = 0; i < count; i++)
            differences[i] = pair_difference(pairs[i]);
        ok = ranked_make(&sample, differences, count);
    }
    if (ok) {
        for (size_t i = 0; i < BOOTSTRAP_ROUNDS; i++) {
            __int128 low, high;
            resample_middle(&sample, state, &low, &high);
            deltas[i] = middle(low, high, count % 2 == 1);
        }
        interval_of(deltas, interval);
    }
    ranked_free(&sample);
    free(differences);
    free(deltas);
    return ok;
}
