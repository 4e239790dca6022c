/* Contexts: the stack of each thread, primary contexts, limits, what dies with a context. */
#include <string.h>

#include "tests/sim/internal.h"

static const struct {
    CUlimit limit;
    size_t value;
} limit_defaults[] = {
    {CU_LIMIT_STACK_SIZE, 1024},
    {CU_LIMIT_PRINTF_FIFO_SIZE, 8 << 20},
    {CU_LIMIT_MALLOC_HEAP_SIZE, 8 << 20},
    {CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH, 2},
    {CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, 2048},
    {CU_LIMIT_MAX_L2_FETCH_GRANULARITY, 64},
};

struct sim_context *sim_context_new(int device, unsigned flags, bool primary)
{
    struct sim_context *c = sim_new(SIM_CONTEXT, sizeof *c);
    c->device = device;
    c->flags = flags;
    c->primary = primary;
    c->id = sim.next_id++;
    for (size_t i = 0; i < sizeof limit_defaults / sizeof *limit_defaults; i++)
        c->limits[limit_defaults[i].limit] = limit_defaults[i].value;
    c->legacy = sim_stream_new(c, CU_STREAM_DEFAULT, 0);
    c->next = sim.contexts;
    sim.contexts = c;
    return c;
}

/* Frees what lives in the context, each with a line that says why. Handles of modules and events go stale by
 * themselves. */
static void free_storages(struct sim_call *call, const struct sim_context *context, const char *reason)
{
    for (size_t i = sim_map_count(); i-- > 0;) {
        struct sim_storage *s = sim_map_at(i);
        if (s->context != context) continue;
        if (s->kind == SIM_K_MODULE) {
            sim_storage_free(s);
            continue;
        }
        struct sim_line line = {.reason = reason};
        sim_line_of(&line, SIM_L_FREE, s);
        sim_ledger_write(call, &line, CUDA_SUCCESS);
        sim_storage_free(s);
    }
}

void sim_context_destroy(struct sim_call *call, struct sim_context *context, const char *reason)
{
    sim_wait_context(context);
    sim_modules_forget(context);
    free_storages(call, context, reason);
    while (context->streams)
        sim_stream_free(context->streams);
    for (struct sim_context **p = &sim.contexts; *p; p = &(*p)->next)
        if (*p == context) {
            *p = context->next;
            break;
        }
    sim_delete(context);
}

struct sim_context *sim_primary(int device)
{
    struct sim_device *d = &sim.devices[device];
    if (!d->primary) d->primary = sim_context_new(device, d->primary_flags, true);
    return d->primary;
}

static CUresult create(struct sim_call *call, CUcontext *out, unsigned flags, CUdevice device)
{
    CUresult r = sim_begin(call, SIM_NEED_INIT);
    if (!r && !out) r = CUDA_ERROR_INVALID_VALUE;
    if (!r && (device < 0 || device >= sim.device_count)) r = CUDA_ERROR_INVALID_DEVICE;
    if (!r && call->thread->depth == SIM_MAX_STACK) r = CUDA_ERROR_OUT_OF_MEMORY;
    if (!r) {
        struct sim_context *c = sim_context_new(device, flags, false);
        call->thread->stack[call->thread->depth++] = c;
        *out = (CUcontext)c;
    }
    return sim_end(call, r, NULL);
}

CUresult CUDAAPI cuCtxCreate_v2(CUcontext *out, unsigned flags, CUdevice device)
{
    SIM_CALL(call);
    return create(&call, out, flags, device);
}

CUresult CUDAAPI cuCtxCreate_v3(CUcontext *out, CUexecAffinityParam *affinity, int count, unsigned flags,
                                CUdevice device)
{
    SIM_CALL(call);
    (void)affinity;
    (void)count;
    return create(&call, out, flags, device);
}

#if CUDA_VERSION >= 12050
CUresult CUDAAPI cuCtxCreate_v4(CUcontext *out, CUctxCreateParams *params, unsigned flags, CUdevice device)
{
    SIM_CALL(call);
    (void)params;
    return create(&call, out, flags, device);
}
#endif

CUresult CUDAAPI cuCtxDestroy_v2(CUcontext context)
{
    SIM_CALL(call);
    struct sim_context *c = (struct sim_context *)context;
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    if (!r && (!sim_is(c, SIM_CONTEXT) || c->primary)) r = CUDA_ERROR_INVALID_CONTEXT;
    if (!r) {
        if (sim_current(&call) == c) call.thread->depth--;
        sim_context_destroy(&call, c, "ctx_destroy");
    }
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuCtxPushCurrent_v2(CUcontext context)
{
    SIM_CALL(call);
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    if (!r && !sim_is(context, SIM_CONTEXT)) r = CUDA_ERROR_INVALID_CONTEXT;
    if (!r && call.thread->depth == SIM_MAX_STACK) r = CUDA_ERROR_OUT_OF_MEMORY;
    if (!r) call.thread->stack[call.thread->depth++] = (struct sim_context *)context;
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuCtxPopCurrent_v2(CUcontext *out)
{
    SIM_CALL(call);
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    if (!r && !call.thread->depth) r = CUDA_ERROR_INVALID_CONTEXT;
    if (!r) {
        struct sim_context *c = call.thread->stack[--call.thread->depth];
        if (out) *out = (CUcontext)c;
    }
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuCtxSetCurrent(CUcontext context)
{
    SIM_CALL(call);
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    if (!r && context && !sim_is(context, SIM_CONTEXT)) r = CUDA_ERROR_INVALID_CONTEXT;
    if (!r) {
        if (call.thread->depth) call.thread->depth--;
        if (context) call.thread->stack[call.thread->depth++] = (struct sim_context *)context;
    }
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuCtxGetCurrent(CUcontext *out)
{
    SIM_CALL(call);
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    if (!r && !out) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) *out = (CUcontext)sim_current(&call);
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuCtxGetDevice(CUdevice *out)
{
    SIM_CALL(call);
    CUresult r = sim_begin(&call, SIM_NEED_CONTEXT);
    if (!r && !out) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) *out = sim_current(&call)->device;
    return sim_end(&call, r, NULL);
}

/* The context that a call names: `context`, or the current one where it is NULL. */
static CUresult named(struct sim_call *call, CUcontext context, struct sim_context **out)
{
    *out = context ? (struct sim_context *)context : sim_current(call);
    return sim_is(*out, SIM_CONTEXT) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

#if CUDA_VERSION >= 13000
CUresult CUDAAPI cuCtxGetDevice_v2(CUdevice *out, CUcontext context)
{
    SIM_CALL(call);
    struct sim_context *c;
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    if (!r && !out) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) r = named(&call, context, &c);
    if (!r) *out = c->device;
    return sim_end(&call, r, NULL);
}
#endif

#if CUDA_VERSION >= 12000
CUresult CUDAAPI cuCtxGetId(CUcontext context, unsigned long long *id)
{
    SIM_CALL(call);
    struct sim_context *c;
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    if (!r && !id) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) r = named(&call, context, &c);
    if (!r) *id = c->id;
    return sim_end(&call, r, NULL);
}
#endif

CUresult CUDAAPI cuCtxGetApiVersion(CUcontext context, unsigned *version)
{
    SIM_CALL(call);
    struct sim_context *c;
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    if (!r && !version) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) r = named(&call, context, &c);
    if (!r) *version = 3020;
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuCtxGetFlags(unsigned *flags)
{
    SIM_CALL(call);
    CUresult r = sim_begin(&call, SIM_NEED_CONTEXT);
    if (!r && !flags) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) *flags = sim_current(&call)->flags;
    return sim_end(&call, r, NULL);
}

static CUresult synchronize(struct sim_call *call, CUcontext context)
{
    struct sim_context *c;
    CUresult r = sim_begin(call, SIM_NEED_INIT | SIM_NEED_UNCAPTURED);
    if (!r) r = named(call, context, &c);
    if (!r) r = sim_capture_forbids_context(c);
    if (!r) {
        sim_wait_context(c);
        sim_pools_settle(c->device);
    }
    return sim_end(call, r, NULL);
}

CUresult CUDAAPI cuCtxSynchronize(void)
{
    SIM_CALL(call);
    CUresult r = synchronize(&call, NULL);
    if (!r) sim_jump();
    return r;
}

#if CUDA_VERSION >= 13000
CUresult CUDAAPI cuCtxSynchronize_v2(CUcontext context)
{
    SIM_CALL(call);
    return synchronize(&call, context);
}
#endif

CUresult CUDAAPI cuCtxSetLimit(CUlimit limit, size_t value)
{
    SIM_CALL(call);
    CUresult r = sim_begin(&call, SIM_NEED_CONTEXT);
    if (!r && limit >= CU_LIMIT_MAX) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) sim_current(&call)->limits[limit] = value;
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuCtxGetLimit(size_t *value, CUlimit limit)
{
    SIM_CALL(call);
    CUresult r = sim_begin(&call, SIM_NEED_CONTEXT);
    if (!r && (!value || limit >= CU_LIMIT_MAX)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) *value = sim_current(&call)->limits[limit];
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    SIM_CALL(call);
    CUresult r = sim_begin(&call, SIM_NEED_CONTEXT);
    if (!r && least) *least = 0;
    if (!r && greatest) *greatest = -5;
    return sim_end(&call, r, NULL);
}

/* ---- primary contexts ---------------------------------------------------------------------------------- */

static CUresult begin_with_device(struct sim_call *call, CUdevice device)
{
    CUresult r = sim_begin(call, SIM_NEED_INIT);
    if (!r && (device < 0 || device >= sim.device_count)) r = CUDA_ERROR_INVALID_DEVICE;
    return r;
}

CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice device)
{
    SIM_CALL(call);
    CUresult r = begin_with_device(&call, device);
    if (!r && !out) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        *out = (CUcontext)sim_primary(device);
        sim.devices[device].primary_references++;
    }
    return sim_end(&call, r, NULL);
}

static void reset(struct sim_call *call, CUdevice device)
{
    struct sim_device *d = &sim.devices[device];
    if (d->primary) sim_context_destroy(call, d->primary, "primary_reset");
    d->primary = NULL;
}

CUresult CUDAAPI cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    SIM_CALL(call);
    CUresult r = begin_with_device(&call, device);
    if (!r && !sim.devices[device].primary_references) r = CUDA_ERROR_INVALID_CONTEXT;
    if (!r && --sim.devices[device].primary_references == 0) reset(&call, device);
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuDevicePrimaryCtxReset_v2(CUdevice device)
{
    SIM_CALL(call);
    CUresult r = begin_with_device(&call, device);
    if (!r) reset(&call, device); /* not a release: cuda.h asks for one all the same */
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags)
{
    SIM_CALL(call);
    CUresult r = begin_with_device(&call, device);
    if (!r) {
        sim.devices[device].primary_flags = flags;
        if (sim.devices[device].primary) sim.devices[device].primary->flags = flags;
    }
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active)
{
    SIM_CALL(call);
    CUresult r = begin_with_device(&call, device);
    if (!r && (!flags || !active)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        *flags = sim.devices[device].primary_flags;
        *active = sim.devices[device].primary != NULL;
    }
    return sim_end(&call, r, NULL);
}
