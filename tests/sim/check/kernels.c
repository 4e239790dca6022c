/* The kernels of threads.c as host functions. */
void bump(void **args, const unsigned grid[3], const unsigned block[3]);
void bump(void **args, const unsigned grid[3], const unsigned block[3])
{
    int *p = *(int **)args[0];
    for (unsigned i = 0; i < *(unsigned *)args[1]; i++)
        p[i] += (int)(grid[0] * block[0]);
}
