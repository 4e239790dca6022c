/* A program that knows nothing of cgtrace.h and opens a plugin that does. usage: host PLUGIN WAY */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    void *plugin = argc == 3 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    int (*run)(const char *);

    if (!plugin) {
        fprintf(stderr, "host: %s\n", argc == 3 ? dlerror() : "usage: host PLUGIN WAY");
        return 2;
    }
    *(void **)&run = dlsym(plugin, "calls_run");
    return run ? run(argv[2]) : 2;
}
