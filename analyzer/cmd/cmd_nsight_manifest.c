/* nsight-manifest: writes the capture manifest for a directory of exported reports, so that nobody hashes by
 * hand (doc/spec/nsight.md 14). */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyzer/cmd/document.h"
#include "analyzer/cmd/output.h"
#include "analyzer/evidence/nsight.h"
#include "analyzer/evidence/nsight_manifest.h"

struct receipt {
    const char *path;
    const struct gpu_evidence *gpu;
};

static void emit(struct json_doc *doc, const void *object)
{
    const struct receipt *receipt = object;
    const struct gpu_evidence *gpu = receipt->gpu;

    doc_object(doc);
    doc_member_string(doc, "schema", "cgtrace/nsight-manifest/1");
    doc_member_string(doc, "path", receipt->path);
    doc_member_text(doc, "run_id", gpu->manifest.run_id);
    doc_member_text(doc, "correlation_id", gpu->manifest.correlation_id);
    doc_member_u64(doc, "artifacts", gpu->manifest.artifacts.count);
    doc_member_u64(doc, "reports", gpu->source_csv.count);
    doc_member_text(doc, "raw_report", gpu->raw_report.path);
    doc_member_string(doc, "status", gpu_status_name(gpu->status));
    doc_member_string(doc, "binding", gpu_binding_name(gpu->binding));
    doc_key(doc, "provenance_diagnostics");
    emit_texts(doc, &gpu->provenance_diagnostics);
    doc_key(doc, "diagnostics");
    emit_texts(doc, &gpu->diagnostics);
    doc_object_end(doc);
}

static bool take_words(struct text_arena *arena, const struct option_value *value, struct gpu_texts *texts)
{
    for (size_t i = 0; i < value->count; i++)
        if (!gpu_texts_add(arena, texts, (struct cg_text){value->list[i], strlen(value->list[i])}))
            return false;
    return true;
}

static struct cg_text told(const struct arguments *arguments, const char *option, const char *otherwise)
{
    const struct option_value *value = argument(arguments, option);
    const char *text = value->given ? value->text : otherwise;
    return (struct cg_text){text, text ? strlen(text) : 0};
}

static int compare_revisions(const void *a, const void *b)
{
    return text_compare(((const struct gpu_pair *)a)->key, ((const struct gpu_pair *)b)->key);
}

static int take_revisions(const struct option_value *value, struct gpu_manifest *manifest,
                          struct cg_error *error)
{
    manifest->source_revisions = calloc(value->count + 1, sizeof *manifest->source_revisions);
    if (!manifest->source_revisions) return cg_out_of_memory(error);
    for (size_t i = 0; i < value->count; i++) {
        const char *word = value->list[i], *equals = strchr(word, '=');
        if (!equals || equals == word)
            return cg_fail(error, CG_EXIT_USAGE, "--revision %s: expected COMPONENT=REVISION", word);
        manifest->source_revisions[i] =
            (struct gpu_pair){{word, (size_t)(equals - word)}, {equals + 1, strlen(equals + 1)}};
    }
    qsort(manifest->source_revisions, value->count, sizeof *manifest->source_revisions, compare_revisions);
    for (size_t i = 1; i < value->count; i++)
        if (compare_revisions(&manifest->source_revisions[i - 1], &manifest->source_revisions[i]) == 0)
            return cg_fail(error, CG_EXIT_USAGE, "--revision: one component is given twice");
    manifest->source_revision_count = value->count;
    return 0;
}

/* What the command line says about the capture. */
static int take_options(const struct arguments *arguments, struct gpu_evidence *made, struct cg_error *error)
{
    struct gpu_manifest *manifest = &made->manifest;
    manifest->started_at = told(arguments, "started-at", NULL);
    manifest->tool_name = (struct cg_text){"nsys", 4};
    manifest->tool_version = told(arguments, "tool-version", "unknown");
    manifest->host = told(arguments, "host", NULL);
    if (!take_words(&made->arena, argument(arguments, "command"), &manifest->commands) ||
        !take_words(&made->arena, argument(arguments, "device"), &manifest->devices))
        return cg_out_of_memory(error);
    return take_revisions(argument(arguments, "revision"), manifest, error);
}

static int write_manifest(const char *path, const struct gpu_evidence *made, struct cg_error *error)
{
    struct output output;
    int status = output_open(&output, path, error);
    if (status != 0) return status;
    struct json_doc *doc = doc_start(DOC_PRETTY, DOC_DECLARED, output_write, &output);
    int fault = ENOMEM;
    if (doc) {
        emit_gpu_manifest(doc, &made->manifest);
        fault = doc_finish(doc);
    }
    if (fault == 0) return output_close(&output, error);
    output_abandon(&output);
    return cg_fail(error, CG_EXIT_IO, "%s: %s", path, strerror(fault));
}

/* Reads it all as a reader would, and says how it binds. */
static int show(const struct arguments *arguments, const char *path, const struct cg_trace *trace,
                struct cg_error *error)
{
    struct gpu_evidence gpu;
    int status = nsight_load_for(AT_FDCWD, arguments->input, trace, &gpu, error);
    if (status != 0) return status;
    if (gpu_bind(&gpu, trace_text(trace, trace->run.run_id), trace_text(trace, trace->run.correlation_id))) {
        struct receipt receipt = {path, &gpu};
        struct document document = {.order = DOC_DECLARED, .emit = emit, .people = emit, .object = &receipt};
        status = document_write(arguments, NULL, &document, error);
    } else {
        status = cg_out_of_memory(error);
    }
    gpu_free(&gpu);
    return status;
}

static int make(const struct arguments *arguments, const char *path, const struct cg_trace *trace,
                struct cg_error *error)
{
    struct gpu_evidence made = {0};
    int status = take_options(arguments, &made, error);
    if (status == 0) status = nsight_manifest_make(arguments->input, trace, &made, error);
    if (status == 0 && !made.raw_report.path.bytes)
        cg_say("%s: no raw report (.nsys-rep): the evidence cannot become bound", arguments->input);
    if (status == 0) status = write_manifest(path, &made, error);
    gpu_free(&made);
    return status == 0 ? show(arguments, path, trace, error) : status;
}

static int run(const struct arguments *arguments, struct cg_error *error)
{
    char *trace_path = NULL, *path = NULL;
    struct cg_trace *trace = NULL;
    struct stat file;

    int status = document_check_format(arguments, "a receipt", false, error);
    if (status == 0) status = command_input_raw(argument(arguments, "trace")->text, &trace_path, error);
    if (status == 0 && asprintf(&path, "%s/" NSIGHT_MANIFEST, arguments->input) < 0) {
        path = NULL;
        status = cg_out_of_memory(error);
    }
    if (status == 0 && stat(arguments->input, &file) != 0)
        status = cg_fail(error, CG_EXIT_INPUT, "%s: %s", arguments->input, strerror(errno));
    else if (status == 0 && !S_ISDIR(file.st_mode))
        status = cg_fail(error, CG_EXIT_INPUT, "%s: not a directory of reports", arguments->input);
    if (status == 0) status = output_check(path, NULL, (const char *const[]){trace_path}, 1, error);
    if (status == 0 && lstat(path, &file) == 0 && !argument(arguments, "force")->given)
        status = cg_fail(error, CG_EXIT_USAGE, "%s: exists; --force replaces it", path);
    if (status == 0) status = trace_load(trace_path, NULL, &trace, error);
    if (status == 0) status = make(arguments, path, trace, error);
    trace_free(trace);
    free(trace_path);
    free(path);
    return status;
}

static const struct option_spec options[] = {
    {.name = "trace",
     .type = OPTION_FILE,
     .argument = "TRACE",
     .about = "the trace of the run that the reports are about",
     .required = true},
    {.name = "tool-version",
     .type = OPTION_TEXT,
     .argument = "TEXT",
     .about = "version of nsys; else unknown"},
    {.name = "started-at",
     .type = OPTION_TEXT,
     .argument = "TIME",
     .about = "when the run began, as RFC 3339"},
    {.name = "host", .type = OPTION_TEXT, .argument = "NAME", .about = "the machine that it ran on"},
    {.name = "device", .type = OPTION_PATHS, .argument = "NAME", .about = "the GPUs that it ran on"},
    {.name = "command",
     .type = OPTION_PATHS,
     .argument = "LINE",
     .about = "command lines that made the reports, each one word"},
    {.name = "revision",
     .type = OPTION_PATHS,
     .argument = "COMPONENT=REVISION",
     .about = "revisions of the sources that ran"},
    {.name = "force", .type = OPTION_FLAG, .about = "replace a manifest that is there"},
    OPTION_OUTPUT,
    OPTION_FORMAT,
};
static const struct command_example examples[] = {
    {"cg-analyze nsight-manifest nsys --trace step10.jsonl --tool-version 2026.1",
     "bind the reports in nsys/ to the run of step10.jsonl"},
};

const struct command command_nsight_manifest = {
    .name = "nsight-manifest",
    .positional = "DIR",
    .about = "write the manifest that binds Nsight reports to a trace",
    .description =
        "Hashes every regular file of DIR and writes DIR/" NSIGHT_MANIFEST
        " (candle-graph/nsight-capture/1) with the run and the semantic labels of TRACE. Then reads DIR as "
        "report --nsight-dir does, and prints how it binds.\n"
        "Files whose names a manifest cannot hold, and everything that is no regular file, are left out, "
        "which is said on standard error.",
    OPTION_LIST(options),
    EXAMPLE_LIST(examples),
    .run = run,
};
