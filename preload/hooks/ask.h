/* Asking the driver: see asked.def. Callers keep errno. */
#ifndef CGTRACE_PRELOAD_HOOKS_ASK_H
#define CGTRACE_PRELOAD_HOOKS_ASK_H

#include "preload/hooks/cuda.h"

#define ASKED(symbol, parameters) CUresult(*ask_##symbol(void)) parameters;
#include "preload/hooks/asked.def"
#undef ASKED

#define ASK(symbol, ...) (ask_##symbol() ? ask_##symbol()(__VA_ARGS__) : CUDA_ERROR_NOT_FOUND)

#endif
