// What t_sim.py builds with nvcc -cudart shared and runs on the stand-in runtime: each line says what was seen.
#include <cstdio>
#include <cuda_runtime.h>
#include <thread>

__constant__ float factor;
__device__ int counter[4];
__managed__ int shared_count = 3;

__global__ void scale(float *x, float by, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= by * factor;
    counter[0] = shared_count++;
}

static void errors()
{
    scale<<<1, 2048>>>(nullptr, 1, 1);
    printf("peek %d", cudaPeekAtLastError());
    printf(" last %d", cudaGetLastError());
    printf(" then %d\n", cudaGetLastError());
    printf("copy %d", cudaMemcpy((void *) 64, (void *) 64, 8, (cudaMemcpyKind) 9));
    std::thread([] { printf(" elsewhere %d", cudaPeekAtLastError()); }).join();
    printf(" here %d\n", cudaGetLastError());
    void *p = nullptr;
    printf("malloc %s", cudaGetErrorName(cudaMalloc(&p, (size_t) 1 << 60)));
    printf(" %d\n", cudaGetLastError());
}

static void graph(float *x)
{
    cudaStream_t s;
    cudaGraph_t g;
    cudaGraphExec_t e;
    float out = 0;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal);
    scale<<<1, 32, 0, s>>>(x, 10, 32);
    cudaMemcpyAsync(&out, x + 1, 4, cudaMemcpyDeviceToHost, s);
    cudaStreamEndCapture(s, &g);
    size_t nodes = 0;
    cudaGraphGetNodes(g, nullptr, &nodes);
    printf("graph %zu nodes, before %g", nodes, out);
    cudaGraphInstantiate(&e, g, 0);
    cudaGraphLaunch(e, s);
    cudaStreamSynchronize(s);
    printf(" after %g\n", out);
    cudaGraphExecDestroy(e);
    cudaGraphDestroy(g);
    cudaStreamDestroy(s);
}

int main()
{
    float *x, host[64], two = 2;
    for (int i = 0; i < 64; i++)
        host[i] = (float) i;
    cudaDeviceProp prop;
    cudaGetDeviceProperties(&prop, 0);
    printf("%s\n", prop.name);
    cudaMalloc(&x, sizeof host);
    cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice);
    cudaMemcpyToSymbol(factor, &two, sizeof two);
    scale<<<2, 32>>>(x, 3, 64);
    cudaMemcpy(host, x, sizeof host, cudaMemcpyDefault);
    printf("scaled %g managed %d error %d\n", host[10], shared_count >= 0, cudaGetLastError());
    graph(x);
    cudaPointerAttributes a;
    cudaPointerGetAttributes(&a, x + 3);
    printf("pointer %d on %d\n", a.type, a.device);
    errors();
    cudaFree(x);
    printf("reset %d\n", cudaDeviceReset());
    return 0;
}
