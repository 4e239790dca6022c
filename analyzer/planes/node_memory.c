/* Memory metrics of spans and ops (doc/spec/planes.md 4).
 *
 * The lifetimes of a span's subtree are a run of an array when they are put in preorder of their spans. Small
 * subtrees are swept directly, the others by a walk over the records of their time where that is not
 * too much in all (lifetime_walk.h). Where it is, as in deep nests of spans, a tree over time holds the
 * lifetimes of one subtree after another along heavy paths: from the bottom of each path up only what the
 * next span has beyond its heaviest child is added, so every lifetime is added once for each of the O(log n)
 * paths above it (small to large; Sack's method). */
#include <stdlib.h>
#include <string.h>

#include "analyzer/planes/array.h"
#include "analyzer/planes/lifetime_tree.h"
#include "analyzer/planes/lifetime_walk.h"
#include "analyzer/planes/pair_map.h"
#include "analyzer/planes/planes.h"

/* Spans by their place in preorder. */
struct preorder {
    size_t count;
    uint32_t *span;     /* row of the span at a place */
    uint32_t *parent;   /* place of its parent; CG_NONE for a root */
    uint32_t *end;      /* place after its last descendant */
    uint32_t *heavy;    /* place of the child with the most lifetimes; CG_NONE without children */
    uint32_t *first;    /* lifetimes of places from this one on begin here; one more than places */
    uint32_t *lifetime; /* lifetimes by the place of their span */
};

static void preorder_free(struct preorder *order)
{
    free(order->span);
    free(order->parent);
    free(order->end);
    free(order->heavy);
    free(order->first);
    free(order->lifetime);
}

static size_t subtree_count(const struct preorder *order, size_t place)
{
    return order->first[order->end[place]] - order->first[place];
}

/* Numbers the spans in preorder. place_of and the order's arrays have room for every span. */
static void number_spans(struct preorder *order, const struct span_children *children, size_t rows,
                         uint32_t *place_of, uint32_t *stack)
{
    size_t depth = 0;
    for (uint32_t i = children->first[rows + 1]; i-- > children->first[rows];)
        stack[depth++] = children->child[i];
    while (depth) {
        uint32_t span = stack[--depth];
        place_of[span] = (uint32_t)order->count;
        order->span[order->count++] = span;
        for (uint32_t i = children->first[span + 1]; i-- > children->first[span];)
            stack[depth++] = children->child[i];
    }
}

/* Sets parents, ends and place_of of spans that hang on no root (CG_NONE). */
static bool order_spans(struct preorder *order, const struct cg_trace *trace, uint32_t *place_of)
{
    size_t rows = trace->span.rows;
    struct span_children children;
    if (!span_children_make(trace, &children)) return false;
    for (size_t i = 0; i < rows; i++)
        place_of[i] = CG_NONE;
    /* The heavy children come later: their array lends itself as the stack. */
    number_spans(order, &children, rows, place_of, order->heavy);
    span_children_free(&children);

    for (size_t place = 0; place < order->count; place++) {
        uint32_t parent = trace->span.parent[order->span[place]];
        order->parent[place] = parent == CG_NONE ? CG_NONE : place_of[parent];
        order->end[place] = (uint32_t)place + 1;
    }
    for (size_t place = order->count; place-- > 0;) {
        uint32_t parent = order->parent[place];
        if (parent != CG_NONE && order->end[parent] < order->end[place])
            order->end[parent] = order->end[place];
    }
    return true;
}

static void credit_span(struct node_memory *metrics, uint32_t span, uint64_t bytes)
{
    metrics->allocated_set[span] = 1;
    metrics->allocated_bytes[span] = cg_sat_add(metrics->allocated_bytes[span], bytes);
}

/* Puts the lifetimes in the order of their spans' places, by counting, and credits the spans with their
 * bytes. place_of_row: as in lifetime_walk.h. */
static bool order_lifetimes(struct preorder *order, const struct cg_trace *trace,
                            const struct logical_memory *memory, const uint32_t *place_of,
                            uint32_t *place_of_row, struct node_memory *metrics)
{
    order->first = array_zeroed(order->count + 2, sizeof *order->first);
    order->lifetime = array_raw(memory->lifetime_count, sizeof *order->lifetime);
    if (!order->first || !order->lifetime) return false;
    memset(place_of_row, 0xff, trace->memory.rows * sizeof *place_of_row);
    for (size_t i = 0; i < memory->lifetime_count; i++) {
        const struct lifetime *lifetime = &memory->lifetimes[i];
        uint32_t span = trace_span(trace, trace->memory.span_id[lifetime->row]);
        uint32_t place = span == CG_NONE ? CG_NONE : place_of[span];
        place_of_row[lifetime->row] = place;
        if (lifetime->end_row != CG_NONE) place_of_row[lifetime->end_row] = place;
        if (place != CG_NONE) order->first[place + 2]++;
        if (span != CG_NONE) credit_span(metrics, span, trace->memory.bytes[lifetime->row]);
    }
    for (size_t i = 2; i < order->count + 2; i++)
        order->first[i] += order->first[i - 1];
    for (size_t i = 0; i < memory->lifetime_count; i++) {
        uint32_t place = place_of_row[memory->lifetimes[i].row];
        if (place != CG_NONE) order->lifetime[order->first[place + 1]++] = (uint32_t)i;
    }
    return true;
}

static void find_heavy(struct preorder *order)
{
    for (size_t place = order->count; place-- > 0;)
        order->heavy[place] = CG_NONE;
    for (size_t place = 1; place < order->count; place++) {
        uint32_t parent = order->parent[place];
        if (parent == CG_NONE) continue;
        uint32_t heavy = order->heavy[parent];
        if (heavy == CG_NONE || subtree_count(order, place) > subtree_count(order, heavy))
            order->heavy[parent] = (uint32_t)place;
    }
}

static bool preorder_make(struct preorder *order, const struct cg_trace *trace,
                          const struct logical_memory *memory, uint32_t *place_of_row,
                          struct node_memory *metrics)
{
    size_t rows = trace->span.rows;
    *order = (struct preorder){
        .span = array_raw(rows, sizeof *order->span),
        .parent = array_raw(rows, sizeof *order->parent),
        .end = array_raw(rows, sizeof *order->end),
        .heavy = array_raw(rows, sizeof *order->heavy),
    };
    uint32_t *place_of = array_raw(rows, sizeof *place_of);
    bool made = place_of && order->span && order->parent && order->end && order->heavy &&
                order_spans(order, trace, place_of) &&
                order_lifetimes(order, trace, memory, place_of, place_of_row, metrics);
    free(place_of);
    if (made)
        find_heavy(order);
    else
        preorder_free(order);
    return made;
}

/* ---- subtree metrics ---- */

struct subtrees {
    const struct cg_trace *trace;
    const struct logical_memory *memory;
    struct node_memory *metrics;
    struct preorder order;
    struct lifetime_walk walk;
    struct lifetime_tree tree;
};

static struct lifetime_subtree subtree_at(const struct preorder *order, size_t place)
{
    return (struct lifetime_subtree){(uint32_t)place, order->end[place],
                                     order->lifetime + order->first[place], subtree_count(order, place)};
}

static void set_subtree(struct subtrees *subtrees, size_t place, struct lifetime_sweep sweep)
{
    uint32_t span = subtrees->order.span[place];
    subtrees->metrics->subtree_set[span] = 1;
    subtrees->metrics->peak_live_bytes[span] = sweep.peak;
    subtrees->metrics->residual_bytes[span] = sweep.residual;
}

/* How a subtree is swept: few lifetimes one by one; many by the walk, or by the tree, which holds them. */
enum sweep { SWEEP_FEW, SWEEP_WALK, SWEEP_TREE };

static void sweep_subtree(struct subtrees *subtrees, size_t place, enum sweep by)
{
    const struct cg_trace *trace = subtrees->trace;
    const struct preorder *order = &subtrees->order;
    uint32_t span = order->span[place];
    if (!trace->span.closed[span]) return;
    uint64_t start = trace->span.start_ns[span], end = trace_span_end(trace, span);
    struct lifetime_subtree subtree = subtree_at(order, place);
    struct lifetime_sweep sweep = {0, 0};
    if (start < end && by == SWEEP_FEW)
        sweep = lifetime_sweep_few(trace, subtrees->memory, subtree.lifetimes, subtree.count, start, end);
    else if (start < end && by == SWEEP_WALK)
        sweep = lifetime_walk_sweep(&subtrees->walk, &subtree, start, end);
    else if (start < end)
        sweep = lifetime_tree_sweep(&subtrees->tree, start, end);
    set_subtree(subtrees, place, sweep);
}

static void add_run(struct subtrees *subtrees, uint32_t first, uint32_t last)
{
    lifetime_tree_add(&subtrees->tree, subtrees->order.lifetime + first, last - first);
}

/* The spans with many lifetimes of the heavy path that begins at top, from the lowest up; leaves the tree
 * empty. */
static void sweep_path(struct subtrees *subtrees, size_t top)
{
    const struct preorder *order = &subtrees->order;
    size_t place = top;
    while (order->heavy[place] != CG_NONE && subtree_count(order, order->heavy[place]) > LIFETIME_FEW)
        place = order->heavy[place];
    add_run(subtrees, order->first[place], order->first[order->end[place]]);
    sweep_subtree(subtrees, place, SWEEP_TREE);
    while (place != top) {
        size_t parent = order->parent[place];
        add_run(subtrees, order->first[parent], order->first[place]);
        add_run(subtrees, order->first[order->end[place]], order->first[order->end[parent]]);
        sweep_subtree(subtrees, parent, SWEEP_TREE);
        place = parent;
    }
    lifetime_tree_remove(&subtrees->tree, order->lifetime + order->first[top], subtree_count(order, top));
}

/* Are walks for all subtrees with many lifetimes together no more than some walks over all records? The tree
 * takes as long as ten, and 30 bytes a record. */
static bool walks_pay(const struct subtrees *subtrees)
{
    enum { WALKS = 8 };
    const struct preorder *order = &subtrees->order;
    const struct cg_trace *trace = subtrees->trace;
    uint64_t cost = 0, most = (uint64_t)trace->memory.rows * WALKS;
    if (!lifetime_walk_holds(subtrees->memory)) return false;
    for (size_t place = 0; place < order->count && cost <= most; place++) {
        struct lifetime_subtree subtree = subtree_at(order, place);
        uint32_t span = order->span[place];
        if (subtree.count > LIFETIME_FEW)
            cost += lifetime_walk_cost(&subtrees->walk, &subtree, trace->span.start_ns[span],
                                       trace_span_end(trace, span));
    }
    return cost <= most;
}

static bool sweep_all(struct subtrees *subtrees, bool known_zero)
{
    const struct preorder *order = &subtrees->order;
    bool walk = walks_pay(subtrees), tree_made = false;
    for (size_t place = 0; place < order->count; place++) {
        size_t lifetimes = subtree_count(order, place);
        if (lifetimes <= LIFETIME_FEW) {
            if (lifetimes || known_zero) sweep_subtree(subtrees, place, SWEEP_FEW);
            continue;
        }
        if (walk) {
            sweep_subtree(subtrees, place, SWEEP_WALK);
            continue;
        }
        uint32_t parent = order->parent[place];
        if (parent != CG_NONE && order->heavy[parent] == place) continue;
        if (!tree_made && !lifetime_tree_make(&subtrees->tree, subtrees->trace, subtrees->memory))
            return false;
        tree_made = true;
        sweep_path(subtrees, place);
    }
    lifetime_tree_free(&subtrees->tree);
    return true;
}

/* ---- direct metrics ---- */

/* A lifetime belongs to an op when it names one and exactly one op of its span has the name. Only the pairs
 * that lifetimes name are kept, not those of all ops. */
static bool credit_ops(const struct cg_trace *trace, const struct logical_memory *memory,
                       struct node_memory *metrics)
{
    const uint32_t several = CG_NONE;
    struct pair_map named = {0}; /* (span id, op name) to row of the op + 1, or several; 0 is none */
    bool done = true;
    if (memory->unnamed) return true;
    for (size_t i = 0; done && i < memory->lifetime_count; i++) {
        uint32_t row = memory->lifetimes[i].row;
        if (trace->memory.op_name[row] != CG_ABSENT)
            done = pair_map_insert(&named, trace->memory.span_id[row], trace->memory.op_name[row], NULL);
    }
    for (size_t i = 0; done && named.count && i < trace->op.rows; i++) {
        struct pair_entry *entry = pair_map_find(&named, trace->op.span_id[i], trace->op.op_name[i]);
        if (entry) entry->value = entry->value ? several : (uint32_t)i + 1;
    }
    for (size_t i = 0; done && named.count && i < memory->lifetime_count; i++) {
        uint32_t row = memory->lifetimes[i].row;
        if (trace->memory.op_name[row] == CG_ABSENT) continue;
        uint32_t op = pair_map_find(&named, trace->memory.span_id[row], trace->memory.op_name[row])->value;
        if (op == 0 || op == several) continue;
        metrics->op_allocated_set[op - 1] = 1;
        metrics->op_allocated_bytes[op - 1] =
            cg_sat_add(metrics->op_allocated_bytes[op - 1], trace->memory.bytes[row]);
    }
    pair_map_free(&named);
    return done;
}

bool node_memory_make(const struct cg_trace *trace, const struct logical_memory *memory,
                      struct node_memory *metrics)
{
    size_t spans = trace->span.rows, ops = trace->op.rows;
    *metrics = (struct node_memory){
        .allocated_set = array_zeroed(spans, 1),
        .allocated_bytes = array_zeroed(spans, sizeof(uint64_t)),
        .subtree_set = array_zeroed(spans, 1),
        .peak_live_bytes = array_zeroed(spans, sizeof(uint64_t)),
        .residual_bytes = array_zeroed(spans, sizeof(uint64_t)),
        .op_allocated_set = array_zeroed(ops, 1),
        .op_allocated_bytes = array_zeroed(ops, sizeof(uint64_t)),
    };
    bool made = metrics->allocated_set && metrics->allocated_bytes && metrics->subtree_set &&
                metrics->peak_live_bytes && metrics->residual_bytes && metrics->op_allocated_set &&
                metrics->op_allocated_bytes;
    /* Without a memory record nothing is known, whatever the contract declares. */
    if (made && memory->present) {
        bool known_zero = trace->run.capture_contract.logical_memory == CG_COVERAGE_COMPLETE;
        if (known_zero) memset(metrics->allocated_set, 1, spans);
        struct lifetime_walk walk = {trace, memory, array_raw(trace->memory.rows, sizeof *walk.place)};
        struct subtrees subtrees = {.trace = trace, .memory = memory, .metrics = metrics, .walk = walk};
        made = walk.place && credit_ops(trace, memory, metrics) &&
               preorder_make(&subtrees.order, trace, memory, walk.place, metrics);
        if (made) {
            made = sweep_all(&subtrees, known_zero);
            preorder_free(&subtrees.order);
        }
        free(walk.place);
    }
    if (!made) node_memory_free(metrics);
    return made;
}

void node_memory_free(struct node_memory *metrics)
{
    free(metrics->allocated_set);
    free(metrics->allocated_bytes);
    free(metrics->subtree_set);
    free(metrics->peak_live_bytes);
    free(metrics->residual_bytes);
    free(metrics->op_allocated_set);
    free(metrics->op_allocated_bytes);
    *metrics = (struct node_memory){0};
}
