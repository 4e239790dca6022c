/* Graphs of every kind of node, made ready in every way, updated, with children and clones; memory that
 * launches allocate, and each way in which it ends. */
#include "target.h"

enum { COUNT = 256, BYTES = COUNT * 4 };

static CUfunction fill, nothing;
static CUstream stream;
static CUdeviceptr data;

static CUgraphNode add_kernel(CUgraph graph, CUfunction function, const CUgraphNode *after)
{
    static unsigned count = COUNT, value = 5;
    void *parameters[] = {&data, &count, &value};
    CUDA_KERNEL_NODE_PARAMS node = {.func = function,
                                    .gridDimX = 1,
                                    .gridDimY = 1,
                                    .gridDimZ = 1,
                                    .blockDimX = 256,
                                    .blockDimY = 1,
                                    .blockDimZ = 1,
                                    .kernelParams = function == fill ? parameters : NULL};
    CUgraphNode made;
    CU(cuGraphAddKernelNode(&made, graph, after, after ? 1 : 0, &node));
    return made;
}

static CUgraphNode add_allocation(CUgraph graph, const CUgraphNode *after, size_t bytes, CUdeviceptr *address)
{
    CUDA_MEM_ALLOC_NODE_PARAMS node = {.poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                                     .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}},
                                       .bytesize = bytes};
    CUgraphNode made;
    CU(cuGraphAddMemAllocNode(&made, graph, after, after ? 1 : 0, &node));
    *address = node.dptr;
    return made;
}

static void CUDA_CB greet(void *data_)
{
    (void)data_;
}

static void nodes_of_every_kind(void)
{
    CUgraph graph, child, clone;
    CUgraphNode first, second, last;
    CUgraphExec executable;
    CUevent event;
    CUDA_MEMSET_NODE_PARAMS set = {.dst = data, .elementSize = 4, .width = COUNT, .height = 1, .value = 3};
    CUDA_HOST_NODE_PARAMS host = {.fn = greet};
    CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = data,
                          .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                          .dstDevice = data + BYTES,
                          .WidthInBytes = BYTES,
                          .Height = 1,
                          .Depth = 1};
    CUcontext context;
    CU(cuCtxGetCurrent(&context));
    CU(cuEventCreate(&event, CU_EVENT_DEFAULT));
    CU(cuGraphCreate(&child, 0));
    first = add_kernel(child, nothing, NULL);
    add_kernel(child, nothing, &first);
    CU(cuGraphCreate(&graph, 0));
    first = add_kernel(graph, fill, NULL);
    CU(cuGraphAddMemcpyNode(&second, graph, &first, 1, &copy, context));
    CU(cuGraphAddMemsetNode(&first, graph, &second, 1, &set, context));
    CU(cuGraphAddHostNode(&second, graph, &first, 1, &host));
    CU(cuGraphAddEmptyNode(&first, graph, &second, 1));
    CU(cuGraphAddEventRecordNode(&second, graph, &first, 1, event));
    CU(cuGraphAddChildGraphNode(&last, graph, &second, 1, child));
    CU(cuGraphClone(&clone, graph));
    CU(cuGraphInstantiateWithFlags(&executable, clone, 0));
    CU(cuGraphUpload(executable, stream));
    CU(cuGraphLaunch(executable, stream));
    CU(cuGraphLaunch(executable, stream));
    CU(cuStreamSynchronize(stream));
    CU(cuGraphExecDestroy(executable));
    SHOW(cuGraphInstantiateWithFlags(&executable, NULL, 0));
    CU(cuGraphDestroy(clone));
    CU(cuGraphDestroy(graph));
    CU(cuGraphDestroy(child));
}

static void updated(void)
{
    CUgraph graph, other, longer;
    CUgraphExec executable;
    CUgraphNode node;
    CU(cuGraphCreate(&graph, 0));
    add_kernel(graph, fill, NULL);
    CU(cuGraphCreate(&other, 0));
    add_kernel(other, nothing, NULL);
    CU(cuGraphCreate(&longer, 0));
    node = add_kernel(longer, nothing, NULL);
    add_kernel(longer, nothing, &node);
#if CUDA_VERSION >= 12000
    CUDA_GRAPH_INSTANTIATE_PARAMS parameters = {.flags = 0};
    CUgraphExecUpdateResultInfo why;
    CU(cuGraphInstantiateWithParams(&executable, graph, &parameters));
    CU(cuGraphLaunch(executable, stream));
    CU(cuGraphExecUpdate(executable, other, &why));
    CU(cuGraphLaunch(executable, stream));
    SHOW(cuGraphExecUpdate(executable, longer, &why));
#else
    CUgraphExecUpdateResult why;
    CU(cuGraphInstantiate(&executable, graph, NULL, NULL, 0));
    CU(cuGraphLaunch(executable, stream));
    CU(cuGraphExecUpdate(executable, other, &node, &why));
    CU(cuGraphLaunch(executable, stream));
    SHOW(cuGraphExecUpdate(executable, longer, &node, &why));
#endif
    CU(cuGraphLaunch(executable, stream));
    CU(cuStreamSynchronize(stream));
    CU(cuGraphExecDestroy(executable));
    CU(cuGraphDestroy(graph));
    CU(cuGraphDestroy(other));
    CU(cuGraphDestroy(longer));
}

/* Allocated and freed in each launch: two of them alive side by side, then one after the other. */
static void freed_in_the_same_graph(void)
{
    CUgraph graph;
    CUgraphExec executable;
    CUdeviceptr a, b, c;
    CU(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    CU(cuMemAllocAsync(&a, BYTES, stream));
    CU(cuMemAllocAsync(&b, 2 * BYTES, stream));
    target_fill(fill, a, COUNT, 1, stream);
    CU(cuMemFreeAsync(a, stream));
    CU(cuMemFreeAsync(b, stream));
    CU(cuMemAllocAsync(&c, 3 * BYTES, stream));
    CU(cuMemFreeAsync(c, stream));
    CU(cuStreamEndCapture(stream, &graph));
    CU(cuGraphInstantiateWithFlags(&executable, graph, 0));
    for (int i = 0; i < 3; i++)
        CU(cuGraphLaunch(executable, stream));
    CU(cuStreamSynchronize(stream));
    CU(cuGraphExecDestroy(executable));
    CU(cuGraphDestroy(graph));
}

/* Not freed there: by calls, by another graph, by the next launch. Destroying the graph ends nothing. */
static void outlives_its_graph(void)
{
    CUgraph graph, freeing;
    CUgraphExec executable, other;
    CUdeviceptr a;
    CUgraphNode node;
    CU(cuGraphCreate(&graph, 0));
    node = add_allocation(graph, NULL, BYTES, &a);
    add_kernel(graph, nothing, &node);
    CU(cuGraphInstantiateWithFlags(&executable, graph, 0));
    CU(cuGraphLaunch(executable, stream));
    SHOW(cuGraphLaunch(executable, stream)); /* still alive */
    CU(cuMemFreeAsync(a, stream));
    CU(cuGraphLaunch(executable, stream));
    CU(cuStreamSynchronize(stream));
    CU(cuMemFree(a));
    CU(cuGraphLaunch(executable, stream));
    CU(cuGraphCreate(&freeing, 0));
    CU(cuGraphAddMemFreeNode(&node, freeing, NULL, 0, a));
    CU(cuGraphInstantiateWithFlags(&other, freeing, 0));
    CU(cuGraphLaunch(other, stream));
    CU(cuGraphLaunch(executable, stream));
    CU(cuStreamSynchronize(stream));
    CU(cuGraphExecDestroy(executable));
    CU(cuGraphExecDestroy(other));
    CU(cuGraphDestroy(freeing));
    CU(cuGraphDestroy(graph)); /* a is alive */
    CU(cuDeviceGraphMemTrim(0));
    CU(cuMemFree(a));
}

static void freed_by_the_next_launch(void)
{
    CUgraph graph;
    CUgraphExec executable;
    CUdeviceptr a, b;
    CUgraphNode node;
    CU(cuGraphCreate(&graph, 0));
    node = add_allocation(graph, NULL, BYTES, &a);
    add_allocation(graph, &node, 2 * BYTES, &b);
    CU(cuGraphInstantiateWithFlags(&executable, graph, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
    CU(cuGraphLaunch(executable, stream));
    CU(cuMemFreeAsync(b, stream));
    for (int i = 0; i < 3; i++)
        CU(cuGraphLaunch(executable, stream));
    CU(cuStreamSynchronize(stream)); /* both are alive at the end */
}

int main(void)
{
    CUmodule module = NULL;
    target_open(0);
    fill = target_kernel(&module, "fill");
    nothing = target_kernel(&module, "nothing");
    CU(cuMemAlloc(&data, 2 * BYTES));
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    nodes_of_every_kind();
    updated();
    freed_in_the_same_graph();
    outlives_its_graph();
    freed_by_the_next_launch();
    return 0;
}
