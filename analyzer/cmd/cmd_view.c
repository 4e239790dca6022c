/* view: one offline page that shows a run (doc/spec/cli.md 5.6). */
#include <inttypes.h>
#include <string.h>

#include "analyzer/cmd/commands.h"
#include "analyzer/cmd/output.h"
#include "analyzer/cmd/page_documents.h"

static const struct input_needs needs = {.extras = true, .work = true, .augmented = true};

static uint64_t size_asked(const struct arguments *arguments)
{
    const struct option_value *size = argument(arguments, "max-size");
    return size->given ? size->number : VIEWER_SIZE;
}

static void *make_draft(const struct cg_trace *trace, const void *arguments)
{
    return viewer_draft_make(trace, size_asked(arguments));
}

static void free_draft(void *draft)
{
    viewer_draft_free(draft);
}

static int write_page(const struct arguments *arguments, struct command_input *input,
                      struct command_input *against, struct cg_error *error)
{
    const char *path = argument(arguments, "output")->text;
    const char *const files[] = {input->trace_path, against ? against->trace_path : NULL};
    struct output output;
    int status = output_check(path, input->bundle_root, files, 2, error);
    if (status == 0 && against) status = output_check(path, against->bundle_root, files, 2, error);
    if (status == 0) status = output_open(&output, path, error);
    if (status != 0) return status;
    status = page_documents_write(input, input->requested_path, against, size_asked(arguments), output_write,
                                  &output, error);
    if (status != 0 && !output.failure) {
        output_abandon(&output);
        return status;
    }
    return output_close(&output, error);
}

static int run(const struct arguments *arguments, struct cg_error *error)
{
    struct command_input input, against;
    struct input_needs first = needs, second = needs;
    const char *other = argument(arguments, "against")->text;
    first.threads = second.threads = argument_threads(arguments);
    first.beside = (struct beside){make_draft, free_draft, arguments};
    first.index = second.index = command_index_use(arguments);
    first.nsight_dir = argument(arguments, "nsight-dir")->text;
    if (other && arguments->input && strcmp(other, "-") == 0 && strcmp(arguments->input, "-") == 0)
        return cg_fail(error, CG_EXIT_USAGE, "view: standard input can be one of the two traces, not both");
    int status = command_input_open(arguments->input, first, &input, error);
    if (status != 0) return status;
    if (other) status = command_input_open(other, second, &against, error);
    if (status == 0) {
        status = write_page(arguments, &input, other ? &against : NULL, error);
        if (other) command_input_close(&against);
    }
    command_input_close(&input);
    return status;
}

static const struct option_spec options[] = {
    {.name = "output",
     .letter = 'o',
     .type = OPTION_FILE,
     .argument = "FILE",
     .about = "the page to write, replacing it in one step; - is standard output",
     .required = true},
    {.name = "nsight-dir",
     .type = OPTION_DIR,
     .argument = "DIR",
     .about = "reports of nsys stats (CSV) to show with a raw trace"},
    {.name = "against",
     .type = OPTION_FILE,
     .argument = "INPUT",
     .about = "a second trace or bundle that the page compares the first with"},
    {.name = "max-size",
     .type = OPTION_NUMBER,
     .argument = "BYTES",
     .about = "the most that the page may take; 20000000 without it",
     .minimum = VIEWER_SIZE_MIN,
     .maximum = UINT64_MAX},
    OPTION_THREADS,
    OPTION_INDEX,
};
static const struct command_example examples[] = {
    {"cg-analyze view step10.jsonl -o step10.html", "look at a capture in a browser"},
    {"cg-analyze view after.jsonl --against before.jsonl -o change.html", "the same beside an earlier run"},
};

const struct command command_view = {
    .name = "view",
    .positional = "INPUT",
    .positional_optional = true,
    .about = "make one offline page that shows a capture",
    .description = "Writes a single HTML file (candle-graph/viewer/6) that shows INPUT, a trace or a bundle, "
                   "in any recent "
                   "browser: overview, timeline, memory, call sites, costs, graph, measurements, GPU "
                   "reports, comparison. It "
                   "opens from disk, loads nothing and connects to nothing.\n"
                   "Runs of any size fit: where the timeline leaves out detail, each stretch of time keeps "
                   "its longest slice "
                   "and the number of those it stands for, and the page says so.",
    OPTION_LIST(options),
    EXAMPLE_LIST(examples),
    .run = run,
};
