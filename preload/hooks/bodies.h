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
    HOOK_##kind(symbol, per_thread, parameters, arguments, HOOK_EXPAND detail)
/* One more expansion, so that a detail becomes several arguments. */
#define HOOK_ALLOC(...)      HOOK_ALLOC_(__VA_ARGS__)
#define HOOK_FREE(...)       HOOK_FREE_(__VA_ARGS__)
#define HOOK_LAUNCH(...)     HOOK_LAUNCH_(__VA_ARGS__)
#define HOOK_LAUNCH_EX(...)  HOOK_LAUNCH_EX_(__VA_ARGS__)
#define HOOK_LAUNCH_OLD(...) HOOK_LAUNCH_OLD_(__VA_ARGS__)
#define HOOK_GRAPH(...)      HOOK_GRAPH_(__VA_ARGS__)
#define HOOK_READY(...)      HOOK_READY_(__VA_ARGS__)
#define HOOK_COPY(...)       HOOK_COPY_(__VA_ARGS__)
#define HOOK_BOX(...)        HOOK_BOX_(__VA_ARGS__)
#define HOOK_CALL(...)       HOOK_CALL_(__VA_ARGS__)
#define HOOK_SYNC(...)       HOOK_SYNC_(__VA_ARGS__)
#define HOOK_LIFE(...)       HOOK_LIFE_(record_enter_end, __VA_ARGS__)
#define HOOK_LOAD(...)       HOOK_LIFE_(record_enter, __VA_ARGS__)
#define HOOK_TRACK(...)      HOOK_TRACK_(__VA_ARGS__)
#define HOOK_CUSTOM(...)

/* In details. */
#define NOTHING        ((void)0)
#define NO_STREAM      hook_no_stream()
#define DEFAULT_STREAM hook_stream(NULL, per_thread_form)
#define STREAM(handle) hook_stream(handle, per_thread_form)
#define STREAM_ITSELF(handle)                                                                                \
    hook_stream_known(handle, per_thread_form) /* a call about it, not work for it */
#define OWNER_CONTEXT hook_owner_context()
#define NO_OWNER      0

/* The wrapper itself, before what it does when something may be recorded: once nothing will be any more, it
 * is two loads and a jump (a launch: 1 ns more than the bare call, not 5). */
#define HOOK_UNLESS_OVER(symbol, parameters, arguments)                                                      \
    static CUresult recorded_##symbol parameters;                                                            \
    CUresult hook_##symbol parameters                                                                        \
    {                                                                                                        \
        void *real = atomic_load_explicit(&resolve_reals[HOOK_##symbol], memory_order_relaxed);              \
        if (record_is_over() && real) return ((__typeof__(&hook_##symbol))real)arguments;                    \
        return recorded_##symbol arguments;                                                                  \
    }                                                                                                        \
    static __attribute__((noinline)) CUresult recorded_##symbol parameters

/* A wrapper of the kinds that open a session and record: `on`, the stream, is looked up before the real call
 * (which may destroy it). */
#define HOOK_RECORDED(symbol, per_thread, group, enter, parameters, arguments, stream_, before, record)      \
    HOOK_UNLESS_OVER(symbol, parameters, arguments)                                                          \
    {                                                                                                        \
        enum { per_thread_form = per_thread };                                                               \
        (void)per_thread_form;                                                                               \
        struct record_call call;                                                                             \
        if (!enter(&call, hook_api(HOOK_##symbol, group))) return hook_told(REAL(symbol) arguments);         \
        struct hook_stream on = stream_;                                                                     \
        call.device = on.device;                                                                             \
        before;                                                                                              \
        CUresult result = REAL(symbol) arguments;                                                            \
        call.captured = on.captured && result == CUDA_SUCCESS;                                               \
        record;                                                                                              \
        return hook_told(result);                                                                            \
    }

/* The same for work of a device, which is timed: the events stand right around the real call. activity, name
 * and bytes are those of device_end(). */
#define HOOK_TIMED(symbol, per_thread, group, parameters, arguments, stream_, before, record, activity,      \
                   name, bytes)                                                                              \
    HOOK_RECORDED(symbol, per_thread, group, record_enter, parameters, arguments, stream_, before;           \
                  struct device_timer timer; device_begin(&timer, &call, &on.timed), record;                 \
                  device_end(&timer, result, activity, name, bytes, &on.timed))

#define HOOK_ALLOC_(symbol, per_thread, parameters, arguments, memory, address_, bytes_, stream_, owner_)    \
    HOOK_RECORDED(symbol, per_thread, HOOK_GROUP_ALLOC, record_enter_followed, parameters, arguments,        \
                  stream_, NOTHING,                                                                          \
                  uint64_t address_made = result == CUDA_SUCCESS ? (uint64_t)(address_) : 0;                 \
                  record_alloc_expect(address_made);                                                         \
                  hook_alloc_done(&call, result, CAP_MEMORY_##memory, address_made, (uint64_t)(bytes_),      \
                                  on.string, result == CUDA_SUCCESS ? (uint64_t)(owner_) : 0))

#define HOOK_FREE_(symbol, per_thread, parameters, arguments, address_, stream_)                             \
    HOOK_RECORDED(symbol, per_thread, HOOK_GROUP_FREE, record_enter_followed, parameters, arguments,         \
                  stream_, struct record_storage freed;                                                      \
                  if (!on.captured) record_free_begin(&call, (uint64_t)(address_), &freed),                  \
                  if (on.captured) record_op(&call, (int)result, on.string, 0);                              \
                  else record_free(&call, (int)result, &freed, on.string))

#define HOOK_LAUNCH_(symbol, per_thread, parameters, arguments, function_, grid_x_, grid_y_, grid_z_,        \
                     block_x_, block_y_, block_z_, shared_, stream_)                                         \
    HOOK_TIMED(symbol, per_thread, HOOK_GROUP_LAUNCH, parameters, arguments, stream_,                        \
               struct record_launch launch = hook_launch(function_, grid_x_, grid_y_, grid_z_, block_x_,     \
                                                         block_y_, block_z_, shared_, on.string),            \
               record_launch(&call, (int)result, &launch), CAP_ACTIVITY_KERNEL, launch.name, 0)

#define HOOK_LAUNCH_EX_(symbol, per_thread, parameters, arguments, function_, config_)                       \
    HOOK_TIMED(symbol, per_thread, HOOK_GROUP_LAUNCH, parameters, arguments,                                 \
               config_ ? STREAM(config_->hStream) : NO_STREAM,                                               \
               struct record_launch launch = hook_launch_ex(function_, config_, on.string),                  \
               record_launch(&call, (int)result, &launch), CAP_ACTIVITY_KERNEL, launch.name, 0)

#define HOOK_LAUNCH_OLD_(symbol, per_thread, parameters, arguments, function_, width_, height_, stream_)     \
    HOOK_TIMED(symbol, per_thread, HOOK_GROUP_LAUNCH, parameters, arguments, stream_,                        \
               struct record_launch launch =                                                                 \
                   hook_launch_old(function_, (unsigned)(width_), (unsigned)(height_), on.string),           \
               record_launch(&call, (int)result, &launch), CAP_ACTIVITY_KERNEL, launch.name, 0)

/* A graph has no name and no shape. What the launch does with memory is told behind it: the record of the
 * launch comes first after its begin, and nothing comes between the events. */
#define HOOK_GRAPH_(symbol, per_thread, parameters, arguments, executable_, handle_)                         \
    CUresult hook_##symbol parameters                                                                        \
    {                                                                                                        \
        enum { per_thread_form = per_thread };                                                               \
        struct record_call call, launch = {.thread = NULL};                                                  \
        struct record_graph graph;                                                                           \
        struct device_timer timer;                                                                           \
        uint16_t api = hook_api(HOOK_##symbol, HOOK_GROUP_LAUNCH);                                           \
        if (!record_enter(&call, api)) {                                                                     \
            launch.begin = record_tick();                                                                    \
            launch.api = api;                                                                                \
            CUresult outside = REAL(symbol) arguments;                                                       \
            if (outside == CUDA_SUCCESS) hook_graph_memory(&launch, executable_, handle_, per_thread_form);  \
            return hook_told(outside);                                                                       \
        }                                                                                                    \
        struct hook_stream on = STREAM(handle_);                                                             \
        call.device = on.device;                                                                             \
        bool untold = hook_graph_untold(&call, executable_, &graph);                                         \
        device_begin(&timer, &call, &on.timed);                                                              \
        CUresult result = REAL(symbol) arguments;                                                            \
        call.captured = on.captured && result == CUDA_SUCCESS;                                               \
        launch = call;                                                                                       \
        hook_graph_launched(&call, result, executable_, on.string, untold ? &graph : NULL);                  \
        device_end(&timer, result, CAP_ACTIVITY_GRAPH, 0, 0, &on.timed);                                     \
        if (result == CUDA_SUCCESS) hook_graph_memory(&launch, executable_, handle_, per_thread_form);       \
        return hook_told(result);                                                                            \
    }

#define HOOK_READY_(symbol, per_thread, parameters, arguments, executable_, graph_, flags_)                  \
    CUresult hook_##symbol parameters                                                                        \
    {                                                                                                        \
        struct record_call call;                                                                             \
        struct hook_tally tally;                                                                             \
        bool recorded = record_enter_quiet(&call, hook_api(HOOK_##symbol, HOOK_GROUP_CALL));                 \
        hook_graph_look(&tally, graph_);                                                                     \
        if (recorded) {                                                                                      \
            call.device = hook_device();                                                                     \
            call.begin = record_tick();                                                                      \
        }                                                                                                    \
        CUresult result = REAL(symbol) arguments;                                                            \
        hook_graph_made(recorded ? &call : NULL, result, &tally, executable_, flags_);                       \
        return hook_told(result);                                                                            \
    }

#define HOOK_COPY_(symbol, per_thread, parameters, arguments, direction, to_, from_, bytes_, stream_)        \
    HOOK_TIMED(symbol, per_thread, HOOK_GROUP_COPY, parameters, arguments, stream_, NOTHING,                 \
               record_copy(&call, (int)result, RECORD_COPY_##direction, (uint64_t)(to_), (uint64_t)(from_),  \
                           (uint64_t)(bytes_), on.string),                                                   \
               (enum cap_activity)RECORD_COPY_##direction, 0, (uint64_t)(bytes_))

#define HOOK_BOX_(symbol, per_thread, parameters, arguments, box_, stream_)                                  \
    HOOK_TIMED(symbol, per_thread, HOOK_GROUP_COPY, parameters, arguments, stream_,                          \
               struct hook_box boxed = box_,                                                                 \
               record_copy(&call, (int)result, boxed.kind, boxed.to, boxed.from, boxed.bytes, on.string),    \
               (enum cap_activity)boxed.kind, 0, boxed.bytes)

/* The kinds whose before and after must run whether anything is recorded or not. */
#define HOOK_CALL_(symbol, per_thread, parameters, arguments, stream_, before, after)                        \
    CUresult hook_##symbol parameters                                                                        \
    {                                                                                                        \
        enum { per_thread_form = per_thread };                                                               \
        (void)per_thread_form;                                                                               \
        struct record_call call;                                                                             \
        struct hook_stream on = {.device = CAP_NO_DEVICE};                                                   \
        bool recorded = record_enter_quiet(&call, hook_api(HOOK_##symbol, HOOK_GROUP_CALL));                 \
        if (recorded) on = stream_;                                                                          \
        before;                                                                                              \
        CUresult result = REAL(symbol) arguments;                                                            \
        if (result == CUDA_SUCCESS) after;                                                                   \
        if (!recorded) return hook_told(result);                                                             \
        call.device = on.device;                                                                             \
        call.captured = on.captured && result == CUDA_SUCCESS;                                               \
        record_op(&call, (int)result, on.string, 0);                                                         \
        return hook_told(result);                                                                            \
    }

/* A call that waits. What it is good for beyond that comes when it has been recorded. */
#define HOOK_SYNC_(symbol, per_thread, parameters, arguments, stream_)                                       \
    HOOK_UNLESS_OVER(symbol, parameters, arguments)                                                          \
    {                                                                                                        \
        enum { per_thread_form = per_thread };                                                               \
        (void)per_thread_form;                                                                               \
        struct record_call call;                                                                             \
        if (!record_enter_quiet(&call, hook_api(HOOK_##symbol, HOOK_GROUP_CALL)))                            \
            return hook_told(REAL(symbol) arguments);                                                        \
        struct hook_stream on = stream_;                                                                     \
        CUresult result = REAL(symbol) arguments;                                                            \
        call.device = on.device;                                                                             \
        call.captured = on.captured && result == CUDA_SUCCESS;                                               \
        record_op(&call, (int)result, on.string, 0);                                                         \
        if (result == CUDA_SUCCESS && !on.captured) device_synchronized(&on.timed);                          \
        return hook_told(result);                                                                            \
    }

#define HOOK_LIFE_(enter, symbol, per_thread, parameters, arguments, before, after, after_that)              \
    CUresult hook_##symbol parameters                                                                        \
    {                                                                                                        \
        struct record_call call, *within = &call;                                                            \
        if (!enter(&call, HOOK_##symbol)) within = NULL;                                                     \
        if (within) call.device = hook_device();                                                             \
        before;                                                                                              \
        CUresult result = REAL(symbol) arguments;                                                            \
        if (result == CUDA_SUCCESS) {                                                                        \
            after;                                                                                           \
            after_that;                                                                                      \
        }                                                                                                    \
        if (within) record_op(within, (int)result, 0, 0);                                                    \
        return hook_told(result);                                                                            \
    }

#define HOOK_TRACK_(symbol, per_thread, parameters, arguments, after)                                        \
    CUresult hook_##symbol parameters                                                                        \
    {                                                                                                        \
        CUresult result = REAL(symbol) arguments;                                                            \
        if (result == CUDA_SUCCESS) after;                                                                   \
        return hook_told(result);                                                                            \
    }

/* memory.c: ends an allocating call; before a failed one it takes a sample of the device's memory. */
void hook_alloc_done(struct record_call *call, CUresult result, enum cap_memory_kind kind, uint64_t address,
                     uint64_t bytes, uint32_t stream, uint64_t owner);

#endif
