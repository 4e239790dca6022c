#include "preload/hooks/bodies.h"

#define HOOK_FAMILY "preload/hooks/memory.def"
#define HOOK(...)   HOOK_WRAPPER(__VA_ARGS__)
#include "preload/hooks/all.def"

void hook_alloc_done(struct record_call *call, CUresult result, enum cap_memory_kind kind, uint64_t address,
                     uint64_t bytes, uint32_t stream, uint64_t owner)
{
    if (result != CUDA_SUCCESS) hook_sample(call);
    record_alloc(call, (int)result, kind, address, bytes, stream, owner);
}
