/* Sums over all slices of one name, and which operations feed which: exact for the whole trace, whatever
 * detail the timeline leaves out. */
#ifndef CGTRACE_ANALYZER_VIEWER_COSTS_H
#define CGTRACE_ANALYZER_VIEWER_COSTS_H

#include "analyzer/planes/pair_map.h"
#include "analyzer/viewer/names.h"
#include "analyzer/viewer/slices.h"

/* Rows that the page gets; the largest ones. */
enum { COSTS_MAX = 10000, FEEDS_MAX = 5000 };

struct shown {
    uint64_t displayed, total;
};

struct cost {
    cg_str name, other; /* other: of feeds */
    uint32_t class;
    uint64_t count, total_ns, self_ns, shortest_ns, longest_ns;
};
/* Zeroed is empty. */
struct costs {
    struct pair_map map;
    struct cost *list; /* the largest first */
    size_t count, capacity;
};

/* Sums over slices; how often an operation read what another wrote. False when memory is short; costs_free()
 * takes them then too. */
bool costs_make(const struct cg_trace *trace, const struct slices *slices, struct costs *costs);
bool feeds_make(const struct cg_trace *trace, struct costs *feeds);
void costs_free(struct costs *costs);

/* The part "costs": columns name, class (0 spans, 1 operations, 2 + n intervals of device clock n), count,
 * sum of durations, of self times, shortest, longest. */
bool costs_pack(const struct costs *costs, struct names *names, struct parts *parts, struct shown *shown);
/* The part "feeds": columns producer, consumer, count. */
bool feeds_pack(const struct costs *feeds, struct names *names, struct parts *parts, struct shown *shown);

#endif
