/* What hooks call: records of calls, launches, copies and storages. */
#include "preload/record/record.h"

#include <errno.h>
#include <string.h>

#include "preload/record/live.h"
#include "preload/record/session.h"

/* Ticks between the end of an allocation and its free at least, so that they differ in nanoseconds too:
 * counters of up to 8 GHz. */
enum { LIFE_TICKS = 8 };

bool record_enter_slow(bool open)
{
    struct record_thread *thread = &record_self;
    uint32_t state = atomic_load_explicit(&record_page->state, memory_order_acquire);
    int past = errno;
    bool entered = false;

    if (thread->busy || state > SESSION_OPEN || (state == SESSION_CLOSED && !open)) return false;
    thread->busy = true;
    atomic_signal_fence(memory_order_seq_cst);
    if (state == SESSION_OPEN || session_open()) entered = ring_acquire(thread);
    atomic_signal_fence(memory_order_seq_cst);
    thread->busy = false;
    errno = past;
    return entered;
}

void record_nested(void)
{
    record_gap(RECORD_GAP_NESTED, 1);
}

/* Gaps found before the session: most look-ups come before the first event. */
static _Atomic uint64_t early_gaps[CAP_GAPS_MAX];

void record_gap(enum record_gap gap, uint64_t count)
{
    uint32_t state = atomic_load_explicit(&record_page->state, memory_order_acquire);

    if (state == SESSION_OPEN)
        atomic_fetch_add_explicit(&session.header->gaps[gap], count, memory_order_relaxed);
    else if (state == SESSION_CLOSED)
        atomic_fetch_add_explicit(&early_gaps[gap], count, memory_order_relaxed);
}

void record_early_gaps(void)
{
    for (int gap = 0; gap < CAP_GAP_COUNT; gap++)
        atomic_store_explicit(&session.header->gaps[gap],
                              atomic_load_explicit(&early_gaps[gap], memory_order_relaxed),
                              memory_order_relaxed);
}

static void lost(const struct cap_record *record)
{
    atomic_fetch_add_explicit(&session.lost_type[record->type], 1, memory_order_relaxed);
}

/* What every record of a call has; its end is now. */
static inline void fill(struct cap_record *slot, const struct record_call *call, enum cap_type type,
                        int result)
{
    uint64_t now = record_tick();

    slot->begin = call->begin;
    slot->span = call->thread->span;
    slot->type = (uint8_t)type;
    slot->slots = 1;
    slot->session = 0;
    slot->device = call->device;
    slot->api = call->api;
    slot->flags =
        (uint16_t)((call->captured ? CAP_FLAG_CAPTURED : 0) | (call->skipped ? CAP_FLAG_SKIPPED : 0));
    slot->result = result;
    slot->ticks = now > call->begin ? now - call->begin : 0;
}

static void drop(struct record_call *call, enum cap_type type)
{
    atomic_fetch_add_explicit(&session.lost_type[type], 1, memory_order_relaxed);
    record_leave(call);
}

void record_op(struct record_call *call, int result, uint32_t stream, uint64_t bytes)
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
    fill(slot, call, CAP_CALL, result);
    slot->call.bytes = bytes;
    slot->call.stream = stream;
    slot->call.stack = 0;
    ring_commit(call->thread);
    record_leave(call);
}

void record_launch(struct record_call *call, int result, const struct record_launch *launch)
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
    fill(slot, call, CAP_LAUNCH, result);
    slot->launch.name = launch->name;
    for (int i = 0; i < 3; i++) {
        slot->launch.grid[i] = launch->grid[i];
        slot->launch.block[i] = (uint16_t)(launch->block[i] < UINT16_MAX ? launch->block[i] : UINT16_MAX);
    }
    slot->launch.pad = 0;
    slot->launch.shared = launch->shared_bytes;
    slot->launch.stream = launch->stream;
    ring_commit(call->thread);
    record_leave(call);
}

void record_copy(struct record_call *call, int result, enum record_copy_kind kind, uint64_t destination,
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
    fill(slot, call, CAP_COPY, result);
    slot->flags |= (uint16_t)kind;
    slot->copy.bytes = bytes;
    slot->copy.destination = destination;
    slot->copy.source = source;
    slot->copy.stream = stream;
    slot->copy.stack = 0;
    ring_commit(call->thread);
    record_leave(call);
}

/* ---- storages ---- */

/* Host memory is not the device's, whatever context it was asked in. */
static uint8_t storage_device(uint8_t device, enum cap_memory_kind kind)
{
    return kind == CAP_MEMORY_HOST || kind == CAP_MEMORY_REGISTERED ? CAP_NO_DEVICE : device;
}

/* Writes a record that must not be lost. */
static void put_must(struct record_thread *thread, const struct cap_record *record)
{
    struct cap_record *slot = ring_slot(thread, RING_MUST);

    if (unlikely(!slot)) {
        if (atomic_load_explicit(&record_page->state, memory_order_relaxed) == SESSION_OPEN)
            deferred_add(thread, record);
        return;
    }
    *slot = *record;
    ring_commit(thread);
}

static void end_storage(struct record_call *call, const struct record_storage *storage,
                        enum cap_end_reason reason)
{
    struct cap_record record = {
        .begin = call->begin, .span = call->thread->span, .slots = 1, .api = call->api};

    if (!storage->recorded) return;
    if (record.begin < storage->alloc_tick + LIFE_TICKS) record.begin = storage->alloc_tick + LIFE_TICKS;
    record.type = CAP_END;
    record.device = storage->device;
    record.flags = (uint16_t)(storage->kind | storage->step | (unsigned)reason << 8 | CAP_FLAG_NO_CALL);
    record.memory.address = storage->address;
    record.memory.bytes = storage->bytes;
    record.memory.storage = storage->storage;
    put_must(call->thread, &record);
}

/* An allocation's record, and its storage in the live table when the call has succeeded. flags: of the
 * record. */
static void begin_storage(struct record_call *call, int result, enum cap_memory_kind kind, uint16_t flags,
                          uint64_t address, uint64_t bytes, uint32_t stream, uint64_t owner)
{
    struct record_storage storage = {
        .address = address, .bytes = bytes, .owner = owner, .kind = (uint8_t)kind, .device = call->device};
    struct record_storage past = {.known = false};
    struct cap_record *slot = ring_slot(call->thread, RING_MAY_DROP);

    if (!result && address)
        storage.storage = atomic_fetch_add_explicit(&session.storage, 1, memory_order_relaxed) + 1;
    storage.alloc_tick = call->begin;
    storage.step = call->thread->step;
    if (slot) {
        fill(slot, call, CAP_ALLOC, result);
        slot->flags =
            (uint16_t)(kind | call->thread->step | flags | (storage.storage ? 0 : CAP_FLAG_NO_STORAGE));
        slot->memory.address = address;
        slot->memory.bytes = bytes;
        slot->memory.storage = storage.storage;
        slot->memory.stream = stream;
        slot->memory.stack = 0;
        storage.alloc_tick = slot->begin + slot->ticks;
        storage.recorded = true;
        ring_commit(call->thread);
    } else {
        atomic_fetch_add_explicit(&session.lost_type[CAP_ALLOC], 1, memory_order_relaxed);
    }
    if (!storage.storage) return;
    if (!live_add(&storage, &past)) record_gap(RECORD_GAP_UNKNOWN_FREE, 1);
    /* Its free passed unseen: it ended at the latest when the address was given out again. */
    if (past.known) {
        record_gap(RECORD_GAP_UNKNOWN_FREE, 1);
        end_storage(call, &past, CAP_END_FREE);
    }
}

void record_alloc(struct record_call *call, int result, enum cap_memory_kind kind, uint64_t address,
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
    else
        record_gap(RECORD_GAP_UNKNOWN_FREE, 1);
}

void record_storage_moved(uint64_t from, uint64_t to)
{
    struct record_storage storage, past;

    if (!live_take(from, &storage)) return;
    storage.address = to;
    live_add(&storage, &past);
}

void record_free_begin(struct record_call *call, uint64_t address, struct record_storage *storage)
{
    storage->known = storage->recorded = false;
    storage->address = address;
    if (!address || !(session.families & CG_RECORD_MEMORY)) return;
    if (!live_take(address, storage)) return;
    if (call->begin < storage->alloc_tick + LIFE_TICKS) call->begin = storage->alloc_tick + LIFE_TICKS;
}

void record_free(struct record_call *call, int result, const struct record_storage *storage, uint32_t stream)
{
    struct cap_record record;
    struct record_storage past;
    bool ends = !result && storage->known;

    if (!(session.families & CG_RECORD_MEMORY)) {
        record_leave(call);
        return;
    }
    if (result && storage->known) live_add(storage, &past);
    if (!result && !storage->known && storage->address) record_gap(RECORD_GAP_UNKNOWN_FREE, 1);
    if (storage->known) call->device = storage->device;
    fill(&record, call, CAP_FREE, result);
    record.flags =
        (uint16_t)(ends && storage->recorded ? storage->kind | storage->step : CAP_FLAG_NO_STORAGE);
    record.memory.address = storage->address;
    record.memory.bytes = storage->known ? storage->bytes : 0;
    record.memory.storage = storage->known ? storage->storage : 0;
    record.memory.stream = stream;
    record.memory.stack = 0;
    if (ends && storage->recorded) {
        put_must(call->thread, &record);
    } else {
        struct cap_record *slot = ring_slot(call->thread, RING_MAY_DROP);

        if (slot) {
            *slot = record;
            ring_commit(call->thread);
        } else {
            lost(&record);
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
        atomic_fetch_add_explicit(&session.lost_type[CAP_SAMPLE], 1, memory_order_relaxed);
        return;
    }
    fill(slot, call, CAP_SAMPLE, 0);
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
