/* Instantiated graphs: made, launched, changed, destroyed; and the memory of allocation nodes. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/sim/graph.h"

/* ---- memory of graphs ---------------------------------------------------------------------------------- */

/* The address space is the graph's and its instances' for ever: an address that a graph was given never means
 * something else. */
struct sim_storage *sim_graph_storage(int device, size_t bytes)
{
    void *p = mmap(NULL, sim_round(bytes, 4096), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) abort();
    struct sim_storage *s = sim_new(SIM_STORAGE, sizeof *s);
    s->base = (uint64_t)(uintptr_t)p;
    s->bytes = bytes;
    s->reserved = sim_round(bytes, SIM_ALIGN);
    s->kind = SIM_K_GRAPH;
    s->device = device;
    s->ipc_fd = -1;
    return s;
}

static bool live(const struct sim_storage *s)
{
    return sim_map_find(s->base) == s;
}

static CUresult storage_live(struct sim_storage *s)
{
    struct sim_device *d = &sim.devices[s->device];
    if (s->reserved > d->total || d->used > d->total - s->reserved) return CUDA_ERROR_OUT_OF_MEMORY;
    d->used += s->reserved;
    d->graph_used += s->reserved;
    if (d->graph_used > d->graph_used_high) d->graph_used_high = d->graph_used;
    s->freeing = false;
    s->buffer_id = ++sim.next_buffer;
    sim_map_insert(s);
    return CUDA_SUCCESS;
}

void sim_graph_storage_end(struct sim_storage *s)
{
    sim_map_remove(s);
    sim.devices[s->device].used -= s->reserved;
    sim.devices[s->device].graph_used -= s->reserved;
    madvise((void *)(uintptr_t)s->base, sim_round(s->bytes, 4096), MADV_DONTNEED);
}

static void storage_line(struct sim_call *call, enum sim_line_op op, const struct sim_storage *s)
{
    struct sim_line line = {0};
    sim_line_of(&line, op, s);
    sim_ledger_write(call, &line, CUDA_SUCCESS);
}

static void end_with_line(struct sim_call *call, struct sim_storage *s)
{
    storage_line(call, SIM_L_FREE, s);
    sim_graph_storage_end(s);
}

CUresult CUDAAPI cuDeviceGraphMemTrim(CUdevice device)
{
    SIM_CALL(call);
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    if (!r && (device < 0 || device >= sim.device_count)) r = CUDA_ERROR_INVALID_DEVICE;
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute, void *value)
{
    SIM_CALL(call);
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    if (!r && (device < 0 || device >= sim.device_count)) r = CUDA_ERROR_INVALID_DEVICE;
    if (!r && (!value || (unsigned)attribute > CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH))
        r = CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        const struct sim_device *d = &sim.devices[device];
        bool high =
            attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH || attribute == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH;
        *(cuuint64_t *)value = high ? d->graph_used_high : d->graph_used;
    }
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute, void *value)
{
    SIM_CALL(call);
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    if (!r && (device < 0 || device >= sim.device_count)) r = CUDA_ERROR_INVALID_DEVICE;
    bool high =
        attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH || attribute == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH;
    if (!r && (!value || !high || *(cuuint64_t *)value)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) sim.devices[device].graph_used_high = sim.devices[device].graph_used;
    return sim_end(&call, r, NULL);
}

/* ---- instantiation ------------------------------------------------------------------------------------- */

/* Puts a child's nodes in the place of its node, which stays as an empty one after them. */
static void expand(struct sim_graph *g, struct sim_node *node)
{
    struct sim_graph *child = node->child;
    node->child = NULL;
    node->type = CU_GRAPH_NODE_TYPE_EMPTY;
    for (size_t i = 0; i < child->count; i++) {
        struct sim_node *n = child->nodes[i];
        if (!n->dep_count)
            for (size_t k = 0; k < node->dep_count; k++)
                sim_node_depend(n, node->deps[k]);
        n->graph = g;
        g->nodes = sim_realloc(g->nodes, (g->count + 1) * sizeof *g->nodes);
        g->nodes[g->count++] = n;
    }
    for (size_t i = 0; i < child->count; i++)
        sim_node_depend(node, child->nodes[i]);
    child->count = 0;
    sim_graph_delete(child);
}

/* Kahn's algorithm (A. B. Kahn, Topological sorting of large networks, 1962). False if there is a cycle. */
static bool sort(struct sim_graph *g)
{
    struct sim_node **order = sim_alloc((g->count + 1) * sizeof *order);
    size_t n = 0;
    for (size_t i = 0; i < g->count; i++) {
        g->nodes[i]->pending = g->nodes[i]->dep_count;
        if (!g->nodes[i]->pending) order[n++] = g->nodes[i];
    }
    for (size_t done = 0; done < n; done++)
        for (size_t i = 0; i < g->count; i++)
            for (size_t k = 0; k < g->nodes[i]->dep_count; k++)
                if (g->nodes[i]->deps[k] == order[done] && --g->nodes[i]->pending == 0)
                    order[n++] = g->nodes[i];
    bool whole = n == g->count;
    if (whole && n) memcpy(g->nodes, order, n * sizeof *order);
    free(order);
    return whole;
}

static bool runs_on_host(const struct sim_graph *g)
{
    for (size_t i = 0; i < g->count; i++) {
        const struct sim_op *op = &g->nodes[i]->op;
        if (op->work == SIM_W_HOST || op->work == SIM_W_WAIT_VALUE ||
            (op->work == SIM_W_KERNEL && op->u.kernel.host))
            return true;
    }
    return false;
}

static CUresult prepare(struct sim_graph *graph, struct sim_graph **out)
{
    struct sim_graph *g = sim_graph_clone(graph);
    for (size_t i = 0; i < g->count; i++) /* children of children are appended, and so met later */
        if (g->nodes[i]->child) expand(g, g->nodes[i]);
    if (!sort(g)) {
        sim_graph_delete(g);
        return CUDA_ERROR_INVALID_VALUE;
    }
    g->users = 1;
    *out = g;
    return CUDA_SUCCESS;
}

static CUresult instantiate(struct sim_call *call, CUgraphExec *out, CUgraph graph, cuuint64_t flags)
{
    struct sim_graph *g;
    CUresult r = sim_begin(call, SIM_NEED_INIT);
    if (!r && (!out || !sim_is(graph, SIM_GRAPH))) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) r = prepare((struct sim_graph *)graph, &g);
    if (!r) {
        struct sim_exec *e = sim_new(SIM_EXEC, sizeof *e);
        e->graph = g;
        e->flags = flags;
        *out = (CUgraphExec)e;
    }
    return sim_end(call, r, NULL);
}

CUresult CUDAAPI cuGraphInstantiate_v2(CUgraphExec *out, CUgraph graph, CUgraphNode *bad, char *log,
                                       size_t log_bytes)
{
    SIM_CALL(call);
    if (bad) *bad = NULL;
    if (log && log_bytes) *log = 0;
    return instantiate(&call, out, graph, 0);
}

#if CUDA_VERSION >= 12000
CUresult CUDAAPI cuGraphInstantiate(CUgraphExec *out, CUgraph graph, CUgraphNode *bad, char *log,
                                    size_t log_bytes)
{
    SIM_CALL(call);
    if (bad) *bad = NULL;
    if (log && log_bytes) *log = 0;
    return instantiate(&call, out, graph, 0);
}

static CUresult instantiate_params(struct sim_call *call, CUgraphExec *out, CUgraph graph,
                                   CUDA_GRAPH_INSTANTIATE_PARAMS *p)
{
    CUresult r = instantiate(call, p ? out : NULL, graph, p ? p->flags : 0);
    if (p) {
        p->hErrNode_out = NULL;
        p->result_out = r ? CUDA_GRAPH_INSTANTIATE_ERROR : CUDA_GRAPH_INSTANTIATE_SUCCESS;
    }
    return r;
}
SIM_PAIR(cuGraphInstantiateWithParams, _ptsz,
         (CUgraphExec * out, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *params), instantiate_params, out,
         graph, params)

CUresult CUDAAPI cuGraphExecGetFlags(CUgraphExec exec, cuuint64_t *flags)
{
    SIM_CALL(call);
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    if (!r && (!flags || !sim_is(exec, SIM_EXEC))) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) *flags = ((struct sim_exec *)exec)->flags;
    return sim_end(&call, r, NULL);
}
#endif

CUresult CUDAAPI cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph graph, unsigned long long flags)
{
    SIM_CALL(call);
    return instantiate(&call, out, graph, flags);
}

CUresult CUDAAPI cuGraphExecDestroy(CUgraphExec exec)
{
    SIM_CALL(call);
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    if (!r && !sim_is(exec, SIM_EXEC)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) sim_plan_release(((struct sim_exec *)exec)->graph);
    if (!r) sim_delete(exec);
    return sim_end(&call, r, NULL);
}

void sim_plan_release(struct sim_graph *plan)
{
    if (--plan->users == 0) sim_graph_delete(plan);
}

void sim_exec_own(struct sim_exec *exec)
{
    struct sim_graph *shared = exec->graph, *g;
    if (shared->users == 1) return;
    g = sim_graph_clone(shared);
    for (size_t i = 0; i < g->count; i++)
        g->nodes[i]->origin = shared->nodes[i]->origin;
    g->users = 1;
    exec->graph = g;
    sim_plan_release(shared);
}

struct sim_node *sim_exec_node(const struct sim_exec *exec, const struct sim_node *node)
{
    for (size_t i = 0; i < exec->graph->count; i++) {
        const struct sim_node *from = exec->graph->nodes[i]->origin;
        while (from && from != node)
            from = from->object.magic == SIM_NODE ? from->origin : NULL;
        if (from) return exec->graph->nodes[i];
    }
    return NULL;
}

/* ---- update -------------------------------------------------------------------------------------------- */

/* The same nodes with the same dependencies, in the order that both had: then the new one takes the old one's
 * place. */
static CUresult update(struct sim_call *call, CUgraphExec exec, CUgraph graph,
                       CUgraphExecUpdateResult *result, CUgraphNode *bad)
{
    struct sim_exec *e = (struct sim_exec *)exec;
    struct sim_graph *g = NULL;
    *bad = NULL;
    *result = CU_GRAPH_EXEC_UPDATE_ERROR;
    CUresult r = sim_begin(call, SIM_NEED_INIT);
    if (!r && (!sim_is(e, SIM_EXEC) || !sim_is(graph, SIM_GRAPH))) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) r = prepare((struct sim_graph *)graph, &g);
    if (!r && g->count != e->graph->count) {
        *result = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
        r = CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    }
    for (size_t i = 0; !r && i < g->count; i++) {
        const struct sim_node *a = e->graph->nodes[i], *b = g->nodes[i];
        if (a->type == b->type && a->dep_count == b->dep_count) continue;
        *result = a->type != b->type ? CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED
                                     : CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
        *bad = (CUgraphNode)b->origin;
        r = CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    }
    if (!r) {
        for (size_t i = 0; i < g->count; i++) { /* handles of the original's nodes stay good for the exec */
            g->nodes[i]->origin = e->graph->nodes[i]->origin;
            g->nodes[i]->disabled = e->graph->nodes[i]->disabled;
        }
        sim_plan_release(e->graph);
        e->graph = g;
        *result = CU_GRAPH_EXEC_UPDATE_SUCCESS;
    } else if (g) {
        sim_graph_delete(g);
    }
    return sim_end(call, r, NULL);
}

CUresult CUDAAPI cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode *bad,
                                   CUgraphExecUpdateResult *result)
{
    SIM_CALL(call);
    CUgraphNode node;
    CUgraphExecUpdateResult why;
    CUresult r = update(&call, exec, graph, &why, &node);
    if (bad) *bad = node;
    if (result) *result = why;
    return r;
}

#if CUDA_VERSION >= 12000
CUresult CUDAAPI cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *info)
{
    SIM_CALL(call);
    CUgraphNode node;
    CUgraphExecUpdateResult why;
    CUresult r = update(&call, exec, graph, &why, &node);
    if (info) *info = (CUgraphExecUpdateResultInfo){.result = why, .errorNode = node};
    return r;
}
#endif

/* ---- launch -------------------------------------------------------------------------------------------- */

bool sim_plan_needs_worker(const struct sim_graph *plan)
{
    return plan->host;
}

void sim_plan_run(struct sim_graph *plan)
{
    for (size_t i = 0; i < plan->count; i++)
        if (!plan->nodes[i]->disabled) sim_op_run(&plan->nodes[i]->op);
}

void sim_plan_done(struct sim_graph *plan, uint64_t end_ns)
{
    for (size_t i = 0; i < plan->count; i++) {
        const struct sim_node *n = plan->nodes[i];
        if (n->type == CU_GRAPH_NODE_TYPE_EVENT_RECORD) sim_event_mark(n->event, end_ns, NULL);
    }
}

/* The longest way through the graph: nodes that do not depend on one another run side by side. */
static uint64_t duration(const struct sim_graph *g)
{
    uint64_t latest = 0;
    for (size_t i = 0; i < g->count; i++) {
        struct sim_node *n = g->nodes[i];
        n->end_ns = 0;
        for (size_t k = 0; k < n->dep_count; k++)
            if (n->deps[k]->end_ns > n->end_ns) n->end_ns = n->deps[k]->end_ns;
        if (!n->disabled) n->end_ns += n->op.duration_ns;
        if (n->end_ns > latest) latest = n->end_ns;
    }
    return latest;
}

/* The storage of this graph that the node frees, or NULL: it frees one of another graph's. */
static struct sim_storage *own(const struct sim_graph *g, const struct sim_node *n)
{
    for (size_t i = 0; i < g->count; i++)
        if (g->nodes[i]->storage && g->nodes[i]->storage->base == n->address) return g->nodes[i]->storage;
    return NULL;
}

/* What is still alive of the last launch is an error, unless the graph was made to free it by itself. */
static CUresult memory_before(struct sim_call *call, struct sim_exec *e)
{
    for (size_t i = 0; i < e->graph->count; i++) {
        struct sim_storage *s = e->graph->nodes[i]->storage;
        if (s && live(s) && s->freeing)
            sim_wait_device(s->device); /* freed in stream order before this launch */
        if (!s || !live(s)) continue;
        if (!(e->flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH)) return CUDA_ERROR_INVALID_VALUE;
        end_with_line(call, s);
    }
    return CUDA_SUCCESS;
}

static CUresult memory_nodes(struct sim_call *call, struct sim_exec *e)
{
    CUresult r = memory_before(call, e);
    for (size_t i = 0; !r && i < e->graph->count; i++) {
        const struct sim_node *n = e->graph->nodes[i];
        if (n->storage) r = storage_live(n->storage);
    }
    return r;
}

/* The lines of what the launch did with memory: what it freed of earlier launches, then its own in the order
 * of the nodes. */
static void memory_after(struct sim_call *call, const struct sim_exec *e)
{
    const struct sim_graph *g = e->graph;
    for (size_t i = 0; i < g->count; i++) {
        const struct sim_node *n = g->nodes[i];
        if (n->type != CU_GRAPH_NODE_TYPE_MEM_FREE || own(g, n)) continue;
        struct sim_storage *s = sim_map_find(n->address);
        if (s && s->base == n->address && s->kind == SIM_K_GRAPH) end_with_line(call, s);
    }
    for (size_t i = 0; i < g->count; i++) {
        const struct sim_node *n = g->nodes[i];
        if (n->storage) storage_line(call, SIM_L_ALLOC, n->storage);
        if (n->type == CU_GRAPH_NODE_TYPE_MEM_FREE && own(g, n)) end_with_line(call, own(g, n));
    }
}

static uint64_t waited_events(const struct sim_graph *g)
{
    uint64_t ns = 0;
    for (size_t i = 0; i < g->count; i++) {
        const struct sim_event *e = g->nodes[i]->event;
        if (g->nodes[i]->type != CU_GRAPH_NODE_TYPE_WAIT_EVENT || !e->recorded) continue;
        sim_fence_wait(e->fence);
        if (e->end_ns > ns) ns = e->end_ns;
    }
    return ns;
}

static CUresult launch(struct sim_call *call, CUgraphExec handle, CUstream stream_handle)
{
    struct sim_exec *e = (struct sim_exec *)handle;
    struct sim_stream *stream = NULL;
    struct sim_op op = {
        .work = SIM_W_GRAPH, .has_line = true, .line = {.op = SIM_L_GRAPH_LAUNCH, .device = -1}};
    CUresult r = sim_begin(call, SIM_NEED_INIT);
    bool known = sim_is(e, SIM_EXEC);
    if (!r && !known) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) r = sim_stream_of(call, stream_handle, &stream);
    if (known) {
        op.line.nodes = (uint32_t)e->graph->count;
        op.line.address = (uint64_t)(uintptr_t)e;
    }
    if (stream) {
        op.line.device = stream->context->device;
        op.line.context = stream->context;
        op.line.stream = sim_stream_handle(stream);
        op.line.has_stream = true;
    }
    bool capturing = stream && stream->capture;
    if (!r && !capturing) r = memory_nodes(call, e);
    if (!r) {
        e->graph->host = runs_on_host(e->graph); /* its parameters may be others than when it was made */
        op.u.plan = e->graph;
        op.duration_ns = duration(e->graph);
        e->graph->users++;
        r = sim_submit_after(call, stream, &op, NULL, capturing ? 0 : waited_events(e->graph));
    }
    if (!r && !capturing) memory_after(call, e);
    return sim_submit_end(call, r, &op);
}
SIM_PAIR(cuGraphLaunch, _ptsz, (CUgraphExec exec, CUstream stream), launch, exec, stream)

static CUresult upload(struct sim_call *call, CUgraphExec exec, CUstream handle)
{
    struct sim_stream *stream;
    CUresult r = sim_begin(call, SIM_NEED_INIT);
    if (!r && !sim_is(exec, SIM_EXEC)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) r = sim_stream_of(call, handle, &stream);
    return sim_end(call, r, NULL);
}
SIM_PAIR(cuGraphUpload, _ptsz, (CUgraphExec exec, CUstream stream), upload, exec, stream)
