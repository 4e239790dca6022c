/* Graphs made ready once and launched in every step, between spans of the program's own; memory that a launch
 * of the step before has allocated. */
#include "preload/cgtrace.h"
#include "target.h"

enum { COUNT = 256, BYTES = COUNT * 4 };

int main(void)
{
    CUmodule module = NULL;
    CUstream stream;
    CUdeviceptr data, held;
    CUgraph work, memory;
    CUgraphExec step, hold;
    target_open(0);
    CUfunction fill = target_kernel(&module, "fill");
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU(cuMemAlloc(&data, BYTES));
    CU(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    target_fill(fill, data, COUNT, 1, stream);
    target_fill(fill, data, COUNT / 2, 2, stream);
    CU(cuMemsetD32Async(data, 3, 1, stream));
    CU(cuStreamEndCapture(stream, &work));
    CU(cuGraphInstantiateWithFlags(&step, work, 0));
    CU(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    CU(cuMemAllocAsync(&held, BYTES, stream));
    CU(cuStreamEndCapture(stream, &memory));
    CU(cuGraphInstantiateWithFlags(&hold, memory, 0));
    CU(cuGraphLaunch(hold, stream));
    for (int i = 0; i < 4; i++) {
        cgtrace_span span = cgtrace_span_begin("step");
        CU(cuGraphLaunch(step, stream));
        CU(cuGraphLaunch(step, stream));
        CU(cuMemFreeAsync(held, stream));
        CU(cuStreamSynchronize(stream));
        cgtrace_span_end(span);
        CU(cuGraphLaunch(hold, stream));
        CU(cuStreamSynchronize(stream));
    }
    return 0;
}
