/* What the hooks know of threads, contexts, pools and streams, the slow ways: asked once of the driver, then
 * remembered. Everything here keeps errno. */
#include "preload/hooks/state.h"

#include <errno.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/hooks/ask.h"
#include "preload/signals.h"

#define DEVICES 64

_Atomic uint32_t hook_legacy;
_Thread_local struct hook_thread hook_thread = {.device = CAP_NO_DEVICE};

/* ---- contexts ---- */

static uint8_t as_device(CUdevice device)
{
    return device >= 0 && device < (CUdevice)CAP_NO_DEVICE ? (uint8_t)device : CAP_NO_DEVICE;
}

/* Tells the recorder of a device, once. */
static void introduce(CUdevice device)
{
    static _Atomic uint64_t introduced;
    if (device < 0 || device >= DEVICES ||
        atomic_load_explicit(&introduced, memory_order_relaxed) >> device & 1)
        return;
    SIGNALS_HELD; /* or a thread that is taken away would have it untold for good */
    if (atomic_fetch_or_explicit(&introduced, UINT64_C(1) << device, memory_order_relaxed) >> device & 1)
        return;
    int kept = errno, version;
    char name[256] = "";
    size_t bytes = 0;
    record_watch_exit();
    if (ASK(cuDriverGetVersion, &version) == CUDA_SUCCESS) record_driver(version);
    if (ASK(cuDeviceGetName, name, (int)sizeof name, device) == CUDA_SUCCESS &&
        ASK(cuDeviceTotalMem_v2, &bytes, device) == CUDA_SUCCESS)
        record_device(as_device(device), name, bytes);
    errno = kept;
}

/* Values of handle_contexts. */
static uint8_t device_of(uint64_t value)
{
    return value ? (uint8_t)((value & 0xffff) - 1) : CAP_NO_DEVICE;
}
static uint8_t slot_of(uint64_t value)
{
    return (uint8_t)(value >> 16);
}

/* Called again for a context that is known: a primary one is retained many times. */
void hook_context_created(CUcontext context, CUdevice device)
{
    uint64_t known = handle_get(&handle_contexts, (uintptr_t)context);
    introduce(device);
    if (known && device_of(known) == as_device(device)) return;
    handle_put(&handle_contexts, (uintptr_t)context,
               (uint64_t)device_context_opens(context, as_device(device)) << 16 | (as_device(device) + 1u),
               (uintptr_t)context);
}

void hook_context_current(CUcontext context)
{
    uint64_t known = handle_get(&handle_contexts, (uintptr_t)context);
    hook_thread.context = context;
    hook_thread.device = device_of(known);
    hook_thread.slot = slot_of(known);
    hook_thread.known = known || !context;
}

HOT void hook_ask_context(void)
{
    int kept = errno;
    CUcontext context = NULL;
    CUdevice device;
    if (ASK(cuCtxGetCurrent, &context) != CUDA_SUCCESS) context = NULL;
    if (context != hook_thread.context || !hook_thread.known) {
        hook_context_current(context);
        if (!hook_thread.known && ASK(cuCtxGetDevice, &device) == CUDA_SUCCESS) {
            hook_context_created(context, device);
            hook_context_current(context);
        }
        /* Without a context it is asked again: one may be made current unseen. */
        hook_thread.known = context != NULL;
    }
    errno = kept;
}

void hook_context_ends(struct record_call *call, CUcontext context, enum cap_end_reason reason)
{
    if (!context) return;
    device_context_ends(slot_of(handle_get(&handle_contexts, (uintptr_t)context)));
    if (call) record_owner_end(call, (uintptr_t)context, reason);
    handle_forget(&handle_contexts, (uintptr_t)context);
    handle_forget_owner(&handle_streams, (uintptr_t)context);
    /* Which functions were this context's is not known: all are asked for again. */
    handle_forget_all(&handle_functions);
}

void hook_context_may_end(CUcontext context)
{
    device_context_ends(slot_of(handle_get(&handle_contexts, (uintptr_t)context)));
}

static _Atomic(CUcontext) primaries[DEVICES];
static _Atomic int primary_holds[DEVICES]; /* retained less released */

static _Atomic(CUcontext) *primary(CUdevice device)
{
    return device >= 0 && device < DEVICES ? &primaries[device] : NULL;
}

void hook_primary_retained(CUcontext context, CUdevice device)
{
    _Atomic(CUcontext) *known = primary(device);
    if (!known) return;
    atomic_store_explicit(known, context, memory_order_relaxed);
    atomic_fetch_add_explicit(&primary_holds[device], 1, memory_order_relaxed);
}

void hook_primary_releases(CUdevice device)
{
    _Atomic(CUcontext) *known = primary(device);
    if (known && atomic_fetch_sub_explicit(&primary_holds[device], 1, memory_order_relaxed) <= 1)
        hook_context_may_end(atomic_load_explicit(known, memory_order_relaxed));
}

void hook_primary_ends(struct record_call *call, CUdevice device)
{
    _Atomic(CUcontext) *known = primary(device);
    if (known) atomic_store_explicit(&primary_holds[device], 0, memory_order_relaxed);
    if (known)
        hook_context_ends(call, atomic_load_explicit(known, memory_order_relaxed), CAP_END_PRIMARY_RESET);
}

/* The last release resets the context. Whether this was the last one is known only after it. */
void hook_primary_released(struct record_call *call, CUdevice device)
{
    int kept = errno, active = 1;
    unsigned flags;
    if (ASK(cuDevicePrimaryCtxGetState, device, &flags, &active) == CUDA_SUCCESS && !active)
        hook_primary_ends(call, device);
    errno = kept;
}

/* ---- green contexts ---- */

/* Green context: the context that it is seen through, and that one's device. */
static HANDLE_MAP(greens);

void hook_green_created(void *green, CUdevice device)
{
    CUcontext context = NULL;
    int kept = errno;
    if (ASK(cuCtxFromGreenCtx, &context, green) == CUDA_SUCCESS && context) {
        hook_context_created(context, device);
        handle_put(&greens, (uintptr_t)green, (uintptr_t)context, (uintptr_t)green);
    }
    errno = kept;
}

void hook_green_ends(struct record_call *call, void *green)
{
    hook_context_ends(call, (CUcontext)(uintptr_t)handle_get(&greens, (uintptr_t)green), CAP_END_CTX_DESTROY);
    handle_forget(&greens, (uintptr_t)green);
}

/* ---- streams ---- */

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
    return hook_default_stream(string, per_thread);
}

struct hook_stream hook_stream_first(CUstream stream)
{
    static _Atomic unsigned long numbers;
    int kept = errno;
    uint8_t device = hook_device();
    CUcontext context = NULL;
    uint64_t known = 0, packed;
    if (ASK(cuStreamGetCtx, stream, &context) == CUDA_SUCCESS)
        known = handle_get(&handle_contexts, (uintptr_t)context);
    if (known) device = device_of(known);
    packed = (uint64_t)slot_of(known) << 40 | (uint64_t)device << 32 |
             numbered_string("stream", atomic_fetch_add_explicit(&numbers, 1, memory_order_relaxed) + 1);
    if ((uint32_t)packed) handle_put(&handle_streams, (uintptr_t)stream, packed, (uintptr_t)context);
    hook_stream_numbered(stream, (uint32_t)packed);
    errno = kept;
    return hook_stream_unpacked(stream, packed);
}

/* A stream gets its number when it is first used. The handle may have been another stream's. */
void hook_stream_created(CUstream stream)
{
    handle_forget(&handle_streams, (uintptr_t)stream);
    handle_forget(&handle_stream_names, (uintptr_t)stream);
}
void hook_stream_ends(CUstream stream)
{
    device_stream_ends(stream, (uint8_t)(handle_get(&handle_streams, (uintptr_t)stream) >> 40));
    handle_forget(&handle_streams, (uintptr_t)stream);
    handle_forget(&handle_stream_names, (uintptr_t)stream);
}

_Atomic int hook_captures;

bool hook_is_captured(CUstream stream, bool per_thread)
{
    int kept = errno;
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    if (!stream) stream = per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
    if (ASK(cuStreamIsCapturing, stream, &status) != CUDA_SUCCESS) status = CU_STREAM_CAPTURE_STATUS_NONE;
    errno = kept;
    return status != CU_STREAM_CAPTURE_STATUS_NONE;
}

void hook_capture_begun(void)
{
    atomic_fetch_add_explicit(&hook_captures, 1, memory_order_relaxed);
}

/* Whatever the call answers, the capture is over. */
void hook_capture_ends(CUstream stream, bool per_thread)
{
    if (hook_is_captured(stream, per_thread))
        atomic_fetch_sub_explicit(&hook_captures, 1, memory_order_relaxed);
}

/* ---- memory of the device ---- */

void hook_sample(struct record_call *call)
{
    /* Not while anything is captured: which questions a capture allows is the driver's to say. */
    if (call->outside || atomic_load_explicit(&hook_captures, memory_order_relaxed) > 0) return;
    int kept = errno;
    size_t free_bytes = 0, total = 0;
    uint64_t reserved, used;
    uint8_t device = hook_device();
    if (device != CAP_NO_DEVICE && ASK(cuMemGetInfo_v2, &free_bytes, &total) == CUDA_SUCCESS) {
        device_ask_pool(device, &reserved, &used);
        record_sample(call, device, total - free_bytes, free_bytes, reserved, total);
    }
    errno = kept;
}
