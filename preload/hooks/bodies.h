/* The bodies of the wrappers, by kind (see all.def), and the macro that makes the wrappers of a family:
 *
 *     #include "preload/hooks/bodies.h"
 *     #define HOOK_FAMILY "preload/hooks/copy.def"
 *     #define HOOK(...) HOOK_WRAPPER(__VA_ARGS__)
 *     #include "preload/hooks/all.def"
 *
 * Every wrapper is a hidden function hook_<symbol>; the exported symbol is an alias of it, so that no wrapper
 * is reached through the dynamic symbol table from inside. */
#ifndef CGTRACE_PRELOAD_HOOKS_BODIES_H
#define CGTRACE_PRELOAD_HOOKS_BODIES_H

#include "preload/hooks/state.h"
#include "preload/hooks/wrappers.h"
#include "preload/resolve/resolve.h"

#define REAL(symbol) ((__typeof__(&hook_##symbol))resolve_real(HOOK_##symbol))

#define HOOK_WRAPPER(symbol, per_thread, kind, parameters, arguments, detail)                                \
    extern                                                                                                   \
        __attribute__((alias("hook_" #symbol),                                                               \
                       visibility("default"))) __typeof__(hook_##symbol) export_##symbol __asm__(#symbol);   \
    HOOK_WRAPPER_##kind(symbol, per_thread, parameters, arguments, HOOK_EXPAND detail)

/* Enters under the number of the runtime's call when the thread is in one: its driver call is then recorded
 * once, under the runtime's name. */
static inline bool hook_enter(struct record_call *call, enum hook_id hook)
{
    uint16_t runtime = hook_thread.runtime;
    if (__builtin_expect(runtime != 0, 0)) hook_thread.driver_calls++;
    return record_enter(call, runtime ? runtime : (uint16_t)hook);
}

/* In details. */
#define NO_STREAM          hook_no_stream()
#define DEFAULT_STREAM     hook_stream(NULL, per_thread_form)
#define STREAM(handle)     hook_stream(handle, per_thread_form)
#define OWNER_CONTEXT      hook_owner_context()
#define OWNER_CURRENT_POOL hook_current_pool(call.device)

#define HOOK_WRAPPER_CUSTOM(symbol, per_thread, parameters, arguments, ...)

#define HOOK_WRAPPER_ALLOC(symbol, per_thread, parameters, arguments, ...)                                   \
    HOOK_ALLOC_BODY(symbol, per_thread, parameters, arguments, __VA_ARGS__)
#define HOOK_ALLOC_BODY(symbol, per_thread, parameters, arguments, memory, address_, bytes_, stream_,        \
                        owner_)                                                                              \
    CUresult hook_##symbol parameters                                                                        \
    {                                                                                                        \
        enum { per_thread_form = per_thread };                                                               \
        struct record_call call;                                                                             \
        if (!hook_enter(&call, HOOK_##symbol)) return REAL(symbol) arguments;                                \
        CUresult result = REAL(symbol) arguments;                                                            \
        uint64_t owner = 0;                                                                                  \
        struct hook_stream in = stream_;                                                                     \
        call.device = hook_memory_device(CAP_MEMORY_##memory, in.device);                                    \
        if (result == CUDA_SUCCESS) owner = owner_;                                                          \
        hook_alloc_done(&call, result, CAP_MEMORY_##memory,                                                  \
                        result == CUDA_SUCCESS ? (uint64_t)(address_) : 0, bytes_, in.string, owner);        \
        (void)per_thread_form;                                                                               \
        return result;                                                                                       \
    }

static inline uint8_t hook_memory_device(enum cap_memory_kind kind, uint8_t device)
{
    return kind == CAP_MEMORY_HOST || kind == CAP_MEMORY_REGISTERED ? CAP_NO_DEVICE : device;
}
/* Ends an allocating call; a failed one leaves a sample of the device's memory before it. */
void hook_alloc_done(struct record_call *call, CUresult result, enum cap_memory_kind kind, uint64_t address,
                     uint64_t bytes, uint32_t stream, uint64_t owner);

#define HOOK_WRAPPER_FREE(symbol, per_thread, parameters, arguments, ...)                                    \
    HOOK_FREE_BODY(symbol, per_thread, parameters, arguments, __VA_ARGS__)
#define HOOK_FREE_BODY(symbol, per_thread, parameters, arguments, address_, stream_)                         \
    CUresult hook_##symbol parameters                                                                        \
    {                                                                                                        \
        enum { per_thread_form = per_thread };                                                               \
        struct record_call call;                                                                             \
        if (!hook_enter(&call, HOOK_##symbol)) return REAL(symbol) arguments;                                \
        struct record_storage storage;                                                                       \
        struct hook_stream in = stream_;                                                                     \
        call.device = in.device;                                                                             \
        if (address_) record_free_begin(&call, (uint64_t)(address_), &storage);                              \
        CUresult result = REAL(symbol) arguments;                                                            \
        if (address_)                                                                                        \
            record_free(&call, (int)result, &storage, in.string);                                            \
        else                                                                                                 \
            record_op(&call, (int)result, in.string, 0); /* freeing nothing is allowed */                    \
        (void)per_thread_form;                                                                               \
        return result;                                                                                       \
    }

#define HOOK_WRAPPER_LAUNCH(symbol, per_thread, parameters, arguments, ...)                                  \
    HOOK_LAUNCH_BODY(symbol, per_thread, parameters, arguments, __VA_ARGS__)
#define HOOK_LAUNCH_BODY(symbol, per_thread, parameters, arguments, function_, grid_x_, grid_y_, grid_z_,    \
                         block_x_, block_y_, block_z_, shared_, stream_)                                     \
    CUresult hook_##symbol parameters                                                                        \
    {                                                                                                        \
        enum { per_thread_form = per_thread };                                                               \
        struct record_call call;                                                                             \
        if (!hook_enter(&call, HOOK_##symbol)) return REAL(symbol) arguments;                                \
        struct hook_stream in = stream_;                                                                     \
        call.device = in.device;                                                                             \
        struct record_launch launch = {.name = hook_kernel_name(function_),                                  \
                                       .grid = {grid_x_, grid_y_, grid_z_},                                  \
                                       .block = {block_x_, block_y_, block_z_},                              \
                                       .shared_bytes = shared_,                                              \
                                       .stream = in.string};                                                 \
        CUresult result = REAL(symbol) arguments;                                                            \
        record_launch(&call, (int)result, &launch);                                                          \
        return result;                                                                                       \
    }

#define HOOK_WRAPPER_COPY(symbol, per_thread, parameters, arguments, ...)                                    \
    HOOK_COPY_BODY(symbol, per_thread, parameters, arguments, __VA_ARGS__)
#define HOOK_COPY_BODY(symbol, per_thread, parameters, arguments, direction, to_, from_, bytes_, stream_)    \
    CUresult hook_##symbol parameters                                                                        \
    {                                                                                                        \
        enum { per_thread_form = per_thread };                                                               \
        struct record_call call;                                                                             \
        if (!hook_enter(&call, HOOK_##symbol)) return REAL(symbol) arguments;                                \
        struct hook_stream in = stream_;                                                                     \
        call.device = in.device;                                                                             \
        CUresult result = REAL(symbol) arguments;                                                            \
        record_copy(&call, (int)result, RECORD_COPY_##direction, (uint64_t)(to_), (uint64_t)(from_),         \
                    (uint64_t)(bytes_), in.string);                                                          \
        return result;                                                                                       \
    }

#endif
