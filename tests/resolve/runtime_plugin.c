/* A plugin with a runtime of another version than the program's. */
#include <stddef.h>

extern int cudaMalloc(void **, size_t);
extern int cudaGetLastError(void);

static int calls;

__attribute__((visibility("default"))) int plugin_fail(void)
{
    void *memory;

    calls++;
    return cudaMalloc(&memory, (size_t)1 << 50);
}
__attribute__((visibility("default"))) int plugin_calls(void)
{
    return calls;
}
__attribute__((visibility("default"))) int plugin_last_error(void)
{
    return cudaGetLastError();
}
