/* Graphs as structures: nodes, dependencies, clones, what may be asked of them. */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/graph.h"

/* ---- structure ----------------------------------------------------------------------------------------- */

struct sim_graph *sim_graph_new(void)
{
    return sim_new(SIM_GRAPH, sizeof(struct sim_graph));
}

void sim_node_depend(struct sim_node *node, struct sim_node *on)
{
    node->deps = sim_realloc(node->deps, (node->dep_count + 1) * sizeof *node->deps);
    node->deps[node->dep_count++] = on;
}

struct sim_node *sim_node_new(struct sim_graph *graph, CUgraphNodeType type, struct sim_node *const *deps,
                              size_t count)
{
    struct sim_node *n = sim_new(SIM_NODE, sizeof *n);
    n->graph = graph;
    n->type = type;
    for (size_t i = 0; i < count; i++)
        sim_node_depend(n, deps[i]);
    graph->nodes = sim_realloc(graph->nodes, (graph->count + 1) * sizeof *graph->nodes);
    graph->nodes[graph->count++] = n;
    return n;
}

void sim_node_set_op(struct sim_node *node, const struct sim_op *op)
{
    sim_op_discard(&node->op);
    node->op = *op;
}

static void node_free(struct sim_node *n)
{
    sim_op_discard(&n->op);
    free(n->deps);
    sim_delete(n);
}

void sim_node_delete(struct sim_node *node)
{
    struct sim_graph *g = node->graph;
    for (size_t i = 0; i < g->count; i++) {
        struct sim_node *n = g->nodes[i];
        for (size_t k = n->dep_count; k-- > 0;)
            if (n->deps[k] == node) n->deps[k] = n->deps[--n->dep_count];
    }
    for (size_t i = 0; i < g->count; i++)
        if (g->nodes[i] == node) {
            memmove(g->nodes + i, g->nodes + i + 1, (g->count - i - 1) * sizeof *g->nodes);
            g->count--;
            break;
        }
    if (node->child) sim_graph_delete(node->child);
    node_free(node);
}

/* Children are deleted too; they are taken from a list, not by recursion. */
void sim_graph_delete(struct sim_graph *graph)
{
    size_t left = 1, capacity = 8;
    struct sim_graph **list = sim_alloc(capacity * sizeof(struct sim_graph *));
    list[0] = graph;
    while (left) {
        struct sim_graph *g = list[--left];
        for (size_t i = 0; i < g->count; i++) {
            if (g->nodes[i]->child) {
                if (left == capacity) list = sim_realloc(list, (capacity *= 2) * sizeof *list);
                list[left++] = g->nodes[i]->child;
            }
            node_free(g->nodes[i]);
        }
        free(g->nodes);
        sim_delete(g);
    }
    free(list);
}

/* One level; a child is still shared with the original afterwards. */
static struct sim_graph *clone_level(struct sim_graph *from)
{
    struct sim_graph *to = sim_graph_new();
    for (size_t i = 0; i < from->count; i++) {
        struct sim_node *n = from->nodes[i], *c = sim_node_new(to, n->type, NULL, 0);
        n->image = c;
        c->disabled = n->disabled;
        c->op = n->op;
        if (n->op.work == SIM_W_KERNEL && n->op.u.kernel.args)
            c->op.u.kernel.args = sim_kernel_args(n->op.u.kernel.function, n->op.u.kernel.args, NULL);
        c->copy = n->copy;
        c->event = n->event;
        c->storage = n->storage;
        c->address = n->address;
        c->child = n->child;
        c->origin = n;
    }
    for (size_t i = 0; i < from->count; i++)
        for (size_t k = 0; k < from->nodes[i]->dep_count; k++)
            sim_node_depend(to->nodes[i], from->nodes[i]->deps[k]->image);
    return to;
}

struct sim_graph *sim_graph_clone(struct sim_graph *graph)
{
    struct sim_graph *clone = clone_level(graph);
    size_t left = 1, capacity = 8;
    struct sim_graph **list = sim_alloc(capacity * sizeof(struct sim_graph *));
    list[0] = clone;
    while (left) {
        struct sim_graph *g = list[--left];
        for (size_t i = 0; i < g->count; i++) {
            if (!g->nodes[i]->child) continue;
            g->nodes[i]->child = clone_level(g->nodes[i]->child);
            if (left == capacity) list = sim_realloc(list, (capacity *= 2) * sizeof *list);
            list[left++] = g->nodes[i]->child;
        }
    }
    free(list);
    return clone;
}

/* ---- the calls ----------------------------------------------------------------------------------------- */

static CUresult begin_graph(struct sim_call *call, CUgraph graph)
{
    CUresult r = sim_begin(call, SIM_NEED_INIT);
    return !r && !sim_is(graph, SIM_GRAPH) ? CUDA_ERROR_INVALID_VALUE : r;
}

static CUresult begin_node(struct sim_call *call, CUgraphNode node)
{
    CUresult r = sim_begin(call, SIM_NEED_INIT);
    return !r && !sim_is(node, SIM_NODE) ? CUDA_ERROR_INVALID_VALUE : r;
}

CUresult CUDAAPI cuGraphCreate(CUgraph *out, unsigned flags)
{
    SIM_CALL(call);
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    if (!r && (!out || flags)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) *out = (CUgraph)sim_graph_new();
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuGraphDestroy(CUgraph graph)
{
    SIM_CALL(call);
    CUresult r = begin_graph(&call, graph);
    if (!r) sim_graph_delete((struct sim_graph *)graph);
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuGraphClone(CUgraph *out, CUgraph graph)
{
    SIM_CALL(call);
    CUresult r = begin_graph(&call, graph);
    if (!r && !out) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) *out = (CUgraph)sim_graph_clone((struct sim_graph *)graph);
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuGraphNodeFindInClone(CUgraphNode *out, CUgraphNode node, CUgraph clone)
{
    SIM_CALL(call);
    const struct sim_graph *g = (const struct sim_graph *)clone;
    CUresult r = begin_graph(&call, clone);
    if (!r && !out) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) r = CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; r == CUDA_ERROR_INVALID_VALUE && out && sim_is(g, SIM_GRAPH) && i < g->count; i++)
        if (g->nodes[i]->origin == (struct sim_node *)node) {
            *out = (CUgraphNode)g->nodes[i];
            r = CUDA_SUCCESS;
        }
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuGraphDestroyNode(CUgraphNode node)
{
    SIM_CALL(call);
    CUresult r = begin_node(&call, node);
    if (!r) sim_node_delete((struct sim_node *)node);
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *type)
{
    SIM_CALL(call);
    CUresult r = begin_node(&call, node);
    if (!r && !type) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) *type = ((struct sim_node *)node)->type;
    return sim_end(&call, r, NULL);
}

/* Lists are given as CUDA does: the number alone without an array, NULL in the places that are too many. */
static void give(CUgraphNode *out, size_t *room, size_t *n, struct sim_node *node)
{
    if (out && *n < *room) out[*n] = (CUgraphNode)node;
    (*n)++;
}

static void given(CUgraphNode *out, size_t *room, size_t n)
{
    for (size_t i = n; out && i < *room; i++)
        out[i] = NULL;
    *room = n;
}

CUresult CUDAAPI cuGraphGetNodes(CUgraph graph, CUgraphNode *out, size_t *count)
{
    SIM_CALL(call);
    CUresult r = begin_graph(&call, graph);
    if (!r && !count) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        const struct sim_graph *g = (const struct sim_graph *)graph;
        size_t n = 0;
        for (size_t i = 0; i < g->count; i++)
            give(out, count, &n, g->nodes[i]);
        given(out, count, n);
    }
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuGraphGetRootNodes(CUgraph graph, CUgraphNode *out, size_t *count)
{
    SIM_CALL(call);
    CUresult r = begin_graph(&call, graph);
    if (!r && !count) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        const struct sim_graph *g = (const struct sim_graph *)graph;
        size_t n = 0;
        for (size_t i = 0; i < g->count; i++)
            if (!g->nodes[i]->dep_count) give(out, count, &n, g->nodes[i]);
        given(out, count, n);
    }
    return sim_end(&call, r, NULL);
}

static CUresult edges(struct sim_call *call, CUgraph graph, CUgraphNode *from, CUgraphNode *to, void *data,
                      size_t data_bytes, size_t *count)
{
    CUresult r = begin_graph(call, graph);
    if (!r && !count) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        const struct sim_graph *g = (const struct sim_graph *)graph;
        size_t n = 0, room = *count;
        for (size_t i = 0; i < g->count; i++)
            for (size_t k = 0; k < g->nodes[i]->dep_count; k++, n++) {
                if (n >= room) continue;
                if (from) from[n] = (CUgraphNode)g->nodes[i]->deps[k];
                if (to) to[n] = (CUgraphNode)g->nodes[i];
                if (data) memset((char *)data + n * data_bytes, 0, data_bytes);
            }
        *count = n;
    }
    return sim_end(call, r, NULL);
}

static CUresult dependencies(struct sim_call *call, CUgraphNode node, CUgraphNode *out, size_t *count)
{
    CUresult r = begin_node(call, node);
    if (!r && !count) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        const struct sim_node *n = (const struct sim_node *)node;
        size_t k = 0;
        for (size_t i = 0; i < n->dep_count; i++)
            give(out, count, &k, n->deps[i]);
        given(out, count, k);
    }
    return sim_end(call, r, NULL);
}

static CUresult dependents(struct sim_call *call, CUgraphNode node, CUgraphNode *out, size_t *count)
{
    CUresult r = begin_node(call, node);
    if (!r && !count) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        const struct sim_graph *g = ((const struct sim_node *)node)->graph;
        size_t k = 0;
        for (size_t i = 0; i < g->count; i++)
            for (size_t d = 0; d < g->nodes[i]->dep_count; d++)
                if (g->nodes[i]->deps[d] == (struct sim_node *)node) give(out, count, &k, g->nodes[i]);
        given(out, count, k);
    }
    return sim_end(call, r, NULL);
}

static CUresult depend(struct sim_call *call, CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                       size_t count, bool add)
{
    CUresult r = begin_graph(call, graph);
    if (!r && count && (!from || !to)) r = CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; !r && i < count; i++) {
        if (!sim_is(from[i], SIM_NODE) || !sim_is(to[i], SIM_NODE)) {
            r = CUDA_ERROR_INVALID_VALUE;
            break;
        }
        struct sim_node *n = (struct sim_node *)to[i];
        if (add)
            sim_node_depend(n, (struct sim_node *)from[i]);
        else
            for (size_t k = n->dep_count; k-- > 0;)
                if (n->deps[k] == (struct sim_node *)from[i]) n->deps[k] = n->deps[--n->dep_count];
    }
    return sim_end(call, r, NULL);
}

CUresult CUDAAPI cuGraphGetEdges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *count)
{
    SIM_CALL(call);
    return edges(&call, graph, from, to, NULL, 0, count);
}

CUresult CUDAAPI cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *out, size_t *count)
{
    SIM_CALL(call);
    return dependencies(&call, node, out, count);
}

CUresult CUDAAPI cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode *out, size_t *count)
{
    SIM_CALL(call);
    return dependents(&call, node, out, count);
}

CUresult CUDAAPI cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                        size_t count)
{
    SIM_CALL(call);
    return depend(&call, graph, from, to, count, true);
}

CUresult CUDAAPI cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                           size_t count)
{
    SIM_CALL(call);
    return depend(&call, graph, from, to, count, false);
}

#if CUDA_VERSION >= 12030
CUresult CUDAAPI cuGraphGetEdges_v2(CUgraph graph, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *data,
                                    size_t *count)
{
    SIM_CALL(call);
    return edges(&call, graph, from, to, data, sizeof *data, count);
}

CUresult CUDAAPI cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode *out, CUgraphEdgeData *data,
                                               size_t *count)
{
    SIM_CALL(call);
    if (data && count) memset(data, 0, *count * sizeof *data);
    return dependencies(&call, node, out, count);
}

CUresult CUDAAPI cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode *out, CUgraphEdgeData *data,
                                                 size_t *count)
{
    SIM_CALL(call);
    if (data && count) memset(data, 0, *count * sizeof *data);
    return dependents(&call, node, out, count);
}

CUresult CUDAAPI cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                           const CUgraphEdgeData *data, size_t count)
{
    SIM_CALL(call);
    (void)data;
    return depend(&call, graph, from, to, count, true);
}

CUresult CUDAAPI cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                              const CUgraphEdgeData *data, size_t count)
{
    SIM_CALL(call);
    (void)data;
    return depend(&call, graph, from, to, count, false);
}
#endif
