/* export: a trace in the format of another tool. A command beyond the format's. */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/cmd/document.h"
#include "analyzer/cmd/output.h"
#include "analyzer/evidence/staging.h"
#include "analyzer/export/export.h"

struct exported {
    const struct command_input *input;
    const struct export_format *format;
    const char *path;
    struct export_job job;
    uint64_t files;
};

/* ---- what was given ---- */

static bool format_name_words(size_t index, const char **word, const char **about)
{
    if (index >= export_format_count) return false;
    *word = export_formats[index]->name;
    *about = export_formats[index]->about;
    return true;
}

static bool weight_words(size_t index, const char **word, const char **about)
{
    if (index >= EXPORT_WEIGHT_COUNT) return false;
    *word = export_weight_names[index];
    *about = export_weight_meanings[index];
    return true;
}

static bool table_words(size_t index, const char **word, const char **about)
{
    if (index >= table_count) return false;
    *word = tables[index].name;
    *about = tables[index].about;
    return true;
}

static int take_arguments(const struct arguments *arguments, struct exported *made, struct cg_error *error)
{
    const struct option_value *weight = argument(arguments, "weight"), *table = argument(arguments, "table");
    made->path = argument(arguments, "output")->text;
    for (size_t i = 0; i < export_format_count; i++)
        if (strcmp(export_formats[i]->name, argument(arguments, "to")->text) == 0)
            made->format = export_formats[i];
    assert(made->format); /* the parser takes no other word */
    if (weight->given && !made->format->weighed)
        return cg_fail(error, CG_EXIT_USAGE, "export: %s has no weight: leave --weight out",
                       made->format->name);
    if (table->given && !made->format->tabular)
        return cg_fail(error, CG_EXIT_USAGE, "export: %s has no tables: leave --table out",
                       made->format->name);
    if (made->format->tabular && !table->given && output_is_stdout(made->path))
        return cg_fail(error, CG_EXIT_USAGE,
                       "export: %s is a directory of tables: name one with --output, or a table with --table",
                       made->format->name);
    for (unsigned i = 0; weight->given && i < EXPORT_WEIGHT_COUNT; i++)
        if (strcmp(export_weight_names[i], weight->text) == 0) made->job.weight = i;
    for (size_t i = 0; table->given && i < table_count; i++)
        if (strcmp(tables[i].name, table->text) == 0) made->job.table = &tables[i];
    return 0;
}

/* ---- writing ---- */

static int write_file(struct exported *made, struct cg_error *error)
{
    const char *const files[] = {made->input->trace_path};
    struct output output;
    int status = output_check(made->path, made->input->bundle_root, files, 1, error);
    if (status == 0) status = output_open(&output, made->path, error);
    if (status != 0) return status;
    made->job.sink = output_write;
    made->job.context = &output;
    int failure = made->format->write(&made->job);
    if (failure && !output.failure) { /* not the output's own: it was not written whole */
        output_abandon(&output);
        return cg_fail(error, CG_EXIT_IO, "cannot make the export: %s", strerror(failure));
    }
    made->files = 1;
    return output_close(&output, error);
}

static int write_table(struct exported *made, struct staging *staging, const struct table *table,
                       struct cg_error *error)
{
    char name[64];
    struct staged_writer writer;
    snprintf(name, sizeof name, "%s.%s", table->name, made->format->name);
    int status = staged_begin(&writer, staging, name, 0666, error);
    if (status != 0) return status;
    made->job.table = table;
    made->job.sink = staged_write;
    made->job.context = &writer;
    int failure = made->format->write(&made->job);
    status = staged_end(&writer, error);
    if (status == 0 && failure)
        status = cg_fail(error, CG_EXIT_IO, "cannot make the export: %s", strerror(failure));
    made->files += status == 0;
    return status;
}

/* A directory that appears in one step, with a file for each table. */
static int write_tables(struct exported *made, struct cg_error *error)
{
    struct staging staging;
    int status = staging_open(&staging, made->path, error);
    if (status != 0) return status;
    for (size_t i = 0; i < table_count && status == 0; i++)
        status = write_table(made, &staging, &tables[i], error);
    made->job.table = NULL;
    if (status == 0) return staging_commit(&staging, error);
    staging_abandon(&staging);
    return status;
}

/* ---- what is told ---- */

static void emit(struct json_doc *doc, const void *object)
{
    const struct exported *made = object;
    doc_object(doc);
    doc_member_string(doc, "schema", "cgtrace/export/1");
    doc_key(doc, "tool");
    emit_tool(doc);
    doc_key(doc, "input");
    emit_input(doc, made->input);
    doc_member_string(doc, "format", made->format->name);
    doc_member_string(doc, "output", made->path);
    doc_member_u64(doc, "files", made->files);
    doc_member_u64(doc, "records", made->job.records);
    doc_member_u64(doc, "left_out", made->job.left_out);
    if (made->format->weighed) doc_member_string(doc, "weight", export_weight_names[made->job.weight]);
    if (made->job.table) doc_member_string(doc, "table", made->job.table->name);
    doc_member_u64(doc, "suspects", made->input->suspects.count);
    doc_key(doc, "losses");
    doc_array(doc);
    for (const char *const *loss = made->format->losses; *loss; loss++)
        doc_string(doc, *loss);
    doc_array_end(doc);
    doc_object_end(doc);
}

static int tell(const struct arguments *arguments, const struct exported *made, struct cg_error *error)
{
    struct document document = {.order = DOC_DECLARED, .emit = emit, .object = made};
    struct arguments to_stdout = *arguments;
    for (const char *const *loss = made->format->losses; *loss; loss++)
        cg_say("%s: %s", made->format->name, *loss);
    if (made->job.left_out)
        cg_say("%s: %" PRIu64 " records are left out", made->format->name, made->job.left_out);
    if (made->input->suspects.count)
        cg_say("%s: %zu records that cannot be true are in it as they are: see query --kind "
               "suspects",
               made->format->name, made->input->suspects.count);
    /* The export itself went to standard output: nothing may follow it there. */
    if (output_is_stdout(made->path)) return 0;
    for (size_t i = 0; i < arguments->command->option_count; i++)
        if (arguments->command->options[i].letter == 'o') to_stdout.values[i] = (struct option_value){0};
    return document_write(&to_stdout, NULL, &document, error);
}

static int run(const struct arguments *arguments, struct cg_error *error)
{
    struct exported made = {0};
    struct command_input input;
    int status = document_check_format(arguments, "an export's description", false, error);
    if (status == 0) status = take_arguments(arguments, &made, error);
    struct input_needs needs = {.extras = true,
                                .work = true,
                                .threads = argument_threads(arguments),
                                .index = command_index_use(arguments)};
    if (status == 0) status = command_input_open(arguments->input, needs, &input, error);
    if (status != 0) return status;
    made.input = &input;
    made.job.trace = input.trace;
    bool directory = made.format->tabular && !made.job.table;
    status = directory ? write_tables(&made, error) : write_file(&made, error);
    if (status == 0) status = tell(arguments, &made, error);
    command_input_close(&input);
    return status;
}

static const struct option_spec options[] = {
    {.name = "to",
     .type = OPTION_WORD,
     .argument = "FORMAT",
     .about = "the format to write",
     .words = format_name_words,
     .required = true},
    {.name = "output",
     .letter = 'o',
     .type = OPTION_FILE,
     .argument = "FILE",
     .about = "write to FILE, replacing it in one step; - is standard output; of tables a new directory",
     .required = true},
    {.name = "weight",
     .type = OPTION_WORD,
     .argument = "WEIGHT",
     .about = "what the numbers of a flame graph are; without it host time",
     .words = weight_words},
    {.name = "table",
     .type = OPTION_WORD,
     .argument = "TABLE",
     .about = "write this table alone, as one file",
     .words = table_words},
    OPTION_FORMAT,
    OPTION_THREADS,
    OPTION_INDEX,
};
static const struct command_example examples[] = {
    {"cg-analyze export run.jsonl --to chrome -o run.json", "a timeline for the Perfetto UI"},
    {"cg-analyze export run.jsonl --to folded --weight bytes -o - | flamegraph.pl > bytes.svg",
     "a flame graph of what was allocated where"},
    {"cg-analyze export run.jsonl --to csv -o tables", "every kind of record as a table"},
};

const struct command command_export = {
    .name = "export",
    .positional = "INPUT",
    .positional_optional = true,
    .about = "write a trace in the format of another tool",
    .description = "What the format cannot hold is told on standard error and is in the result (schema "
                   "cgtrace/export/1): "
                   "where, how many records, and what was left out. Records that cannot be true (query "
                   "--kind suspects) are "
                   "exported as they are, and counted. With the export on standard output there is no "
                   "result.",
    OPTION_LIST(options),
    EXAMPLE_LIST(examples),
    .run = run,
};
