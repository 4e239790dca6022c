/* The wrappers' prototypes, from the tables. */
#ifndef CGTRACE_PRELOAD_HOOKS_WRAPPERS_H
#define CGTRACE_PRELOAD_HOOKS_WRAPPERS_H

#include "preload/hooks/cuda.h"

#define HOOK_EXPAND(...) __VA_ARGS__
#define HOOK(symbol, per_thread, kind, parameters, arguments, detail)                                        \
    __attribute__((visibility("hidden"))) CUresult hook_##symbol parameters;
#include "preload/hooks/all.def"

#endif
