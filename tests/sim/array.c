/* CUDA arrays and mipmapped arrays: pitched host memory; the ledger knows them by their handles. */
#include <string.h>

#include "tests/sim/internal.h"

enum { MAX_LEVELS = 16 };

struct mipmap {
    struct sim_object object;
    struct sim_array *levels[MAX_LEVELS];
    unsigned count;
    struct sim_storage *storage;
};

static size_t element_bytes(CUarray_format format)
{
    switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
        return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
        return 2;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
        return 4;
    default:
        return 0;
    }
}

static CUresult check(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    bool channels = d->NumChannels == 1 || d->NumChannels == 2 || d->NumChannels == 4;
    return d->Width && channels && element_bytes(d->Format) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* Fills in the geometry; returns the bytes of the whole. */
static size_t shape(struct sim_array *a, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    a->desc = *d;
    a->row = d->Width * d->NumChannels * element_bytes(d->Format);
    a->slice = a->row * (d->Height ? d->Height : 1);
    return a->slice * (d->Depth ? d->Depth : 1);
}

/* Device memory for the object; the line says its handle. */
static CUresult back(struct sim_call *call, struct sim_object *object, size_t bytes, enum sim_kind kind,
                     struct sim_storage **out, struct sim_line *line)
{
    struct sim_context *c = sim_current(call);
    CUresult r = sim_storage_new(c->device, bytes, kind, c, out);
    if (r) {
        sim_delete(object);
        return r;
    }
    (*out)->handle = object;
    sim_line_of(line, SIM_L_ALLOC, *out);
    return CUDA_SUCCESS;
}

static CUresult create(struct sim_call *call, CUarray *out, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    struct sim_line line = {.op = SIM_L_ALLOC, .kind = "array", .device = -1};
    CUresult r = sim_begin(call, SIM_NEED_CONTEXT | SIM_NEED_UNCAPTURED);
    if (!r && (!out || !d)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) r = check(d);
    if (!r) {
        struct sim_array *a = sim_new(SIM_ARRAY, sizeof *a);
        line.bytes = shape(a, d);
        line.device = sim_current(call)->device;
        r = back(call, &a->object, line.bytes, SIM_K_ARRAY, &a->storage, &line);
        if (!r) {
            a->data = (uint8_t *)(uintptr_t)a->storage->base;
            *out = (CUarray)a;
        }
    }
    return sim_end(call, r, &line);
}

CUresult CUDAAPI cuArray3DCreate_v2(CUarray *out, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    SIM_CALL(call);
    return create(&call, out, d);
}

CUresult CUDAAPI cuArrayCreate_v2(CUarray *out, const CUDA_ARRAY_DESCRIPTOR *d)
{
    SIM_CALL(call);
    CUDA_ARRAY3D_DESCRIPTOR whole = {0};
    if (d)
        whole = (CUDA_ARRAY3D_DESCRIPTOR){
            .Width = d->Width, .Height = d->Height, .Format = d->Format, .NumChannels = d->NumChannels};
    return create(&call, out, d ? &whole : NULL);
}

CUresult CUDAAPI cuArrayDestroy(CUarray array)
{
    SIM_CALL(call);
    struct sim_array *a = (struct sim_array *)array;
    struct sim_line line = {.op = SIM_L_FREE, .address = (uint64_t)(uintptr_t)array, .device = -1};
    CUresult r = sim_begin(&call, SIM_NEED_INIT | SIM_NEED_UNCAPTURED);
    if (!r && (!sim_is(a, SIM_ARRAY) || !a->storage)) r = CUDA_ERROR_INVALID_HANDLE;
    if (!r) {
        sim_wait_context(a->storage->context);
        sim_line_of(&line, SIM_L_FREE, a->storage);
        sim_storage_free(a->storage);
    }
    return sim_end(&call, r, &line);
}

CUresult CUDAAPI cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR *out, CUarray array)
{
    SIM_CALL(call);
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    if (!r && !out) r = CUDA_ERROR_INVALID_VALUE;
    if (!r && !sim_is(array, SIM_ARRAY)) r = CUDA_ERROR_INVALID_HANDLE;
    if (!r) *out = ((struct sim_array *)array)->desc;
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *out, CUarray array)
{
    SIM_CALL(call);
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    if (!r && !out) r = CUDA_ERROR_INVALID_VALUE;
    if (!r && !sim_is(array, SIM_ARRAY)) r = CUDA_ERROR_INVALID_HANDLE;
    if (!r) {
        const CUDA_ARRAY3D_DESCRIPTOR *d = &((struct sim_array *)array)->desc;
        *out = (CUDA_ARRAY_DESCRIPTOR){
            .Width = d->Width, .Height = d->Height, .Format = d->Format, .NumChannels = d->NumChannels};
    }
    return sim_end(&call, r, NULL);
}

/* ---- mipmapped ----------------------------------------------------------------------------------------- */

static size_t halved(size_t v)
{
    return v > 1 ? v / 2 : v;
}

CUresult CUDAAPI cuMipmappedArrayCreate(CUmipmappedArray *out, const CUDA_ARRAY3D_DESCRIPTOR *d,
                                        unsigned levels)
{
    SIM_CALL(call);
    struct sim_line line = {.op = SIM_L_ALLOC, .kind = "mipmap", .device = -1};
    CUresult r = sim_begin(&call, SIM_NEED_CONTEXT | SIM_NEED_UNCAPTURED);
    if (!r && (!out || !d || !levels || levels > MAX_LEVELS)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) r = check(d);
    if (!r) {
        struct mipmap *m = sim_new(SIM_MIPMAP, sizeof *m);
        CUDA_ARRAY3D_DESCRIPTOR level = *d;
        size_t offsets[MAX_LEVELS];
        m->count = levels;
        for (unsigned i = 0; i < levels; i++) {
            m->levels[i] = sim_new(SIM_ARRAY, sizeof *m->levels[i]);
            offsets[i] = line.bytes;
            line.bytes += shape(m->levels[i], &level);
            level.Width = halved(level.Width);
            level.Height = halved(level.Height);
            level.Depth = halved(level.Depth);
        }
        line.device = sim_current(&call)->device;
        r = back(&call, &m->object, line.bytes, SIM_K_MIPMAP, &m->storage, &line);
        for (unsigned i = 0; i < levels; i++) {
            if (r)
                sim_delete(m->levels[i]);
            else
                m->levels[i]->data = (uint8_t *)(uintptr_t)m->storage->base + offsets[i];
        }
        if (!r) *out = (CUmipmappedArray)m;
    }
    return sim_end(&call, r, &line);
}

CUresult CUDAAPI cuMipmappedArrayGetLevel(CUarray *out, CUmipmappedArray mipmap, unsigned level)
{
    SIM_CALL(call);
    const struct mipmap *m = (const struct mipmap *)mipmap;
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    if (!r && !sim_is(m, SIM_MIPMAP)) r = CUDA_ERROR_INVALID_HANDLE;
    if (!r && (!out || level >= m->count)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) *out = (CUarray)m->levels[level];
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuMipmappedArrayDestroy(CUmipmappedArray mipmap)
{
    SIM_CALL(call);
    struct mipmap *m = (struct mipmap *)mipmap;
    struct sim_line line = {.op = SIM_L_FREE, .address = (uint64_t)(uintptr_t)m, .device = -1};
    CUresult r = sim_begin(&call, SIM_NEED_INIT | SIM_NEED_UNCAPTURED);
    if (!r && !sim_is(m, SIM_MIPMAP)) r = CUDA_ERROR_INVALID_HANDLE;
    if (!r) {
        sim_wait_context(m->storage->context);
        for (unsigned i = 0; i < m->count; i++)
            sim_delete(m->levels[i]);
        sim_line_of(&line, SIM_L_FREE, m->storage);
        sim_storage_free(m->storage);
    }
    return sim_end(&call, r, &line);
}
