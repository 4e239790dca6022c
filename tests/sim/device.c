/* Devices: initialisation, names, attributes, peers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/internal.h"

/* The driver is torn down by a handler of exit(), before static destructors run. */
static void go(void)
{
    pthread_mutex_lock(&sim.lock);
    sim.gone = true;
    pthread_mutex_unlock(&sim.lock);
}

CUresult CUDAAPI cuInit(unsigned flags)
{
    SIM_CALL(call);
    CUresult r = sim_begin(&call, SIM_NEED_NOTHING);
    if (!r && flags) r = CUDA_ERROR_INVALID_VALUE;
    if (!r && sim.forked) r = CUDA_ERROR_NOT_INITIALIZED;
    if (!r && !sim.device_count) r = CUDA_ERROR_NO_DEVICE;
    if (!r && !sim.initialised) atexit(go);
    if (!r) sim.initialised = true;
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuDriverGetVersion(int *version)
{
    SIM_CALL(call);
    CUresult r = sim_begin(&call, SIM_NEED_NOTHING);
    if (!r && !version) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) *version = sim.driver_version;
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuDeviceGetCount(int *count)
{
    SIM_CALL(call);
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    if (!r && !count) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) *count = sim.device_count;
    return sim_end(&call, r, NULL);
}

static CUresult begin_with_device(struct sim_call *call, CUdevice device, const void *out)
{
    CUresult r = sim_begin(call, SIM_NEED_INIT);
    if (!r && !out) r = CUDA_ERROR_INVALID_VALUE;
    if (!r && (device < 0 || device >= sim.device_count)) r = CUDA_ERROR_INVALID_DEVICE;
    return r;
}

CUresult CUDAAPI cuDeviceGet(CUdevice *device, int ordinal)
{
    SIM_CALL(call);
    CUresult r = begin_with_device(&call, ordinal, device);
    if (!r) *device = ordinal;
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuDeviceGetName(char *name, int length, CUdevice device)
{
    SIM_CALL(call);
    CUresult r = begin_with_device(&call, device, name);
    if (!r && length <= 0) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) snprintf(name, (size_t)length, "Simulated device %d (not a GPU)", device);
    return sim_end(&call, r, NULL);
}

static CUresult uuid(struct sim_call *call, CUuuid *out, CUdevice device)
{
    CUresult r = begin_with_device(call, device, out);
    if (!r) {
        memcpy(out->bytes, "cgtrace-sim-dev", 15);
        out->bytes[15] = (char)device;
    }
    return sim_end(call, r, NULL);
}

CUresult CUDAAPI cuDeviceGetUuid(CUuuid *out, CUdevice device)
{
    SIM_CALL(call);
    return uuid(&call, out, device);
}

CUresult CUDAAPI cuDeviceGetUuid_v2(CUuuid *out, CUdevice device)
{
    SIM_CALL(call);
    return uuid(&call, out, device);
}

CUresult CUDAAPI cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
    SIM_CALL(call);
    CUresult r = begin_with_device(&call, device, bytes);
    if (!r) *bytes = sim.devices[device].total;
    return sim_end(&call, r, NULL);
}

/* Attributes that are not 0. Compute capability 9.0, so that images for current devices are taken. */
static const struct {
    CUdevice_attribute attribute;
    int value;
} attributes[] = {
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 2147483647},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 232448},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 233472},
    {CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 65536},
    {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
    {CU_DEVICE_ATTRIBUTE_MAX_PITCH, 2147483647},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536},
    {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1000000},
    {CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, 512},
    {CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT, 32},
    {CU_DEVICE_ATTRIBUTE_GPU_OVERLAP, 1},
    {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 16},
    {CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1},
    {CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, 1},
    {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 1000000},
    {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 512},
    {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 1 << 20},
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
    {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 3},
    {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
    {CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
    {CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 1},
    {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1},
    {CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 32},
    {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR},
};

CUresult CUDAAPI cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    SIM_CALL(call);
    CUresult r = begin_with_device(&call, device, value);
    if (!r && (attribute <= 0 || attribute >= CU_DEVICE_ATTRIBUTE_MAX)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        *value = 0;
        for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
            if (attributes[i].attribute == attribute) *value = attributes[i].value;
        if (attribute == CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID) *value = device;
    }
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuDeviceComputeCapability(int *major, int *minor, CUdevice device)
{
    SIM_CALL(call);
    CUresult r = begin_with_device(&call, device, major);
    if (!r && !minor) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        *major = 9;
        *minor = 0;
    }
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuDeviceGetPCIBusId(char *text, int length, CUdevice device)
{
    SIM_CALL(call);
    CUresult r = begin_with_device(&call, device, text);
    if (!r && length < 13) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) snprintf(text, (size_t)length, "0000:01:%02x.0", device);
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuDeviceGetByPCIBusId(CUdevice *device, const char *text)
{
    SIM_CALL(call);
    unsigned domain, bus, slot;
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    if (!r && (!device || !text || sscanf(text, "%x:%x:%x", &domain, &bus, &slot) != 3))
        r = CUDA_ERROR_INVALID_VALUE;
    if (!r && (domain != 0 || bus != 1 || slot >= (unsigned)sim.device_count)) r = CUDA_ERROR_INVALID_DEVICE;
    if (!r) *device = (CUdevice)slot;
    return sim_end(&call, r, NULL);
}

/* ---- peers --------------------------------------------------------------------------------------------- */

CUresult CUDAAPI cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer)
{
    SIM_CALL(call);
    CUresult r = begin_with_device(&call, device, can);
    if (!r && (peer < 0 || peer >= sim.device_count)) r = CUDA_ERROR_INVALID_DEVICE;
    if (!r) *can = device != peer;
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuCtxEnablePeerAccess(CUcontext context, unsigned flags)
{
    SIM_CALL(call);
    struct sim_context *peer = (struct sim_context *)context;
    CUresult r = sim_begin(&call, SIM_NEED_CONTEXT);
    if (!r && flags) r = CUDA_ERROR_INVALID_VALUE;
    if (!r && !sim_is(peer, SIM_CONTEXT)) r = CUDA_ERROR_INVALID_CONTEXT;
    if (!r && peer->device == sim_current(&call)->device) r = CUDA_ERROR_INVALID_DEVICE;
    if (!r && sim_current(&call)->peers[peer->device] == peer) r = CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
    if (!r) sim_current(&call)->peers[peer->device] = peer;
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuCtxDisablePeerAccess(CUcontext context)
{
    SIM_CALL(call);
    struct sim_context *peer = (struct sim_context *)context;
    CUresult r = sim_begin(&call, SIM_NEED_CONTEXT);
    if (!r && !sim_is(peer, SIM_CONTEXT)) r = CUDA_ERROR_INVALID_CONTEXT;
    if (!r && sim_current(&call)->peers[peer->device] != peer) r = CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
    if (!r) sim_current(&call)->peers[peer->device] = NULL;
    return sim_end(&call, r, NULL);
}
