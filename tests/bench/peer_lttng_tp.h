/* The tracepoint of peer_lttng.c, read several times by lttng's headers: of a launch, five fields. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER cgtrace_bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "tests/bench/peer_lttng_tp.h"

#if !defined(CGTRACE_TESTS_BENCH_PEER_LTTNG_TP_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define CGTRACE_TESTS_BENCH_PEER_LTTNG_TP_H

#include <stdint.h>

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(cgtrace_bench, launch,
                           LTTNG_UST_TP_ARGS(uint64_t, function, uint32_t, grid, uint32_t, block, uint32_t,
                                             shared, uint64_t, stream),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer_hex(uint64_t, function, function)
                                                   lttng_ust_field_integer(uint32_t, grid, grid)
                                                       lttng_ust_field_integer(uint32_t, block, block)
                                                           lttng_ust_field_integer(uint32_t, shared, shared)
                                                               lttng_ust_field_integer_hex(uint64_t, stream,
                                                                                           stream)))

#endif

#include <lttng/tracepoint-event.h>
