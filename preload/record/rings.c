/* Rings off the hot path: taking, making and giving back, waiting for room, and records that found none. */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "preload/drain/writer.h"
#include "preload/record/lock.h"
#include "preload/record/record.h"
#include "preload/record/session.h"

enum { SMALLEST_RING = 64 << 10, HASTE_BYTES = 256 << 10, WAIT_NS = 10 * 1000 * 1000, WAIT_SPINS = 200 };

__thread struct record_thread record_self
    __attribute__((tls_model("initial-exec"))) = {.generation = RECORD_GENERATION_THREAD};

static pthread_key_t thread_key;

static void thread_ended(void *self)
{
    struct record_thread *thread = self;
    int past = errno;

    if (thread->generation == atomic_load_explicit(&record_page->generation, memory_order_relaxed))
        ring_retire(thread);
    errno = past;
}

void ring_init(void)
{
    pthread_key_create(&thread_key, thread_ended);
}

/* ---- making ---- */

/* A smaller ring when the rest of the limit holds no whole one; 0: none at all. */
static uint64_t next_ring_bytes(void)
{
    uint64_t bytes = session.settings.ring_bytes, rest = session.slots_limit - session.slots_bytes;

    while (bytes & (bytes - 1))
        bytes &= bytes - 1; /* to a power of two below */
    /* No ring takes more than an eighth of what is left, so that many threads find one. */
    while (bytes > SMALLEST_RING && bytes > rest / 8)
        bytes /= 2;
    return bytes <= rest ? bytes : 0;
}

static void *map_private(size_t bytes)
{
    void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return map == MAP_FAILED ? NULL : map;
}

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

/* The pages of a ring that nobody writes to yet. */
static void populate(char *slots, uint64_t bytes)
{
    if (madvise(slots, bytes, MADV_POPULATE_WRITE) == 0) return;
    for (uint64_t at = 0; at < bytes; at += 4096)
        *(volatile char *)(slots + at) = 0;
}

void ring_populate(void)
{
    uint32_t used = atomic_load_explicit(&session.header->rings_used, memory_order_acquire);

    for (uint32_t i = 0; i < used; i++) {
        struct ring_view *view = &session.views[i];

        if (atomic_exchange_explicit(&view->populated, true, memory_order_relaxed)) continue;
        /* Its owner may be writing: pages are only brought in here, never stored to. */
        madvise(view->slots, (uint64_t)session.rings[i].slots * CAP_SLOT, MADV_POPULATE_WRITE);
    }
}

/* Called with rings_lock held. */
static bool make_ring(uint32_t index, bool whole)
{
    struct cap_ring *ring = &session.rings[index];
    struct ring_view *view = &session.views[index];
    size_t stack_bytes = RECORD_DEPTH_MAX * sizeof *view->stack;
    uint64_t bytes = next_ring_bytes(), offset = session.slots_offset + session.slots_bytes;
    char *stacks;
    void *slots;

    if (!bytes || file_allocate(&session.capture, offset, bytes)) return false;
    slots = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_descriptor(&session.capture),
                 (off_t)offset);
    if (slots == MAP_FAILED) return false;
    populate(slots, whole || bytes < HASTE_BYTES ? bytes : HASTE_BYTES);
    stacks = map_private(2 * stack_bytes);
    if (!stacks) {
        munmap(slots, bytes);
        return false;
    }
    session.slots_bytes += bytes;
    *view = (struct ring_view){.slots = slots,
                               .stack = (struct record_open_span *)stacks,
                               .open = (struct record_open_span *)(stacks + stack_bytes),
                               .populated = whole || bytes <= HASTE_BYTES};
    ring->slots_offset = offset;
    ring->slots = (uint32_t)(bytes / CAP_SLOT);
    atomic_store_explicit(&ring->state, CAP_RING_FREE, memory_order_relaxed);
    /* Release: the ring's place and size come before the count that makes the entry valid. */
    atomic_store_explicit(&session.header->rings_used, index + 1, memory_order_release);
    return true;
}

static bool ring_prepare_locked(bool whole)
{
    uint32_t used = atomic_load_explicit(&session.header->rings_used, memory_order_relaxed);

    return used < CAP_RINGS_MAX && make_ring(used, whole);
}

bool ring_prepare(bool whole)
{
    bool made;

    lock_take(&record_page->rings_lock);
    made = ring_prepare_locked(whole);
    lock_give(&record_page->rings_lock);
    return made;
}

/* ---- taking and giving back ---- */

static int64_t find_free(void)
{
    uint32_t used = atomic_load_explicit(&session.header->rings_used, memory_order_relaxed);

    for (uint32_t i = 0; i < used; i++)
        /* Acquire: the writer has emptied the ring before it was marked free. */
        if (atomic_load_explicit(&session.rings[i].state, memory_order_acquire) == CAP_RING_FREE) return i;
    return -1;
}

static void enter_ring(struct record_thread *thread, uint32_t index)
{
    struct cap_ring *ring = &session.rings[index];

    ring->tid = (int32_t)gettid();
    memset(ring->name, 0, sizeof ring->name);
    prctl(PR_GET_NAME, ring->name, 0, 0, 0);
    atomic_store_explicit(&ring->state, CAP_RING_OWNED, memory_order_release);
    thread->ring = ring;
    thread->ring_index = index;
    thread->tid = ring->tid;
    thread->slots = session.views[index].slots;
    thread->mask = ring->slots - 1;
    thread->head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    thread->check_at = thread->head; /* the first record looks at tail */
    thread->stack = session.views[index].stack;
    thread->depth = 0;
    memset(thread->beyond, 0, sizeof thread->beyond);
    thread->any_beyond = false;
    thread->span = CAP_SPAN_REGION;
    thread->step = 0;
    thread->span_next = thread->span_limit = 0;
}

bool ring_acquire(struct record_thread *thread)
{
    int64_t index;

    lock_take(&record_page->rings_lock);
    index = find_free();
    if (index < 0 && ring_prepare_locked(false)) index = find_free();
    if (index >= 0) enter_ring(thread, (uint32_t)index);
    lock_give(&record_page->rings_lock);
    if (index < 0) {
        atomic_fetch_add_explicit(&session.header->lost_without_ring, 1, memory_order_relaxed);
        writer_wake(); /* it may find one */
        return false;
    }
    pthread_setspecific(thread_key, thread);
    thread->generation = atomic_load_explicit(&record_page->generation, memory_order_relaxed);
    return true;
}

void ring_retire(struct record_thread *thread)
{
    thread->busy = true;
    while (thread->depth > 0)
        record_span_close(thread);
    thread->generation = RECORD_GENERATION_THREAD;
    /* Release: all of the thread's records come before its leaving. */
    atomic_store_explicit(&thread->ring->state, CAP_RING_RETIRED, memory_order_release);
    thread->ring = NULL;
    thread->busy = false;
}

/* ---- room ---- */

/* Room for `limit` slots beyond tail: the next place to look again is at most an eighth of the ring ahead, so
 * that a ring which fills up is noticed there and the writer called. */
static bool look(struct record_thread *thread, enum ring_room room, unsigned count)
{
    uint64_t slots = thread->mask + 1, eighth = slots / 8, limit;
    uint64_t end = thread->head + ring_gap(thread, count) + count;
    /* Acquire: the writer has read the slots behind tail before it gave them back. */
    uint64_t tail = atomic_load_explicit(&thread->ring->tail, memory_order_acquire);

    if (thread->head - tail >= slots / 2) writer_wake();
    limit = tail + slots - ring_reserve(slots);
    if (end <= limit) {
        thread->check_at = limit < thread->head + eighth ? limit : thread->head + eighth;
        return true;
    }
    return room == RING_MUST && end <= tail + slots;
}

/* Waits until there is room for any record. False: drop after all. */
static bool wait_for_room(struct record_thread *thread, unsigned count)
{
    for (int i = 0; i < WAIT_SPINS; i++) {
        if (look(thread, RING_MAY_DROP, count)) return true;
        cpu_relax();
    }
    for (;;) {
        uint32_t progress = atomic_load_explicit(&record_page->progress, memory_order_acquire);

        if (look(thread, RING_MAY_DROP, count)) return true;
        if (session.writer_failed ||
            thread->generation != atomic_load_explicit(&record_page->generation, memory_order_relaxed))
            return false;
        atomic_fetch_add_explicit(&record_page->waiters, 1, memory_order_relaxed);
        futex_wait(&record_page->progress, progress, WAIT_NS);
        atomic_fetch_sub_explicit(&record_page->waiters, 1, memory_order_relaxed);
    }
}

struct cap_record *ring_slot_slow(struct record_thread *thread, enum ring_room room, unsigned count)
{
    int past = errno;
    bool ok;

    if (thread->generation != atomic_load_explicit(&record_page->generation, memory_order_relaxed))
        return NULL;
    ok = look(thread, room, count) ||
         (session.settings.overflow == CG_OVERFLOW_BLOCK && wait_for_room(thread, count)) ||
         (room == RING_MUST && look(thread, room, count));
    if (!ok && room == RING_MAY_DROP) ring_lose(thread);
    errno = past;
    return ok ? &thread->slots[thread->head & thread->mask] : NULL;
}

/* ---- records without room that must not be lost ---- */

static struct deferred_block *first_block, *last_block;
static _Atomic bool deferred_any;

void deferred_reset(void)
{
    first_block = last_block = NULL; /* a parent's, in a child: left alone */
    deferred_any = false;
}

void deferred_add(const struct record_thread *thread, const struct cap_record *record)
{
    struct deferred_block *block;

    lock_take(&record_page->deferred_lock);
    block = last_block;
    if (!block || block->used == sizeof block->items / sizeof *block->items) {
        block = map_private(sizeof *block);
        if (block && last_block) last_block->next = block;
        if (block) last_block = block;
        if (!first_block) first_block = block;
    }
    if (block) {
        block->items[block->used++] = (struct deferred){*record, thread->ring_index, thread->tid};
        atomic_store_explicit(&deferred_any, true, memory_order_relaxed);
    } else {
        atomic_fetch_add_explicit(&session.header->lost_without_ring, 1, memory_order_relaxed);
    }
    lock_give(&record_page->deferred_lock);
}

struct deferred_block *deferred_take(void)
{
    struct deferred_block *taken;

    if (!atomic_load_explicit(&deferred_any, memory_order_relaxed)) return NULL;
    lock_take(&record_page->deferred_lock);
    taken = first_block;
    first_block = last_block = NULL;
    atomic_store_explicit(&deferred_any, false, memory_order_relaxed);
    lock_give(&record_page->deferred_lock);
    return taken;
}
