/* Linked with the driver: calls it through its symbols. Prints what it gets. */
#include <stdio.h>
#include <unistd.h>

#include "preload/hooks/cuda.h"

extern CUresult cuMemAlloc_v2(CUdeviceptr *, size_t);
extern CUresult cuMemFree_v2(CUdeviceptr);

int main(void)
{
    CUdeviceptr address = 0;
    printf("pid %d\n", getpid() > 0);
    CUresult result = cuMemAlloc_v2(&address, 512);
    printf("alloc %d %#llx\n", (int)result, address);
    printf("free %d\n", (int)cuMemFree_v2(address));
    /* A function by its symbol and by its address is the same function. */
    CUresult (*volatile by_address)(CUdeviceptr *, size_t) = cuMemAlloc_v2;
    result = by_address(&address, 64);
    printf("alloc %d\n", (int)result);
    return 0;
}
