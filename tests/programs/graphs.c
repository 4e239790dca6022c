/* Graphs by stream capture and by explicit nodes, launched many times. */
#include "target.h"

enum { COUNT = 256 };

int main(void)
{
    CUmodule module = NULL;
    CUstream stream;
    CUdeviceptr data;
    CUgraph captured, built;
    CUgraphExec executable, second;
    uint32_t values[COUNT];
    target_open(0);
    CUfunction fill = target_kernel(&module, "fill");
    CU(cuMemAlloc(&data, sizeof values));
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    target_fill(fill, data, COUNT, 1, stream);
    target_fill(fill, data, COUNT / 2, 2, stream);
    CU(cuMemsetD32Async(data + 4 * (COUNT - 1), 3, 1, stream));
    CU(cuStreamEndCapture(stream, &captured));
    CU(cuGraphInstantiateWithFlags(&executable, captured, 0));
    for (int i = 0; i < 20; i++)
        CU(cuGraphLaunch(executable, stream));
    CU(cuStreamSynchronize(stream));
    CU(cuMemcpyDtoH(values, data, sizeof values));
    printf("captured: %u %u %u\n", values[0], values[COUNT - 2], values[COUNT - 1]);

    unsigned count = COUNT, value = 9;
    void *parameters[] = {&data, &count, &value};
    CUDA_KERNEL_NODE_PARAMS node_parameters = {.func = fill,
                                               .gridDimX = 1,
                                               .gridDimY = 1,
                                               .gridDimZ = 1,
                                               .blockDimX = 256,
                                               .blockDimY = 1,
                                               .blockDimZ = 1,
                                               .kernelParams = parameters};
    CUgraphNode node;
    CU(cuGraphCreate(&built, 0));
    CU(cuGraphAddKernelNode(&node, built, NULL, 0, &node_parameters));
    CU(cuGraphInstantiateWithFlags(&second, built, 0));
    CU(cuGraphLaunch(second, stream));
    CU(cuStreamSynchronize(stream));
    CU(cuMemcpyDtoH(values, data, sizeof values));
    printf("built: %u %u\n", values[0], values[COUNT - 1]);
    CU(cuGraphExecDestroy(executable));
    CU(cuGraphExecDestroy(second));
    CU(cuGraphDestroy(captured));
    CU(cuGraphDestroy(built));
    CU(cuMemFree(data));
    return 0;
}
