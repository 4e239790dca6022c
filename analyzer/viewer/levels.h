/* Levels of detail of the timeline. Level 0 is as fine as the size of the page allows; in each further one
 * the buckets of time are wider. Of the slices of a lane that begin in one bucket the longest stands for all,
 * with their number and the sum of their durations: nothing vanishes at any zoom. A slice as long as the
 * bucket is wide is in the level as itself, since no other of its lane can begin in its bucket. */
#ifndef CGTRACE_ANALYZER_VIEWER_LEVELS_H
#define CGTRACE_ANALYZER_VIEWER_LEVELS_H

#include "analyzer/viewer/names.h"
#include "analyzer/viewer/slices.h"

enum { LEVELS_MAX = 24 };

struct level {
    unsigned bits; /* buckets are 2^bits ns wide; only when merged */
    bool merged;   /* false: every slice stands for itself */
    size_t entries;
};
struct levels {
    struct level list[LEVELS_MAX];
    size_t count;
};

/* What every choice of levels begins with, and the levels of one of them, all but their names. */
struct level_base {
    size_t borders[65]; /* by bits: how many slices begin in another bucket of 2^(bits - 1) ns than the one
                           before */
    struct level_set *set;
};

/* With the levels that are chosen for `most` entries: for as many, or nearly, levels_pack() finds them made.
 * False when memory is short. */
bool level_base_make(const struct cg_trace *trace, const struct slices *slices, size_t most,
                     struct level_base *base);
void level_base_free(struct level_base *base);
/* Are the levels that follow from both the same? */
bool level_same(const struct level *a, const struct level *b);
/* Chooses the levels, the finest with at most `most` entries where that can be had. */
void levels_choose(const struct slices *slices, const struct level_base *base, size_t most,
                   struct levels *levels);
/* Adds the parts "level-0", "details" (of level 0), "level-1", ..., packed by so many threads. False when
 * memory is short. */
bool levels_pack(const struct cg_trace *trace, const struct slices *slices, const struct levels *levels,
                 struct level_base *base, struct names *names, struct parts *parts, unsigned threads);

#endif
