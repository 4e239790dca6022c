/* Copies of one run of bytes, in all their forms. */
#include "tests/sim/copy.h"

enum { LATENCY_NS = 1000 };

/* Simulated rates, bytes per nanosecond. */
static uint64_t duration(enum sim_side dst, enum sim_side src, uint64_t bytes)
{
    uint64_t rate = dst == SIM_PEER ? 50 : dst == SIM_HOST || src == SIM_HOST ? 16 : 500;
    return LATENCY_NS + bytes / rate;
}

enum sim_side sim_side_of(enum sim_side side, uint64_t address)
{
    if (side != SIM_ANY) return side;
    const struct sim_storage *s = sim_map_find(address);
    return s && s->kind != SIM_K_HOST && s->kind != SIM_K_REGISTERED ? SIM_DEVICE : SIM_HOST;
}

void sim_copy_op(struct sim_op *op, const struct sim_copy *box, enum sim_side dst, enum sim_side src,
                 uint64_t bytes)
{
    static const char *const names[3][3] = {
        {"HtoH", "DtoH", "AtoH"}, {"HtoD", "DtoD", "AtoD"}, {"HtoA", "DtoA", "AtoA"}}; /* [dst][src] */
    op->work = SIM_W_COPY;
    op->u.copy = *box;
    op->duration_ns = duration(dst, src, bytes);
    op->has_line = true;
    op->line.op = SIM_L_COPY;
    op->line.bytes = bytes;
    op->line.kind = dst == SIM_PEER ? "PtoP" : names[dst][src];
    op->line.address = (uint64_t)(uintptr_t)box->dst;
    op->line.source = (uint64_t)(uintptr_t)box->src;
}

CUresult sim_copy_end(struct sim_call *call, CUresult r, struct sim_op *op, CUstream handle, bool wait)
{
    struct sim_stream *stream = NULL;
    op->line.device = -1;
    if (!r || sim_current(call)) {
        CUresult found = sim_stream_of(call, handle, &stream);
        if (!r) r = found;
    }
    if (stream) {
        op->line.device = stream->context->device;
        op->line.context = stream->context;
        op->line.stream = sim_stream_handle(stream);
        op->line.has_stream = true;
    }
    if (!r) r = sim_submit(call, stream, op);
    if (r || !wait) return sim_submit_end(call, r, op);
    sim_submit_line(call, r, op);
    sim_wait_stream(stream);
    sim_pools_settle(stream->context->device);
    return sim_end(call, r, NULL);
}

static CUresult linear(struct sim_call *call, enum sim_side dst_side, uint64_t dst, enum sim_side src_side,
                       uint64_t src, size_t bytes, CUstream stream, bool wait)
{
    CUresult r = sim_begin(call, wait ? SIM_NEED_CONTEXT | SIM_NEED_UNCAPTURED : SIM_NEED_CONTEXT);
    struct sim_copy box = {.dst = (uint8_t *)(uintptr_t)dst,
                           .src = (const uint8_t *)(uintptr_t)src,
                           .width = bytes,
                           .height = 1,
                           .depth = 1};
    struct sim_op op = {0};
    if (!r && bytes && (!dst || !src)) r = CUDA_ERROR_INVALID_VALUE;
    bool peer = dst_side == SIM_PEER;
    enum sim_side d = peer ? SIM_DEVICE : sim_side_of(dst_side, dst), s = sim_side_of(src_side, src);
    if (!r && (d == SIM_DEVICE || sim_map_find(dst))) r = sim_check_range(dst, bytes);
    if (!r && (s == SIM_DEVICE || sim_map_find(src))) r = sim_check_range(src, bytes);
    sim_copy_op(&op, &box, peer ? SIM_PEER : d, s, bytes);
    return sim_copy_end(call, r, &op, stream, wait);
}

/* name, suffixes and parameters of a pair; sides; stream. */
#define LINEAR(name, suffix, params, dst_side, dst, src_side, src, stream, wait)                             \
    SIM_PAIR(name, suffix, params, linear, dst_side, (uint64_t)(dst), src_side, (uint64_t)(src), bytes,      \
             stream, wait)

LINEAR(cuMemcpy, _ptds, (CUdeviceptr dst, CUdeviceptr src, size_t bytes), SIM_ANY, dst, SIM_ANY, src, NULL,
       true)
LINEAR(cuMemcpyAsync, _ptsz, (CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream), SIM_ANY, dst,
       SIM_ANY, src, stream, false)
LINEAR(cuMemcpyHtoD_v2, _ptds, (CUdeviceptr dst, const void *src, size_t bytes), SIM_DEVICE, dst, SIM_HOST,
       src, NULL, true)
LINEAR(cuMemcpyDtoH_v2, _ptds, (void *dst, CUdeviceptr src, size_t bytes), SIM_HOST, dst, SIM_DEVICE, src,
       NULL, true)
LINEAR(cuMemcpyDtoD_v2, _ptds, (CUdeviceptr dst, CUdeviceptr src, size_t bytes), SIM_DEVICE, dst, SIM_DEVICE,
       src, NULL, false)
LINEAR(cuMemcpyHtoDAsync_v2, _ptsz, (CUdeviceptr dst, const void *src, size_t bytes, CUstream stream),
       SIM_DEVICE, dst, SIM_HOST, src, stream, false)
LINEAR(cuMemcpyDtoHAsync_v2, _ptsz, (void *dst, CUdeviceptr src, size_t bytes, CUstream stream), SIM_HOST,
       dst, SIM_DEVICE, src, stream, false)
LINEAR(cuMemcpyDtoDAsync_v2, _ptsz, (CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream),
       SIM_DEVICE, dst, SIM_DEVICE, src, stream, false)

static CUresult peer(struct sim_call *call, CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src,
                     CUcontext src_context, size_t bytes, CUstream stream, bool wait)
{
    if (!sim_is(dst_context, SIM_CONTEXT) || !sim_is(src_context, SIM_CONTEXT)) {
        struct sim_op op = {0};
        CUresult r = sim_begin(call, SIM_NEED_INIT);
        sim_copy_op(&op, &(struct sim_copy){0}, SIM_PEER, SIM_DEVICE, bytes);
        return sim_copy_end(call, r ? r : CUDA_ERROR_INVALID_CONTEXT, &op, stream, false);
    }
    return linear(call, SIM_PEER, dst, SIM_DEVICE, src, bytes, stream, wait);
}
SIM_PAIR(cuMemcpyPeer, _ptds,
         (CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src, CUcontext src_context, size_t bytes), peer,
         dst, dst_context, src, src_context, bytes, NULL, false)
SIM_PAIR(cuMemcpyPeerAsync, _ptsz,
         (CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src, CUcontext src_context, size_t bytes,
          CUstream stream),
         peer, dst, dst_context, src, src_context, bytes, stream, false)

#if CUDA_VERSION >= 12080
/* Each copy of a batch is work, and a line, of its own. The batch is refused whole, before the first, if it
 * is not well formed. */
static CUresult batch(struct sim_call *call, const CUdeviceptr *dsts, const CUdeviceptr *srcs,
                      const size_t *sizes, size_t count, const size_t *attribute_starts,
                      size_t attribute_count, size_t *failed, CUstream handle)
{
    struct sim_stream *stream = NULL;
    CUresult r = sim_begin(call, SIM_NEED_CONTEXT);
    if (failed) *failed = SIZE_MAX;
    if (!r && (!count || !dsts || !srcs || !sizes || !attribute_starts || !attribute_count ||
               attribute_count > count))
        r = CUDA_ERROR_INVALID_VALUE;
    if (!r && handle == NULL) r = CUDA_ERROR_INVALID_VALUE; /* not for the default stream */
    if (!r) r = sim_stream_of(call, handle, &stream);
    for (size_t i = 0; !r && i < count; i++) {
        if (sim_map_find(dsts[i])) r = sim_check_range(dsts[i], sizes[i]);
        if (!r && sim_map_find(srcs[i])) r = sim_check_range(srcs[i], sizes[i]);
        if (r && failed) *failed = i;
    }
    for (size_t i = 0; !r && i < count; i++) {
        struct sim_op op = {0};
        struct sim_copy box = {.dst = (uint8_t *)(uintptr_t)dsts[i],
                               .src = (const uint8_t *)(uintptr_t)srcs[i],
                               .width = sizes[i],
                               .height = 1,
                               .depth = 1};
        sim_copy_op(&op, &box, sim_side_of(SIM_ANY, dsts[i]), sim_side_of(SIM_ANY, srcs[i]), sizes[i]);
        r = sim_submit(call, stream, &op);
        sim_submit_line(call, r, &op);
    }
    return sim_end(call, r, NULL);
}
SIM_PAIR(cuMemcpyBatchAsync, _ptsz,
         (CUdeviceptr * dsts, CUdeviceptr *srcs, size_t *sizes, size_t count, CUmemcpyAttributes *attributes,
          size_t *starts, size_t attribute_count, size_t *failed, CUstream stream),
         ((void)attributes, batch), dsts, srcs, sizes, count, starts, attribute_count, failed, stream)
#endif
#if CUDA_VERSION >= 13000
SIM_PAIR(cuMemcpyBatchAsync_v2, _ptsz,
         (CUdeviceptr * dsts, CUdeviceptr *srcs, size_t *sizes, size_t count, CUmemcpyAttributes *attributes,
          size_t *starts, size_t attribute_count, CUstream stream),
         ((void)attributes, batch), dsts, srcs, sizes, count, starts, attribute_count, NULL, stream)
#endif
