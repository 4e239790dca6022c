/* Copies of boxes: 2D, 3D, between peers, to and from arrays. */
#include "tests/sim/copy.h"

/* One side of a box copy, whatever structure it came in. */
struct side {
    enum sim_side kind;
    uint64_t address;
    const struct sim_array *array;
    size_t x, y, z, pitch, height;
};

static CUresult side(struct side *s, CUmemorytype type, const void *host, CUdeviceptr device, CUarray array)
{
    s->array = NULL;
    switch (type) {
    case CU_MEMORYTYPE_HOST:
        s->kind = SIM_HOST;
        s->address = (uint64_t)(uintptr_t)host;
        return CUDA_SUCCESS;
    case CU_MEMORYTYPE_DEVICE:
        s->kind = SIM_DEVICE;
        s->address = device;
        return CUDA_SUCCESS;
    case CU_MEMORYTYPE_UNIFIED:
        s->kind = sim_side_of(SIM_ANY, device);
        s->address = device;
        return CUDA_SUCCESS;
    case CU_MEMORYTYPE_ARRAY:
        s->kind = SIM_ARRAY_SIDE;
        s->array = (const struct sim_array *)array;
        if (!sim_is(s->array, SIM_ARRAY)) return CUDA_ERROR_INVALID_HANDLE;
        s->address = (uint64_t)(uintptr_t)s->array->data;
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

/* Completes pitch and height of a side, says where its first byte is, checks that the whole box lies inside.
 */
static CUresult place(struct side *s, size_t width, size_t height, size_t depth, uint64_t *first,
                      size_t *slice)
{
    if (s->array) {
        s->pitch = s->array->row;
        *slice = s->array->slice;
        if (s->x + width > s->array->row || (s->y + height) * s->array->row > s->array->slice ||
            s->z + depth > (s->array->desc.Depth ? s->array->desc.Depth : 1))
            return CUDA_ERROR_INVALID_VALUE;
    } else {
        if (!s->pitch) s->pitch = s->x + width;
        *slice = s->pitch * (s->height ? s->height : s->y + height);
        if (s->pitch < s->x + width || (depth > 1 && s->height && s->height < s->y + height))
            return CUDA_ERROR_INVALID_VALUE;
    }
    *first = s->address + s->z * *slice + s->y * s->pitch + s->x;
    if (s->array || !width || !height || !depth) return CUDA_SUCCESS;
    size_t extent = (depth - 1) * *slice + (height - 1) * s->pitch + width;
    if (!s->address) return CUDA_ERROR_INVALID_VALUE;
    return s->kind == SIM_DEVICE || sim_map_find(*first) ? sim_check_range(*first, extent) : CUDA_SUCCESS;
}

/* Places both sides and fills in the work; also what the ledger says of a copy that is refused. */
static CUresult box_op(struct side *dst, struct side *src, size_t width, size_t height, size_t depth,
                       bool peer, struct sim_op *op)
{
    struct sim_copy b = {.width = width, .height = height, .depth = depth};
    uint64_t to = 0, from = 0;
    CUresult r = place(dst, width, height, depth, &to, &b.dst_slice);
    if (!r) r = place(src, width, height, depth, &from, &b.src_slice);
    b.dst = (uint8_t *)(uintptr_t)to;
    b.src = (const uint8_t *)(uintptr_t)from;
    b.dst_pitch = dst->pitch;
    b.src_pitch = src->pitch;
    sim_copy_op(op, &b, peer ? SIM_PEER : dst->kind, src->kind, width * height * depth);
    return r;
}

/* Ends the call; `r` is what was found wrong before. */
static CUresult box(struct sim_call *call, CUresult r, struct side *dst, struct side *src, size_t width,
                    size_t height, size_t depth, bool peer, CUstream stream, bool wait)
{
    struct sim_op op = {0};
    CUresult placed = box_op(dst, src, width, height, depth, peer, &op);
    return sim_copy_end(call, r ? r : placed, &op, stream, wait);
}

static CUresult begin(struct sim_call *call, const void *copy, bool wait)
{
    CUresult r = sim_begin(call, wait ? SIM_NEED_CONTEXT | SIM_NEED_UNCAPTURED : SIM_NEED_CONTEXT);
    return !r && !copy ? CUDA_ERROR_INVALID_VALUE : r;
}

static CUresult copy_2d(struct sim_call *call, const CUDA_MEMCPY2D *c, CUstream stream, bool wait)
{
    CUresult r = begin(call, c, wait);
    if (!c) return sim_end(call, r, NULL);
    struct side dst = {.x = c->dstXInBytes, .y = c->dstY, .pitch = c->dstPitch};
    struct side src = {.x = c->srcXInBytes, .y = c->srcY, .pitch = c->srcPitch};
    if (!r) r = side(&dst, c->dstMemoryType, c->dstHost, c->dstDevice, c->dstArray);
    if (!r) r = side(&src, c->srcMemoryType, c->srcHost, c->srcDevice, c->srcArray);
    return box(call, r, &dst, &src, c->WidthInBytes, c->Height, 1, false, stream, wait);
}
SIM_PAIR(cuMemcpy2D_v2, _ptds, (const CUDA_MEMCPY2D *copy), copy_2d, copy, NULL, true)
SIM_PAIR(cuMemcpy2DUnaligned_v2, _ptds, (const CUDA_MEMCPY2D *copy), copy_2d, copy, NULL, true)
SIM_PAIR(cuMemcpy2DAsync_v2, _ptsz, (const CUDA_MEMCPY2D *copy, CUstream stream), copy_2d, copy, stream,
         false)

CUresult sim_copy_3d(const CUDA_MEMCPY3D *c, struct sim_op *op)
{
    struct side dst = {
        .x = c->dstXInBytes, .y = c->dstY, .z = c->dstZ, .pitch = c->dstPitch, .height = c->dstHeight};
    struct side src = {
        .x = c->srcXInBytes, .y = c->srcY, .z = c->srcZ, .pitch = c->srcPitch, .height = c->srcHeight};
    CUresult r = side(&dst, c->dstMemoryType, c->dstHost, c->dstDevice, c->dstArray);
    if (!r) r = side(&src, c->srcMemoryType, c->srcHost, c->srcDevice, c->srcArray);
    CUresult placed = box_op(&dst, &src, c->WidthInBytes, c->Height, c->Depth, false, op);
    return r ? r : placed;
}

static CUresult copy_3d(struct sim_call *call, const CUDA_MEMCPY3D *c, CUstream stream, bool wait)
{
    struct sim_op op = {0};
    CUresult r = begin(call, c, wait);
    if (!c) return sim_end(call, r, NULL);
    CUresult made = sim_copy_3d(c, &op);
    return sim_copy_end(call, r ? r : made, &op, stream, wait);
}
SIM_PAIR(cuMemcpy3D_v2, _ptds, (const CUDA_MEMCPY3D *copy), copy_3d, copy, NULL, true)
SIM_PAIR(cuMemcpy3DAsync_v2, _ptsz, (const CUDA_MEMCPY3D *copy, CUstream stream), copy_3d, copy, stream,
         false)

static CUresult copy_peer(struct sim_call *call, const CUDA_MEMCPY3D_PEER *c, CUstream stream, bool wait)
{
    CUresult r = begin(call, c, wait);
    if (!c) return sim_end(call, r, NULL);
    struct side dst = {
        .x = c->dstXInBytes, .y = c->dstY, .z = c->dstZ, .pitch = c->dstPitch, .height = c->dstHeight};
    struct side src = {
        .x = c->srcXInBytes, .y = c->srcY, .z = c->srcZ, .pitch = c->srcPitch, .height = c->srcHeight};
    if (!r) r = side(&dst, c->dstMemoryType, c->dstHost, c->dstDevice, c->dstArray);
    if (!r) r = side(&src, c->srcMemoryType, c->srcHost, c->srcDevice, c->srcArray);
    return box(call, r, &dst, &src, c->WidthInBytes, c->Height, c->Depth, true, stream, wait);
}
SIM_PAIR(cuMemcpy3DPeer, _ptds, (const CUDA_MEMCPY3D_PEER *copy), copy_peer, copy, NULL, false)
SIM_PAIR(cuMemcpy3DPeerAsync, _ptsz, (const CUDA_MEMCPY3D_PEER *copy, CUstream stream), copy_peer, copy,
         stream, false)

/* ---- arrays of one dimension --------------------------------------------------------------------------- */

static CUresult copy_array(struct sim_call *call, CUmemorytype dst_type, uint64_t dst, size_t dst_offset,
                           CUmemorytype src_type, uint64_t src, size_t src_offset, size_t bytes,
                           CUstream stream, bool wait)
{
    CUresult r = begin(call, call, wait);
    struct side d = {.x = dst_offset}, s = {.x = src_offset};
    if (!r) r = side(&d, dst_type, (void *)(uintptr_t)dst, dst, (CUarray)(uintptr_t)dst);
    if (!r) r = side(&s, src_type, (void *)(uintptr_t)src, src, (CUarray)(uintptr_t)src);
    return box(call, r, &d, &s, bytes, 1, 1, false, stream, wait);
}

#define A CU_MEMORYTYPE_ARRAY
#define D CU_MEMORYTYPE_DEVICE
#define H CU_MEMORYTYPE_HOST
SIM_PAIR(cuMemcpyDtoA_v2, _ptds, (CUarray dst, size_t offset, CUdeviceptr src, size_t bytes), copy_array, A,
         (uint64_t)(uintptr_t)dst, offset, D, src, 0, bytes, NULL, false)
SIM_PAIR(cuMemcpyAtoD_v2, _ptds, (CUdeviceptr dst, CUarray src, size_t offset, size_t bytes), copy_array, D,
         dst, 0, A, (uint64_t)(uintptr_t)src, offset, bytes, NULL, false)
SIM_PAIR(cuMemcpyHtoA_v2, _ptds, (CUarray dst, size_t offset, const void *src, size_t bytes), copy_array, A,
         (uint64_t)(uintptr_t)dst, offset, H, (uint64_t)(uintptr_t)src, 0, bytes, NULL, true)
SIM_PAIR(cuMemcpyAtoH_v2, _ptds, (void *dst, CUarray src, size_t offset, size_t bytes), copy_array, H,
         (uint64_t)(uintptr_t)dst, 0, A, (uint64_t)(uintptr_t)src, offset, bytes, NULL, true)
SIM_PAIR(cuMemcpyAtoA_v2, _ptds,
         (CUarray dst, size_t dst_offset, CUarray src, size_t src_offset, size_t bytes), copy_array, A,
         (uint64_t)(uintptr_t)dst, dst_offset, A, (uint64_t)(uintptr_t)src, src_offset, bytes, NULL, false)
SIM_PAIR(cuMemcpyHtoAAsync_v2, _ptsz,
         (CUarray dst, size_t offset, const void *src, size_t bytes, CUstream stream), copy_array, A,
         (uint64_t)(uintptr_t)dst, offset, H, (uint64_t)(uintptr_t)src, 0, bytes, stream, false)
SIM_PAIR(cuMemcpyAtoHAsync_v2, _ptsz, (void *dst, CUarray src, size_t offset, size_t bytes, CUstream stream),
         copy_array, H, (uint64_t)(uintptr_t)dst, 0, A, (uint64_t)(uintptr_t)src, offset, bytes, stream,
         false)
