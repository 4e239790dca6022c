#include "analyzer/viewer/tree.h"

#include <stdlib.h>

#include "analyzer/planes/array.h"
#include "analyzer/planes/pair_map.h"

struct builder {
    const struct cg_trace *trace;
    struct tree *tree;
    size_t capacity;
    struct pair_map children;      /* (parent + 1, name) to the node */
    uint32_t *node_of_span, *path; /* path: spans on the way up */
};

#define NO_NODE UINT32_MAX

/* The node below a parent; the parent itself when there are too many. False when memory is short. */
static bool child_of(struct builder *builder, uint32_t parent, cg_str name, uint32_t *node)
{
    struct tree *tree = builder->tree;
    struct pair_entry *entry = pair_map_find(&builder->children, parent + 1, name);
    if (entry) {
        *node = entry->value;
        return true;
    }
    if (tree->count == TREE_NODES_MAX) {
        tree->merged++;
        *node = parent;
        return true;
    }
    entry = pair_map_insert(&builder->children, parent + 1, name, NULL);
    if (!entry || !array_room(&tree->nodes, tree->count, &builder->capacity, sizeof *tree->nodes))
        return false;
    tree->nodes[tree->count] = (struct tree_node){.parent = parent, .name = name};
    *node = entry->value = (uint32_t)tree->count++;
    return true;
}

/* Walks up to a span whose node is known, and down again. In a cycle the walk ends where it began. */
static bool node_of(struct builder *builder, uint32_t span, uint32_t *node)
{
    size_t length = 0;
    uint32_t at = span;
    while (at != CG_NONE && builder->node_of_span[at] == NO_NODE) {
        builder->node_of_span[at] = 0; /* under way */
        builder->path[length++] = at;
        at = builder->trace->span.parent[at];
    }
    *node = at == CG_NONE ? 0 : builder->node_of_span[at];
    while (length > 0) {
        at = builder->path[--length];
        if (!child_of(builder, *node, builder->trace->span.name[at], node)) return false;
        builder->node_of_span[at] = *node;
    }
    return true;
}

static bool add_slices(struct builder *builder, const struct slices *slices)
{
    const struct cg_trace *trace = builder->trace;
    for (size_t i = 0; i < slices->count; i++) {
        const struct slice *slice = &slices->list[i];
        uint32_t node = 0, span;
        if (slice->kind == SLICE_INTERVAL) continue;
        span = slice->kind == SLICE_SPAN ? slice->row : trace_span(trace, trace->op.span_id[slice->row]);
        if (span != CG_NONE && !node_of(builder, span, &node)) return false;
        if (slice->kind == SLICE_OP && !child_of(builder, node, trace->op.op_name[slice->row], &node))
            return false;
        struct tree_node *at = &builder->tree->nodes[node];
        at->count++;
        at->total_ns = cg_sat_add(at->total_ns, slice->duration);
        at->self_ns = cg_sat_add(at->self_ns, slice->self);
    }
    return true;
}

static bool add_storages(struct builder *builder, const struct logical_memory *logical)
{
    const struct cg_trace *trace = builder->trace;
    for (size_t i = 0; i < logical->lifetime_count; i++) {
        const struct lifetime *lifetime = &logical->lifetimes[i];
        uint32_t node = 0, row = lifetime->row, span = trace_span(trace, trace->memory.span_id[row]);
        cg_str call = trace->memory.op_name[row];
        if (span != CG_NONE && !node_of(builder, span, &node)) return false;
        if (call != CG_ABSENT && !child_of(builder, node, call, &node)) return false;
        struct tree_node *at = &builder->tree->nodes[node];
        uint64_t bytes = trace->memory.bytes[row];
        at->allocations++;
        at->bytes = cg_sat_add(at->bytes, bytes);
        if (lifetime_live_at_peak(trace, logical, lifetime))
            at->peak_bytes = cg_sat_add(at->peak_bytes, bytes);
    }
    return true;
}

bool tree_make(const struct cg_trace *trace, const struct slices *slices,
               const struct logical_memory *logical, struct tree *tree)
{
    *tree = (struct tree){0};
    struct builder builder = {.trace = trace,
                              .tree = tree,
                              .node_of_span = array_raw(trace->span.rows, sizeof(uint32_t)),
                              .path = array_raw(trace->span.rows, sizeof(uint32_t))};
    bool good = builder.node_of_span && builder.path &&
                array_room(&tree->nodes, 0, &builder.capacity, sizeof *tree->nodes);
    if (good) {
        tree->nodes[tree->count++] = (struct tree_node){0};
        for (size_t i = 0; i < trace->span.rows; i++)
            builder.node_of_span[i] = NO_NODE;
        good = add_slices(&builder, slices) && add_storages(&builder, logical);
    }
    free(builder.node_of_span);
    free(builder.path);
    pair_map_free(&builder.children);
    return good;
}

void tree_free(struct tree *tree)
{
    free(tree->nodes);
    *tree = (struct tree){0};
}

enum {
    NODE_PARENT,
    NODE_NAME,
    NODE_COUNT,
    NODE_TOTAL,
    NODE_SELF,
    NODE_ALLOCATIONS,
    NODE_BYTES,
    NODE_PEAK,
    NODE_COLUMNS
};

bool tree_pack(const struct tree *tree, struct names *names, struct parts *parts)
{
    struct buffer columns[NODE_COLUMNS] = {0};
    for (size_t i = 0; i < tree->count; i++) {
        const struct tree_node *node = &tree->nodes[i];
        buffer_number(&columns[NODE_PARENT], node->parent);
        buffer_number(&columns[NODE_NAME], names_use(names, node->name));
        buffer_number(&columns[NODE_COUNT], node->count);
        buffer_number(&columns[NODE_TOTAL], node->total_ns);
        buffer_number(&columns[NODE_SELF], node->self_ns);
        buffer_number(&columns[NODE_ALLOCATIONS], node->allocations);
        buffer_number(&columns[NODE_BYTES], node->bytes);
        buffer_number(&columns[NODE_PEAK], node->peak_bytes);
    }
    return parts_add_columns(parts, "tree", columns, NODE_COLUMNS);
}
