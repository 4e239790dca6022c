/* Every form of a kernel launch, on every kind of stream, and launches that fail. */
#include "target.h"

/* The per-thread default stream's entry points: what a program compiled for it calls. */
CUresult CUDAAPI cuLaunchKernel_ptsz(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                     unsigned, CUstream, void **, void **);
CUresult CUDAAPI cuLaunchCooperativeKernel_ptsz(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned,
                                                unsigned, unsigned, CUstream, void **);
CUresult CUDAAPI cuLaunchKernelEx_ptsz(const CUlaunchConfig *, CUfunction, void **, void **);

enum { COUNT = 1000 };

static CUfunction fill, nothing;
static CUdeviceptr data;

static void show_first(const char *what)
{
    uint32_t values[COUNT];
    CU(cuCtxSynchronize());
    CU(cuMemcpyDtoH(values, data, sizeof values));
    printf("%s: %u %u\n", what, values[0], values[COUNT - 1]);
}

static CUlaunchConfig config(CUstream stream, unsigned shared)
{
    return (CUlaunchConfig){.gridDimX = 4,
                            .gridDimY = 1,
                            .gridDimZ = 1,
                            .blockDimX = 256,
                            .blockDimY = 1,
                            .blockDimZ = 1,
                            .sharedMemBytes = shared,
                            .hStream = stream};
}

static void on_stream(CUstream stream, const char *name)
{
    unsigned count = COUNT, value = 1;
    void *parameters[] = {&data, &count, &value};
    CU(cuLaunchKernel(fill, 4, 1, 1, 256, 1, 1, 0, stream, parameters, NULL));
    value = 2;
    CU(cuLaunchKernel_ptsz(fill, 4, 1, 1, 256, 1, 1, 1024, stream, parameters, NULL));
    value = 3;
    CU(cuLaunchCooperativeKernel(fill, 4, 1, 1, 256, 1, 1, 0, stream, parameters));
    CU(cuLaunchCooperativeKernel_ptsz(fill, 4, 1, 1, 256, 1, 1, 0, stream, parameters));
    CUlaunchConfig ex = config(stream, 2048);
    value = 4;
    CU(cuLaunchKernelEx(&ex, fill, parameters, NULL));
    CU(cuLaunchKernelEx_ptsz(&ex, fill, parameters, NULL));
    for (unsigned i = 1; i <= 8; i++)
        CU(cuLaunchKernel(nothing, i, 2, 3, 32, i, 1, 16 * i, stream, NULL, NULL));
    show_first(name);
}

static void with_extra(void)
{
    struct {
        CUdeviceptr pointer;
        unsigned count, value;
    } buffer = {data, COUNT, 7};
    size_t size = sizeof buffer;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    CU(cuLaunchKernel(fill, 4, 1, 1, 256, 1, 1, 0, NULL, NULL, extra));
    show_first("parameters in a buffer");
}

int main(void)
{
    CUmodule module = NULL;
    CUstream blocking, free_running;
    target_open(0);
    fill = target_kernel(&module, "fill");
    nothing = target_kernel(&module, "nothing");
    CU(cuMemAlloc(&data, COUNT * 4));
    CU(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    CU(cuStreamCreate(&free_running, CU_STREAM_NON_BLOCKING));
    on_stream(NULL, "default");
    on_stream(CU_STREAM_LEGACY, "legacy");
    on_stream(CU_STREAM_PER_THREAD, "per thread");
    on_stream(blocking, "blocking");
    on_stream(free_running, "non-blocking");
    with_extra();
    SHOW(cuLaunchKernel(nothing, 0, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    SHOW(cuLaunchKernel(nothing, 1, 1, 1, 4096, 1, 1, 0, NULL, NULL, NULL));
    SHOW(cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    SHOW(cuCtxSynchronize());
    CU(cuModuleUnload(module));
    module = NULL;
    nothing = target_kernel(&module, "nothing");
    CU(cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    CU(cuCtxSynchronize());
    CU(cuMemFree(data));
    CU(cuModuleUnload(module));
    return 0;
}
