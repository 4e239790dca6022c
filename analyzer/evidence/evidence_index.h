/* Planes and graph of a trace in its index (analyzer/trace/index.h): what nearly all of the time goes into
 * when the trace itself need not be read. */
#ifndef CGTRACE_ANALYZER_EVIDENCE_EVIDENCE_INDEX_H
#define CGTRACE_ANALYZER_EVIDENCE_EVIDENCE_INDEX_H

#include "analyzer/evidence/evidence.h"
#include "analyzer/trace/index.h"

/* As they stand in an index: the pointers mean nothing there. */
struct evidence_planes {
    struct health health;
    struct timing timing;
    struct logical_memory logical;
    struct physical_memory physical;
    struct graph graph;
    uint64_t timing_strings, tensor_rows; /* elements of timing.strings, logical.tensor_rows */
    uint64_t ordered;                     /* logical.order is there */
    uint64_t has_graph;
};

/* Adds them to the arrays of an index. copy and the evidence must last until the arrays are written. False
 * when memory is short. */
bool evidence_index_add(const struct evidence *evidence, struct evidence_planes *copy,
                        struct index_arrays *arrays);

/* Takes them from the index of evidence->trace. False when it has none, or not all of them are what they may
 * be: then they must be made. */
bool evidence_index_take(struct evidence *evidence);
/* Forgets what belongs to the index; before evidence_free() frees the rest. */
void evidence_index_release(struct evidence *evidence);

#endif
