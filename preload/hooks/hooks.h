/* What is intercepted: numbers and names of the entry points, from the tables (all.def, runtime.def). */
#ifndef CGTRACE_PRELOAD_HOOKS_HOOKS_H
#define CGTRACE_PRELOAD_HOOKS_HOOKS_H

#include <stddef.h>

/* The driver's entry points first, in the order of the tables; then those of the runtime. */
enum hook_id {
#define HOOK(symbol, per_thread, kind, parameters, arguments, detail) HOOK_##symbol,
#include "preload/hooks/all.def"
    HOOK_DRIVER_COUNT,
    HOOK_BEFORE_RUNTIME = HOOK_DRIVER_COUNT - 1,
#define RUNTIME(symbol, group, parameters, arguments, what) HOOK_##symbol,
#include "preload/hooks/runtime.def"
    HOOK_COUNT
};

/* Names by number, for the capture file. */
extern const char *const hook_api_names[];
extern const unsigned hook_api_count;

#endif
