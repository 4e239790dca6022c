/* What other processes, other APIs and several devices share beyond memory: semaphores and events by handle,
 * which are always ready here, and multicast objects, which reach nothing. */
#include <string.h>
#include <unistd.h>

#include "tests/sim/internal.h"

/* ---- semaphores ---------------------------------------------------------------------------------------- */

struct semaphore {
    struct sim_object object;
    int fd;
};

/* A successful import takes the descriptor over, as documented. */
CUresult CUDAAPI cuImportExternalSemaphore(CUexternalSemaphore *out,
                                           const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC *d)
{
    SIM_CALL(call);
    CUresult r = sim_begin(&call, SIM_NEED_CONTEXT);
    if (!r && (!out || !d)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r && d->type != CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD) r = CUDA_ERROR_NOT_SUPPORTED;
    if (!r) {
        struct semaphore *s = sim_new(SIM_SEMAPHORE, sizeof *s);
        s->fd = d->handle.fd;
        *out = (CUexternalSemaphore)s;
    }
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuDestroyExternalSemaphore(CUexternalSemaphore semaphore)
{
    SIM_CALL(call);
    struct semaphore *s = (struct semaphore *)semaphore;
    CUresult r = sim_begin(&call, SIM_NEED_INIT);
    if (!r && !sim_is(s, SIM_SEMAPHORE)) r = CUDA_ERROR_INVALID_HANDLE;
    if (!r) {
        close(s->fd);
        sim_delete(s);
    }
    return sim_end(&call, r, NULL);
}

/* Work of a microsecond, whether they are signalled or waited for. */
static CUresult semaphores(struct sim_call *call, const CUexternalSemaphore *list, const void *params,
                           unsigned count, CUstream handle)
{
    struct sim_stream *stream;
    struct sim_op op = {.work = SIM_W_NOTHING, .duration_ns = 1000};
    CUresult r = sim_begin(call, SIM_NEED_CONTEXT);
    if (!r && (!list || !params || !count)) r = CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; !r && i < count; i++)
        if (!sim_is(list[i], SIM_SEMAPHORE)) r = CUDA_ERROR_INVALID_HANDLE;
    if (!r) r = sim_stream_of(call, handle, &stream);
    if (!r) r = sim_submit(call, stream, &op);
    return sim_submit_end(call, r, &op);
}
SIM_PAIR(cuSignalExternalSemaphoresAsync, _ptsz,
         (const CUexternalSemaphore *list, const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS *params,
          unsigned count, CUstream stream),
         semaphores, list, params, count, stream)
SIM_PAIR(cuWaitExternalSemaphoresAsync, _ptsz,
         (const CUexternalSemaphore *list, const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS *params, unsigned count,
          CUstream stream),
         semaphores, list, params, count, stream)

/* ---- events by handle ---------------------------------------------------------------------------------- */

static const char event_magic[8] = "simipce";

CUresult CUDAAPI cuIpcGetEventHandle(CUipcEventHandle *out, CUevent event)
{
    SIM_CALL(call);
    const struct sim_event *e = (const struct sim_event *)event;
    CUresult r = sim_begin(&call, SIM_NEED_CONTEXT);
    if (!r && !sim_is(e, SIM_EVENT)) r = CUDA_ERROR_INVALID_HANDLE;
    if (!r && (!out || !(e->flags & CU_EVENT_INTERPROCESS))) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        memset(out, 0, sizeof *out);
        memcpy(out->reserved, event_magic, sizeof event_magic);
    }
    return sim_end(&call, r, NULL);
}

/* An event that nobody has recorded: ready at once. */
CUresult CUDAAPI cuIpcOpenEventHandle(CUevent *out, CUipcEventHandle handle)
{
    SIM_CALL(call);
    CUresult r = sim_begin(&call, SIM_NEED_CONTEXT);
    if (!r && (!out || memcmp(handle.reserved, event_magic, sizeof event_magic) != 0))
        r = CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        struct sim_event *e = sim_new(SIM_EVENT, sizeof *e);
        e->flags = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING;
        e->context = sim_current(&call);
        *out = (CUevent)e;
    }
    return sim_end(&call, r, NULL);
}

CUresult CUDAAPI cuCtxResetPersistingL2Cache(void)
{
    SIM_CALL(call);
    return sim_end(&call, sim_begin(&call, SIM_NEED_CONTEXT), NULL);
}
