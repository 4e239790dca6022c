/* Asking the driver: see asked.def. Callers keep errno. */
#ifndef CGTRACE_PRELOAD_HOOKS_ASK_H
#define CGTRACE_PRELOAD_HOOKS_ASK_H

#include <stdatomic.h>

#include "preload/hidden.h"
#include "preload/hooks/cuda.h"

enum ask_function {
#define ASKED(symbol, parameters) ASK_##symbol,
#include "preload/hooks/asked.def"
#undef ASKED
    ASK_COUNT
};
/* The driver's, NULL until one is first asked for: see ask_look(). */
extern HIDDEN _Atomic(void *) ask_known[ASK_COUNT];
/* Looks the function up; NULL: the driver has none. One that is not there yet is looked up again. */
void *ask_look(enum ask_function function);

#define ASKED(symbol, parameters)                                                                            \
    static inline __attribute__((unused)) CUresult(*ask_##symbol(void)) parameters                           \
    {                                                                                                        \
        void *known = atomic_load_explicit(&ask_known[ASK_##symbol], memory_order_relaxed);                  \
        if (__builtin_expect(!known, 0)) known = ask_look(ASK_##symbol);                                     \
        return (CUresult(*) parameters)known;                                                                \
    }
#include "preload/hooks/asked.def"
#undef ASKED

#define ASK(symbol, ...)                                                                                     \
    ({                                                                                                       \
        __typeof__(ask_##symbol()) asked_ = ask_##symbol();                                                  \
        asked_ ? asked_(__VA_ARGS__) : CUDA_ERROR_NOT_FOUND;                                                 \
    })

#endif
