/* Which process a trace is of, and how its times stand to the clocks of its machine: the extra fields host,
 * pid, rank and clock of meta. */
#ifndef CGTRACE_ANALYZER_TRACE_ORIGIN_H
#define CGTRACE_ANALYZER_TRACE_ORIGIN_H

#include <stdbool.h>
#include <stdint.h>

/* A clock that stands beyond this, the year 2043, is not taken: differences and sums have room. */
#define CG_CLOCK_LIMIT (INT64_C(1) << 61)

/* One moment on three clocks, in ns: host time of the trace, CLOCK_MONOTONIC and CLOCK_REALTIME. spread_ns
 * bounds how far apart the first two were read. */
struct cg_host_anchor {
    uint64_t trace_ns, spread_ns;
    int64_t monotonic_ns, realtime_ns;
};
struct cg_origin {
    char host[256]; /* "": not said */
    bool pid_known, rank_known, clock_known;
    int64_t pid, rank;
    struct cg_host_anchor first, last; /* where clock_known; the first one is at time 0 */
};

struct json_t; /* a parsed document of jansson */
/* Reads them from a meta record that was accepted. *origin is NULL when it has none that has the right form:
 * an extra field is never a reason to reject. Freed with free(). False: out of memory. */
bool origin_read(const struct json_t *meta, struct cg_origin **origin);

#endif
