/* Arrays, mipmapped arrays and IPC memory of the stand-in runtime. */
#include <string.h>

#include "tests/sim/runtime/runtime.h"

/* The driver's words for a channel description: one format, as many channels as have bits. */
static CUresult describe(const struct cudaChannelFormatDesc *c, struct cudaExtent e, unsigned flags,
                         CUDA_ARRAY3D_DESCRIPTOR *out)
{
    if (!c) return CUDA_ERROR_INVALID_VALUE;
    static const struct {
        int bits;
        enum cudaChannelFormatKind kind;
        CUarray_format format;
    } formats[] = {{8, cudaChannelFormatKindUnsigned, CU_AD_FORMAT_UNSIGNED_INT8},
                   {16, cudaChannelFormatKindUnsigned, CU_AD_FORMAT_UNSIGNED_INT16},
                   {32, cudaChannelFormatKindUnsigned, CU_AD_FORMAT_UNSIGNED_INT32},
                   {8, cudaChannelFormatKindSigned, CU_AD_FORMAT_SIGNED_INT8},
                   {16, cudaChannelFormatKindSigned, CU_AD_FORMAT_SIGNED_INT16},
                   {32, cudaChannelFormatKindSigned, CU_AD_FORMAT_SIGNED_INT32},
                   {16, cudaChannelFormatKindFloat, CU_AD_FORMAT_HALF},
                   {32, cudaChannelFormatKindFloat, CU_AD_FORMAT_FLOAT}};
    *out = (CUDA_ARRAY3D_DESCRIPTOR){.Width = e.width, .Height = e.height, .Depth = e.depth, .Flags = flags};
    out->NumChannels = (unsigned)((c->x != 0) + (c->y != 0) + (c->z != 0) + (c->w != 0));
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (formats[i].bits == c->x && formats[i].kind == c->f) {
            out->Format = formats[i].format;
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_INVALID_VALUE;
}

static CUresult create(cudaArray_t *out, const struct cudaChannelFormatDesc *c, struct cudaExtent e,
                       unsigned flags)
{
    CUDA_ARRAY3D_DESCRIPTOR d;
    CUresult r = describe(c, e, flags, &d);
    return r ? r : rt.cuArray3DCreate((CUarray *)out, &d);
}
RT(cudaMallocArray,
   (cudaArray_t * out, const struct cudaChannelFormatDesc *c, size_t width, size_t height, unsigned flags),
   create(out, c, (struct cudaExtent){.width = width, .height = height}, flags))
RT(cudaMalloc3DArray,
   (cudaArray_t * out, const struct cudaChannelFormatDesc *c, struct cudaExtent extent, unsigned flags),
   create(out, c, extent, flags))
RT(cudaFreeArray, (cudaArray_t array), array ? rt.cuArrayDestroy((CUarray)array) : CUDA_SUCCESS)

static CUresult create_mipmap(cudaMipmappedArray_t *out, const struct cudaChannelFormatDesc *c,
                              struct cudaExtent e, unsigned levels, unsigned flags)
{
    CUDA_ARRAY3D_DESCRIPTOR d;
    CUresult r = describe(c, e, flags, &d);
    return r ? r : rt.cuMipmappedArrayCreate((CUmipmappedArray *)out, &d, levels);
}
RT(cudaMallocMipmappedArray,
   (cudaMipmappedArray_t * out, const struct cudaChannelFormatDesc *c, struct cudaExtent extent,
    unsigned levels, unsigned flags),
   create_mipmap(out, c, extent, levels, flags))
RT(cudaGetMipmappedArrayLevel, (cudaArray_t * out, cudaMipmappedArray_const_t mipmap, unsigned level),
   rt.cuMipmappedArrayGetLevel((CUarray *)out, (CUmipmappedArray)(uintptr_t)mipmap, level))
RT(cudaFreeMipmappedArray, (cudaMipmappedArray_t mipmap),
   mipmap ? rt.cuMipmappedArrayDestroy((CUmipmappedArray)mipmap) : CUDA_SUCCESS)

/* ---- copies with one array ----------------------------------------------------------------------------- */

static CUmemorytype plain_side(enum cudaMemcpyKind kind, bool dst)
{
    if (kind == cudaMemcpyDefault) return CU_MEMORYTYPE_UNIFIED;
    enum cudaMemcpyKind host = dst ? cudaMemcpyDeviceToHost : cudaMemcpyHostToDevice;
    return kind == host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
}

static CUDA_MEMCPY2D to_array(cudaArray_t dst, size_t x, size_t y, const void *src, size_t pitch,
                              size_t width, size_t height, enum cudaMemcpyKind kind)
{
    return (CUDA_MEMCPY2D){.srcMemoryType = plain_side(kind, false),
                           .srcHost = src,
                           .srcDevice = RT_PTR(src),
                           .srcPitch = pitch,
                           .dstXInBytes = x,
                           .dstY = y,
                           .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                           .dstArray = (CUarray)dst,
                           .WidthInBytes = width,
                           .Height = height};
}

static CUDA_MEMCPY2D from_array(void *dst, size_t pitch, cudaArray_const_t src, size_t x, size_t y,
                                size_t width, size_t height, enum cudaMemcpyKind kind)
{
    return (CUDA_MEMCPY2D){.srcXInBytes = x,
                           .srcY = y,
                           .srcMemoryType = CU_MEMORYTYPE_ARRAY,
                           .srcArray = (CUarray)(uintptr_t)src,
                           .dstMemoryType = plain_side(kind, true),
                           .dstHost = dst,
                           .dstDevice = RT_PTR(dst),
                           .dstPitch = pitch,
                           .WidthInBytes = width,
                           .Height = height};
}

static CUresult copy(int per, CUDA_MEMCPY2D c)
{
    return rt.cuMemcpy2DUnaligned[per](&c);
}
static CUresult copy_async(int per, CUDA_MEMCPY2D c, cudaStream_t s)
{
    return rt.cuMemcpy2DAsync[per](&c, (CUstream)s);
}

#define TO_PARAMS                                                                                            \
    cudaArray_t dst, size_t x, size_t y, const void *src, size_t pitch, size_t width, size_t height,         \
        enum cudaMemcpyKind kind
#define FROM_PARAMS                                                                                          \
    void *dst, size_t pitch, cudaArray_const_t src, size_t x, size_t y, size_t width, size_t height,         \
        enum cudaMemcpyKind kind
RT_PAIR(cudaMemcpy2DToArray, _ptds, (TO_PARAMS),
        copy(per, to_array(dst, x, y, src, pitch, width, height, kind)))
RT_PAIR(cudaMemcpy2DFromArray, _ptds, (FROM_PARAMS),
        copy(per, from_array(dst, pitch, src, x, y, width, height, kind)))
RT_PAIR(cudaMemcpy2DToArrayAsync, _ptsz, (TO_PARAMS, cudaStream_t stream),
        copy_async(per, to_array(dst, x, y, src, pitch, width, height, kind), stream))
RT_PAIR(cudaMemcpy2DFromArrayAsync, _ptsz, (FROM_PARAMS, cudaStream_t stream),
        copy_async(per, from_array(dst, pitch, src, x, y, width, height, kind), stream))

/* ---- memory of other processes ------------------------------------------------------------------------- */

RT(cudaIpcGetMemHandle, (cudaIpcMemHandle_t * out, void *p),
   rt.cuIpcGetMemHandle((CUipcMemHandle *)out, RT_PTR(p)))

static CUresult open_handle(void **out, cudaIpcMemHandle_t handle, unsigned flags)
{
    CUipcMemHandle h;
    memcpy(&h, &handle, sizeof h);
    return rt.cuIpcOpenMemHandle((CUdeviceptr *)out, h, flags);
}
RT(cudaIpcOpenMemHandle, (void **out, cudaIpcMemHandle_t handle, unsigned flags),
   open_handle(out, handle, flags))
RT(cudaIpcCloseMemHandle, (void *p), rt.cuIpcCloseMemHandle(RT_PTR(p)))
