/* Graphs: what one is made of, told where it is made ready, and the memory that its launches allocate and
 * free.
 *
 * Memory of allocation nodes, by the CUDA C++ Programming Guide ("Graph Memory Nodes") and cuda.h
 * (cuGraphAddMemAllocNode): it is made anew by each launch; it ends with the free node of the same launch,
 * with cuMemFreeAsync or cuMemFree, with the launch of another graph that has a free node for it, or, where
 * the graph was made ready with AUTO_FREE_ON_LAUNCH, with its next launch. Destroying a graph ends none of
 * it, and cuDeviceGraphMemTrim gives back only what is unused. The address is the node's for ever.
 *
 * The driver means times of the device by this; a trace knows host times: such a storage begins with the
 * launch that allocates it and ends with the call that frees it. Those that end in the launch that they began
 * in stand in the trace in the order of their nodes, so that what is alive at once among them is what one
 * walk through the graph has alive at once. Open until seen on a GPU: whether nodes that run side by side
 * share memory, how much is reserved beyond it (device samples show it), and in what order the driver lists
 * nodes whose edges were added later. */
#include "preload/hooks/bodies.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>

#include "preload/hooks/ask.h"
#include "preload/record/lock.h"

enum { NODES_MAX = 1 << 20, DEPTH_MAX = 16, FIRST_ROOM = 64 };
_Static_assert(CAP_NODE_TYPE_COUNT == 15, "types of nodes up to 13, and others");

struct memory_node {
    uint64_t address, bytes;
    uint8_t device;
    bool frees;
};

/* The memory nodes of a graph or of what was made of it, in order. Given back ones are used again, never
 * unmapped: a program that destroys a graph while it launches it finds wrong nodes, not a fault of ours. */
struct memory_nodes {
    struct memory_nodes *next;
    uint32_t count, room;
    bool auto_free;
    struct memory_node node[];
};
static struct memory_nodes *unused;
static _Atomic uint32_t unused_lock;
HANDLE_LOCK_LISTED(unused_lock, unused);

static HANDLE_MAP(infos);    /* CUgraphExec: its struct graph_info */
static HANDLE_MAP(memories); /* CUgraphExec: its struct memory_nodes, if it has some */

/* What a graph is made of. */
struct hook_tally {
    uint32_t count[CAP_NODE_TYPE_COUNT];
    struct {
        CUfunction function;
        uint32_t count;
    } kernel[CAP_GRAPH_KERNELS_MAX];
    unsigned kernels;
    uint32_t left_out;
    struct memory_nodes *memory; /* while the graph is looked at; then it is the executable's */
};

/* What is told of an executable graph: when it is made ready, or by its first launch in a later session. */
struct graph_info {
    struct graph_info *next;
    uint32_t number;
    _Atomic uint64_t told; /* generation of the session that knows it */
    struct hook_tally tally;
};
enum { INFOS_AT_ONCE = 128 };
static struct graph_info *unused_infos;

/* Room for one more, never given back to the system; NULL: no memory. */
static struct graph_info *take_info(void)
{
    lock_take(&unused_lock);
    if (!unused_infos) {
        struct graph_info *fresh = mmap(NULL, INFOS_AT_ONCE * sizeof *fresh, PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        for (int i = 0; fresh != MAP_FAILED && i < INFOS_AT_ONCE; i++) {
            fresh[i].next = unused_infos;
            unused_infos = &fresh[i];
        }
    }
    struct graph_info *info = unused_infos;
    if (info) unused_infos = info->next;
    lock_give(&unused_lock);
    if (info) info->number = 0;
    return info;
}

static void give_info(struct graph_info *info)
{
    if (!info) return;
    lock_take(&unused_lock);
    info->next = unused_infos;
    unused_infos = info;
    lock_give(&unused_lock);
}

static struct graph_info *info_of(CUgraphExec executable)
{
    return (struct graph_info *)(uintptr_t)handle_get(&infos, (uintptr_t)executable);
}

static void give_back(struct memory_nodes *nodes)
{
    if (!nodes) return;
    lock_take(&unused_lock);
    nodes->next = unused;
    unused = nodes;
    lock_give(&unused_lock);
}

static size_t nodes_bytes(uint32_t room)
{
    return sizeof(struct memory_nodes) + room * sizeof(struct memory_node);
}

/* An unused one with that room, or a new one; NULL: no memory. */
static struct memory_nodes *take_nodes(uint32_t room)
{
    struct memory_nodes *found = NULL;
    lock_take(&unused_lock);
    for (struct memory_nodes **at = &unused; *at; at = &(*at)->next)
        if ((*at)->room >= room) {
            found = *at;
            *at = found->next;
            break;
        }
    lock_give(&unused_lock);
    if (!found) {
        void *fresh =
            mmap(NULL, nodes_bytes(room), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (fresh == MAP_FAILED) return NULL;
        found = fresh;
        found->room = room;
    }
    found->count = 0;
    return found;
}

static void add_memory(struct hook_tally *tally, struct memory_node node)
{
    struct memory_nodes *nodes = tally->memory;
    if (!nodes || nodes->count == nodes->room) {
        struct memory_nodes *more = take_nodes(nodes ? nodes->room * 2 : FIRST_ROOM);
        if (!more) return;
        for (uint32_t i = 0; nodes && i < nodes->count; i++)
            more->node[more->count++] = nodes->node[i];
        give_back(nodes);
        tally->memory = nodes = more;
    }
    nodes->node[nodes->count++] = node;
}

static void add_kernel(struct hook_tally *tally, CUgraphNode node)
{
    /* The beginning of CUDA_KERNEL_NODE_PARAMS, of which the last two members came with CUDA 12. */
    struct {
        CUfunction function;
        unsigned shape[7];
        void **parameters, **extra;
        CUfunction kernel;
        CUcontext context;
    } parameters = {.function = NULL};
    CUresult result = ASK(cuGraphKernelNodeGetParams_v2, node, &parameters);
    if (result == CUDA_ERROR_NOT_FOUND) result = ASK(cuGraphKernelNodeGetParams, node, &parameters);
    CUfunction function = parameters.function ? parameters.function : parameters.kernel;
    if (result != CUDA_SUCCESS || !function) {
        tally->left_out++;
        return;
    }
    for (unsigned i = 0; i < tally->kernels; i++)
        if (tally->kernel[i].function == function) {
            tally->kernel[i].count++;
            return;
        }
    if (tally->kernels == CAP_GRAPH_KERNELS_MAX) {
        tally->left_out++;
        return;
    }
    tally->kernel[tally->kernels].function = function;
    tally->kernel[tally->kernels++].count = 1;
}

static void add_allocation(struct hook_tally *tally, CUgraphNode node)
{
    CUDA_MEM_ALLOC_NODE_PARAMS parameters;
    if (ASK(cuGraphMemAllocNodeGetParams, node, &parameters) != CUDA_SUCCESS) return;
    int device = parameters.poolProps.location.id;
    bool on_device = parameters.poolProps.location.type == CU_MEM_LOCATION_TYPE_DEVICE && device >= 0 &&
                     device < (int)CAP_NO_DEVICE;
    add_memory(tally, (struct memory_node){parameters.dptr, parameters.bytesize,
                                           on_device ? (uint8_t)device : CAP_NO_DEVICE, false});
}

static void look_at(struct hook_tally *tally, CUgraph graph, int depth);

static void look_at_node(struct hook_tally *tally, CUgraphNode node, int depth)
{
    CUgraphNodeType type;
    CUdeviceptr address;
    CUgraph child;
    if (ASK(cuGraphNodeGetType, node, &type) != CUDA_SUCCESS) return;
    tally->count[(unsigned)type < CAP_NODE_TYPE_COUNT ? (unsigned)type : CAP_NODE_TYPE_COUNT - 1]++;
    switch (type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        add_kernel(tally, node);
        break;
    case CU_GRAPH_NODE_TYPE_GRAPH:
        if (ASK(cuGraphChildGraphNodeGetGraph, node, &child) == CUDA_SUCCESS)
            look_at(tally, child, depth + 1);
        break;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
        add_allocation(tally, node);
        break;
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        if (ASK(cuGraphMemFreeNodeGetParams, node, &address) == CUDA_SUCCESS)
            add_memory(tally, (struct memory_node){.address = address, .frees = true});
        break;
    default:
        break;
    }
}

static void look_at(struct hook_tally *tally, CUgraph graph, int depth)
{
    size_t count = 0;
    if (depth > DEPTH_MAX || ASK(cuGraphGetNodes, graph, NULL, &count) != CUDA_SUCCESS || !count) return;
    if (count > NODES_MAX) count = NODES_MAX;
    size_t bytes = count * sizeof(CUgraphNode);
    CUgraphNode *nodes = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (nodes == MAP_FAILED) return;
    if (ASK(cuGraphGetNodes, graph, nodes, &count) == CUDA_SUCCESS)
        for (size_t i = 0; i < count; i++)
            look_at_node(tally, nodes[i], depth);
    munmap(nodes, bytes);
}

/* Counts the nodes of a graph. Done before it is made ready, so that it is not part of that call's time. */
static void hook_graph_look(struct hook_tally *tally, CUgraph graph)
{
    int kept = errno;
    *tally = (struct hook_tally){.memory = NULL};
    if (graph) look_at(tally, graph, 0);
    errno = kept;
}

static struct record_graph describe(const struct hook_tally *tally, uint32_t number)
{
    struct record_graph graph = {.number = number, .kernels_left_out = tally->left_out};
    for (unsigned type = 0; type < CAP_NODE_TYPE_COUNT; type++)
        if (tally->count[type]) graph.nodes[graph.node_count++] = (uint64_t)type << 32 | tally->count[type];
    for (unsigned i = 0; i < tally->kernels; i++) {
        uint32_t name = hook_kernel_name(tally->kernel[i].function);
        if (name)
            graph.kernels[graph.kernel_count++] = (uint64_t)name << 32 | tally->kernel[i].count;
        else
            graph.kernels_left_out += tally->kernel[i].count;
    }
    return graph;
}

/* flags: those that it was made ready with; keep_flags for an update, which changes none. */
enum { KEEP_FLAGS = -1 };
static void hook_graph_made(struct record_call *call, CUresult result, struct hook_tally *tally,
                            const CUgraphExec *executable, long long flags)
{
    static _Atomic uint32_t count;
    int kept = errno;
    if (result != CUDA_SUCCESS) {
        give_back(tally->memory);
        if (call) record_op(call, (int)result, 0, 0);
        errno = kept;
        return;
    }
    uint64_t handle = (uintptr_t)*executable;
    struct memory_nodes *past = (struct memory_nodes *)(uintptr_t)handle_get(&memories, handle);
    struct graph_info *info = info_of(*executable);
    if (!info && (info = take_info())) handle_put(&infos, handle, (uintptr_t)info, handle);
    if (info) {
        if (flags != KEEP_FLAGS || !info->number)
            info->number = atomic_fetch_add_explicit(&count, 1, memory_order_relaxed) + 1;
        info->tally = *tally;
        atomic_store_explicit(&info->told, call ? call->thread->generation : 0, memory_order_relaxed);
    }
    if (tally->memory)
        tally->memory->auto_free = flags == KEEP_FLAGS
                                       ? past && past->auto_free
                                       : (flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) != 0;
    if (past || tally->memory) handle_put(&memories, handle, (uintptr_t)tally->memory, handle);
    give_back(past);
    if (call) {
        struct record_graph graph = describe(tally, info ? info->number : 0);
        record_graph(call, (int)result, &graph);
    }
    errno = kept;
}

static void hook_graph_ends(CUgraphExec executable)
{
    uint64_t handle = (uintptr_t)executable;
    struct memory_nodes *nodes = (struct memory_nodes *)(uintptr_t)handle_get(&memories, handle);
    struct graph_info *info = info_of(executable);
    handle_forget(&memories, handle);
    handle_forget(&infos, handle);
    give_back(nodes);
    give_info(info);
}

/* ---- launches ---- */

static bool allocates(const struct memory_nodes *nodes, uint64_t address)
{
    for (uint32_t i = 0; i < nodes->count; i++)
        if (nodes->node[i].address == address && !nodes->node[i].frees) return true;
    return false;
}

static void end_at(struct record_call *call, uint64_t address, bool must)
{
    struct record_storage storage;
    record_free_begin(call, address, &storage);
    if (storage.known || must) record_storage_end(call, &storage);
}

/* What a launch allocates and frees. Done after the call: addresses of allocation nodes are nobody else's. */
static void memory_of_launch(struct record_call *call, const struct memory_nodes *nodes)
{
    uint64_t begun = call->begin;
    for (uint32_t i = 0; nodes->auto_free && i < nodes->count; i++)
        if (!nodes->node[i].frees) end_at(call, nodes->node[i].address, false);
    for (uint32_t i = 0; i < nodes->count; i++)
        if (nodes->node[i].frees && !allocates(nodes, nodes->node[i].address))
            end_at(call, nodes->node[i].address, true);
    for (uint32_t i = 0; i < nodes->count; i++) {
        const struct memory_node *node = &nodes->node[i];
        if (!node->frees) {
            record_storage_begin(call, CAP_MEMORY_GRAPH, node->device, node->address, node->bytes);
        } else if (allocates(nodes, node->address)) {
            call->begin = record_tick();
            end_at(call, node->address, true);
        }
        call->begin = begun;
    }
}

/* launch: its call; outside of sessions, where only the memory is followed, its api and begin alone. */
static void hook_graph_memory(const struct record_call *launch, CUgraphExec executable, CUstream stream,
                              bool per_thread)
{
    struct record_call call;
    uint64_t nodes = handle_get(&memories, (uintptr_t)executable);
    if (__builtin_expect(nodes == 0, 1)) return;
    if (launch->thread ? launch->captured : hook_stream(stream, per_thread).captured) return;
    if (!record_enter_end(&call, launch->api)) return;
    call.begin = launch->begin;
    call.device = launch->device;
    memory_of_launch(&call, (const struct memory_nodes *)(uintptr_t)nodes);
    record_leave(&call);
}

/* A graph that the open session has not been told of: its launch will say what it is made of. True: it is
 * described in *graph. */
static bool hook_graph_untold(struct record_call *call, CUgraphExec executable, struct record_graph *graph)
{
    const struct graph_info *info = info_of(executable);
    if (!info || call->outside ||
        __builtin_expect(atomic_load_explicit(&info->told, memory_order_relaxed) == call->thread->generation,
                         1))
        return false;
    int kept = errno;
    *graph = describe(&info->tally, info->number);
    record_graph_align(call, graph);
    errno = kept;
    return true;
}

static void hook_graph_launched(struct record_call *call, CUresult result, CUgraphExec executable,
                                uint32_t stream, const struct record_graph *graph)
{
    struct graph_info *info = info_of(executable);
    if (graph && info) atomic_store_explicit(&info->told, call->thread->generation, memory_order_relaxed);
    record_graph_launch(call, (int)result, info ? info->number : 0, stream, graph);
}

#define HOOK_FAMILY "preload/hooks/graph.def"
#define HOOK(...)   HOOK_WRAPPER(__VA_ARGS__)
#include "preload/hooks/all.def"
