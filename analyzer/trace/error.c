#include "analyzer/trace/trace.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/say.h"
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
    va_list arguments;
    va_start(arguments, format);
    say_as("cg-analyze", format, arguments);
    va_end(arguments);
}

int(cg_out_of_memory)(struct cg_error *error)
{
    return cg_fail(error, CG_EXIT_IO, "out of memory");
}
