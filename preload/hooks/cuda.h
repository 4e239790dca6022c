/* The driver's types. cuda.h renames functions with macros (cuMemAlloc to cuMemAlloc_v2, and so on), while
 * the tables here name the symbols that the driver exports: so every such macro of the header at hand is
 * taken back. The list is made from that header (Makefile: gen/cuda_undef.h).
 *
 * What headers of CUDA 11.8 lack (libraries, kernels, attributes of batches) stands in the tables as void
 * pointers: the same calling sequence, and no conditions. */
#ifndef CGTRACE_PRELOAD_HOOKS_CUDA_H
#define CGTRACE_PRELOAD_HOOKS_CUDA_H

#include <cuda.h>
#include "cuda_undef.h"

/* Of the first forms (v1.def), which the header declares only to the driver itself. */
typedef unsigned int hook_deviceptr_v1;

#endif
