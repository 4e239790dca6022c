/* libFuzzer: cohorts of any traces that are taken, between bytes 0x1e, by turns for the baseline and for the
 * candidate: compared, with structure and all that goes beyond the format. */
#include <stdlib.h>
#include <string.h>

#include "analyzer/evidence/comparison_extensions.h"
#include "analyzer/evidence/run_load.h"
#include "tests/fuzz/files.h"

enum { RUNS_MAX = 8, COHORTS = 2 };

struct loaded {
    struct run_facts runs[RUNS_MAX];
    struct comparison_receipt receipts[RUNS_MAX];
    struct structure structure;
    size_t count;
};

static void load(struct loaded *cohort, const uint8_t *bytes, size_t length)
{
    struct cg_load_options options = {.extras = true, .threads = 1};
    struct cg_error error = {0};
    struct cg_trace *trace;
    if (trace_load_bytes("fuzz", bytes, length, &options, &trace, &error) != 0) return;
    struct run_facts *facts = &cohort->runs[cohort->count];
    struct comparison_receipt *receipt = &cohort->receipts[cohort->count];
    if (!run_facts_make(trace, facts)) abort();
    if (cohort->count++ == 0 && !structure_make(trace, &cohort->structure)) abort();
    receipt->run_id = facts->run_id;
    memset(receipt->manifest_sha256, 'a', sizeof receipt->manifest_sha256 - 1);
    trace_free(trace);
}

static struct cohort view(const struct loaded *cohort)
{
    return (struct cohort){cohort->runs, cohort->count, cohort->receipts, cohort->count};
}

static void emit(const struct comparison *comparison, const struct comparison_extensions *extensions)
{
    struct json_doc *doc = doc_start(DOC_COMPACT, DOC_DECLARED, fuzz_discard, NULL);
    if (!doc) abort();
    doc_object(doc);
    comparison_emit(doc, comparison);
    doc_key(doc, "extensions");
    emit_comparison_extensions(doc, extensions);
    doc_object_end(doc);
    if (doc_finish(doc) != 0) abort();
}

static void compare(const struct loaded *cohorts)
{
    const struct cohort baseline = view(&cohorts[0]), candidate = view(&cohorts[1]);
    struct structured_run sides[COHORTS];
    const struct extension_request request = {.percent_given = true, .percent = 1.0};
    struct comparison comparison, noise;
    struct structure_comparison structure;
    struct comparison_extensions extensions;
    for (int i = 0; i < COHORTS; i++)
        sides[i] = (struct structured_run){.run_id = cohorts[i].runs[0].run_id,
                                           .position = 1,
                                           .runs = cohorts[i].count,
                                           .structure = &cohorts[i].structure};
    if (!comparison_make(&baseline, &candidate, true, &comparison) ||
        !comparison_make(&baseline, &baseline, true, &noise) ||
        !structure_compare(&sides[0], &sides[1], &structure) ||
        !comparison_extend(&comparison, &noise, &request, &extensions))
        abort();
    extensions.structure = &structure;
    extensions.structure_cap = 20;
    emit(&comparison, &extensions);
    structure_comparison_free(&structure);
    comparison_free(&noise);
    comparison_free(&comparison);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct fuzz_parts parts = {bytes, bytes ? bytes + length : NULL};
    static struct loaded cohorts[COHORTS];
    const uint8_t *part;
    size_t size;
    memset(cohorts, 0, sizeof cohorts);
    for (int turn = 0; turn < RUNS_MAX * COHORTS && fuzz_part(&parts, &part, &size); turn++)
        load(&cohorts[turn % COHORTS], part, size);
    if (cohorts[0].count && cohorts[1].count) compare(cohorts);
    for (int i = 0; i < COHORTS; i++) {
        for (size_t run = 0; run < cohorts[i].count; run++)
            run_facts_free(&cohorts[i].runs[run]);
        structure_free(&cohorts[i].structure);
    }
    return 0;
}
