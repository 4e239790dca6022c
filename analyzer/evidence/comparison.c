#include "analyzer/evidence/comparison.h"

#include <math.h>
#include <stdlib.h>

#include "analyzer/evidence/comparison_reasons.h"

const char *comparison_code_name(enum comparison_code code)
{
    static const char *const names[] = {
#define NAME(suffix, wire, meaning) wire,
        COMPARISON_REASONS(NAME)
#undef NAME
    };
    return names[code];
}

const char *comparison_verdict_name(enum comparison_verdict verdict)
{
    static const char *const names[] = {"ineligible", "inconclusive", "candidate_faster", "candidate_slower"};
    return names[verdict];
}

static bool sample(const struct cohort *cohort, struct cohort_result *result)
{
    result->samples_ns = calloc(cohort->count + 1, sizeof *result->samples_ns);
    if (!result->samples_ns) return false;
    result->count = cohort->count;
    for (size_t i = 0; i < cohort->count; i++)
        result->samples_ns[i] = cohort->runs[i].measured_duration_ns;
    return sample_statistics_make(result->samples_ns, result->count, &result->statistics);
}

static bool measure(struct comparison *comparison)
{
    if (!sample(&comparison->baseline_inputs, &comparison->baseline) ||
        !sample(&comparison->candidate_inputs, &comparison->candidate))
        return false;
    double before = comparison->baseline.statistics.median_ns;
    comparison->median_delta_ns = comparison->candidate.statistics.median_ns - before;
    if (comparison->paired &&
        !paired_median_delta(comparison->pairs, comparison->pair_count, &comparison->median_delta_ns))
        return false;
    comparison->percent_known = before != 0.0;
    if (comparison->percent_known)
        comparison->median_delta_percent = comparison->median_delta_ns / before * 100.0;
    return true;
}

static bool decide(struct comparison *comparison)
{
    comparison->verdict = VERDICT_INELIGIBLE;
    if (comparison->reason_count > 0) return true;
    uint64_t generator = BOOTSTRAP_SEED;
    bool ok =
        comparison->paired
            ? bootstrap_paired(comparison->pairs, comparison->pair_count, &generator, &comparison->interval)
            : bootstrap_unpaired(comparison->baseline.samples_ns, comparison->baseline.count,
                                 comparison->candidate.samples_ns, comparison->candidate.count, &generator,
                                 &comparison->interval);
    if (!ok) return false;
    comparison->interval_known = true;
    comparison->verdict = comparison->interval.upper_delta_ns < 0.0   ? VERDICT_FASTER
                          : comparison->interval.lower_delta_ns > 0.0 ? VERDICT_SLOWER
                                                                      : VERDICT_INCONCLUSIVE;
    return true;
}

/* ---- tensor statistics (doc/spec/compare.md 1.10) ---- */

/* One event, to be grouped by label; side 0 is the baseline. */
struct labelled {
    struct cg_text label;
    const struct fact_stats *event;
    size_t run;
    size_t order;
    int side;
};

static int compare_labelled(const void *a, const void *b)
{
    const struct labelled *x = a, *y = b;
    int order = text_compare(x->label, y->label);
    if (order) return order;
    if (x->side != y->side) return x->side - y->side;
    return (x->order > y->order) - (x->order < y->order);
}

/* Sums of one label in one cohort, over runs and events in order. */
struct label_sums {
    double rms, abs_max;
    uint64_t non_finite, samples, runs;
};

/* Takes the events of one label and side off the front; returns how many. */
static size_t sum_label(const struct labelled *events, size_t count, int side, struct label_sums *sums)
{
    *sums = (struct label_sums){0};
    size_t i = 0;
    for (; i < count && events[i].side == side && text_equal(events[i].label, events[0].label); i++) {
        const struct fact_stats *event = events[i].event;
        sums->rms += event->rms;
        sums->abs_max += event->abs_max;
        sums->non_finite = cg_sat_add(sums->non_finite, event->non_finite);
        sums->runs += i == 0 || events[i].run != events[i - 1].run;
    }
    sums->samples = i;
    return i;
}

/* b / a of two means; 1 when both are 0, not known when only a is. */
static bool ratio(double a, double b, double *result)
{
    *result = a == 0.0 ? 1.0 : b / a;
    return a != 0.0 || b == 0.0;
}

static struct stats_row make_row(struct cg_text label, const struct label_sums *a, const struct label_sums *b)
{
    struct stats_row row = {.label = label,
                            .rms_a = a->rms / (double)a->samples,
                            .rms_b = b->rms / (double)b->samples,
                            .non_finite_a = a->non_finite,
                            .non_finite_b = b->non_finite,
                            .samples_a = a->samples,
                            .samples_b = b->samples,
                            .runs_a = a->runs,
                            .runs_b = b->runs};
    row.rms_ratio_known = ratio(row.rms_a, row.rms_b, &row.rms_ratio);
    row.abs_max_ratio_known =
        ratio(a->abs_max / (double)a->samples, b->abs_max / (double)b->samples, &row.abs_max_ratio);
    return row;
}

static double distance(const struct stats_row *row)
{
    return row->rms_ratio_known && row->rms_ratio > 0.0 ? fabs(log(row->rms_ratio)) : INFINITY;
}

static int compare_rows(const void *a, const void *b)
{
    double x = distance(a), y = distance(b);
    if (x != y) return x > y ? -1 : 1;
    return text_compare(((const struct stats_row *)a)->label, ((const struct stats_row *)b)->label);
}

static size_t gather(const struct cohort *cohort, int side, struct labelled *events, size_t filled)
{
    for (size_t run = 0; run < cohort->count; run++)
        for (size_t i = 0; i < cohort->runs[run].stats_count; i++, filled++)
            events[filled] = (struct labelled){.label = cohort->runs[run].stats[i].label,
                                               .event = &cohort->runs[run].stats[i],
                                               .run = run,
                                               .order = filled,
                                               .side = side};
    return filled;
}

static size_t count_events(const struct cohort *cohort)
{
    size_t count = 0;
    for (size_t run = 0; run < cohort->count; run++)
        count += cohort->runs[run].stats_count;
    return count;
}

static bool match_labels(struct comparison *comparison)
{
    size_t room = count_events(&comparison->baseline_inputs) + count_events(&comparison->candidate_inputs);
    struct labelled *events = calloc(room + 1, sizeof *events);
    comparison->matched = calloc(room + 1, sizeof *comparison->matched);
    comparison->unmatched_a = calloc(room + 1, sizeof *comparison->unmatched_a);
    comparison->unmatched_b = calloc(room + 1, sizeof *comparison->unmatched_b);
    bool ok = events && comparison->matched && comparison->unmatched_a && comparison->unmatched_b;
    if (ok) {
        size_t count = gather(&comparison->candidate_inputs, 1, events,
                              gather(&comparison->baseline_inputs, 0, events, 0));
        qsort(events, count, sizeof *events, compare_labelled);
        for (size_t i = 0; i < count;) {
            struct label_sums a, b = {0};
            struct cg_text label = events[i].label;
            i += sum_label(events + i, count - i, 0, &a);
            if (i < count && text_equal(events[i].label, label)) i += sum_label(events + i, count - i, 1, &b);
            if (a.samples && b.samples)
                comparison->matched[comparison->matched_count++] = make_row(label, &a, &b);
            else if (a.samples)
                comparison->unmatched_a[comparison->unmatched_a_count++] = label;
            else
                comparison->unmatched_b[comparison->unmatched_b_count++] = label;
        }
        qsort(comparison->matched, comparison->matched_count, sizeof *comparison->matched, compare_rows);
    }
    free(events);
    return ok;
}

bool comparison_make(const struct cohort *baseline, const struct cohort *candidate, bool verified,
                     struct comparison *comparison)
{
    *comparison = (struct comparison){
        .verified = verified, .baseline_inputs = *baseline, .candidate_inputs = *candidate};
    bool ok = comparison_examine(comparison) && measure(comparison) && decide(comparison) &&
              match_labels(comparison);
    if (!ok) comparison_free(comparison);
    return ok;
}

void comparison_free(struct comparison *comparison)
{
    arena_free(&comparison->arena);
    free(comparison->reasons);
    free(comparison->pairs);
    free(comparison->baseline.samples_ns);
    free(comparison->candidate.samples_ns);
    free(comparison->matched);
    free(comparison->unmatched_a);
    free(comparison->unmatched_b);
    *comparison = (struct comparison){0};
}
