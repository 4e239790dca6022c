/* Which call issued a device interval: the join by correlation numbers. */
#ifndef CGTRACE_ANALYZER_PLANES_CORRELATION_H
#define CGTRACE_ANALYZER_PLANES_CORRELATION_H

#include "analyzer/trace/trace.h"

/* For each row of trace->device_interval the row of the op with its correlation (of several the first in the
 * file), CG_NONE where there is none. *issuer is the caller's to free. The trace must have its extra fields.
 * False when memory is short. */
bool correlation_issuers(const struct cg_trace *trace, uint32_t **issuer);

#endif
