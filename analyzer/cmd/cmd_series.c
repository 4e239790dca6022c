/* series: how one entrypoint changes over training steps (doc/spec/compare.md 4, doc/spec/cli.md 5.11). */
#include <stdio.h>
#include <stdlib.h>

#include "analyzer/cmd/document.h"
#include "analyzer/cmd/output.h"
#include "analyzer/evidence/campaign.h"
#include "analyzer/evidence/series.h"

static void emit(struct json_doc *doc, const void *object)
{
    emit_series(doc, object);
}

static int write_series(const struct arguments *arguments, const char *const *roots, size_t count,
                        struct cg_error *error)
{
    const struct option_value *prefix = argument(arguments, "label-prefix");
    const char *output = argument(arguments, "output")->text;
    struct series series;
    int status = 0;

    for (size_t i = 0; status == 0 && i < count; i++)
        status = output_check(output, roots[i], NULL, 0, error);
    if (status == 0) status = series_load(roots, count, &series, error);
    if (status != 0) return status;
    struct series_document *points = series_document_make(&series, prefix->given ? prefix->text : NULL);
    if (points) {
        struct document document = {.order = DOC_DECLARED, .emit = emit, .people = emit, .object = points};
        status = document_write(arguments, NULL, &document, error);
        series_document_free(points);
    } else {
        status = cg_out_of_memory(error);
    }
    series_free(&series);
    return status;
}

/* Names every capture that is not published, each on a line. */
static int require_published(const char *manifest, const struct campaign *campaign, struct cg_error *error)
{
    size_t wanting = 0;

    for (size_t i = 0; i < campaign->count; i++) {
        const struct campaign_capture *capture = &campaign->captures[i];
        if (capture->state == CAMPAIGN_PUBLISHED) continue;
        fprintf(stderr, "cg-analyze: step %llu (%s): %s\n", (unsigned long long)capture->capture_step,
                capture->bundle, campaign_state_name(capture->state));
        wanting++;
    }
    return wanting ? cg_fail(error, CG_EXIT_CONDITION, "%s: %zu of %zu planned captures are not published",
                             manifest, wanting, campaign->count)
                   : 0;
}

static int from_manifest(const struct arguments *arguments, const char *manifest, struct cg_error *error)
{
    const char *output = argument(arguments, "output")->text;
    struct campaign campaign;
    int status = output_check(output, NULL, &manifest, 1, error);

    if (status == 0) status = campaign_read(manifest, &campaign, error);
    if (status != 0) return status;
    status = campaign_reconcile(&campaign, error);
    if (status == 0) status = require_published(manifest, &campaign, error);
    const char **roots = calloc(campaign.count, sizeof *roots);
    if (status == 0 && !roots) status = cg_out_of_memory(error);
    for (size_t i = 0; status == 0 && i < campaign.count; i++)
        roots[i] = campaign.captures[i].root;
    if (status == 0) status = write_series(arguments, roots, campaign.count, error);
    free(roots);
    campaign_free(&campaign);
    return status;
}

static int run(const struct arguments *arguments, struct cg_error *error)
{
    const struct option_value *manifest = argument(arguments, "manifest"),
                              *bundles = argument(arguments, "bundle");

    int status = document_check_format(arguments, "a series", false, error);
    if (status != 0) return status;
    if (manifest->given) return from_manifest(arguments, manifest->text, error);
    if (bundles->given) return write_series(arguments, bundles->list, bundles->count, error);
    return cg_fail(error, CG_EXIT_USAGE, "series: --manifest or --bundle is missing");
}

static const struct option_spec options[] = {
    {.name = "manifest",
     .type = OPTION_FILE,
     .argument = "FILE",
     .about = "take the bundles of this plan, which must all be published",
     .conflicts = {"bundle"}},
    {.name = "bundle",
     .type = OPTION_PATHS,
     .argument = "DIR",
     .about = "bundles, in any order",
     .conflicts = {"manifest"}},
    {.name = "label-prefix",
     .type = OPTION_TEXT,
     .argument = "TEXT",
     .about = "only tensor labels and gradient keys (root/key) that begin with TEXT"},
    OPTION_OUTPUT,
    OPTION_FORMAT,
};
static const struct command_example examples[] = {
    {"cg-analyze series --bundle runs/step*", "wall time, tensor statistics and gradients over the steps"},
    {"cg-analyze series --manifest campaign.json --label-prefix encoder/ -o series.json",
     "of one part of a model"},
};

const struct command command_series = {
    .name = "series",
    .about = "show how runs change over training steps",
    .description = "Puts bundles of one entrypoint, captured at different steps, in the order of their steps "
                   "and writes the duration "
                   "of the measured region, tensor statistics and gradients of each (candle-graph/series/1).",
    .condition = "--manifest was given, and a planned capture is not published",
    OPTION_LIST(options),
    EXAMPLE_LIST(examples),
    .run = run,
};
