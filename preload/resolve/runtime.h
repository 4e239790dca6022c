/* The runtime's functions, of which a process may hold several. */
#ifndef CGTRACE_PRELOAD_RESOLVE_RUNTIME_H
#define CGTRACE_PRELOAD_RESOLVE_RUNTIME_H

/* What a reference to name@version from the object around `caller` would have been bound to without this
 * library: the definition in the program's scope, else the one that the object comes with, else that of any
 * loaded runtime. Never NULL: where there is none the function returned answers cudaErrorSymbolNotFound.
 * Keeps errno. */
void *resolve_runtime_symbol(const char *name, const char *version, const void *caller);

/* hooks/runtime.c: forgets what was found for callers. One that is unloaded may have another in its place. */
void runtime_forget_callers(void);

#endif
