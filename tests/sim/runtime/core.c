/* Finding the driver; devices. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "tests/sim/runtime/runtime.h"

struct rt_driver rt;

typedef CUresult (*get_proc_fn)(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);
static get_proc_fn get_proc;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static CUresult init_result;

/* ---- the driver ---------------------------------------------------------------------------------------- */

static void ask(const char *name, int version, cuuint64_t flags, void *slot)
{
    void *p = NULL;
    if (get_proc(name, &p, version, flags, NULL) == CUDA_SUCCESS && p) memcpy(slot, &p, sizeof p);
}

static void find_driver(void)
{
    void *handle = dlopen("libcuda.so.1", RTLD_NOW);
    if (handle) *(void **)&get_proc = dlsym(handle, "cuGetProcAddress_v2");
    if (!get_proc) {
        init_result = (CUresult)cudaErrorInsufficientDriver;
        return;
    }
#define FN(base, version, symbol) ask(#base, version, 0, &rt.base);
#define PAIR(base, version, per_thread, symbol)                                                              \
    ask(#base, version, 0, &rt.base[0]);                                                                     \
    ask(#base, per_thread, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &rt.base[1]);
#include "tests/sim/runtime/driver.def"
#undef FN
#undef PAIR
    int version = 0;
    if (rt.cuDriverGetVersion) rt.cuDriverGetVersion(&version);
    if (version / 1000 < CUDART_VERSION / 1000)
        init_result = (CUresult)cudaErrorInsufficientDriver;
    else
        init_result = rt.cuInit(0);
}

CUresult rt_init(void)
{
    pthread_once(&once, find_driver);
    return rt_sticky() ? rt_sticky() : init_result;
}

struct rt_thread *rt_thread(void)
{
    static __thread struct rt_thread thread;
    return &thread;
}

static CUresult use_device(int device)
{
    CUcontext context;
    CUresult r = rt.cuDevicePrimaryCtxRetain(&context, device);
    return r ? r : rt.cuCtxSetCurrent(context);
}

CUresult rt_context(void)
{
    CUcontext context = NULL;
    CUresult r = rt_init();
    if (!r) r = rt.cuCtxGetCurrent(&context);
    if (!r && !context) r = use_device(rt_thread()->device);
    return r;
}

/* ---- versions ------------------------------------------------------------------------------------------ */

cudaError_t CUDARTAPI cudaRuntimeGetVersion(int *version)
{
    if (!version) return rt_done(CUDA_ERROR_INVALID_VALUE);
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaDriverGetVersion(int *version)
{
    rt_init();
    if (!version) return rt_done(CUDA_ERROR_INVALID_VALUE);
    *version = 0;
    return rt.cuDriverGetVersion ? rt_done(rt.cuDriverGetVersion(version)) : cudaSuccess;
}

/* ---- entry points for the program ---------------------------------------------------------------------- */

static cudaError_t entry_point(const char *name, void **out, unsigned version, unsigned long long flags,
                               enum cudaDriverEntryPointQueryResult *why, cuuint64_t fallback)
{
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    CUresult r = rt_init();
    if (!r && !out) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        *out = NULL;
        r = get_proc(name, out, (int)version, flags ? (cuuint64_t)flags : fallback, &status);
    }
    if (why) *why = (enum cudaDriverEntryPointQueryResult)status;
    return rt_done(r);
}

#define ENTRY_POINT_FORMS(suffix, fallback)                                                                  \
    cudaError_t CUDARTAPI cudaGetDriverEntryPoint##suffix(                                                   \
        const char *name, void **out, unsigned long long flags, enum cudaDriverEntryPointQueryResult *why);  \
    cudaError_t CUDARTAPI cudaGetDriverEntryPoint##suffix(                                                   \
        const char *name, void **out, unsigned long long flags, enum cudaDriverEntryPointQueryResult *why)   \
    {                                                                                                        \
        return entry_point(name, out, CUDART_VERSION, flags, why, fallback);                                 \
    }                                                                                                        \
    cudaError_t CUDARTAPI cudaGetDriverEntryPointByVersion##suffix(                                          \
        const char *name, void **out, unsigned version, unsigned long long flags,                            \
        enum cudaDriverEntryPointQueryResult *why);                                                          \
    cudaError_t CUDARTAPI cudaGetDriverEntryPointByVersion##suffix(                                          \
        const char *name, void **out, unsigned version, unsigned long long flags,                            \
        enum cudaDriverEntryPointQueryResult *why)                                                           \
    {                                                                                                        \
        return entry_point(name, out, version, flags, why, fallback);                                        \
    }
ENTRY_POINT_FORMS(, CU_GET_PROC_ADDRESS_LEGACY_STREAM)
ENTRY_POINT_FORMS(_ptsz, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)

/* ---- devices ------------------------------------------------------------------------------------------- */

cudaError_t CUDARTAPI cudaGetDeviceCount(int *count)
{
    CUresult r = rt_init();
    return rt_done(r ? r : rt.cuDeviceGetCount(count));
}

cudaError_t CUDARTAPI cudaSetDevice(int device)
{
    CUresult r = rt_init();
    if (!r) r = use_device(device);
    if (!r) rt_thread()->device = device;
    return rt_done(r);
}

cudaError_t CUDARTAPI cudaInitDevice(int device, unsigned device_flags, unsigned flags)
{
    CUcontext context;
    CUresult r = rt_init();
    (void)device_flags;
    if (!r && flags > 1) r = CUDA_ERROR_INVALID_VALUE;
    return rt_done(r ? r : rt.cuDevicePrimaryCtxRetain(&context, device));
}

cudaError_t CUDARTAPI cudaGetDevice(int *device)
{
    CUresult r = rt_init();
    if (!r && !device) r = CUDA_ERROR_INVALID_VALUE;
    if (!r && rt.cuCtxGetDevice(device)) *device = rt_thread()->device;
    return rt_done(r);
}

RT(cudaDeviceSynchronize, (void), rt.cuCtxSynchronize())

cudaError_t CUDARTAPI cudaDeviceReset(void)
{
    CUresult r = rt_init();
    if (!r) r = rt.cuDevicePrimaryCtxReset(rt_thread()->device);
    if (!r) r = rt.cuCtxSetCurrent(NULL);
    return rt_done(r);
}

RT(cudaDeviceGetAttribute, (int *value, enum cudaDeviceAttr attribute, int device),
   rt.cuDeviceGetAttribute(value, (CUdevice_attribute)attribute, device))
RT(cudaDeviceGetPCIBusId, (char *text, int length, int device), rt.cuDeviceGetPCIBusId(text, length, device))
RT(cudaDeviceGetByPCIBusId, (int *device, const char *text), rt.cuDeviceGetByPCIBusId(device, text))
RT(cudaDeviceCanAccessPeer, (int *can, int device, int peer), rt.cuDeviceCanAccessPeer(can, device, peer))
RT(cudaDeviceSetLimit, (enum cudaLimit limit, size_t value), rt.cuCtxSetLimit((CUlimit)limit, value))
RT(cudaDeviceGetLimit, (size_t * value, enum cudaLimit limit), rt.cuCtxGetLimit(value, (CUlimit)limit))
RT(cudaDeviceGetStreamPriorityRange, (int *least, int *greatest),
   rt.cuCtxGetStreamPriorityRange(least, greatest))
RT(cudaSetDeviceFlags, (unsigned flags), rt.cuDevicePrimaryCtxSetFlags(rt_thread()->device, flags))
RT(cudaGetDeviceFlags, (unsigned *flags), rt.cuCtxGetFlags(flags))
RT(cudaProfilerStart, (void), CUDA_SUCCESS)
RT(cudaProfilerStop, (void), CUDA_SUCCESS)

static CUresult peer_access(int device, unsigned flags, bool enable)
{
    CUcontext peer;
    CUresult r = rt.cuDevicePrimaryCtxRetain(&peer, device);
    if (r) return r;
    return enable ? rt.cuCtxEnablePeerAccess(peer, flags) : rt.cuCtxDisablePeerAccess(peer);
}
RT(cudaDeviceEnablePeerAccess, (int peer, unsigned flags), peer_access(peer, flags, true))
RT(cudaDeviceDisablePeerAccess, (int peer), peer_access(peer, 0, false))

static int attribute(CUdevice_attribute a, int device)
{
    int value = 0;
    rt.cuDeviceGetAttribute(&value, a, device);
    return value;
}

static CUresult properties(struct cudaDeviceProp *p, int device)
{
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    memset(p, 0, sizeof *p);
    CUresult r = rt.cuDeviceGetName(p->name, sizeof p->name, device);
    if (!r) r = rt.cuDeviceTotalMem(&p->totalGlobalMem, device);
    if (!r) r = rt.cuDeviceGetUuid((CUuuid *)&p->uuid, device);
    if (r) return r;
    p->sharedMemPerBlock = (size_t)attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, device);
    p->sharedMemPerBlockOptin =
        (size_t)attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, device);
    p->regsPerBlock = attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, device);
    p->warpSize = attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE, device);
    p->memPitch = (size_t)attribute(CU_DEVICE_ATTRIBUTE_MAX_PITCH, device);
    p->maxThreadsPerBlock = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, device);
    for (int i = 0; i < 3; i++) {
        p->maxThreadsDim[i] =
            attribute((CUdevice_attribute)(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X + i), device);
        p->maxGridSize[i] = attribute((CUdevice_attribute)(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X + i), device);
    }
    p->totalConstMem = (size_t)attribute(CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, device);
    p->major = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    p->minor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
    p->multiProcessorCount = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
    p->canMapHostMemory = attribute(CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, device);
    p->concurrentKernels = attribute(CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, device);
    p->pciBusID = attribute(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, device);
    p->pciDeviceID = attribute(CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, device);
    p->asyncEngineCount = attribute(CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, device);
    p->unifiedAddressing = attribute(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, device);
    p->memoryBusWidth = attribute(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, device);
    p->l2CacheSize = attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, device);
    p->maxThreadsPerMultiProcessor = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, device);
    p->streamPrioritiesSupported = attribute(CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, device);
    p->managedMemory = attribute(CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, device);
    p->concurrentManagedAccess = attribute(CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, device);
    p->cooperativeLaunch = attribute(CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, device);
    return CUDA_SUCCESS;
}

/* CUDA 12 renamed the symbol when the structure grew; CUDA 13 took the old name back. */
#if CUDART_VERSION >= 12000 && CUDART_VERSION < 13000
RT(cudaGetDeviceProperties_v2, (struct cudaDeviceProp * p, int device), properties(p, device))
#else
RT(cudaGetDeviceProperties, (struct cudaDeviceProp * p, int device), properties(p, device))
#endif
