/* series: how one entrypoint changes over training steps (doc/spec/compare.md 4, doc/spec/cli.md 5.11). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/cmd/document.h"
#include "analyzer/cmd/output.h"
#include "analyzer/evidence/campaign.h"
#include "analyzer/evidence/series_plot.h"

static void emit(struct json_doc *doc, const void *object)
{
    emit_series(doc, object);
}

/* Ends an output whose content was written with this errno value. */
static int close_written(struct output *output, int failure, struct cg_error *error)
{
    if (!failure || output->failure) return output_close(output, error);
    output_abandon(output);
    return cg_fail(error, CG_EXIT_IO, "cannot make the result: %s", strerror(failure));
}

static int write_svg(const struct series_plot *plot, const char *path, struct cg_error *error)
{
    struct output output;
    int status = output_open(&output, path, error);
    if (status != 0) return status;
    return close_written(&output, series_plot_svg(plot, output_write, &output), error);
}

/* The report and, beside it, the plot that it shows. */
static int write_report(const struct series_plot *plot, const char *path, const char *image,
                        struct cg_error *error)
{
    const char *slash = strrchr(image, '/');
    struct output output;
    int status = write_svg(plot, image, error);
    if (status == 0) status = output_open(&output, path, error);
    if (status != 0) return status;
    int failure = series_plot_markdown(plot, slash ? slash + 1 : image, output_write, &output);
    return close_written(&output, failure, error);
}

/* Where the results go. */
enum { TARGET_OUTPUT, TARGET_SVG, TARGET_REPORT, TARGET_IMAGE, TARGETS };
struct targets {
    const char *path[TARGETS]; /* NULL: not asked for, or standard output */
    char *image;               /* of the report: its name and ".svg" */
};

static int write_plots(const struct targets *targets, const struct series_document *document,
                       struct cg_error *error)
{
    struct series_plot plot;
    int status = 0;

    if (!targets->path[TARGET_SVG] && !targets->path[TARGET_REPORT]) return 0;
    if (!series_plot_make(document, &plot)) return cg_out_of_memory(error);
    if (targets->path[TARGET_SVG]) status = write_svg(&plot, targets->path[TARGET_SVG], error);
    if (status == 0 && targets->path[TARGET_REPORT])
        status = write_report(&plot, targets->path[TARGET_REPORT], targets->path[TARGET_IMAGE], error);
    series_plot_free(&plot);
    return status;
}

static int write_document(const struct arguments *arguments, const struct targets *targets,
                          const struct series *series, struct cg_error *error)
{
    const struct option_value *prefix = argument(arguments, "label-prefix");
    struct series_document *points = series_document_make(series, prefix->given ? prefix->text : NULL);
    if (!points) return cg_out_of_memory(error);
    int status = write_plots(targets, points, error);
    struct document document = {.order = DOC_DECLARED, .emit = emit, .people = emit, .object = points};
    if (status == 0) status = document_write(arguments, NULL, &document, error);
    series_document_free(points);
    return status;
}

static int write_series(const struct arguments *arguments, const struct targets *targets,
                        const char *const *roots, size_t count, struct cg_error *error)
{
    struct series series;
    int status = 0;

    for (size_t i = 0; status == 0 && i < count; i++)
        for (int k = 0; status == 0 && k < TARGETS; k++)
            status = output_check(targets->path[k], roots[i], NULL, 0, error);
    if (status == 0) status = series_load(roots, count, &series, error);
    if (status != 0) return status;
    status = write_document(arguments, targets, &series, error);
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
        cg_say("step %llu (%s): %s", (unsigned long long)capture->capture_step, capture->bundle,
               campaign_state_name(capture->state));
        wanting++;
    }
    return wanting ? cg_fail(error, CG_EXIT_CONDITION, "%s: %zu of %zu planned captures are not published",
                             manifest, wanting, campaign->count)
                   : 0;
}

static int from_manifest(const struct arguments *arguments, const struct targets *targets,
                         const char *manifest, struct cg_error *error)
{
    struct campaign campaign;
    int status = 0;

    for (int k = 0; status == 0 && k < TARGETS; k++)
        status = output_check(targets->path[k], NULL, &manifest, 1, error);
    if (status == 0) status = campaign_read(manifest, &campaign, error);
    if (status != 0) return status;
    status = campaign_reconcile(&campaign, error);
    if (status == 0) status = require_published(manifest, &campaign, error);
    const char **roots = calloc(campaign.count, sizeof *roots);
    if (status == 0 && !roots) status = cg_out_of_memory(error);
    for (size_t i = 0; status == 0 && i < campaign.count; i++)
        roots[i] = campaign.captures[i].root;
    if (status == 0) status = write_series(arguments, targets, roots, campaign.count, error);
    free(roots);
    campaign_free(&campaign);
    return status;
}

/* Each result needs a place of its own, and the plots a file. */
static int read_targets(const struct arguments *arguments, struct targets *targets, struct cg_error *error)
{
    const struct option_value *report = argument(arguments, "report");
    *targets = (struct targets){.path = {[TARGET_OUTPUT] = argument(arguments, "output")->text,
                                         [TARGET_SVG] = argument(arguments, "svg")->text,
                                         [TARGET_REPORT] = report->text}};
    if (report->given) {
        if (asprintf(&targets->image, "%s.svg", report->text) < 0)
            return targets->image = NULL, cg_out_of_memory(error);
        targets->path[TARGET_IMAGE] = targets->image;
    }
    for (int i = 0; i < TARGETS; i++) {
        const char *path = targets->path[i];
        if (i != TARGET_OUTPUT && path && output_is_stdout(path))
            return cg_fail(error, CG_EXIT_USAGE,
                           "series: plots and reports go to files: standard output is for the document");
        for (int k = 0; k < i && path; k++)
            if (targets->path[k] && strcmp(targets->path[k], path) == 0)
                return cg_fail(error, CG_EXIT_USAGE, "series: %s: two results cannot go to one file", path);
    }
    return 0;
}

static int run(const struct arguments *arguments, struct cg_error *error)
{
    const struct option_value *manifest = argument(arguments, "manifest"),
                              *bundles = argument(arguments, "bundle");
    struct targets targets = {0};

    int status = document_check_format(arguments, "a series", false, error);
    if (status == 0) status = read_targets(arguments, &targets, error);
    if (status == 0 && manifest->given)
        status = from_manifest(arguments, &targets, manifest->text, error);
    else if (status == 0 && bundles->given)
        status = write_series(arguments, &targets, bundles->list, bundles->count, error);
    else if (status == 0)
        status = cg_fail(error, CG_EXIT_USAGE, "series: --manifest or --bundle is missing");
    free(targets.image);
    return status;
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
    {.name = "svg",
     .type = OPTION_FILE,
     .argument = "FILE",
     .about =
         "also draw the series into FILE: medians over the steps, each with its lowest and highest value"},
    {.name = "report",
     .type = OPTION_FILE,
     .argument = "FILE",
     .about = "also write a report for people (Markdown) to FILE, and the plot that it shows to FILE.svg"},
    OPTION_OUTPUT,
    OPTION_FORMAT,
};
static const struct command_example examples[] = {
    {"cg-analyze series --bundle runs/step*", "wall time, tensor statistics and gradients over the steps"},
    {"cg-analyze series --manifest campaign.json --label-prefix encoder/ -o series.json",
     "of one part of a model"},
    {"cg-analyze series --bundle runs/step* --svg series.svg -o series.json", "the same as a plot"},
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
