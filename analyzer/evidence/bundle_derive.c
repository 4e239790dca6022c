#include "analyzer/evidence/bundle_derive.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "analyzer/evidence/nsight.h"

static int derive(int root_fd, const struct cg_trace *trace, struct evidence *evidence,
                  struct cg_error *error)
{
    struct gpu_evidence gpu;
    struct stat directory;
    bool nsight = fstatat(root_fd, "nsight", &directory, AT_SYMLINK_NOFOLLOW) == 0;

    int status = nsight ? nsight_load_for(root_fd, "nsight", trace, &gpu, error) : 0;
    if (status != 0) return status;
    return evidence_make(trace, nsight ? &gpu : NULL, EVIDENCE_NODES | EVIDENCE_EDGES, evidence, error);
}

int bundle_derive(int root_fd, const char *name, int trace_fd, struct cg_trace **trace,
                  struct evidence *evidence, struct cg_error *error)
{
    int status = trace_load_descriptor(name, trace_fd, NULL, trace, error);
    if (status != 0) return status;
    status = derive(root_fd, *trace, evidence, error);
    if (status != 0) trace_free(*trace);
    return status;
}
