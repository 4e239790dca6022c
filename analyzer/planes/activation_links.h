/* Which operation made a storage (doc/spec/evidence.md 10.5). */
#ifndef CGTRACE_ANALYZER_PLANES_ACTIVATION_LINKS_H
#define CGTRACE_ANALYZER_PLANES_ACTIVATION_LINKS_H

#include "analyzer/planes/planes.h"

/* For each lifetime the row of the op that it is linked to, CG_NONE where there is none: the caller's to
 * free. NULL when memory is short. Linear. */
uint32_t *activation_links(const struct cg_trace *trace, const struct logical_memory *memory);

#endif
