/* usage: loadpath_lookup
 * dlopen|dlopen-so|getproc|getproc-v1|(plugin-local|plugin-deepbind|plugin-deepbind-again) PLUGIN Not linked
 * with the driver: looks it up in the way named. again: the plugin was there before, and closed. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "families.h"

typedef CUresult (*getproc_v1)(const char *, void **, int, cuuint64_t);
typedef CUresult (*getproc_v2)(const char *, void **, int, cuuint64_t, int *);

struct entry {
    const char *symbol, *plain;
    int version;
    void **slot;
};

static struct family_functions functions;

static const struct entry entries[] = {
#define ENTRY(name, symbol, plain, version) {symbol, plain, version, (void **)(void *)&functions.name##_},
    FAMILY_FUNCTIONS(ENTRY)
#undef ENTRY
};
enum { ENTRIES = sizeof entries / sizeof *entries };

static int by_dlsym(const char *library)
{
    void *handle = dlopen(library, RTLD_NOW);
    if (!handle) return printf("%s\n", dlerror()), 1;
    for (int i = 0; i < ENTRIES; i++)
        if (!(*entries[i].slot = dlsym(handle, entries[i].symbol))) return printf("%s\n", dlerror()), 1;
    return families_run(&functions);
}

static int by_getproc(int version)
{
    void *handle = dlopen("libcuda.so.1", RTLD_NOW);
    if (!handle) return printf("%s\n", dlerror()), 1;
    union {
        void *pointer;
        getproc_v1 v1;
        getproc_v2 v2;
    } get = {dlsym(handle, version == 1 ? "cuGetProcAddress" : "cuGetProcAddress_v2")};
    if (!get.pointer) return printf("%s\n", dlerror()), 1;
    for (int i = 0; i < ENTRIES; i++) {
        cuuint64_t asked = (cuuint64_t)entries[i].version;
        CUresult result =
            version == 1 ? get.v1(entries[i].plain, entries[i].slot, asked == 11060 ? 11060 : (int)asked, 0)
                         : get.v2(entries[i].plain, entries[i].slot, (int)asked, 0, NULL);
        if (result || !*entries[i].slot) return printf("%s: %d\n", entries[i].plain, (int)result), 1;
    }
    return families_run(&functions);
}

static int by_plugin(const char *path, int flags)
{
    void *handle = dlopen(path, RTLD_NOW | flags);
    if (!handle) return printf("%s\n", dlerror()), 1;
    union {
        void *pointer;
        int (*run)(const struct family_functions *);
    } plugin = {dlsym(handle, "families_run")};
    return plugin.pointer ? plugin.run(NULL) : 1;
}

/* The second one comes to lie where the first one was. */
static int by_plugin_again(const char *path, int flags)
{
    void *handle = dlopen(path, RTLD_NOW | flags);
    if (!handle || !dlsym(handle, "families_run") || dlclose(handle)) return printf("%s\n", dlerror()), 1;
    return by_plugin(path, flags);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    if (!strcmp(how, "dlopen")) return by_dlsym("libcuda.so.1");
    if (!strcmp(how, "dlopen-so")) return by_dlsym("libcuda.so");
    if (!strcmp(how, "getproc")) return by_getproc(2);
    if (!strcmp(how, "getproc-v1")) return by_getproc(1);
    if (argc > 2 && !strcmp(how, "plugin-local")) return by_plugin(argv[2], RTLD_LOCAL);
    if (argc > 2 && !strcmp(how, "plugin-deepbind")) return by_plugin(argv[2], RTLD_LOCAL | RTLD_DEEPBIND);
    if (argc > 2 && !strcmp(how, "plugin-deepbind-again"))
        return by_plugin_again(argv[2], RTLD_LOCAL | RTLD_DEEPBIND);
    return 2;
}
