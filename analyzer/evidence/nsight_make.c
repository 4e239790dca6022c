#include <fcntl.h>
#include <string.h>

#include "analyzer/evidence/bundle.h"
#include "analyzer/evidence/evidence_private.h"
#include "analyzer/evidence/nsight_manifest.h"
#include "analyzer/evidence/nsight_private.h"

static int add_file(struct nsight *nsight, const char *dir, struct cg_text name, struct cg_error *error)
{
    struct gpu_evidence *made = nsight->gpu;
    char hex[SHA256_HEX];
    uint64_t size;

    if (strcmp(name.bytes, NSIGHT_MANIFEST) == 0) return 0;
    if (!bundle_path_safe(name.bytes)) {
        cg_say("%s/%s: left out, its name is not one for a manifest", dir, name.bytes);
        return 0;
    }
    int fault = nsight_hash(nsight, name, &size, hex);
    if (fault) return cg_fail(error, CG_EXIT_IO, "%s/%s: %s", dir, name.bytes, strerror(fault));
    struct gpu_artifacts *artifacts = &made->manifest.artifacts;
    if (!nsight_add_artifact(nsight, artifacts, name, size, hex)) return cg_out_of_memory(error);
    if (nsight_raw_report(name) && !made->raw_report.path.bytes)
        made->raw_report = artifacts->at[artifacts->count - 1];
    return 0;
}

static int add_files(const char *dir, struct gpu_evidence *made, struct cg_error *error)
{
    struct nsight nsight = {.gpu = made, .directory = -1};
    int status = 0;

    if (!nsight_list(&nsight, AT_FDCWD, dir))
        status = cg_fail(error, CG_EXIT_IO, "%s: %s", dir, nsight.failure.bytes);
    for (size_t i = 0; status == 0 && i < nsight.files.count; i++)
        status = add_file(&nsight, dir, nsight.files.at[i], error);
    if (status == 0 && nsight.no_memory) status = cg_out_of_memory(error);
    for (size_t i = 0; status == 0 && i < made->diagnostics.count; i++)
        cg_say("%s: %s", dir, made->diagnostics.at[i].bytes);
    nsight_release(&nsight);
    return status;
}

int nsight_manifest_make(const char *dir, const struct cg_trace *trace, struct gpu_evidence *made,
                         struct cg_error *error)
{
    struct gpu_manifest *manifest = &made->manifest;
    struct nsight_labels labels;

    if (!nsight_labels_of(trace, &labels)) return cg_out_of_memory(error);
    manifest->schema = text_of(NSIGHT_MANIFEST_SCHEMA);
    manifest->run_id = trace_text(trace, trace->run.run_id);
    manifest->correlation_id = trace_text(trace, trace->run.correlation_id);
    manifest->required_labels = labels.required;
    manifest->gpu_expected_labels = labels.gpu_expected;
    manifest->cpu_only_labels = labels.cpu_only; /* the arrays are now the manifest's */
    return add_files(dir, made, error);
}
