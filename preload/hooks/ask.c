#include "preload/hooks/ask.h"

#include <stdatomic.h>

#include "preload/resolve/resolve.h"

/* ask_X(): the driver's function X, or NULL. A driver that is not there yet is asked for again. */
#define ASKED(symbol, parameters)                                                                            \
    CUresult(*ask_##symbol(void)) parameters                                                                 \
    {                                                                                                        \
        static _Atomic(void *) known;                                                                        \
        void *function = atomic_load_explicit(&known, memory_order_relaxed);                                 \
        if (!function) {                                                                                     \
            function = resolve_driver_symbol(#symbol);                                                       \
            atomic_store_explicit(&known, function, memory_order_relaxed);                                   \
        }                                                                                                    \
        return (CUresult(*) parameters)function;                                                             \
    }
#include "preload/hooks/asked.def"
#undef ASKED
