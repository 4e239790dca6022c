/* What is kept of one rank's trace to compare it with other ranks: a few numbers for each closed span. */
#ifndef CGTRACE_ANALYZER_PLANES_RANK_COLUMNS_H
#define CGTRACE_ANALYZER_PLANES_RANK_COLUMNS_H

#include "analyzer/trace/strings.h"

/* A closed span. */
struct rank_occurrence {
    uint64_t start_ns, duration_ns; /* host times of the trace */
    uint64_t self_ns;               /* of the duration, outside of the spans directly within it */
    uint64_t device_ns;             /* sum of its own device intervals, those of collectives left out */
};
/* The spans of one name, in the order of their starts. */
struct rank_label {
    uint32_t label; /* number in the table that all ranks share */
    uint32_t count;
    size_t first; /* into rank_columns.occurrences */
};
struct rank_columns {
    struct rank_occurrence *occurrences; /* by label, then start, then id */
    struct rank_label *labels;           /* ascending labels */
    size_t occurrence_count, label_count;
    uint64_t device_collectives; /* device intervals that were left out */
    uint64_t open_spans;
    uint32_t open_label; /* of the open span that started last; CG_ABSENT without any */
    uint64_t open_since_ns;
};

/* Names of collective operations begin with one of these, or with what a user gave (NULL: nothing). */
#define RANK_COLLECTIVES(C)                                                                                  \
    C("nccl")                                                                                                \
    C("all_reduce")                                                                                          \
    C("allreduce")                                                                                           \
    C("all_gather") C("allgather") C("reduce_scatter") C("all_to_all") C("alltoall") C("barrier")
bool rank_is_collective(struct cg_text name, const char *more);
bool rank_begins(struct cg_text name, const char *prefix);

/* Of every closed span but those of the capture itself, its root and the region that is the whole process.
 * Names are interned in labels. Works on failed captures too. False when memory is short, and columns then
 * holds nothing. n log n in the number of spans, linear in all others. */
bool rank_columns_make(const struct cg_trace *trace, const char *collective, struct cg_strings *labels,
                       struct rank_columns *columns);
void rank_columns_free(struct rank_columns *columns);

#endif
