/* Green contexts, whose share of the device is taken note of and changes nothing; advice on managed memory,
 * likewise. */
#include <string.h>

#include "tests/sim/internal.h"

static CUresult advise(struct sim_call *call, CUdeviceptr p, size_t bytes)
{
    CUresult r = sim_begin(call, SIM_NEED_INIT);
    const struct sim_storage *s = r ? NULL : sim_map_find(p);
    if (!r && (!bytes || !s || s->kind != SIM_K_MANAGED)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) r = sim_check_range(p, bytes);
    return sim_end(call, r, NULL);
}

static CUresult prefetch(struct sim_call *call, CUdeviceptr p, size_t bytes, CUstream handle)
{
    struct sim_stream *stream;
    struct sim_op op = {.work = SIM_W_NOTHING, .duration_ns = 1000 + bytes / 16};
    CUresult r = sim_begin(call, SIM_NEED_INIT);
    const struct sim_storage *s = r ? NULL : sim_map_find(p);
    if (!r && (!bytes || !s || s->kind != SIM_K_MANAGED)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) r = sim_check_range(p, bytes);
    if (!r) r = sim_stream_of(call, handle, &stream);
    if (!r) r = sim_submit(call, stream, &op);
    return sim_submit_end(call, r, &op);
}

CUresult CUDAAPI cuMemAdvise(CUdeviceptr p, size_t bytes, CUmem_advise advice, CUdevice device)
{
    SIM_CALL(call);
    (void)advice, (void)device;
    return advise(&call, p, bytes);
}
SIM_PAIR(cuMemPrefetchAsync, _ptsz, (CUdeviceptr p, size_t bytes, CUdevice device, CUstream stream),
         ((void)device, prefetch), p, bytes, stream)

#if CUDA_VERSION >= 12020
CUresult CUDAAPI cuMemAdvise_v2(CUdeviceptr p, size_t bytes, CUmem_advise advice, CUmemLocation location)
{
    SIM_CALL(call);
    (void)advice, (void)location;
    return advise(&call, p, bytes);
}
SIM_PAIR(cuMemPrefetchAsync_v2, _ptsz,
         (CUdeviceptr p, size_t bytes, CUmemLocation location, unsigned flags, CUstream stream),
         ((void)location, (void)flags, prefetch), p, bytes, stream)
#endif

#if CUDA_VERSION >= 12040

struct sim_green {
    struct sim_object object;
    struct sim_context *context;
};

struct desc {
    struct sim_object object;
    unsigned sms;
};

enum { MULTIPROCESSORS = 16 };

static CUresult resource(struct sim_call *call, CUresult r, CUdevResource *out, CUdevResourceType type)
{
    if (!r && !out) r = CUDA_ERROR_INVALID_VALUE;
    if (!r && type != CU_DEV_RESOURCE_TYPE_SM) r = CUDA_ERROR_INVALID_RESOURCE_TYPE;
    if (!r) {
        memset(out, 0, sizeof *out);
        out->type = type;
        out->sm.smCount = MULTIPROCESSORS;
    }
    return sim_end(call, r, NULL);
}

CUresult CUDAAPI cuDeviceGetDevResource(CUdevice device, CUdevResource *out, CUdevResourceType type)
{
    SIM_CALL(call);
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    if (!r && (device < 0 || device >= sim.device_count)) r = CUDA_ERROR_INVALID_DEVICE;
    return resource(&call, r, out, type);
}

CUresult CUDAAPI cuCtxGetDevResource(CUcontext context, CUdevResource *out, CUdevResourceType type)
{
    SIM_CALL(call);
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    if (!r && !sim_is(context, SIM_CONTEXT)) r = CUDA_ERROR_INVALID_CONTEXT;
    return resource(&call, r, out, type);
}

CUresult CUDAAPI cuDevSmResourceSplitByCount(CUdevResource *out, unsigned *groups, const CUdevResource *in,
                                             CUdevResource *remaining, unsigned flags, unsigned least)
{
    SIM_CALL(call);
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    (void)flags;
    if (!r && (!groups || !in || in->type != CU_DEV_RESOURCE_TYPE_SM)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        unsigned each = least > 8 ? (least + 7) / 8 * 8 : 8, most = in->sm.smCount / each;
        if (!out || *groups > most) *groups = most;
        for (unsigned i = 0; out && i < *groups; i++) {
            out[i] = *in;
            out[i].sm.smCount = each;
        }
        if (remaining) {
            *remaining = *in;
            remaining->sm.smCount = in->sm.smCount - (out ? *groups * each : 0);
        }
    }
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuDevResourceGenerateDesc(CUdevResourceDesc *out, CUdevResource *resources, unsigned count)
{
    SIM_CALL(call);
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    if (!r && (!out || !resources || !count)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        struct desc *d = sim_new(SIM_RESOURCE_DESC, sizeof *d);
        for (unsigned i = 0; i < count; i++)
            d->sms += resources[i].sm.smCount;
        *out = (CUdevResourceDesc)d;
    }
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuGreenCtxCreate(CUgreenCtx *out, CUdevResourceDesc desc, CUdevice device, unsigned flags)
{
    SIM_CALL(call);
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    if (!r && (!out || flags != CU_GREEN_CTX_DEFAULT_STREAM || !sim_is(desc, SIM_RESOURCE_DESC)))
        r = CUDA_ERROR_INVALID_VALUE;
    if (!r && (device < 0 || device >= sim.device_count)) r = CUDA_ERROR_INVALID_DEVICE;
    if (!r) {
        struct sim_green *g = sim_new(SIM_GREEN, sizeof *g);
        g->context = sim_context_new(device, 0, false);
        g->context->legacy->green = g;
        sim_primary(device);
        sim.devices[device].primary_references++;
        *out = (CUgreenCtx)g;
    }
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuGreenCtxDestroy(CUgreenCtx green)
{
    SIM_CALL(call);
    struct sim_green *g = (struct sim_green *)green;
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    if (!r && !sim_is(g, SIM_GREEN)) r = CUDA_ERROR_INVALID_HANDLE;
    if (!r) {
        struct sim_device *d = &sim.devices[g->context->device];
        sim_context_destroy(&call, g->context, "ctx_destroy");
        if (d->primary_references) d->primary_references--;
        sim_delete(g);
    }
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuCtxFromGreenCtx(CUcontext *out, CUgreenCtx green)
{
    SIM_CALL(call);
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    if (!r && (!out || !sim_is(green, SIM_GREEN))) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) *out = (CUcontext)((struct sim_green *)green)->context;
    return sim_end(&call, r, NULL);
}

#if CUDA_VERSION >= 12050
CUresult CUDAAPI cuGreenCtxStreamCreate(CUstream *out, CUgreenCtx green, unsigned flags, int priority)
{
    SIM_CALL(call);
    struct sim_green *g = (struct sim_green *)green;
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    if (!r && (!out || flags != CU_STREAM_NON_BLOCKING || !sim_is(g, SIM_GREEN)))
        r = CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        struct sim_stream *s = sim_stream_new(g->context, flags, priority);
        s->green = g;
        *out = (CUstream)s;
    }
    return sim_end(&call, r, NULL);
}
#endif

CUresult CUDAAPI cuStreamGetGreenCtx(CUstream stream, CUgreenCtx *out)
{
    SIM_CALL(call);
    struct sim_stream *s;
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    if (!r) r = sim_stream_of(&call, stream, &s);
    if (!r && !out) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) *out = (CUgreenCtx)s->green;
    return sim_end(&call, r, NULL);
}
#endif
