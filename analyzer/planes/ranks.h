/* Ranks of one job held against each other: skew of each label, collectives and who comes last to them, and
 * stragglers.
 *
 * Occurrences are matched by their number: the k-th span of a name in one rank with the k-th of that name in
 * the others; where the ranks have unequal numbers of them, nothing is said of that name. Host work is a
 * span's self time, so that a slow part is not reported once more for each span around it. A rank that waits
 * for another one in a collective is not slow: collectives take no part in the search for stragglers. */
#ifndef CGTRACE_ANALYZER_PLANES_RANKS_H
#define CGTRACE_ANALYZER_PLANES_RANKS_H

#include "analyzer/planes/rank_axis.h"
#include "analyzer/planes/rank_columns.h"

/* A rank to be compared. */
struct rank {
    struct rank_columns columns;
    bool complete; /* the capture ended as it should: all its occurrences are there */
};

struct ranks_criteria {
    unsigned slower_percent; /* a rank is slow where its median is this much above that of the others, */
    uint64_t min_excess_ns;  /* and it cost this much in sum */
    /* Names that begin so are collectives too, and none of them ends before all ranks have come: they bound
     * the clocks. NULL: nothing more. */
    const char *collective;
    /* Machines' real-time clocks are known to agree within this. */
    bool clock_error_known;
    uint64_t clock_error_ns;
};

/* N(constant suffix, "word", "meaning") */
#define RANK_ROLES(N)                                                                                        \
    N(WORK, "work", "each rank does it alone")                                                               \
    N(COLLECTIVE, "collective", "its name says that all ranks do it together")                               \
    N(TOGETHER, "together", "the ranks come apart and leave together: something in it waits for all")
enum rank_role {
#define RANK_ROLE(suffix, word, meaning) RANK_ROLE_##suffix,
    RANK_ROLES(RANK_ROLE)
#undef RANK_ROLE
};

/* Median and greatest of the differences between the first and the last rank. */
struct rank_skew {
    uint64_t median_ns, greatest_ns;
};
struct rank_label_row {
    uint32_t label, ranks; /* how many ranks have it */
    uint32_t fewest, most; /* occurrences of a rank */
    bool matched;          /* all complete ranks have equally many, others no more */
    enum rank_role role;
    bool skew_known; /* matched, and the clocks of these ranks are bounded */
    struct rank_skew start, end;
    uint32_t slowest, fastest; /* ranks by the median of self time */
    uint64_t slowest_ns, fastest_ns;
};

enum rank_plane { RANK_HOST, RANK_DEVICE, RANK_PLANES };
/* A rank that is slow in a label. */
struct rank_straggler {
    uint32_t rank, label;
    enum rank_plane plane;
    uint64_t median_ns, others_ns; /* its median, and the median of the other ranks' medians */
    uint64_t excess_ns;            /* sum over the occurrences of what it took more than the others' median */
    uint32_t slow_in, occurrences; /* in how many it was slower than the criterion */
};

/* A label whose ranks wait for each other; only matched ones with bounded clocks. */
struct rank_collective {
    size_t row;                      /* in labels */
    uint64_t occurrences, undecided; /* undecided: the last two came closer than the uncertainty */
    uint32_t last_rank;              /* that came last most often; CG_NONE: all are undecided */
    uint32_t last_in;                /* how often */
    uint64_t delay_ns;               /* sum of what that rank came after the one before it */
    uint64_t waited_ns;              /* sum over all ranks of the time until the last one came */
};

/* Of one rank over all collectives. */
struct rank_totals {
    uint64_t last_in;   /* collectives that it came last to */
    uint64_t delay_ns;  /* what it came after the one before it then */
    uint64_t waited_ns; /* from when it came until the last one came */
};

struct ranks {
    struct rank_label_row *labels; /* byte order of the names */
    size_t label_count;
    struct rank_straggler *stragglers; /* by excess, then rank, label, plane */
    size_t straggler_count;
    struct rank_collective *collectives; /* by delay, then label */
    size_t collective_count;
    struct rank_totals *totals;   /* by rank */
    uint64_t collectives_aligned; /* occurrences that bounded the clocks of the machines */
    bool clocks_conflict;         /* no shift of the machines' clocks makes every collective possible */
};

/* Compares them; shifts the axis where there are several machines and collectives bound their clocks. labels:
 * the table that the columns were made with. Linear in the number of occurrences but for sorts of each label.
 * False when memory is short. */
bool ranks_make(const struct rank *ranks, size_t count, struct rank_axis *axis,
                const struct cg_strings *labels, const struct ranks_criteria *criteria, struct ranks *result);
void ranks_free(struct ranks *result);

#endif
