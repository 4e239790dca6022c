#include "analyzer/cmd/document.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/cmd/output.h"
#include "analyzer/cmd/table.h"

enum format { FORMAT_JSON, FORMAT_TABLE, FORMAT_CSV };

static enum format format_of(const struct arguments *arguments)
{
    const struct option_value *format = NULL;
    for (size_t i = 0; i < arguments->command->option_count; i++)
        if (strcmp(arguments->command->options[i].name, "format") == 0) format = &arguments->values[i];
    if (!format) return FORMAT_JSON;
    if (format->given)
        return strcmp(format->text, "json") == 0    ? FORMAT_JSON
               : strcmp(format->text, "table") == 0 ? FORMAT_TABLE
                                                    : FORMAT_CSV;
    return !argument(arguments, "output")->given && isatty(STDOUT_FILENO) ? FORMAT_TABLE : FORMAT_JSON;
}

int document_check_format(const struct arguments *arguments, const char *what, bool has_rows,
                          struct cg_error *error)
{
    if (has_rows || format_of(arguments) != FORMAT_CSV) return 0;
    return cg_fail(error, CG_EXIT_USAGE, "%s: %s is no list of rows: use --format json or table",
                   arguments->command->name, what);
}

static int write_json(const struct document *document, struct output *output)
{
    struct json_doc *doc = doc_start(DOC_PRETTY, document->order, output_write, output);
    if (!doc) return ENOMEM;
    document->emit(doc, document->object);
    return doc_finish(doc);
}

int document_write(const struct arguments *arguments, const struct command_input *input,
                   const struct document *document, struct cg_error *error)
{
    const char *path = argument(arguments, "output")->text;
    const char *const files[] = {input ? input->trace_path : NULL};
    int status = output_check(path, input ? input->bundle_root : NULL, files, 1, error);
    struct output output;
    if (status == 0) status = output_open(&output, path, error);
    if (status != 0) return status;

    int failure = 0;
    switch (format_of(arguments)) {
    case FORMAT_JSON:
        failure = write_json(document, &output);
        break;
    case FORMAT_TABLE:
        failure = table_write(document, output_is_stdout(path), &output);
        break;
    case FORMAT_CSV:
        failure = csv_write(document, &output);
        break;
    }
    if (failure && !output.failure) { /* not the output's own: it was not written whole */
        output_abandon(&output);
        return cg_fail(error, CG_EXIT_IO, "cannot make the result: %s", strerror(failure));
    }
    return output_close(&output, error);
}

void doc_member_text(struct json_doc *doc, const char *key, struct cg_text text)
{
    if (text.bytes)
        doc_member_bytes(doc, key, text.bytes, text.length);
    else
        doc_member_null(doc, key);
}

void emit_tool(struct json_doc *doc)
{
    doc_object(doc);
    doc_member_string(doc, "package", "cg-analyze");
    doc_member_string(doc, "version", CGT_VERSION);
    doc_object_end(doc);
}

void emit_device_list(struct json_doc *doc, const struct cg_devices *devices)
{
    doc_array(doc);
    for (size_t i = 0; i < devices->count; i++) {
        doc_object(doc);
        doc_member_string(doc, "device", devices->items[i].device);
        doc_member_string(doc, "name", devices->items[i].name);
        doc_object_end(doc);
    }
    doc_array_end(doc);
}

void emit_input(struct json_doc *doc, const struct command_input *input)
{
    doc_object(doc);
    if (input->bundle_root) doc_member_string(doc, "bundle_root", input->bundle_root);
    doc_member_string(doc, "evidence_source",
                      input->bundle_root ? "verified_evidence_json" : "trace_reconstruction");
    doc_member_bool(doc, "gpu_identity_bound",
                    input->bundle_root && input->evidence.gpu.binding == GPU_BOUND);
    doc_member_string(doc, "kind", input->bundle_root ? "verified_bundle" : "raw_trace");
    doc_member_string(doc, "requested_path", input->requested_path);
    doc_member_string(doc, "trace_path", input->trace_path);
    if (input->bundle_root) {
        doc_key(doc, "verification");
        emit_bundle_receipt(doc, &input->bundle);
    }
    doc_object_end(doc);
}
