/* What the hooks know about the calling thread and about streams, contexts and kernels. */
#ifndef CGTRACE_PRELOAD_HOOKS_STATE_H
#define CGTRACE_PRELOAD_HOOKS_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/device/device.h"
#include "preload/hooks/cuda.h"
#include "preload/hooks/handles.h"
#include "preload/hooks/hooks.h"
#include "preload/record/record.h"

/* What a call does. A call of the runtime lends its name to the driver's call of the same group inside it. */
enum hook_group {
    HOOK_GROUP_NONE,
    HOOK_GROUP_ALLOC,
    HOOK_GROUP_FREE,
    HOOK_GROUP_LAUNCH,
    HOOK_GROUP_COPY,
    HOOK_GROUP_CALL,
    HOOK_GROUP_MASK = RECORD_AT_MASK
};

struct hook_thread {
    uintptr_t group; /* enum hook_group of the runtime's call that the thread is in, and its record_frame() */
    CUcontext context;   /* the current one, when known */
    uint32_t per_thread; /* string of this thread's default stream; 0: not made yet */
    uint16_t runtime;    /* number of that call */
    bool seen;           /* a driver call of that group was met inside */
    uint8_t device;      /* of the current context; CAP_NO_DEVICE without one */
    bool known;          /* context, device and slot hold */
    uint8_t slot;        /* device_context_opens() of the current context */
};
extern HIDDEN _Thread_local struct hook_thread hook_thread __attribute__((tls_model("initial-exec")));

/* A stream as records name it. string 0: a call without a stream. */
struct hook_stream {
    struct device_stream timed;
    uint32_t string;
    uint8_t device;
    bool captured; /* into a graph: the call does no work */
};

/* The number that a driver's call is recorded under. */
static inline uint16_t hook_api(enum hook_id hook, enum hook_group group)
{
    if (__builtin_expect((hook_thread.group & HOOK_GROUP_MASK) != group, 1)) return (uint16_t)hook;
    hook_thread.seen = true;
    return hook_thread.runtime;
}

/* What a call has given, on its way to the program. */
static inline CUresult hook_told(CUresult result)
{
    if (__builtin_expect(result != CUDA_SUCCESS, 0)) record_hold();
    return result;
}

/* Asks the driver for the current context and its device (cuCtxGetCurrent, cuCtxGetDevice). */
void hook_ask_context(void);
static inline uint8_t hook_device(void)
{
    if (!hook_thread.known) hook_ask_context();
    return hook_thread.device;
}
/* The current context as owner of memory. Asked anew each time: allocations are rare enough, and a context
 * may have been made current by a way that no hook sees. */
static inline uint64_t hook_owner_context(void)
{
    hook_ask_context();
    return (uintptr_t)hook_thread.context;
}
/* Ends of contexts: their storages end with them (call: the record under way, NULL if none is), and what is
 * remembered of their streams and functions. */
void hook_context_ends(struct record_call *call, CUcontext context, enum cap_end_reason reason);
void hook_primary_retained(CUcontext context, CUdevice device);
/* Before a call that ends it when nobody else holds it: events in it are read and given up. */
void hook_context_may_end(CUcontext context);
/* Before a release: as far as is known the last one ends the context. */
void hook_primary_releases(CUdevice device);
void hook_primary_released(struct record_call *call, CUdevice device);
void hook_primary_ends(struct record_call *call, CUdevice device);

/* Green contexts: the driver is asked for the context that each is seen through (cuCtxFromGreenCtx). */
void hook_green_created(void *green, CUdevice device);
void hook_green_ends(struct record_call *call, void *green);

/* Contexts: made current, seen for the first time. */
void hook_context_current(CUcontext context);
void hook_context_created(CUcontext context, CUdevice device);
static inline void hook_context_unknown(void)
{
    hook_thread.known = false;
}

/* Streams. per_thread: what NULL means. First meetings go the slow way. */
extern HIDDEN _Atomic uint32_t hook_legacy; /* string of the legacy default stream; 0: not made yet */
struct hook_stream hook_stream_first(CUstream stream);
void hook_stream_created(CUstream stream);
void hook_stream_ends(CUstream stream);
/* nvtx_objects.c: a stream has its name in the trace; the program may have named it before. */
void hook_stream_numbered(CUstream stream, uint32_t string);
struct hook_stream hook_default_stream_first(bool per_thread);
extern HIDDEN _Atomic int hook_captures; /* streams that are being captured, at least */
bool hook_is_captured(CUstream stream, bool per_thread);
void hook_capture_begun(void);
void hook_capture_ends(CUstream stream, bool per_thread);

/* The current context's default stream. */
static inline struct hook_stream hook_default_stream(uint32_t string, bool per_thread)
{
    uint8_t device = hook_device();
    return (struct hook_stream){
        .timed = {per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY, string, hook_thread.slot},
        .string = string,
        .device = device};
}
/* A stream from its value in handle_streams. */
static inline struct hook_stream hook_stream_unpacked(CUstream stream, uint64_t packed)
{
    return (struct hook_stream){.timed = {stream, (uint32_t)packed, (uint8_t)(packed >> 40)},
                                .string = (uint32_t)packed,
                                .device = (uint8_t)(packed >> 32)};
}
static inline struct hook_stream hook_stream_known(CUstream stream, bool per_thread)
{
    if ((uintptr_t)stream <= (uintptr_t)CU_STREAM_PER_THREAD) {
        if (stream) per_thread = stream == CU_STREAM_PER_THREAD;
        uint32_t string =
            per_thread ? hook_thread.per_thread : atomic_load_explicit(&hook_legacy, memory_order_relaxed);
        if (string) return hook_default_stream(string, per_thread);
        return hook_default_stream_first(per_thread);
    }
    uint64_t packed = handle_get(&handle_streams, (uintptr_t)stream);
    if (packed) return hook_stream_unpacked(stream, packed);
    return hook_stream_first(stream);
}
static inline struct hook_stream hook_stream(CUstream stream, bool per_thread)
{
    struct hook_stream on = hook_stream_known(stream, per_thread);
    if (__builtin_expect(atomic_load_explicit(&hook_captures, memory_order_relaxed) > 0, 0))
        on.captured = hook_is_captured(stream, per_thread);
    return on;
}
static inline struct hook_stream hook_no_stream(void)
{
    uint8_t device = hook_device();
    return (struct hook_stream){.timed = {.slot = hook_thread.slot}, .device = device};
}

/* names.c: the number of a kernel's mangled name; 0 when it cannot be had. function may be a CUkernel. */
uint32_t hook_kernel_name_first(CUfunction function);
static inline uint32_t hook_kernel_name(CUfunction function)
{
    uint64_t known = handle_get(&handle_functions, (uintptr_t)function);
    return known - 1 < HOOK_NAME_PENDING - 1 ? (uint32_t)known : hook_kernel_name_first(function);
}
void hook_function_found(CUfunction function, CUmodule module, const char *name);
void hook_kernel_found(void *kernel, void *library, const char *name);
void hook_kernels_found(void **kernels, unsigned count, void *library);
void hook_function_of_kernel(CUfunction function, void *kernel);
void hook_module_of_library(CUmodule module, void *library);
void hook_module_ends(uint64_t module);

/* Free and total memory of the current device into the trace (cuMemGetInfo_v2). */
void hook_sample(struct record_call *call);

#endif
