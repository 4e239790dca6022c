/* convert: a trace from a file of another tool. A command beyond the format's. */
#include <inttypes.h>
#include <stdio.h>

#include "analyzer/cmd/document.h"
#include "analyzer/cmd/output.h"
#include "analyzer/convert/convert.h"
#include "analyzer/trace/input.h"

struct conversion {
    const char *file, *trace;
    struct convert_report report;
};

static const struct {
    const char *name, *meaning;
} losses[] = {
#define LOSS_TEXT(member, name, meaning) {name, meaning},
    CONVERT_LOSSES(LOSS_TEXT)
#undef LOSS_TEXT
};
enum { LOSSES = sizeof losses / sizeof *losses };

static void list_losses(const struct convert_losses *counts, uint64_t list[LOSSES])
{
    size_t next = 0;
#define LOSS_COUNT(member, name, meaning) list[next++] = counts->member;
    CONVERT_LOSSES(LOSS_COUNT)
#undef LOSS_COUNT
}

static void emit(struct json_doc *doc, const void *object)
{
    const struct conversion *made = object;
    const struct convert_report *report = &made->report;
    uint64_t counts[LOSSES];
    list_losses(&report->losses, counts);
    doc_object(doc);
    doc_member_string(doc, "schema", "cgtrace/conversion/1");
    doc_key(doc, "tool");
    emit_tool(doc);
    doc_member_string(doc, "file", made->file);
    doc_member_string(doc, "form", convert_form_names[report->form]);
    doc_member_string(doc, "trace", made->trace);
    doc_member_bool(doc, "cut", report->cut);
    doc_member_u64(doc, "events", report->events);
    doc_key(doc, "records");
    doc_object(doc);
    doc_member_u64(doc, "spans", report->spans);
    doc_member_u64(doc, "ops", report->ops);
    doc_member_u64(doc, "memory", report->memory);
    doc_member_u64(doc, "device_memory", report->device_memory);
    doc_member_u64(doc, "device_intervals", report->device_intervals);
    doc_object_end(doc);
    doc_key(doc, "losses");
    doc_array(doc);
    for (size_t i = 0; i < LOSSES; i++) {
        if (counts[i] == 0) continue;
        doc_object(doc);
        doc_member_string(doc, "loss", losses[i].name);
        doc_member_u64(doc, "count", counts[i]);
        doc_member_string(doc, "meaning", losses[i].meaning);
        doc_object_end(doc);
    }
    doc_array_end(doc);
    doc_object_end(doc);
}

/* What a person must know though the trace went to standard output. */
static void say_losses(const struct conversion *made)
{
    uint64_t counts[LOSSES];
    list_losses(&made->report.losses, counts);
    for (size_t i = 0; i < LOSSES; i++)
        if (counts[i]) cg_say("%s: %" PRIu64 " %s", input_name(made->file), counts[i], losses[i].meaning);
}

static int run(const struct arguments *arguments, struct cg_error *error)
{
    struct conversion made = {.file = arguments->input, .trace = argument(arguments, "output")->text};
    struct document document = {.order = DOC_DECLARED, .emit = emit, .people = emit, .object = &made};
    struct arguments to_stdout = *arguments;
    struct output output;
    bool piped = output_is_stdout(made.trace);
    int status = document_check_format(arguments, "a conversion", false, error);
    if (status == 0) status = output_check(made.trace, NULL, &made.file, 1, error);
    if (status == 0) status = output_open(&output, made.trace, error);
    if (status != 0) return status;
    status = convert_file(made.file, output_write, &output, &made.report, error);
    if (status != 0 && !output.failure) {
        output_abandon(&output);
        return status;
    }
    status = output_close(&output, error);
    if (status == 0 && made.report.cut)
        cg_say("%s: it ends in the middle: the trace's outcome is failed", input_name(made.file));
    if (status == 0 && piped) say_losses(&made);
    /* The trace itself went to standard output: nothing may follow it there. */
    if (status != 0 || piped) return status;
    for (size_t i = 0; i < arguments->command->option_count; i++)
        if (arguments->command->options[i].letter == 'o') to_stdout.values[i] = (struct option_value){0};
    return document_write(&to_stdout, NULL, &document, error);
}

static const struct option_spec options[] = {
    {.name = "output",
     .letter = 'o',
     .type = OPTION_FILE,
     .argument = "TRACE",
     .about = "write the trace to TRACE, replacing it in one step; - is standard output",
     .required = true},
    OPTION_FORMAT,
};
static const struct command_example examples[] = {
    {"cg-analyze convert worker0.pt.trace.json.gz -o worker0.jsonl", "a trace of PyTorch's profiler"},
    {"cg-analyze convert snapshot.pickle -o memory.jsonl", "a memory snapshot of PyTorch"},
};

const struct command command_convert = {
    .name = "convert",
    .positional = "FILE",
    .about = "make a trace from a file of another tool",
    .description =
        "FILE is Trace Event JSON, as Chrome and PyTorch's profiler (kineto) write it, or a memory snapshot "
        "of "
        "PyTorch (a pickle of protocol 2 to 5); which of them is told by its first byte. It may be "
        "compressed "
        "with gzip or Zstandard; - is standard input. A pickle is read as plain data: one that would run "
        "code is "
        "refused.\n"
        "Events of the host become spans by thread, calls of the CUDA or HIP runtime become operations, what "
        "ran "
        "on devices becomes intervals, joined to their calls by correlation; events of an allocator become "
        "storages, with their stacks where the file has them. Coverage is declared as partial, or none where "
        "the "
        "file has nothing. The file's one clock stands for those of the host and the devices: how well they "
        "were "
        "aligned it does not say, and the uncertainty in the trace is no more than the resolution of its "
        "times.\n"
        "What is not taken, or not as it stands, is counted in the result (cgtrace/conversion/1). A file "
        "that "
        "ends in the middle becomes a trace whose outcome is failed.",
    OPTION_LIST(options),
    EXAMPLE_LIST(examples),
    .run = run,
};
