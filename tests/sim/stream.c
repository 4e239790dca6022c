/* Streams: the two default ones, blocking and non-blocking, priorities, synchronisation. */
#include <stdlib.h>

#include "tests/sim/internal.h"

struct sim_stream *sim_stream_new(struct sim_context *context, unsigned flags, int priority)
{
    struct sim_stream *s = sim_new(SIM_STREAM, sizeof *s);
    s->context = context;
    s->flags = flags;
    s->priority = priority;
    s->id = sim.next_id++;
    s->next = context->streams;
    if (s->next) s->next->prev = s;
    context->streams = s;
    return s;
}

/* Takes the stream out of its context. Work that still waits is done by its worker, which then deletes the
 * stream. */
void sim_stream_free(struct sim_stream *stream)
{
    if (stream->capture) sim_capture_stop(stream);
    if (stream->prev)
        stream->prev->next = stream->next;
    else
        stream->context->streams = stream->next;
    if (stream->next) stream->next->prev = stream->prev;
    struct sim_thread *owner = stream->owner;
    for (size_t i = 0; owner && i < sizeof owner->per_thread / sizeof *owner->per_thread; i++)
        if (owner->per_thread[i] == stream) owner->per_thread[i] = NULL;
    if (stream->has_worker) {
        stream->object.magic = SIM_OP; /* no handle any more, and not to be reused yet */
        stream->closing = true;
        pthread_cond_signal(&stream->wake);
        return;
    }
    sim_fence_release(stream->fence);
    sim_delete(stream);
}

static struct sim_stream *per_thread(struct sim_call *call, struct sim_context *context)
{
    struct sim_stream **slot = NULL, **list = call->thread->per_thread;
    for (size_t i = 0; i < sizeof call->thread->per_thread / sizeof *list; i++) {
        if (list[i] && list[i]->context == context) return list[i];
        if (!list[i] && !slot) slot = &list[i];
    }
    if (!slot) return NULL;
    *slot = sim_stream_new(context, CU_STREAM_DEFAULT, 0);
    (*slot)->owner = call->thread;
    return *slot;
}

CUresult sim_stream_of(struct sim_call *call, CUstream handle, struct sim_stream **out)
{
    struct sim_context *context = sim_current(call);
    if (!handle) handle = call->null_stream;
    if (handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD) {
        if (!context) return CUDA_ERROR_INVALID_CONTEXT;
        *out = handle == CU_STREAM_LEGACY ? context->legacy : per_thread(call, context);
        return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (!sim_is(handle, SIM_STREAM)) return CUDA_ERROR_INVALID_HANDLE;
    *out = (struct sim_stream *)handle;
    return CUDA_SUCCESS;
}

CUstream sim_stream_handle(const struct sim_stream *stream)
{
    if (stream == stream->context->legacy) return CU_STREAM_LEGACY;
    return stream->owner ? CU_STREAM_PER_THREAD : (CUstream)stream;
}

static CUresult create(struct sim_call *call, CUstream *out, unsigned flags, int priority)
{
    CUresult r = sim_begin(call, SIM_NEED_CONTEXT);
    if (!r && (!out || (flags & ~(unsigned)CU_STREAM_NON_BLOCKING))) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        if (priority > 0) priority = 0;
        if (priority < -5) priority = -5;
        *out = (CUstream)sim_stream_new(sim_current(call), flags, priority);
    }
    return sim_end(call, r, NULL);
}

CUresult CUDAAPI cuStreamCreate(CUstream *out, unsigned flags)
{
    SIM_CALL(call);
    return create(&call, out, flags, 0);
}

CUresult CUDAAPI cuStreamCreateWithPriority(CUstream *out, unsigned flags, int priority)
{
    SIM_CALL(call);
    return create(&call, out, flags, priority);
}

static CUresult destroy(struct sim_call *call, CUstream handle)
{
    CUresult r = sim_begin(call, SIM_NEED_INIT);
    if (!r && !sim_is(handle, SIM_STREAM)) r = CUDA_ERROR_INVALID_HANDLE;
    if (!r) sim_stream_free((struct sim_stream *)handle);
    return sim_end(call, r, NULL);
}

CUresult CUDAAPI cuStreamDestroy_v2(CUstream handle)
{
    SIM_CALL(call);
    return destroy(&call, handle);
}

CUresult CUDAAPI cuStreamDestroy(CUstream handle)
{
    SIM_CALL(call);
    return destroy(&call, handle);
}

static CUresult begin_with_stream(struct sim_call *call, CUstream handle, struct sim_stream **stream)
{
    CUresult r = sim_begin(call, SIM_NEED_INIT);
    return r ? r : sim_stream_of(call, handle, stream);
}

static CUresult synchronize(struct sim_call *call, CUstream handle)
{
    struct sim_stream *s;
    CUresult r = begin_with_stream(call, handle, &s);
    if (!r) r = sim_capture_forbids_stream(call, s);
    if (!r) {
        sim_wait_stream(s);
        sim_pools_settle(s->context->device);
    }
    return sim_end(call, r, NULL);
}
SIM_PAIR(cuStreamSynchronize, _ptsz, (CUstream stream), synchronize, stream)

static CUresult query(struct sim_call *call, CUstream handle)
{
    struct sim_stream *s;
    CUresult r = begin_with_stream(call, handle, &s);
    if (!r) r = sim_capture_forbids_stream(call, s);
    if (!r && !sim_stream_idle(s)) r = CUDA_ERROR_NOT_READY;
    return sim_end(call, r, NULL);
}
SIM_PAIR(cuStreamQuery, _ptsz, (CUstream stream), query, stream)

static CUresult wait_event(struct sim_call *call, CUstream handle, CUevent event, unsigned flags)
{
    struct sim_stream *s;
    struct sim_event *e = (struct sim_event *)event;
    CUresult r = begin_with_stream(call, handle, &s);
    if (!r && (flags & ~(unsigned)CU_EVENT_WAIT_EXTERNAL)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r && !sim_is(e, SIM_EVENT)) r = CUDA_ERROR_INVALID_HANDLE;
    if (!r && (e->capture || s->capture)) {
        r = sim_capture_wait(call, s, e);
    } else if (!r && e->recorded) {
        struct sim_op op = {.work = SIM_W_NOTHING};
        r = sim_submit_after(call, s, &op, e->fence, e->end_ns);
    }
    return sim_end(call, r, NULL);
}
SIM_PAIR(cuStreamWaitEvent, _ptsz, (CUstream stream, CUevent event, unsigned flags), wait_event, stream,
         event, flags)

static CUresult get_flags(struct sim_call *call, CUstream handle, unsigned *flags)
{
    struct sim_stream *s;
    CUresult r = begin_with_stream(call, handle, &s);
    if (!r && !flags) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) *flags = s->flags;
    return sim_end(call, r, NULL);
}
SIM_PAIR(cuStreamGetFlags, _ptsz, (CUstream stream, unsigned *flags), get_flags, stream, flags)

static CUresult get_priority(struct sim_call *call, CUstream handle, int *priority)
{
    struct sim_stream *s;
    CUresult r = begin_with_stream(call, handle, &s);
    if (!r && !priority) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) *priority = s->priority;
    return sim_end(call, r, NULL);
}
SIM_PAIR(cuStreamGetPriority, _ptsz, (CUstream stream, int *priority), get_priority, stream, priority)

static CUresult get_context(struct sim_call *call, CUstream handle, CUcontext *context)
{
    struct sim_stream *s;
    CUresult r = begin_with_stream(call, handle, &s);
    if (!r && !context) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) *context = (CUcontext)s->context;
    return sim_end(call, r, NULL);
}
SIM_PAIR(cuStreamGetCtx, _ptsz, (CUstream stream, CUcontext *context), get_context, stream, context)

#if CUDA_VERSION >= 12000
static CUresult get_id(struct sim_call *call, CUstream handle, unsigned long long *id)
{
    struct sim_stream *s;
    CUresult r = begin_with_stream(call, handle, &s);
    if (!r && !id) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) *id = s->id;
    return sim_end(call, r, NULL);
}
SIM_PAIR(cuStreamGetId, _ptsz, (CUstream stream, unsigned long long *id), get_id, stream, id)
#endif

#if CUDA_VERSION >= 12080
static CUresult get_device(struct sim_call *call, CUstream handle, CUdevice *device)
{
    struct sim_stream *s;
    CUresult r = begin_with_stream(call, handle, &s);
    if (!r && !device) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) *device = s->context->device;
    return sim_end(call, r, NULL);
}
SIM_PAIR(cuStreamGetDevice, _ptsz, (CUstream stream, CUdevice *device), get_device, stream, device)
#endif

static CUresult attach(struct sim_call *call, CUstream handle, CUdeviceptr address, size_t length,
                       unsigned flags)
{
    struct sim_stream *s;
    CUresult r = begin_with_stream(call, handle, &s);
    const struct sim_storage *storage = r ? NULL : sim_map_find(address);
    (void)length;
    if (!r && (!storage || storage->kind != SIM_K_MANAGED || !flags)) r = CUDA_ERROR_INVALID_VALUE;
    return sim_end(call, r, NULL);
}
SIM_PAIR(cuStreamAttachMemAsync, _ptsz, (CUstream stream, CUdeviceptr address, size_t length, unsigned flags),
         attach, stream, address, length, flags)

/* ---- host functions and values ------------------------------------------------------------------------- */

static CUresult launch_host(struct sim_call *call, CUstream handle, CUhostFn fn, void *data)
{
    struct sim_stream *s;
    CUresult r = begin_with_stream(call, handle, &s);
    struct sim_op op = {.work = SIM_W_HOST, .u.host = {.fn = fn, .data = data}};
    if (!r && !fn) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) r = sim_submit(call, s, &op);
    return sim_submit_end(call, r, &op);
}
SIM_PAIR(cuLaunchHostFunc, _ptsz, (CUstream stream, CUhostFn fn, void *data), launch_host, stream, fn, data)

static CUresult add_callback(struct sim_call *call, CUstream handle, CUstreamCallback callback, void *data,
                             unsigned flags)
{
    struct sim_stream *s;
    CUresult r = begin_with_stream(call, handle, &s);
    struct sim_op op = {.work = SIM_W_HOST, .u.host = {.callback = callback, .stream = handle, .data = data}};
    if (!r && (!callback || flags)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r && s->capture) r = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (!r) r = sim_submit(call, s, &op);
    return sim_submit_end(call, r, &op);
}
SIM_PAIR(cuStreamAddCallback, _ptsz, (CUstream stream, CUstreamCallback callback, void *data, unsigned flags),
         add_callback, stream, callback, data, flags)

static CUresult value(struct sim_call *call, CUstream handle, enum sim_work work, CUdeviceptr address,
                      uint64_t v, unsigned flags, unsigned bytes)
{
    struct sim_stream *s;
    CUresult r = begin_with_stream(call, handle, &s);
    struct sim_op op = {
        .work = work,
        .u.value = {.address = (void *)(uintptr_t)address, .value = v, .flags = flags, .bytes = bytes}};
    if (!r && (address & (bytes - 1))) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) r = sim_check_range(address, bytes);
    if (!r) r = sim_submit(call, s, &op);
    return sim_submit_end(call, r, &op);
}
#define VALUE_FORMS(name, type, work, bytes)                                                                 \
    SIM_PAIR(name, _ptsz, (CUstream stream, CUdeviceptr address, type v, unsigned flags), value, stream,     \
             work, address, v, flags, bytes)
VALUE_FORMS(cuStreamWriteValue32, cuuint32_t, SIM_W_WRITE_VALUE, 4)
VALUE_FORMS(cuStreamWriteValue64, cuuint64_t, SIM_W_WRITE_VALUE, 8)
VALUE_FORMS(cuStreamWaitValue32, cuuint32_t, SIM_W_WAIT_VALUE, 4)
VALUE_FORMS(cuStreamWaitValue64, cuuint64_t, SIM_W_WAIT_VALUE, 8)
VALUE_FORMS(cuStreamWriteValue32_v2, cuuint32_t, SIM_W_WRITE_VALUE, 4)
VALUE_FORMS(cuStreamWriteValue64_v2, cuuint64_t, SIM_W_WRITE_VALUE, 8)
VALUE_FORMS(cuStreamWaitValue32_v2, cuuint32_t, SIM_W_WAIT_VALUE, 4)
VALUE_FORMS(cuStreamWaitValue64_v2, cuuint64_t, SIM_W_WAIT_VALUE, 8)
