/* Rings off the hot path: taking, making and giving back, waiting for room, and records that found none. */
#include <errno.h>
#include <limits.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "preload/drain/writer.h"
#include "preload/record/lock.h"
#include "preload/record/pages.h"
#include "preload/record/record.h"
#include "preload/record/owned.h"
#include "preload/record/region.h"
#include "preload/record/session.h"
#include "preload/signals.h"
#include "preload/unnoticed.h"

enum {
    SMALLEST_RING = 64 << 10,
    HASTE_BYTES = 256 << 10,
    WAIT_NS = 10 * 1000 * 1000,
    WAIT_SPINS = 200,
    LEAVE_NS = 200 * 1000 * 1000, /* how long a thread may take to fill its slot */
    LEAVE_NAP_NS = 20 * 1000,
#ifdef __SANITIZE_THREAD__
    LAST_ROUND = PTHREAD_DESTRUCTOR_ITERATIONS - 1, /* in the last one its runtime has forgotten the thread */
#else
    LAST_ROUND = PTHREAD_DESTRUCTOR_ITERATIONS,
#endif
};

__thread struct record_thread record_self
    __attribute__((tls_model("initial-exec"))) = {.generation = RECORD_GENERATION_THREAD,
                                                  .plain = RECORD_GENERATION_THREAD,
                                                  .ring = &record_no_ring,
                                                  .peer = &record_nobody};
struct cap_ring record_no_ring;
_Atomic bool record_fences;

static pthread_key_t thread_key;
static bool thread_key_made; /* else the ends of threads are seen by the writer alone (retire_dead) */

/* Destructors of other keys may record too, in the same rounds: the ring is kept for the last one. */
static void thread_ended(void *self)
{
    struct record_thread *thread = self;
    int past = errno;

    /* By a handler that ended it, or cancelled, in the midst of a call. */
    if (record_is_inside(thread)) record_is_still_inside(thread, record_frame());
    if (++thread->ends < LAST_ROUND && pthread_setspecific(thread_key, thread) == 0) {
        errno = past;
        return;
    }
    owned_leave(thread);
    region_thread_ends(thread);
    if (thread->generation == atomic_load_explicit(&record_page->generation, memory_order_relaxed))
        ring_retire(thread);
    peer_give(thread);
    errno = past;
}

void ring_init(void)
{
    thread_key_made = pthread_key_create(&thread_key, thread_ended) == 0;
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
    ERRNO_KEPT;
    void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return map == MAP_FAILED ? NULL : map;
}

void ring_populate(void)
{
    uint32_t used = atomic_load_explicit(&session.header->rings_used, memory_order_acquire);

    for (uint32_t i = 0; i < used; i++) {
        struct ring_view *view = &session.views[i];

        if (atomic_exchange_explicit(&view->populated, true, memory_order_relaxed)) continue;
        pages_bring(view->slots, (uint64_t)session.rings[i].slots * CAP_SLOT); /* its owner may be writing */
    }
}

/* Called with rings_lock held. */
static bool make_ring(uint32_t index, bool whole)
{
    struct cap_ring *ring = &session.rings[index];
    struct ring_view *view = &session.views[index];
    size_t open_bytes = RECORD_DEPTH_MAX * sizeof *view->open;
    uint64_t bytes = next_ring_bytes(), offset = session.slots_offset + session.slots_bytes;
    void *slots, *open;

    if (!bytes || file_allocate(&session.capture, offset, bytes)) return false;
    slots = file_map(&session.capture, NULL, bytes, offset);
    if (!slots) return false;
    pages_bring(slots, whole || bytes < HASTE_BYTES ? bytes : HASTE_BYTES);
    open = map_private(open_bytes);
    if (!open) {
        munmap(slots, bytes);
        return false;
    }
    session.slots_bytes += bytes;
    *view = (struct ring_view){.slots = slots,
                               .slot_count = (uint32_t)(bytes / CAP_SLOT),
                               .open = open,
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
    thread->check_at = ring_head(thread); /* the first record looks at tail */
    thread->span_next = thread->span_limit = 0;
}

HOT bool ring_peer(struct record_thread *thread)
{
    if (thread->peer != &record_nobody) return true;
    if (!peer_take(thread)) return false;
    if (thread_key_made) pthread_setspecific(thread_key, thread);
    return true;
}

/* Until the writer has published once more than it had, or for a while. */
static void await_progress(uint32_t progress)
{
    atomic_fetch_add_explicit(&record_page->waiters, 1, memory_order_relaxed);
    futex_wait(&record_page->progress, progress, WAIT_NS);
    atomic_fetch_sub_explicit(&record_page->waiters, 1, memory_order_relaxed);
}

static bool take_ring(struct record_thread *thread, uint64_t generation, bool opener, bool *open)
{
    int64_t index = -1;

    lock_take(&record_page->rings_lock);
    /* Whoever closes the session takes away the generation, then waits for this lock. */
    *open = opener || atomic_load_explicit(&record_page->generation, memory_order_relaxed) == generation;
    if (*open) index = find_free();
    if (*open && index < 0 && ring_prepare_locked(false)) index = find_free();
    if (index >= 0) enter_ring(thread, (uint32_t)index);
    lock_give(&record_page->rings_lock);
    return index >= 0;
}

/* Whether a ring will be free when the writer has emptied it: its thread has ended. */
static bool ring_to_come(void)
{
    uint32_t used = atomic_load_explicit(&session.header->rings_used, memory_order_relaxed);

    for (uint32_t i = 0; i < used; i++)
        if (atomic_load_explicit(&session.rings[i].state, memory_order_relaxed) != CAP_RING_OWNED)
            return true;
    return false;
}

/* Should the kernel refuse its part in a session that has begun, what is open then is left where it is
 * (fence_all()). */
static bool plain_calls(void)
{
    return record_tsc && !record_fences && session.families & CG_RECORD_SPAN;
}

/* *open: the session still is. False: no ring. */
static bool join_with_ring(struct record_thread *thread, uint64_t generation, bool opener, bool *open)
{
    SIGNALS_HELD;
    bool held;

    if (!take_ring(thread, generation, opener, open)) return false;
    held = peer_hold(thread->peer);
    thread->peer->generation = generation;
    if (held) peer_let_go(thread->peer);
    thread->generation = generation;
    thread->plain = plain_calls() ? generation : RECORD_GENERATION_THREAD;
    span_join(thread, opener);
    return true;
}

/* Where nothing is dropped: waits while there is a ring to come. As join_with_ring(); not for the writer's
 * own thread, nor before there is a writer. */
static bool wait_for_ring(struct record_thread *thread, uint64_t generation, bool *open)
{
    for (;;) {
        uint32_t progress = atomic_load_explicit(&record_page->progress, memory_order_acquire);

        if (join_with_ring(thread, generation, false, open)) return true;
        if (!*open || session.writer_failed || !ring_to_come()) return false;
        writer_wake();
        await_progress(progress);
    }
}

bool ring_acquire(struct record_thread *thread, uint64_t generation, bool opener)
{
    bool open;

    if (!ring_peer(thread)) return false;
    if (join_with_ring(thread, generation, opener, &open) ||
        (session.settings.overflow == CG_OVERFLOW_BLOCK && !opener && !thread->ours &&
         wait_for_ring(thread, generation, &open)))
        return true;
    if (open) {
        atomic_fetch_add_explicit(&session.header->lost_without_ring, 1, memory_order_relaxed);
        writer_wake(); /* it may find one */
    }
    return false;
}

void ring_retire(struct record_thread *thread)
{
    thread->busy = record_frame();
    while (thread->peer->depth > thread->around)
        record_span_close(thread);
    if (ring_window_open(thread)) /* Release: all of the thread's records come before its leaving. */
        atomic_store_explicit(&thread->ring->state, CAP_RING_RETIRED, memory_order_release);
    ring_window_close(thread);
    thread->generation = thread->plain = RECORD_GENERATION_THREAD;
    thread->ring = &record_no_ring;
    thread->busy = 0;
}

/* ---- leaving a session ---- */

static void choose_fences(void)
{
    record_fences = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) != 0;
}

void rings_will_leave(void)
{
    static bool chosen;

    if (!chosen) choose_fences();
    chosen = true;
}

/* Orders, on every thread, what it stored before with what it loads behind. False: the kernel refuses now,
 * and the producers had counted on it. */
static bool fence_all(void)
{
    if (record_fences) {
        /* The closer's half: the store of the generation before the loads of `at`. */
        atomic_thread_fence(memory_order_seq_cst);
        return true;
    }
    if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0) return true;
    choose_fences(); /* not registered in this process, a forked one, or forbidden since */
    if (!record_fences && syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0) return true;
    record_fences = true;
    return false;
}

/* Waits until the thread is not in a window; false: it stays there. */
static bool wait_for_peer(struct record_peer *peer, uint64_t *rest_ns)
{
    for (int i = 0;; i++) {
        /* Acquire: what it stored into its ring comes before. */
        if (!(atomic_load_explicit(&peer->at, memory_order_acquire) & RECORD_AT_SLOT)) return true;
        if (i < WAIT_SPINS) {
            cpu_relax();
        } else if (*rest_ns < LEAVE_NAP_NS) {
            return false;
        } else {
            nap_ns(LEAVE_NAP_NS);
            *rest_ns -= LEAVE_NAP_NS;
        }
    }
}

/* A thread that has not does not touch a ring of the session, whatever it is at: it may be at a call of an
 * earlier one for good (record_is_still_inside()). Who opened its window in time had joined before. */
static bool has_joined(struct record_peer *peer, uint64_t generation)
{
    bool joined, held = peer_hold(peer);

    joined = !held || peer->generation == generation;
    if (held) peer_let_go(peer);
    return joined;
}

bool rings_leave(uint64_t generation, uint64_t *calls)
{
    uint64_t rest_ns = LEAVE_NS;
    bool left;

    *calls = 0;
    /* Who is taking a ring has it when the lock is had; who comes later sees that there is none. */
    lock_take(&record_page->rings_lock);
    lock_give(&record_page->rings_lock);
    left = fence_all();
    for (struct record_peer *peer = peer_first(); peer; peer = peer->next) {
        if (peer == record_self.peer || !has_joined(peer, generation)) continue;
        left &= wait_for_peer(peer, &rest_ns);
        *calls += !peer->ours && atomic_load_explicit(&peer->at, memory_order_relaxed) != RECORD_AT_NOTHING;
    }
    return left;
}

void rings_unmap(bool leak)
{
    for (uint32_t i = 0; i < CAP_RINGS_MAX && session.views[i].slots; i++) {
        struct ring_view *view = &session.views[i];

        if (!leak) munmap(view->slots, (size_t)view->slot_count * CAP_SLOT);
        munmap(view->open, RECORD_DEPTH_MAX * sizeof *view->open);
        *view = (struct ring_view){.slots = NULL};
    }
}

/* ---- room ---- */

/* Room for `limit` slots beyond tail: the next place to look again is at most an eighth of the ring ahead, so
 * that a ring which fills up is noticed there and the writer called. */
static bool look(struct record_thread *thread, enum ring_room room, unsigned count)
{
    uint64_t slots = thread->mask + 1, eighth = slots / 8, limit;
    uint64_t head = ring_head(thread), end = head + ring_gap(thread, count) + count;
    /* Acquire: the writer has read the slots behind tail before it gave them back. */
    uint64_t tail = atomic_load_explicit(&thread->ring->tail, memory_order_acquire);

    if (head - tail >= slots / 2) writer_wake();
    limit = tail + slots - ring_reserve(slots);
    if (end <= limit) {
        thread->check_at = limit < head + eighth ? limit : head + eighth;
        return true;
    }
    return room == RING_MUST && end <= tail + slots;
}

void ring_look(struct record_thread *thread)
{
    look(thread, RING_MAY_DROP, 1);
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
        await_progress(progress);
    }
}

/* In a window, which is closed again when there is no slot. */
struct cap_record *ring_slot_slow(struct record_thread *thread, enum ring_room room, unsigned count)
{
    bool ok;

    if (thread->generation != atomic_load_explicit(&record_page->generation, memory_order_relaxed)) {
        ring_window_close(thread);
        return NULL;
    }
    ok = look(thread, room, count) ||
         (session.settings.overflow == CG_OVERFLOW_BLOCK && wait_for_room(thread, count)) ||
         (room == RING_MUST && look(thread, room, count));
    if (!ok && room == RING_MAY_DROP) ring_lose(thread);
    if (!ok) ring_window_close(thread);
    return ok ? &thread->slots[ring_head(thread) & thread->mask] : NULL;
}

/* ---- records without room that must not be lost ---- */

static struct deferred_block *first_block, *last_block;
static uint64_t deferred_generation; /* these three under deferred_lock */
static _Atomic bool deferred_any;

/* Called with deferred_lock held. */
static struct deferred_block *take_all(void)
{
    struct deferred_block *taken = first_block;

    first_block = last_block = NULL;
    atomic_store_explicit(&deferred_any, false, memory_order_relaxed);
    return taken;
}

void deferred_open(uint64_t generation)
{
    struct deferred_block *block;

    lock_take(&record_page->deferred_lock);
    deferred_generation = generation;
    block = take_all();
    lock_give(&record_page->deferred_lock);
    while (block) {
        struct deferred_block *next = block->next;

        munmap(block, sizeof *block);
        block = next;
    }
}

void deferred_add(uint64_t generation, const struct cap_record *record, uint32_t ring, int32_t tid)
{
    struct deferred_block *block;

    lock_take(&record_page->deferred_lock);
    if (generation != deferred_generation) {
        lock_give(&record_page->deferred_lock);
        return;
    }
    block = last_block;
    if (!block || block->used == sizeof block->items / sizeof *block->items) {
        block = map_private(sizeof *block);
        if (block && last_block) last_block->next = block;
        if (block) last_block = block;
        if (!first_block) first_block = block;
    }
    if (block) {
        block->items[block->used++] = (struct deferred){*record, ring, tid};
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
    taken = take_all();
    lock_give(&record_page->deferred_lock);
    return taken;
}
