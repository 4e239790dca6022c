/*
 * What the parts of the simulated driver know of one another.
 *
 * Everything below `sim` is guarded by sim.lock, which sim_begin takes and sim_end gives back; it is let go
 * only while a call waits for simulated time and while the work of a stream runs. Handles are objects of
 * slabs that are never given back to the system, so that a stale handle is found out by its magic, and
 * handles are reused as a real driver reuses them.
 */
#ifndef CGTRACE_TESTS_SIM_INTERNAL_H
#define CGTRACE_TESTS_SIM_INTERNAL_H

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tests/sim/sim.h"

#if CUDA_VERSION < 12000 /* how a look-up went, as later headers have it */
typedef enum {
    CU_GET_PROC_ADDRESS_SUCCESS,
    CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND,
    CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
} CUdriverProcAddressQueryResult;
#endif

enum {
    SIM_MAX_DEVICES = 16,
    SIM_MAX_STACK = 64,   /* contexts pushed by one thread */
    SIM_MAX_PARAMS = 128, /* parameters of a kernel */
    SIM_ALIGN = 512,      /* device memory is handed out in multiples of this */
};

/* What kind of object a handle is: its first word. 0 is an object that has been given back. */
enum sim_magic {
    SIM_DEAD = 0,
    SIM_CONTEXT = 0x51c0,
    SIM_STREAM,
    SIM_EVENT,
    SIM_MODULE,
    SIM_FUNCTION,
    SIM_KERNEL_HANDLE,
    SIM_LIBRARY,
    SIM_POOL,
    SIM_ARRAY,
    SIM_MIPMAP,
    SIM_GRAPH,
    SIM_NODE,
    SIM_EXEC,
    SIM_CAPTURE,
    SIM_EXTERNAL,
    SIM_SEMAPHORE,
    SIM_GREEN,
    SIM_USER_OBJECT,
    SIM_PHYSICAL,
    SIM_RESOURCE_DESC,
    SIM_LINK,
    SIM_STORAGE,
    SIM_OP,
    SIM_MAGIC_END
};

struct sim_object {
    uint32_t magic;
    struct sim_object *next_free;
};

/* One exported symbol. */
struct sim_site {
    const char *name;
};

/* One call of one exported symbol. */
struct sim_call {
    const struct sim_site *site;
    struct sim_thread *thread;
    CUstream
        null_stream; /* what the stream NULL means to this symbol: CU_STREAM_LEGACY or CU_STREAM_PER_THREAD */
};

#define SIM_CALL_AS(var, null)                                                                               \
    static const struct sim_site sim_site_ = {.name = __func__};                                             \
    struct sim_call var = {.site = &sim_site_, .null_stream = (null)}
#define SIM_CALL(var) SIM_CALL_AS(var, CU_STREAM_LEGACY)

/* The two forms of a symbol that takes part in default streams: impl(&call, arguments…). */
#define SIM_PAIR(name, suffix, params, impl, ...)                                                            \
    CUresult CUDAAPI name params                                                                             \
    {                                                                                                        \
        SIM_CALL_AS(call, CU_STREAM_LEGACY);                                                                 \
        return impl(&call, __VA_ARGS__);                                                                     \
    }                                                                                                        \
    CUresult CUDAAPI name##suffix params                                                                     \
    {                                                                                                        \
        SIM_CALL_AS(call, CU_STREAM_PER_THREAD);                                                             \
        return impl(&call, __VA_ARGS__);                                                                     \
    }

/* ---- ledger -------------------------------------------------------------------------------------------- */

enum sim_line_op {
    SIM_L_ALLOC,
    SIM_L_FREE,
    SIM_L_LAUNCH,
    SIM_L_COPY,
    SIM_L_MEMSET,
    SIM_L_GRAPH_LAUNCH,
    SIM_L_MAP, /* a second way to memory that is there already */
    SIM_L_UNMAP,
    SIM_L_EVENT, /* recorded into a stream; only with SIM_LEDGER_EVENTS */
    SIM_L_DONE
};

/* One line of the ledger; fields that an operation has no use for are 0 and left out. */
struct sim_line {
    enum sim_line_op op;
    const char *kind;   /* device, managed, host, …; for copies HtoD, DtoH, … */
    const char *reason; /* of a free that the program did not ask for */
    const char *name;   /* of a kernel, mangled */
    uint64_t seq;       /* SIM_L_DONE: of the line that it completes */
    uint64_t address, source, bytes;
    uint64_t start_ns, end_ns;
    uint64_t pool;
    uint32_t grid[3], block[3], shared, nodes;
    const void *context;
    CUstream stream;
    bool has_stream;
    int device;
    bool pending; /* its times are not known yet: a line `done` with its seq will say them */
};

void sim_ledger_open(void);
/* Writes the line, whole, with one write; gives it its seq. Caller holds the lock. */
void sim_ledger_write(const struct sim_call *call, struct sim_line *line, CUresult result);
void sim_ledger_fork_child(void);

/* ---- time ---------------------------------------------------------------------------------------------- */

/* The end of work whose times are not known yet. Counted references; freed by the last. */
struct sim_fence {
    uint32_t references;
    bool done;
    uint64_t end_ns;
};

uint64_t sim_now(void);
/* Keeps the caller busy for so long; without the lock. */
void sim_spend(uint64_t ns);
/* More time passes than passed. */
void sim_jump(void);
/* Sleeps, without the lock, until CLOCK_MONOTONIC is at `ns`. */
void sim_sleep_until(uint64_t ns);

/* ---- objects ------------------------------------------------------------------------------------------- */

enum sim_kind {
    SIM_K_DEVICE,
    SIM_K_PITCH,
    SIM_K_MANAGED,
    SIM_K_HOST,
    SIM_K_REGISTERED,
    SIM_K_POOL,
    SIM_K_ARRAY,
    SIM_K_MIPMAP,
    SIM_K_PHYSICAL,
    SIM_K_MAPPING,
    SIM_K_IPC,
    SIM_K_EXTERNAL,
    SIM_K_GRAPH,
    SIM_K_MODULE,
    SIM_K_COUNT
};
extern const char *const sim_kind_name[SIM_K_COUNT];

/* A piece of memory that a pointer may be looked up in. */
struct sim_storage {
    struct sim_object object;
    uint64_t base;
    size_t bytes;    /* as asked for */
    size_t reserved; /* as taken from the device */
    enum sim_kind kind;
    int device; /* -1: host */
    unsigned flags;
    struct sim_context *context; /* NULL: outlives contexts (pools, reservations) */
    struct sim_pool *pool;
    int ipc_fd; /* memory file behind an exported storage, or -1 */
    uint64_t buffer_id;
    struct sim_object *handle;     /* by which the program knows it, if not by its address: deleted with it */
    struct sim_physical *physical; /* of a mapping */
    bool freeing;                  /* its free has been issued in a stream and not been done */
    struct sim_storage *next;      /* in the cache of a pool */
};

struct sim_array {
    struct sim_object object;
    CUDA_ARRAY3D_DESCRIPTOR desc;
    struct sim_storage *storage; /* NULL for a level or plane of another array */
    uint8_t *data;
    size_t row, slice; /* bytes of a row, of a slice */
    struct sim_array *owner;
};

struct sim_pool {
    struct sim_object object;
    int device;
    bool is_default;
    CUmemAllocationHandleType handles;
    int fd;                    /* exported pools: the description that importers open */
    struct sim_storage *cache; /* freed, still reserved */
    size_t used, used_high, reserved, reserved_high, max_size;
    uint64_t threshold;
    int reuse[3];
};

struct sim_device {
    size_t total, used;
    struct sim_context *primary;
    unsigned primary_references, primary_flags;
    struct sim_pool *default_pool, *pool;
    size_t graph_used, graph_used_high, graph_reserved, graph_reserved_high;
};

struct sim_capture;

struct sim_stream {
    struct sim_object object;
    struct sim_context *context;
    unsigned flags;
    int priority;
    uint64_t id;
    uint64_t tail_ns;        /* simulated end of its last work */
    struct sim_fence *fence; /* of its last deferred work, or NULL */
    struct sim_op *queue, **queue_end;
    pthread_cond_t wake;
    bool has_worker, closing;
    struct sim_capture *capture;
    struct sim_node **frontier; /* while capturing: the nodes that the next one depends on */
    size_t frontier_count;
    struct sim_green *green;
    struct sim_thread *owner; /* per-thread default streams */
    struct sim_stream *next, *prev;
};

struct sim_context {
    struct sim_object object;
    int device;
    bool primary;
    unsigned flags;
    uint64_t id;
    struct sim_stream *streams; /* all of them, the legacy default one too */
    struct sim_stream *legacy;
    uint64_t blocking_ns; /* latest end of work on any blocking stream */
    size_t limits[CU_LIMIT_MAX];
    struct sim_context *peers[SIM_MAX_DEVICES];
    struct sim_context *next;
};

struct sim_thread {
    pid_t tid;
    struct sim_context *stack[SIM_MAX_STACK];
    int depth;
    CUstreamCaptureMode capture_mode;
    struct sim_stream *defaults;
    struct sim_stream *per_thread[SIM_MAX_DEVICES * 2]; /* its default streams, one a context */
    struct sim_thread *next;
};

struct sim_event {
    struct sim_object object;
    unsigned flags;
    struct sim_context *context;
    bool recorded;
    uint64_t end_ns;
    struct sim_fence *fence;
    struct sim_capture *capture; /* recorded into a capture: the nodes that a waiter joins */
    uint64_t capture_id;
    struct sim_node **nodes;
    size_t node_count;
    int ipc;
};

struct sim_param {
    size_t offset, bytes;
};

/* A kernel of an image. */
struct sim_entry {
    char *name;
    struct sim_param *params;
    size_t param_count;
};

struct sim_variable {
    char *name;
    size_t bytes;
    bool managed;
};

struct sim_image {
    struct sim_entry *entries;
    size_t entry_count;
    struct sim_variable *variables;
    size_t variable_count;
};

/* Reads the entry names, parameter sizes and variables of a PTX text, a cubin or a fatbin (also behind the
 * wrapper that nvcc emits). CUDA_ERROR_INVALID_IMAGE or CUDA_ERROR_INVALID_PTX; out of memory ends the
 * process. */
CUresult sim_image_read(const void *data, struct sim_image *image);
void sim_image_free(struct sim_image *image);

struct sim_function {
    struct sim_object object;
    struct sim_module *module;
    struct sim_library *library;
    struct sim_function *loaded; /* of a kernel: its function in the library's module */
    const char *name;
    const struct sim_entry *entry;
    sim_kernel_fn host;
    const struct sim_param *params;
    size_t param_count;
    struct sim_param *own_params; /* from foo_params */
    int attributes[CU_FUNC_ATTRIBUTE_MAX];
};

struct sim_module {
    struct sim_object object;
    struct sim_context *context;
    struct sim_library *library;
    struct sim_image image;
    struct sim_function **functions; /* one an entry, made when asked for */
    struct sim_storage **globals;
    struct sim_module *next;
};

struct sim_library {
    struct sim_object object;
    struct sim_module *module;
    struct sim_function **kernels;
};

/* ---- work ---------------------------------------------------------------------------------------------- */

enum sim_work {
    SIM_W_NOTHING,
    SIM_W_KERNEL,
    SIM_W_COPY,
    SIM_W_MEMSET,
    SIM_W_HOST,
    SIM_W_RECORD,
    SIM_W_FREE,
    SIM_W_WRITE_VALUE,
    SIM_W_WAIT_VALUE,
    SIM_W_GRAPH
};

/* Bytes moved, as a box: a plain copy is one row. */
struct sim_copy {
    uint8_t *dst;
    const uint8_t *src;
    size_t width, height, depth;
    size_t dst_pitch, src_pitch, dst_slice, src_slice;
};

struct sim_set {
    uint8_t *dst;
    size_t width, height, pitch; /* width in elements */
    uint32_t value;
    unsigned element;
};

struct sim_kernel {
    struct sim_function *function;
    sim_kernel_fn host;
    void **args; /* a block of its own: pointers, then the copies */
};

struct sim_host {
    CUhostFn fn;
    CUstreamCallback callback; /* of cuStreamAddCallback, else NULL */
    CUstream stream;
    void *data;
};

struct sim_value {
    void *address;
    uint64_t value;
    unsigned flags;
    unsigned bytes;
};

/* One piece of work of a stream or a graph. */
struct sim_op {
    struct sim_object object;
    enum sim_work work;
    uint64_t duration_ns;
    union {
        struct sim_copy copy;
        struct sim_set set;
        struct sim_kernel kernel;
        struct sim_host host;
        struct sim_value value;
        struct sim_event *event;
        struct sim_storage *storage;
        struct sim_graph *plan;
    } u;
    struct sim_line line;
    bool has_line;
    /* deferred work only */
    struct sim_fence *fence, **deps;
    size_t dep_count;
    uint64_t not_before;
    struct sim_op *copy; /* of the caller's operation: the one that its stream's worker does */
    struct sim_op *next;
};

/* ---- the whole ----------------------------------------------------------------------------------------- */

struct sim_rule {
    char *symbol;
    unsigned nth, seen; /* nth 0: every one */
    CUresult code;
};

struct sim_state {
    pthread_mutex_t lock;
    pthread_cond_t done; /* a fence was done */
    bool configured, initialised, forked;
    int driver_version, device_count;
    uint64_t kernel_ns;
    uint64_t record_cost_ns, read_cost_ns; /* host time that a call on an event takes */
    uint64_t event_step_ns;                /* what time stamps of events are multiples of */
    uint64_t jump_ns;                      /* that each cuCtxSynchronize lets pass */
    _Atomic uint64_t jumped_ns;            /* all of them */
    bool ledger_events;
    bool gone; /* exit() has begun: all that is asked is answered 4, as a driver does that is torn down */
    struct sim_rule *rules;
    size_t rule_count;
    void *kernels; /* handle of SIM_KERNELS */
    struct sim_device devices[SIM_MAX_DEVICES];
    struct sim_context *contexts;
    struct sim_thread *threads;
    struct sim_module *modules;
    size_t deferred; /* pieces of work whose times are not known yet */
    uint64_t next_id, next_buffer;
    size_t captures; /* under way */
    bool ledger;
};
extern struct sim_state sim;

enum sim_need {
    SIM_NEED_NOTHING,
    SIM_NEED_INIT,
    SIM_NEED_CONTEXT,
    SIM_NEED_UNCAPTURED = 4 /* flag: forbidden while a capture that this thread must respect is under way */
};

/* Takes the lock, finds the thread; the code that SIM_FAIL wants, or what is missing of `need`, or
 * CUDA_SUCCESS. The lock is held in every case. */
CUresult sim_begin(struct sim_call *call, unsigned need);
/* Writes the line, if any, gives the lock back and returns `result`. */
CUresult sim_end(struct sim_call *call, CUresult result, struct sim_line *line);

struct sim_thread *sim_thread(void);
/* The calling thread's current context, or NULL. */
struct sim_context *sim_current(const struct sim_call *call);

/* An object of `size` bytes, zeroed, from the slab of its magic. Never NULL. */
void *sim_new(enum sim_magic magic, size_t size);
void sim_delete(void *object);
bool sim_is(const void *object, enum sim_magic magic);
void *sim_alloc(size_t bytes);
void *sim_realloc(void *old, size_t bytes);
char *sim_strdup(const char *s);

/* context.c */
struct sim_context *sim_context_new(int device, unsigned flags, bool primary);
void sim_context_destroy(struct sim_call *call, struct sim_context *context, const char *reason);
struct sim_context *sim_primary(int device);

/* memory: address map and backing */
void sim_map_insert(struct sim_storage *storage);
void sim_map_remove(struct sim_storage *storage);
/* The storage that holds `address`, or NULL. */
struct sim_storage *sim_map_find(uint64_t address);
size_t sim_map_count(void);
struct sim_storage *sim_map_at(size_t index);
/* Device memory of `device` (-1: host), backed, entered in the map. CUDA_ERROR_OUT_OF_MEMORY when it runs
 * out. */
CUresult sim_storage_new(int device, size_t bytes, enum sim_kind kind, struct sim_context *context,
                         struct sim_storage **out);
void sim_storage_free(struct sim_storage *storage);
/* CUDA_ERROR_INVALID_VALUE unless [address, address + bytes) lies in one storage, or in mappings side by
 * side. */
CUresult sim_check_range(uint64_t address, size_t bytes);
size_t sim_round(size_t bytes, size_t to);
void sim_line_of(struct sim_line *line, enum sim_line_op op, const struct sim_storage *storage);

/* pool.c */
/* A block of the pool, from its cache or new; entered in the map. */
CUresult sim_pool_take(struct sim_pool *pool, size_t bytes, struct sim_storage **out);
struct sim_pool *sim_pool_new(int device, bool is_default);
void sim_pool_trim(struct sim_pool *pool, uint64_t keep);
void sim_pool_give_back(struct sim_storage *storage);
/* At a synchronisation: pools of the device keep no more than their threshold. */
void sim_pools_settle(int device);

/* capture.c */
/* The code with which a call that may not happen during a capture is refused, or CUDA_SUCCESS. Such a call
 * invalidates the captures that it disturbs. */
CUresult sim_capture_forbids(struct sim_call *call);
/* Makes a node of the work. */
CUresult sim_capture_op(struct sim_call *call, struct sim_stream *stream, struct sim_op *op);
/* The same for a call that waits for one stream. */
CUresult sim_capture_forbids_stream(struct sim_call *call, struct sim_stream *stream);
/* The same for one that waits for a whole context. */
CUresult sim_capture_forbids_context(struct sim_context *context);
/* Work is about to be given to the stream: 906 if that is the legacy one while a blocking stream captures. */
CUresult sim_capture_implicit(const struct sim_stream *stream);
CUresult sim_capture_wait(struct sim_call *call, struct sim_stream *stream, struct sim_event *event);
CUresult sim_capture_record(struct sim_call *call, struct sim_stream *stream, struct sim_event *event,
                            unsigned flags);
CUresult sim_capture_alloc(struct sim_call *call, struct sim_stream *stream, size_t bytes,
                           struct sim_pool *pool, CUdeviceptr *out);
CUresult sim_capture_free(struct sim_call *call, struct sim_stream *stream, CUdeviceptr p);
/* The stream goes away in the middle of its capture. */
void sim_capture_stop(struct sim_stream *stream);

/* module.c */
/* Unloads what was loaded into the context. */
void sim_modules_forget(struct sim_context *context);

/* stream.c */
CUresult sim_stream_of(struct sim_call *call, CUstream handle, struct sim_stream **out);
struct sim_stream *sim_stream_new(struct sim_context *context, unsigned flags, int priority);
void sim_stream_free(struct sim_stream *stream);

/* The handle by which the ledger knows the stream: CU_STREAM_LEGACY, CU_STREAM_PER_THREAD or itself. */
CUstream sim_stream_handle(const struct sim_stream *stream);

/* launch.c */
/* Fills in a kernel's work, or says what is wrong with the launch. Its parameters are copied if they will be
 * used, or are to be kept for questions. */
CUresult sim_kernel_op(const struct sim_function *f, const unsigned grid[3], const unsigned block[3],
                       unsigned shared, void **params, void **extra, bool keep, struct sim_op *op);

/* exec.c */
/* Of what instantiation made of a graph. Does all nodes' work in order; how long that takes is what they say.
 */
void sim_plan_run(struct sim_graph *plan);
bool sim_plan_needs_worker(const struct sim_graph *plan);
void sim_plan_release(struct sim_graph *plan);
/* The launch is done, or its times are known: its event nodes take effect. */
void sim_plan_done(struct sim_graph *plan, uint64_t end_ns);

/* timeline.c */
/* Gives the work to the stream: it is captured, or done at once, or left to the stream's worker. Takes over
 * what the operation owns, also when it fails. Sets the line's times; the caller ends with sim_submit_end. */
CUresult sim_submit(struct sim_call *call, struct sim_stream *stream, struct sim_op *op);
/* The same, not before `not_before` in simulated time nor before the fence, which may be NULL. */
CUresult sim_submit_after(struct sim_call *call, struct sim_stream *stream, struct sim_op *op,
                          struct sim_fence *waits_for, uint64_t not_before);
/* Writes the line of submitted work; several may be submitted by one call. */
void sim_submit_line(struct sim_call *call, CUresult result, struct sim_op *op);
/* Ends a call that submitted work: writes its line, gives the lock back. */
CUresult sim_submit_end(struct sim_call *call, CUresult result, struct sim_op *op);
/* Waits until the stream (or the whole context, or all contexts of the device) is idle. */
void sim_wait_stream(struct sim_stream *stream);
void sim_wait_context(struct sim_context *context);
void sim_wait_device(int device);
bool sim_stream_idle(struct sim_stream *stream);
void sim_fence_release(struct sim_fence *fence);
void sim_fence_wait(struct sim_fence *fence);
/* Runs the work itself, without the lock; returns when done. */
void sim_op_run(struct sim_op *op);
void sim_op_discard(struct sim_op *op);
void sim_event_mark(struct sim_event *event, uint64_t end_ns, struct sim_fence *fence);
struct sim_op *sim_op_copy(const struct sim_op *op);

/* The same parameters in a block of their own. */
void **sim_kernel_args(const struct sim_function *f, void **params, const uint8_t *buffer);

/* symbols.c */
CUresult sim_symbol(const char *name, int version, cuuint64_t flags, void **pfn,
                    CUdriverProcAddressQueryResult *why);

#endif
