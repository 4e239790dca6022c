/* Sets of moments as lists of disjoint intervals, ascending, none empty, no two touching. */
#ifndef CGTRACE_ANALYZER_PLANES_INTERVAL_SET_H
#define CGTRACE_ANALYZER_PLANES_INTERVAL_SET_H

#include "analyzer/planes/planes.h"

/* Zeroed is the empty set. */
struct interval_set {
    struct interval *at;
    size_t count, room;
};

/* Adds an interval, in any order and however it lies to the others; an empty one is left out. The list is a
 * set again after interval_set_settle(). False when memory is short. */
bool interval_set_add(struct interval_set *set, uint64_t start, uint64_t end);
/* n log n, linear when the starts ascend. */
void interval_set_settle(struct interval_set *set);
/* What is in a and not in b, into the empty set rest. Linear. False when memory is short. */
bool interval_set_subtract(const struct interval_set *a, const struct interval_set *b,
                           struct interval_set *rest);
uint64_t interval_set_length(const struct interval_set *set);
void interval_set_free(struct interval_set *set);

#endif
