#include "analyzer/evidence/bundle_derive.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/evidence/nsight.h"

/* Is there anything in "nsight"? An empty directory is not in the manifest, so it must say nothing that a
 * missing one does not (10.3). */
static bool has_reports(int root_fd)
{
    int fd = openat(root_fd, "nsight", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    bool found = false;

    if (!directory) {
        if (fd >= 0) close(fd);
        return false;
    }
    for (struct dirent *entry; !found && (entry = readdir(directory));)
        found = strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(directory);
    return found;
}

static int derive(int root_fd, const struct cg_trace *trace, struct evidence *evidence,
                  struct cg_error *error)
{
    struct gpu_evidence gpu;
    bool nsight = has_reports(root_fd);

    int status = nsight ? nsight_load_for(root_fd, "nsight", trace, &gpu, error) : 0;
    if (status != 0) return status;
    return evidence_make(trace, nsight ? &gpu : NULL, EVIDENCE_NODES | EVIDENCE_EDGES, evidence, error);
}

int bundle_derive(int root_fd, const char *name, int trace_fd, const struct cg_load_options *options,
                  struct cg_trace **trace, struct evidence *evidence, struct cg_error *error)
{
    int status = trace_load_descriptor(name, trace_fd, options, trace, error);
    if (status != 0) return status;
    status = derive(root_fd, *trace, evidence, error);
    if (status != 0) trace_free(*trace);
    return status;
}
