/* Calls the driver the way its first argument names: dlsym, dlopen-plain, getproc, getproc2, next, default,
 * linked (see t_lookup.py). Prints what it gets, so that a run with the library must print the same. */
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int alloc_fn(unsigned long long *, size_t);
typedef int free_fn(unsigned long long);
typedef int launch_fn(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
                      void **, void **);
typedef int copy_fn(unsigned long long, unsigned long long, size_t, void *);
typedef int look_up_fn(const char *, void **, int, unsigned long long);
typedef int look_up2_fn(const char *, void **, int, unsigned long long, int *);

static void use(alloc_fn *alloc, free_fn *release, launch_fn *launch)
{
    unsigned long long address = 0;
    errno = 5;
    printf("alloc %d", alloc(&address, 1024));
    printf(" %#llx errno %d\n", address, errno);
    printf("launch %d errno %d\n", launch((void *)0x1230, 1, 2, 3, 4, 5, 6, 7, NULL, NULL, NULL), errno);
    printf("free %d errno %d\n", release(address), errno);
    address = 17;
    printf("too much %d", alloc(&address, (size_t)1 << 40));
    printf(" %llu errno %d\n", address, errno);
    printf("free nothing %d\n", release(0));
}

static void use_symbols(void *handle)
{
    use((alloc_fn *)dlsym(handle, "cuMemAlloc_v2"), (free_fn *)dlsym(handle, "cuMemFree_v2"),
        (launch_fn *)dlsym(handle, "cuLaunchKernel"));
}

/* Version 1 answers 500 for what it does not know, version 2 succeeds and leaves the pointer alone. */
static void use_look_ups(void *handle, int version)
{
    look_up_fn *v1 = (look_up_fn *)dlsym(handle, "cuGetProcAddress");
    look_up2_fn *v2 = (look_up2_fn *)dlsym(handle, "cuGetProcAddress_v2");
    void *again = NULL;
    if (version == 1)
        printf("itself %d\n", v1("cuGetProcAddress", &again, 11030, 0));
    else
        printf("itself %d\n", v2("cuGetProcAddress", &again, 12000, 0, NULL));
    v1 = (look_up_fn *)again;
    v2 = (look_up2_fn *)again;
    static const struct {
        const char *name;
        int version, flags;
    } asked[] = {{"cuMemAlloc", 3020, 0},     {"cuMemFree", 3020, 0},     {"cuLaunchKernel", 7000, 0},
                 {"cuLaunchKernel", 7000, 2}, {"cuMemcpyAsync", 7000, 0}, {"cuMemcpyAsync", 7000, 2},
                 {"cuMemAlloc", 99000, 0},    {"cuNonsense", 13000, 0}};
    void *got[8];
    for (size_t i = 0; i < 8; i++) {
        int status = -1;
        got[i] = (void *)0x5555;
        if (version == 1)
            printf("%s@%d %d", asked[i].name, asked[i].version,
                   v1(asked[i].name, &got[i], asked[i].version, (unsigned)asked[i].flags));
        else
            printf("%s@%d %d", asked[i].name, asked[i].version,
                   v2(asked[i].name, &got[i], asked[i].version, (unsigned)asked[i].flags,
                      i & 1 ? &status : NULL));
        printf(" status %d untouched %d\n", status, got[i] == (void *)0x5555);
    }
    use((alloc_fn *)got[0], (free_fn *)got[1], (launch_fn *)got[2]);
    printf("per thread %d\n", ((launch_fn *)got[3])((void *)0x1230, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    printf("copy %d\n", ((copy_fn *)got[4])(0x10, 0x20, 30, NULL));
    printf("copy per thread %d\n", ((copy_fn *)got[5])(0x10, 0x20, 40, NULL));
    unsigned long long address;
    printf("future %d\n", ((alloc_fn *)got[6])(&address, 7));
}

/* A handle that means another function after its module is gone. */
static void use_names(void *driver)
{
    launch_fn *launch = (launch_fn *)dlsym(driver, "cuLaunchKernel");
    int (*function)(void **, void *, const char *) =
        (int (*)(void **, void *, const char *))dlsym(driver, "cuModuleGetFunction");
    int (*unload)(void *) = (int (*)(void *))dlsym(driver, "cuModuleUnload");
    void *kernel, *modules[] = {(void *)0x100, (void *)0x200};
    static const char *const names[] = {"first", "second"};
    for (int i = 0; i < 2; i++) {
        printf("function %d\n", function(&kernel, modules[i], names[i]));
        for (int n = 0; n < 2; n++)
            printf("launch %d\n", launch(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
        printf("unload %d\n", unload(modules[i]));
    }
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "";
    if (!strcmp(way, "absent")) {
        /* No driver anywhere: what is not there stays not there, and dlerror says so. */
        void *found = dlsym(RTLD_DEFAULT, "cuMemAlloc_v2");
        const char *said = dlerror();
        printf("%d %d\n", found == NULL, said && strstr(said, "cuMemAlloc_v2") != NULL);
        found = dlsym(dlopen(NULL, RTLD_LAZY), "cuMemAlloc_v2");
        printf("%d %d\n", found == NULL, dlerror() != NULL);
        return 0;
    }
    void *driver = dlopen(strcmp(way, "dlopen-plain") ? "libcuda.so.1" : "libcuda.so",
                          RTLD_NOW | (strcmp(way, "default") ? RTLD_LOCAL : RTLD_GLOBAL));
    if (!driver) {
        puts(dlerror());
        return 1;
    }
    if (!strcmp(way, "getproc"))
        use_look_ups(driver, 1);
    else if (!strcmp(way, "getproc2"))
        use_look_ups(driver, 2);
    else if (!strcmp(way, "names"))
        use_names(driver);
    else if (!strcmp(way, "default"))
        use_symbols(RTLD_DEFAULT);
    else
        use_symbols(driver);
    dlerror();
    void *missing = dlsym(driver, "cuNoSuchThing");
    printf("missing %d %d\n", missing == NULL, dlerror() != NULL);
    missing = dlsym(driver, "cuMemAllocHost_v2"); /* a name with a wrapper, which this driver lacks */
    printf("missing %d %d\n", missing == NULL, dlerror() != NULL);
    missing = dlsym(driver, "cuMemAlloc_v2") ? NULL : driver;
    printf("found %d %d\n", missing == NULL, dlerror() == NULL);
    printf("foreign %d\n", dlsym(driver, "malloc") == dlsym(RTLD_DEFAULT, "malloc"));
    return 0;
}
