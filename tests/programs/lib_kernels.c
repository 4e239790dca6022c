/* The kernels of target_ptx as host functions, for SIM_KERNELS (the contract is in tests/sim/sim.h). */
#include <stdint.h>

void fill(void **args, const unsigned grid[3], const unsigned block[3]);
void axpy(void **args, const unsigned grid[3], const unsigned block[3]);
void nothing(void **args, const unsigned grid[3], const unsigned block[3]);

static unsigned reach(unsigned count, const unsigned grid[3], const unsigned block[3])
{
    unsigned threads = grid[0] * block[0];
    return threads < count ? threads : count;
}

void fill(void **args, const unsigned grid[3], const unsigned block[3])
{
    uint32_t *at = *(uint32_t **)args[0];
    unsigned count = reach(*(unsigned *)args[1], grid, block);
    for (unsigned i = 0; i < count; i++)
        at[i] = *(uint32_t *)args[2];
}

void axpy(void **args, const unsigned grid[3], const unsigned block[3])
{
    float *y = *(float **)args[0];
    const float *x = *(const float **)args[1];
    unsigned count = reach(*(unsigned *)args[3], grid, block);
    for (unsigned i = 0; i < count; i++)
        y[i] += *(float *)args[2] * x[i];
}

void nothing(void **args, const unsigned grid[3], const unsigned block[3])
{
    (void)args, (void)grid, (void)block;
}
