/* Dense footprints (doc/spec/trace.md 8). */
#ifndef CGTRACE_ANALYZER_TRACE_DENSE_H
#define CGTRACE_ANALYZER_TRACE_DENSE_H

#include "analyzer/trace/trace.h"

/* Bytes of one element of a dtype, 0 when it is unknown. */
unsigned dense_element_bytes(struct cg_text dtype);

/* Elements of a shape times their size, clamped to 2^64-1; false when the dtype is unknown. */
bool dense_bytes(const uint64_t *shape, size_t dimensions, struct cg_text dtype, uint64_t *bytes);

#endif
