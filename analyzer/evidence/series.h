/* Series: the runs of one entrypoint over training steps (doc/spec/compare.md 4). */
#ifndef CGTRACE_ANALYZER_EVIDENCE_SERIES_H
#define CGTRACE_ANALYZER_EVIDENCE_SERIES_H

#include "analyzer/evidence/run_load.h"

#define SERIES_SCHEMA "candle-graph/series/1"

struct series_run {
    const char *root; /* the path as used; the caller's */
    struct run_facts facts;
    struct comparison_receipt receipt;
};
struct series {
    struct series_run *runs; /* ascending capture_step */
    size_t count;
};

/* Loads the bundles in order and checks that they belong together: one entrypoint, one phase, every step
 * once. The roots must outlive the series. CG_EXIT_INPUT or CG_EXIT_IO. */
int series_load(const char *const *roots, size_t count, struct series *series, struct cg_error *error);
void series_free(struct series *series);

/* One event of one run. */
struct series_point {
    struct cg_text key;
    const struct series_run *run;
    size_t event; /* of the run's stats or gradients */
    size_t order; /* step order and file order among equal keys */
};
struct series_points {
    struct series_point *at; /* byte order of keys, then order */
    size_t count;
};
struct series_document {
    const struct series *series;
    const char *label_prefix;
    struct series_points stats, gradients;
};

/* What series/1 says; label_prefix (NULL: none) keeps labels and gradient keys that begin with it. NULL when
 * memory is short. The series must outlive it. */
struct series_document *series_document_make(const struct series *series, const char *label_prefix);
/* One object, in declared order. */
void emit_series(struct json_doc *doc, const struct series_document *document);
void series_document_free(struct series_document *document);

#endif
