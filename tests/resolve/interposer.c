/* A library between the program and libc that wraps dlsym and getpid, as tools do: with RTLD_NEXT from inside
 * itself. Where a wrapper of dlsym in front of it calls instead of jumping, RTLD_NEXT finds this library
 * again, without end; the depth says so. Its constructor looks up before anything else has run. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pid_t (*next_getpid)(void);
static void *early;

__attribute__((constructor)) static void begin(void)
{
    next_getpid = (pid_t(*)(void))dlsym(RTLD_NEXT, "getpid");
    early = dlsym(RTLD_DEFAULT, "cuMemAlloc_v2");
}

__attribute__((visibility("default"))) pid_t getpid(void)
{
    static int depth;
    if (depth++ > 3) {
        fputs("interposer: getpid is its own next\n", stderr);
        abort();
    }
    pid_t pid = next_getpid();
    depth--;
    return pid;
}

/* The same for a name that the recorder has a wrapper of. */
__attribute__((visibility("default"))) int cuMemAlloc_v2(unsigned long long *address, size_t bytes)
{
    static int depth;
    if (depth++ > 3) {
        fputs("interposer: cuMemAlloc_v2 is its own next\n", stderr);
        abort();
    }
    int (*next)(unsigned long long *, size_t) =
        (int (*)(unsigned long long *, size_t))dlsym(RTLD_NEXT, "cuMemAlloc_v2");
    int result = next ? next(address, bytes) : -1;
    depth--;
    return result;
}

__attribute__((visibility("default"))) int interposer_early(void)
{
    return early != NULL;
}
