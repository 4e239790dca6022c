// Functions that are inlined into one another: one frame of the machine, several of the source.
#include <cuda.h>

#define INLINED __attribute__((always_inline)) inline
#define FRAME   __attribute__((noinline))
#define STAYS() asm volatile("" ::: "memory")

namespace inlined {
INLINED static void innermost(CUdeviceptr *at, size_t bytes)
{
    cuMemAlloc(at, bytes);
    STAYS();
}

template <typename T> INLINED void between(CUdeviceptr *at, T bytes)
{
    innermost(at, static_cast<size_t>(bytes));
    STAYS();
}

FRAME void around(CUdeviceptr *at, long bytes)
{
    {
        long more = bytes;
        between(at, more);
    }
    STAYS();
}
} // namespace inlined

int main()
{
    CUdevice device;
    CUcontext context;
    CUdeviceptr at;

    cuInit(0);
    cuDeviceGet(&device, 0);
    cuDevicePrimaryCtxRetain(&context, device);
    cuCtxSetCurrent(context);
    inlined::around(&at, 100);
    STAYS();
    return 0;
}
