/* Tops of kernels, copies and calls, from the fields beyond the format: what took the most device time and
 * the most host time. They need no graph, so failed captures have them too, and they alone leave suspect
 * intervals out. */
#ifndef CGTRACE_ANALYZER_CMD_TOPS_H
#define CGTRACE_ANALYZER_CMD_TOPS_H

#include "analyzer/trace/trace.h"

enum top_kind { TOP_KERNELS, TOP_COPIES, TOP_API };

/* Why an interval is suspect: S(constant, "rule", "meaning"). */
#define SUSPECT_RULES(S)                                                                                     \
    S(LONGER_THAN_RUN, "longer_than_run", "it lasts longer than the whole capture")                          \
    S(NO_START, "no_start", "it starts at 0, farther from all others of its clock than the capture is long") \
    S(OVERLAP, "kernels_overlap_on_stream",                                                                  \
      "a kernel begins before the one before it on its stream has ended, by more than 1 us and what both "   \
      "durations may be too long")
#define SUSPECT_CONSTANT(constant, rule, meaning) SUSPECT_##constant,
enum suspect_rule { SUSPECT_RULES(SUSPECT_CONSTANT) SUSPECT_RULE_COUNT };
#undef SUSPECT_CONSTANT
struct suspect_rule_text {
    const char *rule, *meaning;
};
extern const struct suspect_rule_text suspect_rules[SUSPECT_RULE_COUNT];

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
    uint64_t intervals, intervals_used; /* of this kind; used: not suspect */
    uint64_t unassigned;                /* intervals of no known kind; TOP_API: that no call is joined to */
    uint64_t suspects[SUSPECT_RULE_COUNT]; /* by the rule that each breaks */
};

/* The trace must have been loaded with its extra fields. False when memory is short. */
bool tops_make(const struct cg_trace *trace, enum top_kind kind, struct tops *tops);
void tops_free(struct tops *tops);

#endif
