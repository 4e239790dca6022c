/* campaign-status: which planned captures are there (doc/spec/compare.md 3, doc/spec/cli.md 5.10). */
#include "analyzer/cmd/document.h"
#include "analyzer/cmd/output.h"
#include "analyzer/evidence/campaign.h"

static void emit(struct json_doc *doc, const void *object)
{
    emit_campaign_status(doc, object);
}

static int run(const struct arguments *arguments, struct cg_error *error)
{
    const char *manifest = argument(arguments, "manifest")->text,
               *output = argument(arguments, "output")->text;
    struct campaign campaign;

    int status = document_check_format(arguments, "a campaign's state", false, error);
    if (status == 0) status = output_check(output, NULL, &manifest, 1, error);
    if (status == 0) status = campaign_read(manifest, &campaign, error);
    if (status != 0) return status;
    for (size_t i = 0; status == 0 && i < campaign.count; i++)
        status = output_check(output, campaign.captures[i].root, NULL, 0, error);
    if (status == 0) status = campaign_reconcile(&campaign, error);
    if (status == 0) {
        struct document document = {.order = DOC_DECLARED, .emit = emit, .people = emit, .object = &campaign};
        status = document_write(arguments, NULL, &document, error);
    }
    campaign_free(&campaign);
    return status;
}

static const struct option_spec options[] = {
    {.name = "manifest",
     .type = OPTION_FILE,
     .argument = "FILE",
     .about =
         "the plan, a candle-graph/campaign/1 document; bundle paths in it are relative to its directory",
     .required = true},
    OPTION_OUTPUT,
    OPTION_FORMAT,
};
static const struct command_example examples[] = {
    {"cg-analyze campaign-status --manifest campaign.json", "see which captures are still to be made"},
};

const struct command command_campaign_status = {
    .name = "campaign-status",
    .about = "show which planned captures are published",
    .description =
        "Reads a plan of captures and tells of each whether its bundle is published, missing, does not "
        "verify, holds "
        "another capture than planned, or a capture that failed (candle-graph/campaign-status/1).\n"
        "Whatever the states, the status is 0: the document says it.",
    OPTION_LIST(options),
    EXAMPLE_LIST(examples),
    .run = run,
};
