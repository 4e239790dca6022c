#include "analyzer/trace/trace.h"

#include <stdarg.h>
#include <stdio.h>

int(cg_fail)(struct cg_error *error, int status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    error->status = status;
    return status;
}

int(cg_out_of_memory)(struct cg_error *error)
{
    return cg_fail(error, CG_EXIT_IO, "out of memory");
}
