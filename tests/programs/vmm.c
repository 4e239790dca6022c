/* Memory by parts: handles released before and after the mappings go, several mappings of one memory, ranges
 * that end several at once, retained, exported and imported handles; arrays; batches of copies and of
 * prefetches. */
#include "target.h"
#include <unistd.h>

enum { PARTS = 4 };

static size_t part;
static CUmemAllocationProp properties;

static CUmemGenericAllocationHandle create(size_t parts)
{
    CUmemGenericAllocationHandle handle;
    CU(cuMemCreate(&handle, parts * part, &properties, 0));
    return handle;
}

static void map(CUdeviceptr at, size_t parts, CUmemGenericAllocationHandle handle)
{
    CUmemAccessDesc access = {.location = properties.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CU(cuMemMap(at, parts * part, 0, handle, 0));
    CU(cuMemSetAccess(at, parts * part, &access, 1));
}

/* As segments that grow do: the handle is kept. */
static void kept_handles(CUdeviceptr range)
{
    CUmemGenericAllocationHandle handle[PARTS];
    unsigned value = 0;
    for (unsigned i = 0; i < PARTS; i++) {
        handle[i] = create(1);
        map(range + i * part, 1, handle[i]);
    }
    CU(cuMemsetD32(range + part - 4, 7, 2)); /* across a border */
    CU(cuMemcpyDtoH(&value, range + part, 4));
    printf("across two parts: %u\n", value);
    CU(cuMemUnmap(range + part, part));
    CU(cuMemRelease(handle[1]));
    CU(cuMemUnmap(range, part));
    CU(cuMemUnmap(range + 2 * part, 2 * part));
    CU(cuMemRelease(handle[0]));
    CU(cuMemRelease(handle[2]));
    CU(cuMemRelease(handle[3]));
}

/* As pools do: the handle is released as soon as the memory is mapped, and the unmapping is the end. */
static void released_at_once(CUdeviceptr range)
{
    CUmemGenericAllocationHandle handle;
    for (unsigned i = 0; i < PARTS; i++) {
        handle = create(1);
        map(range + i * part, 1, handle);
        CU(cuMemRelease(handle));
    }
    CU(cuMemUnmap(range, part));
    CU(cuMemUnmap(range + part, 3 * part)); /* three at once */
}

static void shared_memory(CUdeviceptr range)
{
    CUmemGenericAllocationHandle handle = create(2), again, imported;
    int descriptor;
    map(range, 2, handle);
    map(range + 2 * part, 2, handle);
    CU(cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)(range + part)));
    CU(cuMemRelease(handle));
    CU(cuMemUnmap(range, 2 * part));
    CU(cuMemExportToShareableHandle(&descriptor, again, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    CU(cuMemImportFromShareableHandle(&imported, (void *)(uintptr_t)descriptor,
                                      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    close(descriptor);
    map(range, 2, imported);
    CU(cuMemUnmap(range, 2 * part));
    CU(cuMemRelease(imported));
    CU(cuMemUnmap(range + 2 * part, 2 * part));
    CU(cuMemRelease(again));
}

static void failures(CUdeviceptr range)
{
    CUmemGenericAllocationHandle handle;
    SHOW(cuMemCreate(&handle, (size_t)1 << 50, &properties, 0));
    SHOW(cuMemUnmap(range, part));
}

static void arrays(void)
{
    CUDA_ARRAY_DESCRIPTOR flat = {.Width = 100, .Height = 10, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 2};
    CUDA_ARRAY3D_DESCRIPTOR deep = {
        .Width = 64, .Height = 32, .Depth = 16, .Format = CU_AD_FORMAT_HALF, .NumChannels = 4};
    CUarray first, second, line;
    CUmipmappedArray levels;
    static uint8_t host[8000];
    CUDA_MEMCPY2D box = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                         .srcHost = host,
                         .srcPitch = 800,
                         .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                         .WidthInBytes = 800,
                         .Height = 10};
    CU(cuArrayCreate(&first, &flat));
    CU(cuArray3DCreate(&second, &deep));
    CU(cuMipmappedArrayCreate(&levels, &deep, 3));
    box.dstArray = first;
    CU(cuMemcpy2D(&box));
    flat.Height = 0;
    CU(cuArrayCreate(&line, &flat));
    CU(cuMemcpyHtoA(line, 0, host, 800));
    CU(cuMemcpyAtoH(host, line, 400, 400));
    CU(cuArrayDestroy(line));
    CU(cuArrayDestroy(second));
    CU(cuMipmappedArrayDestroy(levels));
    CU(cuArrayDestroy(first));
    CU(cuArray3DCreate(&second, &deep)); /* alive at the end */
}

int main(void)
{
    CUdeviceptr range;
    target_open(0);
    properties = (CUmemAllocationProp){.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                       .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                       .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
    CU(cuMemGetAllocationGranularity(&part, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    CU(cuMemAddressReserve(&range, PARTS * part, 0, 0, 0));
    kept_handles(range);
    released_at_once(range);
    shared_memory(range);
    failures(range);
    arrays();
    map(range, 1, create(1)); /* alive at the end */
    return 0;
}
