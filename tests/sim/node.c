/* Nodes of every kind: added, asked for their parameters, given new ones; in a graph or in an instantiated
 * one. */
#include <string.h>

#include "tests/sim/copy.h"
#include "tests/sim/graph.h"

/* ---- parameters to work -------------------------------------------------------------------------------- */

/* The fields that every version of the structure has. */
#define KERNEL_OP(p, op)                                                                                     \
    kernel_op((p)->func, (const unsigned[3]){(p)->gridDimX, (p)->gridDimY, (p)->gridDimZ},                   \
              (const unsigned[3]){(p)->blockDimX, (p)->blockDimY, (p)->blockDimZ}, (p)->sharedMemBytes,      \
              (p)->kernelParams, (p)->extra, op)

static CUresult kernel_op(CUfunction function, const unsigned grid[3], const unsigned block[3],
                          unsigned shared, void **params, void **extra, struct sim_op *op)
{
    const struct sim_function *f = (const struct sim_function *)function;
    if (!sim_is(f, SIM_FUNCTION) && !sim_is(f, SIM_KERNEL_HANDLE)) return CUDA_ERROR_INVALID_HANDLE;
    memcpy(op->line.grid, grid, sizeof op->line.grid);
    memcpy(op->line.block, block, sizeof op->line.block);
    op->line.shared = shared;
    op->line.name = f->name;
    return sim_kernel_op(f, grid, block, shared, params, extra, true, op);
}

static CUresult set_op(const CUDA_MEMSET_NODE_PARAMS *p, struct sim_op *op)
{
    uint64_t bytes = (uint64_t)p->width * p->height * p->elementSize;
    if (p->elementSize != 1 && p->elementSize != 2 && p->elementSize != 4) return CUDA_ERROR_INVALID_VALUE;
    if (p->height > 1 && p->pitch < p->width * p->elementSize) return CUDA_ERROR_INVALID_VALUE;
    *op = (struct sim_op){.work = SIM_W_MEMSET,
                          .duration_ns = 1000 + bytes / 500,
                          .u.set = {.dst = (uint8_t *)(uintptr_t)p->dst,
                                    .width = p->width,
                                    .height = p->height,
                                    .pitch = p->pitch,
                                    .value = p->value,
                                    .element = p->elementSize}};
    return CUDA_SUCCESS;
}

static CUresult host_op(const CUDA_HOST_NODE_PARAMS *p, struct sim_op *op)
{
    if (!p->fn) return CUDA_ERROR_INVALID_VALUE;
    *op = (struct sim_op){.work = SIM_W_HOST, .u.host = {.fn = p->fn, .data = p->userData}};
    return CUDA_SUCCESS;
}

/* ---- adding -------------------------------------------------------------------------------------------- */

static CUresult begin_add(struct sim_call *call, CUgraphNode *out, CUgraph graph, const CUgraphNode *deps,
                          size_t count, const void *params)
{
    CUresult r = sim_begin(call, SIM_NEED_INIT);
    if (!r && (!out || !sim_is(graph, SIM_GRAPH) || (count && !deps) || !params))
        r = CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; !r && i < count; i++)
        if (!sim_is(deps[i], SIM_NODE) || ((struct sim_node *)deps[i])->graph != (struct sim_graph *)graph)
            r = CUDA_ERROR_INVALID_VALUE;
    return r;
}

static struct sim_node *add(CUgraphNode *out, CUgraph graph, CUgraphNodeType type, const CUgraphNode *deps,
                            size_t count)
{
    struct sim_node *n = sim_node_new((struct sim_graph *)graph, type, (struct sim_node *const *)deps, count);
    *out = (CUgraphNode)n;
    return n;
}

static CUresult add_op(struct sim_call *call, CUresult r, CUgraphNode *out, CUgraph graph,
                       CUgraphNodeType type, const CUgraphNode *deps, size_t count, const struct sim_op *op)
{
    if (!r) sim_node_set_op(add(out, graph, type, deps, count), op);
    return sim_end(call, r, NULL);
}

#define ADD_PARAMS CUgraphNode *out, CUgraph graph, const CUgraphNode *deps, size_t count

CUresult CUDAAPI cuGraphAddKernelNode(ADD_PARAMS, const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
    SIM_CALL(call);
    struct sim_op op = {0};
    CUresult r = begin_add(&call, out, graph, deps, count, p);
    if (!r) r = KERNEL_OP(p, &op);
    return add_op(&call, r, out, graph, CU_GRAPH_NODE_TYPE_KERNEL, deps, count, &op);
}

CUresult CUDAAPI cuGraphAddMemcpyNode(ADD_PARAMS, const CUDA_MEMCPY3D *p, CUcontext context)
{
    SIM_CALL(call);
    struct sim_op op = {0};
    CUresult r = begin_add(&call, out, graph, deps, count, p);
    if (!r && context && !sim_is(context, SIM_CONTEXT)) r = CUDA_ERROR_INVALID_CONTEXT;
    if (!r) r = sim_copy_3d(p, &op);
    if (!r) {
        struct sim_node *n = add(out, graph, CU_GRAPH_NODE_TYPE_MEMCPY, deps, count);
        sim_node_set_op(n, &op);
        n->copy = *p;
    }
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuGraphAddMemsetNode(ADD_PARAMS, const CUDA_MEMSET_NODE_PARAMS *p, CUcontext context)
{
    SIM_CALL(call);
    struct sim_op op = {0};
    CUresult r = begin_add(&call, out, graph, deps, count, p);
    if (!r && context && !sim_is(context, SIM_CONTEXT)) r = CUDA_ERROR_INVALID_CONTEXT;
    if (!r) r = set_op(p, &op);
    return add_op(&call, r, out, graph, CU_GRAPH_NODE_TYPE_MEMSET, deps, count, &op);
}

CUresult CUDAAPI cuGraphAddHostNode(ADD_PARAMS, const CUDA_HOST_NODE_PARAMS *p)
{
    SIM_CALL(call);
    struct sim_op op = {0};
    CUresult r = begin_add(&call, out, graph, deps, count, p);
    if (!r) r = host_op(p, &op);
    return add_op(&call, r, out, graph, CU_GRAPH_NODE_TYPE_HOST, deps, count, &op);
}

CUresult CUDAAPI cuGraphAddEmptyNode(ADD_PARAMS)
{
    SIM_CALL(call);
    struct sim_op op = {0};
    CUresult r = begin_add(&call, out, graph, deps, count, &op);
    return add_op(&call, r, out, graph, CU_GRAPH_NODE_TYPE_EMPTY, deps, count, &op);
}

CUresult CUDAAPI cuGraphAddChildGraphNode(ADD_PARAMS, CUgraph child)
{
    SIM_CALL(call);
    CUresult r = begin_add(&call, out, graph, deps, count, child);
    if (!r && !sim_is(child, SIM_GRAPH)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        struct sim_graph *clone = sim_graph_clone((struct sim_graph *)child);
        add(out, graph, CU_GRAPH_NODE_TYPE_GRAPH, deps, count)->child = clone;
    }
    return sim_end(&call, r, NULL);
}

static CUresult add_event(struct sim_call *call, ADD_PARAMS, CUgraphNodeType type, CUevent event)
{
    CUresult r = begin_add(call, out, graph, deps, count, event);
    if (!r && !sim_is(event, SIM_EVENT)) r = CUDA_ERROR_INVALID_HANDLE;
    if (!r) add(out, graph, type, deps, count)->event = (struct sim_event *)event;
    return sim_end(call, r, NULL);
}

CUresult CUDAAPI cuGraphAddEventRecordNode(ADD_PARAMS, CUevent event)
{
    SIM_CALL(call);
    return add_event(&call, out, graph, deps, count, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event);
}

CUresult CUDAAPI cuGraphAddEventWaitNode(ADD_PARAMS, CUevent event)
{
    SIM_CALL(call);
    return add_event(&call, out, graph, deps, count, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event);
}

CUresult CUDAAPI cuGraphAddMemAllocNode(ADD_PARAMS, CUDA_MEM_ALLOC_NODE_PARAMS *p)
{
    SIM_CALL(call);
    CUresult r = begin_add(&call, out, graph, deps, count, p);
    if (!r && (!p->bytesize || p->poolProps.location.id < 0 || p->poolProps.location.id >= sim.device_count))
        r = CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        struct sim_node *n = add(out, graph, CU_GRAPH_NODE_TYPE_MEM_ALLOC, deps, count);
        n->storage = sim_graph_storage(p->poolProps.location.id, p->bytesize);
        p->dptr = n->storage->base;
    }
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuGraphAddMemFreeNode(ADD_PARAMS, CUdeviceptr address)
{
    SIM_CALL(call);
    CUresult r = begin_add(&call, out, graph, deps, count, &address);
    if (!r && !address) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) add(out, graph, CU_GRAPH_NODE_TYPE_MEM_FREE, deps, count)->address = address;
    return sim_end(&call, r, NULL);
}

/* ---- asking -------------------------------------------------------------------------------------------- */

/* The node, if it is of that type and there is somewhere to write; the lock is held in every case. */
static CUresult begin_get(struct sim_call *call, CUgraphNode node, CUgraphNodeType type, const void *out)
{
    CUresult r = sim_begin(call, SIM_NEED_INIT);
    if (!r && (!out || !sim_is(node, SIM_NODE) || ((struct sim_node *)node)->type != type))
        r = CUDA_ERROR_INVALID_VALUE;
    return r;
}

#define KERNEL_PARAMS(type, n)                                                                               \
    ((type){.func = (CUfunction)(n)->op.u.kernel.function,                                                   \
            .gridDimX = (n)->op.line.grid[0],                                                                \
            .gridDimY = (n)->op.line.grid[1],                                                                \
            .gridDimZ = (n)->op.line.grid[2],                                                                \
            .blockDimX = (n)->op.line.block[0],                                                              \
            .blockDimY = (n)->op.line.block[1],                                                              \
            .blockDimZ = (n)->op.line.block[2],                                                              \
            .sharedMemBytes = (n)->op.line.shared,                                                           \
            .kernelParams = (n)->op.u.kernel.args})

CUresult CUDAAPI cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1 *out)
{
    SIM_CALL(call);
    CUresult r = begin_get(&call, node, CU_GRAPH_NODE_TYPE_KERNEL, out);
    if (!r) *out = KERNEL_PARAMS(CUDA_KERNEL_NODE_PARAMS_v1, (struct sim_node *)node);
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D *out)
{
    SIM_CALL(call);
    CUresult r = begin_get(&call, node, CU_GRAPH_NODE_TYPE_MEMCPY, out);
    if (!r) *out = ((struct sim_node *)node)->copy;
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS *out)
{
    SIM_CALL(call);
    CUresult r = begin_get(&call, node, CU_GRAPH_NODE_TYPE_MEMSET, out);
    if (!r) {
        const struct sim_set *s = &((struct sim_node *)node)->op.u.set;
        *out = (CUDA_MEMSET_NODE_PARAMS){.dst = (CUdeviceptr)(uintptr_t)s->dst,
                                         .pitch = s->pitch,
                                         .value = s->value,
                                         .elementSize = s->element,
                                         .width = s->width,
                                         .height = s->height};
    }
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS *out)
{
    SIM_CALL(call);
    CUresult r = begin_get(&call, node, CU_GRAPH_NODE_TYPE_HOST, out);
    if (!r) {
        const struct sim_host *h = &((struct sim_node *)node)->op.u.host;
        *out = (CUDA_HOST_NODE_PARAMS){.fn = h->fn, .userData = h->data};
    }
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph *out)
{
    SIM_CALL(call);
    CUresult r = begin_get(&call, node, CU_GRAPH_NODE_TYPE_GRAPH, out);
    if (!r) *out = (CUgraph)((struct sim_node *)node)->child;
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS *out)
{
    SIM_CALL(call);
    CUresult r = begin_get(&call, node, CU_GRAPH_NODE_TYPE_MEM_ALLOC, out);
    if (!r) {
        const struct sim_storage *s = ((struct sim_node *)node)->storage;
        *out = (CUDA_MEM_ALLOC_NODE_PARAMS){.bytesize = s->bytes, .dptr = s->base};
        out->poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
        out->poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        out->poolProps.location.id = s->device;
    }
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuGraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr *out)
{
    SIM_CALL(call);
    CUresult r = begin_get(&call, node, CU_GRAPH_NODE_TYPE_MEM_FREE, out);
    if (!r) *out = ((struct sim_node *)node)->address;
    return sim_end(&call, r, NULL);
}

/* ---- changing ------------------------------------------------------------------------------------------ */

/* The node itself, or with `exec` the one that instantiation made of it. */
static CUresult begin_set(struct sim_call *call, CUgraphExec exec, bool in_exec, CUgraphNode node,
                          CUgraphNodeType type, const void *params, struct sim_node **out)
{
    CUresult r = sim_begin(call, SIM_NEED_INIT);
    *out = (struct sim_node *)node;
    if (!r && (!params || !sim_is(node, SIM_NODE) || (in_exec && !sim_is(exec, SIM_EXEC))))
        r = CUDA_ERROR_INVALID_VALUE;
    if (!r && in_exec) sim_exec_own((struct sim_exec *)exec);
    if (!r && in_exec) *out = sim_exec_node((struct sim_exec *)exec, *out);
    if (!r && (!*out || (*out)->type != type)) r = CUDA_ERROR_INVALID_VALUE;
    return r;
}

static CUresult set_end(struct sim_call *call, CUresult r, struct sim_node *node, const struct sim_op *op)
{
    if (!r) sim_node_set_op(node, op);
    return sim_end(call, r, NULL);
}

CUresult CUDAAPI cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
    SIM_CALL(call);
    struct sim_node *n;
    struct sim_op op = {0};
    CUresult r = begin_set(&call, NULL, false, node, CU_GRAPH_NODE_TYPE_KERNEL, p, &n);
    if (!r) r = KERNEL_OP(p, &op);
    return set_end(&call, r, n, &op);
}

CUresult CUDAAPI cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
    SIM_CALL(call);
    struct sim_node *n;
    struct sim_op op = {0};
    CUresult r = begin_set(&call, exec, true, node, CU_GRAPH_NODE_TYPE_KERNEL, p, &n);
    if (!r) r = KERNEL_OP(p, &op);
    return set_end(&call, r, n, &op);
}

#if CUDA_VERSION >= 12000
CUresult CUDAAPI cuGraphAddKernelNode_v2(ADD_PARAMS, const CUDA_KERNEL_NODE_PARAMS *p)
{
    SIM_CALL(call);
    struct sim_op op = {0};
    CUresult r = begin_add(&call, out, graph, deps, count, p);
    CUDA_KERNEL_NODE_PARAMS q = r ? (CUDA_KERNEL_NODE_PARAMS){0} : *p;
    if (!q.func) q.func = (CUfunction)q.kern;
    if (!r) r = KERNEL_OP(&q, &op);
    return add_op(&call, r, out, graph, CU_GRAPH_NODE_TYPE_KERNEL, deps, count, &op);
}

CUresult CUDAAPI cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *out)
{
    SIM_CALL(call);
    CUresult r = begin_get(&call, node, CU_GRAPH_NODE_TYPE_KERNEL, out);
    if (!r) *out = KERNEL_PARAMS(CUDA_KERNEL_NODE_PARAMS, (struct sim_node *)node);
    return sim_end(&call, r, NULL);
}

static CUresult set_kernel(struct sim_call *call, CUgraphExec exec, bool in_exec, CUgraphNode node,
                           const CUDA_KERNEL_NODE_PARAMS *p)
{
    struct sim_node *n;
    struct sim_op op = {0};
    CUresult r = begin_set(call, exec, in_exec, node, CU_GRAPH_NODE_TYPE_KERNEL, p, &n);
    CUDA_KERNEL_NODE_PARAMS q = r ? (CUDA_KERNEL_NODE_PARAMS){0} : *p;
    if (!q.func) q.func = (CUfunction)q.kern;
    if (!r) r = KERNEL_OP(&q, &op);
    return set_end(call, r, n, &op);
}

CUresult CUDAAPI cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *p)
{
    SIM_CALL(call);
    return set_kernel(&call, NULL, false, node, p);
}

CUresult CUDAAPI cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                                   const CUDA_KERNEL_NODE_PARAMS *p)
{
    SIM_CALL(call);
    return set_kernel(&call, exec, true, node, p);
}
#endif

static CUresult set_copy(struct sim_call *call, CUgraphExec exec, bool in_exec, CUgraphNode node,
                         const CUDA_MEMCPY3D *p)
{
    struct sim_node *n;
    struct sim_op op = {0};
    CUresult r = begin_set(call, exec, in_exec, node, CU_GRAPH_NODE_TYPE_MEMCPY, p, &n);
    if (!r) r = sim_copy_3d(p, &op);
    if (!r) n->copy = *p;
    return set_end(call, r, n, &op);
}

CUresult CUDAAPI cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D *p)
{
    SIM_CALL(call);
    return set_copy(&call, NULL, false, node, p);
}

CUresult CUDAAPI cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D *p,
                                                CUcontext context)
{
    SIM_CALL(call);
    (void)context;
    return set_copy(&call, exec, true, node, p);
}

static CUresult set_memset(struct sim_call *call, CUgraphExec exec, bool in_exec, CUgraphNode node,
                           const CUDA_MEMSET_NODE_PARAMS *p)
{
    struct sim_node *n;
    struct sim_op op = {0};
    CUresult r = begin_set(call, exec, in_exec, node, CU_GRAPH_NODE_TYPE_MEMSET, p, &n);
    if (!r) r = set_op(p, &op);
    return set_end(call, r, n, &op);
}

CUresult CUDAAPI cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *p)
{
    SIM_CALL(call);
    return set_memset(&call, NULL, false, node, p);
}

CUresult CUDAAPI cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                const CUDA_MEMSET_NODE_PARAMS *p, CUcontext context)
{
    SIM_CALL(call);
    (void)context;
    return set_memset(&call, exec, true, node, p);
}

static CUresult set_host(struct sim_call *call, CUgraphExec exec, bool in_exec, CUgraphNode node,
                         const CUDA_HOST_NODE_PARAMS *p)
{
    struct sim_node *n;
    struct sim_op op = {0};
    CUresult r = begin_set(call, exec, in_exec, node, CU_GRAPH_NODE_TYPE_HOST, p, &n);
    if (!r) r = host_op(p, &op);
    return set_end(call, r, n, &op);
}

CUresult CUDAAPI cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS *p)
{
    SIM_CALL(call);
    return set_host(&call, NULL, false, node, p);
}

CUresult CUDAAPI cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                              const CUDA_HOST_NODE_PARAMS *p)
{
    SIM_CALL(call);
    return set_host(&call, exec, true, node, p);
}

static CUresult begin_exec_node(struct sim_call *call, CUgraphExec exec, CUgraphNode node,
                                struct sim_node **out)
{
    CUresult r = sim_begin(call, SIM_NEED_INIT);
    if (!r && (!sim_is(exec, SIM_EXEC) || !sim_is(node, SIM_NODE))) r = CUDA_ERROR_INVALID_VALUE;
    *out = r ? NULL : sim_exec_node((struct sim_exec *)exec, (struct sim_node *)node);
    return !r && !*out ? CUDA_ERROR_INVALID_VALUE : r;
}

CUresult CUDAAPI cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode node, unsigned enabled)
{
    SIM_CALL(call);
    struct sim_node *n;
    CUresult r = begin_exec_node(&call, exec, node, &n);
    if (!r) {
        sim_exec_own((struct sim_exec *)exec); /* what was found above may be a running launch's now */
        n = sim_exec_node((struct sim_exec *)exec, (struct sim_node *)node);
        n->disabled = !enabled;
    }
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuGraphNodeGetEnabled(CUgraphExec exec, CUgraphNode node, unsigned *enabled)
{
    SIM_CALL(call);
    struct sim_node *n;
    CUresult r = begin_exec_node(&call, exec, node, &n);
    if (!r && !enabled) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) *enabled = !n->disabled;
    return sim_end(&call, r, NULL);
}
