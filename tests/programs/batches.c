/* Batches of copies, of words and of prefetches; advice; semaphores, events and memory of others; multicast
 * objects; peers; green contexts; nodes added by the one call for all kinds. */
#include "target.h"

#include <unistd.h>

enum { BYTES = 4096 };

static CUstream stream;
static CUdeviceptr data;

static void words(void)
{
    CUstreamBatchMemOpParams list[2] = {
        {.writeValue = {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32, .address = data, .value = 11}},
        {.waitValue = {.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32,
                       .address = data,
                       .value = 11,
                       .flags = CU_STREAM_WAIT_VALUE_EQ}}};
    unsigned seen = 0;
    CU(cuStreamBatchMemOp(stream, 2, list, 0));
    CU(cuStreamSynchronize(stream));
    CU(cuMemcpyDtoH(&seen, data, sizeof seen));
    printf("written: %u\n", seen);
    SHOW(cuStreamBatchMemOp(stream, 0, list, 0));
}

static void semaphores(void)
{
    int ends[2];
    CUexternalSemaphore semaphore;
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signal = {.params = {.fence = {.value = 1}}};
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS wait = {.params = {.fence = {.value = 1}}};
    if (pipe(ends) != 0) exit(1);
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC described = {.type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD,
                                                     .handle = {.fd = ends[0]}};
    /* A pipe is none: a real driver refuses it, and so the result is not part of the output. */
    if (cuImportExternalSemaphore(&semaphore, &described) == CUDA_SUCCESS) {
        CU(cuSignalExternalSemaphoresAsync(&semaphore, &signal, 1, stream));
        CU(cuWaitExternalSemaphoresAsync(&semaphore, &wait, 1, stream));
        CU(cuStreamSynchronize(stream));
        CU(cuDestroyExternalSemaphore(semaphore));
    }
    close(ends[1]);
}

static void events_of_others(void)
{
    CUevent event, opened;
    CUipcEventHandle handle;
    CU(cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
    CU(cuIpcGetEventHandle(&handle, event));
    if (cuIpcOpenEventHandle(&opened, handle) == CUDA_SUCCESS) CU(cuEventDestroy(opened));
    CU(cuEventDestroy(event));
    CU(cuCtxResetPersistingL2Cache());
}

static void peers(void)
{
    int count = 0;
    CU(cuDeviceGetCount(&count));
    if (count < 2) return;
    CUcontext mine, other;
    CUdeviceptr there;
    CU(cuCtxGetCurrent(&mine));
    CU(cuDevicePrimaryCtxRetain(&other, 1));
    CU(cuCtxEnablePeerAccess(other, 0));
    CU(cuCtxPushCurrent(other));
    CU(cuMemAlloc(&there, BYTES));
    CU(cuCtxPopCurrent(NULL));
    CU(cuMemcpyPeer(there, other, data, mine, BYTES));
    CU(cuMemcpyPeerAsync(data, mine, there, other, BYTES / 2, stream));
    CU(cuStreamSynchronize(stream));
    CU(cuCtxDisablePeerAccess(other));
    CU(cuDevicePrimaryCtxRelease(1)); /* the last one: what is there ends with it */
}

#if CUDA_VERSION >= 12080
static void copies(void)
{
    static uint8_t host[3][1000];
    CUdeviceptr to[3], from[3];
    size_t sizes[3] = {1000, 500, 200}, start = 0;
    CUmemcpyAttributes attributes = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
    for (int i = 0; i < 3; i++) {
        to[i] = data + 1000u * (unsigned)i;
        from[i] = (CUdeviceptr)(uintptr_t)host[i];
    }
#if CUDA_VERSION >= 13000
    CU(cuMemcpyBatchAsync(to, from, sizes, 3, &attributes, &start, 1, stream));
#else
    CU(cuMemcpyBatchAsync(to, from, sizes, 3, &attributes, &start, 1, NULL, stream));
#endif
    CU(cuStreamSynchronize(stream));
    CUDA_ARRAY_DESCRIPTOR shape = {.Width = 16, .Height = 8, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 2};
    CUarray array;
    CU(cuArrayCreate(&array, &shape));
    CUDA_MEMCPY3D_BATCH_OP boxes[2] = {
        {.src = {.type = CU_MEMCPY_OPERAND_TYPE_POINTER, .op = {.ptr = {.ptr = data}}},
         .dst = {.type = CU_MEMCPY_OPERAND_TYPE_POINTER, .op = {.ptr = {.ptr = data + 2048}}},
         .extent = {.width = 100, .height = 5, .depth = 2},
         .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM},
        {.src = {.type = CU_MEMCPY_OPERAND_TYPE_POINTER, .op = {.ptr = {.ptr = data}}},
         .dst = {.type = CU_MEMCPY_OPERAND_TYPE_ARRAY, .op = {.array = {.array = array}}},
         .extent = {.width = 16, .height = 8, .depth = 1},
         .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM}};
#if CUDA_VERSION >= 13000
    CU(cuMemcpy3DBatchAsync(2, boxes, 0, stream));
#else
    CU(cuMemcpy3DBatchAsync(2, boxes, NULL, 0, stream));
#endif
    CU(cuStreamSynchronize(stream));
    CU(cuArrayDestroy(array));
}
#endif

#if CUDA_VERSION >= 13000
static void managed(void)
{
    CUdeviceptr pointer;
    size_t bytes = BYTES, start = 0;
    CUmemLocation here = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
    CU(cuMemAllocManaged(&pointer, bytes, CU_MEM_ATTACH_GLOBAL));
    CU(cuMemAdvise(pointer, bytes, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, here));
    CU(cuMemPrefetchAsync(pointer, bytes, here, 0, stream));
    CU(cuMemPrefetchBatchAsync(&pointer, &bytes, 1, &here, &start, 1, 0, stream));
    CU(cuMemDiscardBatchAsync(&pointer, &bytes, 1, 0, stream));
    CU(cuMemDiscardAndPrefetchBatchAsync(&pointer, &bytes, 1, &here, &start, 1, 0, stream));
    CU(cuStreamSynchronize(stream));
    CU(cuMemFree(pointer));
}

static void multicast(void)
{
    CUmulticastObjectProp properties = {.numDevices = 1, .size = 2 << 20};
    CUmemGenericAllocationHandle object;
    if (cuMulticastCreate(&object, &properties) != CUDA_SUCCESS) return; /* needs a switch between devices */
    CU(cuMulticastAddDevice(object, 0));
    CU(cuMulticastBindAddr(object, 0, data, BYTES, 0));
    CU(cuMulticastUnbind(object, 0, 0, BYTES));
    CU(cuMemRelease(object));
}

static void nodes(void)
{
    CUgraph graph;
    CUgraphNode first, second, third;
    CUgraphExec executable;
    CUgraphNodeParams alloc = {
        .type = CU_GRAPH_NODE_TYPE_MEM_ALLOC,
        .alloc = {.poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}},
                  .bytesize = 3000}};
    CUgraphNodeParams release = {.type = CU_GRAPH_NODE_TYPE_MEM_FREE};
    CUgraphNodeParams set = {.type = CU_GRAPH_NODE_TYPE_MEMSET,
                             .memset = {.dst = data, .elementSize = 4, .width = 8, .height = 1, .value = 5}};
    CU(cuCtxGetCurrent(&set.memset.ctx));
    CU(cuGraphCreate(&graph, 0));
    CU(cuGraphAddNode(&first, graph, NULL, NULL, 0, &alloc));
    CU(cuGraphAddNode(&second, graph, &first, NULL, 1, &set));
    release.free.dptr = alloc.alloc.dptr;
    CU(cuGraphAddNode(&third, graph, &second, NULL, 1, &release));
    CU(cuGraphInstantiateWithFlags(&executable, graph, 0));
    for (int i = 0; i < 2; i++)
        CU(cuGraphLaunch(executable, stream));
    CU(cuStreamSynchronize(stream));
    CU(cuGraphExecDestroy(executable));
    CU(cuGraphDestroy(graph));

    CUgraphNodeParams branch = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL,
                                .conditional = {.type = CU_GRAPH_COND_TYPE_IF, .size = 1}};
    CU(cuGraphCreate(&graph, 0));
    CU(cuCtxGetCurrent(&branch.conditional.ctx));
    CU(cuGraphConditionalHandleCreate(&branch.conditional.handle, graph, branch.conditional.ctx, 0,
                                      CU_GRAPH_COND_ASSIGN_DEFAULT));
    CU(cuGraphAddNode(&first, graph, NULL, NULL, 0, &branch));
    CU(cuGraphAddNode(&second, branch.conditional.phGraph_out[0], NULL, NULL, 0, &set));
    CU(cuGraphInstantiateWithFlags(&executable, graph, 0));
    CU(cuGraphLaunch(executable, stream));
    CU(cuStreamSynchronize(stream));
    CU(cuGraphExecDestroy(executable));
    CU(cuGraphDestroy(graph));
}

/* A share of the device: its stream, and memory that ends with it. */
static void green(void)
{
    CUdevResource all, part;
    unsigned groups = 1;
    CUdevResourceDesc described;
    CUgreenCtx share;
    CUcontext context, before;
    CUstream own;
    CUdeviceptr kept;
    CU(cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM));
    CU(cuDevSmResourceSplitByCount(&part, &groups, &all, NULL, 0, 8));
    CU(cuDevResourceGenerateDesc(&described, &part, 1));
    CU(cuGreenCtxCreate(&share, described, 0, CU_GREEN_CTX_DEFAULT_STREAM));
    CU(cuCtxFromGreenCtx(&context, share));
    CU(cuCtxGetCurrent(&before));
    CU(cuCtxSetCurrent(context));
    CU(cuGreenCtxStreamCreate(&own, share, CU_STREAM_NON_BLOCKING, 0));
    CU(cuMemAlloc(&kept, 6000));
    CU(cuMemsetD8Async(kept, 1, 6000, own));
    CU(cuStreamSynchronize(own));
    CU(cuStreamDestroy(own));
    CU(cuMemFree(kept));
    CU(cuCtxSetCurrent(before));
    CU(cuGreenCtxDestroy(share));
}
#endif

int main(void)
{
    target_open(0);
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU(cuMemAlloc(&data, BYTES));
    words();
    semaphores();
    events_of_others();
    peers();
#if CUDA_VERSION >= 12080
    copies();
#endif
#if CUDA_VERSION >= 13000
    managed();
    multicast();
    nodes();
    green();
#endif
    CU(cuMemFree(data));
    return 0;
}
