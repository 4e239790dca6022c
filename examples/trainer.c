/* Trains a small network on the CUDA driver API: two layers, 2 inputs -> hidden, ReLU -> 1 output, which
 * learn f(x, y) = sin(3 x) cos(2 y) from random points; mean squared error, stochastic gradient descent with
 * momentum.
 *
 * usage: trainer [STEPS [BATCH [HIDDEN]]]     (200 steps, batches of 256, 64 hidden units)
 *
 * A plain program: nothing in it knows of a profiler. Parameters and optimizer state live as long as the
 * program; activations and gradients are allocated anew at every step, in stream order. */
#include <cuda.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { INPUTS = 2, OUTPUTS = 1 };

#define CU(call) check((call), #call, __LINE__)

static void check(CUresult result, const char *call, int line)
{
    if (result == CUDA_SUCCESS) return;
    const char *text = NULL;
    if (cuGetErrorString(result, &text) != CUDA_SUCCESS) text = "unknown error";
    fprintf(stderr, "trainer: line %d: %s: %s\n", line, call, text);
    exit(1);
}

/* The parts of a step: trainer_nvtx.c makes NVTX ranges of them. */
#ifndef PART_BEGIN
#define PART_BEGIN(name) ((void)(name))
#define PART_END()       ((void)0)
#endif
/* What trainer_spans.c tells of a step and of a layer's gradients. */
#ifndef STEP_BEGIN
#define PROGRAM_BEGIN()       ((void)0)
#define STEP_BEGIN(step)      ((void)(step))
#define STEP_END(step, loss)  ((void)(step), (void)(loss))
#define GRADIENT(name, layer) ((void)(name), (void)(layer))
#endif

/* trainer_kernels.ptx, as text. */
extern const char kernels_ptx[];
__asm__(".pushsection .rodata\n"
        ".globl kernels_ptx\n"
        "kernels_ptx: .incbin \"examples/trainer_kernels.ptx\"\n"
        ".byte 0\n"
        ".popsection\n");

static CUfunction linear_forward, relu_forward, mse_loss, mse_gradient, linear_backward_input,
    linear_backward_weight, relu_backward, momentum_step;
static CUstream stream;

static CUmodule load_kernels(void)
{
    static const struct {
        const char *name;
        CUfunction *function;
    } kernels[] = {{"linear_forward", &linear_forward},
                   {"relu_forward", &relu_forward},
                   {"mse_loss", &mse_loss},
                   {"mse_gradient", &mse_gradient},
                   {"linear_backward_input", &linear_backward_input},
                   {"linear_backward_weight", &linear_backward_weight},
                   {"relu_backward", &relu_backward},
                   {"momentum_step", &momentum_step}};
    CUmodule module;
    CU(cuModuleLoadData(&module, kernels_ptx));
    for (unsigned i = 0; i < sizeof kernels / sizeof *kernels; i++)
        CU(cuModuleGetFunction(kernels[i].function, module, kernels[i].name));
    return module;
}

/* One thread for each of count elements. */
static void launch(CUfunction kernel, uint32_t count, void **parameters)
{
    CU(cuLaunchKernel(kernel, (count + 255) / 256, 1, 1, 256, 1, 1, 0, stream, parameters, NULL));
}
#define LAUNCH(kernel, count, ...) launch(kernel, count, (void *[]){__VA_ARGS__})

static CUdeviceptr floats(uint32_t count)
{
    CUdeviceptr pointer;
    CU(cuMemAllocAsync(&pointer, count * sizeof(float), stream));
    return pointer;
}

/* Uniform in [-1, 1), the same numbers at every run. */
static float uniform(void)
{
    static uint64_t state = 7;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (float)(int32_t)(state >> 32) / 2147483648.0f;
}

/* A layer: its parameters, the optimizer's state and the gradients of one step. */
struct layer {
    uint32_t inputs, outputs;
    CUdeviceptr weight, bias, weight_velocity, bias_velocity;
    CUdeviceptr weight_grad, bias_grad;
};

static CUdeviceptr parameter(uint32_t count, float scale)
{
    CUdeviceptr pointer;
    float *values = malloc(count * sizeof *values);
    if (!values) exit(1);
    for (uint32_t i = 0; i < count; i++)
        values[i] = scale * uniform();
    CU(cuMemAlloc(&pointer, count * sizeof *values));
    CU(cuMemcpyHtoD(pointer, values, count * sizeof *values));
    free(values);
    return pointer;
}

static struct layer layer_new(uint32_t inputs, uint32_t outputs)
{
    float scale = sqrtf(6.0f / (float)inputs);
    return (struct layer){.inputs = inputs,
                          .outputs = outputs,
                          .weight = parameter(inputs * outputs, scale),
                          .bias = parameter(outputs, 0.5f),
                          .weight_velocity = parameter(inputs * outputs, 0),
                          .bias_velocity = parameter(outputs, 0)};
}

static void layer_free(struct layer *layer)
{
    CU(cuMemFree(layer->weight));
    CU(cuMemFree(layer->bias));
    CU(cuMemFree(layer->weight_velocity));
    CU(cuMemFree(layer->bias_velocity));
}

static CUdeviceptr layer_forward(struct layer *layer, CUdeviceptr in, uint32_t rows)
{
    CUdeviceptr out = floats(rows * layer->outputs);
    LAUNCH(linear_forward, rows * layer->outputs, &out, &in, &layer->weight, &layer->bias, &rows,
           &layer->inputs, &layer->outputs);
    return out;
}

static void layer_backward(struct layer *layer, CUdeviceptr grad_out, CUdeviceptr in, uint32_t rows)
{
    layer->weight_grad = floats(layer->inputs * layer->outputs);
    layer->bias_grad = floats(layer->outputs);
    LAUNCH(linear_backward_weight, layer->inputs * layer->outputs, &layer->weight_grad, &layer->bias_grad,
           &grad_out, &in, &rows, &layer->inputs, &layer->outputs);
}

static void layer_step(struct layer *layer)
{
    float rate = 0.05f, momentum = 0.9f;
    uint32_t count = layer->inputs * layer->outputs;
    LAUNCH(momentum_step, count, &layer->weight, &layer->weight_velocity, &layer->weight_grad, &rate,
           &momentum, &count);
    LAUNCH(momentum_step, layer->outputs, &layer->bias, &layer->bias_velocity, &layer->bias_grad, &rate,
           &momentum, &layer->outputs);
    CU(cuMemFreeAsync(layer->weight_grad, stream));
    CU(cuMemFreeAsync(layer->bias_grad, stream));
}

/* What one step needs of the host: the batch in pinned memory, its copy on the device, and the loss. */
struct batch {
    uint32_t rows;
    float *host_points, *host_targets;
    CUdeviceptr points, targets, loss;
};

static void batch_fill(struct batch *batch)
{
    for (uint32_t i = 0; i < batch->rows; i++) {
        float x = uniform(), y = uniform();
        batch->host_points[INPUTS * i] = x;
        batch->host_points[INPUTS * i + 1] = y;
        batch->host_targets[i] = sinf(3 * x) * cosf(2 * y);
    }
    CU(cuMemcpyHtoDAsync(batch->points, batch->host_points, batch->rows * INPUTS * sizeof(float), stream));
    CU(cuMemcpyHtoDAsync(batch->targets, batch->host_targets, batch->rows * sizeof(float), stream));
}

static float train_step(struct layer *first, struct layer *second, struct batch *batch)
{
    uint32_t rows = batch->rows, hidden = rows * first->outputs, count = rows * OUTPUTS;
    float loss;
    batch_fill(batch);
    PART_BEGIN("forward");
    CUdeviceptr before = layer_forward(first, batch->points, rows);
    CUdeviceptr active = floats(hidden);
    LAUNCH(relu_forward, hidden, &active, &before, &hidden);
    CUdeviceptr out = layer_forward(second, active, rows);
    LAUNCH(mse_loss, 1, &batch->loss, &out, &batch->targets, &count);
    PART_END();
    PART_BEGIN("backward");
    CUdeviceptr grad_out = floats(count);
    LAUNCH(mse_gradient, count, &grad_out, &out, &batch->targets, &count);
    layer_backward(second, grad_out, active, rows);
    CUdeviceptr grad_active = floats(hidden), grad_before = floats(hidden);
    LAUNCH(linear_backward_input, hidden, &grad_active, &grad_out, &second->weight, &rows, &second->inputs,
           &second->outputs);
    LAUNCH(relu_backward, hidden, &grad_before, &grad_active, &before, &hidden);
    layer_backward(first, grad_before, batch->points, rows);
    PART_END();
    GRADIENT("first", first);
    GRADIENT("second", second);
    PART_BEGIN("optimizer");
    layer_step(first);
    layer_step(second);
    PART_END();
    CUdeviceptr done[] = {before, active, out, grad_out, grad_active, grad_before};
    for (unsigned i = 0; i < sizeof done / sizeof *done; i++)
        CU(cuMemFreeAsync(done[i], stream));
    CU(cuMemcpyDtoHAsync(&loss, batch->loss, sizeof loss, stream));
    CU(cuStreamSynchronize(stream));
    return loss;
}

static long argument(int argc, char **argv, int index, long otherwise)
{
    if (index >= argc) return otherwise;
    char *end;
    long value = strtol(argv[index], &end, 10);
    if (*end || value < 1 || value > 1000000) {
        fprintf(stderr, "usage: trainer [STEPS [BATCH [HIDDEN]]], numbers from 1 to 1000000, not \"%s\"\n",
                argv[index]);
        exit(2);
    }
    return value;
}

int main(int argc, char **argv)
{
    long steps = argument(argc, argv, 1, 200);
    uint32_t rows = (uint32_t)argument(argc, argv, 2, 256), hidden = (uint32_t)argument(argc, argv, 3, 64);
    CUdevice device;
    CUcontext context;
    char name[256];
    PROGRAM_BEGIN();
    CU(cuInit(0));
    CU(cuDeviceGet(&device, 0));
    CU(cuDeviceGetName(name, sizeof name, device));
    CU(cuDevicePrimaryCtxRetain(&context, device));
    CU(cuCtxSetCurrent(context));
    CUmodule module = load_kernels();
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    printf("training on %s: %ld steps, batch %u, %u hidden units\n", name, steps, rows, hidden);

    struct layer first = layer_new(INPUTS, hidden), second = layer_new(hidden, OUTPUTS);
    struct batch batch = {.rows = rows};
    CU(cuMemHostAlloc((void **)&batch.host_points, rows * INPUTS * sizeof(float), 0));
    CU(cuMemHostAlloc((void **)&batch.host_targets, rows * sizeof(float), 0));
    CU(cuMemAlloc(&batch.points, rows * INPUTS * sizeof(float)));
    CU(cuMemAlloc(&batch.targets, rows * sizeof(float)));
    CU(cuMemAlloc(&batch.loss, sizeof(float)));
    float loss = 0;
    for (long step = 1; step <= steps; step++) {
        STEP_BEGIN(step);
        PART_BEGIN("train_step");
        loss = train_step(&first, &second, &batch);
        PART_END();
        STEP_END(step, loss);
        if (step == 1 || step % 50 == 0 || step == steps) printf("step %4ld  loss %.4f\n", step, loss);
    }

    CUdeviceptr owned[] = {batch.points, batch.targets, batch.loss};
    for (unsigned i = 0; i < sizeof owned / sizeof *owned; i++)
        CU(cuMemFree(owned[i]));
    CU(cuMemFreeHost(batch.host_points));
    CU(cuMemFreeHost(batch.host_targets));
    layer_free(&first);
    layer_free(&second);
    CU(cuStreamDestroy(stream));
    CU(cuModuleUnload(module));
    CU(cuDevicePrimaryCtxRelease(device));
    return isfinite(loss) ? 0 : 1;
}
