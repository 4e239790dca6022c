/* Tops of kernels, copies and calls, from the fields beyond the format: what took the most device time and
 * the most host time. They need no graph, so failed captures have them too, and they alone leave suspect
 * intervals out. */
#ifndef CGTRACE_ANALYZER_CMD_TOPS_H
#define CGTRACE_ANALYZER_CMD_TOPS_H

#include "analyzer/planes/suspects.h"

enum top_kind { TOP_KERNELS, TOP_COPIES, TOP_API };

/* Sums over the intervals, or calls, of one key. */
struct tally {
    cg_str name;
    cg_str device, clock_id; /* of intervals; CG_ABSENT for calls */
    cg_str api;              /* of kernel launches; else CG_ABSENT */
    uint64_t count, total_ns, minimum_ns, maximum_ns, bytes, errors;
};
struct tallies {
    struct tally *rows; /* total_ns descending, then bytes of name, device, clock, api */
    size_t count;
};
struct tops {
    struct tallies device, host;
    uint64_t calls, calls_timed; /* calls counted in host, and those of them that an interval is joined to */
    uint64_t unassigned;         /* intervals of no known kind; TOP_API: that no call is joined to */
    struct suspect_tally tally;  /* intervals of this kind; the suspect ones are not in device */
};

/* work and suspects are the trace's. False when memory is short. */
bool tops_make(const struct cg_trace *trace, const struct device_work *work, const struct suspects *suspects,
               enum top_kind kind, struct tops *tops);
void tops_free(struct tops *tops);

#endif
