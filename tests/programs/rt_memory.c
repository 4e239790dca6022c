/* The runtime API from C: memory, copies, streams, events, and the state of the last error. */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 8192 };

#define RT(call) check((call), #call)

static void check(cudaError_t result, const char *call)
{
    if (result == cudaSuccess) return;
    fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(result));
    exit(1);
}

static void errors(void)
{
    void *pointer = NULL;
    printf("too much: %d\n", (int)cudaMalloc(&pointer, (size_t)1 << 50));
    printf("peek: %d\n", (int)cudaPeekAtLastError());
    printf("last: %d\n", (int)cudaGetLastError());
    printf("again: %d\n", (int)cudaGetLastError());
    printf("free of rubbish: %d\n", (int)cudaFree((void *)0x10));
    RT(cudaMalloc(&pointer, 64));
    printf("kept by success: %d\n", (int)cudaGetLastError());
    RT(cudaFree(pointer));
    RT(cudaFree(NULL));
    printf("none: %d\n", (int)cudaGetLastError());
}

int main(void)
{
    unsigned char *host, *pinned, *managed, *device, *other, back[N];
    cudaStream_t stream;
    cudaEvent_t begin, end;
    float elapsed = -1;
    RT(cudaSetDevice(0));
    RT(cudaMallocHost((void **)&pinned, N));
    RT(cudaHostAlloc((void **)&host, N, cudaHostAllocDefault));
    RT(cudaMalloc((void **)&device, N));
    RT(cudaMallocManaged((void **)&managed, N, cudaMemAttachGlobal));
    RT(cudaStreamCreate(&stream));
    RT(cudaMallocAsync((void **)&other, N, stream));
    RT(cudaEventCreate(&begin));
    RT(cudaEventCreate(&end));
    for (int i = 0; i < N; i++)
        host[i] = (unsigned char)(i * 5 + i / 256);
    RT(cudaEventRecord(begin, stream));
    RT(cudaMemcpyAsync(device, host, N, cudaMemcpyHostToDevice, stream));
    RT(cudaMemcpyAsync(other, device, N, cudaMemcpyDeviceToDevice, stream));
    RT(cudaMemsetAsync(device, 0, N / 2, stream));
    RT(cudaMemcpyAsync(pinned, other, N, cudaMemcpyDeviceToHost, stream));
    RT(cudaEventRecord(end, stream));
    RT(cudaStreamSynchronize(stream));
    RT(cudaEventElapsedTime(&elapsed, begin, end));
    printf("copied: %d, elapsed not negative: %d\n", memcmp(host, pinned, N), elapsed >= 0);
    RT(cudaMemcpy(back, device, N, cudaMemcpyDeviceToHost));
    printf("half: %d %d\n", back[0], memcmp(back + N / 2, host + N / 2, N / 2));
    RT(cudaMemset(device, 9, N));
    RT(cudaMemcpy(managed, device, N, cudaMemcpyDefault));
    RT(cudaDeviceSynchronize());
    printf("managed: %d\n", managed[N - 1]);
    errors();
    RT(cudaFreeAsync(other, stream));
    RT(cudaFree(device));
    RT(cudaFree(managed));
    RT(cudaFreeHost(host));
    RT(cudaFreeHost(pinned));
    RT(cudaEventDestroy(begin));
    RT(cudaEventDestroy(end));
    RT(cudaStreamDestroy(stream));
    return 0;
}
