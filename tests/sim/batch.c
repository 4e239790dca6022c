/* Calls that do many things at once: words in memory, copies of boxes, prefetches. A batch is refused whole
 * if it is not well formed. */
#include "tests/sim/copy.h"

/* ---- words in memory ----------------------------------------------------------------------------------- */

static bool word_op(const CUstreamBatchMemOpParams *p, struct sim_op *op)
{
    bool wide =
        p->operation == CU_STREAM_MEM_OP_WRITE_VALUE_64 || p->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64;
    bool writes =
        p->operation == CU_STREAM_MEM_OP_WRITE_VALUE_32 || p->operation == CU_STREAM_MEM_OP_WRITE_VALUE_64;
    bool waits =
        p->operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 || p->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64;
    *op = (struct sim_op){.work = writes  ? SIM_W_WRITE_VALUE
                                  : waits ? SIM_W_WAIT_VALUE
                                          : SIM_W_NOTHING,
                          .u.value = {.address = (void *)(uintptr_t)p->waitValue.address,
                                      .value = wide ? p->waitValue.value64 : p->waitValue.value,
                                      .flags = p->waitValue.flags,
                                      .bytes = wide ? 8 : 4}};
    return writes || waits;
}

static CUresult words(struct sim_call *call, CUstream handle, unsigned count,
                      const CUstreamBatchMemOpParams *list, unsigned flags)
{
    struct sim_stream *stream;
    struct sim_op op;
    CUresult r = sim_begin(call, SIM_NEED_CONTEXT);
    if (!r && (!count || count > 256 || !list || flags)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) r = sim_stream_of(call, handle, &stream);
    for (unsigned i = 0; !r && i < count; i++)
        if (word_op(&list[i], &op)) r = sim_check_range(list[i].waitValue.address, op.u.value.bytes);
    for (unsigned i = 0; !r && i < count; i++) {
        word_op(&list[i], &op);
        r = sim_submit(call, stream, &op);
        sim_submit_line(call, r, &op);
    }
    return sim_end(call, r, NULL);
}
SIM_PAIR(cuStreamBatchMemOp, _ptsz,
         (CUstream stream, unsigned count, CUstreamBatchMemOpParams *list, unsigned flags), words, stream,
         count, list, flags)
SIM_PAIR(cuStreamBatchMemOp_v2, _ptsz,
         (CUstream stream, unsigned count, CUstreamBatchMemOpParams *list, unsigned flags), words, stream,
         count, list, flags)

/* ---- copies of boxes ----------------------------------------------------------------------------------- */

#if CUDA_VERSION >= 12080
static size_t element(const CUmemcpy3DOperand *side)
{
    if (side->type != CU_MEMCPY_OPERAND_TYPE_ARRAY || !sim_is(side->op.array.array, SIM_ARRAY)) return 0;
    const struct sim_array *a = (const struct sim_array *)side->op.array.array;
    return a->desc.Width ? a->row / a->desc.Width : 0;
}

/* The same copy in the words of cuMemcpy3D: extents are in elements of the array that takes part, else in
 * bytes. */
static CUDA_MEMCPY3D as_box(const CUDA_MEMCPY3D_BATCH_OP *p)
{
    size_t bytes = element(&p->src) ? element(&p->src) : element(&p->dst) ? element(&p->dst) : 1;
    CUDA_MEMCPY3D c = {
        .WidthInBytes = p->extent.width * bytes, .Height = p->extent.height, .Depth = p->extent.depth};
#define OPERAND(side)                                                                                        \
    if (p->side.type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {                                                      \
        c.side##MemoryType = CU_MEMORYTYPE_ARRAY;                                                            \
        c.side##Array = p->side.op.array.array;                                                              \
        c.side##XInBytes = p->side.op.array.offset.x * bytes;                                                \
        c.side##Y = p->side.op.array.offset.y;                                                               \
        c.side##Z = p->side.op.array.offset.z;                                                               \
    } else {                                                                                                 \
        c.side##MemoryType = CU_MEMORYTYPE_UNIFIED;                                                          \
        c.side##Device = p->side.op.ptr.ptr;                                                                 \
        c.side##Pitch = (p->side.op.ptr.rowLength ? p->side.op.ptr.rowLength : p->extent.width) * bytes;     \
        c.side##Height = p->side.op.ptr.layerHeight ? p->side.op.ptr.layerHeight : p->extent.height;         \
    }
    OPERAND(src)
    OPERAND(dst)
#undef OPERAND
    return c;
}

static CUresult boxes(struct sim_call *call, size_t count, const CUDA_MEMCPY3D_BATCH_OP *list, size_t *failed,
                      CUstream handle)
{
    struct sim_stream *stream;
    struct sim_op op;
    CUresult r = sim_begin(call, SIM_NEED_CONTEXT);
    if (failed) *failed = SIZE_MAX;
    if (!r && (!count || !list || !handle)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) r = sim_stream_of(call, handle, &stream);
    for (size_t i = 0; !r && i < count; i++) {
        CUDA_MEMCPY3D c = as_box(&list[i]);
        op = (struct sim_op){0};
        r = sim_copy_3d(&c, &op);
        if (r && failed) *failed = i;
    }
    for (size_t i = 0; !r && i < count; i++) {
        CUDA_MEMCPY3D c = as_box(&list[i]);
        op = (struct sim_op){0};
        r = sim_copy_3d(&c, &op);
        if (!r) r = sim_submit(call, stream, &op);
        sim_submit_line(call, r, &op);
    }
    return sim_end(call, r, NULL);
}
SIM_PAIR(cuMemcpy3DBatchAsync, _ptsz,
         (size_t count, CUDA_MEMCPY3D_BATCH_OP *list, size_t *failed, unsigned long long flags,
          CUstream stream),
         ((void)flags, boxes), count, list, failed, stream)
#endif

/* ---- managed memory ------------------------------------------------------------------------------------ */

#if CUDA_VERSION >= 13000
SIM_PAIR(cuMemcpy3DBatchAsync_v2, _ptsz,
         (size_t count, CUDA_MEMCPY3D_BATCH_OP *list, unsigned long long flags, CUstream stream),
         ((void)flags, boxes), count, list, NULL, stream)

/* Moves nothing: takes the time that it would take. */
static CUresult managed(struct sim_call *call, const CUdeviceptr *list, const size_t *sizes, size_t count,
                        CUstream handle)
{
    struct sim_stream *stream;
    struct sim_op op = {.work = SIM_W_NOTHING, .duration_ns = 1000};
    CUresult r = sim_begin(call, SIM_NEED_CONTEXT);
    if (!r && (!list || !sizes || !count)) r = CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; !r && i < count; i++) {
        const struct sim_storage *s = sim_map_find(list[i]);
        if (!s || s->kind != SIM_K_MANAGED) r = CUDA_ERROR_INVALID_VALUE;
        if (!r) r = sim_check_range(list[i], sizes[i]);
        op.duration_ns += sizes[i] / 16;
    }
    if (!r) r = sim_stream_of(call, handle, &stream);
    if (!r) r = sim_submit(call, stream, &op);
    return sim_submit_end(call, r, &op);
}
#define MANAGED_BATCH(name)                                                                                  \
    SIM_PAIR(name, _ptsz,                                                                                    \
             (CUdeviceptr * list, size_t * sizes, size_t count, CUmemLocation * locations, size_t * starts,  \
              size_t location_count, unsigned long long flags, CUstream stream),                             \
             ((void)locations, (void)starts, (void)location_count, (void)flags, managed), list, sizes,       \
             count, stream)
MANAGED_BATCH(cuMemPrefetchBatchAsync)
MANAGED_BATCH(cuMemDiscardAndPrefetchBatchAsync)
SIM_PAIR(cuMemDiscardBatchAsync, _ptsz,
         (CUdeviceptr * list, size_t *sizes, size_t count, unsigned long long flags, CUstream stream),
         ((void)flags, managed), list, sizes, count, stream)
#endif
