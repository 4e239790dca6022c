/* recover: a trace from the capture file of a program that died. A command beyond the format's. */
#include <stdio.h>

#include "analyzer/cmd/document.h"
#include "analyzer/cmd/output.h"
#include "analyzer/recover/recover.h"

static void emit(struct json_doc *doc, const void *object)
{
    const struct recover_report *report = object;

    doc_object(doc);
    doc_member_string(doc, "schema", "cgtrace/recovery/1");
    doc_key(doc, "tool");
    emit_tool(doc);
    doc_member_string(doc, "trace", report->trace);
    doc_member_string(doc, "reason", report->reason);
    doc_member_bool(doc, "running", report->running);
    doc_member_bool(doc, "part_missing", report->part_missing);
    doc_member_u64(doc, "part_bytes", report->part_bytes);
    doc_member_u64(doc, "part_bytes_dropped", report->part_dropped);
    doc_member_u64(doc, "ring_records", report->ring_records);
    doc_member_u64(doc, "ring_records_dropped", report->ring_dropped);
    doc_member_u64(doc, "open_spans", report->open_spans);
    doc_member_u64(doc, "live_storages", report->live_storages);
    doc_member_u64(doc, "lost", report->lost);
    doc_object_end(doc);
}

static int run(const struct arguments *arguments, struct cg_error *error)
{
    const char *output = argument(arguments, "output")->text;
    struct recover_report report;
    struct document document = {.order = DOC_DECLARED, .emit = emit, .object = &report};
    struct arguments to_stdout = *arguments;
    int status = document_check_format(arguments, "a recovery", false, error);

    if (status == 0)
        status = recover_trace(arguments->input, output, argument(arguments, "live")->given, &report, error);
    /* The trace itself went to standard output: nothing may follow it there. */
    if (status != 0 || (output && output_is_stdout(output))) return status;
    for (size_t i = 0; i < arguments->command->option_count; i++)
        if (arguments->command->options[i].letter == 'o') to_stdout.values[i] = (struct option_value){0};
    return document_write(&to_stdout, NULL, &document, error);
}

static const struct option_spec options[] = {
    {.name = "output",
     .letter = 'o',
     .type = OPTION_FILE,
     .argument = "TRACE",
     .about = "write the trace to TRACE, replacing it in one step; without it the name that the program "
              "would have "
              "given it, if that is free"},
    {.name = "live",
     .type = OPTION_FLAG,
     .about = "also of a program that still records: what there is so far"},
    OPTION_FORMAT,
};
static const struct command_example examples[] = {
    {"cg-analyze recover cgtrace.host.4711.jsonl.cgt", "make the trace of a program that was killed"},
    {"cg-analyze recover cgtrace.host.4711.jsonl.cgt --live -o now.jsonl", "look at a program while it runs"},
};

const struct command command_recover = {
    .name = "recover",
    .positional = "FILE.cgt",
    .about = "make a valid trace from the capture file of a program that died",
    .description =
        "Takes the lines that the recorder had written, and adds what its threads had committed up to their "
        "last instruction. The trace's outcome is failed, with the reason as far as it is known; spans that "
        "were open stay open, storages that were alive are retained.\n"
        "The lines are expected beside FILE.cgt (the same name, .part), else where the recorder put them. "
        "Neither is changed.",
    .condition = "the program still records, and --live was not given",
    OPTION_LIST(options),
    EXAMPLE_LIST(examples),
    .run = run,
};
