#include "analyzer/convert/convert.h"

#include "analyzer/convert/forms.h"

#define FORM_NAME(suffix, name, meaning) name,
const char *const convert_form_names[CONVERT_FORM_COUNT] = {CONVERT_FORMS(FORM_NAME)};

static int convert(const char *name, struct input *input, json_sink *sink, void *context,
                   struct convert_report *report, struct cg_error *error)
{
    enum { PICKLE = 0x80, ZIP = 'P' };
    int first, status = input_peek(input, &first, error);
    *report = (struct convert_report){0};
    if (status != 0) return status;
    if (first == PICKLE) {
        report->form = CONVERT_SNAPSHOT;
        return convert_snapshot(name, input, sink, context, report, error);
    }
    if (first == ZIP)
        return cg_fail(error, CG_EXIT_INPUT,
                       "%s: neither JSON nor a pickle (a ZIP file of torch.save() is not read)", name);
    report->form = CONVERT_CHROME;
    return convert_chrome(name, input, sink, context, report, error);
}

int convert_file(const char *path, json_sink *sink, void *context, struct convert_report *report,
                 struct cg_error *error)
{
    struct input *input = input_open(path, error);
    if (!input) return error->status;
    int status = convert(input_name(path), input, sink, context, report, error);
    input_close(input);
    return status;
}

int convert_bytes(const char *name, const void *bytes, size_t length, json_sink *sink, void *context,
                  struct convert_report *report, struct cg_error *error)
{
    struct input *input = input_open_bytes(name, bytes, length, error);
    if (!input) return error->status;
    int status = convert(name, input, sink, context, report, error);
    input_close(input);
    return status;
}
