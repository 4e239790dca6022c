/* The readers of the forms, one file each. */
#ifndef CGTRACE_ANALYZER_CONVERT_FORMS_H
#define CGTRACE_ANALYZER_CONVERT_FORMS_H

#include "analyzer/convert/model.h"
#include "analyzer/trace/input.h"

/* Both read the input to its end and write the trace; 0 or the status of *error. */
int convert_chrome(const char *name, struct input *input, json_sink *sink, void *context,
                   struct convert_report *report, struct cg_error *error);
int convert_snapshot(const char *name, struct input *input, json_sink *sink, void *context,
                     struct convert_report *report, struct cg_error *error);

#endif
