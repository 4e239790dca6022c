/* A directory of `nsys stats --format csv` reports, as evidence (doc/spec/nsight.md). */
#ifndef CGTRACE_ANALYZER_EVIDENCE_NSIGHT_H
#define CGTRACE_ANALYZER_EVIDENCE_NSIGHT_H

#include "analyzer/evidence/gpu.h"

/* The label lists of a capture contract as they stand there (nsight.md 1); texts are the caller's. */
struct nsight_labels {
    struct gpu_texts required, gpu_expected, cpu_only;
};

/* Reads the reports of dir (relative to the directory at, or AT_FDCWD), correlates them with the labels and
 * checks the capture manifest; what is left is gpu_bind(), which evidence_make() does. Reports, manifests and
 * directories that cannot be used are no errors: the evidence says so. Times are nanoseconds of the Nsight
 * clocks, never aligned with the host trace. Opens nothing outside dir, follows no links in it. 0 and *gpu is
 * the caller's, to be freed with gpu_free(); or CG_EXIT_IO when memory is short. */
int nsight_load(int at, const char *dir, const struct nsight_labels *labels, struct gpu_evidence *gpu,
                struct cg_error *error);
/* The same with the labels of a trace's contract. */
int nsight_load_for(int at, const char *dir, const struct cg_trace *trace, struct gpu_evidence *gpu,
                    struct cg_error *error);

/* The label lists of a trace's contract; the arrays are the caller's (nsight_labels_free()), the texts the
 * trace's. False when memory is short. */
bool nsight_labels_of(const struct cg_trace *trace, struct nsight_labels *labels);
void nsight_labels_free(struct nsight_labels *labels);

#define NSIGHT_MANIFEST        "capture-manifest.json"
#define NSIGHT_MANIFEST_SCHEMA "candle-graph/nsight-capture/1"

#endif
