/* What the target programs share. They are what is recorded, not what records: plain CUDA programs, each with
 * output that is the same at every run (no addresses, no times), so that runs with and without the library
 * can be compared byte by byte. */
#ifndef CGTRACE_TESTS_PROGRAMS_TARGET_H
#define CGTRACE_TESTS_PROGRAMS_TARGET_H

#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the program with status 1 and one line when a call fails. */
#define CU(call) target_check((call), #call, __FILE__, __LINE__)
/* A call whose result is part of the output, failed or not. */
#define SHOW(call) target_show((call), #call)

void target_check(CUresult result, const char *call, const char *file, int line);
CUresult target_show(CUresult result, const char *call);

/* The primary context of the device, current. */
CUcontext target_open(int device);
CUcontext target_new_context(int device);

/* PTX of the kernels: fill(pointer, count, value), axpy(y, x, a, count), nothing(). */
extern const char target_ptx[];
CUfunction target_kernel(CUmodule *module, const char *name);
void target_fill(CUfunction fill, CUdeviceptr at, unsigned count, unsigned value, CUstream stream);

/* Opens device 0, fills a new block of memory with a value and prints what was read back; the block is the
 * caller's. */
CUdeviceptr target_work(unsigned value);

/* A generator with the same numbers everywhere (Numerical Recipes' 64-bit linear congruential one). */
static inline uint32_t target_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

#endif
