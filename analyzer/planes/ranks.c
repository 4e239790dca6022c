#include "analyzer/planes/ranks.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/planes/array.h"
#include "analyzer/planes/rank_match.h"

/* A label counts as left together when its ranks come this many times further apart than they leave, in at
 * least so many occurrences, and nearly all of its time is its own. */
enum { TOGETHER_FACTOR = 10, TOGETHER_OCCURRENCES = 5 };

/* One label while it is compared. */
struct pass {
    struct rank_match match;
    const struct rank_axis *axis;
    const struct ranks_criteria *criteria;
    struct ranks *result;
    size_t straggler_room, collective_room;

    /* The label in hand. */
    uint32_t label;
    const struct rank_member *members;
    size_t count;
    struct rank_counts counts;
    uint64_t uncertainty_ns; /* of its skew */

    /* Room: for a value of each occurrence, of each rank. */
    uint64_t *start_skew, *end_skew, *values;
    size_t value_room;
    uint64_t *sorted, *medians;
    struct rank_straggler *slow[RANK_PLANES]; /* by member */
    uint32_t *last_in;                        /* by rank, as are those of rank_totals */
    uint64_t *delay;
};

static int compare_u64(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* Of a sorted list: the middle, of an even number the mean of the two in the middle, rounded down. */
static uint64_t middle(const uint64_t *sorted, size_t count)
{
    uint64_t low = sorted[(count - 1) / 2], high = sorted[count / 2];
    return low + (high - low) / 2;
}

/* The same without the element at index. */
static uint64_t middle_without(const uint64_t *sorted, size_t count, size_t index)
{
    size_t low = (count - 2) / 2, high = (count - 1) / 2;
    uint64_t a = sorted[low + (low >= index)], b = sorted[high + (high >= index)];
    return a + (b - a) / 2;
}

/* Where value stands in a sorted list that has it. */
static size_t place(const uint64_t *sorted, size_t count, uint64_t value)
{
    const uint64_t *at = bsearch(&value, sorted, count, sizeof value, compare_u64);
    return (size_t)(at - sorted);
}

static struct rank_skew skew_of(uint64_t *values, size_t count)
{
    qsort(values, count, sizeof *values, compare_u64);
    return (struct rank_skew){middle(values, count), values[count - 1]};
}

static uint64_t plane_of(const struct rank_occurrence *occurrence, enum rank_plane plane)
{
    return plane == RANK_HOST ? occurrence->self_ns : occurrence->device_ns;
}

/* ---- skew ---- */

static uint64_t apart(int64_t least, int64_t most)
{
    return (uint64_t)most - (uint64_t)least;
}

/* The differences of each occurrence that two ranks or more have; returns how many. */
static size_t measure_skew(struct pass *pass)
{
    size_t measured = 0;

    for (uint32_t k = 0; k < pass->counts.most; k++) {
        int64_t start[2] = {INT64_MAX, INT64_MIN}, end[2] = {INT64_MAX, INT64_MIN};
        size_t present = 0;
        for (size_t i = 0; i < pass->count; i++) {
            if (k >= pass->members[i].label->count) continue;
            const struct rank_clock *clock = &pass->axis->clocks[pass->members[i].rank];
            const struct rank_occurrence *own = rank_occurrence_of(&pass->match, &pass->members[i], k);
            int64_t from = rank_axis_time(clock, own->start_ns);
            int64_t to = rank_axis_time(clock, cg_sat_add(own->start_ns, own->duration_ns));
            if (from < start[0]) start[0] = from;
            if (from > start[1]) start[1] = from;
            if (to < end[0]) end[0] = to;
            if (to > end[1]) end[1] = to;
            present++;
        }
        if (present < 2) break; /* the later ones are of fewer ranks still */
        pass->start_skew[measured] = apart(start[0], start[1]);
        pass->end_skew[measured++] = apart(end[0], end[1]);
    }
    return measured;
}

/* Whether the clocks of these ranks are bounded against each other, and how well. */
static bool clocks_bounded(struct pass *pass)
{
    uint32_t machine = pass->axis->clocks[pass->members[0].rank].machine;

    pass->uncertainty_ns = rank_axis_uncertainty(pass->axis);
    for (size_t i = 1; i < pass->count; i++)
        if (pass->axis->clocks[pass->members[i].rank].machine != machine)
            return rank_axis_uncertainty_across(pass->axis, &pass->uncertainty_ns);
    return true;
}

static bool mostly_own(const struct pass *pass)
{
    unsigned __int128 own = 0, all = 0;

    for (size_t i = 0; i < pass->count; i++)
        for (uint32_t k = 0; k < pass->members[i].label->count; k++) {
            const struct rank_occurrence *occurrence = rank_occurrence_of(&pass->match, &pass->members[i], k);
            own += occurrence->self_ns;
            all += occurrence->duration_ns;
        }
    return own * 10 >= all * 9;
}

static void set_skew(struct pass *pass, struct rank_label_row *row)
{
    bool bounded = clocks_bounded(pass);
    size_t measured = pass->count > 1 && row->matched ? measure_skew(pass) : 0;

    row->skew_known = bounded && measured > 0;
    if (rank_is_collective(strings_text(pass->match.labels, pass->label), pass->criteria->collective))
        row->role = RANK_ROLE_COLLECTIVE;
    if (measured == 0) return;
    row->start = skew_of(pass->start_skew, measured);
    row->end = skew_of(pass->end_skew, measured);
    if (row->role == RANK_ROLE_WORK && row->skew_known && measured >= TOGETHER_OCCURRENCES &&
        row->start.median_ns > pass->uncertainty_ns &&
        row->start.median_ns / TOGETHER_FACTOR >= row->end.median_ns && mostly_own(pass))
        row->role = RANK_ROLE_TOGETHER;
}

/* ---- collectives ---- */

/* Who came last to the k-th occurrence, and how long the others waited. */
static void arrive(struct pass *pass, uint32_t k, struct rank_collective *collective)
{
    int64_t last = INT64_MIN, before = INT64_MIN;
    uint32_t rank = CG_NONE;
    size_t present = 0;

    for (size_t i = 0; i < pass->count; i++) {
        const struct rank_member *member = &pass->members[i];
        if (k >= member->label->count) continue;
        int64_t at = rank_axis_time(&pass->axis->clocks[member->rank],
                                    rank_occurrence_of(&pass->match, member, k)->start_ns);
        present++;
        if (at > last) {
            before = last;
            last = at;
            rank = member->rank;
        } else if (at > before) {
            before = at;
        }
    }
    if (present < 2) return;
    collective->occurrences++;
    for (size_t i = 0; i < pass->count; i++) {
        const struct rank_member *member = &pass->members[i];
        if (k >= member->label->count) continue;
        uint64_t waited = apart(rank_axis_time(&pass->axis->clocks[member->rank],
                                               rank_occurrence_of(&pass->match, member, k)->start_ns),
                                last);
        collective->waited_ns = cg_sat_add(collective->waited_ns, waited);
        struct rank_totals *totals = &pass->result->totals[member->rank];
        totals->waited_ns = cg_sat_add(totals->waited_ns, waited);
    }
    if (apart(before, last) <= pass->uncertainty_ns) {
        collective->undecided++;
        return;
    }
    pass->last_in[rank]++;
    pass->delay[rank] = cg_sat_add(pass->delay[rank], apart(before, last));
}

static bool add_collective(struct pass *pass, size_t row)
{
    struct ranks *result = pass->result;
    struct rank_collective made = {.row = row, .last_rank = CG_NONE};

    if (!array_room(&result->collectives, result->collective_count, &pass->collective_room,
                    sizeof *result->collectives))
        return false;
    for (size_t i = 0; i < pass->count; i++) {
        pass->last_in[pass->members[i].rank] = 0;
        pass->delay[pass->members[i].rank] = 0;
    }
    for (uint32_t k = 0; k < pass->counts.most; k++)
        arrive(pass, k, &made);
    for (size_t i = 0; i < pass->count; i++) {
        uint32_t rank = pass->members[i].rank;
        result->totals[rank].last_in += pass->last_in[rank];
        result->totals[rank].delay_ns = cg_sat_add(result->totals[rank].delay_ns, pass->delay[rank]);
        if (pass->last_in[rank] <= made.last_in) continue;
        made.last_rank = rank;
        made.last_in = pass->last_in[rank];
        made.delay_ns = pass->delay[rank];
    }
    result->collectives[result->collective_count++] = made;
    return true;
}

/* ---- stragglers ---- */

static bool above(const struct pass *pass, uint64_t value, uint64_t reference)
{
    return reference > 0 && (unsigned __int128)value * 100 >=
                                (unsigned __int128)reference * (100 + pass->criteria->slower_percent);
}

/* Medians of each rank's occurrences, by member. */
static void fill_medians(struct pass *pass, enum rank_plane plane)
{
    for (size_t i = 0; i < pass->count; i++) {
        uint32_t count = pass->members[i].label->count;
        for (uint32_t k = 0; k < count; k++)
            pass->values[k] = plane_of(rank_occurrence_of(&pass->match, &pass->members[i], k), plane);
        qsort(pass->values, count, sizeof *pass->values, compare_u64);
        pass->medians[i] = middle(pass->values, count);
    }
}

/* Holds the k-th occurrence of each rank against the median of the others. */
static void compare_occurrence(struct pass *pass, enum rank_plane plane, uint32_t k)
{
    struct rank_straggler *slow = pass->slow[plane];
    size_t present = 0;

    for (size_t i = 0; i < pass->count; i++)
        if (k < pass->members[i].label->count)
            pass->sorted[present++] = plane_of(rank_occurrence_of(&pass->match, &pass->members[i], k), plane);
    if (present < 2) return;
    qsort(pass->sorted, present, sizeof *pass->sorted, compare_u64);
    for (size_t i = 0; i < pass->count; i++) {
        if (k >= pass->members[i].label->count) continue;
        uint64_t own = plane_of(rank_occurrence_of(&pass->match, &pass->members[i], k), plane);
        uint64_t others = middle_without(pass->sorted, present, place(pass->sorted, present, own));
        slow[i].occurrences++;
        slow[i].slow_in += above(pass, own, others);
        slow[i].excess_ns += own - others; /* modulo 2^64; its sign is looked at in the end */
    }
}

static bool add_stragglers(struct pass *pass, enum rank_plane plane)
{
    struct ranks *result = pass->result;

    fill_medians(pass, plane);
    memset(pass->slow[plane], 0, pass->count * sizeof *pass->slow[plane]);
    for (uint32_t k = 0; k < pass->counts.most; k++)
        compare_occurrence(pass, plane, k);
    memcpy(pass->sorted, pass->medians, pass->count * sizeof *pass->sorted);
    qsort(pass->sorted, pass->count, sizeof *pass->sorted, compare_u64);
    for (size_t i = 0; i < pass->count; i++) {
        struct rank_straggler *slow = &pass->slow[plane][i];
        slow->rank = pass->members[i].rank;
        slow->label = pass->label;
        slow->plane = plane;
        slow->median_ns = pass->medians[i];
        slow->others_ns =
            middle_without(pass->sorted, pass->count, place(pass->sorted, pass->count, pass->medians[i]));
        if (!above(pass, slow->median_ns, slow->others_ns) || slow->slow_in * 2 < slow->occurrences ||
            slow->occurrences == 0 || slow->excess_ns > INT64_MAX ||
            slow->excess_ns < pass->criteria->min_excess_ns)
            continue;
        if (!array_room(&result->stragglers, result->straggler_count, &pass->straggler_room,
                        sizeof *result->stragglers))
            return false;
        result->stragglers[result->straggler_count++] = *slow;
    }
    return true;
}

static void set_extremes(struct pass *pass, struct rank_label_row *row)
{
    fill_medians(pass, RANK_HOST);
    for (size_t i = 0; i < pass->count; i++) {
        if (i == 0 || pass->medians[i] > row->slowest_ns) {
            row->slowest = pass->members[i].rank;
            row->slowest_ns = pass->medians[i];
        }
        if (i == 0 || pass->medians[i] < row->fastest_ns) {
            row->fastest = pass->members[i].rank;
            row->fastest_ns = pass->medians[i];
        }
    }
}

/* ---- all labels ---- */

static bool occurrence_room(struct pass *pass)
{
    size_t most = pass->counts.most;

    if (most <= pass->value_room) return true;
    free(pass->start_skew);
    free(pass->end_skew);
    free(pass->values);
    pass->value_room = most * 2;
    pass->start_skew = array_raw(pass->value_room, sizeof *pass->start_skew);
    pass->end_skew = array_raw(pass->value_room, sizeof *pass->end_skew);
    pass->values = array_raw(pass->value_room, sizeof *pass->values);
    return pass->start_skew && pass->end_skew && pass->values;
}

static bool compare_label(struct pass *pass, size_t number)
{
    struct rank_label_row *row = &pass->result->labels[number];

    pass->label = row->label;
    pass->members = pass->match.members + pass->match.first[row->label];
    pass->count = pass->match.first[row->label + 1] - pass->match.first[row->label];
    pass->counts = rank_counts(&pass->match, pass->members, pass->count);
    row->ranks = (uint32_t)pass->count;
    row->fewest = pass->counts.fewest;
    row->most = pass->counts.most;
    row->matched = pass->counts.matched;
    if (!occurrence_room(pass)) return false;
    set_skew(pass, row);
    set_extremes(pass, row);
    if (pass->count < 2 || !row->matched) return true;
    if (row->role != RANK_ROLE_WORK) return !row->skew_known || add_collective(pass, number);
    return add_stragglers(pass, RANK_HOST) && add_stragglers(pass, RANK_DEVICE);
}

static int compare_labels(const void *left, const void *right, void *labels)
{
    const struct rank_label_row *a = left, *b = right;
    struct cg_text x = strings_text(labels, a->label), y = strings_text(labels, b->label);
    size_t shorter = x.length < y.length ? x.length : y.length;
    int order = shorter ? memcmp(x.bytes, y.bytes, shorter) : 0;
    return order ? order : (x.length > y.length) - (x.length < y.length);
}

static bool list_labels(struct pass *pass)
{
    const struct cg_strings *labels = pass->match.labels;
    struct ranks *result = pass->result;

    result->labels = array_zeroed(labels->count, sizeof *result->labels);
    if (!result->labels) return false;
    for (uint32_t label = 1; label <= labels->count; label++)
        if (pass->match.first[label + 1] > pass->match.first[label])
            result->labels[result->label_count++].label = label;
    qsort_r(result->labels, result->label_count, sizeof *result->labels, compare_labels,
            (void *)(uintptr_t)labels);
    for (size_t i = 0; i < result->label_count; i++)
        if (!compare_label(pass, i)) return false;
    return true;
}

static int compare_stragglers(const void *left, const void *right)
{
    const struct rank_straggler *a = left, *b = right;
    if (a->excess_ns != b->excess_ns) return a->excess_ns < b->excess_ns ? 1 : -1;
    if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
    if (a->label != b->label) return a->label < b->label ? -1 : 1;
    return (a->plane > b->plane) - (a->plane < b->plane);
}

static int compare_collectives(const void *left, const void *right)
{
    const struct rank_collective *a = left, *b = right;
    if (a->delay_ns != b->delay_ns) return a->delay_ns < b->delay_ns ? 1 : -1;
    return (a->row > b->row) - (a->row < b->row);
}

static bool make_room(struct pass *pass, size_t count)
{
    pass->sorted = array_raw(count, sizeof *pass->sorted);
    pass->medians = array_raw(count, sizeof *pass->medians);
    pass->last_in = array_zeroed(count, sizeof *pass->last_in);
    pass->delay = array_zeroed(count, sizeof *pass->delay);
    pass->result->totals = array_zeroed(count, sizeof *pass->result->totals);
    bool enough =
        pass->sorted && pass->medians && pass->last_in && pass->delay && pass->result->totals != NULL;
    for (int plane = 0; plane < RANK_PLANES; plane++) {
        pass->slow[plane] = array_raw(count, sizeof *pass->slow[plane]);
        enough = enough && pass->slow[plane];
    }
    return enough;
}

static void free_pass(struct pass *pass)
{
    rank_match_free(&pass->match);
    free(pass->start_skew);
    free(pass->end_skew);
    free(pass->values);
    free(pass->sorted);
    free(pass->medians);
    free(pass->last_in);
    free(pass->delay);
    for (int plane = 0; plane < RANK_PLANES; plane++)
        free(pass->slow[plane]);
}

bool ranks_make(const struct rank *ranks, size_t count, struct rank_axis *axis,
                const struct cg_strings *labels, const struct ranks_criteria *criteria, struct ranks *result)
{
    struct pass pass = {.axis = axis, .criteria = criteria, .result = result};

    *result = (struct ranks){0};
    bool enough = rank_match_make(ranks, count, labels, &pass.match) && make_room(&pass, count) &&
                  rank_align(&pass.match, axis, criteria, result) && list_labels(&pass);
    free_pass(&pass);
    if (!enough) {
        ranks_free(result);
        return false;
    }
    if (result->straggler_count)
        qsort(result->stragglers, result->straggler_count, sizeof *result->stragglers, compare_stragglers);
    if (result->collective_count)
        qsort(result->collectives, result->collective_count, sizeof *result->collectives,
              compare_collectives);
    return true;
}

void ranks_free(struct ranks *result)
{
    free(result->labels);
    free(result->stragglers);
    free(result->collectives);
    free(result->totals);
    *result = (struct ranks){0};
}
