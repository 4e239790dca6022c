#include "analyzer/evidence/run_load.h"

#include <stdlib.h>
#include <string.h>

int run_load_trace(const char *path, struct run_facts *facts, struct cg_error *error)
{
    struct cg_trace *trace;
    int status = trace_load(path, NULL, &trace, error);

    if (status != 0) return status;
    if (!run_facts_make(trace, facts)) status = cg_out_of_memory(error);
    trace_free(trace);
    return status;
}

/* The trace of a bundle that was verified. */
static int load_verified(const struct bundle *bundle, struct run_facts *facts, struct cg_error *error)
{
    static const char *const consumed[] = {"trace.jsonl"};
    struct cg_trace *trace;

    int status = bundle_load_trace(bundle, NULL, &trace, error);
    if (status != 0) return status;
    status = bundle_same_run_id(bundle, trace, error);
    if (status == 0) status = bundle_unchanged(bundle, consumed, 1, error);
    if (status == 0 && !run_facts_make(trace, facts)) status = cg_out_of_memory(error);
    trace_free(trace);
    return status;
}

int run_load_bundle(const char *root, struct run_facts *facts, struct comparison_receipt *receipt,
                    struct cg_error *error)
{
    struct bundle bundle;
    int status = bundle_verify(root, false, &bundle, error);

    if (status == 0) {
        status = load_verified(&bundle, facts, error);
        if (status == 0) {
            receipt->run_id = facts->run_id; /* the manifest's, which is the same */
            memcpy(receipt->manifest_sha256, bundle.manifest_sha256, SHA256_HEX);
        }
        bundle_close(&bundle);
    } else if (status == CG_EXIT_CONDITION) {
        status = error->status =
            CG_EXIT_INPUT; /* only `verify` states a condition; here it is an input refused */
    }
    return status;
}

int cohort_load(const char *const *paths, size_t count, const char *name, bool verified,
                struct loaded_cohort *cohort, struct cg_error *error)
{
    *cohort = (struct loaded_cohort){.runs = calloc(count + 1, sizeof *cohort->runs),
                                     .receipts = calloc(count + 1, sizeof *cohort->receipts)};
    int status = cohort->runs && cohort->receipts ? 0 : cg_out_of_memory(error);

    for (size_t i = 0; status == 0 && i < count; i++) {
        struct cg_error cause;
        status = verified ? run_load_bundle(paths[i], &cohort->runs[i], &cohort->receipts[i], &cause)
                          : run_load_trace(paths[i], &cohort->runs[i], &cause);
        if (status == 0)
            cohort->count++;
        else
            cg_fail(error, status, "%s %zu: %s", name, i + 1, cause.message);
    }
    if (status != 0) cohort_free(cohort);
    return status;
}

void cohort_free(struct loaded_cohort *cohort)
{
    for (size_t i = 0; i < cohort->count; i++)
        run_facts_free(&cohort->runs[i]);
    free(cohort->runs);
    free(cohort->receipts);
    *cohort = (struct loaded_cohort){0};
}

struct cohort cohort_view(const struct loaded_cohort *cohort, bool verified)
{
    return (struct cohort){cohort->runs, cohort->count, cohort->receipts, verified ? cohort->count : 0};
}
