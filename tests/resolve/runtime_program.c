/* A program on the runtime, linked with the toolkit's own, static or shared. Without a device it is told so;
 * it prints what it is told. */
#include <cuda_runtime_api.h>
#include <stdio.h>

int main(void)
{
    int count = -1, version = -1;
    void *memory = NULL;
    printf("count %d", (int)cudaGetDeviceCount(&count));
    printf(" %d\n", count);
    printf("driver %d", (int)cudaDriverGetVersion(&version));
    printf(" %d\n", version);
    printf("malloc %d\n", (int)cudaMalloc(&memory, 1024));
    printf("last %d\n", (int)cudaPeekAtLastError());
    printf("last %s\n", cudaGetErrorName(cudaGetLastError()));
    printf("free %d\n", (int)cudaFree(NULL));
    printf("last %d\n", (int)cudaGetLastError());
    return 0;
}
