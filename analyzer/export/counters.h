/* Bytes of live storages over time, as counters want them: by device, changes alone. */
#ifndef CGTRACE_ANALYZER_EXPORT_COUNTERS_H
#define CGTRACE_ANALYZER_EXPORT_COUNTERS_H

#include "analyzer/trace/trace.h"

typedef void live_bytes_visit(void *context, cg_str device, uint64_t timestamp_ns, uint64_t bytes);

/* Calls visit for every change, in ascending time. False when memory is short. */
bool live_bytes_each(const struct cg_trace *trace, live_bytes_visit *visit, void *context);

#endif
