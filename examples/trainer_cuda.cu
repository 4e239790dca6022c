/* The network of trainer.c in CUDA C++ on the runtime API, as most programs are written: cudaMallocAsync, <<<>>> launches.
 * Built with nvcc -cudart shared; its kernels have the names and parameters of trainer_kernels.ptx.
 *
 * usage: trainer_cuda [STEPS [BATCH [HIDDEN]]]     (200 steps, batches of 256, 64 hidden units) */
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define RT(call) check((call), #call, __LINE__)

static void check(cudaError_t result, const char *call, int line)
{
    if (result == cudaSuccess) return;
    std::fprintf(stderr, "trainer_cuda: line %d: %s: %s\n", line, call, cudaGetErrorString(result));
    std::exit(1);
}

__device__ static uint32_t element()
{
    return blockIdx.x * blockDim.x + threadIdx.x;
}

extern "C" {

__global__ void linear_forward(float *out, const float *in, const float *weight, const float *bias, uint32_t rows,
                               uint32_t inputs, uint32_t outputs)
{
    uint32_t t = element();
    if (t >= rows * outputs) return;
    uint32_t row = t / outputs, output = t % outputs;
    float sum = bias[output];
    for (uint32_t i = 0; i < inputs; i++)
        sum += in[row * inputs + i] * weight[output * inputs + i];
    out[t] = sum;
}

__global__ void relu_forward(float *out, const float *in, uint32_t count)
{
    uint32_t t = element();
    if (t < count) out[t] = fmaxf(in[t], 0);
}

__global__ void mse_loss(float *loss, const float *out, const float *target, uint32_t count)
{
    if (element() != 0) return;
    float sum = 0;
    for (uint32_t t = 0; t < count; t++)
        sum += (out[t] - target[t]) * (out[t] - target[t]);
    *loss = sum / count;
}

__global__ void mse_gradient(float *grad, const float *out, const float *target, uint32_t count)
{
    uint32_t t = element();
    if (t < count) grad[t] = 2 * (out[t] - target[t]) / count;
}

__global__ void linear_backward_input(float *grad_in, const float *grad_out, const float *weight, uint32_t rows,
                                      uint32_t inputs, uint32_t outputs)
{
    uint32_t t = element();
    if (t >= rows * inputs) return;
    uint32_t row = t / inputs, input = t % inputs;
    float sum = 0;
    for (uint32_t o = 0; o < outputs; o++)
        sum += grad_out[row * outputs + o] * weight[o * inputs + input];
    grad_in[t] = sum;
}

__global__ void linear_backward_weight(float *grad_weight, float *grad_bias, const float *grad_out, const float *in,
                                       uint32_t rows, uint32_t inputs, uint32_t outputs)
{
    uint32_t t = element();
    if (t >= outputs * inputs) return;
    uint32_t output = t / inputs, input = t % inputs;
    float weight = 0, bias = 0;
    for (uint32_t row = 0; row < rows; row++) {
        weight += grad_out[row * outputs + output] * in[row * inputs + input];
        bias += grad_out[row * outputs + output];
    }
    grad_weight[t] = weight;
    if (input == 0) grad_bias[output] = bias;
}

__global__ void relu_backward(float *grad_in, const float *grad_out, const float *in, uint32_t count)
{
    uint32_t t = element();
    if (t < count) grad_in[t] = in[t] > 0 ? grad_out[t] : 0;
}

__global__ void momentum_step(float *weight, float *velocity, const float *grad, float rate, float momentum,
                              uint32_t count)
{
    uint32_t t = element();
    if (t >= count) return;
    velocity[t] = momentum * velocity[t] + grad[t];
    weight[t] -= rate * velocity[t];
}
}

static cudaStream_t stream;

static uint32_t blocks(uint32_t count)
{
    return (count + 255) / 256;
}

/* Uniform in [-1, 1), the same numbers at every run. */
static float uniform()
{
    static uint64_t state = 7;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (float)(int32_t)(state >> 32) / 2147483648.0f;
}

/* Device memory of one step, given back in stream order. */
struct Floats {
    float *data = nullptr;
    explicit Floats(uint32_t count) { RT(cudaMallocAsync((void **)&data, count * sizeof(float), stream)); }
    ~Floats() { cudaFreeAsync(data, stream); }
    Floats(const Floats &) = delete;
    Floats &operator=(const Floats &) = delete;
};

/* A parameter with its optimizer's state. */
struct Parameter {
    uint32_t count;
    float *value = nullptr, *velocity = nullptr;
    Parameter(uint32_t n, float scale) : count(n)
    {
        std::vector<float> values(n);
        for (float &v : values)
            v = scale * uniform();
        RT(cudaMalloc((void **)&value, n * sizeof(float)));
        RT(cudaMalloc((void **)&velocity, n * sizeof(float)));
        RT(cudaMemcpy(value, values.data(), n * sizeof(float), cudaMemcpyHostToDevice));
        RT(cudaMemset(velocity, 0, n * sizeof(float)));
    }
    void step(const float *grad)
    {
        momentum_step<<<blocks(count), 256, 0, stream>>>(value, velocity, grad, 0.05f, 0.9f, count);
    }
    ~Parameter()
    {
        cudaFree(value);
        cudaFree(velocity);
    }
    Parameter(const Parameter &) = delete;
    Parameter &operator=(const Parameter &) = delete;
};

struct Network {
    uint32_t hidden;
    Parameter weight1, bias1, weight2, bias2;
    explicit Network(uint32_t h)
        : hidden(h), weight1(2 * h, sqrtf(6.0f / 2)), bias1(h, 0.5f), weight2(h, sqrtf(6.0f / (float)h)), bias2(1, 0.5f)
    {
    }

    void step(const float *points, const float *targets, float *loss, uint32_t rows)
    {
        uint32_t wide = rows * hidden;
        Floats before(wide), active(wide), out(rows);
        linear_forward<<<blocks(wide), 256, 0, stream>>>(before.data, points, weight1.value, bias1.value, rows, 2, hidden);
        relu_forward<<<blocks(wide), 256, 0, stream>>>(active.data, before.data, wide);
        linear_forward<<<blocks(rows), 256, 0, stream>>>(out.data, active.data, weight2.value, bias2.value, rows, hidden, 1);
        mse_loss<<<1, 256, 0, stream>>>(loss, out.data, targets, rows);

        Floats grad_out(rows), grad_active(wide), grad_before(wide);
        Floats grad_weight1(2 * hidden), grad_bias1(hidden), grad_weight2(hidden), grad_bias2(1);
        mse_gradient<<<blocks(rows), 256, 0, stream>>>(grad_out.data, out.data, targets, rows);
        linear_backward_weight<<<blocks(hidden), 256, 0, stream>>>(grad_weight2.data, grad_bias2.data, grad_out.data,
                                                                    active.data, rows, hidden, 1);
        linear_backward_input<<<blocks(wide), 256, 0, stream>>>(grad_active.data, grad_out.data, weight2.value, rows, hidden, 1);
        relu_backward<<<blocks(wide), 256, 0, stream>>>(grad_before.data, grad_active.data, before.data, wide);
        linear_backward_weight<<<blocks(2 * hidden), 256, 0, stream>>>(grad_weight1.data, grad_bias1.data, grad_before.data,
                                                                        points, rows, 2, hidden);
        weight1.step(grad_weight1.data);
        bias1.step(grad_bias1.data);
        weight2.step(grad_weight2.data);
        bias2.step(grad_bias2.data);
        RT(cudaGetLastError());
    }
};

static uint32_t argument(int argc, char **argv, int index, uint32_t otherwise)
{
    if (index >= argc) return otherwise;
    char *end;
    long value = std::strtol(argv[index], &end, 10);
    if (*end || value < 1 || value > 1000000) {
        std::fprintf(stderr, "usage: trainer_cuda [STEPS [BATCH [HIDDEN]]], numbers from 1 to 1000000, not \"%s\"\n", argv[index]);
        std::exit(2);
    }
    return (uint32_t)value;
}

int main(int argc, char **argv)
{
    uint32_t steps = argument(argc, argv, 1, 200), rows = argument(argc, argv, 2, 256), hidden = argument(argc, argv, 3, 64);
    float loss = 0, *host, *points, *targets, *device_loss;
    RT(cudaSetDevice(0));
    RT(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    RT(cudaMallocHost((void **)&host, 3 * rows * sizeof(float)));
    RT(cudaMalloc((void **)&points, 2 * rows * sizeof(float)));
    RT(cudaMalloc((void **)&targets, rows * sizeof(float)));
    RT(cudaMalloc((void **)&device_loss, sizeof(float)));
    {
        Network network(hidden);
        for (uint32_t step = 1; step <= steps; step++) {
            for (uint32_t i = 0; i < rows; i++) {
                float x = uniform(), y = uniform();
                host[2 * i] = x;
                host[2 * i + 1] = y;
                host[2 * rows + i] = sinf(3 * x) * cosf(2 * y);
            }
            RT(cudaMemcpyAsync(points, host, 2 * rows * sizeof(float), cudaMemcpyHostToDevice, stream));
            RT(cudaMemcpyAsync(targets, host + 2 * rows, rows * sizeof(float), cudaMemcpyHostToDevice, stream));
            network.step(points, targets, device_loss, rows);
            RT(cudaMemcpyAsync(&loss, device_loss, sizeof loss, cudaMemcpyDeviceToHost, stream));
            RT(cudaStreamSynchronize(stream));
            if (step == 1 || step % 50 == 0 || step == steps) std::printf("step %4u  loss %.4f\n", step, loss);
        }
    }
    RT(cudaFree(points));
    RT(cudaFree(targets));
    RT(cudaFree(device_loss));
    RT(cudaFreeHost(host));
    RT(cudaStreamDestroy(stream));
    return std::isfinite(loss) ? 0 : 1;
}
