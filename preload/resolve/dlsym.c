/* The part of dlsym that is written in C: names that are in the tables, and finding the real functions. */
#include "preload/resolve/resolve.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define HIDDEN __attribute__((visibility("hidden")))

/* dlsym_entry.S goes on to this one, which it has from resolve_next_dlsym(). */
HIDDEN resolve_dlsym_fn *resolve_dlsym_next;
HIDDEN resolve_dlsym_fn *resolve_next_dlsym(void);
/* And its dlopen this: what to go on with; flags as given to dlopen. */
typedef void *resolve_dlopen_fn(const char *file, int flags);
HIDDEN resolve_dlopen_fn *resolve_dlopen_real;
HIDDEN resolve_dlopen_fn *resolve_dlopen(int flags);
_Static_assert(RTLD_DEEPBIND == 8, "as dlsym_entry.S has it");

HIDDEN int resolve_is_ours(const char *name);
HIDDEN void *resolve_dlsym_ours(void *handle, const char *name);

_Atomic(void *) resolve_reals[HOOK_DRIVER_COUNT];

/* Constructors of other libraries may look names up before ours has run: so this is found on demand. Two
 * threads that come here at once find the same. */
HIDDEN resolve_dlsym_fn *resolve_true_dlsym(void)
{
    static _Atomic(resolve_dlsym_fn *) known;
    resolve_dlsym_fn *real = atomic_load_explicit(&known, memory_order_relaxed);
    if (real) return real;
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"};
    int kept = errno;
    void *found = NULL;
    for (size_t i = 0; !found && i < sizeof versions / sizeof *versions; i++)
        found = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
    errno = kept;
    if (!found) __builtin_trap(); /* no libc that this library can run on */
    real = (resolve_dlsym_fn *)found;
    atomic_store_explicit(&known, real, memory_order_relaxed);
    return real;
}

/* Whether the library behind us that wraps dlsym comes back here for names that it does not know: it has
 * found our export when it looked for the true one by its version. Going on to it would be without end. */
static __thread enum { ASKS_NOBODY, ASKS, CAME_BACK } asking;

static bool comes_back(resolve_dlsym_fn *next)
{
    asking = ASKS;
    next(RTLD_DEFAULT, "cgtrace_api_1");
    bool came_back = asking == CAME_BACK;
    asking = ASKS_NOBODY;
    return came_back;
}

/* What stands behind us in the program's search order: libc's, or that of another tool, which without us
 * would be asked first. */
HIDDEN resolve_dlsym_fn *resolve_next_dlsym(void)
{
    if (resolve_dlsym_next) return resolve_dlsym_next;
    resolve_dlsym_fn *real = resolve_true_dlsym();
    if (asking != ASKS_NOBODY) {
        asking = CAME_BACK;
        return real;
    }
    int kept = errno;
    resolve_dlsym_fn *next = (resolve_dlsym_fn *)real(RTLD_NEXT, "dlsym");
    if (!next || (next != real && comes_back(next))) next = real;
    resolve_dlsym_next = next;
    errno = kept;
    return next;
}

HIDDEN int resolve_is_ours(const char *name)
{
    return resolve_name(name) != RESOLVE_NONE;
}

resolve_dlopen_fn *resolve_dlopen(int flags)
{
    if (!resolve_dlopen_real) {
        int kept = errno;
        resolve_dlopen_real = (resolve_dlopen_fn *)resolve_true_dlsym()(RTLD_NEXT, "dlopen");
        errno = kept;
        if (!resolve_dlopen_real) __builtin_trap();
    }
    if (flags & RTLD_DEEPBIND) resolve_watch();
    return resolve_dlopen_real;
}

/* The driver, when it is loaded: found by its SONAME, whatever file it came from. It stays loaded from then
 * on, since addresses in it are kept. */
static void *driver_handle(void)
{
    static _Atomic(void *) known;
    void *handle = atomic_load_explicit(&known, memory_order_acquire);
    if (handle) return handle;
    handle = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    /* A failed dlopen leaves its message behind; nobody has asked for it. */
    if (!handle) dlerror();
    atomic_store_explicit(&known, handle, memory_order_release);
    return handle;
}

void *resolve_driver_symbol(const char *name)
{
    void *driver = driver_handle();
    void *found = driver ? resolve_true_dlsym()(driver, name) : NULL;
    if (driver && !found) dlerror();
    return found;
}

static int not_found(void)
{
    return 500; /* CUDA_ERROR_NOT_FOUND */
}

void *resolve_find_real(unsigned hook)
{
    int kept = errno;
    const char *name = hook_api_names[hook];
    void *found = resolve_true_dlsym()(RTLD_NEXT, name);
    if (!found) {
        dlerror();
        found = resolve_driver_symbol(name);
    }
    errno = kept;
    if (!found) return (void *)not_found; /* asked again next time: it may be loaded by then */
    atomic_store_explicit(&resolve_reals[hook], found, memory_order_relaxed);
    return found;
}

/* A look-up of a name in the tables. The wrapper is handed out only for the driver's own symbol: a program
 * may well have a function of that name of its own, which a wrapper would then take for the driver's.
 *
 * What another tool that wraps dlsym, behind us, gives out for it is what the wrapper goes on to.
 *
 * RTLD_NEXT asks for what comes behind the caller; that is answered by the real dlsym alone (dlsym_entry.S
 * jumps there), because seen from here it would be what comes behind this library: the caller itself,
 * perhaps. */
void *resolve_dlsym_ours(void *handle, const char *name)
{
    resolve_dlsym_fn *true_dlsym = resolve_true_dlsym(), *next_dlsym = resolve_next_dlsym();
    unsigned hook = resolve_name(name);
    void *wrapper = resolve_wrapper(hook), *found = true_dlsym(handle, name);
    /* Our own export, found through the program's scope: an answer only where the program would have had one
     * without us. */
    void *behind = found == wrapper ? true_dlsym(RTLD_NEXT, name) : found;
    if (found == wrapper && !behind) return NULL;
    int kept = errno;
    bool driver = behind && behind == resolve_driver_symbol(name);
    errno = kept;
    if (next_dlsym != true_dlsym && (found != wrapper || driver))
        behind = next_dlsym(found == wrapper ? driver_handle() : handle, name);
    if (found != wrapper && !driver) return behind;
    if (driver && !behind) return NULL; /* the other tool hides it */
    if (driver && behind != wrapper)
        atomic_store_explicit(&resolve_reals[hook], behind, memory_order_relaxed);
    return wrapper;
}
