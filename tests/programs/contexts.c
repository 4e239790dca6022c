/* Several contexts on each device; storages that end with their context or primary context instead of a free,
 * and some that outlive their pool. */
#include "target.h"

enum { BYTES = 8192 };

static void work(const char *what, unsigned value)
{
    CUmodule module = NULL;
    CUdeviceptr kept, freed;
    uint32_t first;
    CUfunction fill = target_kernel(&module, "fill");
    CU(cuMemAlloc(&kept, BYTES));
    CU(cuMemAlloc(&freed, BYTES / 2));
    target_fill(fill, kept, BYTES / 4, value, NULL);
    CU(cuMemcpyDtoH(&first, kept, sizeof first));
    CU(cuMemFree(freed));
    printf("%s: %u\n", what, first);
}

static void pools(int device)
{
    CUmemoryPool pool;
    CUdeviceptr pointer[3];
    CUstream stream;
    CUmemPoolProps properties = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device}};
    CU(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
    CU(cuMemPoolCreate(&pool, &properties));
    for (int i = 0; i < 3; i++)
        CU(cuMemAllocFromPoolAsync(&pointer[i], BYTES, pool, stream));
    CU(cuMemFreeAsync(pointer[0], stream));
    CU(cuStreamSynchronize(stream));
    SHOW(cuMemPoolDestroy(pool)); /* what is allocated from it outlives it */
    CU(cuMemFreeAsync(pointer[1], stream));
    CU(cuStreamSynchronize(stream));
    CU(cuStreamDestroy(stream));
}

int main(void)
{
    int devices = 0;
    CU(cuInit(0));
    CU(cuDeviceGetCount(&devices));
    printf("devices: %d\n", devices);
    for (int device = 0; device < devices; device++) {
        CUcontext first = target_new_context(device);
        CUcontext second = target_new_context(device), popped;
        work("second context", 2);
        CU(cuCtxPopCurrent(&popped));
        printf("popped the second: %d\n", popped == second);
        work("first context", 1);
        CU(cuCtxPushCurrent(second));
        pools(device);
        CU(cuCtxDestroy(second));
        CU(cuCtxSetCurrent(first));
        work("first again", 3);
        CU(cuCtxDestroy(first));
        CUdeviceptr pointer;
        SHOW(cuMemAlloc(&pointer, 64));
        CUdevice handle;
        target_open(device);
        work("primary", 4);
        CU(cuDeviceGet(&handle, device));
        CU(cuDevicePrimaryCtxReset(handle));
        CU(cuDevicePrimaryCtxRelease(handle));
        CU(cuCtxSetCurrent(NULL));
    }
    return 0;
}
