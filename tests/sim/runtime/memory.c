/* Memory, copies and sets of the stand-in runtime. */
#include "tests/sim/runtime/runtime.h"

/* ---- allocation ---------------------------------------------------------------------------------------- */

/* cudaMalloc of no bytes succeeds with a null pointer. */
static CUresult allocate(void **out, size_t bytes)
{
    CUdeviceptr p = 0;
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = bytes ? rt.cuMemAlloc(&p, bytes) : CUDA_SUCCESS;
    if (!r) *out = (void *)(uintptr_t)p;
    return r;
}
RT(cudaMalloc, (void **out, size_t bytes), allocate(out, bytes))
RT(cudaFree, (void *p), p ? rt.cuMemFree(RT_PTR(p)) : CUDA_SUCCESS)

static CUresult managed(void **out, size_t bytes, unsigned flags)
{
    CUdeviceptr p = 0;
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = rt.cuMemAllocManaged(&p, bytes, flags);
    if (!r) *out = (void *)(uintptr_t)p;
    return r;
}
RT(cudaMallocManaged, (void **out, size_t bytes, unsigned flags), managed(out, bytes, flags))

static CUresult pitched(void **out, size_t *pitch, size_t width, size_t height)
{
    CUdeviceptr p = 0;
    if (!out || !pitch) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = rt.cuMemAllocPitch(&p, pitch, width, height, 4);
    if (!r) *out = (void *)(uintptr_t)p;
    return r;
}
RT(cudaMallocPitch, (void **out, size_t *pitch, size_t width, size_t height),
   pitched(out, pitch, width, height))

static CUresult pitched_3d(struct cudaPitchedPtr *out, struct cudaExtent extent)
{
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    *out = (struct cudaPitchedPtr){.xsize = extent.width, .ysize = extent.height};
    return pitched(&out->ptr, &out->pitch, extent.width, extent.height * extent.depth);
}
RT(cudaMalloc3D, (struct cudaPitchedPtr * out, struct cudaExtent extent), pitched_3d(out, extent))

RT(cudaHostAlloc, (void **out, size_t bytes, unsigned flags), rt.cuMemHostAlloc(out, bytes, flags))
RT(cudaMallocHost, (void **out, size_t bytes), rt.cuMemHostAlloc(out, bytes, 0))
RT(cudaFreeHost, (void *p), p ? rt.cuMemFreeHost(p) : CUDA_SUCCESS)
RT(cudaHostRegister, (void *p, size_t bytes, unsigned flags), rt.cuMemHostRegister(p, bytes, flags))
RT(cudaHostUnregister, (void *p), rt.cuMemHostUnregister(p))
RT(cudaHostGetDevicePointer, (void **out, void *p, unsigned flags),
   rt.cuMemHostGetDevicePointer((CUdeviceptr *)out, p, flags))
RT(cudaHostGetFlags, (unsigned *flags, void *p), rt.cuMemHostGetFlags(flags, p))
RT(cudaMemGetInfo, (size_t * free_bytes, size_t *total), rt.cuMemGetInfo(free_bytes, total))

RT_PAIR(cudaMallocAsync, _ptsz, (void **out, size_t bytes, cudaStream_t stream),
        rt.cuMemAllocAsync[per]((CUdeviceptr *)out, bytes, (CUstream)stream))
RT_PAIR(cudaFreeAsync, _ptsz, (void *p, cudaStream_t stream),
        rt.cuMemFreeAsync[per](RT_PTR(p), (CUstream)stream))
RT_PAIR(cudaMallocFromPoolAsync, _ptsz, (void **out, size_t bytes, cudaMemPool_t pool, cudaStream_t stream),
        rt.cuMemAllocFromPoolAsync[per]((CUdeviceptr *)out, bytes, (CUmemoryPool)pool, (CUstream)stream))

RT(cudaDeviceGetDefaultMemPool, (cudaMemPool_t * pool, int device),
   rt.cuDeviceGetDefaultMemPool((CUmemoryPool *)pool, device))
RT(cudaDeviceGetMemPool, (cudaMemPool_t * pool, int device),
   rt.cuDeviceGetMemPool((CUmemoryPool *)pool, device))
RT(cudaDeviceSetMemPool, (int device, cudaMemPool_t pool), rt.cuDeviceSetMemPool(device, (CUmemoryPool)pool))
RT(cudaMemPoolCreate, (cudaMemPool_t * pool, const struct cudaMemPoolProps *props),
   rt.cuMemPoolCreate((CUmemoryPool *)pool, (const CUmemPoolProps *)props))
RT(cudaMemPoolDestroy, (cudaMemPool_t pool), rt.cuMemPoolDestroy((CUmemoryPool)pool))
RT(cudaMemPoolTrimTo, (cudaMemPool_t pool, size_t keep), rt.cuMemPoolTrimTo((CUmemoryPool)pool, keep))
RT(cudaMemPoolGetAttribute, (cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value),
   rt.cuMemPoolGetAttribute((CUmemoryPool)pool, (CUmemPool_attribute)attribute, value))
RT(cudaMemPoolSetAttribute, (cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value),
   rt.cuMemPoolSetAttribute((CUmemoryPool)pool, (CUmemPool_attribute)attribute, value))

static CUresult pointer_attributes(struct cudaPointerAttributes *out, const void *p)
{
    unsigned type = 0, is_managed = 0;
    int device = 0;
    void *host = NULL, *at = NULL;
    CUpointer_attribute what[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                  CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_HOST_POINTER,
                                  CU_POINTER_ATTRIBUTE_DEVICE_POINTER};
    void *values[] = {&type, &is_managed, &device, &host, &at};
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = rt.cuPointerGetAttributes(5, what, values, RT_PTR(p));
    if (r) return r;
    *out = (struct cudaPointerAttributes){.type = is_managed  ? cudaMemoryTypeManaged
                                                  : type == 2 ? cudaMemoryTypeDevice
                                                  : type == 1 ? cudaMemoryTypeHost
                                                              : cudaMemoryTypeUnregistered,
                                          .device = device,
                                          .devicePointer = at,
                                          .hostPointer = type ? host : (void *)(uintptr_t)p};
    return r;
}
RT(cudaPointerGetAttributes, (struct cudaPointerAttributes * out, const void *p), pointer_attributes(out, p))

RT_PAIR(cudaStreamAttachMemAsync, _ptsz, (cudaStream_t stream, void *p, size_t bytes, unsigned flags),
        rt.cuStreamAttachMemAsync[per]((CUstream)stream, RT_PTR(p), bytes, flags))

/* ---- copies -------------------------------------------------------------------------------------------- */

static CUresult copy(int per, void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind)
{
    if (!bytes) return CUDA_SUCCESS;
    switch (kind) {
    case cudaMemcpyHostToDevice:
        return rt.cuMemcpyHtoD[per](RT_PTR(dst), src, bytes);
    case cudaMemcpyDeviceToHost:
        return rt.cuMemcpyDtoH[per](dst, RT_PTR(src), bytes);
    case cudaMemcpyDeviceToDevice:
        return rt.cuMemcpyDtoD[per](RT_PTR(dst), RT_PTR(src), bytes);
    case cudaMemcpyHostToHost:
    case cudaMemcpyDefault:
        return rt.cuMemcpy[per](RT_PTR(dst), RT_PTR(src), bytes);
    }
    return (CUresult)cudaErrorInvalidMemcpyDirection;
}
RT_PAIR(cudaMemcpy, _ptds, (void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind),
        copy(per, dst, src, bytes, kind))

static CUresult copy_async(int per, void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind,
                           cudaStream_t handle)
{
    CUstream stream = (CUstream)handle;
    if (!bytes) return CUDA_SUCCESS;
    switch (kind) {
    case cudaMemcpyHostToDevice:
        return rt.cuMemcpyHtoDAsync[per](RT_PTR(dst), src, bytes, stream);
    case cudaMemcpyDeviceToHost:
        return rt.cuMemcpyDtoHAsync[per](dst, RT_PTR(src), bytes, stream);
    case cudaMemcpyDeviceToDevice:
        return rt.cuMemcpyDtoDAsync[per](RT_PTR(dst), RT_PTR(src), bytes, stream);
    case cudaMemcpyHostToHost:
    case cudaMemcpyDefault:
        return rt.cuMemcpyAsync[per](RT_PTR(dst), RT_PTR(src), bytes, stream);
    }
    return (CUresult)cudaErrorInvalidMemcpyDirection;
}
RT_PAIR(cudaMemcpyAsync, _ptsz,
        (void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream),
        copy_async(per, dst, src, bytes, kind, stream))

static CUresult symbol_address(const void *symbol, size_t offset, size_t bytes, void **out)
{
    CUdeviceptr p;
    size_t size;
    CUresult r = rt_variable(symbol, &p, &size);
    if (!r && (offset > size || bytes > size - offset)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) *out = (void *)(uintptr_t)(p + offset);
    return r;
}

static CUresult to_symbol(int per, const void *symbol, const void *src, size_t bytes, size_t offset,
                          enum cudaMemcpyKind kind)
{
    void *p;
    CUresult r = symbol_address(symbol, offset, bytes, &p);
    return r ? r : copy(per, p, src, bytes, kind);
}
RT_PAIR(cudaMemcpyToSymbol, _ptds,
        (const void *symbol, const void *src, size_t bytes, size_t offset, enum cudaMemcpyKind kind),
        to_symbol(per, symbol, src, bytes, offset, kind))

static CUresult from_symbol(int per, void *dst, const void *symbol, size_t bytes, size_t offset,
                            enum cudaMemcpyKind kind)
{
    void *p;
    CUresult r = symbol_address(symbol, offset, bytes, &p);
    return r ? r : copy(per, dst, p, bytes, kind);
}
RT_PAIR(cudaMemcpyFromSymbol, _ptds,
        (void *dst, const void *symbol, size_t bytes, size_t offset, enum cudaMemcpyKind kind),
        from_symbol(per, dst, symbol, bytes, offset, kind))

static CUresult to_symbol_async(int per, const void *symbol, const void *src, size_t bytes, size_t offset,
                                enum cudaMemcpyKind kind, cudaStream_t stream)
{
    void *p;
    CUresult r = symbol_address(symbol, offset, bytes, &p);
    return r ? r : copy_async(per, p, src, bytes, kind, stream);
}
RT_PAIR(cudaMemcpyToSymbolAsync, _ptsz,
        (const void *symbol, const void *src, size_t bytes, size_t offset, enum cudaMemcpyKind kind,
         cudaStream_t stream),
        to_symbol_async(per, symbol, src, bytes, offset, kind, stream))

static CUresult from_symbol_async(int per, void *dst, const void *symbol, size_t bytes, size_t offset,
                                  enum cudaMemcpyKind kind, cudaStream_t stream)
{
    void *p;
    CUresult r = symbol_address(symbol, offset, bytes, &p);
    return r ? r : copy_async(per, dst, p, bytes, kind, stream);
}
RT_PAIR(cudaMemcpyFromSymbolAsync, _ptsz,
        (void *dst, const void *symbol, size_t bytes, size_t offset, enum cudaMemcpyKind kind,
         cudaStream_t stream),
        from_symbol_async(per, dst, symbol, bytes, offset, kind, stream))

RT(cudaGetSymbolAddress, (void **out, const void *symbol), rt_variable(symbol, (CUdeviceptr *)out, NULL))
RT(cudaGetSymbolSize, (size_t * bytes, const void *symbol), rt_variable(symbol, NULL, bytes))

/* The memory type of a side, by what the direction says of it. */
static CUmemorytype side(enum cudaMemcpyKind kind, bool dst)
{
    if (kind == cudaMemcpyDefault) return CU_MEMORYTYPE_UNIFIED;
    bool device = kind == cudaMemcpyDeviceToDevice ||
                  (dst ? kind == cudaMemcpyHostToDevice : kind == cudaMemcpyDeviceToHost);
    return device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
}

static CUDA_MEMCPY2D rows(void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width,
                          size_t height, enum cudaMemcpyKind kind)
{
    return (CUDA_MEMCPY2D){.srcMemoryType = side(kind, false),
                           .srcHost = src,
                           .srcDevice = RT_PTR(src),
                           .srcPitch = src_pitch,
                           .dstMemoryType = side(kind, true),
                           .dstHost = dst,
                           .dstDevice = RT_PTR(dst),
                           .dstPitch = dst_pitch,
                           .WidthInBytes = width,
                           .Height = height};
}

static CUresult copy_2d(int per, CUDA_MEMCPY2D c)
{
    return rt.cuMemcpy2DUnaligned[per](&c);
}
RT_PAIR(cudaMemcpy2D, _ptds,
        (void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width, size_t height,
         enum cudaMemcpyKind kind),
        copy_2d(per, rows(dst, dst_pitch, src, src_pitch, width, height, kind)))

static CUresult copy_2d_async(int per, CUDA_MEMCPY2D c, cudaStream_t stream)
{
    return rt.cuMemcpy2DAsync[per](&c, (CUstream)stream);
}
RT_PAIR(cudaMemcpy2DAsync, _ptsz,
        (void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width, size_t height,
         enum cudaMemcpyKind kind, cudaStream_t stream),
        copy_2d_async(per, rows(dst, dst_pitch, src, src_pitch, width, height, kind), stream))

/* Bytes of an element of an array: positions and widths are in elements where one takes part. */
static CUresult element(cudaArray_t array, size_t *bytes)
{
    CUDA_ARRAY3D_DESCRIPTOR d;
    CUresult r = rt.cuArray3DGetDescriptor(&d, (CUarray)array);
    if (r) return r;
    switch (d.Format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
        *bytes = d.NumChannels;
        return CUDA_SUCCESS;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
        *bytes = d.NumChannels * 2;
        return CUDA_SUCCESS;
    default:
        *bytes = d.NumChannels * 4;
        return CUDA_SUCCESS;
    }
}

CUresult rt_box(const struct cudaMemcpy3DParms *p, CUDA_MEMCPY3D *out)
{
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    size_t bytes = 1;
    CUresult r = CUDA_SUCCESS;
    if (p->srcArray || p->dstArray) r = element(p->srcArray ? p->srcArray : p->dstArray, &bytes);
    *out = (CUDA_MEMCPY3D){.srcXInBytes = p->srcPos.x * (p->srcArray ? bytes : 1),
                           .srcY = p->srcPos.y,
                           .srcZ = p->srcPos.z,
                           .srcMemoryType = p->srcArray ? CU_MEMORYTYPE_ARRAY : side(p->kind, false),
                           .srcHost = p->srcPtr.ptr,
                           .srcDevice = RT_PTR(p->srcPtr.ptr),
                           .srcArray = (CUarray)p->srcArray,
                           .srcPitch = p->srcPtr.pitch,
                           .srcHeight = p->srcPtr.ysize,
                           .dstXInBytes = p->dstPos.x * (p->dstArray ? bytes : 1),
                           .dstY = p->dstPos.y,
                           .dstZ = p->dstPos.z,
                           .dstMemoryType = p->dstArray ? CU_MEMORYTYPE_ARRAY : side(p->kind, true),
                           .dstHost = p->dstPtr.ptr,
                           .dstDevice = RT_PTR(p->dstPtr.ptr),
                           .dstArray = (CUarray)p->dstArray,
                           .dstPitch = p->dstPtr.pitch,
                           .dstHeight = p->dstPtr.ysize,
                           .WidthInBytes = p->extent.width * bytes,
                           .Height = p->extent.height,
                           .Depth = p->extent.depth};
    return r;
}

static CUresult copy_3d(int per, const struct cudaMemcpy3DParms *p)
{
    CUDA_MEMCPY3D c;
    CUresult r = rt_box(p, &c);
    return r ? r : rt.cuMemcpy3D[per](&c);
}
RT_PAIR(cudaMemcpy3D, _ptds, (const struct cudaMemcpy3DParms *p), copy_3d(per, p))

static CUresult copy_3d_async(int per, const struct cudaMemcpy3DParms *p, cudaStream_t stream)
{
    CUDA_MEMCPY3D c;
    CUresult r = rt_box(p, &c);
    return r ? r : rt.cuMemcpy3DAsync[per](&c, (CUstream)stream);
}
RT_PAIR(cudaMemcpy3DAsync, _ptsz, (const struct cudaMemcpy3DParms *p, cudaStream_t stream),
        copy_3d_async(per, p, stream))

static CUresult copy_peer(void *dst, int dst_device, const void *src, int src_device, size_t bytes,
                          bool async, cudaStream_t stream)
{
    CUcontext to, from;
    CUresult r = rt.cuDevicePrimaryCtxRetain(&to, dst_device);
    if (!r) r = rt.cuDevicePrimaryCtxRetain(&from, src_device);
    if (r) return r;
    return async ? rt.cuMemcpyPeerAsync[0](RT_PTR(dst), to, RT_PTR(src), from, bytes, (CUstream)stream)
                 : rt.cuMemcpyPeer[0](RT_PTR(dst), to, RT_PTR(src), from, bytes);
}
RT(cudaMemcpyPeer, (void *dst, int dst_device, const void *src, int src_device, size_t bytes),
   copy_peer(dst, dst_device, src, src_device, bytes, false, NULL))
RT(cudaMemcpyPeerAsync,
   (void *dst, int dst_device, const void *src, int src_device, size_t bytes, cudaStream_t stream),
   copy_peer(dst, dst_device, src, src_device, bytes, true, stream))

/* ---- sets ---------------------------------------------------------------------------------------------- */

RT_PAIR(cudaMemset, _ptds, (void *dst, int value, size_t bytes),
        bytes ? rt.cuMemsetD8[per](RT_PTR(dst), (unsigned char)value, bytes) : CUDA_SUCCESS)
RT_PAIR(cudaMemsetAsync, _ptsz, (void *dst, int value, size_t bytes, cudaStream_t stream),
        bytes ? rt.cuMemsetD8Async[per](RT_PTR(dst), (unsigned char)value, bytes, (CUstream)stream)
              : CUDA_SUCCESS)
RT_PAIR(cudaMemset2D, _ptds, (void *dst, size_t pitch, int value, size_t width, size_t height),
        rt.cuMemsetD2D8[per](RT_PTR(dst), pitch, (unsigned char)value, width, height))
RT_PAIR(cudaMemset2DAsync, _ptsz,
        (void *dst, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream),
        rt.cuMemsetD2D8Async[per](RT_PTR(dst), pitch, (unsigned char)value, width, height, (CUstream)stream))
