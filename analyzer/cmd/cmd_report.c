/* report: publishes a trace as an evidence bundle (doc/spec/bundle.md 5, doc/spec/cli.md 5.7). */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyzer/cmd/document.h"
#include "analyzer/cmd/output.h"
#include "analyzer/cmd/page_documents.h"
#include "analyzer/evidence/bundle_publish.h"
#include "analyzer/evidence/staging.h"

struct receipt {
    const char *destination;
    const struct bundle *bundle;
};

static void emit(struct json_doc *doc, const void *object)
{
    const struct receipt *receipt = object;

    doc_object(doc);
    doc_member_string(doc, "schema", "candle-graph/publication/1");
    doc_member_string(doc, "status", "published");
    doc_member_string(doc, "bundle_path", receipt->destination);
    doc_member_bytes(doc, "run_id", receipt->bundle->run_id.bytes, receipt->bundle->run_id.length);
    doc_key(doc, "verification");
    emit_bundle_receipt(doc, receipt->bundle);
    doc_object_end(doc);
}

/* The page names the bundle as the directory that it lies in: the same trace gives the same bytes. */
static int write_page(const struct cg_trace *trace, const struct evidence *evidence, json_sink *sink,
                      void *context, struct cg_error *error)
{
    char here[] = ".", name[] = "trace.jsonl";
    struct command_input input = {
        .requested_path = here, .trace_path = name, .trace = (struct cg_trace *)trace, .evidence = *evidence};
    int status = command_input_work(&input, error);
    if (status == 0) status = page_documents_write(&input, here, NULL, VIEWER_SIZE, sink, context, error);
    command_input_work_free(&input);
    return status;
}

static int run(const struct arguments *arguments, struct cg_error *error)
{
    const char *destination = argument(arguments, "bundle")->text,
               *output = argument(arguments, "output")->text;
    char *trace;
    struct bundle bundle;

    int status = document_check_format(arguments, "a receipt", false, error);
    if (status == 0) status = command_input_raw(arguments->input, &trace, error);
    if (status != 0) return status;
    status = staging_check(destination, error);
    /* The receipt must not be written into the bundle that it is about; asked before that exists. */
    if (status == 0) status = output_check(output, destination, (const char *const[]){trace}, 1, error);
    if (status == 0)
        status = bundle_publish(trace, argument(arguments, "nsight-dir")->text, destination,
                                argument_threads(arguments), write_page, &bundle, error);
    free(trace);
    if (status != 0) return status;
    struct receipt receipt = {destination, &bundle};
    struct document document = {.order = DOC_DECLARED, .emit = emit, .people = emit, .object = &receipt};
    status = document_write(arguments, NULL, &document, error);
    bundle_close(&bundle);
    return status;
}

static const struct option_spec options[] = {
    {.name = "bundle",
     .type = OPTION_DIR,
     .argument = "DIR",
     .about = "the bundle to make; it must not exist yet",
     .required = true},
    {.name = "nsight-dir",
     .type = OPTION_DIR,
     .argument = "DIR",
     .about = "reports of nsys stats (CSV) that become part of the bundle and its evidence"},
    OPTION_OUTPUT,
    OPTION_FORMAT,
    OPTION_THREADS,
};
static const struct command_example examples[] = {
    {"cg-analyze report step10.jsonl --bundle runs/step10", "keep a capture as evidence"},
    {"cg-analyze report step10.jsonl --nsight-dir nsys --bundle runs/step10",
     "the same with what Nsight Systems saw of the run"},
};

const struct command command_report = {
    .name = "report",
    .positional = "TRACE",
    .about = "publish a trace as an evidence bundle",
    .description =
        "Copies TRACE into a new directory, derives its evidence from the copy, writes both with a report "
        "and an offline page for people and "
        "a manifest of the SHA-256 of every file, and prints a receipt (candle-graph/publication/1).\n"
        "The directory appears whole or not at all. A trace of a failed or invalid capture is published too, "
        "and the "
        "evidence says so.",
    OPTION_LIST(options),
    EXAMPLE_LIST(examples),
    .run = run,
};
