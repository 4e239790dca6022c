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

/* Chooses the levels, the finest with at most `most` entries where that can be had. */
void levels_choose(const struct slices *slices, size_t most, struct levels *levels);
/* Adds the parts "level-0", "level-1", ... and "details" (of level 0). False when memory is short. */
bool levels_pack(const struct cg_trace *trace, const struct slices *slices, const struct levels *levels,
                 struct names *names, struct parts *parts);

#endif
