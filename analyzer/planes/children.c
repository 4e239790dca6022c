#include <stdlib.h>

#include "analyzer/planes/array.h"
#include "analyzer/planes/planes.h"

bool span_children_make(const struct cg_trace *trace, struct span_children *children)
{
    size_t rows = trace->span.rows;
    *children =
        (struct span_children){array_zeroed(rows + 2, sizeof(uint32_t)), array_raw(rows, sizeof(uint32_t))};
    if (!children->first || !children->child) {
        span_children_free(children);
        return false;
    }
    /* A counting sort by parent; the spans without a known one are the children of row `rows`. Each count is
     * kept one place further on, so that filling in moves it to where it belongs. */
    uint32_t *first = children->first;
    for (size_t i = 0; i < rows; i++) {
        size_t parent = trace->span.parent[i] == CG_NONE ? rows : trace->span.parent[i];
        if (parent + 2 <= rows + 1) first[parent + 2]++;
    }
    for (size_t i = 2; i < rows + 2; i++)
        first[i] += first[i - 1];
    for (size_t i = 0; i < rows; i++) {
        size_t parent = trace->span.parent[i] == CG_NONE ? rows : trace->span.parent[i];
        children->child[first[parent + 1]++] = (uint32_t)i;
    }
    return true;
}

void span_children_free(struct span_children *children)
{
    free(children->first);
    free(children->child);
    *children = (struct span_children){0};
}

/* Marks in depth[] while the walk is under way; the depth of a span is at most the number of spans. */
#define UNVISITED UINT32_MAX
#define ON_PATH   (UINT32_MAX - 1)

/* The path met one of its own spans: those from it on are a cycle of n spans, each of depth n. Returns what
 * is left of the path. */
static size_t close_cycle(struct span_walk *walk, const uint32_t *path, size_t length, uint32_t met)
{
    size_t begin = length;
    do
        begin--;
    while (path[begin] != met);
    for (size_t i = begin; i < length; i++) {
        walk->depth[path[i]] = (uint32_t)(length - begin);
        walk->cyclic[path[i]] = 2; /* on the cycle itself */
    }
    return begin;
}

/* Depth of a span whose parent's is settled (doc/spec/trace.md 9). */
static void settle(const struct cg_trace *trace, struct span_walk *walk, uint32_t span)
{
    uint32_t parent = trace->span.parent[span];
    if (parent == CG_NONE) {
        walk->depth[span] = trace->span.parent_id[span] != CG_ABSENT;
        return;
    }
    /* A cycle of n spans is n distinct ids for who hangs on it, as for its own spans. */
    walk->depth[span] = walk->cyclic[parent] == 2 ? walk->depth[parent] : walk->depth[parent] + 1;
    walk->cyclic[span] = walk->cyclic[parent] != 0;
}

bool span_walk_make(const struct cg_trace *trace, struct span_walk *walk)
{
    size_t rows = trace->span.rows;
    uint32_t *path = array_raw(rows, sizeof *path);
    *walk = (struct span_walk){array_raw(rows, sizeof(uint32_t)), array_zeroed(rows, 1)};
    if (!path || !walk->depth || !walk->cyclic) {
        free(path);
        span_walk_free(walk);
        return false;
    }
    for (size_t i = 0; i < rows; i++)
        walk->depth[i] = UNVISITED;

    for (size_t i = 0; i < rows; i++) {
        size_t length = 0;
        uint32_t span = (uint32_t)i;
        while (span != CG_NONE && walk->depth[span] == UNVISITED) {
            walk->depth[span] = ON_PATH;
            path[length++] = span;
            span = trace->span.parent[span];
        }
        if (span != CG_NONE && walk->depth[span] == ON_PATH) length = close_cycle(walk, path, length, span);
        while (length > 0)
            settle(trace, walk, path[--length]);
    }
    for (size_t i = 0; i < rows; i++)
        walk->cyclic[i] = walk->cyclic[i] != 0;
    free(path);
    return true;
}

void span_walk_free(struct span_walk *walk)
{
    free(walk->depth);
    free(walk->cyclic);
    *walk = (struct span_walk){0};
}
