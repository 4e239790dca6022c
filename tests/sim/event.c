/* Events: real time stamps on the simulated timeline, read back as the float32 milliseconds that CUDA gives.
 */
#include <stdlib.h>

#include "tests/sim/internal.h"

CUresult CUDAAPI cuEventCreate(CUevent *out, unsigned flags)
{
    SIM_CALL(call);
    CUresult r = sim_begin(&call, SIM_NEED_CONTEXT);
    const unsigned known = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
    if (!r &&
        (!out || (flags & ~known) || ((flags & CU_EVENT_INTERPROCESS) && !(flags & CU_EVENT_DISABLE_TIMING))))
        r = CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        struct sim_event *e = sim_new(SIM_EVENT, sizeof *e);
        e->flags = flags;
        e->context = sim_current(&call);
        *out = (CUevent)e;
    }
    return sim_end(&call, r, NULL);
}

static CUresult destroy(struct sim_call *call, CUevent event)
{
    CUresult r = sim_begin(call, SIM_NEED_INIT);
    struct sim_event *e = (struct sim_event *)event;
    if (!r && !sim_is(e, SIM_EVENT)) r = CUDA_ERROR_INVALID_HANDLE;
    if (!r) {
        sim_fence_release(e->fence);
        free(e->nodes);
        sim_delete(e);
    }
    return sim_end(call, r, NULL);
}

CUresult CUDAAPI cuEventDestroy_v2(CUevent event)
{
    SIM_CALL(call);
    return destroy(&call, event);
}

CUresult CUDAAPI cuEventDestroy(CUevent event)
{
    SIM_CALL(call);
    return destroy(&call, event);
}

static CUresult record(struct sim_call *call, CUevent event, CUstream handle, unsigned flags)
{
    struct sim_stream *s = NULL;
    struct sim_event *e = (struct sim_event *)event;
    struct sim_op op = {.work = SIM_W_RECORD, .u.event = e};
    struct sim_line line = {.op = SIM_L_EVENT};
    CUresult r;
    sim_spend(sim.record_cost_ns);
    r = sim_begin(call, SIM_NEED_INIT);
    if (!r && (flags & ~(unsigned)CU_EVENT_RECORD_EXTERNAL)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r && !sim_is(e, SIM_EVENT)) r = CUDA_ERROR_INVALID_HANDLE;
    if (!r) r = sim_stream_of(call, handle, &s);
    if (!r && e->context != s->context) r = CUDA_ERROR_INVALID_HANDLE;
    if (!r && s->capture)
        r = sim_capture_record(call, s, e, flags);
    else if (!r)
        r = sim_submit(call, s, &op);
    if (!sim.ledger_events || !s) return sim_end(call, r, NULL);
    line.context = s->context;
    line.device = s->context->device;
    line.stream = sim_stream_handle(s);
    line.has_stream = true;
    line.kind = s->capture ? "captured" : "plain";
    return sim_end(call, r, &line);
}
SIM_PAIR(cuEventRecord, _ptsz, (CUevent event, CUstream stream), record, event, stream, 0)
SIM_PAIR(cuEventRecordWithFlags, _ptsz, (CUevent event, CUstream stream, unsigned flags), record, event,
         stream, flags)

static bool is_done(const struct sim_event *e)
{
    return !e->recorded || ((!e->fence || e->fence->done) && e->end_ns <= sim_now());
}

CUresult CUDAAPI cuEventQuery(CUevent event)
{
    SIM_CALL(call);
    struct sim_event *e = (struct sim_event *)event;
    sim_spend(sim.read_cost_ns);
    CUresult r = sim_begin(&call, SIM_NEED_INIT | SIM_NEED_UNCAPTURED);
    if (!r && !sim_is(e, SIM_EVENT)) r = CUDA_ERROR_INVALID_HANDLE;
    if (!r && e->capture) r = CUDA_ERROR_CAPTURED_EVENT;
    if (!r && !is_done(e)) r = CUDA_ERROR_NOT_READY;
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuEventSynchronize(CUevent event)
{
    SIM_CALL(call);
    struct sim_event *e = (struct sim_event *)event;
    CUresult r = sim_begin(&call, SIM_NEED_INIT | SIM_NEED_UNCAPTURED);
    if (!r && !sim_is(e, SIM_EVENT)) r = CUDA_ERROR_INVALID_HANDLE;
    if (!r && e->capture) r = CUDA_ERROR_CAPTURED_EVENT;
    if (!r && e->recorded) {
        sim_fence_wait(e->fence);
        sim_sleep_until(e->end_ns);
        sim_pools_settle(e->context->device);
    }
    return sim_end(&call, r, NULL);
}

/* The time stamp of an event, no finer than events have it. */
static int64_t stamp(const struct sim_event *e)
{
    return (int64_t)(e->end_ns - e->end_ns % sim.event_step_ns);
}

static CUresult elapsed(struct sim_call *call, float *out, CUevent from, CUevent to)
{
    struct sim_event *a = (struct sim_event *)from, *b = (struct sim_event *)to;
    sim_spend(sim.read_cost_ns);
    CUresult r = sim_begin(call, SIM_NEED_INIT);
    if (!r && !out) r = CUDA_ERROR_INVALID_VALUE;
    if (!r && (!sim_is(a, SIM_EVENT) || !sim_is(b, SIM_EVENT))) r = CUDA_ERROR_INVALID_HANDLE;
    if (!r && (a->capture || b->capture)) r = CUDA_ERROR_CAPTURED_EVENT;
    if (!r && (!a->recorded || !b->recorded || ((a->flags | b->flags) & CU_EVENT_DISABLE_TIMING) ||
               a->context->device != b->context->device))
        r = CUDA_ERROR_INVALID_HANDLE;
    if (!r && (!is_done(a) || !is_done(b))) r = CUDA_ERROR_NOT_READY;
    if (!r) *out = (float)((double)(stamp(b) - stamp(a)) / 1e6);
    return sim_end(call, r, NULL);
}

CUresult CUDAAPI cuEventElapsedTime(float *ms, CUevent from, CUevent to)
{
    SIM_CALL(call);
    return elapsed(&call, ms, from, to);
}

#if CUDA_VERSION >= 12080
CUresult CUDAAPI cuEventElapsedTime_v2(float *ms, CUevent from, CUevent to)
{
    SIM_CALL(call);
    return elapsed(&call, ms, from, to);
}
#endif
