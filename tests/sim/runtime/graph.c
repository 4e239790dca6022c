/* Capture and graphs of the stand-in runtime. */
#include "tests/sim/runtime/runtime.h"

RT_PAIR(cudaStreamBeginCapture, _ptsz, (cudaStream_t stream, enum cudaStreamCaptureMode mode),
        rt.cuStreamBeginCapture[per]((CUstream)stream, (CUstreamCaptureMode)mode))
RT_PAIR(cudaStreamEndCapture, _ptsz, (cudaStream_t stream, cudaGraph_t *graph),
        rt.cuStreamEndCapture[per]((CUstream)stream, (CUgraph *)graph))
RT_PAIR(cudaStreamIsCapturing, _ptsz, (cudaStream_t stream, enum cudaStreamCaptureStatus *status),
        rt.cuStreamIsCapturing[per]((CUstream)stream, (CUstreamCaptureStatus *)status))
RT(cudaThreadExchangeStreamCaptureMode, (enum cudaStreamCaptureMode * mode),
   rt.cuThreadExchangeStreamCaptureMode((CUstreamCaptureMode *)mode))

RT(cudaGraphCreate, (cudaGraph_t * graph, unsigned flags), rt.cuGraphCreate((CUgraph *)graph, flags))
RT(cudaGraphDestroy, (cudaGraph_t graph), rt.cuGraphDestroy((CUgraph)graph))
RT(cudaGraphClone, (cudaGraph_t * out, cudaGraph_t graph), rt.cuGraphClone((CUgraph *)out, (CUgraph)graph))
RT(cudaGraphGetNodes, (cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count),
   rt.cuGraphGetNodes((CUgraph)graph, (CUgraphNode *)nodes, count))
RT(cudaGraphGetRootNodes, (cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count),
   rt.cuGraphGetRootNodes((CUgraph)graph, (CUgraphNode *)nodes, count))
RT(cudaGraphNodeGetType, (cudaGraphNode_t node, enum cudaGraphNodeType *type),
   rt.cuGraphNodeGetType((CUgraphNode)node, (CUgraphNodeType *)type))

#define ADD_PARAMS cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *deps, size_t count
#define ADD_ARGS   (CUgraphNode *)out, (CUgraph)graph, (const CUgraphNode *)deps, count

static CUcontext current(void)
{
    CUcontext context = NULL;
    rt.cuCtxGetCurrent(&context);
    return context;
}

static CUresult add_kernel(ADD_PARAMS, const struct cudaKernelNodeParams *p)
{
    CUkernel kernel;
    CUfunction f;
    CUresult r = p ? rt_kernel(p->func, &kernel) : CUDA_ERROR_INVALID_VALUE;
    if (!r) r = rt.cuKernelGetFunction(&f, kernel);
    if (r) return r;
    CUDA_KERNEL_NODE_PARAMS params = {.func = f,
                                      .gridDimX = p->gridDim.x,
                                      .gridDimY = p->gridDim.y,
                                      .gridDimZ = p->gridDim.z,
                                      .blockDimX = p->blockDim.x,
                                      .blockDimY = p->blockDim.y,
                                      .blockDimZ = p->blockDim.z,
                                      .sharedMemBytes = p->sharedMemBytes,
                                      .kernelParams = p->kernelParams,
                                      .extra = p->extra};
    return rt.cuGraphAddKernelNode(ADD_ARGS, &params);
}
RT(cudaGraphAddKernelNode, (ADD_PARAMS, const struct cudaKernelNodeParams *p),
   add_kernel(out, graph, deps, count, p))

static CUresult add_copy(ADD_PARAMS, const struct cudaMemcpy3DParms *p)
{
    CUDA_MEMCPY3D c;
    CUresult r = rt_box(p, &c);
    return r ? r : rt.cuGraphAddMemcpyNode(ADD_ARGS, &c, current());
}
RT(cudaGraphAddMemcpyNode, (ADD_PARAMS, const struct cudaMemcpy3DParms *p),
   add_copy(out, graph, deps, count, p))

static CUresult add_copy_1d(ADD_PARAMS, void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind)
{
    struct cudaMemcpy3DParms p = {.srcPtr = {.ptr = (void *)(uintptr_t)src, .pitch = bytes},
                                  .dstPtr = {.ptr = dst, .pitch = bytes},
                                  .extent = {.width = bytes, .height = 1, .depth = 1},
                                  .kind = kind};
    return add_copy(out, graph, deps, count, &p);
}
RT(cudaGraphAddMemcpyNode1D, (ADD_PARAMS, void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind),
   add_copy_1d(out, graph, deps, count, dst, src, bytes, kind))

static CUresult add_set(ADD_PARAMS, const struct cudaMemsetParams *p)
{
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    CUDA_MEMSET_NODE_PARAMS params = {.dst = RT_PTR(p->dst),
                                      .pitch = p->pitch,
                                      .value = p->value,
                                      .elementSize = p->elementSize,
                                      .width = p->width,
                                      .height = p->height};
    return rt.cuGraphAddMemsetNode(ADD_ARGS, &params, current());
}
RT(cudaGraphAddMemsetNode, (ADD_PARAMS, const struct cudaMemsetParams *p),
   add_set(out, graph, deps, count, p))

static CUresult add_host(ADD_PARAMS, const struct cudaHostNodeParams *p)
{
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    CUDA_HOST_NODE_PARAMS params = {.fn = (CUhostFn)p->fn, .userData = p->userData};
    return rt.cuGraphAddHostNode(ADD_ARGS, &params);
}
RT(cudaGraphAddHostNode, (ADD_PARAMS, const struct cudaHostNodeParams *p),
   add_host(out, graph, deps, count, p))
RT(cudaGraphAddEmptyNode, (ADD_PARAMS), rt.cuGraphAddEmptyNode(ADD_ARGS))
RT(cudaGraphAddChildGraphNode, (ADD_PARAMS, cudaGraph_t child),
   rt.cuGraphAddChildGraphNode(ADD_ARGS, (CUgraph)child))

RT(cudaGraphInstantiateWithFlags, (cudaGraphExec_t * exec, cudaGraph_t graph, unsigned long long flags),
   rt.cuGraphInstantiateWithFlags((CUgraphExec *)exec, (CUgraph)graph, flags))
#if CUDART_VERSION >= 12000
RT(cudaGraphInstantiate, (cudaGraphExec_t * exec, cudaGraph_t graph, unsigned long long flags),
   rt.cuGraphInstantiateWithFlags((CUgraphExec *)exec, (CUgraph)graph, flags))
RT(cudaGraphExecUpdate, (cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo *info),
   rt.cuGraphExecUpdate((CUgraphExec)exec, (CUgraph)graph, (CUgraphExecUpdateResultInfo *)info))
#else
static CUresult instantiate(cudaGraphExec_t *exec, cudaGraph_t graph, cudaGraphNode_t *bad, char *log,
                            size_t bytes)
{
    if (bad) *bad = NULL;
    if (log && bytes) *log = 0;
    return rt.cuGraphInstantiateWithFlags((CUgraphExec *)exec, (CUgraph)graph, 0);
}
RT(cudaGraphInstantiate,
   (cudaGraphExec_t * exec, cudaGraph_t graph, cudaGraphNode_t *bad, char *log, size_t bytes),
   instantiate(exec, graph, bad, log, bytes))
#endif
RT(cudaGraphExecDestroy, (cudaGraphExec_t exec), rt.cuGraphExecDestroy((CUgraphExec)exec))
RT_PAIR(cudaGraphLaunch, _ptsz, (cudaGraphExec_t exec, cudaStream_t stream),
        rt.cuGraphLaunch[per]((CUgraphExec)exec, (CUstream)stream))
RT_PAIR(cudaGraphUpload, _ptsz, (cudaGraphExec_t exec, cudaStream_t stream),
        rt.cuGraphUpload[per]((CUgraphExec)exec, (CUstream)stream))
