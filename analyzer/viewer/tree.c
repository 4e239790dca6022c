#include "analyzer/viewer/tree.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/planes/array.h"
#include "analyzer/planes/pair_map.h"
#include "analyzer/planes/storage_groups.h"

struct builder {
    const struct cg_trace *trace;
    struct tree *tree;
    size_t capacity;
    struct pair_map children;      /* (parent + 1, name) to the node */
    uint32_t *node_of_span, *path; /* path: spans on the way up */
};

#define NO_NODE UINT32_MAX

/* The node below a parent; the parent itself when there are too many. False when memory is short. */
static bool child_of(struct builder *builder, uint32_t parent, uint32_t name, uint32_t *node)
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

static void add_storage(const struct cg_trace *trace, const struct logical_memory *logical,
                        const struct lifetime *lifetime, struct tree_node *node)
{
    uint64_t bytes = trace->memory.bytes[lifetime->row];
    node->allocations++;
    node->bytes = cg_sat_add(node->bytes, bytes);
    if (lifetime_live_at_peak(trace, logical, lifetime))
        node->peak_bytes = cg_sat_add(node->peak_bytes, bytes);
}

static bool add_storages(struct builder *builder, const struct logical_memory *logical)
{
    const struct cg_trace *trace = builder->trace;
    uint32_t before = CG_NONE, node = 0;
    for (size_t i = 0; i < logical->lifetime_count; i++) {
        const struct lifetime *lifetime = &logical->lifetimes[i];
        uint32_t row = lifetime->row;
        if (before == CG_NONE || builder->tree->merged > 0 || !storage_same_place(trace, row, before)) {
            uint32_t span = trace_span(trace, trace->memory.span_id[row]);
            cg_str call = trace->memory.op_name[row];
            node = 0;
            if (span != CG_NONE && !node_of(builder, span, &node)) return false;
            if (call != CG_ABSENT && !child_of(builder, node, call, &node)) return false;
        }
        before = row;
        add_storage(trace, logical, lifetime, &builder->tree->nodes[node]);
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

/* ---- call stacks ---- */

/* The node of a stack: its outermost frame hangs under the root. nodes holds those that are known. */
static bool node_of_stack(struct builder *builder, uint32_t *nodes, uint32_t stack, uint32_t *node)
{
    *node = nodes[stack];
    if (*node != NO_NODE) return true;
    uint32_t count;
    const uint32_t *frames = trace_stack_frames(builder->trace, stack, &count);
    *node = 0;
    while (count > 0)
        if (!child_of(builder, *node, frames[--count] + 1, node)) return false;
    nodes[stack] = *node;
    return true;
}

static bool add_stacks(struct builder *builder, const struct logical_memory *logical, uint32_t *nodes)
{
    const struct cg_trace *trace = builder->trace;
    uint32_t node;
    for (size_t i = 0; trace_stack_count(trace) > 0 && i < trace->op.rows; i++) {
        if (trace->op.stack[i] == CG_NONE) continue;
        if (!node_of_stack(builder, nodes, trace->op.stack[i], &node)) return false;
        struct tree_node *at = &builder->tree->nodes[node];
        at->count++;
        at->total_ns = cg_sat_add(at->total_ns, trace->op.duration_ns[i]);
        at->self_ns = cg_sat_add(at->self_ns, trace->op.duration_ns[i]);
    }
    for (size_t i = 0; trace_stack_count(trace) > 0 && i < logical->lifetime_count; i++) {
        const struct lifetime *lifetime = &logical->lifetimes[i];
        uint32_t stack = trace->memory.stack[lifetime->row];
        if (stack == CG_NONE) continue;
        if (!node_of_stack(builder, nodes, stack, &node)) return false;
        add_storage(trace, logical, lifetime, &builder->tree->nodes[node]);
    }
    return true;
}

bool stack_tree_make(const struct cg_trace *trace, const struct logical_memory *logical, struct tree *tree)
{
    *tree = (struct tree){0};
    struct builder builder = {.trace = trace, .tree = tree};
    size_t stacks = trace_stack_count(trace);
    uint32_t *nodes = array_raw(stacks, sizeof *nodes);
    bool good = nodes && array_room(&tree->nodes, 0, &builder.capacity, sizeof *tree->nodes);
    for (size_t i = 0; i < stacks && good; i++)
        nodes[i] = NO_NODE;
    if (good) tree->nodes[tree->count++] = (struct tree_node){0};
    good = good && add_stacks(&builder, logical, nodes);
    free(nodes);
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

static void pack_node(const struct tree_node *node, uint32_t name, struct buffer *columns)
{
    buffer_number(&columns[NODE_PARENT], node->parent);
    buffer_number(&columns[NODE_NAME], name);
    buffer_number(&columns[NODE_COUNT], node->count);
    buffer_number(&columns[NODE_TOTAL], node->total_ns);
    buffer_number(&columns[NODE_SELF], node->self_ns);
    buffer_number(&columns[NODE_ALLOCATIONS], node->allocations);
    buffer_number(&columns[NODE_BYTES], node->bytes);
    buffer_number(&columns[NODE_PEAK], node->peak_bytes);
}

bool tree_pack(const struct tree *tree, struct names *names, struct parts *parts)
{
    struct buffer columns[NODE_COLUMNS] = {0};
    for (size_t i = 0; i < tree->count; i++)
        pack_node(&tree->nodes[i], names_use(names, tree->nodes[i].name), columns);
    return parts_add_columns(parts, "tree", columns, NODE_COLUMNS);
}

bool stack_tree_pack(const struct cg_trace *trace, const struct tree *tree, struct parts *parts)
{
    enum { FRAME_NAME_SIZE = 1024 };
    struct buffer columns[NODE_COLUMNS] = {0}, texts = {0};
    if (tree->count <= 1) return true;
    uint32_t used = 0, *number = array_zeroed((size_t)trace_frame_count(trace) + 1, sizeof *number);
    char text[FRAME_NAME_SIZE], before[FRAME_NAME_SIZE] = "";
    struct cg_text last = {0};
    for (size_t i = 0; i < tree->count && number; i++) {
        uint32_t frame = tree->nodes[i].name;
        if (frame != 0 && number[frame] == 0) {
            size_t length = trace_frame_name(trace, frame - 1, text, sizeof text);
            buffer_text(&texts, &last, (struct cg_text){text, length});
            memcpy(before, text, length); /* the next name is compared with it */
            last.bytes = before;
            number[frame] = ++used;
        }
        pack_node(&tree->nodes[i], frame == 0 ? 0 : number[frame], columns);
    }
    bool good = parts_add_columns(parts, "stacks", columns, NODE_COLUMNS);
    good = parts_add_columns(parts, "frames", &texts, 1) && good && number;
    free(number);
    return good;
}
