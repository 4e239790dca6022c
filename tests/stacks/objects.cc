// Allocations from C++: methods, templates, lambdas, and an exception that passes through after a stack was
// taken.
#include <cuda.h>

#include <cstdio>
#include <functional>
#include <stdexcept>

#define FRAME __attribute__((noinline))

namespace model
{
class Layer
{
  public:
    FRAME void grow(size_t bytes)
    {
        CUdeviceptr at;
        if (cuMemAlloc(&at, bytes) != CUDA_SUCCESS || bytes == 203) throw std::runtime_error("refused");
        asm volatile("" ::: "memory");
    }
};

template <typename T> FRAME void fill(Layer &layer, T value)
{
    layer.grow(static_cast<size_t>(value));
    asm volatile("" ::: "memory");
}
} // namespace model

int main()
{
    CUdevice device;
    CUcontext context;
    model::Layer layer;
    std::function<void(long)> call = [&](long bytes) {
        model::fill(layer, bytes);
        asm volatile("" ::: "memory");
    };

    cuInit(0);
    cuDeviceGet(&device, 0);
    cuDevicePrimaryCtxRetain(&context, device);
    cuCtxSetCurrent(context);
    model::fill(layer, 201);
    call(202);
    try {
        model::fill(layer, 203);
    } catch (const std::exception &error) {
        std::printf("caught %s\n", error.what());
    }
    return 0;
}
