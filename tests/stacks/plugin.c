/* A library that is opened, used and closed. */
#include <cuda.h>
#include <stddef.h>

static CUdeviceptr last;

#ifdef __clang__ /* knows no noclone, and makes no clones */
#define FRAME __attribute__((noinline))
#else
#define FRAME __attribute__((noinline, noclone))
#endif
FRAME static void plugin_helper(size_t bytes)
{
    cuMemAlloc(&last, bytes);
    __asm__ volatile("" ::: "memory");
}

__attribute__((visibility("default"))) void plugin_entry(size_t bytes);
void plugin_entry(size_t bytes)
{
    plugin_helper(bytes);
    __asm__ volatile("" ::: "memory");
}
