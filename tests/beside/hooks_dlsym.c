/* A tool that hooks dlsym the common way: it is asked first, finds the true one by version, and gives out a
 * wrapper of its own for the functions that it watches. What it has seen is told when it is unloaded. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

typedef void *dlsym_fn(void *handle, const char *name);
typedef int allocate_fn(unsigned long long *address, size_t bytes);
typedef int lookup_fn(const char *symbol, void **function, int version, unsigned long long flags);
typedef int lookup_v2_fn(const char *symbol, void **function, int version, unsigned long long flags,
                         int *status);

static dlsym_fn *next_dlsym;
static allocate_fn *next_allocate;
static lookup_fn *next_lookup;
static lookup_v2_fn *next_lookup_v2;
static unsigned seen;

static int allocate(unsigned long long *address, size_t bytes)
{
    seen++;
    return next_allocate(address, bytes);
}

/* What the program gets for a function that it has asked for. */
static void *instead(const char *name, void *found);

static int lookup(const char *symbol, void **function, int version, unsigned long long flags)
{
    int result = next_lookup(symbol, function, version, flags);
    if (result == 0 && function && *function) *function = instead(symbol, *function);
    return result;
}

static int lookup_v2(const char *symbol, void **function, int version, unsigned long long flags, int *status)
{
    int result = next_lookup_v2(symbol, function, version, flags, status);
    if (result == 0 && function && *function) *function = instead(symbol, *function);
    return result;
}

static void *instead(const char *name, void *found)
{
    if (strcmp(name, "cuMemAlloc_v2") == 0 || strcmp(name, "cuMemAlloc") == 0) {
        if (found != (void *)allocate) next_allocate = (allocate_fn *)found;
        return (void *)allocate;
    }
    if (strcmp(name, "cuGetProcAddress") == 0) {
        if (found != (void *)lookup) next_lookup = (lookup_fn *)found;
        return (void *)lookup;
    }
    if (strcmp(name, "cuGetProcAddress_v2") == 0) {
        if (found != (void *)lookup_v2) next_lookup_v2 = (lookup_v2_fn *)found;
        return (void *)lookup_v2;
    }
    return found;
}

EXPORTED void *dlsym(void *restrict handle, const char *restrict name)
{
    /* HOOKS_DLSYM=default: in the program's search order instead of behind this library. */
    void *from = getenv("HOOKS_DLSYM") ? RTLD_DEFAULT : RTLD_NEXT;
    if (!next_dlsym) next_dlsym = (dlsym_fn *)dlvsym(from, "dlsym", "GLIBC_2.2.5");
    if (!next_dlsym) next_dlsym = (dlsym_fn *)dlvsym(from, "dlsym", "GLIBC_2.17");
    void *found = next_dlsym(handle, name);
    return found ? instead(name, found) : NULL;
}

__attribute__((destructor)) static void tell(void)
{
    printf("hooks_dlsym: %u allocations\n", seen);
    fflush(stdout);
}
