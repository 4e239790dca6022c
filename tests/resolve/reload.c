/* usage: reload PLUGIN: opens a plugin that brings a runtime, uses it and closes it, twice. Each time it
 * begins anew. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static int (*find(void *plugin, const char *name))(void)
{
    union {
        void *pointer;
        int (*function)(void);
    } found = {dlsym(plugin, name)};

    if (!found.pointer) exit(1);
    return found.function;
}

int main(int argc, char **argv)
{
    for (int i = 0; argc > 1 && i < 2; i++) {
        void *plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL), *left;

        if (!plugin) return 1;
        printf("last %d, ", find(plugin, "plugin_last_error")());
        printf("malloc %d", find(plugin, "plugin_fail")());
        printf(", calls so far %d", find(plugin, "plugin_calls")());
        dlclose(plugin);
        left = dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD);
        printf(", %s\n", left ? "stays" : "gone");
        if (left) dlclose(left);
    }
    return 0;
}
