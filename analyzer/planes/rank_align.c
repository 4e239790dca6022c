/* Clocks of machines that only collectives compare (A. Duda et al., Estimating global time in distributed
 * systems, 1987: each exchange bounds the offset from one side). */
#include <stdlib.h>

#include "analyzer/planes/array.h"
#include "analyzer/planes/rank_match.h"

bool rank_match_make(const struct rank *ranks, size_t count, const struct cg_strings *labels,
                     struct rank_match *match)
{
    size_t total = 0;

    for (size_t i = 0; i < count; i++)
        total += ranks[i].columns.label_count;
    *match = (struct rank_match){.ranks = ranks,
                                 .labels = labels,
                                 .members = array_raw(total, sizeof *match->members),
                                 .first = array_zeroed((size_t)labels->count + 3, sizeof *match->first)};
    if (!match->members || !match->first) {
        rank_match_free(match);
        return false;
    }
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < ranks[i].columns.label_count; k++)
            match->first[ranks[i].columns.labels[k].label + 2]++;
    for (size_t label = 1; label < (size_t)labels->count + 3; label++)
        match->first[label] += match->first[label - 1];
    /* first[label + 1] is where label's members begin, and becomes where they end. */
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < ranks[i].columns.label_count; k++) {
            const struct rank_label *label = &ranks[i].columns.labels[k];
            match->members[match->first[label->label + 1]++] = (struct rank_member){(uint32_t)i, label};
        }
    return true;
}

void rank_match_free(struct rank_match *match)
{
    free(match->members);
    free(match->first);
    *match = (struct rank_match){0};
}

struct rank_counts rank_counts(const struct rank_match *match, const struct rank_member *members,
                               size_t count)
{
    struct rank_counts counts = {.fewest = UINT32_MAX, .matched = true};
    uint32_t complete = 0;

    for (size_t i = 0; i < count; i++) {
        uint32_t own = members[i].label->count;
        if (own < counts.fewest) counts.fewest = own;
        if (own > counts.most) counts.most = own;
        if (!match->ranks[members[i].rank].complete) continue;
        counts.matched = counts.matched && (complete == 0 || complete == own);
        complete = own;
    }
    counts.matched = counts.matched && (complete == 0 || counts.most == complete);
    return counts;
}

/* By how much the clock of a machine may be ahead of machine 0's, and seems to be. */
struct bounds {
    int64_t least, most;
    __int128 apart; /* sum over the occurrences of how far the first to leave were apart */
    int64_t occurrences;
};
/* Of one occurrence, on one machine. */
struct visit {
    int64_t last_start, first_end;
    bool any;
};

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void narrow(const struct rank_match *match, const struct rank_axis *axis,
                   const struct rank_member *members, size_t count, uint32_t k, struct visit *visits,
                   struct bounds *bounds)
{
    for (size_t i = 0; i < axis->machine_count; i++)
        visits[i] = (struct visit){INT64_MIN, INT64_MAX, false};
    for (size_t i = 0; i < count; i++) {
        if (k >= members[i].label->count) continue;
        const struct rank_clock *clock = &axis->clocks[members[i].rank];
        const struct rank_occurrence *own = rank_occurrence_of(match, &members[i], k);
        struct visit *visit = &visits[clock->machine];
        int64_t end = rank_axis_time(clock, cg_sat_add(own->start_ns, own->duration_ns));
        visit->last_start = later(visit->last_start, rank_axis_time(clock, own->start_ns));
        visit->first_end = earlier(visit->first_end, end);
        visit->any = true;
    }
    for (size_t i = 1; i < axis->machine_count && visits[0].any; i++) {
        if (!visits[i].any) continue;
        bounds[i].least = later(bounds[i].least, visits[i].last_start - visits[0].first_end);
        bounds[i].most = earlier(bounds[i].most, visits[i].first_end - visits[0].last_start);
        bounds[i].apart += visits[i].first_end - visits[0].first_end;
        bounds[i].occurrences++;
    }
}

/* What is known of the machines' clocks before any collective. */
static struct bounds known_bounds(const struct rank_machine *machine, const struct ranks_criteria *criteria)
{
    if (!criteria->clock_error_known) return (struct bounds){.least = INT64_MIN, .most = INT64_MAX};
    int64_t error = (int64_t)criteria->clock_error_ns, moved = machine->highest_ns - machine->lowest_ns;
    error = error < CG_CLOCK_LIMIT - moved ? error + moved : CG_CLOCK_LIMIT;
    return (struct bounds){.least = -error, .most = error};
}

/* Of what is possible the offset that has the ranks leave together, or else the nearest to it. */
static void settle(struct rank_axis *axis, const struct bounds *bounds, struct ranks *result)
{
    for (uint32_t i = 1; i < axis->machine_count; i++) {
        const struct bounds *own = &bounds[i];
        if (own->least == INT64_MIN) continue;
        if (own->least > own->most) {
            result->clocks_conflict = true;
            continue;
        }
        int64_t ahead = own->occurrences ? (int64_t)(own->apart / own->occurrences) : 0;
        ahead = earlier(later(ahead, own->least), own->most);
        rank_axis_shift(axis, i, -ahead);
        axis->machines[i].bounded = true;
        axis->machines[i].bound_ns = (uint64_t)later(own->most - ahead, ahead - own->least);
    }
    rank_axis_settle(axis);
}

static void narrow_by_labels(const struct rank_match *match, const struct rank_axis *axis,
                             const char *collective, struct visit *visits, struct bounds *bounds,
                             struct ranks *result)
{
    for (uint32_t label = 1; label <= match->labels->count; label++) {
        const struct rank_member *members = match->members + match->first[label];
        size_t count = match->first[label + 1] - match->first[label];
        struct cg_text name = strings_text(match->labels, label);
        if (count < 2 || !rank_begins(name, collective)) continue;
        struct rank_counts counts = rank_counts(match, members, count);
        if (!counts.matched) continue;
        for (uint32_t k = 0; k < counts.most; k++)
            narrow(match, axis, members, count, k, visits, bounds);
        result->collectives_aligned += counts.fewest;
    }
}

bool rank_align(const struct rank_match *match, struct rank_axis *axis, const struct ranks_criteria *criteria,
                struct ranks *result)
{
    if (axis->machine_count < 2) return true;
    struct bounds *bounds = array_raw(axis->machine_count, sizeof *bounds);
    struct visit *visits = array_raw(axis->machine_count, sizeof *visits);
    bool enough = bounds && visits;

    if (enough) {
        for (size_t i = 0; i < axis->machine_count; i++)
            bounds[i] = known_bounds(&axis->machines[i], criteria);
        if (criteria->collective) narrow_by_labels(match, axis, criteria->collective, visits, bounds, result);
        settle(axis, bounds, result);
    }
    free(bounds);
    free(visits);
    return enough;
}
