/* What other threads look at of each thread: made at a thread's first record, kept for the process, given to
 * another thread when its own has ended. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/record/owned.h"
#include "preload/record/session.h"
#include "preload/record/span_plain.h"
#include "preload/unnoticed.h"

struct record_peer record_nobody;

/* Only ever gets longer, so it is walked without a lock. */
static _Atomic(struct record_peer *) first;

struct record_peer *peer_first(void)
{
    /* Acquire: a peer was made before it was linked. */
    return atomic_load_explicit(&first, memory_order_acquire);
}

/* Where on its pages a peer stands. A ring's header is the first line of a page: lines at one place of their
 * pages share a set of the first cache, and Zen 4 finds them there by a hash of their addresses. With peer,
 * generation and header at 0, two of them had the same in one process of ten, and drove each other out at
 * each call (a span took 24.9 ns in place of 19.4). */
enum { PEER_AT = 21 * 64 };

static struct record_peer *make(void)
{
    ERRNO_KEPT;
    struct record_peer *peer;
    char *pages =
        mmap(NULL, PEER_AT + sizeof *peer, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (pages == MAP_FAILED) return NULL;
    peer = (struct record_peer *)(void *)(pages + PEER_AT);
    peer->next = atomic_load_explicit(&first, memory_order_relaxed);
    /* Release: see above. */
    atomic_store_explicit(&first, peer, memory_order_release);
    return peer;
}

bool peer_take(struct record_thread *thread)
{
    struct record_peer *peer;

    if (thread->peer != &record_nobody) return true;
    lock_take(&record_page->peers_lock);
    peer = peer_first();
    while (peer && peer->tid)
        peer = peer->next;
    if (!peer) peer = make();
    if (peer) {
        bool held = peer_hold(peer);

        peer->tid = (int32_t)gettid();
        peer->ours = thread->ours;
        peer->depth = 0;
        peer->generation = 0;
        /* Its frames were of another thread's stack. */
        peer->last_stack.frames[0].count = peer->last_stack.frames[1].count = 0;
        if (held) peer_let_go(peer);
        thread->peer = peer;
    }
    lock_give(&record_page->peers_lock);
    return peer != NULL;
}

void peer_give(struct record_thread *thread)
{
    struct record_peer *peer = thread->peer;
    bool held;

    thread->peer = &record_nobody;
    if (peer == &record_nobody) return;
    lock_take(&record_page->peers_lock);
    held = peer_hold(peer);
    peer->tid = 0;
    peer->depth = 0;
    if (held) peer_let_go(peer);
    atomic_store_explicit(&peer->at, RECORD_AT_NOTHING, memory_order_release);
    lock_give(&record_page->peers_lock);
}

void peers_forked(void)
{
    for (struct record_peer *peer = peer_first(); peer; peer = peer->next) {
        bool own = peer == record_self.peer;

        peer->tid = own ? (int32_t)gettid() : 0;
        peer->lock = 0;
        if (own) continue;
        peer->depth = 0;
        peer->at = RECORD_AT_NOTHING;
    }
}

/* ---- at the end of a session ---- */

static struct {
    struct record_peer *peer;
    struct record_open_span open[RECORD_DEPTH_MAX]; /* of that one, copied */
    uint32_t depth, at, parent;
    int32_t tid;
} cursor;

void peers_rewind(void)
{
    cursor.peer = NULL;
    cursor.depth = cursor.at = 0;
}

/* A thread that ended without its last words is none. */
static bool is_gone(int32_t tid)
{
    return syscall(SYS_tgkill, session.pid, tid, 0) != 0 && errno == ESRCH;
}

/* Copies the stack of the cursor's peer, when its thread has not joined the session and is in no call of one
 * before. */
static void look_at(struct record_peer *peer)
{
    bool held = peer_hold(peer);

    cursor.depth = cursor.at = 0;
    if (!held) {
        /* What it has open cannot be told. record_gap() counts for an open session alone. */
        atomic_fetch_add_explicit(&session.header->gaps[CAP_GAP_ABANDONED], 1, memory_order_relaxed);
        return;
    }
    if (peer->tid && is_gone(peer->tid)) peer->tid = 0;
    cursor.parent = session.region.outside;
    cursor.tid = peer->tid;
    /* Acquire: what the thread stored into its stack in a session before. */
    if (peer->tid && peer->generation != session.generation &&
        atomic_load_explicit(&peer->at, memory_order_acquire) == RECORD_AT_NOTHING) {
        cursor.depth = peer->depth;
        memcpy(cursor.open, peer->open + 1, cursor.depth * sizeof *cursor.open);
    }
    peer_let_go(peer);
}

uint64_t peers_cost_ticks(enum record_cost cost)
{
    uint64_t ticks = 0;

    for (struct record_peer *peer = peer_first(); peer; peer = peer->next)
        ticks += atomic_load_explicit(&peer->cost_ticks[cost], memory_order_relaxed);
    return ticks;
}

bool peers_next(struct cap_record *record, uint64_t end_tick, int32_t *tid)
{
    uint64_t opened = atomic_load_explicit(&session.opened, memory_order_relaxed);
    const struct record_open_span *open;
    uint32_t span;

    while (cursor.at == cursor.depth) {
        struct record_peer *next = cursor.peer ? cursor.peer->next : peer_first();

        if (!next) return false;
        cursor.peer = next;
        look_at(next);
    }
    open = &cursor.open[cursor.at++];
    if (open->begin > opened) return peers_next(record, end_tick, tid); /* since the session is over */
    span = atomic_fetch_add_explicit(&session.span_block, 1, memory_order_relaxed);
    *record = span_record(CAP_SPAN, opened, span, cursor.parent, span_source(open), &open->range);
    record->flags |= CAP_FLAG_CLIPPED_START | CAP_FLAG_CLIPPED_END;
    record->ticks = end_tick > opened ? end_tick - opened : 0;
    *tid = cursor.tid;
    cursor.parent = span;
    return true;
}
