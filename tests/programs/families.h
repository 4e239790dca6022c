/* One call or more of every API family, through functions reached in one of the ways in which programs reach
 * the driver. */
#ifndef CGTRACE_TESTS_PROGRAMS_FAMILIES_H
#define CGTRACE_TESTS_PROGRAMS_FAMILIES_H

#include <cuda.h>

/* F(name without version, "exported symbol", "name to ask cuGetProcAddress for", version to ask with) */
#define FAMILY_FUNCTIONS(F)                                                                                  \
    F(cuInit, "cuInit", "cuInit", 2000)                                                                      \
    F(cuDeviceGet, "cuDeviceGet", "cuDeviceGet", 2000)                                                       \
    F(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRetain", 7000)                \
    F(cuCtxSetCurrent, "cuCtxSetCurrent", "cuCtxSetCurrent", 4000)                                           \
    F(cuCtxSynchronize, "cuCtxSynchronize", "cuCtxSynchronize", 2000)                                        \
    F(cuModuleLoadData, "cuModuleLoadData", "cuModuleLoadData", 2000)                                        \
    F(cuModuleGetFunction, "cuModuleGetFunction", "cuModuleGetFunction", 2000)                               \
    F(cuModuleUnload, "cuModuleUnload", "cuModuleUnload", 2000)                                              \
    F(cuMemAlloc, "cuMemAlloc_v2", "cuMemAlloc", 3020)                                                       \
    F(cuMemFree, "cuMemFree_v2", "cuMemFree", 3020)                                                          \
    F(cuMemHostAlloc, "cuMemHostAlloc", "cuMemHostAlloc", 2020)                                              \
    F(cuMemFreeHost, "cuMemFreeHost", "cuMemFreeHost", 2000)                                                 \
    F(cuMemAllocManaged, "cuMemAllocManaged", "cuMemAllocManaged", 6000)                                     \
    F(cuMemAllocAsync, "cuMemAllocAsync", "cuMemAllocAsync", 11020)                                          \
    F(cuMemFreeAsync, "cuMemFreeAsync", "cuMemFreeAsync", 11020)                                             \
    F(cuLaunchKernel, "cuLaunchKernel", "cuLaunchKernel", 4000)                                              \
    F(cuLaunchKernelEx, "cuLaunchKernelEx", "cuLaunchKernelEx", 11060)                                       \
    F(cuMemcpyHtoD, "cuMemcpyHtoD_v2", "cuMemcpyHtoD", 3020)                                                 \
    F(cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2", "cuMemcpyDtoHAsync", 3020)                                  \
    F(cuMemsetD8, "cuMemsetD8_v2", "cuMemsetD8", 3020)                                                       \
    F(cuStreamCreate, "cuStreamCreate", "cuStreamCreate", 2000)                                              \
    F(cuStreamSynchronize, "cuStreamSynchronize", "cuStreamSynchronize", 2000)                               \
    F(cuStreamDestroy, "cuStreamDestroy_v2", "cuStreamDestroy", 4000)                                        \
    F(cuEventCreate, "cuEventCreate", "cuEventCreate", 2000)                                                 \
    F(cuEventRecord, "cuEventRecord", "cuEventRecord", 2000)                                                 \
    F(cuEventSynchronize, "cuEventSynchronize", "cuEventSynchronize", 2000)                                  \
    F(cuEventDestroy, "cuEventDestroy_v2", "cuEventDestroy", 4000)                                           \
    F(cuStreamBeginCapture, "cuStreamBeginCapture_v2", "cuStreamBeginCapture", 10010)                        \
    F(cuStreamEndCapture, "cuStreamEndCapture", "cuStreamEndCapture", 10000)                                 \
    F(cuGraphInstantiateWithFlags, "cuGraphInstantiateWithFlags", "cuGraphInstantiateWithFlags", 11040)      \
    F(cuGraphLaunch, "cuGraphLaunch", "cuGraphLaunch", 10000)                                                \
    F(cuGraphExecDestroy, "cuGraphExecDestroy", "cuGraphExecDestroy", 10000)                                 \
    F(cuArrayCreate, "cuArrayCreate_v2", "cuArrayCreate", 3020)                                              \
    F(cuArrayDestroy, "cuArrayDestroy", "cuArrayDestroy", 2000)                                              \
    F(cuMemHostRegister, "cuMemHostRegister_v2", "cuMemHostRegister", 6050)                                  \
    F(cuMemHostUnregister, "cuMemHostUnregister", "cuMemHostUnregister", 4000)                               \
    F(cuMemCreate, "cuMemCreate", "cuMemCreate", 10020)                                                      \
    F(cuMemRelease, "cuMemRelease", "cuMemRelease", 10020)                                                   \
    F(cuMemAddressReserve, "cuMemAddressReserve", "cuMemAddressReserve", 10020)                              \
    F(cuMemMap, "cuMemMap", "cuMemMap", 10020)                                                               \
    F(cuMemUnmap, "cuMemUnmap", "cuMemUnmap", 10020)                                                         \
    F(cuCtxGetCurrent, "cuCtxGetCurrent", "cuCtxGetCurrent", 4000)                                           \
    F(cuMemcpyPeer, "cuMemcpyPeer", "cuMemcpyPeer", 4000)                                                    \
    F(cuLaunchHostFunc, "cuLaunchHostFunc", "cuLaunchHostFunc", 10000)                                       \
    F(cuGraphCreate, "cuGraphCreate", "cuGraphCreate", 10000)                                                \
    F(cuGraphAddMemAllocNode, "cuGraphAddMemAllocNode", "cuGraphAddMemAllocNode", 11040)                     \
    F(cuGraphDestroy, "cuGraphDestroy", "cuGraphDestroy", 10000)

struct family_functions {
#define FAMILY_MEMBER(name, symbol, plain, version) __typeof__(&name) name##_;
    FAMILY_FUNCTIONS(FAMILY_MEMBER)
#undef FAMILY_MEMBER
};

/* Prints one line "family NAME: RESULT" for each family; NULL: calls the functions by their linked names. */
int families_run(const struct family_functions *functions);

#endif
