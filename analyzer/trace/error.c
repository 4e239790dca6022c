#include "analyzer/trace/trace.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/utf8.h"

int(cg_fail)(struct cg_error *error, int status, const char *format, ...)
{
    char message[sizeof error->message];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    /* One line, whatever the input's names and keys hold. */
    utf8_shown(error->message, sizeof error->message, message, strlen(message));
    error->status = status;
    return status;
}

void cg_say(const char *format, ...)
{
    char line[2 * PATH_MAX], shown[sizeof line];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    utf8_shown(shown, sizeof shown, line, strlen(line));
    fprintf(stderr, "cg-analyze: %s\n", shown);
}

int(cg_out_of_memory)(struct cg_error *error)
{
    return cg_fail(error, CG_EXIT_IO, "out of memory");
}
