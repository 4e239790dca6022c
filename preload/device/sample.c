/* Samples of the devices' memory. */
#include "preload/device/context.h"
#include "preload/hooks/ask.h"
#include "preload/hooks/state.h"
#include "preload/record/lock.h"

_Atomic uint64_t device_pools[256 / 64];

void device_ask_pool(uint8_t device, uint64_t *reserved, uint64_t *used)
{
    CUmemoryPool pool;
    cuuint64_t value;

    *reserved = *used = UINT64_MAX;
    if (!(atomic_load_explicit(&device_pools[device / 64], memory_order_relaxed) >> device % 64 & 1) ||
        ASK(cuDeviceGetMemPool, &pool, device) != CUDA_SUCCESS)
        return;
    if (ASK(cuMemPoolGetAttribute, pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &value) == CUDA_SUCCESS)
        *reserved = value;
    if (ASK(cuMemPoolGetAttribute, pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &value) == CUDA_SUCCESS)
        *used = value;
}

/* With the lock. cuMemGetInfo is no call that a capture forbids, and our visit would allow it if it were. */
static bool ask(struct device_context *context, struct record_device_memory *memory)
{
    struct device_visit visit;
    size_t free_bytes = 0, total = 0;
    bool known;

    if (!device_visit(context, &visit)) return false;
    known = ASK(cuMemGetInfo_v2, &free_bytes, &total) == CUDA_SUCCESS;
    *memory = (struct record_device_memory){.device = context->device,
                                            .used = total - free_bytes,
                                            .free = free_bytes,
                                            .reserved = UINT64_MAX,
                                            .capacity = total,
                                            .pool_used = UINT64_MAX};
    if (known) device_ask_pool(memory->device, &memory->reserved, &memory->pool_used);
    device_leave(&visit);
    return known;
}

bool device_sample(enum device_road road)
{
    uint32_t used = atomic_load_explicit(&device_slots_used, memory_order_acquire);
    uint64_t begin = record_tick(), asked[256 / 64] = {0};

    for (uint32_t slot = 1; slot <= used; slot++) {
        struct device_context *context = &device_contexts[slot];
        struct record_device_memory memory;
        uint64_t *set = &asked[context->device / 64], bit = UINT64_C(1) << context->device % 64;
        uint32_t state;

        /* A context that is being ended, or read by another thread, is left alone. */
        if (*set & bit || !lock_try(&context->lock)) continue;
        state = atomic_load_explicit(&context->state, memory_order_relaxed);
        if ((state == DEVICE_SLOT_KNOWN || state == DEVICE_SLOT_READY) && ask(context, &memory)) {
            *set |= bit;
            if (road == DEVICE_TO_MEMORY)
                record_device_memory_late(&memory);
            else
                record_device_memory(&memory);
        }
        lock_give(&context->lock);
    }
    device_paid(begin, record_tick());
    return asked[0] | asked[1] | asked[2] | asked[3];
}
