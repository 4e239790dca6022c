/* Memory: sizes of arrays, failed allocations. */
#include "preload/hooks/bodies.h"

static uint64_t element_bytes(CUarray_format format, unsigned channels)
{
    switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
        return channels;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
        return 2u * channels;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
        return 4u * channels;
    default:
        return 0; /* block-compressed and planar formats: not known here */
    }
}

static uint64_t or_one(uint64_t extent)
{
    return extent ? extent : 1;
}

static uint64_t hook_array_bytes(const CUDA_ARRAY_DESCRIPTOR *shape)
{
    return shape ? shape->Width * or_one(shape->Height) * element_bytes(shape->Format, shape->NumChannels)
                 : 0;
}

/* All levels, each half as large in every direction. */
static uint64_t hook_array3d_bytes(const CUDA_ARRAY3D_DESCRIPTOR *shape, unsigned levels)
{
    if (!shape) return 0;
    bool layered =
        shape->Flags & CUDA_ARRAY3D_LAYERED; /* then the depth counts layers, which do not shrink */
    uint64_t elements = 0, width = shape->Width, height = or_one(shape->Height), depth = or_one(shape->Depth);
    for (unsigned level = 0; level < levels && level < 64; level++) {
        elements += width * height * depth;
        width = or_one(width / 2);
        height = or_one(height / 2);
        if (!layered) depth = or_one(depth / 2);
    }
    return elements * element_bytes(shape->Format, shape->NumChannels);
}

void hook_alloc_done(struct record_call *call, CUresult result, enum cap_memory_kind kind, uint64_t address,
                     uint64_t bytes, uint32_t stream, uint64_t owner)
{
    if (call->captured) { /* an allocating node: each launch of the graph is to allocate */
        record_op(call, (int)result, stream, bytes);
        return;
    }
    if (result != CUDA_SUCCESS) hook_sample(call);
    record_alloc(call, (int)result, kind, address, bytes, stream, owner);
}

#define HOOK_FAMILY "preload/hooks/memory.def"
#define HOOK(...)   HOOK_WRAPPER(__VA_ARGS__)
#include "preload/hooks/all.def"
