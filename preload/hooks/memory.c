/* Memory: sizes of arrays, failed allocations. */
#include "preload/hooks/bodies.h"
#include "preload/hooks/extent.h"

static uint64_t hook_array_bytes(const CUDA_ARRAY_DESCRIPTOR *shape)
{
    return shape
               ? hook_array_size(shape->Format, shape->NumChannels, shape->Width, shape->Height, 0, false, 1)
               : 0;
}

static uint64_t hook_array3d_bytes(const CUDA_ARRAY3D_DESCRIPTOR *shape, unsigned levels)
{
    if (!shape) return 0;
    return hook_array_size(shape->Format, shape->NumChannels, shape->Width, shape->Height, shape->Depth,
                           shape->Flags & CUDA_ARRAY3D_LAYERED, levels);
}

HOT void hook_alloc_done(struct record_call *call, CUresult result, enum cap_memory_kind kind,
                         uint64_t address, uint64_t bytes, uint32_t stream, uint64_t owner)
{
    device_touch();
    if (kind == CAP_MEMORY_POOL) device_uses_pool(call->device);
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
