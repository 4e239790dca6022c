/* A driver that does nothing, under the driver's SONAME, for tests of look-ups and hooks: it counts calls,
 * and has what tests of look-ups need and a well-behaved driver lacks: one function under two symbols, a
 * version of a known function that it does not export, look-ups that are refused. It never does what CUDA
 * does; see tests/sim for that. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "preload/hooks/cuda.h"

#define EXPORT __attribute__((visibility("default")))

static CUdeviceptr next = 0x10000000;

EXPORT CUresult cuInit(unsigned flags)
{
    (void)flags;
    return 0;
}
EXPORT CUresult cuDriverGetVersion(int *version)
{
    *version = 13000;
    return 0;
}
EXPORT CUresult cuDeviceGetName(char *name, int length, CUdevice device)
{
    snprintf(name, (size_t)length, "Nothing %d", device);
    return 0;
}
EXPORT CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
    (void)device;
    *bytes = 5000;
    return 0;
}
EXPORT CUresult cuCtxGetCurrent(CUcontext *context)
{
    *context = (CUcontext)(uintptr_t)0xc0de0;
    return 0;
}
EXPORT CUresult cuCtxGetDevice(CUdevice *device)
{
    *device = 3;
    return 0;
}
EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes)
{
    if (bytes > 1u << 30) return CUDA_ERROR_OUT_OF_MEMORY;
    *address = next;
    next += bytes + 256;
    return 0;
}
EXPORT CUresult cuMemFree_v2(CUdeviceptr address)
{
    return address >= next ? CUDA_ERROR_INVALID_VALUE : 0;
}
EXPORT CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
    *free_bytes = 1000;
    *total = 5000;
    return 0;
}
/* One function at a time, always at the same handle: as a driver does that gives a handle out again after the
 * module is gone. OLD: of the time before drivers told names. */
static const char *loaded = "";
EXPORT CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    (void)module;
    loaded = name;
    *function = (CUfunction)(uintptr_t)0x7000;
    return 0;
}
EXPORT CUresult cuModuleUnload(CUmodule module)
{
    (void)module;
    return 0;
}
#ifndef OLD
EXPORT CUresult cuFuncGetName(const char **name, CUfunction function)
{
    *name = function == (CUfunction)(uintptr_t)0x7000 ? loaded : "_Z6kernelPf";
    return 0;
}
#endif
#define LAUNCH(name)                                                                                         \
    EXPORT CUresult name(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,      \
                         unsigned bz, unsigned shared, CUstream stream, void **parameters, void **extra)     \
    {                                                                                                        \
        (void)f, (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared, (void)stream;     \
        (void)parameters, (void)extra;                                                                       \
        return 0;                                                                                            \
    }
LAUNCH(cuLaunchKernel)
LAUNCH(cuLaunchKernel_ptsz)

static CUresult copied(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    (void)to, (void)from, (void)bytes, (void)stream;
    return 0;
}
/* One function under two symbols. */
EXPORT CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
    __attribute__((alias("copied")));
EXPORT CUresult cuMemcpyAsync_ptsz(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
    __attribute__((alias("copied")));
/* A version that no symbol leads to. */
static CUresult alloc_from_the_future(CUdeviceptr *address, size_t bytes)
{
    return cuMemAlloc_v2(address, bytes);
}

/* By C names of their own: the headers of CUDA 11.8 and 12 declare these differently. */
EXPORT CUresult look_up_v1(const char *, void **, int, cuuint64_t) __asm__("cuGetProcAddress");
EXPORT CUresult look_up_v2(const char *, void **, int, cuuint64_t, int *) __asm__("cuGetProcAddress_v2");

static CUresult look_up(const char *symbol, void **function, int version, cuuint64_t flags)
{
    static const struct {
        const char *name;
        int version, per_thread;
        void *function;
    } known[] = {
        {"cuInit", 2000, 0, (void *)cuInit},
        {"cuMemAlloc", 3020, 0, (void *)cuMemAlloc_v2},
        {"cuMemAlloc", 99000, 0, (void *)alloc_from_the_future},
        {"cuMemFree", 3020, 0, (void *)cuMemFree_v2},
        {"cuLaunchKernel", 4000, 0, (void *)cuLaunchKernel},
        {"cuLaunchKernel", 7000, 1, (void *)cuLaunchKernel_ptsz},
        {"cuMemcpyAsync", 4000, 0, (void *)cuMemcpyAsync},
        {"cuMemcpyAsync", 7000, 1, (void *)cuMemcpyAsync_ptsz},
        {"cuGetProcAddress", 11030, 0, (void *)look_up_v1},
        {"cuGetProcAddress", 12000, 0, (void *)look_up_v2},
    };
    *function = NULL;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(known[i].name, symbol) && version >= known[i].version &&
            known[i].per_thread == ((flags & 2) != 0))
            *function = known[i].function;
    return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
CUresult look_up_v1(const char *symbol, void **function, int version, cuuint64_t flags)
{
    void *found;
    CUresult result = look_up(symbol, &found, version, flags);
    if (!result) *function = found;
    return result;
}
CUresult look_up_v2(const char *symbol, void **function, int version, cuuint64_t flags, int *status)
{
    void *found;
    CUresult result = look_up(symbol, &found, version, flags);
    if (!result) *function = found;
    if (status) *status = result ? 1 : 0;
    return CUDA_SUCCESS;
}
