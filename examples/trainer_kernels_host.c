/* The trainer's kernels as host functions, for the simulated device (SIM_KERNELS; the contract is in
 * tests/sim/sim.h). Each says what trainer_kernels.ptx says. NAME_params: the sizes of the parameters, for
 * modules that do not tell them. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>

/* A kernel's parameters are read by position and type. */
#define ARG(type, index) (*(type *)args[index])

#define KERNEL(name, ...)                                                                                    \
    extern const size_t name##_params[];                                                                     \
    const size_t name##_params[] = {__VA_ARGS__, 0};                                                         \
    void name(void **args, const unsigned grid[3], const unsigned block[3]);                                 \
    void name(void **args, const unsigned grid[3], const unsigned block[3])

/* How many of count elements the launch's threads reach. */
static uint32_t reach(uint32_t count, const unsigned grid[3], const unsigned block[3])
{
    uint32_t threads = grid[0] * block[0];
    return threads < count ? threads : count;
}

KERNEL(linear_forward, 8, 8, 8, 8, 4, 4, 4)
{
    float *out = ARG(float *, 0);
    const float *in = ARG(const float *, 1), *weight = ARG(const float *, 2), *bias = ARG(const float *, 3);
    uint32_t rows = ARG(uint32_t, 4), inputs = ARG(uint32_t, 5), outputs = ARG(uint32_t, 6);
    uint32_t count = reach(rows * outputs, grid, block);
    for (uint32_t t = 0; t < count; t++) {
        uint32_t row = t / outputs, output = t % outputs;
        float sum = bias[output];
        for (uint32_t i = 0; i < inputs; i++)
            sum = fmaf(in[row * inputs + i], weight[output * inputs + i], sum);
        out[t] = sum;
    }
}

KERNEL(relu_forward, 8, 8, 4)
{
    float *out = ARG(float *, 0);
    const float *in = ARG(const float *, 1);
    uint32_t count = reach(ARG(uint32_t, 2), grid, block);
    for (uint32_t t = 0; t < count; t++)
        out[t] = in[t] > 0 ? in[t] : 0;
}

KERNEL(mse_gradient, 8, 8, 8, 4)
{
    float *grad = ARG(float *, 0);
    const float *out = ARG(const float *, 1), *target = ARG(const float *, 2);
    uint32_t all = ARG(uint32_t, 3), count = reach(all, grid, block);
    for (uint32_t t = 0; t < count; t++)
        grad[t] = 2 * (out[t] - target[t]) / (float)all;
}

KERNEL(mse_loss, 8, 8, 8, 4)
{
    const float *out = ARG(const float *, 1), *target = ARG(const float *, 2);
    uint32_t count = ARG(uint32_t, 3);
    float sum = 0;
    (void)grid, (void)block; /* one thread does it all */
    for (uint32_t t = 0; t < count; t++)
        sum = fmaf(out[t] - target[t], out[t] - target[t], sum);
    *ARG(float *, 0) = sum / (float)count;
}

KERNEL(linear_backward_input, 8, 8, 8, 4, 4, 4)
{
    float *grad_in = ARG(float *, 0);
    const float *grad_out = ARG(const float *, 1), *weight = ARG(const float *, 2);
    uint32_t rows = ARG(uint32_t, 3), inputs = ARG(uint32_t, 4), outputs = ARG(uint32_t, 5);
    uint32_t count = reach(rows * inputs, grid, block);
    for (uint32_t t = 0; t < count; t++) {
        uint32_t row = t / inputs, input = t % inputs;
        float sum = 0;
        for (uint32_t o = 0; o < outputs; o++)
            sum = fmaf(grad_out[row * outputs + o], weight[o * inputs + input], sum);
        grad_in[t] = sum;
    }
}

KERNEL(linear_backward_weight, 8, 8, 8, 8, 4, 4, 4)
{
    float *grad_weight = ARG(float *, 0), *grad_bias = ARG(float *, 1);
    const float *grad_out = ARG(const float *, 2), *in = ARG(const float *, 3);
    uint32_t rows = ARG(uint32_t, 4), inputs = ARG(uint32_t, 5), outputs = ARG(uint32_t, 6);
    uint32_t count = reach(outputs * inputs, grid, block);
    for (uint32_t t = 0; t < count; t++) {
        uint32_t output = t / inputs, input = t % inputs;
        float weight = 0, bias = 0;
        for (uint32_t row = 0; row < rows; row++) {
            weight = fmaf(grad_out[row * outputs + output], in[row * inputs + input], weight);
            bias += grad_out[row * outputs + output];
        }
        grad_weight[t] = weight;
        if (input == 0) grad_bias[output] = bias;
    }
}

KERNEL(relu_backward, 8, 8, 8, 4)
{
    float *grad_in = ARG(float *, 0);
    const float *grad_out = ARG(const float *, 1), *in = ARG(const float *, 2);
    uint32_t count = reach(ARG(uint32_t, 3), grid, block);
    for (uint32_t t = 0; t < count; t++)
        grad_in[t] = in[t] > 0 ? grad_out[t] : 0;
}

KERNEL(momentum_step, 8, 8, 8, 4, 4, 4)
{
    float *weight = ARG(float *, 0), *velocity = ARG(float *, 1);
    const float *grad = ARG(const float *, 2);
    float rate = ARG(float, 3), momentum = ARG(float, 4);
    uint32_t count = reach(ARG(uint32_t, 5), grid, block);
    for (uint32_t t = 0; t < count; t++) {
        velocity[t] = fmaf(momentum, velocity[t], grad[t]);
        weight[t] = fmaf(-rate, velocity[t], weight[t]);
    }
}
