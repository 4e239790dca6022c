/* The trainer with NVTX ranges: train_step around each step, and in it forward, backward and optimizer, whose
 * names tell a profiler which part of training the work belongs to. */
#include <nvtx3/nvToolsExt.h>

#define PART_BEGIN(name) nvtxRangePushA(name)
#define PART_END()       nvtxRangePop()
#include "examples/trainer.c"
