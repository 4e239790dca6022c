/* Memsets of 1, 2 and 4 bytes, flat and 2D. A memset of device memory returns before it is done. */
#include "tests/sim/internal.h"

static CUresult set(struct sim_call *call, CUdeviceptr dst, size_t pitch, uint32_t value, unsigned element,
                    size_t width, size_t height, CUstream handle)
{
    struct sim_stream *stream = NULL;
    uint64_t bytes = (uint64_t)width * height * element;
    struct sim_op op = {.work = SIM_W_MEMSET,
                        .duration_ns = 1000 + bytes / 500,
                        .u.set = {.dst = (uint8_t *)(uintptr_t)dst,
                                  .width = width,
                                  .height = height,
                                  .pitch = pitch,
                                  .value = value,
                                  .element = element},
                        .has_line = true,
                        .line = {.op = SIM_L_MEMSET, .address = dst, .bytes = bytes, .device = -1}};
    CUresult r = sim_begin(call, SIM_NEED_CONTEXT);
    if (!r) r = sim_stream_of(call, handle, &stream);
    if (stream) {
        op.line.device = stream->context->device;
        op.line.context = stream->context;
        op.line.stream = sim_stream_handle(stream);
        op.line.has_stream = true;
    }
    if (!r && (dst % element || (height > 1 && pitch < width * element))) r = CUDA_ERROR_INVALID_VALUE;
    if (!r && bytes) r = sim_check_range(dst, (height - 1) * pitch + width * element);
    if (!r) r = sim_submit(call, stream, &op);
    return sim_submit_end(call, r, &op);
}

#define FLAT(bits, type, element)                                                                            \
    SIM_PAIR(cuMemsetD##bits##_v2, _ptds, (CUdeviceptr dst, type value, size_t n), set, dst, 0, value,       \
             element, n, 1, NULL)                                                                            \
    SIM_PAIR(cuMemsetD##bits##Async, _ptsz, (CUdeviceptr dst, type value, size_t n, CUstream stream), set,   \
             dst, 0, value, element, n, 1, stream)                                                           \
    SIM_PAIR(cuMemsetD2D##bits##_v2, _ptds,                                                                  \
             (CUdeviceptr dst, size_t pitch, type value, size_t width, size_t height), set, dst, pitch,      \
             value, element, width, height, NULL)                                                            \
    SIM_PAIR(cuMemsetD2D##bits##Async, _ptsz,                                                                \
             (CUdeviceptr dst, size_t pitch, type value, size_t width, size_t height, CUstream stream), set, \
             dst, pitch, value, element, width, height, stream)

FLAT(8, unsigned char, 1)
FLAT(16, unsigned short, 2)
FLAT(32, unsigned int, 4)
