/* Nodes by the one call for all of them, and conditional nodes. Conditions are set by device code, which is
 * not run: the bodies of conditional nodes never run. */
#include <string.h>

#include "tests/sim/graph.h"

CUresult CUDAAPI cuGraphAddBatchMemOpNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *deps,
                                          size_t count, const CUDA_BATCH_MEM_OP_NODE_PARAMS *p)
{
    SIM_CALL(call);
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    if (!r && (!out || !sim_is(graph, SIM_GRAPH) || (count && !deps) || !p || !p->count || !p->paramArray))
        r = CUDA_ERROR_INVALID_VALUE;
    if (!r)
        *out = (CUgraphNode)sim_node_new((struct sim_graph *)graph, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
                                         (struct sim_node *const *)deps, count);
    return sim_end(&call, r, NULL);
}

#if CUDA_VERSION >= 12030

CUresult CUDAAPI cuGraphConditionalHandleCreate(CUgraphConditionalHandle *out, CUgraph graph,
                                                CUcontext context, unsigned initial, unsigned flags)
{
    SIM_CALL(call);
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    (void)context, (void)initial, (void)flags;
    if (!r && (!out || !sim_is(graph, SIM_GRAPH))) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) *out = ++sim.next_id;
    return sim_end(&call, r, NULL);
}

/* The bodies are the program's to fill, and live as long as the node; of several, the node keeps the first.
 */
static CUresult conditional(struct sim_call *call, CUgraphNode *out, CUgraph graph, const CUgraphNode *deps,
                            size_t count, CUDA_CONDITIONAL_NODE_PARAMS *p)
{
    static CUgraph bodies[1024];
    static size_t used;
    CUresult r = sim_begin(call, SIM_NEED_INIT);
    if (!r && (!out || !sim_is(graph, SIM_GRAPH) || (count && !deps) || !p->size || !p->handle ||
               p->size > sizeof bodies / sizeof *bodies - used))
        r = CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        struct sim_node *n = sim_node_new((struct sim_graph *)graph, CU_GRAPH_NODE_TYPE_CONDITIONAL,
                                          (struct sim_node *const *)deps, count);
        p->phGraph_out = bodies + used;
        for (unsigned i = 0; i < p->size; i++)
            bodies[used++] = (CUgraph)sim_graph_new();
        *out = (CUgraphNode)n;
    }
    return sim_end(call, r, NULL);
}

/* The calls for one kind each do the rest; what they are given has the same beginning. */
static CUresult add(struct sim_call *call, CUgraphNode *out, CUgraph graph, const CUgraphNode *deps,
                    size_t count, CUgraphNodeParams *p)
{
    CUDA_MEM_ALLOC_NODE_PARAMS alloc;
    CUresult r;
    switch (p ? p->type : CU_GRAPH_NODE_TYPE_EMPTY) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        return cuGraphAddKernelNode_v2(out, graph, deps, count, (const CUDA_KERNEL_NODE_PARAMS *)&p->kernel);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return cuGraphAddMemcpyNode(out, graph, deps, count, &p->memcpy.copyParams, p->memcpy.copyCtx);
    case CU_GRAPH_NODE_TYPE_MEMSET:
        return cuGraphAddMemsetNode(out, graph, deps, count, (const CUDA_MEMSET_NODE_PARAMS *)&p->memset,
                                    p->memset.ctx);
    case CU_GRAPH_NODE_TYPE_HOST:
        return cuGraphAddHostNode(out, graph, deps, count, (const CUDA_HOST_NODE_PARAMS *)&p->host);
    case CU_GRAPH_NODE_TYPE_GRAPH:
        return cuGraphAddChildGraphNode(out, graph, deps, count, p->graph.graph);
    case CU_GRAPH_NODE_TYPE_EMPTY:
        return cuGraphAddEmptyNode(out, graph, deps, count);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        return cuGraphAddEventWaitNode(out, graph, deps, count, p->eventWait.event);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        return cuGraphAddEventRecordNode(out, graph, deps, count, p->eventRecord.event);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
        memcpy(&alloc, &p->alloc, sizeof alloc);
        r = cuGraphAddMemAllocNode(out, graph, deps, count, &alloc);
        p->alloc.dptr = alloc.dptr;
        return r;
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        return cuGraphAddMemFreeNode(out, graph, deps, count, p->free.dptr);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        return cuGraphAddBatchMemOpNode(out, graph, deps, count,
                                        (const CUDA_BATCH_MEM_OP_NODE_PARAMS *)&p->memOp);
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        return conditional(call, out, graph, deps, count, &p->conditional);
    default:
        return CUDA_ERROR_NOT_SUPPORTED;
    }
}

CUresult CUDAAPI cuGraphAddNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *deps, size_t count,
                                CUgraphNodeParams *p)
{
    SIM_CALL(call);
    return add(&call, out, graph, deps, count, p);
}

CUresult CUDAAPI cuGraphAddNode_v2(CUgraphNode *out, CUgraph graph, const CUgraphNode *deps,
                                   const CUgraphEdgeData *edges, size_t count, CUgraphNodeParams *p)
{
    SIM_CALL(call);
    (void)edges;
    return add(&call, out, graph, deps, count, p);
}
#endif
