#include "analyzer/evidence/run_load.h"

#include <stdlib.h>
#include <string.h>

/* What is kept of a trace; the structure needs fields beyond the format. */
static int keep(const struct cg_trace *trace, struct run_facts *facts, struct structure *structure,
                struct cg_error *error)
{
    if (!run_facts_make(trace, facts)) return cg_out_of_memory(error);
    if (!structure || structure_make(trace, structure)) return 0;
    run_facts_free(facts);
    return cg_out_of_memory(error);
}

int run_load_trace(const char *path, struct run_facts *facts, struct structure *structure,
                   struct cg_error *error)
{
    struct cg_load_options options = {.extras = structure != NULL};
    struct cg_trace *trace;
    int status = trace_load(path, &options, &trace, error);

    if (status != 0) return status;
    status = keep(trace, facts, structure, error);
    trace_free(trace);
    return status;
}

int run_load_bundle(const char *root, struct run_facts *facts, struct comparison_receipt *receipt,
                    struct structure *structure, struct cg_error *error)
{
    static const char *const consumed[] = {"trace.jsonl"};
    struct cg_load_options options = {.extras = structure != NULL};
    struct bundle_load load = {.options = &options};
    struct bundle bundle;

    int status = bundle_load(root, &load, &bundle, error);
    if (status != 0) return status;
    status = bundle_unchanged(&bundle, consumed, 1, error);
    if (status == 0) status = keep(load.trace, facts, structure, error);
    if (status == 0) {
        receipt->run_id = facts->run_id; /* the manifest's, which is the same */
        memcpy(receipt->manifest_sha256, bundle.manifest_sha256, SHA256_HEX);
    }
    trace_free(load.trace);
    bundle_close(&bundle);
    return status;
}

static bool usable(const struct run_facts *facts)
{
    return facts->outcome == CG_OUTCOME_COMPLETE && facts->structurally_valid;
}

/* Takes over the structure of run number i if it stands for the cohort better than the one before. */
static void choose(struct loaded_cohort *cohort, size_t i, struct structure *structure)
{
    if (i > 0 && (usable(&cohort->runs[cohort->structure_run]) || !usable(&cohort->runs[i]))) {
        structure_free(structure);
        return;
    }
    structure_free(&cohort->structure);
    cohort->structure = *structure;
    cohort->structure_run = i;
}

static int load_run(const char *path, bool verified, size_t i, struct loaded_cohort *cohort,
                    struct structure *structure, struct cg_error *error)
{
    return verified ? run_load_bundle(path, &cohort->runs[i], &cohort->receipts[i], structure, error)
                    : run_load_trace(path, &cohort->runs[i], structure, error);
}

int cohort_load(const char *const *paths, size_t count, const char *name, bool verified, bool structure,
                struct loaded_cohort *cohort, struct cg_error *error)
{
    *cohort = (struct loaded_cohort){.runs = calloc(count + 1, sizeof *cohort->runs),
                                     .receipts = calloc(count + 1, sizeof *cohort->receipts)};
    char(*digests)[SHA256_HEX] = calloc(count + 1, sizeof *digests);
    int status = cohort->runs && cohort->receipts && digests ? 0 : cg_out_of_memory(error);

    for (size_t i = 0; status == 0 && i < count; i++) {
        struct structure made = {0};
        struct cg_error cause;
        status = load_run(paths[i], verified, i, cohort, structure ? &made : NULL, &cause);
        if (status != 0) {
            cg_fail(error, status, "%s %zu: %s", name, i + 1, cause.message);
            break;
        }
        cohort->count++;
        if (!structure) continue;
        memcpy(digests[i], made.digest, sizeof *digests);
        choose(cohort, i, &made);
    }
    for (size_t i = 0; status == 0 && structure && i < count; i++)
        cohort->structures_alike += sha256_equal(digests[i], cohort->structure.digest);
    free(digests);
    if (status != 0) cohort_free(cohort);
    return status;
}

void cohort_free(struct loaded_cohort *cohort)
{
    for (size_t i = 0; i < cohort->count; i++)
        run_facts_free(&cohort->runs[i]);
    free(cohort->runs);
    free(cohort->receipts);
    structure_free(&cohort->structure);
    *cohort = (struct loaded_cohort){0};
}

struct structured_run cohort_structure(const struct loaded_cohort *cohort)
{
    const struct run_facts *facts = &cohort->runs[cohort->structure_run];
    return (struct structured_run){.run_id = facts->run_id,
                                   .position = cohort->structure_run + 1,
                                   .complete = usable(facts),
                                   .runs = cohort->count,
                                   .runs_alike = cohort->structures_alike,
                                   .structure = &cohort->structure};
}

struct cohort cohort_view(const struct loaded_cohort *cohort, bool verified)
{
    return (struct cohort){cohort->runs, cohort->count, cohort->receipts, verified ? cohort->count : 0};
}
