/* The stand-in runtime: what its parts share. It reaches the driver as the real one does: one dlopen, one
 * dlsym of cuGetProcAddress_v2, everything else through that. */
#ifndef CGTRACE_TESTS_SIM_RUNTIME_H
#define CGTRACE_TESTS_SIM_RUNTIME_H

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The driver's functions; [1] of a pair is its per-thread form. */
struct rt_driver {
#define FN(base, version, symbol)               __typeof__(&symbol) base;
#define PAIR(base, version, per_thread, symbol) __typeof__(&symbol) base[2];
#include "tests/sim/runtime/driver.def"
#undef FN
#undef PAIR
};
extern struct rt_driver rt;

/* A launch configuration between <<<…>>> and the stub that takes it. */
struct rt_configuration {
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
};

struct rt_thread {
    int device;
    cudaError_t last;
    struct rt_configuration configurations[16];
    unsigned depth;
};
struct rt_thread *rt_thread(void);

/* The driver is open and initialised. */
CUresult rt_init(void);
/* The same, and the thread has a context: the primary one of its device if none is current. */
CUresult rt_context(void);
/* Remembers an error as the thread's last one. Every exported function returns through it. */
cudaError_t rt_done(CUresult result);
/* The error that has made the device unusable, or 0. */
CUresult rt_sticky(void);

/* register.c: the device's side of a host symbol. CUDA's own code for an unknown one. */
CUresult rt_kernel(const void *host, CUkernel *out);
CUresult rt_variable(const void *host, CUdeviceptr *out, size_t *bytes);

/* memory.c: the driver's form of a 3D copy. */
CUresult rt_box(const struct cudaMemcpy3DParms *p, CUDA_MEMCPY3D *out);

/* One function that takes part in no default stream. */
#define RT(name, params, impl)                                                                               \
    cudaError_t CUDARTAPI name params                                                                        \
    {                                                                                                        \
        CUresult r = rt_context();                                                                           \
        return rt_done(r ? r : impl);                                                                        \
    }

/* The two forms of one that does: `per` is 0 or 1, the index into the driver's pairs. */
#define RT_PAIR(name, suffix, params, impl)                                                                  \
    cudaError_t CUDARTAPI name params                                                                        \
    {                                                                                                        \
        enum { per = 0 };                                                                                    \
        CUresult r = rt_context();                                                                           \
        return rt_done(r ? r : impl);                                                                        \
    }                                                                                                        \
    cudaError_t CUDARTAPI name##suffix params;                                                               \
    cudaError_t CUDARTAPI name##suffix params                                                                \
    {                                                                                                        \
        enum { per = 1 };                                                                                    \
        CUresult r = rt_context();                                                                           \
        return rt_done(r ? r : impl);                                                                        \
    }

#define RT_PTR(p) ((CUdeviceptr)(uintptr_t)(p))

#endif
