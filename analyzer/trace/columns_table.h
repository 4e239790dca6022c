/* The arrays of a trace's columns, for what is done to each of them: growing, freeing, keeping in a file. */
#ifndef CGTRACE_ANALYZER_TRACE_COLUMNS_TABLE_H
#define CGTRACE_ANALYZER_TRACE_COLUMNS_TABLE_H

#include "common/event_table.h"

/* Kinds that have columns: T(constant suffix, member, fields, extras) */
#define TABLES(T)                                                                                            \
    T(SPAN_START, span, CG_SPAN_START_FIELDS, CG_SPAN_START_EXTRAS)                                          \
    T(OP, op, CG_OP_FIELDS, CG_OP_EXTRAS)                                                                    \
    T(TENSOR, tensor, CG_TENSOR_FIELDS, CG_NO_EXTRAS)                                                        \
    T(TENSOR_STATS, tensor_stats, CG_TENSOR_STATS_FIELDS, CG_NO_EXTRAS)                                      \
    T(MEMORY, memory, CG_MEMORY_FIELDS, CG_MEMORY_EXTRAS)                                                    \
    T(DEVICE_MEMORY, device_memory, CG_DEVICE_MEMORY_FIELDS, CG_DEVICE_MEMORY_EXTRAS)                        \
    T(DEVICE_INTERVAL, device_interval, CG_DEVICE_INTERVAL_FIELDS, CG_DEVICE_INTERVAL_EXTRAS)                \
    T(GRADIENT, gradient, CG_GRADIENT_FIELDS, CG_NO_EXTRAS)                                                  \
    T(EDGE, edge, CG_EDGE_FIELDS, CG_NO_EXTRAS)

/* Calls V(array) for each array of a field: its values, and name_set where there is one. */
#define ARRAYS_STR(V, c, name)      V((c)->name)
#define ARRAYS_OPT_STR(V, c, name)  V((c)->name)
#define ARRAYS_U64(V, c, name)      V((c)->name)
#define ARRAYS_OPT_U64(V, c, name)  V((c)->name) V((c)->name##_set)
#define ARRAYS_F64(V, c, name)      V((c)->name)
#define ARRAYS_OPT_F64(V, c, name)  V((c)->name) V((c)->name##_set)
#define ARRAYS_BOOL(V, c, name)     V((c)->name)
#define ARRAYS_ENUM(V, c, name)     V((c)->name)
#define ARRAYS_OPT_ENUM(V, c, name) V((c)->name)
#define ARRAYS_U64_LIST(V, c, name) V((c)->name)
#define ARRAYS_STR_LIST(V, c, name) V((c)->name)
#define ARRAYS_STACK(V, c, name)    V((c)->name)

#endif
