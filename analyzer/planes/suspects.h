/* Records that cannot be true: work that lasts longer than the run, that begins before the call that launched
 * it, two kernels at once on one stream, storages larger than their device. Kinds of ours leave them out and
 * say so; the planes of the format take everything as it is. */
#ifndef CGTRACE_ANALYZER_PLANES_SUSPECTS_H
#define CGTRACE_ANALYZER_PLANES_SUSPECTS_H

#include "analyzer/planes/device_work.h"
#include "analyzer/planes/planes.h"

/* Of which records: P(constant suffix, "kind", key of their sum, key of the suspects' share of it). */
#define SUSPECT_PLANES(P)                                                                                    \
    P(INTERVALS, "device_interval", "duration_ns", "share_of_time")                                          \
    P(STORAGES, "memory", "bytes", "byte_share")                                                             \
    P(SAMPLES, "device_memory", NULL, NULL)
#define SUSPECT_PLANE(suffix, kind, sum, share) SUSPECT_##suffix,
enum suspect_plane { SUSPECT_PLANES(SUSPECT_PLANE) SUSPECT_PLANE_COUNT };
#undef SUSPECT_PLANE

/* Why: S(constant suffix, plane, "rule", "meaning"). A record breaks the first rule that it breaks. */
#define SUSPECT_RULES(S)                                                                                     \
    S(LONGER_THAN_RUN, INTERVALS, "longer_than_run",                                                         \
      "it lasts longer than the whole capture, by more than its duration may be too long")                   \
    S(NO_START, INTERVALS, "no_start",                                                                       \
      "it starts at 0, farther from all others of its clock than the capture is long")                       \
    S(BEFORE_LAUNCH, INTERVALS, "before_launch",                                                             \
      "it begins before the call that launched it, by more than 1 us and what its start and the anchors of " \
      "its clock may be off")                                                                                \
    S(OVERLAP, INTERVALS, "kernels_overlap_on_stream",                                                       \
      "it is a kernel that runs while another one does on its stream, by more than 1 us and what both "      \
      "durations may be too long; of two the one that begins later, or the one that runs over others too; "  \
      "kernels of one call, as of a graph, may run at once")                                                 \
    S(NO_TIME, STORAGES, "no_time",                                                                          \
      "it is stamped 0, though its span begins later and its storage was not there before the capture")      \
    S(LARGER_THAN_DEVICE, STORAGES, "larger_than_device",                                                    \
      "its storage in device memory is larger than the greatest capacity that the device was seen to have")  \
    S(PARTNER, STORAGES, "of_suspect_storage",                                                               \
      "it is the other record of a storage whose allocation or free is suspect")                             \
    S(MORE_THAN_CAPACITY, SAMPLES, "more_than_capacity",                                                     \
      "it says that more is used, or free, than the capacity that it states")
#define SUSPECT_RULE(suffix, plane, rule, meaning) SUSPECT_##suffix,
enum suspect_rule { SUSPECT_RULES(SUSPECT_RULE) SUSPECT_RULE_COUNT };
#undef SUSPECT_RULE
struct suspect_rule_text {
    const char *rule, *meaning;
    enum suspect_plane plane;
};
extern const struct suspect_rule_text suspect_rules[SUSPECT_RULE_COUNT];
extern const char *const suspect_plane_kind[SUSPECT_PLANE_COUNT];

struct suspect {
    uint8_t plane, rule;
    uint32_t row;
    uint64_t amount; /* its duration or its bytes; 0 for samples */
    uint64_t excess; /* nanoseconds or bytes beyond what could be; 0 where nothing measures it */
};

/* Records looked at, those of them that are suspect, and what both amount to: the durations of intervals, the
 * bytes of allocations; sums saturate. */
struct suspect_tally {
    uint64_t records, suspects, amount, suspect_amount;
    uint64_t by_rule[SUSPECT_RULE_COUNT];
};

/* Of one clock of device_work. */
struct suspect_clock {
    uint64_t count, duration_ns;
};

struct suspects {
    uint8_t *rule[SUSPECT_PLANE_COUNT]; /* by row: rule + 1, 0: none; NULL: the plane has no suspect */
    struct suspect_tally tally[SUSPECT_PLANE_COUNT];
    struct suspect *found; /* by plane, amount descending, row */
    size_t count, room;
    struct suspect_clock *clocks; /* by clock of the device work */
    uint64_t launches_compared;   /* intervals whose start could be compared with their call */
};

/* work is the trace's; NULL: intervals are not looked at. Linear, and n log n in the number of suspects.
 * False when memory is short. */
bool suspects_make(const struct cg_trace *trace, const struct device_work *work, struct suspects *suspects);
void suspects_free(struct suspects *suspects);

static inline bool suspect_is(const struct suspects *suspects, enum suspect_plane plane, size_t row)
{
    return suspects->rule[plane] && suspects->rule[plane][row] != 0;
}
/* Counts a record in a tally of a part of its plane. */
void suspect_tally_add(struct suspect_tally *tally, const struct suspects *suspects, enum suspect_plane plane,
                       size_t row, uint64_t amount);

#endif
