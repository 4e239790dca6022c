#include "analyzer/symbolize/demangle.h"

#include <libiberty/demangle.h>
#include <stdlib.h>
#include <string.h>

char *demangle(const char *symbol)
{
    enum { LENGTH_MAX = 4096 }; /* templates within templates grow without bounds; the symbol says as much */
    char *name;

    /* All that it reads begins so; the rest would be taken for the names of types. */
    if (strncmp(symbol, "_Z", 2) != 0 && strncmp(symbol, "_R", 2) != 0) return NULL;
    name = cplus_demangle(symbol, DMGL_PARAMS | DMGL_ANSI | DMGL_AUTO);
    if (name && strlen(name) <= LENGTH_MAX) return name;
    free(name);
    return NULL;
}
