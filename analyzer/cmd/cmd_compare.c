/* compare: two cohorts of runs of one workload (doc/spec/compare.md 1, doc/spec/cli.md 5.9). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/cmd/document.h"
#include "analyzer/cmd/output.h"
#include "analyzer/evidence/run_load.h"

static void emit(struct json_doc *doc, const void *object)
{
    doc_object(doc);
    comparison_emit(doc, object);
    doc_object_end(doc);
}

/* Nothing is written into a bundle that is compared; asked before any of them is read. */
static int check_output(const char *output, const struct option_value *roots, struct cg_error *error)
{
    int status = 0;
    for (size_t i = 0; status == 0 && i < roots->count; i++)
        status = output_check(output, roots->list[i], NULL, 0, error);
    return status;
}

/* Raw traces are read, so they must not be overwritten. */
static int check_output_files(const char *output, const struct option_value *files, struct cg_error *error)
{
    return output_check(output, NULL, files->list, files->count, error);
}

/* The distinct codes of the reasons, ascending, joined by commas. */
static void list_codes(const struct comparison *comparison, char *text, size_t size)
{
    bool seen[COMPARISON_CODE_COUNT] = {false};
    const char *names[COMPARISON_CODE_COUNT];
    size_t count = 0, used = 0;

    for (size_t i = 0; i < comparison->reason_count; i++)
        seen[comparison->reasons[i].code] = true;
    for (int code = 0; code < COMPARISON_CODE_COUNT; code++) {
        if (!seen[code]) continue;
        size_t at = count++;
        const char *name = comparison_code_name((enum comparison_code)code);
        for (; at > 0 && strcmp(names[at - 1], name) > 0; at--)
            names[at] = names[at - 1];
        names[at] = name;
    }
    *text = '\0';
    for (size_t i = 0; i < count && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "", names[i]);
}

static int require_eligible(const struct comparison *comparison, struct cg_error *error)
{
    char codes[768];
    if (comparison->verdict != VERDICT_INELIGIBLE) return CG_EXIT_DONE;
    list_codes(comparison, codes, sizeof codes);
    return cg_fail(error, CG_EXIT_CONDITION, "--require-eligible is not met: %s", codes);
}

static int compare(const struct arguments *arguments, const struct loaded_cohort *before,
                   const struct loaded_cohort *after, bool verified, struct cg_error *error)
{
    struct cohort baseline = cohort_view(before, verified), candidate = cohort_view(after, verified);
    struct comparison comparison;

    if (!comparison_make(&baseline, &candidate, verified, &comparison))
        return cg_fail(error, CG_EXIT_IO, "out of memory");
    struct document document = {.order = DOC_DECLARED, .emit = emit, .people = emit, .object = &comparison};
    int status = document_write(arguments, NULL, &document, error);
    if (status == 0 && argument(arguments, "require-eligible")->given)
        status = require_eligible(&comparison, error);
    comparison_free(&comparison);
    return status;
}

static int run(const struct arguments *arguments, struct cg_error *error)
{
    const struct option_value *baseline = argument(arguments, "baseline");
    const struct option_value *candidate = argument(arguments, "candidate");
    const char *output = argument(arguments, "output")->text;
    bool verified = !argument(arguments, "unverified-traces")->given;
    int (*check)(const char *, const struct option_value *, struct cg_error *) =
        verified ? check_output : check_output_files;

    int status = document_check_format(arguments, "a comparison", false, error);
    if (status == 0) status = check(output, baseline, error);
    if (status == 0) status = check(output, candidate, error);
    if (status != 0) return status;
    struct loaded_cohort before, after;
    status = cohort_load(baseline->list, baseline->count, "baseline", verified, &before, error);
    if (status != 0) return status;
    status = cohort_load(candidate->list, candidate->count, "candidate", verified, &after, error);
    if (status == 0) {
        status = compare(arguments, &before, &after, verified, error);
        cohort_free(&after);
    }
    cohort_free(&before);
    return status;
}

static const struct option_spec options[] = {
    {.name = "baseline",
     .type = OPTION_PATHS,
     .argument = "BUNDLE",
     .about = "runs to compare with: bundles, five or more",
     .required = true},
    {.name = "candidate",
     .type = OPTION_PATHS,
     .argument = "BUNDLE",
     .about = "runs to judge: bundles, five or more",
     .required = true},
    {.name = "unverified-traces",
     .type = OPTION_FLAG,
     .about = "take raw traces instead of bundles; the verdict is then always ineligible"},
    {.name = "require-eligible",
     .type = OPTION_FLAG,
     .about = "end with status 1, after writing, when the verdict is ineligible"},
    OPTION_OUTPUT,
    OPTION_FORMAT,
};
static const struct command_example examples[] = {
    {"cg-analyze compare --baseline main/* --candidate branch/*", "is the branch faster?"},
    {"cg-analyze compare --baseline main/* --candidate branch/* --require-eligible -o comparison.json",
     "stop a pipeline when the runs cannot be compared"},
};

const struct command command_compare = {
    .name = "compare",
    .about = "compare two cohorts of runs of one workload",
    .description = "Compares the duration of the measured region between baseline and candidate runs and "
                   "writes the verdict with "
                   "its 95 % bootstrap interval, the reasons that speak against comparing them, and the "
                   "tensor statistics of both "
                   "(candle-graph/comparison/6).\n"
                   "Each run is a verified bundle. A cohort needs five runs of one implementation, captured "
                   "under the same contract "
                   "and conditions; runs that carry pair ids are compared in pairs.",
    .condition = "--require-eligible was given, and the verdict is ineligible",
    OPTION_LIST(options),
    EXAMPLE_LIST(examples),
    .run = run,
};
