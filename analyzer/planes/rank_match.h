/* Which ranks have a label, and its k-th occurrence in each. For ranks.c and rank_align.c. */
#ifndef CGTRACE_ANALYZER_PLANES_RANK_MATCH_H
#define CGTRACE_ANALYZER_PLANES_RANK_MATCH_H

#include "analyzer/planes/ranks.h"

struct rank_member {
    uint32_t rank;
    const struct rank_label *label;
};
/* By label: members[first[label]] up to members[first[label + 1]], ascending ranks. */
struct rank_match {
    const struct rank *ranks;
    const struct cg_strings *labels;
    struct rank_member *members;
    size_t *first;
};
bool rank_match_make(const struct rank *ranks, size_t count, const struct cg_strings *labels,
                     struct rank_match *match);
void rank_match_free(struct rank_match *match);

static inline const struct rank_occurrence *rank_occurrence_of(const struct rank_match *match,
                                                               const struct rank_member *member, uint32_t k)
{
    return &match->ranks[member->rank].columns.occurrences[member->label->first + k];
}

/* The fewest and most occurrences of a rank, and whether the k-th of one rank is the k-th of the others. */
struct rank_counts {
    uint32_t fewest, most;
    bool matched;
};
struct rank_counts rank_counts(const struct rank_match *match, const struct rank_member *members,
                               size_t count);

/* Bounds the clocks of machines: by what is known of them, and by the collectives that criteria->collective
 * names, since nobody leaves one before everybody has come to it. Sets result->collectives_aligned and
 * clocks_conflict. False when memory is short. */
bool rank_align(const struct rank_match *match, struct rank_axis *axis, const struct ranks_criteria *criteria,
                struct ranks *result);

#endif
