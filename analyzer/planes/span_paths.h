/* Spans by the names that lead to them: a span of the same name under the same names, at every step, is one
 * path. */
#ifndef CGTRACE_ANALYZER_PLANES_SPAN_PATHS_H
#define CGTRACE_ANALYZER_PLANES_SPAN_PATHS_H

#include <stdbool.h>

#include "analyzer/trace/trace.h"

struct span_paths {
    uint32_t *of_span; /* by span row */
    uint32_t count;
    uint32_t *parent; /* by path: the path above; CG_NONE: none */
    cg_str *name;     /* by path: the last name of it */
};

/* Linear. A span in a cycle of parents begins a path. False when memory is short. */
bool span_paths_make(const struct cg_trace *trace, struct span_paths *paths);
void span_paths_free(struct span_paths *paths);

/* The names of a path, outermost first, at most room of them, the innermost ones. Returns how many there are
 * in all. */
size_t span_path_names(const struct span_paths *paths, uint32_t path, cg_str *names, size_t room);

#endif
