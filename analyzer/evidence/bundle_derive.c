#include "analyzer/evidence/bundle_derive.h"

int bundle_derive(const char *name, int trace_fd, struct cg_trace **trace, struct evidence *evidence,
                  struct cg_error *error)
{
    int status = trace_load_descriptor(name, trace_fd, NULL, trace, error);
    if (status != 0) return status;
    status = evidence_make(*trace, NULL, EVIDENCE_NODES | EVIDENCE_EDGES, evidence, error);
    if (status != 0) trace_free(*trace);
    return status;
}
