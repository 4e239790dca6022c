#include "analyzer/trace/trace.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>

#include "common/utf8.h"

int(cg_fail)(struct cg_error *error, int status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    utf8_no_controls(error->message); /* one line, whatever the input's names and keys hold */
    error->status = status;
    return status;
}

void cg_say(const char *format, ...)
{
    char line[2 * PATH_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    utf8_no_controls(line);
    fprintf(stderr, "cg-analyze: %s\n", line);
}

int(cg_out_of_memory)(struct cg_error *error)
{
    return cg_fail(error, CG_EXIT_IO, "out of memory");
}
