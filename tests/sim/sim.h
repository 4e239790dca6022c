/*
 * Kernels as host functions on the simulated driver: what a library named by SIM_KERNELS exports.
 *
 * For a kernel whose entry name is `foo` (the mangled name, as the module spells it):
 *
 *     void foo(void **args, const unsigned grid[3], const unsigned block[3]);
 *
 * One call does the whole launch. args[i] points to a copy of the i-th parameter, made when the launch was
 * issued and valid only during the call; device pointers among the parameters are host pointers and may be
 * followed. The calls of one stream come one after another, on a thread of the driver's own, never earlier
 * than the stream's order, its events and the default streams' rules allow; calls of different streams may
 * run at the same time. A kernel function makes no CUDA call.
 *
 * How many bytes each parameter has is read from the module: `.param` in PTX, `.nv.info` in a cubin. When the
 * module does not say so, the library exports beside `foo`
 *
 *     const size_t foo_params[] = {8, 8, 4, 0};
 *
 * the sizes in order, ended by 0. It wins over the module. A kernel with neither takes no parameters.
 */
#ifndef CGTRACE_TESTS_SIM_H
#define CGTRACE_TESTS_SIM_H

#include <stddef.h>

typedef void (*sim_kernel_fn)(void **args, const unsigned grid[3], const unsigned block[3]);

#endif
