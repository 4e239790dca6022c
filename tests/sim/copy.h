/* What the linear and the boxed copies have in common. */
#ifndef CGTRACE_TESTS_SIM_COPY_H
#define CGTRACE_TESTS_SIM_COPY_H

#include "tests/sim/internal.h"

/* Where a side of a copy lies. */
enum sim_side { SIM_HOST, SIM_DEVICE, SIM_ARRAY_SIDE, SIM_ANY, SIM_PEER };

/* SIM_ANY resolved: device memory, or host (also pinned). */
enum sim_side sim_side_of(enum sim_side side, uint64_t address);

/* Fills in work and line of a copy of `bytes`; returns its name in the ledger, such as HtoD. */
void sim_copy_op(struct sim_op *op, const struct sim_copy *box, enum sim_side dst, enum sim_side src,
                 uint64_t bytes);

/* The work of a 3D copy, or what is wrong with it. */
CUresult sim_copy_3d(const CUDA_MEMCPY3D *copy, struct sim_op *op);

/* Ends a copy: submits to the stream, waits for it when `wait`. `r` is what the checks said. Array handles
 * and device addresses are in the line already. */
CUresult sim_copy_end(struct sim_call *call, CUresult r, struct sim_op *op, CUstream handle, bool wait);

#endif
