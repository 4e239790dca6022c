#include "analyzer/trace/trace.h"

#include <stdarg.h>
#include <stdio.h>

int(cg_fail)(struct cg_error *error, int status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    /* One line, whatever the input's names and keys hold. */
    for (char *at = error->message; *at; at++)
        if ((unsigned char)*at < 0x20 || *at == 0x7F) *at = '?';
    error->status = status;
    return status;
}

int(cg_out_of_memory)(struct cg_error *error)
{
    return cg_fail(error, CG_EXIT_IO, "out of memory");
}
