/*
 * Memory pools and stream-ordered allocation. A freed block stays reserved in its pool and is handed out
 * again, the smallest that fits first; at a synchronisation the pool gives back what it keeps beyond its
 * release threshold.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/sim/internal.h"

struct sim_pool *sim_pool_new(int device, bool is_default)
{
    struct sim_pool *p = sim_new(SIM_POOL, sizeof *p);
    p->device = device;
    p->is_default = is_default;
    p->fd = -1;
    for (size_t i = 0; i < sizeof p->reuse / sizeof *p->reuse; i++)
        p->reuse[i] = 1;
    return p;
}

static struct sim_pool *default_pool(int device)
{
    struct sim_device *d = &sim.devices[device];
    if (!d->default_pool) d->default_pool = d->pool = sim_pool_new(device, true);
    return d->default_pool;
}

static struct sim_pool *current_pool(int device)
{
    default_pool(device);
    return sim.devices[device].pool;
}

void sim_pool_trim(struct sim_pool *pool, uint64_t keep)
{
    while (pool->cache && pool->reserved > keep) {
        struct sim_storage *s = pool->cache;
        pool->cache = s->next;
        pool->reserved -= s->reserved;
        sim_map_insert(s); /* sim_storage_free takes it out again */
        sim_storage_free(s);
    }
}

void sim_pools_settle(int device)
{
    struct sim_device *d = &sim.devices[device];
    if (d->default_pool) sim_pool_trim(d->default_pool, d->default_pool->threshold);
    if (d->pool && d->pool != d->default_pool) sim_pool_trim(d->pool, d->pool->threshold);
}

/* A cached block goes out of the map: its address answers no question until it is handed out again. */
void sim_pool_give_back(struct sim_storage *s)
{
    struct sim_pool *pool = s->pool;
    if (!pool) { /* destroyed before it */
        sim_storage_free(s);
        return;
    }
    pool->used -= s->reserved;
    sim_map_remove(s);
    s->next = pool->cache;
    pool->cache = s;
}

static struct sim_storage *take_cached(struct sim_pool *pool, size_t bytes)
{
    struct sim_storage **best = NULL;
    size_t reserved = sim_round(bytes, SIM_ALIGN);
    for (struct sim_storage **p = &pool->cache; *p; p = &(*p)->next)
        if ((*p)->reserved >= reserved && (!best || (*p)->reserved < (*best)->reserved)) best = p;
    if (!best || (*best)->reserved > 2 * reserved) return NULL;
    struct sim_storage *s = *best;
    *best = s->next;
    s->bytes = bytes;
    s->freeing = false;
    s->buffer_id = ++sim.next_buffer;
    sim_map_insert(s);
    return s;
}

CUresult sim_pool_take(struct sim_pool *pool, size_t bytes, struct sim_storage **out)
{
    struct sim_storage *s = take_cached(pool, bytes);
    if (!s) {
        size_t reserved = sim_round(bytes, SIM_ALIGN);
        if (pool->max_size && (reserved > pool->max_size || pool->reserved > pool->max_size - reserved))
            return CUDA_ERROR_OUT_OF_MEMORY;
        CUresult r = sim_storage_new(pool->device, bytes, SIM_K_POOL, NULL, &s);
        if (r) { /* the pool's own reserve may be what is missing */
            sim_pool_trim(pool, 0);
            r = sim_storage_new(pool->device, bytes, SIM_K_POOL, NULL, &s);
        }
        if (r) return r;
        s->pool = pool;
        pool->reserved += s->reserved;
        if (pool->reserved > pool->reserved_high) pool->reserved_high = pool->reserved;
    }
    pool->used += s->reserved;
    if (pool->used > pool->used_high) pool->used_high = pool->used;
    *out = s;
    return CUDA_SUCCESS;
}

static CUresult allocate(struct sim_call *call, CUdeviceptr *out, size_t bytes, struct sim_pool *pool,
                         bool from_pool, CUstream handle)
{
    struct sim_stream *stream = NULL;
    struct sim_storage *s = NULL;
    struct sim_op op = {.work = SIM_W_NOTHING,
                        .has_line = true,
                        .line = {.op = SIM_L_ALLOC, .kind = "pool", .bytes = bytes, .device = -1}};
    CUresult r = sim_begin(call, SIM_NEED_INIT);
    if (!r) r = sim_stream_of(call, handle, &stream);
    if (!r) {
        op.line.device = stream->context->device;
        op.line.context = stream->context;
        op.line.stream = sim_stream_handle(stream);
        op.line.has_stream = true;
    }
    if (!r && from_pool && !sim_is(pool, SIM_POOL)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r && (!out || !bytes)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r && !from_pool) pool = current_pool(stream->context->device);
    if (!r && stream->capture) {
        r = sim_capture_alloc(call, stream, bytes, pool, out);
        return sim_end(call, r, NULL);
    }
    if (!r) r = sim_pool_take(pool, bytes, &s);
    if (!r) {
        op.line.address = s->base;
        op.line.pool = (uint64_t)(uintptr_t)pool;
        *out = s->base;
        r = sim_submit(call, stream, &op);
    }
    return sim_submit_end(call, r, &op);
}
SIM_PAIR(cuMemAllocAsync, _ptsz, (CUdeviceptr * out, size_t bytes, CUstream stream), allocate, out, bytes,
         NULL, false, stream)
SIM_PAIR(cuMemAllocFromPoolAsync, _ptsz,
         (CUdeviceptr * out, size_t bytes, CUmemoryPool pool, CUstream stream), allocate, out, bytes,
         (struct sim_pool *)pool, true, stream)

static CUresult free_async(struct sim_call *call, CUdeviceptr p, CUstream handle)
{
    struct sim_stream *stream = NULL;
    struct sim_op op = {
        .work = SIM_W_FREE, .has_line = true, .line = {.op = SIM_L_FREE, .address = p, .device = -1}};
    CUresult r = sim_begin(call, SIM_NEED_INIT);
    if (!r) r = sim_stream_of(call, handle, &stream);
    struct sim_storage *s = r ? NULL : sim_map_find(p);
    if (!r && stream->capture && !(s && s->kind == SIM_K_POOL)) {
        r = sim_capture_free(call, stream, p);
        return sim_end(call, r, NULL);
    }
    if (!r && (!s || s->base != p || s->freeing ||
               (s->kind != SIM_K_POOL && s->kind != SIM_K_DEVICE && s->kind != SIM_K_GRAPH)))
        r = CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        sim_line_of(&op.line, SIM_L_FREE, s);
        s->freeing = true;
        op.u.storage = s;
        r = sim_submit(call, stream, &op);
    }
    return sim_submit_end(call, r, &op);
}
SIM_PAIR(cuMemFreeAsync, _ptsz, (CUdeviceptr p, CUstream stream), free_async, p, stream)

/* ---- pools as objects ---------------------------------------------------------------------------------- */

static CUresult begin_with_device(struct sim_call *call, CUdevice device, const void *out)
{
    CUresult r = sim_begin(call, SIM_NEED_INIT);
    if (!r && !out) r = CUDA_ERROR_INVALID_VALUE;
    if (!r && (device < 0 || device >= sim.device_count)) r = CUDA_ERROR_INVALID_DEVICE;
    return r;
}

CUresult CUDAAPI cuDeviceGetDefaultMemPool(CUmemoryPool *out, CUdevice device)
{
    SIM_CALL(call);
    CUresult r = begin_with_device(&call, device, out);
    if (!r) *out = (CUmemoryPool)default_pool(device);
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuDeviceGetMemPool(CUmemoryPool *out, CUdevice device)
{
    SIM_CALL(call);
    CUresult r = begin_with_device(&call, device, out);
    if (!r) *out = (CUmemoryPool)current_pool(device);
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool)
{
    SIM_CALL(call);
    CUresult r = begin_with_device(&call, device, pool);
    if (!r && (!sim_is(pool, SIM_POOL) || ((struct sim_pool *)pool)->device != device))
        r = CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        default_pool(device);
        sim.devices[device].pool = (struct sim_pool *)pool;
    }
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuMemPoolCreate(CUmemoryPool *out, const CUmemPoolProps *props)
{
    SIM_CALL(call);
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    if (!r && (!out || !props || props->location.type != CU_MEM_LOCATION_TYPE_DEVICE))
        r = CUDA_ERROR_INVALID_VALUE;
    if (!r && (props->location.id < 0 || props->location.id >= sim.device_count))
        r = CUDA_ERROR_INVALID_DEVICE;
    if (!r) {
        struct sim_pool *p = sim_pool_new(props->location.id, false);
        p->handles = props->handleTypes;
#if CUDA_VERSION >= 12020
        p->max_size = props->maxSize;
#endif
        *out = (CUmemoryPool)p;
    }
    return sim_end(&call, r, NULL);
}

/* What the program has not freed lives on without its pool (cuda.h). */
CUresult CUDAAPI cuMemPoolDestroy(CUmemoryPool handle)
{
    SIM_CALL(call);
    struct sim_pool *pool = (struct sim_pool *)handle;
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    if (!r && (!sim_is(pool, SIM_POOL) || pool->is_default)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        for (size_t i = sim_map_count(); i-- > 0;)
            if (sim_map_at(i)->pool == pool) sim_map_at(i)->pool = NULL;
        sim_pool_trim(pool, 0);
        if (pool->fd >= 0) close(pool->fd);
        if (sim.devices[pool->device].pool == pool)
            sim.devices[pool->device].pool = default_pool(pool->device);
        sim_delete(pool);
    }
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuMemPoolTrimTo(CUmemoryPool pool, size_t keep)
{
    SIM_CALL(call);
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    if (!r && !sim_is(pool, SIM_POOL)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) sim_pool_trim((struct sim_pool *)pool, keep);
    return sim_end(&call, r, NULL);
}

static int *reuse_of(struct sim_pool *p, CUmemPool_attribute attribute)
{
    return attribute >= CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES &&
                   attribute <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES
               ? &p->reuse[attribute - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES]
               : NULL;
}

CUresult CUDAAPI cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void *value)
{
    SIM_CALL(call);
    struct sim_pool *p = (struct sim_pool *)handle;
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    if (!r && (!sim_is(p, SIM_POOL) || !value)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        const struct {
            CUmemPool_attribute attribute;
            uint64_t value;
        } table[] = {{CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, p->threshold},
                     {CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, p->reserved},
                     {CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, p->reserved_high},
                     {CU_MEMPOOL_ATTR_USED_MEM_CURRENT, p->used},
                     {CU_MEMPOOL_ATTR_USED_MEM_HIGH, p->used_high}};
        r = CUDA_ERROR_INVALID_VALUE;
        for (size_t i = 0; i < sizeof table / sizeof *table; i++)
            if (table[i].attribute == attribute) {
                *(uint64_t *)value = table[i].value;
                r = CUDA_SUCCESS;
            }
        if (reuse_of(p, attribute)) {
            *(int *)value = *reuse_of(p, attribute);
            r = CUDA_SUCCESS;
        }
    }
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void *value)
{
    SIM_CALL(call);
    struct sim_pool *p = (struct sim_pool *)handle;
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    if (!r && (!sim_is(p, SIM_POOL) || !value)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r && reuse_of(p, attribute)) {
        *reuse_of(p, attribute) = *(int *)value;
    } else if (!r && attribute == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) {
        p->threshold = *(uint64_t *)value;
    } else if (!r && attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH && *(uint64_t *)value == 0) {
        p->reserved_high = p->reserved;
    } else if (!r && attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH && *(uint64_t *)value == 0) {
        p->used_high = p->used;
    } else if (!r) {
        r = CUDA_ERROR_INVALID_VALUE;
    }
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *map, size_t count)
{
    SIM_CALL(call);
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    if (!r && (!sim_is(pool, SIM_POOL) || (count && !map))) r = CUDA_ERROR_INVALID_VALUE;
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool pool, CUmemLocation *location)
{
    SIM_CALL(call);
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    if (!r && (!sim_is(pool, SIM_POOL) || !flags || !location)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) *flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return sim_end(&call, r, NULL);
}
