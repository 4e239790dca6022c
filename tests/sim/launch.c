/* Kernel launches: plain, with attributes, cooperative. */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/internal.h"

/* The parameters copied: one block of pointers, followed by the values. They come one by one, or packed in a
 * buffer. */
void **sim_kernel_args(const struct sim_function *f, void **params, const uint8_t *buffer)
{
    size_t bytes = 0;
    for (size_t i = 0; i < f->param_count; i++)
        bytes += sim_round(f->params[i].bytes, 16);
    void **args = sim_alloc((f->param_count + 2) * sizeof *args + bytes + 16);
    uintptr_t at = sim_round((uintptr_t)(args + f->param_count + 1), 16);
    for (size_t i = 0; i < f->param_count; i++) {
        const void *from = buffer ? buffer + f->params[i].offset : params[i];
        args[i] = memcpy((void *)at, from, f->params[i].bytes);
        at += sim_round(f->params[i].bytes, 16);
    }
    return args;
}

/* The packed parameters of `extra` (CU_LAUNCH_PARAM_BUFFER_POINTER), or NULL. */
static const uint8_t *packed(void **extra)
{
    for (size_t i = 0; extra && extra[i] != CU_LAUNCH_PARAM_END; i += 2)
        if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER) return extra[i + 1];
    return NULL;
}

CUresult sim_kernel_op(const struct sim_function *f, const unsigned grid[3], const unsigned block[3],
                       unsigned shared, void **params, void **extra, bool keep, struct sim_op *op)
{
    const uint8_t *buffer = packed(extra);
    uint64_t threads = (uint64_t)block[0] * block[1] * block[2];
    if (!grid[0] || !grid[1] || !grid[2] || !threads || threads > 1024 || block[2] > 64 ||
        grid[0] > 2147483647u || grid[1] > 65535 || grid[2] > 65535 || (params && extra) ||
        (int)shared > f->attributes[CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES])
        return CUDA_ERROR_INVALID_VALUE;
    if (f->host && f->param_count && !params && !buffer) return CUDA_ERROR_INVALID_VALUE;
    op->work = SIM_W_KERNEL;
    op->duration_ns = sim.kernel_ns;
    op->u.kernel.function = (struct sim_function *)(uintptr_t)f;
    op->u.kernel.host = f->host;
    op->u.kernel.args = f->host || (keep && (params || buffer)) ? sim_kernel_args(f, params, buffer) : NULL;
    return CUDA_SUCCESS;
}

static CUresult launch(struct sim_call *call, CUfunction function, const unsigned grid[3],
                       const unsigned block[3], unsigned shared, CUstream handle, void **params, void **extra)
{
    const struct sim_function *f = (const struct sim_function *)function;
    struct sim_stream *stream = NULL;
    struct sim_op op = {.has_line = true,
                        .line = {.op = SIM_L_LAUNCH,
                                 .device = -1,
                                 .grid = {grid[0], grid[1], grid[2]},
                                 .block = {block[0], block[1], block[2]},
                                 .shared = shared}};
    CUresult r = sim_begin(call, SIM_NEED_CONTEXT);
    bool known = sim_is(f, SIM_FUNCTION) || sim_is(f, SIM_KERNEL_HANDLE);
    if (known) op.line.name = f->name;
    if (!r && !known) r = CUDA_ERROR_INVALID_HANDLE;
    if (!r) r = sim_stream_of(call, handle, &stream);
    if (stream) {
        op.line.device = stream->context->device;
        op.line.context = stream->context;
        op.line.stream = sim_stream_handle(stream);
        op.line.has_stream = true;
    }
    if (!r) r = sim_kernel_op(f, grid, block, shared, params, extra, stream->capture != NULL, &op);
    if (!r) r = sim_submit(call, stream, &op);
    return sim_submit_end(call, r, &op);
}

#define DIMENSIONS                                                                                           \
    unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,           \
        CUstream stream
#define GRID  ((const unsigned[3]){gx, gy, gz})
#define BLOCK ((const unsigned[3]){bx, by, bz})

SIM_PAIR(cuLaunchKernel, _ptsz, (CUfunction f, DIMENSIONS, void **params, void **extra), launch, f, GRID,
         BLOCK, shared, stream, params, extra)
SIM_PAIR(cuLaunchCooperativeKernel, _ptsz, (CUfunction f, DIMENSIONS, void **params), launch, f, GRID, BLOCK,
         shared, stream, params, NULL)

#if CUDA_VERSION >= 11080
static CUresult launch_ex(struct sim_call *call, const CUlaunchConfig *c, CUfunction f, void **params,
                          void **extra)
{
    static const unsigned none[3];
    if (!c) return launch(call, NULL, none, none, 0, NULL, params, extra);
    return launch(call, f, (const unsigned[3]){c->gridDimX, c->gridDimY, c->gridDimZ},
                  (const unsigned[3]){c->blockDimX, c->blockDimY, c->blockDimZ}, c->sharedMemBytes,
                  c->hStream, params, extra);
}
SIM_PAIR(cuLaunchKernelEx, _ptsz, (const CUlaunchConfig *config, CUfunction f, void **params, void **extra),
         launch_ex, config, f, params, extra)
#endif

CUresult CUDAAPI cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction f, int threads,
                                                             size_t shared)
{
    SIM_CALL(call);
    (void)shared;
    CUresult r = sim_begin(&call, SIM_NEED_CONTEXT);
    if (!r && (!blocks || threads <= 0)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r && !sim_is(f, SIM_FUNCTION) && !sim_is(f, SIM_KERNEL_HANDLE)) r = CUDA_ERROR_INVALID_HANDLE;
    if (!r) *blocks = 2048 / threads < 32 ? 2048 / threads : 32;
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, CUfunction f, int threads,
                                                                      size_t shared, unsigned flags)
{
    SIM_CALL(call);
    (void)shared;
    CUresult r = sim_begin(&call, SIM_NEED_CONTEXT);
    if (!r && (!blocks || threads <= 0 || flags > 1)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r && !sim_is(f, SIM_FUNCTION) && !sim_is(f, SIM_KERNEL_HANDLE)) r = CUDA_ERROR_INVALID_HANDLE;
    if (!r) *blocks = 2048 / threads < 32 ? 2048 / threads : 32;
    return sim_end(&call, r, NULL);
}
