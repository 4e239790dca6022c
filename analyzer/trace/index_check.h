/* Whether the numbers of an array that came from a file are what they may be. One pass each, at the memory's
 * speed: this file is compiled for vectors. */
#ifndef CGTRACE_ANALYZER_TRACE_INDEX_CHECK_H
#define CGTRACE_ANALYZER_TRACE_INDEX_CHECK_H

#include "analyzer/trace/trace.h"

/* Each from least to most; the sums are modulo 2^32, so that least 0, most n stands for CG_NONE and the rows
 * below n where plus is 1. */
bool index_check_numbers(const uint32_t *values, size_t count, uint32_t plus, uint32_t least, uint32_t most);
bool index_check_bytes(const uint8_t *values, size_t count, uint8_t most);
/* Each within a pool of so many elements. */
bool index_check_lists(const struct cg_list *lists, size_t count, size_t pool);
/* From 0 on, never less than the one before, and the last one is end. There is at least one. */
bool index_check_offsets(const uint64_t *offsets, size_t count, uint64_t end);

#endif
