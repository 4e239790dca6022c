/* How both programs speak to people. In a header: libcgtrace.so, which common/ is part of, never does so. */
#ifndef CGTRACE_COMMON_SAY_H
#define CGTRACE_COMMON_SAY_H

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/utf8.h"

/* "PROGRAM: ..." on standard error: one line, as utf8_shown() makes it. */
static inline __attribute__((format(printf, 2, 0))) void say_as(const char *program, const char *format,
                                                                va_list arguments)
{
    char line[2 * PATH_MAX], shown[sizeof line];

    vsnprintf(line, sizeof line, format, arguments);
    utf8_shown(shown, sizeof shown, line, strlen(line));
    fprintf(stderr, "%s: %s\n", program, shown);
}

/* Whether standard output has taken everything; else errno says why not. A reader that went away is no error.
 */
static inline bool stdout_taken(void)
{
    errno = 0;
    return (fflush(stdout) == 0 && !ferror(stdout)) || errno == EPIPE;
}

#endif
