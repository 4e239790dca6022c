/* The driver's types. cuda.h renames functions with macros (cuMemAlloc to cuMemAlloc_v2, and so on), while
 * the tables here name the symbols that the driver exports: so every such macro of the header at hand is
 * taken back. The list is made from that header (Makefile: gen/cuda_undef.h).
 *
 * What headers of CUDA 11.8 lack (libraries, kernels, attributes of batches) stands in the tables as void
 * pointers: the same calling sequence, and no conditions. */
#ifndef CGTRACE_PRELOAD_HOOKS_CUDA_H
#define CGTRACE_PRELOAD_HOOKS_CUDA_H

#include <cuda.h>
#include "cuda_undef.h"

/* Of the first forms (v1.def), which the header declares only to the driver itself. */
typedef unsigned int hook_deviceptr_v1;
struct hook_array_v1 {
    unsigned Width, Height;
    CUarray_format Format;
    unsigned NumChannels;
};
struct hook_array3d_v1 {
    unsigned Width, Height, Depth;
    CUarray_format Format;
    unsigned NumChannels, Flags;
};
struct hook_box2d_v1 {
    unsigned srcXInBytes, srcY;
    CUmemorytype srcMemoryType;
    const void *srcHost;
    hook_deviceptr_v1 srcDevice;
    CUarray srcArray;
    unsigned srcPitch, dstXInBytes, dstY;
    CUmemorytype dstMemoryType;
    void *dstHost;
    hook_deviceptr_v1 dstDevice;
    CUarray dstArray;
    unsigned dstPitch, WidthInBytes, Height;
};
struct hook_box3d_v1 {
    unsigned srcXInBytes, srcY, srcZ, srcLOD;
    CUmemorytype srcMemoryType;
    const void *srcHost;
    hook_deviceptr_v1 srcDevice;
    CUarray srcArray;
    void *reserved0;
    unsigned srcPitch, srcHeight, dstXInBytes, dstY, dstZ, dstLOD;
    CUmemorytype dstMemoryType;
    void *dstHost;
    hook_deviceptr_v1 dstDevice;
    CUarray dstArray;
    void *reserved1;
    unsigned dstPitch, dstHeight, WidthInBytes, Height, Depth;
};

#endif
