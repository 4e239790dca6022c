#include "preload/resolve/runtime.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "preload/objects.h"
#include "preload/resolve/resolve.h"

/* Looks in an object that is loaded, and in what it depends on. */
static void *in_object(const char *path, const char *name, const char *version)
{
    void *handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    void *found = handle ? dlvsym(handle, name, version) : NULL;
    if (handle) resolve_dlclose(handle);
    return found;
}

/* Keeps the object of an address loaded: bound by the loader, the caller would keep it. */
static void *stays(void *found)
{
    Dl_info object;
    if (found && dladdr(found, &object) && object.dli_fname)
        (void)dlopen(object.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    return found;
}

struct runtimes {
    char path[8][512];
    unsigned count;
};

/* Objects that are called after the runtime, whatever their SONAME was made into. */
static int note_runtime(struct dl_phdr_info *object, size_t size, void *into)
{
    (void)size;
    struct runtimes *runtimes = into;
    const char *slash = strrchr(object->dlpi_name, '/');
    const char *file = slash ? slash + 1 : object->dlpi_name;
    if (strncmp(file, "libcudart", 9) != 0 || strlen(object->dlpi_name) >= sizeof *runtimes->path) return 0;
    strcpy(runtimes->path[runtimes->count++], object->dlpi_name);
    return runtimes->count == sizeof runtimes->path / sizeof *runtimes->path;
}

static int not_found(void)
{
    return 500; /* cudaErrorSymbolNotFound */
}

void *resolve_runtime_symbol(const char *name, const char *version, const void *caller)
{
    int kept = errno;
    void *found = stays(dlvsym(RTLD_NEXT, name, version));
    Dl_info object;
    /* What the caller depends on is there as long as the caller is, and no longer: both may be opened anew.
     */
    if (!found && dladdr(caller, &object) && object.dli_fname)
        found = in_object(object.dli_fname, name, version);
    if (!found)
        found = stays(in_object(version, name, version)); /* what the runtime is called too, as it is built */
    if (!found) {
        struct runtimes runtimes = {.count = 0};
        objects_look(note_runtime, &runtimes); /* opened only afterwards: not under the loader's lock */
        for (unsigned i = 0; !found && i < runtimes.count; i++)
            found = stays(in_object(runtimes.path[i], name, version));
    }
    dlerror(); /* the failures on the way are nobody's business */
    errno = kept;
    return found ? found : (void *)not_found;
}
