#include "analyzer/planes/span_paths.h"

#include <stdlib.h>

#include "analyzer/planes/array.h"
#include "analyzer/planes/pair_map.h"

enum { ON_THE_WAY = CG_NONE - 1 };

struct maker {
    const struct cg_trace *trace;
    struct span_paths *paths;
    struct pair_map known; /* (name, path above) -> path */
    uint32_t *way;         /* spans whose path waits for that of the parent */
};

static bool assign(struct maker *maker, uint32_t span, uint32_t above)
{
    struct span_paths *paths = maker->paths;
    cg_str name = maker->trace->span.name[span];
    bool made;
    struct pair_entry *entry = pair_map_insert(&maker->known, name, above, &made);
    if (!entry) return false;
    if (made) {
        entry->value = paths->count;
        paths->parent[paths->count] = above;
        paths->name[paths->count++] = name;
    }
    paths->of_span[span] = entry->value;
    return true;
}

/* Up to a span whose path is known, then down again. */
static bool visit(struct maker *maker, uint32_t span)
{
    uint32_t *of_span = maker->paths->of_span;
    size_t depth = 0;
    uint32_t above = CG_NONE;
    while (span != CG_NONE && of_span[span] == CG_NONE) {
        of_span[span] = ON_THE_WAY;
        maker->way[depth++] = span;
        span = maker->trace->span.parent[span];
    }
    if (span != CG_NONE && of_span[span] != ON_THE_WAY) above = of_span[span];
    while (depth > 0) {
        if (!assign(maker, maker->way[--depth], above)) return false;
        above = of_span[maker->way[depth]];
    }
    return true;
}

bool span_paths_make(const struct cg_trace *trace, struct span_paths *paths)
{
    size_t rows = trace->span.rows;
    *paths = (struct span_paths){.of_span = array_raw(rows, sizeof *paths->of_span),
                                 .parent = array_raw(rows, sizeof *paths->parent),
                                 .name = array_raw(rows, sizeof *paths->name)};
    struct maker maker = {.trace = trace, .paths = paths, .way = array_raw(rows, sizeof *maker.way)};
    bool ok = paths->of_span && paths->parent && paths->name && maker.way;
    for (size_t i = 0; ok && i < rows; i++)
        paths->of_span[i] = CG_NONE;
    for (uint32_t i = 0; ok && i < rows; i++)
        ok = visit(&maker, i);
    pair_map_free(&maker.known);
    free(maker.way);
    if (!ok) span_paths_free(paths);
    return ok;
}

void span_paths_free(struct span_paths *paths)
{
    free(paths->of_span);
    free(paths->parent);
    free(paths->name);
    *paths = (struct span_paths){0};
}

size_t span_path_names(const struct span_paths *paths, uint32_t path, cg_str *names, size_t room)
{
    size_t depth = 0;
    for (uint32_t at = path; at != CG_NONE; at = paths->parent[at])
        depth++;
    size_t at = depth < room ? depth : room;
    for (; at > 0; path = paths->parent[path])
        names[--at] = paths->name[path];
    return depth;
}
