/* Physical memory: references to each handle, of which the last one released is the end. */
#include "preload/hooks/bodies.h"

#include <sched.h>

/* Handle: references to it. Imported ones, whose bytes are another process's, are not here. */
static struct handle_map references = {.lock = ATOMIC_FLAG_INIT};

/* Adds to the references of a handle that is ours; true when none is left. */
static bool refer(uint64_t handle, int more)
{
    static atomic_flag lock = ATOMIC_FLAG_INIT;
    while (atomic_flag_test_and_set_explicit(&lock, memory_order_acquire))
        sched_yield();
    uint64_t now = handle_get(&references, handle);
    if (now) handle_put(&references, handle, now + (uint64_t)(int64_t)more, handle);
    atomic_flag_clear_explicit(&lock, memory_order_release);
    return now && now + (uint64_t)(int64_t)more == 0;
}

static void hook_vmm_retained(uint64_t handle)
{
    refer(handle, 1);
}

#define HOOK_FAMILY "preload/hooks/vmm.def"
#define HOOK(...)   HOOK_WRAPPER(__VA_ARGS__)
#include "preload/hooks/all.def"

static uint8_t device_of(const CUmemAllocationProp *properties)
{
    if (!properties || properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CAP_NO_DEVICE;
    int device = properties->location.id;
    return device >= 0 && device < (int)CAP_NO_DEVICE ? (uint8_t)device : CAP_NO_DEVICE;
}

CUresult hook_cuMemCreate(CUmemGenericAllocationHandle *handle, size_t bytes,
                          const CUmemAllocationProp *properties, unsigned long long flags)
{
    struct record_call call;
    bool recorded = record_enter(&call, hook_api(HOOK_cuMemCreate, HOOK_GROUP_ALLOC));
    CUresult result = REAL(cuMemCreate)(handle, bytes, properties, flags);
    uint64_t made = result == CUDA_SUCCESS ? *handle : 0;
    if (made) handle_put(&references, made, 1, made);
    if (!recorded) return result;
    call.device = device_of(properties);
    hook_alloc_done(&call, result, CAP_MEMORY_VMM, made, bytes, 0, made);
    return result;
}

CUresult hook_cuMemRelease(CUmemGenericAllocationHandle handle)
{
    struct record_call call;
    bool recorded = record_enter(&call, hook_api(HOOK_cuMemRelease, HOOK_GROUP_FREE));
    bool ends = refer(handle, -1);
    struct record_storage freed;
    if (recorded && ends) record_free_begin(&call, handle, &freed);
    CUresult result = REAL(cuMemRelease)(handle);
    if (result != CUDA_SUCCESS && ends) handle_put(&references, handle, 1, handle);
    if (!recorded) return result;
    if (ends)
        record_free(&call, (int)result, &freed, 0);
    else
        record_op(&call, (int)result, 0, 0);
    return result;
}
