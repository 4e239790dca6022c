/* The extra fields of meta, which the columns do not have: devices.h and origin.h. */
#ifndef CGTRACE_ANALYZER_TRACE_META_EXTRAS_H
#define CGTRACE_ANALYZER_TRACE_META_EXTRAS_H

#include "analyzer/trace/trace.h"

/* Takes them from a record of kind meta that was accepted, the first time. False when memory is short. */
bool meta_extras_read(struct cg_trace *trace, const char *record, size_t length);

#endif
