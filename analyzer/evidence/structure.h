/* What a run is made of, apart from how long it took: which spans, operations, kernels and storages there
 * were, how many of each and how large; and how two runs differ in that. */
#ifndef CGTRACE_ANALYZER_EVIDENCE_STRUCTURE_H
#define CGTRACE_ANALYZER_EVIDENCE_STRUCTURE_H

#include "analyzer/evidence/sha256.h"
#include "analyzer/evidence/text.h"
#include "common/json_doc.h"

/* P(constant suffix, "member", has bytes, contract member that says how far it is covered or none, "meaning")
 */
#define STRUCTURE_PARTS(P)                                                                                   \
    P(LABELS, "labels", false, none, "spans by name")                                                        \
    P(OPS, "ops", true, operations,                                                                          \
      "operations that launch no kernel, by name; bytes copied, set or allocated, else of the dense output") \
    P(KERNELS, "kernels", false, operations, "kernel launches by kernel")                                    \
    P(STORAGES_BY_LABEL, "storages_by_label", true, logical_memory,                                          \
      "storages by the name of the span that they were allocated in")                                        \
    P(STORAGES_BY_CATEGORY, "storages_by_category", true, logical_memory, "storages by category")            \
    P(STORAGES_BY_CALL_SITE, "storages_by_call_site", true, logical_memory,                                  \
      "storages by the innermost frame of the call that allocated them, else by its operation or entry "     \
      "point")

enum structure_part {
#define STRUCTURE_PART(suffix, member, bytes, coverage, meaning) STRUCTURE_##suffix,
    STRUCTURE_PARTS(STRUCTURE_PART)
#undef STRUCTURE_PART
        STRUCTURE_PART_COUNT
};

/* All things of one name; sums are clamped to 2^64-1. */
struct structure_row {
    struct cg_text name;
    uint64_t count, bytes;
};
struct structure_rows {
    struct structure_row *rows; /* byte order of names, each once */
    size_t count;
};
struct structure {
    struct text_arena arena; /* owns the names */
    struct structure_rows parts[STRUCTURE_PART_COUNT];
    enum cg_value_COVERAGE coverage[STRUCTURE_PART_COUNT]; /* as declared; COMPLETE for labels */
    char digest[SHA256_HEX]; /* of all rows: the same for runs of the same structure */
};

/* Takes the structure out of a trace, of which nothing is kept; it must have been loaded with its extra
 * fields. Linear but for the sorting of distinct names. False when memory is short (the structure is then
 * empty). */
bool structure_make(const struct cg_trace *trace, struct structure *structure);
void structure_free(struct structure *structure);

enum { STRUCTURE_BASELINE, STRUCTURE_CANDIDATE, STRUCTURE_SIDES };

/* A name whose count or bytes differ; a count of 0 is a name that the side does not have. */
struct structure_difference {
    struct cg_text name;
    uint64_t count[STRUCTURE_SIDES], bytes[STRUCTURE_SIDES];
};
struct structure_part_comparison {
    /* Largest change of bytes first, then of counts, then byte order of names. */
    struct structure_difference *differences;
    size_t difference_count, added, removed, changed, unchanged;
};

/* Which run of a cohort stands for it. */
struct structured_run {
    struct cg_text run_id;
    size_t position;         /* in the cohort, from 1 */
    bool complete;           /* its capture is complete and valid */
    size_t runs, runs_alike; /* of the cohort, and those of them with the same structure, itself included */
    const struct structure *structure;
};
struct structure_comparison {
    struct structured_run sides[STRUCTURE_SIDES];
    struct structure_part_comparison parts[STRUCTURE_PART_COUNT];
};

/* The structures must outlive the comparison, which has their names. False when memory is short. */
bool structure_compare(const struct structured_run *baseline, const struct structured_run *candidate,
                       struct structure_comparison *comparison);
void structure_comparison_free(struct structure_comparison *comparison);

/* One object; of each part at most cap differences are shown. */
void emit_structure_comparison(struct json_doc *doc, const struct structure_comparison *comparison,
                               uint64_t cap);

#endif
