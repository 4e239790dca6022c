/* Two runtimes in one process, each with an error state of its own; a call that the runtime refuses without
 * asking the driver; the runtime's functions by dlsym. usage: two_runtimes PLUGIN */
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>

extern int cudaMalloc(void **, size_t);
extern int cudaFree(void *);
extern int cudaMemset(void *, int, size_t);
extern int cudaGetLastError(void);

int main(int argc, char **argv)
{
    void *memory = NULL;
    void *plugin = dlopen(argc > 1 ? argv[1] : "", RTLD_NOW | RTLD_LOCAL);
    if (!plugin) return puts(dlerror()), 1;
    int (*fail)(void) = (int (*)(void))dlsym(plugin, "plugin_fail");
    int (*last)(void) = (int (*)(void))dlsym(plugin, "plugin_last_error");
    printf("malloc %d\n", cudaMalloc(&memory, 4096));
    printf("plugin %d\n", fail());
    printf("mine %d\n", cudaGetLastError());
    printf("its %d\n", last());
    printf("its again %d\n", last());
    printf("null %d\n", cudaMalloc(NULL, 4096));
    printf("mine %d\n", cudaGetLastError());
    printf("memset %d\n", cudaMemset(memory, 1, 4096));
    int (*looked_up)(void *, int, size_t) = (int (*)(void *, int, size_t))dlsym(RTLD_DEFAULT, "cudaMemset");
    printf("looked up %d %d\n", looked_up != NULL, looked_up ? looked_up(memory, 2, 2048) : -1);
    printf("free %d\n", cudaFree(memory));
    return 0;
}
