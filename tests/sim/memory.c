/* Device, managed, host and registered memory that is allocated and freed at once (not in stream order). */
#include <string.h>

#include "tests/sim/graph.h"

/* Allocates, writes the line, ends the call. device -1: host. */
static CUresult allocate(struct sim_call *call, CUresult r, int device, size_t bytes, enum sim_kind kind,
                         unsigned flags, struct sim_storage **out)
{
    struct sim_line line = {.op = SIM_L_ALLOC,
                            .kind = sim_kind_name[kind],
                            .bytes = bytes,
                            .device = device,
                            .context = sim_current(call)};
    if (!r && !bytes) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) r = sim_storage_new(device, bytes, kind, sim_current(call), out);
    if (!r) {
        (*out)->flags = flags;
        sim_line_of(&line, SIM_L_ALLOC, *out);
    }
    return sim_end(call, r, &line);
}

static int device_of(const struct sim_call *call)
{
    const struct sim_context *c = sim_current(call);
    return c ? c->device : -1;
}

CUresult CUDAAPI cuMemAlloc_v2(CUdeviceptr *out, size_t bytes)
{
    SIM_CALL(call);
    struct sim_storage *s = NULL;
    CUresult r = sim_begin(&call, SIM_NEED_CONTEXT | SIM_NEED_UNCAPTURED);
    if (!r && !out) r = CUDA_ERROR_INVALID_VALUE;
    r = allocate(&call, r, device_of(&call), bytes, SIM_K_DEVICE, 0, &s);
    if (!r) *out = s->base;
    return r;
}

CUresult CUDAAPI cuMemAllocPitch_v2(CUdeviceptr *out, size_t *pitch, size_t width, size_t height,
                                    unsigned element)
{
    SIM_CALL(call);
    struct sim_storage *s = NULL;
    size_t row = sim_round(width, SIM_ALIGN), bytes = 0;
    CUresult r = sim_begin(&call, SIM_NEED_CONTEXT | SIM_NEED_UNCAPTURED);
    if (!r && (!out || !pitch || (element != 4 && element != 8 && element != 16)))
        r = CUDA_ERROR_INVALID_VALUE;
    if (!r && __builtin_mul_overflow(row, height, &bytes)) r = CUDA_ERROR_OUT_OF_MEMORY;
    r = allocate(&call, r, device_of(&call), bytes, SIM_K_PITCH, 0, &s);
    if (!r) {
        *out = s->base;
        *pitch = row;
    }
    return r;
}

CUresult CUDAAPI cuMemAllocManaged(CUdeviceptr *out, size_t bytes, unsigned flags)
{
    SIM_CALL(call);
    struct sim_storage *s = NULL;
    CUresult r = sim_begin(&call, SIM_NEED_CONTEXT | SIM_NEED_UNCAPTURED);
    if (!r && (!out || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST)))
        r = CUDA_ERROR_INVALID_VALUE;
    r = allocate(&call, r, device_of(&call), bytes, SIM_K_MANAGED, flags, &s);
    if (!r) *out = s->base;
    return r;
}

static CUresult allocate_host(struct sim_call *call, void **out, size_t bytes, unsigned flags)
{
    struct sim_storage *s = NULL;
    CUresult r = sim_begin(call, SIM_NEED_CONTEXT | SIM_NEED_UNCAPTURED);
    const unsigned known =
        CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
    if (!r && (!out || (flags & ~known))) r = CUDA_ERROR_INVALID_VALUE;
    r = allocate(call, r, -1, bytes, SIM_K_HOST, flags, &s);
    if (!r) *out = (void *)(uintptr_t)s->base;
    return r;
}

CUresult CUDAAPI cuMemAllocHost_v2(void **out, size_t bytes)
{
    SIM_CALL(call);
    return allocate_host(&call, out, bytes, 0);
}

CUresult CUDAAPI cuMemHostAlloc(void **out, size_t bytes, unsigned flags)
{
    SIM_CALL(call);
    return allocate_host(&call, out, bytes, flags);
}

static CUresult host_register(struct sim_call *call, void *p, size_t bytes, unsigned flags)
{
    struct sim_line line = {.op = SIM_L_ALLOC,
                            .kind = sim_kind_name[SIM_K_REGISTERED],
                            .address = (uint64_t)(uintptr_t)p,
                            .bytes = bytes,
                            .device = -1};
    CUresult r = sim_begin(call, SIM_NEED_CONTEXT | SIM_NEED_UNCAPTURED);
    uint64_t base = (uint64_t)(uintptr_t)p;
    if (!r && (!p || !bytes)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r && (sim_map_find(base) || sim_map_find(base + bytes - 1)))
        r = CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    if (!r) {
        struct sim_storage *s = sim_new(SIM_STORAGE, sizeof *s);
        s->base = base;
        s->bytes = bytes;
        s->kind = SIM_K_REGISTERED;
        s->device = -1;
        s->flags = flags;
        s->context = sim_current(call);
        s->ipc_fd = -1;
        s->buffer_id = ++sim.next_buffer;
        sim_map_insert(s);
        sim_line_of(&line, SIM_L_ALLOC, s);
    }
    return sim_end(call, r, &line);
}

CUresult CUDAAPI cuMemHostRegister_v2(void *p, size_t bytes, unsigned flags)
{
    SIM_CALL(call);
    return host_register(&call, p, bytes, flags);
}

CUresult CUDAAPI cuMemHostRegister(void *p, size_t bytes, unsigned flags)
{
    SIM_CALL(call);
    return host_register(&call, p, bytes, flags);
}

/* Frees the storage that begins at `base` if its kind is one of `kinds`; else the call fails with
 * `otherwise`. A free waits for the device's work, as the real one does. */
static CUresult release(struct sim_call *call, uint64_t base, unsigned kinds, CUresult otherwise)
{
    struct sim_line line = {.op = SIM_L_FREE, .address = base, .device = -1};
    CUresult r = sim_begin(call, SIM_NEED_INIT | SIM_NEED_UNCAPTURED);
    struct sim_storage *s = r ? NULL : sim_map_find(base);
    if (!r && base && (!s || s->base != base || !(kinds & (1u << s->kind)))) r = otherwise;
    if (!r && !base) return sim_end(call, r, NULL);
    if (!r) {
        if (s->context) sim_wait_context(s->context);
        if (s->kind == SIM_K_POOL || s->kind == SIM_K_GRAPH) sim_wait_device(s->device);
        sim_line_of(&line, SIM_L_FREE, s);
        if (s->kind == SIM_K_GRAPH)
            sim_graph_storage_end(s);
        else if (s->kind == SIM_K_POOL)
            sim_pool_give_back(s);
        else
            sim_storage_free(s);
    }
    return sim_end(call, r, &line);
}

CUresult CUDAAPI cuMemFree_v2(CUdeviceptr p)
{
    SIM_CALL(call);
    return release(&call, p,
                   1u << SIM_K_DEVICE | 1u << SIM_K_PITCH | 1u << SIM_K_MANAGED | 1u << SIM_K_POOL |
                       1u << SIM_K_EXTERNAL | 1u << SIM_K_GRAPH,
                   CUDA_ERROR_INVALID_VALUE);
}

CUresult CUDAAPI cuMemFreeHost(void *p)
{
    SIM_CALL(call);
    return release(&call, (uint64_t)(uintptr_t)p, 1u << SIM_K_HOST, CUDA_ERROR_INVALID_VALUE);
}

CUresult CUDAAPI cuMemHostUnregister(void *p)
{
    SIM_CALL(call);
    return release(&call, (uint64_t)(uintptr_t)p, 1u << SIM_K_REGISTERED,
                   CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

/* ---- questions ----------------------------------------------------------------------------------------- */

CUresult CUDAAPI cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
    SIM_CALL(call);
    CUresult r = sim_begin(&call, SIM_NEED_CONTEXT);
    if (!r) {
        const struct sim_device *d = &sim.devices[sim_current(&call)->device];
        if (free_bytes) *free_bytes = d->total - d->used;
        if (total) *total = d->total;
    }
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes, CUdeviceptr p)
{
    SIM_CALL(call);
    CUresult r = sim_begin(&call, SIM_NEED_CONTEXT);
    const struct sim_storage *s = r ? NULL : sim_map_find(p);
    if (!r && !s) r = CUDA_ERROR_NOT_FOUND;
    if (!r && base) *base = s->base;
    if (!r && bytes) *bytes = s->bytes;
    return sim_end(&call, r, NULL);
}

static bool is_host(const struct sim_storage *s)
{
    return s->kind == SIM_K_HOST || s->kind == SIM_K_REGISTERED;
}

CUresult CUDAAPI cuMemHostGetDevicePointer_v2(CUdeviceptr *out, void *p, unsigned flags)
{
    SIM_CALL(call);
    CUresult r = sim_begin(&call, SIM_NEED_CONTEXT);
    const struct sim_storage *s = r ? NULL : sim_map_find((uint64_t)(uintptr_t)p);
    if (!r && (!out || flags || !s || !is_host(s))) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) *out = (CUdeviceptr)(uintptr_t)p;
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuMemHostGetFlags(unsigned *flags, void *p)
{
    SIM_CALL(call);
    CUresult r = sim_begin(&call, SIM_NEED_CONTEXT);
    const struct sim_storage *s = r ? NULL : sim_map_find((uint64_t)(uintptr_t)p);
    if (!r && (!flags || !s || !is_host(s))) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) *flags = s->flags;
    return sim_end(&call, r, NULL);
}

static CUresult attribute(const struct sim_storage *s, CUpointer_attribute what, uint64_t p, void *out)
{
    switch ((int)what) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        *(CUcontext *)out = (CUcontext)s->context;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *(unsigned *)out = is_host(s) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        *(uint64_t *)out = what == CU_POINTER_ATTRIBUTE_DEVICE_POINTER ? p : s->base;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        if (!is_host(s) && s->kind != SIM_K_MANAGED) return CUDA_ERROR_INVALID_VALUE;
        *(uint64_t *)out = p;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        *(uint64_t *)out = s->buffer_id;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        *(unsigned *)out = s->kind == SIM_K_MANAGED;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *(int *)out = s->device < 0 && s->context ? s->context->device : s->device;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        *(size_t *)out = s->bytes;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MAPPED:
        *(unsigned *)out = 1;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        *(CUmemoryPool *)out = (CUmemoryPool)s->pool;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        *(unsigned *)out = s->kind == SIM_K_DEVICE;
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult CUDAAPI cuPointerGetAttribute(void *out, CUpointer_attribute what, CUdeviceptr p)
{
    SIM_CALL(call);
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    const struct sim_storage *s = r ? NULL : sim_map_find(p);
    if (!r && (!out || !s)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) r = attribute(s, what, p, out);
    return sim_end(&call, r, NULL);
}

/* Bytes of each attribute's answer: what is written when the pointer is not CUDA's. */
static size_t attribute_bytes(CUpointer_attribute what)
{
    switch ((int)what) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_MAPPED:
        return 4;
    default:
        return 8;
    }
}

CUresult CUDAAPI cuPointerGetAttributes(unsigned count, CUpointer_attribute *what, void **out, CUdeviceptr p)
{
    SIM_CALL(call);
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    const struct sim_storage *s = r ? NULL : sim_map_find(p);
    if (!r && (!what || !out || !count)) r = CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; !r && i < count; i++)
        if (!s || attribute(s, what[i], p, out[i])) {
            memset(out[i], 0, attribute_bytes(what[i]));
            if (what[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) *(int *)out[i] = -2;
        }
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuPointerSetAttribute(const void *value, CUpointer_attribute what, CUdeviceptr p)
{
    SIM_CALL(call);
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    if (!r && (!value || what != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS || !sim_map_find(p)))
        r = CUDA_ERROR_INVALID_VALUE;
    return sim_end(&call, r, NULL);
}
