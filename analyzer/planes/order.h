/* Orders of rows that several planes need. */
#ifndef CGTRACE_ANALYZER_PLANES_ORDER_H
#define CGTRACE_ANALYZER_PLANES_ORDER_H

#include "analyzer/trace/trace.h"

/* A stable order of rows by their times. *order is NULL when the rows stand in that order already, else the
 * caller's to free. False when memory is short. Linear. */
bool order_by_time(const uint64_t *times, size_t rows, uint32_t **order);

/* Sorts times themselves. The same. */
bool sort_times(uint64_t *times, size_t rows);

/* The row at a place of such an order. */
static inline uint32_t ordered_row(const uint32_t *order, size_t place)
{
    return order ? order[place] : (uint32_t)place;
}

/* Sorts strings by bytes; equal ones are left out when unique. Returns how many there are then. */
size_t sort_strings(const struct cg_trace *trace, cg_str *strings, size_t count, bool unique);

#endif
