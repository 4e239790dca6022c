/* A library that still allocates from its destructor, when the recorder's may have run: the driver is gone by
 * then, as it is on a GPU, and says so. */
#include <dlfcn.h>
#include <stdio.h>

__attribute__((destructor)) static void allocate(void)
{
    unsigned long long address;
    int (*call)(unsigned long long *, size_t) =
        (int (*)(unsigned long long *, size_t))dlsym(RTLD_DEFAULT, "cuMemAlloc_v2");
    printf("late: %d\n", call ? call(&address, 64) : -1);
    fflush(stdout);
}
