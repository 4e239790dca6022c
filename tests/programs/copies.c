/* Every linear form of a copy and a memset, and two-dimensional ones; what arrives is printed. */
#include "target.h"

enum { N = 4096 };

static uint8_t *host, *back;
static CUdeviceptr a, b;
static CUstream stream;

static void show(const char *what)
{
    unsigned sum = 0;
    CU(cuCtxSynchronize());
    for (int i = 0; i < N; i++)
        sum = sum * 31 + back[i];
    printf("%s: %08x\n", what, sum);
}

static void linear(void)
{
    CU(cuMemcpyHtoD(a, host, N));
    CU(cuMemcpyDtoD(b, a, N));
    CU(cuMemcpyDtoH(back, b, N));
    show("HtoD, DtoD, DtoH");
    CU(cuMemcpyHtoDAsync(a, host + 1, N - 1, stream));
    CU(cuMemcpyDtoDAsync(b, a, N - 1, stream));
    CU(cuMemcpyDtoHAsync(back, b, N - 1, stream));
    show("the same, asynchronous");
    CU(cuMemcpy((CUdeviceptr)back, a, N));
    show("unified");
    CU(cuMemcpyAsync(b, (CUdeviceptr)host, N, stream));
    CU(cuMemcpyAsync((CUdeviceptr)back, b, N, NULL));
    show("unified, asynchronous");
    SHOW(cuMemcpyDtoH(back, a, 0));
    SHOW(cuMemcpyDtoD(a, 0x10, 64));
}

static void planes(void)
{
    CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                          .srcHost = host,
                          .srcPitch = 64,
                          .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                          .dstDevice = a,
                          .dstPitch = 128,
                          .WidthInBytes = 48,
                          .Height = 32};
    CU(cuMemcpy2D(&copy));
    CU(cuMemcpy2DUnaligned(&copy));
    CU(cuMemcpy2DAsync(&copy, stream));
    CUDA_MEMCPY3D volume = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                            .srcDevice = a,
                            .srcPitch = 128,
                            .srcHeight = 8,
                            .dstMemoryType = CU_MEMORYTYPE_HOST,
                            .dstHost = back,
                            .dstPitch = 64,
                            .dstHeight = 8,
                            .WidthInBytes = 48,
                            .Height = 8,
                            .Depth = 4};
    CU(cuMemcpy3D(&volume));
    CU(cuMemcpy3DAsync(&volume, stream));
    show("planes");
}

static void sets(void)
{
    CU(cuMemsetD8(a, 0x5a, N));
    CU(cuMemsetD16(a, 0x1234, 100));
    CU(cuMemsetD32(a + 1024, 0xdeadbeef, 100));
    CU(cuMemsetD2D8(a + 2048, 128, 1, 64, 4));
    CU(cuMemsetD2D16(a + 2048, 128, 2, 16, 4));
    CU(cuMemsetD2D32(a + 2048, 128, 3, 8, 4));
    CU(cuMemcpyDtoH(back, a, N));
    show("memset");
    CU(cuMemsetD8Async(a, 1, N, stream));
    CU(cuMemsetD16Async(a, 2, 64, stream));
    CU(cuMemsetD32Async(a, 3, 32, stream));
    CU(cuMemsetD2D8Async(a, 128, 4, 64, 4, stream));
    CU(cuMemsetD2D16Async(a, 128, 5, 16, 4, stream));
    CU(cuMemsetD2D32Async(a, 128, 6, 8, 4, stream));
    CU(cuMemcpyDtoHAsync(back, a, N, stream));
    show("memset, asynchronous");
}

int main(void)
{
    CUcontext context = target_open(0);
    CU(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
    CU(cuMemAlloc(&a, N));
    CU(cuMemAlloc(&b, N));
    CU(cuMemHostAlloc((void **)&host, N, 0));
    back = calloc(1, N);
    for (int i = 0; i < N; i++)
        host[i] = (uint8_t)(i * 7 + i / 256);
    linear();
    planes();
    sets();
    CU(cuMemcpyPeer(b, context, a, context, N));
    CU(cuMemcpyPeerAsync(b, context, a, context, N, stream));
    CU(cuMemcpyDtoH(back, b, N));
    show("peer");
    CU(cuMemFreeHost(host));
    CU(cuMemFree(a));
    CU(cuMemFree(b));
    CU(cuStreamDestroy(stream));
    free(back);
    return 0;
}
