/* What hooks call: records of calls, launches, copies and storages. */
#include "preload/record/record.h"

#include <string.h>

#include "preload/record/live.h"
#include "preload/record/session.h"
#include "preload/record/stacks.h"
#include "preload/record/write.h"

/* Ticks between the end of an allocation and its free at least, so that they differ in nanoseconds too:
 * counters of up to 8 GHz. */
enum { LIFE_TICKS = 8 };

bool (*record_synchronise)(void);

/* A record of this type found no slot: lost, unless its session has ended under the call. */
static void unplaced(const struct record_thread *thread, enum cap_type type)
{
    if (thread->generation == atomic_load_explicit(&record_page->generation, memory_order_relaxed))
        atomic_fetch_add_explicit(&session.lost_type[type], 1, memory_order_relaxed);
}

/* What every record of a call has; its end is now. flags: beside those of every call. */
static inline void fill(struct cap_record *slot, struct record_call *call, enum cap_type type, int result,
                        unsigned flags)
{
    uint64_t now = record_tick();

    flags |= (call->captured ? CAP_FLAG_CAPTURED : 0u) | (call->skipped ? CAP_FLAG_SKIPPED : 0u);
    record_store_head(slot, &(struct cap_record){.begin = call->begin,
                                                 .span = call->thread->span,
                                                 .type = (uint8_t)type,
                                                 .slots = 1,
                                                 .device = call->device,
                                                 .api = call->api,
                                                 .flags = (uint16_t)flags,
                                                 .result = result,
                                                 .ticks = now > call->begin ? now - call->begin : 0});
    call->last = now;
}

/* The stack of a call, whose record was just filled: what this costs is not the call's time. 0: none. */
HOT static uint32_t stack_of(struct record_call *call)
{
    uint32_t stack = stacks_here(call->thread);

    if (!call->outside) {
        uint64_t now = record_tick();
        /* Not the ring's: the session may end under the call. */
        peer_spend(call->thread->peer, RECORD_COST_STACKS, now - call->last);
        call->last = now;
    }
    return stack;
}

static inline uint32_t stack_of_alloc(struct record_call *call)
{
    return session.settings.stacks == CG_STACKS_OFF ? 0 : stack_of(call);
}

/* The same of what is no allocation, as its number in the capture file. */
static inline uint32_t placed_stack(struct record_call *call)
{
    return likely(session.settings.stacks != CG_STACKS_ALL)
               ? 0
               : stacks_place(stack_of(call), call->thread->generation);
}

static void drop(struct record_call *call, enum cap_type type)
{
    unplaced(call->thread, type);
    record_leave(call);
}

HOT void record_op(struct record_call *call, int result, uint32_t stream, uint64_t bytes)
{
    struct cap_record *slot;

    if (unlikely(!(session.families & CG_RECORD_CALL))) {
        record_leave(call);
        return;
    }
    slot = ring_slot(call->thread, RING_MAY_DROP);
    if (unlikely(!slot)) {
        drop(call, CAP_CALL);
        return;
    }
    fill(slot, call, CAP_CALL, result, 0);
    record_store(&slot->call, bytes, stream | (uint64_t)placed_stack(call) << 32);
    record_leave_with_slot(call);
}

static inline uint64_t block_side(uint32_t side)
{
    return side < UINT16_MAX ? side : UINT16_MAX;
}

/* The second half of a launch's record. */
static inline void store_launch(struct cap_record *slot, const struct record_launch *launch, uint32_t stack)
{
    enum { STREAM_AT = CAP_NUMBER_BITS, STACK_AT = 2 * CAP_NUMBER_BITS };

    record_store(&slot->launch,
                 CAP_NUMBER(launch->name) | (uint64_t)CAP_NUMBER(launch->stream) << STREAM_AT |
                     (uint64_t)CAP_NUMBER(stack) << STACK_AT,
                 launch->grid[0] | (uint64_t)launch->grid[1] << 32);
    record_store(&slot->launch.grid[2],
                 launch->grid[2] | block_side(launch->block[0]) << 32 | block_side(launch->block[1]) << 48,
                 block_side(launch->block[2]) | (uint64_t)launch->shared_bytes << 32);
}

HOT void record_launch(struct record_call *call, int result, const struct record_launch *launch)
{
    struct cap_record *slot;

    if (unlikely(!(session.families & CG_RECORD_LAUNCH))) {
        record_leave(call);
        return;
    }
    slot = ring_slot(call->thread, RING_MAY_DROP);
    if (unlikely(!slot)) {
        drop(call, CAP_LAUNCH);
        return;
    }
    fill(slot, call, CAP_LAUNCH, result, 0);
    store_launch(slot, launch, placed_stack(call));
    record_leave_with_slot(call);
}

/* The words of a graph behind the first slot of its record. */
static void fill_words(struct cap_record *slot, const struct record_graph *graph)
{
    uint64_t *words = (uint64_t *)(slot + 1);

    memcpy(words, graph->nodes, graph->node_count * sizeof *words);
    memcpy(words + graph->node_count, graph->kernels, graph->kernel_count * sizeof *words);
}

static unsigned graph_slots(const struct record_graph *graph)
{
    return graph ? cap_slots(graph->node_count + graph->kernel_count) : 1;
}

void record_graph_align(struct record_call *call, const struct record_graph *graph)
{
    struct record_thread *thread = call->thread;
    uint64_t gap = call->outside ? 0 : ring_gap(thread, graph_slots(graph));

    if (!gap) return;
    if (ring_window_open(thread) && ring_head(thread) + gap <= thread->check_at) {
        struct cap_record *pad = &thread->slots[ring_head(thread) & thread->mask];

        pad->type = CAP_PAD;
        pad->slots = (uint8_t)gap;
        ring_advance(thread, gap);
    }
    ring_window_close(thread);
}

void record_graph_launch(struct record_call *call, int result, uint32_t number, uint32_t stream,
                         const struct record_graph *graph)
{
    unsigned count = graph_slots(graph);
    struct cap_record *slot;

    if (!(session.families & CG_RECORD_LAUNCH)) {
        record_leave(call);
        return;
    }
    slot = ring_slots(call->thread, RING_MAY_DROP, count);
    if (!slot) {
        drop(call, CAP_LAUNCH);
        return;
    }
    fill(slot, call, CAP_LAUNCH, result, CAP_FLAG_GRAPH);
    slot->slots = (uint8_t)count;
    memset(&slot->launch, 0, sizeof slot->launch);
    slot->launch.shared = number;
    slot->launch.stream = CAP_NUMBER(stream);
    slot->launch.stack = CAP_NUMBER(placed_stack(call));
    if (graph) {
        slot->launch.grid[0] = graph->node_count;
        slot->launch.grid[1] = graph->kernel_count;
        slot->launch.grid[2] = graph->kernels_left_out;
        fill_words(slot, graph);
    }
    ring_commit_slots(call->thread, count);
    record_leave(call);
}

void record_graph(struct record_call *call, int result, const struct record_graph *graph)
{
    unsigned count = graph_slots(graph);
    struct cap_record *slot;

    if (!(session.families & CG_RECORD_CALL)) {
        record_leave(call);
        return;
    }
    slot = ring_slots(call->thread, RING_MAY_DROP, count);
    if (!slot) {
        drop(call, CAP_GRAPH);
        return;
    }
    fill(slot, call, CAP_GRAPH, result, 0);
    slot->slots = (uint8_t)count;
    slot->graph.number = graph->number;
    slot->graph.stream = 0;
    slot->graph.types = (uint16_t)graph->node_count;
    slot->graph.kernels = (uint16_t)graph->kernel_count;
    slot->graph.kernels_left_out = graph->kernels_left_out;
    slot->graph.stack = placed_stack(call);
    fill_words(slot, graph);
    ring_commit_slots(call->thread, count);
    record_leave(call);
}

HOT void record_copy(struct record_call *call, int result, enum record_copy_kind kind, uint64_t destination,
                     uint64_t source, uint64_t bytes, uint32_t stream)
{
    struct cap_record *slot;

    if (unlikely(!(session.families & CG_RECORD_COPY))) {
        record_leave(call);
        return;
    }
    slot = ring_slot(call->thread, RING_MAY_DROP);
    if (unlikely(!slot)) {
        drop(call, CAP_COPY);
        return;
    }
    fill(slot, call, CAP_COPY, result, kind);
    record_store(&slot->copy.bytes, bytes, destination);
    record_store(&slot->copy.source, source, stream | (uint64_t)placed_stack(call) << 32);
    record_leave_with_slot(call);
}

/* ---- storages ---- */

/* Host memory is not the device's, whatever context it was asked in. */
static uint8_t storage_device(uint8_t device, enum cap_memory_kind kind)
{
    return kind == CAP_MEMORY_HOST || kind == CAP_MEMORY_REGISTERED ? CAP_NO_DEVICE : device;
}

/* The end of a storage whose allocation is in a trace, without a call: in the session of its allocation,
 * which need not be the call's. Sessions that are over keep the storage to their end. */
HOT static void end_storage(struct record_call *call, const struct record_storage *storage,
                            enum cap_end_reason reason)
{
    struct record_thread *thread = call->thread;
    bool here = !call->outside && storage->generation == thread->generation;
    struct cap_record record = {.begin = call->begin,
                                .span = here ? thread->span : (uint32_t)CAP_SPAN_ROOT,
                                .slots = 1,
                                .api = call->api};

    if (!storage->generation) return;
    if (record.begin < storage->alloc_tick + LIFE_TICKS) record.begin = storage->alloc_tick + LIFE_TICKS;
    record.type = CAP_END;
    record.device = storage->device;
    record.flags = (uint16_t)(storage->kind | storage->step | (unsigned)reason << 8 | CAP_FLAG_NO_CALL);
    record.memory.address = storage->address;
    record.memory.bytes = storage->bytes;
    record.memory.storage = storage->storage;
    if (here)
        record_write_must(thread, &record);
    else
        deferred_add(storage->generation, &record, 0, thread_tid(thread));
}

/* A storage that begins while no session is open, or in one that its call did not join: in none. */
static void count_straddling(const struct record_call *call)
{
    if (call->outside && atomic_load_explicit(&record_page->state, memory_order_relaxed) == SESSION_OPEN &&
        call->begin < atomic_load_explicit(&session.opened, memory_order_relaxed))
        record_gap(RECORD_GAP_STRADDLING, 1);
}

/* Enters a storage that the call has made into the live table. */
static void keep_storage(struct record_call *call, const struct record_storage *storage)
{
    struct record_storage past;

    if (!live_add(storage, &past)) record_gap(RECORD_GAP_UNKNOWN_FREE, 1);
    /* Its free passed unseen: it ended at the latest when the address was given out again. */
    if (past.known) {
        record_gap(RECORD_GAP_UNKNOWN_FREE, 1);
        end_storage(call, &past, CAP_END_FREE);
    }
}

/* The number of a storage that begins. Threads take them by the block: with a counter for all its line went
 * from processor to processor at each allocation. A forked child begins anew, whatever its parent's thread
 * had left. */
static uint64_t storage_number(struct record_thread *thread)
{
    enum { BLOCK = 64 };

    if (unlikely(thread->storage_next >= thread->storage_limit || thread->storage_pid != session.pid)) {
        record_take_block(&thread->storage_next, &thread->storage_limit,
                          atomic_fetch_add_explicit(&session.storage, BLOCK, memory_order_relaxed), BLOCK);
        atomic_signal_fence(memory_order_seq_cst);
        thread->storage_pid = session.pid;
    }
    return ++thread->storage_next;
}

/* An allocation's record, and its storage in the live table when the call has succeeded. flags: of the
 * record. */
HOT static void begin_storage(struct record_call *call, int result, enum cap_memory_kind kind, uint16_t flags,
                              uint64_t address, uint64_t bytes, uint32_t stream, uint64_t owner)
{
    struct record_storage storage = {.address = address,
                                     .bytes = bytes,
                                     .owner = owner,
                                     .tid = thread_tid(call->thread),
                                     .api = call->api,
                                     .kind = (uint8_t)kind,
                                     .device = call->device};
    bool made = !result && address;
    struct cap_record *slot;

    if (made) storage.storage = storage_number(call->thread);
    storage.alloc_tick = call->begin;
    storage.step = (uint16_t)call->thread->step;
    slot = ring_slot(call->thread, RING_MAY_DROP);
    if (slot) {
        if (made) storage.generation = call->thread->generation;
        fill(slot, call, CAP_ALLOC, result, 0);
        slot->flags = (uint16_t)(kind | call->thread->step | flags | (made ? 0 : CAP_FLAG_NO_STORAGE));
        slot->memory.address = address;
        slot->memory.bytes = bytes;
        slot->memory.storage = storage.storage;
        slot->memory.stream = stream;
        storage.stack = stack_of_alloc(call);
        slot->memory.stack = stacks_place(storage.stack, call->thread->generation);
        storage.alloc_tick = slot->begin + slot->ticks;
        ring_commit(call->thread);
    } else {
        unplaced(call->thread, CAP_ALLOC);
        count_straddling(call);
        call->last = record_tick();
        if (made) storage.stack = stack_of_alloc(call);
    }
    if (made) keep_storage(call, &storage);
}

HOT void record_alloc_expect(uint64_t address)
{
    live_expect(address);
}

HOT void record_alloc(struct record_call *call, int result, enum cap_memory_kind kind, uint64_t address,
                      uint64_t bytes, uint32_t stream, uint64_t owner)
{
    if (session.families & CG_RECORD_MEMORY) {
        call->device = storage_device(call->device, kind);
        begin_storage(call, result, kind, 0, address, bytes, stream, owner);
    }
    record_leave(call);
}

void record_storage_begin(struct record_call *call, enum cap_memory_kind kind, uint8_t device,
                          uint64_t address, uint64_t bytes)
{
    uint8_t of_call = call->device;

    if (!(session.families & CG_RECORD_MEMORY)) return;
    call->device = device;
    begin_storage(call, 0, kind, CAP_FLAG_NO_CALL, address, bytes, 0, 0);
    call->device = of_call;
}

void record_storage_end(struct record_call *call, const struct record_storage *storage)
{
    if (!(session.families & CG_RECORD_MEMORY)) return;
    if (storage->known)
        end_storage(call, storage, CAP_END_FREE);
    else if (!call->outside)
        record_gap(RECORD_GAP_UNKNOWN_FREE, 1);
}

void record_storage_moved(uint64_t from, uint64_t to)
{
    struct record_storage storage, past;

    if (!live_take(from, &storage)) return;
    storage.address = to;
    live_add(&storage, &past);
}

HOT void record_free_begin(struct record_call *call, uint64_t address, struct record_storage *storage)
{
    storage->known = false;
    storage->generation = 0;
    storage->address = address;
    if (!address || !(session.families & CG_RECORD_MEMORY)) return;
    if (!live_take(address, storage)) return;
    if (call->begin < storage->alloc_tick + LIFE_TICKS) call->begin = storage->alloc_tick + LIFE_TICKS;
}

HOT void record_free(struct record_call *call, int result, const struct record_storage *storage,
                     uint32_t stream)
{
    struct cap_record record;
    struct record_storage past;
    bool ends = !result && storage->known;
    bool here = !call->outside && storage->generation == call->thread->generation;

    if (!(session.families & CG_RECORD_MEMORY)) {
        record_leave(call);
        return;
    }
    if (result && storage->known) live_add(storage, &past);
    if (ends && !here) end_storage(call, storage, CAP_END_FREE);
    if (call->outside) {
        count_straddling(call);
        record_leave(call);
        return;
    }
    if (!result && !storage->known && storage->address) record_gap(RECORD_GAP_UNKNOWN_FREE, 1);
    if (storage->known) call->device = storage->device;
    fill(&record, call, CAP_FREE, result, 0);
    record.flags = (uint16_t)(ends && here ? storage->kind | storage->step : CAP_FLAG_NO_STORAGE);
    record.memory.address = storage->address;
    record.memory.bytes = storage->known ? storage->bytes : 0;
    record.memory.storage = storage->known ? storage->storage : 0;
    record.memory.stream = stream;
    record.memory.stack = placed_stack(call);
    if (ends && here) {
        record_write_must(call->thread, &record);
    } else {
        struct cap_record *slot = ring_slot(call->thread, RING_MAY_DROP);

        if (slot) {
            *slot = record;
            ring_commit(call->thread);
        } else {
            unplaced(call->thread, CAP_FREE);
        }
    }
    record_leave(call);
}

void record_owner_end(struct record_call *call, uint64_t owner, enum cap_end_reason reason)
{
    struct record_storage storages[32];
    unsigned count;

    if (!(session.families & CG_RECORD_MEMORY)) return;
    while ((count = live_take_owner(owner, storages, 32)) > 0)
        for (unsigned i = 0; i < count; i++)
            end_storage(call, &storages[i], reason);
}

void record_sample(struct record_call *call, uint8_t device, uint64_t used, uint64_t free, uint64_t reserved,
                   uint64_t capacity)
{
    struct cap_record *slot = ring_slot(call->thread, RING_MAY_DROP);

    if (!slot) {
        unplaced(call->thread, CAP_SAMPLE);
        return;
    }
    fill(slot, call, CAP_SAMPLE, 0, 0);
    slot->begin += slot->ticks;
    slot->ticks = 0;
    slot->device = device;
    slot->sample.used = used;
    slot->sample.free = free;
    slot->sample.reserved = reserved;
    slot->sample.capacity = capacity;
    ring_commit(call->thread);
}

/* ---- what the trace says of the machine ---- */

void record_driver(int version)
{
    session.driver = version;
}

void record_device(uint8_t ordinal, const char *name, uint64_t bytes)
{
    struct session_device *device;
    size_t length = strnlen(name, sizeof device->name - 1);

    if (ordinal >= SESSION_DEVICES) return;
    device = &session.devices[ordinal];
    memcpy(device->name, name, length);
    device->name[length] = '\0';
    device->bytes = bytes;
    device->known = true;
}
