/* The body of the load-path programs; also built as a plugin that finds the driver by its own link with
 * -lcuda. */
#include "families.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Linked calls go through the object's own procedure linkage table; the others through what was looked up. */
#ifdef FAMILIES_LOOKED_UP
static const struct family_functions *functions;
#define DO(name, ...) functions->name##_(__VA_ARGS__)
#else
#define DO(name, ...) name(__VA_ARGS__)
#endif

static CUfunction kernel;
static CUmodule module;
static CUstream stream;
static CUdeviceptr data;

static const char ptx[] =
    ".version 6.0\n.target sm_70\n.address_size 64\n.visible .entry nothing()\n{\n ret;\n}\n";

static CUresult opening(void)
{
    CUdevice device;
    CUcontext context;
    CUresult result = DO(cuInit, 0);
    if (!result) result = DO(cuDeviceGet, &device, 0);
    if (!result) result = DO(cuDevicePrimaryCtxRetain, &context, device);
    if (!result) result = DO(cuCtxSetCurrent, context);
    return result;
}

static CUresult modules(void)
{
    CUresult result = DO(cuModuleLoadData, &module, ptx);
    return result ? result : DO(cuModuleGetFunction, &kernel, module, "nothing");
}

static CUresult device_memory(void)
{
    CUdeviceptr other;
    CUresult result = DO(cuMemAlloc, &data, 1000);
    if (!result) result = DO(cuMemAlloc, &other, 2000);
    return result ? result : DO(cuMemFree, other);
}

static CUresult host_memory(void)
{
    void *host;
    CUresult result = DO(cuMemHostAlloc, &host, 3000, 0);
    return result ? result : DO(cuMemFreeHost, host);
}

static CUresult managed_memory(void)
{
    CUdeviceptr pointer;
    CUresult result = DO(cuMemAllocManaged, &pointer, 5000, CU_MEM_ATTACH_GLOBAL);
    return result ? result : DO(cuMemFree, pointer);
}

static CUresult streams(void)
{
    CUresult result = DO(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
    return result ? result : DO(cuStreamSynchronize, stream);
}

static CUresult pool_memory(void)
{
    CUdeviceptr pointer;
    CUresult result = DO(cuMemAllocAsync, &pointer, 7000, stream);
    return result ? result : DO(cuMemFreeAsync, pointer, stream);
}

static CUresult launches(void)
{
    CUlaunchConfig config = {.gridDimX = 2,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = 32,
                             .blockDimY = 1,
                             .blockDimZ = 1,
                             .hStream = stream};
    CUresult result = DO(cuLaunchKernel, kernel, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL);
    return result ? result : DO(cuLaunchKernelEx, &config, kernel, NULL, NULL);
}

static CUresult copies(void)
{
    static uint8_t buffer[100];
    CUresult result = DO(cuMemcpyHtoD, data, buffer, sizeof buffer);
    if (!result) result = DO(cuMemcpyDtoHAsync, buffer, data, 50, stream);
    if (!result) result = DO(cuMemsetD8, data, 1, 25);
    return result;
}

static CUresult events(void)
{
    CUevent event;
    CUresult result = DO(cuEventCreate, &event, 0);
    if (!result) result = DO(cuEventRecord, event, stream);
    if (!result) result = DO(cuEventSynchronize, event);
    return result ? result : DO(cuEventDestroy, event);
}

static CUresult graphs(void)
{
    CUgraph graph;
    CUgraphExec executable;
    CUresult result = DO(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    if (!result) result = DO(cuLaunchKernel, kernel, 3, 1, 1, 32, 1, 1, 0, stream, NULL, NULL);
    if (!result) result = DO(cuStreamEndCapture, stream, &graph);
    if (!result) result = DO(cuGraphInstantiateWithFlags, &executable, graph, 0);
    if (!result) result = DO(cuGraphLaunch, executable, stream);
    if (!result) result = DO(cuStreamSynchronize, stream);
    if (!result) result = DO(cuGraphExecDestroy, executable);
    return result ? result : DO(cuGraphDestroy, graph);
}

static CUresult arrays(void)
{
    CUDA_ARRAY_DESCRIPTOR shape = {.Width = 10, .Height = 10, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
    CUarray array;
    CUresult result = DO(cuArrayCreate, &array, &shape);
    return result ? result : DO(cuArrayDestroy, array);
}

static CUresult registered_memory(void)
{
    static uint8_t page[4096] __attribute__((aligned(4096)));
    CUresult result = DO(cuMemHostRegister, page, sizeof page, 0);
    return result ? result : DO(cuMemHostUnregister, page);
}

/* The handle is released before the mapping goes: the unmapping ends the memory. */
static CUresult physical_memory(void)
{
    enum { BYTES = 2 << 20 };
    CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                      .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
    CUmemGenericAllocationHandle handle;
    CUdeviceptr range;
    CUresult result = DO(cuMemAddressReserve, &range, BYTES, 0, 0, 0);
    if (!result) result = DO(cuMemCreate, &handle, BYTES, &properties, 0);
    if (!result) result = DO(cuMemMap, range, BYTES, 0, handle, 0);
    if (!result) result = DO(cuMemRelease, handle);
    return result ? result : DO(cuMemUnmap, range, BYTES);
}

static CUresult peer_copies(void)
{
    CUcontext context;
    CUresult result = DO(cuCtxGetCurrent, &context);
    return result ? result : DO(cuMemcpyPeer, data, context, data + 500, context, 200);
}

static void CUDA_CB greet(void *given)
{
    (void)given;
}

static CUresult host_functions(void)
{
    CUresult result = DO(cuLaunchHostFunc, stream, greet, NULL);
    return result ? result : DO(cuStreamSynchronize, stream);
}

static CUresult graph_memory(void)
{
    CUDA_MEM_ALLOC_NODE_PARAMS node = {.poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                                     .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}},
                                       .bytesize = 9000};
    CUgraph graph;
    CUgraphNode made;
    CUgraphExec executable;
    CUresult result = DO(cuGraphCreate, &graph, 0);
    if (!result) result = DO(cuGraphAddMemAllocNode, &made, graph, NULL, 0, &node);
    if (!result) result = DO(cuGraphInstantiateWithFlags, &executable, graph, 0);
    if (!result) result = DO(cuGraphLaunch, executable, stream);
    if (!result) result = DO(cuMemFreeAsync, node.dptr, stream);
    if (!result) result = DO(cuGraphExecDestroy, executable);
    return result ? result : DO(cuGraphDestroy, graph);
}

static CUresult closing(void)
{
    CUresult result = DO(cuCtxSynchronize, );
    if (!result) result = DO(cuStreamDestroy, stream);
    return result ? result : DO(cuModuleUnload, module);
}

int families_run(const struct family_functions *given)
{
    static const struct {
        const char *name;
        CUresult (*run)(void);
    } families[] = {{"opening", opening},
                    {"module", modules},
                    {"device memory", device_memory},
                    {"host memory", host_memory},
                    {"managed memory", managed_memory},
                    {"stream", streams},
                    {"pool memory", pool_memory},
                    {"launch", launches},
                    {"copy", copies},
                    {"event", events},
                    {"graph", graphs},
                    {"array", arrays},
                    {"registered memory", registered_memory},
                    {"physical memory", physical_memory},
                    {"peer copy", peer_copies},
                    {"host function", host_functions},
                    {"graph memory", graph_memory},
                    {"closing", closing}};
    int failed = 0;
#ifdef FAMILIES_LOOKED_UP
    functions = given;
#else
    (void)given;
#endif
    for (unsigned i = 0; i < sizeof families / sizeof *families; i++) {
        CUresult result = families[i].run();
        printf("family %s: %d\n", families[i].name, (int)result);
        failed |= result != CUDA_SUCCESS;
    }
    return failed;
}
