#include "analyzer/export/stacks_of.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/planes/array.h"
#include "analyzer/planes/planes.h"
#include "analyzer/planes/span_paths.h"

struct maker {
    struct export_job *job;
    const struct cg_trace *trace;
    struct stack_tree *tree;
    uint32_t *node_of_path; /* by path of spans */
    struct span_paths paths;
};

static struct cg_text text_of(const char *text)
{
    return (struct cg_text){text, strlen(text)};
}

static void weigh(struct stack_node *node, uint64_t weight)
{
    node->weight = cg_sat_add(node->weight, weight);
    node->count++;
}

/* ---- host time: each slice less what lies within it ---- */

static bool add_host_row(struct maker *maker, const struct export_rows *rows, const struct export_row *row,
                         struct open_slices *open)
{
    char name[512];
    export_row_name(maker->trace, rows, row, name, sizeof name);
    uint32_t thread = stack_tree_under(maker->tree, CG_NONE, text_of(name));
    open->count = 0;
    for (size_t i = row->first; i < row->first + row->count && thread != CG_NONE; i++) {
        const struct slice *slice = &rows->slices.list[i];
        while (open_slices_pop(open, slice->start)) {
        }
        uint32_t above = open->count ? open->list[open->count - 1].mark : thread;
        struct cg_text text = trace_text(maker->trace, slice_name(maker->trace, &rows->slices, slice));
        uint32_t node = stack_tree_under(maker->tree, above, text);
        if (node == CG_NONE || !open_slices_push(open, slice_end(slice), node)) return false;
        weigh(&maker->tree->nodes[node], slice->duration);
        if (above != thread) maker->tree->nodes[above].weight -= slice->duration;
    }
    return thread != CG_NONE;
}

static bool add_host(struct maker *maker, const struct export_rows *rows)
{
    struct open_slices open = {0};
    bool good = true;
    for (size_t r = 0; r < rows->count && good; r++)
        if (export_row_is_host(rows, &rows->list[r])) good = add_host_row(maker, rows, &rows->list[r], &open);
    free(open.list);
    return good;
}

/* ---- under the paths of spans ---- */

static bool make_paths(struct maker *maker)
{
    if (!span_paths_make(maker->trace, &maker->paths)) return false;
    maker->node_of_path = array_raw(maker->paths.count, sizeof *maker->node_of_path);
    if (!maker->node_of_path) return false;
    /* A path stands after the one above it. */
    for (uint32_t path = 0; path < maker->paths.count; path++) {
        uint32_t parent = maker->paths.parent[path];
        uint32_t above = parent == CG_NONE ? CG_NONE : maker->node_of_path[parent];
        struct cg_text name = trace_text(maker->trace, maker->paths.name[path]);
        maker->node_of_path[path] = stack_tree_under(maker->tree, above, name);
        if (maker->node_of_path[path] == CG_NONE) return false;
    }
    return true;
}

/* The node of a span by its id; what belongs to no known span hangs under one that says so. */
static uint32_t node_of_span(struct maker *maker, cg_str id)
{
    uint32_t span = trace_span(maker->trace, id);
    if (span == CG_NONE) return stack_tree_under(maker->tree, CG_NONE, text_of("span not recorded"));
    return maker->node_of_path[maker->paths.of_span[span]];
}

static bool add_device(struct maker *maker, const struct export_rows *rows)
{
    for (size_t i = 0; i < rows->slices.count; i++) {
        const struct slice *slice = &rows->slices.list[i];
        if (slice->kind != SLICE_INTERVAL) continue;
        uint32_t node = node_of_span(maker, maker->trace->device_interval.span_id[slice->row]);
        struct cg_text text = trace_text(maker->trace, slice_name(maker->trace, &rows->slices, slice));
        if (node != CG_NONE) node = stack_tree_under(maker->tree, node, text);
        if (node == CG_NONE) return false;
        weigh(&maker->tree->nodes[node], slice->duration);
    }
    return true;
}

/* The node under `above` of an allocation's call stack, outermost call first; without one, of its operation.
 */
static uint32_t node_of_call(struct maker *maker, uint32_t above, uint32_t row)
{
    const struct cg_memory *memory = &maker->trace->memory;
    uint32_t count = 0;
    const uint32_t *frames = NULL;
    if (memory->stack[row] != CG_NONE) frames = trace_stack_frames(maker->trace, memory->stack[row], &count);
    if (!count) {
        struct cg_text name = trace_text(maker->trace, memory->op_name[row]);
        return stack_tree_under(maker->tree, above, name.bytes ? name : text_of("call not recorded"));
    }
    char name[4096];
    while (count-- > 0 && above != CG_NONE) {
        size_t length = trace_frame_name(maker->trace, frames[count], name, sizeof name);
        above = stack_tree_under(maker->tree, above, (struct cg_text){name, length});
    }
    return above;
}

static bool add_bytes(struct maker *maker)
{
    struct logical_memory memory;
    if (!logical_memory_make(maker->trace, &memory)) return false;
    bool good = true;
    for (size_t i = 0; i < memory.lifetime_count && good; i++) {
        uint32_t row = memory.lifetimes[i].row;
        uint32_t node = node_of_span(maker, maker->trace->memory.span_id[row]);
        if (node != CG_NONE) node = node_of_call(maker, node, row);
        good = node != CG_NONE;
        if (good) weigh(&maker->tree->nodes[node], maker->trace->memory.bytes[row]);
    }
    logical_memory_free(&memory);
    return good;
}

bool stacks_of(struct export_job *job, struct stack_tree *tree)
{
    struct maker maker = {.job = job, .trace = job->trace, .tree = tree};
    struct export_rows rows = {0};
    bool good = job->weight == EXPORT_WEIGHT_TIME || make_paths(&maker);
    if (good && job->weight != EXPORT_WEIGHT_BYTES) good = export_rows_make(job->trace, &rows);
    if (good) switch (job->weight) {
        case EXPORT_WEIGHT_TIME:
            good = add_host(&maker, &rows);
            job->left_out = rows.left_out + rows.slices.untimed;
            break;
        case EXPORT_WEIGHT_DEVICE_TIME:
            good = add_device(&maker, &rows);
            break;
        case EXPORT_WEIGHT_BYTES:
        case EXPORT_WEIGHT_COUNT:
            good = add_bytes(&maker);
            break;
        }
    export_rows_free(&rows);
    span_paths_free(&maker.paths);
    free(maker.node_of_path);
    return good;
}
