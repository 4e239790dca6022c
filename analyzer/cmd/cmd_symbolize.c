/* symbolize: functions and lines of the source for the stacks of a trace. A command beyond the format's. */
#include <inttypes.h>
#include <sys/stat.h>

#include "analyzer/cmd/commands.h"
#include "analyzer/cmd/output.h"
#include "analyzer/symbolize/symbolize.h"

static void tell(const struct symbolize_report *report)
{
    cg_say("%" PRIu64 " frames: %" PRIu64 " with a line, %" PRIu64 " with a function alone", report->frames,
           report->with_lines, report->with_names);
    for (uint64_t i = 0; i < report->modules_without && i < SYMBOLIZE_MODULES_MAX; i++)
        cg_say("no debug information: %s", report->without[i]);
    if (report->modules_without > SYMBOLIZE_MODULES_MAX)
        cg_say("and %" PRIu64 " more", report->modules_without - SYMBOLIZE_MODULES_MAX);
}

static int run(const struct arguments *arguments, struct cg_error *error)
{
    const struct option_value *folders = argument(arguments, "debug-dir");
    const struct debug_places places = {folders->list, folders->count};
    const char *path = argument(arguments, "output")->text;
    struct symbolize_report report;
    struct output output;
    struct stat found;
    /* The trace itself may be named: it is read to its end before it is replaced. A file without a name of
     * its own, which a descriptor leads to, is written as it stands. */
    bool replaced = !path || stat(path, &found) != 0 || found.st_nlink > 0;
    int status = output_check(path, NULL, &arguments->input, replaced ? 0 : 1, error);

    if (status == 0) status = output_open(&output, path, error);
    if (status != 0) return status;
    status = symbolize_trace(arguments->input, &places, &output, &report, error);
    if (status != 0) {
        output_abandon(&output);
        return status;
    }
    status = output_close(&output, error);
    if (status == 0) tell(&report);
    return status;
}

static const struct option_spec options[] = {
    {.name = "debug-dir",
     .type = OPTION_PATHS,
     .argument = "DIR",
     .about = "look for modules and their debug information in DIR too: by build-id "
              "(DIR/.build-id/ab/cdef.debug), by "
              "path and by name"},
    OPTION_OUTPUT,
};
static const struct command_example examples[] = {
    {"cg-analyze symbolize run.jsonl -o run.jsonl", "put functions and lines into the trace itself"},
    {"cg-analyze symbolize run.jsonl --debug-dir build/debug -o out.jsonl",
     "with debug information kept elsewhere"},
};

const struct command command_symbolize = {
    .name = "symbolize",
    .positional = "TRACE",
    .about = "put functions and source lines into the call stacks of a trace",
    .description =
        "Writes the trace with the functions, files and lines of each frame, inlined functions "
        "too, C++ and Rust "
        "names demangled; all else stays as it is. What is found is in the trace from "
        "then on, also in "
        "bundles and on machines without the programs.\n"
        "A module's file counts only with the build-id that the trace names. It is looked for "
        "where it was loaded "
        "from, in each DIR and in /usr/lib/debug; its debug information in itself, beside it, and "
        "in the same "
        "places. How many frames were found, and modules without debug information, are told on "
        "standard error.\n"
        "Lines are copied as they are read, and each frame is looked up once: one thread does it, so "
        "there is no --threads.",
    OPTION_LIST(options),
    EXAMPLE_LIST(examples),
    .run = run,
};
