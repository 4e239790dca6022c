/* The runtime's entry points (runtime.def).
 *
 * They are exported under the runtime's symbol versions, each as a version that is no default: so they answer
 * the references of programs linked with a shared runtime, and neither references without a version (a
 * runtime of another build) nor look-ups by dlsym. A process may hold several runtimes, even several of one
 * version, each with a state of its own: the real function is therefore a matter of the caller, and is kept
 * by call site. */
#include "preload/hooks/bodies.h"
#include "preload/resolve/runtime.h"

struct runtime_dim3 {
    unsigned x, y, z;
};
struct runtime_extent {
    size_t width, height, depth;
};
struct runtime_pitched {
    void *address;
    size_t pitch, width, height;
};
struct runtime_launch { /* the beginning of cudaLaunchConfig_t */
    struct runtime_dim3 grid, block;
    size_t shared;
    void *stream;
};

static HANDLE_MAP(sites);

/* Addresses have 47 bits in user space, 52 on some machines; the table has fewer rows than 4096. */
_Static_assert(HOOK_COUNT - HOOK_DRIVER_COUNT < 4096, "rows of runtime.def");

void runtime_forget_callers(void)
{
    handle_forget_all(&sites);
}

static void *real_of(enum hook_id hook, const char *version, const void *caller)
{
    uint64_t site = (uint64_t)(uintptr_t)caller << 12 | (hook - HOOK_DRIVER_COUNT);
    void *real = (void *)(uintptr_t)handle_get(&sites, site);
    if (__builtin_expect(real != NULL, 1)) return real;
    real = resolve_runtime_symbol(hook_api_names[hook], version, caller);
    handle_put(&sites, site, (uintptr_t)real, site);
    return real;
}

/* Begins a call of the runtime. False inside another one, which the program called, and which gives the name;
 * one that was left by a jump out of a signal's handler is none. */
static inline __attribute__((always_inline)) bool begin(enum hook_id hook, enum hook_group group)
{
    uintptr_t frame = record_frame();

    if (__builtin_expect(hook_thread.group != 0, 0) &&
        !record_frame_is_gone(hook_thread.group & ~(uintptr_t)HOOK_GROUP_MASK, frame))
        return false;
    hook_thread.group = frame | group;
    hook_thread.runtime = (uint16_t)hook;
    hook_thread.seen = false;
    return true;
}
/* Ends it. True: nothing of it was met in the driver, so it is recorded here, by the moment at which it
 * ended. */
static inline bool end(struct record_call *call, enum hook_id hook)
{
    hook_thread.group = HOOK_GROUP_NONE;
    if (__builtin_expect(hook_thread.seen, 1)) return false;
    return record_enter_end(call, (uint16_t)hook);
}

static void allocated(struct record_call *call, int result, enum cap_memory_kind kind, const void *address,
                      uint64_t bytes)
{
    call->device = hook_device();
    record_alloc(call, result, kind, (uintptr_t)address, bytes, 0, result ? 0 : hook_owner_context());
}

static void released(struct record_call *call, int result, const void *address)
{
    struct record_storage storage;
    call->device = hook_device();
    if (!result && address) {
        record_free_begin(call, (uintptr_t)address, &storage);
        record_free(call, result, &storage, 0);
    } else {
        record_op(call, result, 0, 0);
    }
}

static void launched(struct record_call *call, int result, struct runtime_dim3 grid,
                     struct runtime_dim3 block, size_t shared)
{
    struct record_launch launch = {.grid = {grid.x, grid.y, grid.z},
                                   .block = {block.x, block.y, block.z},
                                   .shared_bytes = (uint32_t)shared};
    call->device = hook_device();
    record_launch(call, result, &launch);
}

#define ALLOCATED(kind, address, bytes)                                                                      \
    allocated(&call, result, CAP_MEMORY_##kind, result ? NULL : (address), (uint64_t)(bytes))
#define RELEASED(address) released(&call, result, address)
#define COPIED(to, from, bytes)                                                                              \
    record_copy(&call, result, RECORD_COPY_UNIFIED, (uintptr_t)(to), (uintptr_t)(from), (uint64_t)(bytes), 0)
#define LAUNCHED(grid, block, shared) launched(&call, result, grid, block, shared)
#define CALLED                        record_op(&call, result, 0, 0)

/* One wrapper for each symbol version. The assembler gives it the versioned name and takes its own away. */
#define RUNTIME_VERSION(number, version, symbol, group, parameters, arguments, what)                         \
    __attribute__((visibility("default"), used)) int runtime##number##_##symbol parameters;                  \
    __asm__(".symver runtime" #number "_" #symbol "," #symbol "@" version ",remove");                        \
    int runtime##number##_##symbol parameters                                                                \
    {                                                                                                        \
        __typeof__(&runtime##number##_##symbol) real = (__typeof__(real))real_of(                            \
            HOOK_##symbol, version, __builtin_extract_return_addr(__builtin_return_address(0)));             \
        if (!begin(HOOK_##symbol, HOOK_GROUP_##group)) return real arguments;                                \
        int result = real arguments;                                                                         \
        struct record_call call;                                                                             \
        if (end(&call, HOOK_##symbol)) what;                                                                 \
        return (int)hook_told((CUresult)result);                                                             \
    }
#define RUNTIME(symbol, group, parameters, arguments, what)                                                  \
    RUNTIME_VERSION(11, "libcudart.so.11.0", symbol, group, parameters, arguments, what)                     \
    RUNTIME_VERSION(12, "libcudart.so.12", symbol, group, parameters, arguments, what)                       \
    RUNTIME_VERSION(13, "libcudart.so.13", symbol, group, parameters, arguments, what)
#include "preload/hooks/runtime.def"
