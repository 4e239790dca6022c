/* What the hooks know, the slow ways: asked once of the driver, then remembered. Everything here keeps errno
 * (the driver does not promise to) and calls the real functions only. */
#include "preload/hooks/state.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/resolve/resolve.h"

_Atomic uint32_t hook_legacy;
_Thread_local struct hook_thread hook_thread = {.device = CAP_NO_DEVICE};

/* Functions of the driver that are only asked, never wrapped. A(name, parameters) */
#define ASKED(A)                                                                                             \
    A(cuCtxGetCurrent, (CUcontext * context))                                                                \
    A(cuCtxGetDevice, (CUdevice * device))                                                                   \
    A(cuDeviceGetMemPool, (CUmemoryPool * pool, CUdevice device))                                            \
    A(cuStreamGetCtx, (CUstream stream, CUcontext * context))                                                \
    A(cuFuncGetName, (const char **name, CUfunction function))                                               \
    A(cuMemGetInfo_v2, (size_t * free, size_t * total))

#define ASKED_FUNCTION(name, parameters)                                                                     \
    static _Atomic(CUresult(*) parameters) asked_##name;                                                     \
    static CUresult(*ask_##name(void)) parameters                                                            \
    {                                                                                                        \
        CUresult(*function) parameters = atomic_load_explicit(&asked_##name, memory_order_relaxed);          \
        if (function) return function;                                                                       \
        function = (CUresult(*) parameters)resolve_driver_symbol(#name);                                     \
        atomic_store_explicit(&asked_##name, function, memory_order_relaxed);                                \
        return function;                                                                                     \
    }
ASKED(ASKED_FUNCTION)

/* Calls a driver function if there is one: older drivers lack some. */
#define ASK(name, ...) (ask_##name() ? ask_##name()(__VA_ARGS__) : CUDA_ERROR_NOT_FOUND)

static uint8_t as_device(CUdevice device)
{
    return device >= 0 && device < (CUdevice)CAP_NO_DEVICE ? (uint8_t)device : CAP_NO_DEVICE;
}

void hook_context_created(CUcontext context, CUdevice device)
{
    handle_put(&handle_contexts, (uintptr_t)context, as_device(device) + 1u, (uintptr_t)context);
}

void hook_context_current(CUcontext context)
{
    uint64_t device = handle_get(&handle_contexts, (uintptr_t)context);
    hook_thread.context = context;
    hook_thread.device = device ? (uint8_t)(device - 1) : CAP_NO_DEVICE;
    hook_thread.known = device || !context;
}

void hook_ask_context(void)
{
    int kept = errno;
    CUcontext context = NULL;
    if (ASK(cuCtxGetCurrent, &context) != CUDA_SUCCESS) context = NULL;
    if (context != hook_thread.context || !hook_thread.known) {
        hook_context_current(context);
        CUdevice device;
        if (context && !hook_thread.known && ASK(cuCtxGetDevice, &device) == CUDA_SUCCESS) {
            hook_context_created(context, device);
            hook_thread.device = as_device(device);
        }
        hook_thread.known = true;
    }
    errno = kept;
}

uint64_t hook_current_pool(uint8_t device)
{
    if (device == CAP_NO_DEVICE) return 0;
    uint64_t pool = handle_get(&handle_pools, device + 1u);
    if (pool) return pool;
    int kept = errno;
    CUmemoryPool found;
    if (ASK(cuDeviceGetMemPool, &found, device) == CUDA_SUCCESS) {
        pool = (uintptr_t)found;
        handle_put(&handle_pools, device + 1u, pool, device + 1u);
    }
    errno = kept;
    return pool;
}

static uint32_t numbered_string(const char *prefix, unsigned long number)
{
    char text[48];
    int length = snprintf(text, sizeof text, "%s:%lu", prefix, number);
    return record_string(text, (size_t)length);
}

struct hook_stream hook_default_stream_first(bool per_thread)
{
    int kept = errno;
    uint32_t string;
    if (per_thread) {
        string = numbered_string("per-thread", (unsigned long)syscall(SYS_gettid));
        hook_thread.per_thread = string;
    } else {
        string = record_string("legacy", 6);
        atomic_store_explicit(&hook_legacy, string, memory_order_relaxed);
    }
    errno = kept;
    return (struct hook_stream){string, hook_device()};
}

struct hook_stream hook_stream_first(CUstream stream)
{
    static _Atomic unsigned long numbers;
    int kept = errno;
    struct hook_stream in = {0, hook_device()};
    CUcontext context;
    uint64_t device = 0;
    if (ASK(cuStreamGetCtx, stream, &context) == CUDA_SUCCESS)
        device = handle_get(&handle_contexts, (uintptr_t)context);
    if (device) in.device = (uint8_t)(device - 1);
    in.string = numbered_string("stream", atomic_fetch_add_explicit(&numbers, 1, memory_order_relaxed) + 1);
    if (in.string)
        handle_put(&handle_streams, (uintptr_t)stream, (uint64_t)in.device << 32 | in.string,
                   (uintptr_t)stream);
    errno = kept;
    return in;
}

uint32_t hook_kernel_name_first(CUfunction function)
{
    int kept = errno;
    const char *name = NULL;
    uint32_t string = 0;
    if (function && ASK(cuFuncGetName, &name, function) == CUDA_SUCCESS && name) {
        string = record_string(name, strlen(name));
        if (string) handle_put(&handle_functions, (uintptr_t)function, string, 0);
    }
    errno = kept;
    return string;
}

void hook_sample(struct record_call *call)
{
    int kept = errno;
    size_t free_bytes = 0, total = 0;
    uint8_t device = hook_device();
    if (device != CAP_NO_DEVICE && ASK(cuMemGetInfo_v2, &free_bytes, &total) == CUDA_SUCCESS)
        record_sample(call, device, total - free_bytes, free_bytes, UINT64_MAX, total);
    errno = kept;
}
