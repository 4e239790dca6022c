/* Launches. */
#include "preload/hooks/bodies.h"

/* Shapes of blocks set beforehand: 21 bits each for x, y and z. */
static HANDLE_MAP(shapes);
#define SHAPE_MASK ((1u << 21) - 1)

static void hook_block_shape(CUfunction function, int x, int y, int z)
{
    uint64_t shape =
        ((uint64_t)z & SHAPE_MASK) << 42 | ((uint64_t)y & SHAPE_MASK) << 21 | ((uint64_t)x & SHAPE_MASK);
    handle_put(&shapes, (uintptr_t)function, shape, (uintptr_t)function);
}

static inline struct record_launch hook_launch(CUfunction function, unsigned grid_x, unsigned grid_y,
                                               unsigned grid_z, unsigned block_x, unsigned block_y,
                                               unsigned block_z, unsigned shared, uint32_t stream)
{
    return (struct record_launch){.name = hook_kernel_name(function),
                                  .grid = {grid_x, grid_y, grid_z},
                                  .block = {block_x, block_y, block_z},
                                  .shared_bytes = shared,
                                  .stream = stream};
}

static struct record_launch hook_launch_old(CUfunction function, unsigned width, unsigned height,
                                            uint32_t stream)
{
    uint64_t shape = handle_get(&shapes, (uintptr_t)function);
    return (struct record_launch){
        .name = hook_kernel_name(function),
        .grid = {width, height, 1},
        .block = {shape & SHAPE_MASK, (shape >> 21) & SHAPE_MASK, (shape >> 42) & SHAPE_MASK},
        .stream = stream};
}

/* Without a configuration the driver refuses the launch. */
static struct record_launch hook_launch_ex(CUfunction function, const CUlaunchConfig *config, uint32_t stream)
{
    if (!config) return (struct record_launch){.name = hook_kernel_name(function), .stream = stream};
    return (struct record_launch){.name = hook_kernel_name(function),
                                  .grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
                                  .block = {config->blockDimX, config->blockDimY, config->blockDimZ},
                                  .shared_bytes = config->sharedMemBytes,
                                  .stream = stream};
}

#define HOOK_FAMILY "preload/hooks/launch.def"
#define HOOK(...)   HOOK_WRAPPER(__VA_ARGS__)
#include "preload/hooks/all.def"

static struct record_launch launch_of(const CUDA_LAUNCH_PARAMS *launch, struct record_call *call)
{
    struct hook_stream on = hook_stream(launch->hStream, false);
    call->device = on.device;
    return (struct record_launch){.name = hook_kernel_name(launch->function),
                                  .grid = {launch->gridDimX, launch->gridDimY, launch->gridDimZ},
                                  .block = {launch->blockDimX, launch->blockDimY, launch->blockDimZ},
                                  .shared_bytes = launch->sharedMemBytes,
                                  .stream = on.string};
}

/* One call, a launch on each device: a record each, all of the call's number. */
CUresult hook_cuLaunchCooperativeKernelMultiDevice(CUDA_LAUNCH_PARAMS *launches, unsigned count,
                                                   unsigned flags)
{
    struct record_call call;
    uint16_t api = hook_api(HOOK_cuLaunchCooperativeKernelMultiDevice, HOOK_GROUP_LAUNCH);
    if (!record_enter(&call, api))
        return hook_told(REAL(cuLaunchCooperativeKernelMultiDevice)(launches, count, flags));
    CUresult result = REAL(cuLaunchCooperativeKernelMultiDevice)(launches, count, flags);
    if (!launches || !count) {
        record_op(&call, (int)result, 0, 0);
        return hook_told(result);
    }
    for (unsigned i = 0; i < count; i++) {
        if (i && !record_enter(&call, api)) break;
        struct record_launch launch = launch_of(&launches[i], &call);
        if (result == CUDA_SUCCESS) device_untimed(&call, CAP_UNTIMED_FORM);
        record_launch(&call, (int)result, &launch);
    }
    return hook_told(result);
}
