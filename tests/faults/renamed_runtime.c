/* A runtime under a name that no reference asks for, as wheels of Python have it. All that it does is to
 * refuse. */
#include <stddef.h>

__attribute__((visibility("default"))) int cudaMalloc(void **memory, size_t bytes);

int cudaMalloc(void **memory, size_t bytes)
{
    return memory && bytes ? 2 : 1;
}
