#include "target.h"

void target_check(CUresult result, const char *call, const char *file, int line)
{
    if (result == CUDA_SUCCESS) return;
    const char *name = NULL;
    if (cuGetErrorName(result, &name) != CUDA_SUCCESS) name = "unknown error";
    fprintf(stderr, "%s:%d: %s: %s\n", file, line, call, name);
    exit(1);
}

CUresult target_show(CUresult result, const char *call)
{
    printf("%s: %d\n", call, (int)result);
    return result;
}

CUcontext target_open(int device)
{
    CUdevice handle;
    CUcontext context;
    CU(cuInit(0));
    CU(cuDeviceGet(&handle, device));
    CU(cuDevicePrimaryCtxRetain(&context, handle));
    CU(cuCtxSetCurrent(context));
    return context;
}

CUcontext target_new_context(int device)
{
    CUdevice handle;
    CUcontext context;
    CU(cuInit(0));
    CU(cuDeviceGet(&handle, device));
#if CUDA_VERSION >= 13000
    CU(cuCtxCreate(&context, NULL, 0, handle));
#else
    CU(cuCtxCreate(&context, 0, handle));
#endif
    return context;
}

CUfunction target_kernel(CUmodule *module, const char *name)
{
    CUfunction function;
    if (*module == NULL) CU(cuModuleLoadData(module, target_ptx));
    CU(cuModuleGetFunction(&function, *module, name));
    return function;
}

void target_fill(CUfunction fill, CUdeviceptr at, unsigned count, unsigned value, CUstream stream)
{
    void *parameters[] = {&at, &count, &value};
    CU(cuLaunchKernel(fill, (count + 255) / 256, 1, 1, 256, 1, 1, 0, stream, parameters, NULL));
}

CUdeviceptr target_work(unsigned value)
{
    enum { COUNT = 1024 };
    CUmodule module = NULL;
    CUdeviceptr data;
    uint32_t first;
    target_open(0);
    CUfunction fill = target_kernel(&module, "fill");
    CU(cuMemAlloc(&data, COUNT * sizeof first));
    target_fill(fill, data, COUNT, value, NULL);
    CU(cuMemcpyDtoH(&first, data, sizeof first));
    printf("value %u\n", first);
    fflush(stdout);
    return data;
}

const char target_ptx[] =
    ".version 6.0\n"
    ".target sm_70\n"
    ".address_size 64\n"
    ".visible .entry fill(.param .u64 p, .param .u32 n, .param .u32 v)\n"
    "{\n"
    " .reg .pred %q; .reg .b32 %r<6>; .reg .b64 %d<4>;\n"
    " ld.param.u64 %d0, [p]; ld.param.u32 %r0, [n]; ld.param.u32 %r1, [v];\n"
    " mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;\n"
    " mad.lo.u32 %r5, %r2, %r3, %r4;\n"
    " setp.ge.u32 %q, %r5, %r0; @%q bra done;\n"
    " cvta.to.global.u64 %d1, %d0; mul.wide.u32 %d2, %r5, 4; add.u64 %d3, %d1, %d2;\n"
    " st.global.u32 [%d3], %r1;\n"
    "done: ret;\n"
    "}\n"
    ".visible .entry axpy(.param .u64 y, .param .u64 x, .param .f32 a, .param .u32 n)\n"
    "{\n"
    " .reg .pred %q; .reg .b32 %r<6>; .reg .b64 %d<8>; .reg .f32 %f<4>;\n"
    " ld.param.u64 %d0, [y]; ld.param.u64 %d1, [x]; ld.param.f32 %f0, [a]; ld.param.u32 %r0, [n];\n"
    " mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;\n"
    " mad.lo.u32 %r5, %r2, %r3, %r4;\n"
    " setp.ge.u32 %q, %r5, %r0; @%q bra done;\n"
    " cvta.to.global.u64 %d2, %d0; cvta.to.global.u64 %d3, %d1; mul.wide.u32 %d4, %r5, 4;\n"
    " add.u64 %d5, %d2, %d4; add.u64 %d6, %d3, %d4;\n"
    " ld.global.f32 %f1, [%d5]; ld.global.f32 %f2, [%d6]; fma.rn.f32 %f3, %f0, %f2, %f1;\n"
    " st.global.f32 [%d5], %f3;\n"
    "done: ret;\n"
    "}\n"
    ".visible .entry nothing()\n"
    "{\n"
    " ret;\n"
    "}\n";
