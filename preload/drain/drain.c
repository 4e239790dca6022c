/* From the rings to `.part`. The order that makes a death at any instruction harmless: lines are written,
 * then published with the tails that they cover, then the slots are given back. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/capture_read.h"
#include "preload/drain/state.h"
#include "preload/record/clock.h"
#include "preload/record/device.h"
#include "preload/record/lock.h"
#include "preload/record/record.h"
#include "preload/record/session.h"
#include "preload/record/stacks.h"
#include "preload/say.h"

struct writer writer;

/* ---- publication ---- */

static void publish(void)
{
    struct cap_publication *next = &session.publication[++writer.sequence & 1];
    uint32_t rings = atomic_load_explicit(&session.header->rings_used, memory_order_acquire);

    next->sequence = writer.sequence;
    next->part_bytes = writer.part_bytes;
    next->meta_room = writer.meta_room;
    next->not_written = writer.not_written;
    next->written = writer.state.written;
    next->rings = rings;
    for (uint32_t i = 0; i < rings; i++)
        next->tail[i] = session.views[i].drained;
    /* Release: the members come before the checksum that makes them count, and (a release store each) all of
     * it before the tails: a slot is written over only when a publication that covers it is complete. */
    atomic_store_explicit(&next->checksum, cap_publication_checksum(next), memory_order_release);
    for (uint32_t i = 0; i < rings; i++)
        atomic_store_explicit(&session.rings[i].tail, session.views[i].drained, memory_order_release);
    writer.published = writer.state.written;
    atomic_fetch_add_explicit(&record_page->progress, 1, memory_order_release);
    if (atomic_load_explicit(&record_page->waiters, memory_order_relaxed))
        futex_wake(&record_page->progress, INT32_MAX);
}

static void count_unwritten(int type, uint64_t records)
{
    writer.not_written += records;
    atomic_fetch_add_explicit(&session.lost_type[type], records, memory_order_relaxed);
}

/* The trace keeps what is published; from here on records are counted, not written. */
static void fail(int error)
{
    for (int type = 0; type < CAP_TYPE_COUNT; type++) /* those of the buffer too */
        count_unwritten(type, writer.state.written.records[type] - writer.published.records[type]);
    file_resize(&session.part, writer.part_bytes); /* else what hangs over is cut by recovery */
    writer.kept_bytes = UINT64_MAX;                /* that was cut, too */
    writer.error = error;
    writer.state.written = writer.published;
    writer.used = 0;
    atomic_store_explicit(&session.writer_failed, true, memory_order_relaxed);
    if (writer.told) return;
    writer.told = true;
    say(session.quiet, "writing ", session.part.path, " failed: ", say_error(error),
        "; what was written stays readable, the rest is counted as lost", NULL);
}

/* Of a long trace, space is taken in large pieces: a file system that finds it block by block takes a tenth
 * of the writer's time for that. 1,580 MB/s were seen with this and drain_ring()'s AHEAD, 1,380 with neither.
 * A short one is not worth the call. */
static void take_space(void)
{
    enum { LONG = 64 << 20, PIECE = 16 << 20 };

    if (writer.part_bytes < LONG || writer.part_bytes + writer.used <= writer.kept_bytes) return;
    if (file_reserve(&session.part, writer.part_bytes, PIECE))
        writer.kept_bytes = UINT64_MAX; /* it cannot: not asked again */
    else
        writer.kept_bytes = writer.part_bytes + PIECE;
}

void drain_give_space(void)
{
    if (writer.kept_bytes > writer.part_bytes && writer.kept_bytes != UINT64_MAX)
        file_resize(&session.part, writer.part_bytes);
}

void drain_write(void)
{
    int error;

    if (writer.used > 0 && !writer.error) {
        take_space();
        error = file_write(&session.part, writer.buffer, writer.used, writer.part_bytes);
        if (error) {
            fail(error);
        } else {
            writer.part_bytes += writer.used;
            writer.used = 0;
            early_sync_look(&writer.sync, &session.part, writer.part_bytes);
        }
    }
}

void drain_flush(void)
{
    drain_write();
    publish();
}

char *drain_room(size_t bytes)
{
    if (bytes > WRITER_BUFFER - writer.used) drain_flush();
    return writer.buffer + writer.used;
}

/* ---- records ---- */

/* Behind the records that name what is in them. */
static void look_at_areas(void)
{
    writer.state.strings_bytes = atomic_load_explicit(&session.header->strings_used, memory_order_acquire);
    writer.state.stacks_bytes = atomic_load_explicit(&session.header->stacks_used, memory_order_acquire);
}

static void track_span(struct ring_view *view, const struct cap_record *record)
{
    uint32_t depth = view->open_depth;

    if (record->type == CAP_SPAN_BEGIN && depth < RECORD_DEPTH_MAX) {
        view->open[view->open_depth++] =
            (struct record_open_span){.begin = record->begin,
                                      .inside = record->span,
                                      .clipped = (record->flags & CAP_FLAG_CLIPPED_START) != 0};
    } else if (record->type == CAP_SPAN_END) {
        while (depth > 0 && view->open[depth - 1].inside != record->span)
            depth--;
        if (depth == 0) return;
        if (depth < view->open_depth)
            memmove(&view->open[depth - 1], &view->open[depth],
                    (view->open_depth - depth) * sizeof *view->open);
        view->open_depth--;
    }
}

static void format(const struct cap_record *record, uint32_t ring, uint64_t slot, int32_t tid)
{
    char *out;

    if (!writer.error) out = drain_room(jsonl_bound(&writer.state, record));
    if (writer.error) { /* also when that flush failed */
        count_unwritten(record->type, 1);
        return;
    }
    track_span(&session.views[ring], record);
    writer.used = (size_t)(jsonl_record(&writer.state, out, record, ring, slot, tid) - writer.buffer);
}

/* AHEAD: records, since their lines of memory come from where the program wrote them: 1,240 MB/s with, 1,160
 * without. */
enum { AHEAD = 16 };

static uint64_t drain_ring(uint32_t index, uint64_t head)
{
    struct cap_ring *ring = &session.rings[index];
    struct ring_view *view = &session.views[index];
    uint64_t count = 0, mask = ring->slots - 1;

    while (view->drained < head) {
        const struct cap_record *record = &view->slots[view->drained & mask];

        __builtin_prefetch(&view->slots[(view->drained + AHEAD) & mask]);
        if (record->type != CAP_PAD) {
            format(record, index, view->drained, ring->tid);
            count++;
        }
        view->drained += record->slots ? record->slots : 1;
    }
    return count;
}

static uint64_t drain_deferred(struct deferred_block *block)
{
    uint64_t count = 0;

    while (block) {
        struct deferred_block *next = block->next;

        for (uint32_t i = 0; i < block->used; i++)
            format(&block->items[i].record, block->items[i].ring, 0, block->items[i].tid);
        count += block->used;
        munmap(block, sizeof *block);
        block = next;
    }
    return count;
}

/* ---- opening ---- */

bool drain_preexisting(const struct record_storage *storage)
{
    /* Tick 0 is before time 0 of every clock, and so at it. */
    const struct cap_record record = {
        .span = CAP_SPAN_ROOT,
        .type = CAP_ALLOC,
        .slots = 1,
        .device = storage->device,
        .api = storage->api,
        .flags = (uint16_t)(storage->kind | storage->step | CAP_FLAG_NO_CALL | CAP_FLAG_PREEXISTING),
        .memory = {.address = storage->address,
                   .bytes = storage->bytes,
                   .storage = storage->storage,
                   .stack = stacks_place(storage->stack, storage->generation)}};

    return drain_record(&record, storage->tid);
}

bool drain_record(const struct cap_record *record, int32_t tid)
{
    char *out;

    look_at_areas();
    out = drain_room(jsonl_bound(&writer.state, record));
    if (writer.error) return false;
    writer.used = (size_t)(jsonl_record(&writer.state, out, record, 0, 0, tid) - writer.buffer);
    return true;
}

int drain_opened(void)
{
    drain_flush();
    writer.told = false;
    return writer.error;
}

/* ---- rings whose threads have ended ---- */

static void add_lost(int32_t tid, uint64_t lost)
{
    if (!lost) return;
    if (writer.lost_count == WRITER_LOST_THREADS) {
        writer.lost[writer.lost_count - 1].tid = 0;
        writer.lost[writer.lost_count - 1].lost += lost;
    } else {
        writer.lost[writer.lost_count++] = (struct jsonl_lost){tid, lost};
    }
}

static void free_ring(uint32_t index)
{
    struct cap_ring *ring = &session.rings[index];
    uint64_t lost = atomic_load_explicit(&ring->lost, memory_order_relaxed);

    add_lost(ring->tid, lost);
    atomic_fetch_add_explicit(&session.header->lost_retired, lost, memory_order_relaxed);
    atomic_store_explicit(&ring->lost, 0, memory_order_relaxed);
    session.views[index].open_depth = 0;
    /* Release: the ring is empty, its tail published, before its next owner can take it. */
    atomic_store_explicit(&ring->state, CAP_RING_FREE, memory_order_release);
}

/* ---- a round ---- */

void drain_fix_rate(void)
{
    struct cap_header *header = session.header;

    clock_anchor(&header->last);
    session_fix_rate();
    writer.state.clock = header->clock;
}

uint64_t drain_round(uint64_t *end_tick)
{
    static uint64_t heads[CAP_RINGS_MAX];
    static bool retired[CAP_RINGS_MAX];
    uint32_t rings = atomic_load_explicit(&session.header->rings_used, memory_order_acquire);
    struct deferred_block *deferred;
    uint64_t count = 0;

    /* Which threads have ended is read before their last deferred records and heads are. */
    for (uint32_t i = 0; i < rings; i++)
        retired[i] = atomic_load_explicit(&session.rings[i].state, memory_order_acquire) == CAP_RING_RETIRED;
    /* What was deferred refers to records committed earlier: taken before the heads, written behind their
     * records. */
    deferred = deferred_take();
    for (uint32_t i = 0; i < rings; i++)
        /* Acquire: the slots before head were stored before it. */
        heads[i] = atomic_load_explicit(&session.rings[i].head, memory_order_acquire);
    *end_tick = record_tick();
    look_at_areas();
    for (uint32_t i = 0; i < rings; i++)
        count += drain_ring(i, heads[i]);
    count += drain_deferred(deferred);
    record_device_publish();
    if (count > 0) drain_flush();
    for (uint32_t i = 0; i < rings; i++)
        if (retired[i]) free_ring(i);
    return count;
}
