/* Loading the runs of a comparison, a campaign or a series: one trace at a time, and only its facts are kept.
 */
#ifndef CGTRACE_ANALYZER_EVIDENCE_RUN_LOAD_H
#define CGTRACE_ANALYZER_EVIDENCE_RUN_LOAD_H

#include "analyzer/evidence/bundle.h"
#include "analyzer/evidence/comparison.h"
#include "analyzer/evidence/run_facts.h"
#include "analyzer/evidence/structure.h"

/* Verifies the bundle in root, parses its trace, demands that manifest and trace name the same run, and
 * checks after reading that nothing changed (doc/spec/compare.md 1.3). On success *facts is the caller's, and
 * *receipt, whose run_id is a text of the facts, and *structure unless that is NULL. Else the status of
 * *error.
 */
int run_load_bundle(const char *root, struct run_facts *facts, struct comparison_receipt *receipt,
                    struct structure *structure, struct cg_error *error);

/* The facts of a raw trace file, and its structure unless that is NULL. */
int run_load_trace(const char *path, struct run_facts *facts, struct structure *structure,
                   struct cg_error *error);

/* A cohort that owns its runs. */
struct loaded_cohort {
    struct run_facts *runs;
    struct comparison_receipt *receipts; /* empty when the runs are raw traces */
    size_t count;
    /* Of the first run that is complete and valid, else of the first one; only when asked for. */
    struct structure structure;
    size_t structure_run, structures_alike; /* which run that is, and how many have the same structure */
};
/* Loads all paths in order; the first failure ends it, its message naming the cohort and the position from 1.
 */
int cohort_load(const char *const *paths, size_t count, const char *name, bool verified, bool structure,
                struct loaded_cohort *cohort, struct cg_error *error);
void cohort_free(struct loaded_cohort *cohort);
/* What structure_compare() takes, of a cohort that was loaded with its structure and has a run. */
struct structured_run cohort_structure(const struct loaded_cohort *cohort);
/* What comparison_make() takes. */
struct cohort cohort_view(const struct loaded_cohort *cohort, bool verified);

#endif
