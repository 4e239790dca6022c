/* compare: two cohorts of runs of one workload (doc/spec/compare.md 1, doc/spec/cli.md 5.9). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/cmd/document.h"
#include "analyzer/cmd/output.h"
#include "analyzer/evidence/comparison_extensions.h"
#include "analyzer/evidence/run_load.h"

enum { STRUCTURE_ROWS = 20 };

struct answer {
    struct comparison comparison;
    struct comparison noise; /* of the baseline against the noise cohort */
    struct structure_comparison structure;
    bool extended, noise_given, structure_given, structure_all;
    struct comparison_extensions extensions;
};

static void emit(struct json_doc *doc, const void *object)
{
    const struct answer *answer = object;
    doc_object(doc);
    comparison_emit(doc, &answer->comparison);
    if (answer->extended) {
        doc_key(doc, "extensions");
        emit_comparison_extensions(doc, &answer->extensions);
    }
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

/* --fail-on slower: what cannot be compared does not pass either. */
static int fail_on_slower(const struct answer *answer, struct cg_error *error)
{
    enum extended_verdict verdict = answer->extensions.verdict;
    if (verdict != EXTENDED_SLOWER && verdict != EXTENDED_NOT_COMPARABLE) return CG_EXIT_DONE;
    return cg_fail(error, CG_EXIT_CONDITION, "--fail-on slower: the candidate is %s",
                   verdict == EXTENDED_SLOWER ? "slower" : "not comparable");
}

/* What of ours was asked for; false when nothing was. CG_EXIT_USAGE when a number is none. */
static int read_request(const struct arguments *arguments, struct extension_request *request, bool *extended,
                        struct cg_error *error)
{
    const struct option_value *percent = argument(arguments, "min-effect"),
                              *ns = argument(arguments, "min-effect-ns");
    *request =
        (struct extension_request){.percent_given = percent->given, .ns_given = ns->given, .ns = ns->number};
    *extended = percent->given || ns->given || argument(arguments, "noise")->given ||
                argument(arguments, "extensions")->given || argument(arguments, "fail-on")->given ||
                argument(arguments, "structure")->given;
    if (!percent->given) return 0;
    size_t length = strlen(percent->text);
    char *end;
    request->percent = strtod(percent->text, &end);
    if (length > 0 && strspn(percent->text, "0123456789.") == length && *end == '\0' &&
        request->percent <= 1e6)
        return 0;
    return cg_fail(error, CG_EXIT_USAGE,
                   "compare: --min-effect %s: expected a percentage from 0 to 1000000, such as 2.5",
                   percent->text);
}

static void free_answer(struct answer *answer)
{
    comparison_free(&answer->comparison);
    comparison_free(&answer->noise);
    structure_comparison_free(&answer->structure);
}

/* Makes the comparisons; on success free_answer() must follow. False when memory is short. */
static bool make_answer(const struct loaded_cohort *cohorts, bool verified,
                        const struct extension_request *request, struct answer *answer)
{
    struct cohort baseline = cohort_view(&cohorts[0], verified),
                  candidate = cohort_view(&cohorts[1], verified), noise = cohort_view(&cohorts[2], verified);
    bool ok = comparison_make(&baseline, &candidate, verified, &answer->comparison);
    if (ok && answer->noise_given) ok = comparison_make(&baseline, &noise, verified, &answer->noise);
    if (ok && answer->extended)
        ok = comparison_extend(&answer->comparison, answer->noise_given ? &answer->noise : NULL, request,
                               &answer->extensions);
    if (ok && answer->structure_given) {
        struct structured_run before = cohort_structure(&cohorts[0]), after = cohort_structure(&cohorts[1]);
        ok = structure_compare(&before, &after, &answer->structure);
        answer->extensions.structure = &answer->structure;
        answer->extensions.structure_cap = answer->structure_all ? UINT64_MAX : STRUCTURE_ROWS;
    }
    if (!ok) free_answer(answer);
    return ok;
}

static int compare(const struct arguments *arguments, const struct loaded_cohort *cohorts, bool verified,
                   struct cg_error *error)
{
    struct answer answer = {.noise_given = argument(arguments, "noise")->given,
                            .structure_given = argument(arguments, "structure")->given,
                            .structure_all = argument(arguments, "all")->given};
    struct extension_request request;

    int status = read_request(arguments, &request, &answer.extended, error);
    if (status != 0) return status;
    if (!make_answer(cohorts, verified, &request, &answer)) return cg_out_of_memory(error);
    struct document document = {.order = DOC_DECLARED, .emit = emit, .people = emit, .object = &answer};
    status = document_write(arguments, NULL, &document, error);
    if (status == 0 && argument(arguments, "require-eligible")->given)
        status = require_eligible(&answer.comparison, error);
    if (status == 0 && argument(arguments, "fail-on")->given) status = fail_on_slower(&answer, error);
    free_answer(&answer);
    return status;
}

enum { COHORT_NOISE = 2, COHORTS };
static const char *const cohort_names[COHORTS] = {"baseline", "candidate", "noise"};

static int check_arguments(const struct arguments *arguments, bool verified, struct cg_error *error)
{
    const char *output = argument(arguments, "output")->text;
    struct extension_request request;
    bool extended;
    int status = document_check_format(arguments, "a comparison", false, error);
    if (status == 0) status = read_request(arguments, &request, &extended, error);
    for (int i = 0; status == 0 && i < COHORTS; i++)
        status = (verified ? check_output : check_output_files)(output, argument(arguments, cohort_names[i]),
                                                                error);
    return status;
}

static int run(const struct arguments *arguments, struct cg_error *error)
{
    struct loaded_cohort cohorts[COHORTS] = {0};
    bool verified = !argument(arguments, "unverified-traces")->given;

    int status = check_arguments(arguments, verified, error);
    for (int i = 0; status == 0 && i < COHORTS; i++) {
        const struct option_value *paths = argument(arguments, cohort_names[i]);
        bool structure = i != COHORT_NOISE && argument(arguments, "structure")->given;
        status =
            cohort_load(paths->list, paths->count, cohort_names[i], verified, structure, &cohorts[i], error);
    }
    if (status == 0) status = compare(arguments, cohorts, verified, error);
    for (int i = 0; i < COHORTS; i++)
        cohort_free(&cohorts[i]);
    return status;
}

static bool fail_on_words(size_t index, const char **word, const char **about)
{
    if (index > 0) return false;
    *word = "slower";
    *about = "the candidate is slower, or the runs cannot be compared";
    return true;
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
    {.name = "extensions",
     .type = OPTION_FLAG,
     .about = "write what goes beyond the format too: a permutation test and a verdict that uses it"},
    {.name = "noise",
     .type = OPTION_PATHS,
     .argument = "BUNDLE",
     .about = "more runs of the baseline: what differs between them is noise (extensions)"},
    {.name = "min-effect",
     .type = OPTION_TEXT,
     .argument = "PERCENT",
     .about = "differences up to PERCENT of the baseline's median do not matter (extensions)"},
    {.name = "min-effect-ns",
     .type = OPTION_NUMBER,
     .argument = "N",
     .about = "differences up to N ns do not matter (extensions)",
     .maximum = UINT64_MAX},
    {.name = "structure",
     .type = OPTION_FLAG,
     .about =
         "say what differs in labels, operations, kernels and storages between the first complete run of "
         "each cohort (extensions)"},
    {.name = "all",
     .type = OPTION_FLAG,
     .about = "show all differences in structure, not the 20 largest of each part",
     .needs = "structure"},
    {.name = "fail-on",
     .type = OPTION_WORD,
     .argument = "WHAT",
     .about = "end with status 1, after writing, when that is so (extensions)",
     .words = fail_on_words},
    OPTION_OUTPUT,
    OPTION_FORMAT,
};
static const struct command_example examples[] = {
    {"cg-analyze compare --baseline main/* --candidate branch/*", "is the branch faster?"},
    {"cg-analyze compare --baseline main/* --candidate branch/* --require-eligible -o comparison.json",
     "stop a pipeline when the runs cannot be compared"},
    {"cg-analyze compare --baseline main/* --candidate branch/* --noise again/* --min-effect 1 --fail-on "
     "slower",
     "stop it when the branch is slower by more than noise and 1 %"},
    {"cg-analyze compare --baseline main/* --candidate branch/* --structure",
     "what was added, removed or changed in spans, operations, kernels and storages"},
};

const struct command command_compare = {
    .name = "compare",
    .about = "compare two cohorts of runs of one workload",
    .description =
        "Compares the duration of the measured region between baseline and candidate runs and "
        "writes the verdict with "
        "its 95 % bootstrap interval, the reasons that speak against comparing them, and the "
        "tensor statistics of both "
        "(candle-graph/comparison/6).\n"
        "Each run is a verified bundle. A cohort needs five runs of one implementation, captured "
        "under the same contract "
        "and conditions; runs that carry pair ids are compared in pairs.\n"
        "With --structure the first complete and valid run of each cohort, or its first run when "
        "there is none, stands for it; runs_alike says how many of the cohort have the same structure.",
    .condition = "--require-eligible was given, and the verdict is ineligible; or --fail-on, and that is so",
    OPTION_LIST(options),
    EXAMPLE_LIST(examples),
    .run = run,
};
