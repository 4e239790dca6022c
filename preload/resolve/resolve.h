/* Reaching every call: how programs find the driver's functions, and how the wrappers find the real ones.
 *
 * A program comes by a function of the driver through the symbols that this library exports, through dlsym
 * (dlsym_entry.S), or through cuGetProcAddress (getproc.c). Whatever the way, it gets the wrapper of exactly
 * the symbol that it would have got, and the address that it would have got is remembered as the real one. */
#ifndef CGTRACE_PRELOAD_RESOLVE_RESOLVE_H
#define CGTRACE_PRELOAD_RESOLVE_RESOLVE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/hidden.h"
#include "preload/hooks/hooks.h"

#define RESOLVE_NONE UINT32_MAX

/* The real functions by number; NULL until one is first met. Use resolve_real(). */
extern HIDDEN _Atomic(void *) resolve_reals[HOOK_DRIVER_COUNT];

/* The real function of an entry point that a program reached through an exported symbol, hence without a
 * look-up: the next definition in the program's search order, else the one of the loaded driver. Never NULL:
 * where there is none the function returned answers CUDA_ERROR_NOT_FOUND. Keeps errno. */
void *resolve_find_real(unsigned hook);

static inline void *resolve_real(unsigned hook)
{
    void *real = atomic_load_explicit(&resolve_reals[hook], memory_order_relaxed);
    return __builtin_expect(real != NULL, 1) ? real : resolve_find_real(hook);
}

/* The driver's own function of this number, without a wrapper; NULL where the driver has none. */
void *resolve_driver_symbol(const char *name);

/* Number of the driver's entry point with exactly this name, or RESOLVE_NONE. */
unsigned resolve_name(const char *name);
/* The wrapper of an entry point, by number. */
void *resolve_wrapper(unsigned hook);

/* The real dlsym, never the one of this library. Addresses it returns are the true ones. */
typedef void *resolve_dlsym_fn(void *handle, const char *name);
resolve_dlsym_fn *resolve_true_dlsym(void);

/* dlclose.c: the C library's own; nothing is forgotten behind it. */
int resolve_dlclose(void *handle);

/* deepbind.c: an object is about to be opened with RTLD_DEEPBIND. */
void resolve_watch(void);

#endif
