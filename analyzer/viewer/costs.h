/* Sums over all slices of one name, and which operations feed which: exact for the whole trace, whatever
 * detail the timeline leaves out. */
#ifndef CGTRACE_ANALYZER_VIEWER_COSTS_H
#define CGTRACE_ANALYZER_VIEWER_COSTS_H

#include "analyzer/viewer/names.h"
#include "analyzer/viewer/slices.h"

/* Rows that the page gets; the largest ones. */
enum { COSTS_MAX = 10000, FEEDS_MAX = 5000 };

struct shown {
    uint64_t displayed, total;
};

/* The part "costs": columns name, class (0 spans, 1 operations, 2 + n intervals of device clock n), count,
 * sum of durations, of self times, shortest, longest. */
bool costs_pack(const struct cg_trace *trace, const struct slices *slices, struct names *names,
                struct parts *parts, struct shown *shown);
/* The part "feeds": columns producer, consumer, count: how often an operation read what another wrote. */
bool feeds_pack(const struct cg_trace *trace, struct names *names, struct parts *parts, struct shown *shown);

#endif
