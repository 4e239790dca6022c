/* Making a capture manifest (doc/spec/nsight.md 14). */
#ifndef CGTRACE_ANALYZER_EVIDENCE_NSIGHT_MANIFEST_H
#define CGTRACE_ANALYZER_EVIDENCE_NSIGHT_MANIFEST_H

#include "analyzer/evidence/gpu.h"

/* Completes made->manifest for the directory: schema, ids and labels of the trace, and every regular file of
 * dir but the manifest itself, hashed; made->raw_report is the first raw report. Files that a manifest cannot
 * hold are named on standard error. Texts in it may be the trace's. CG_EXIT_IO when something cannot be read
 * or memory is short. */
int nsight_manifest_make(const char *dir, const struct cg_trace *trace, struct gpu_evidence *made,
                         struct cg_error *error);

#endif
