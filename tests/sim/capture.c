/* Stream capture. */
#include "tests/sim/internal.h"

CUresult sim_capture_forbids(struct sim_call *call)
{
    (void)call;
    return CUDA_SUCCESS;
}
CUresult sim_capture_forbids_stream(struct sim_call *call, struct sim_stream *stream)
{
    (void)call;
    return stream->capture ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}
CUresult sim_capture_wait(struct sim_call *call, struct sim_stream *stream, struct sim_event *event)
{
    (void)call, (void)stream, (void)event;
    return CUDA_ERROR_NOT_SUPPORTED;
}
CUresult sim_capture_record(struct sim_call *call, struct sim_stream *stream, struct sim_event *event,
                            unsigned flags)
{
    (void)call, (void)stream, (void)event, (void)flags;
    return CUDA_ERROR_NOT_SUPPORTED;
}
CUresult sim_capture_op(struct sim_call *call, struct sim_stream *stream, struct sim_op *op)
{
    (void)call, (void)stream, (void)op;
    return CUDA_ERROR_NOT_SUPPORTED;
}
CUresult sim_capture_alloc(struct sim_call *call, struct sim_stream *stream, size_t bytes,
                           struct sim_pool *pool, CUdeviceptr *out)
{
    (void)call, (void)stream, (void)bytes, (void)pool, (void)out;
    return CUDA_ERROR_NOT_SUPPORTED;
}
CUresult sim_capture_free(struct sim_call *call, struct sim_stream *stream, CUdeviceptr p)
{
    (void)call, (void)stream, (void)p;
    return CUDA_ERROR_NOT_SUPPORTED;
}
void sim_capture_stop(struct sim_stream *stream)
{
    (void)stream;
}
void sim_exec_run(struct sim_exec *exec)
{
    (void)exec;
}
bool sim_exec_needs_worker(const struct sim_exec *exec)
{
    return !exec;
}
void sim_exec_release(struct sim_exec *exec)
{
    (void)exec;
}
