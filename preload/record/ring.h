/* The calling thread's ring: the part of recording that every call pays for, inline.
 *
 * Single producer, single consumer. The producer writes a slot, then `head`; the writer reads `head`, then
 * the slots up to it, publishes them, then writes `tail`; the producer reads `tail` before it overwrites. The
 * last ring_reserve() slots are kept for records that must not be dropped (ends and frees). */
#ifndef CGTRACE_PRELOAD_RECORD_RING_H
#define CGTRACE_PRELOAD_RECORD_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/capture.h"
#include "preload/hidden.h"
#include "preload/record/unwind.h"

/* What most calls run through lies side by side, in few pages: 30 ns of an allocation, where the driver's
 * system call leaves no page of it known to the processor. */
#define HOT         __attribute__((hot))
#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

enum { RECORD_API_SHARDS = 32 };

enum session_state {
    SESSION_CLOSED,  /* nothing met yet (also: a forked child) */
    SESSION_WAITING, /* sessions come and go, and none is open */
    SESSION_OPENING,
    SESSION_OPEN,
    SESSION_CLOSING,
    SESSION_LAST_LIVE = SESSION_CLOSING,
    SESSION_ENDED,
    SESSION_DISABLED, /* by a setting, or because it could not be opened */
};

/* One page that the kernel fills with zeros in a forked child (MADV_WIPEONFORK): so a child finds itself
 * without a session and with every lock open, whatever its parent's threads were doing. */
struct record_page {
    _Atomic uint32_t state; /* enum session_state */
    _Atomic uint32_t open_lock, rings_lock, strings_lock, deferred_lock, ranges_lock, names_lock;
    _Atomic uint32_t peers_lock, device_lock, rate_lock, stacks_lock, modules_lock;
    _Atomic uint32_t declared_lock, manifest_lock, tags_lock;
    /* Of the API's tables: their locks, and that they are not a parent's. */
    _Atomic uint32_t storage_locks[RECORD_API_SHARDS], tensor_locks[RECORD_API_SHARDS];
    bool storages_ready[RECORD_API_SHARDS], tensors_ready[RECORD_API_SHARDS];
    bool strings_in_file;      /* the open session's capture file takes each new string */
    _Atomic uint32_t progress; /* the writer adds 1 after each publication; futex */
    _Atomic uint32_t waiters;  /* producers that wait for progress */
    _Atomic uint32_t wake;     /* 1: the writer is asked to look now; futex */
    /* record_self of the thread in exit(), while a session is open or being closed; see record_hold()
     */
    _Atomic uintptr_t leaver;
    _Atomic bool held_long; /* a thread has waited for it, and it is not here yet */
    /* The session that is open; 0 or RECORD_GENERATION_NONE while none is. A thread whose own generation is
     * the same may record. Every call looks at it: not on the page's first line, see PEER_AT. */
    _Atomic uint64_t generation __attribute__((aligned(64)));
};
extern HIDDEN struct record_page *record_page;

/* Nothing will be recorded any more: the session of the whole process has ended, or nothing was to be. */
static inline bool record_is_over(void)
{
    return atomic_load_explicit(&record_page->state, memory_order_relaxed) > SESSION_LAST_LIVE;
}

#define RECORD_GENERATION_NONE   (UINT64_MAX - 1)
#define RECORD_GENERATION_THREAD UINT64_MAX /* of a thread that has never recorded: equals no page's */
#define RECORD_DEPTH_MAX         512u /* open spans of one thread; deeper ones are dropped and counted */
#define RECORD_BEYOND_MAX        8u   /* domains of a thread that may have ranges deeper than that */

/* What a program says of a range. Strings are numbers of record_string(). */
struct record_range {
    uint32_t name, domain, category;
    uint16_t stack;       /* ranges nest among those of the same number: NVTX's domains */
    uint8_t payload_type; /* enum cap_payload */
    uint8_t kind;         /* enum cg_value_SPAN_KIND */
    uint8_t step_given;   /* 0: the step that the name says; 1: none; 2 + enum cg_value_STEP */
    bool measured;        /* the program's own measured region */
    bool has_color;
    uint32_t color;
    uint64_t payload; /* bits of a value of that type */
};

/* One cache line. */
struct record_open_span {
    uint64_t begin;
    /* What records made directly in it belong to, as record_set_inside() has it: the number of the span
     * itself, or, when it is not recorded, of what is around it; and the step of the innermost that has one.
     */
    uint32_t inside, step;
    /* Of an explicit span, the number that its end will name: it stays when the span is cut and goes on as
     * another. 0: a range that was pushed. */
    uint64_t handle;
    uint16_t level;            /* ranges around it on its stack */
    uint16_t flags;            /* of its record: enum cap_span_source, and its own step */
    bool recorded;             /* false for want of room; kept, since its end will come */
    bool call_edge;            /* its end writes an edge from the span around it */
    bool clipped;              /* the writer's: it was open when the session began */
    struct record_range range; /* to begin it anew */
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct record_open_span) == 64, "one cache line");

/* Where a thread is, for the one that closes a session. */
enum record_at {
    RECORD_AT_NOTHING,
    RECORD_AT_CALL, /* inside a hook, of the session that it has joined */
    RECORD_AT_SLOT, /* about to store into a slot, or storing: inside a hook, or a call that is no more */
    RECORD_AT_MASK = 7,
};

/* Where the frame of who called the calling function ends. A call of ours is marked by this of its outermost
 * function: a call that comes from no deeper, on the same stack, comes after it, not from inside of it. */
static inline __attribute__((always_inline)) uintptr_t record_frame(void)
{
    return (uintptr_t)__builtin_dwarf_cfa() & ~(uintptr_t)RECORD_AT_MASK;
}
/* What costs a thread time beyond its records. */
enum record_cost { RECORD_COST_STACKS, RECORD_COST_TIMING, RECORD_COST_COUNT };
/* What other threads look at of a thread. Outlives it, and is another thread's then. */
struct record_peer {
    /* enum record_at; of a call that is no more than storing into a slot, also its record_frame(). */
    _Atomic uintptr_t at;
    /* Outside of a session its owner holds it to change depth and the stack below depth, and joins under it;
     * whoever closes a session holds it to read them. In a session the owner needs none: its stack is not
     * read then. */
    _Atomic uint32_t lock;
    uint64_t generation; /* the last session that it has joined */
    _Atomic int32_t tid; /* 0: nobody's */
    bool ours;           /* not a thread of the program's */
    uint32_t depth;
    _Atomic uint64_t cost_ticks[RECORD_COST_COUNT]; /* see peer_spend(); in all sessions */
    struct record_peer *next;
    struct unwind_last last_stack; /* of its owner alone */
    /* The depth open ones behind the first, which stands for what is around all of them: with it there is
     * always an innermost one. */
    struct record_open_span open[1 + RECORD_DEPTH_MAX];
};
extern HIDDEN struct record_peer record_nobody; /* of threads that have none yet: written to, never read */

/* Of the calling thread's own. */
static inline bool peer_is_at_slot(const struct record_peer *peer)
{
    return atomic_load_explicit(&peer->at, memory_order_relaxed) & RECORD_AT_SLOT;
}

/* record_peer.at, by its owner, who alone writes it: an operand in memory, where an atomic load is an
 * instruction of its own. */
static inline uintptr_t peer_own_at(const struct record_peer *peer)
{
    uintptr_t at;

    memcpy(&at, (const void *)&peer->at, sizeof at);
    return at;
}

/* By its owner, who alone writes it: no line of memory is shared for that. What a signal's handler spends in
 * between may be lost. */
static inline void peer_spend(struct record_peer *peer, enum record_cost cost, uint64_t ticks)
{
    _Atomic uint64_t *spent = &peer->cost_ticks[cost];

    atomic_store_explicit(spent, atomic_load_explicit(spent, memory_order_relaxed) + ticks,
                          memory_order_relaxed);
}

/* The ring of threads that have none yet: read, never written to. */
extern HIDDEN struct cap_ring record_no_ring;

struct record_thread {
    uint64_t generation; /* the session that it has joined */
    /* The same where the plainest calls need look at nothing more: spans are recorded, the counter is the
     * clock, and no fence is needed; else RECORD_GENERATION_THREAD. */
    uint64_t plain;
    uint64_t check_at; /* below it there is room, known without looking at tail */
    uint64_t mask;
    struct cap_record *slots;
    struct cap_ring *ring;
    struct record_peer *peer;
    /* These two are written together, by record_set_inside(). */
    uint32_t span; /* innermost open one that is recorded, or what is around all: the region, or the root */
    uint32_t step; /* of the innermost span that has one, CAP_FLAG_STEP form */
    /* Entries of its stack, from the bottom, that are no spans of the trace: they were open when it opened
     * the region. The topmost of these is the region itself when region_here. */
    uint32_t around;
    bool region_here;
    uint64_t handle_base; /* of the handles of spans that it records in this session */
    /* Block of span numbers that this thread may give out: in the lower half, in the upper one what stands
     * beside it in the record of a begin (span_type_half()). */
    uint64_t span_next, span_limit;
    uint64_t storage_next, storage_limit; /* of the process' numbers: the last one given, and of its block */
    uint64_t handle_next, handle_limit;   /* block of numbers of explicit spans that are not recorded */
    pid_t storage_pid;                    /* the process that the storages' are of */
    uint32_t ring_index;
    int32_t tid;
    bool ours; /* a thread of the recorder, not of the program */
    /* record_frame() of the hook that the thread is inside of; 0: none. What happens in there is not recorded
     * again. See record_is_inside() */
    volatile uintptr_t busy;
    bool of_parent;  /* what is open on its stack was so where this child was forked: span_forget() */
    bool any_beyond; /* see below */
    uint8_t ends;    /* rounds of destructors that it has come through */
    /* Ranges for which the stack had no place: how many, by number of their stack. While there are some, all
     * further ones of that stack go there too, so that they come out in order. */
    struct record_beyond {
        uint32_t stack, count;
    } beyond[RECORD_BEYOND_MAX];
    _Atomic uint32_t *volatile holds; /* owned.h: the lock that it has, or is about to have; NULL: none */
};
extern HIDDEN __thread struct record_thread record_self __attribute__((tls_model("initial-exec")));

/* Producers order with a fence of their own, because the kernel does not do it for them (membarrier). Chosen
 * before anything is recorded. */
extern HIDDEN _Atomic bool record_fences;

extern HIDDEN bool
    record_tsc; /* ticks are the TSC's (or the architecture's counter), not CLOCK_MONOTONIC's */

/* Where record_tsc. */
static inline uint64_t record_counter(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t tick;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(tick));
    return tick;
#else
    return 0;
#endif
}

static inline uint64_t record_tick(void)
{
    struct timespec now;

    if (likely(record_tsc)) return record_counter();
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Whether the thread is in a call already, which a signal's handler has interrupted. */
static inline bool record_is_inside(const struct record_thread *thread)
{
    return thread->busy || (thread->peer != &record_nobody && peer_is_at_slot(thread->peer));
}
/* The same, for a call that comes from this record_frame(), unless that other call was left for good: by a
 * jump out of the handler that had interrupted it. Such a one is taken back then, and counted. */
bool record_is_still_inside(struct record_thread *thread, uintptr_t frame);
/* A call of this frame was left so, as one that comes from `now` can tell. */
bool record_frame_is_gone(uintptr_t frame, uintptr_t now);

/* Has the compiler work out an address here, once: it would do so anew for several of the members. */
#define record_pinned(address)                                                                               \
    ({                                                                                                       \
        __typeof__((address) + 0) pinned_ = (address);                                                       \
        __asm__("" : "+r"(pinned_));                                                                         \
        pinned_;                                                                                             \
    })

/* ---- stores ----
 *
 * A record is put together in registers and stored in pairs of words: 4 stores for a begin where member by
 * member took 14, and the entry of the thread's stack likewise (a span's begin and end: 27 to 24 ns where the
 * core is the thread's alone, 48 to 39 where another thread shares it, on the same two bare slots of 20). */

typedef uint64_t record_pair __attribute__((vector_size(16), aligned(8), may_alias));

static inline void record_store(void *at, uint64_t low, uint64_t high)
{
    *(record_pair *)at = (record_pair){low, high};
}

/* Words and halves of them that a register has as they are: putting them together costs more than a store
 * does. Volatile, or the compiler does it nonetheless. */
static inline void record_store_word(void *at, uint64_t value)
{
    *(volatile uint64_t *)at = value;
}
static inline void record_store_half(void *at, uint32_t value)
{
    *(volatile uint32_t *)at = value;
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "members are shifted to where they stand in words");

/* The members of `from` up to ticks, into a slot. As all functions of this kind inline, so that `from` is
 * never in memory. */
static inline __attribute__((always_inline)) void record_store_head(struct cap_record *slot,
                                                                    const struct cap_record *from)
{
    record_store(slot, from->begin,
                 from->span | (uint64_t)from->type << 32 | (uint64_t)from->slots << 40 |
                     (uint64_t)from->session << 48 | (uint64_t)from->device << 56);
    record_store(&slot->api, from->api | (uint64_t)from->flags << 16 | (uint64_t)(uint32_t)from->result << 32,
                 from->ticks);
}

/* What the thread's records belong to from here on: a span's number, and a step in the upper half. */
static inline void record_set_inside(struct record_thread *thread, uint64_t span_and_step)
{
    memcpy(&thread->span, &span_and_step, sizeof span_and_step);
}
_Static_assert(offsetof(struct record_thread, step) == offsetof(struct record_thread, span) + 4 &&
                   offsetof(struct record_open_span, step) == offsetof(struct record_open_span, inside) + 4,
               "written as one word");

/* ---- numbers ---- */

/* A thread takes numbers by the block: those from next up to limit are its own, none where next is not below.
 * A handler that jumps out between the two stores leaves it none: a block is never below the one before. */
static inline void record_take_block(uint64_t *next, uint64_t *limit, uint64_t first, uint64_t count)
{
    *next = first;
    atomic_signal_fence(memory_order_seq_cst);
    *limit = first + count;
}

/* ---- slots ---- */

/* What of the ring is committed. */
static inline uint64_t ring_head(const struct record_thread *thread)
{
    return atomic_load_explicit(&thread->ring->head, memory_order_relaxed);
}

/* Slots kept for what must not be dropped. */
static inline uint64_t ring_reserve(uint64_t slots)
{
    return slots / 16 > 64 ? slots / 16 : 64;
}

enum ring_room {
    RING_MAY_DROP, /* NULL when only the reserved slots are left: the record is counted as lost */
    RING_MUST,     /* NULL only when the ring is full to the last slot: the caller defers the record */
};
/* The same for `count` slots in a row. */
struct cap_record *ring_slot_slow(struct record_thread *thread, enum ring_room room, unsigned count);
/* Inside of a window: looks for room that the writer has given back, and calls it when it is late. */
void ring_look(struct record_thread *thread);

/* From here to ring_window_close() the thread may touch its ring: whoever closes the session waits for it
 * before the ring goes. False: the session has ended, the ring is not to be touched. peer: the thread's.
 * frame: record_frame() of a call that is no more than this, else 0. */
static inline bool ring_window_open_as(struct record_thread *thread, struct record_peer *peer,
                                       uintptr_t frame)
{
    atomic_store_explicit(&peer->at, frame | RECORD_AT_SLOT, memory_order_relaxed);
    /* Orders the store of `at` before the load of the generation: either that load sees that the session is
     * being closed, or the closer, which stores the generation first and then loads `at`, sees the store. The
     * processor's part of it is done by the closer's membarrier; where there is none, here. */
    if (unlikely(atomic_load_explicit(&record_fences, memory_order_relaxed)))
        atomic_thread_fence(memory_order_seq_cst);
    else
        atomic_signal_fence(memory_order_seq_cst);
    return likely(thread->generation == atomic_load_explicit(&record_page->generation, memory_order_relaxed));
}

static inline bool ring_window_open(struct record_thread *thread)
{
    return ring_window_open_as(thread, thread->peer, 0);
}

static inline void ring_window_close(struct record_thread *thread)
{
    /* Release: all stores into the ring come before it. */
    atomic_store_explicit(&thread->peer->at, RECORD_AT_CALL, memory_order_release);
}
/* Closes it, if it is open, at the end of a call. */
static inline void ring_window_leave(struct record_peer *peer)
{
    /* Release: what the call stored comes before the thread's being nowhere. */
    atomic_store_explicit(&peer->at, RECORD_AT_NOTHING, memory_order_release);
}

/* The next slot, to be filled and committed; NULL: no room, or the session has ended under this call. */
static inline struct cap_record *ring_slot(struct record_thread *thread, enum ring_room room)
{
    if (unlikely(!ring_window_open(thread) || ring_head(thread) >= thread->check_at))
        return ring_slot_slow(thread, room, 1);
    return &thread->slots[ring_head(thread) & thread->mask];
}

/* Slots to skip so that `count` of them lie in a row. */
static inline uint64_t ring_gap(const struct record_thread *thread, unsigned count)
{
    uint64_t left = thread->mask + 1 - (ring_head(thread) & thread->mask);

    return left < count ? left : 0;
}

/* The next `count` slots (at most CAP_RECORD_SLOTS), for one record, as ring_slot() has it. */
static inline struct cap_record *ring_slots(struct record_thread *thread, enum ring_room room, unsigned count)
{
    uint64_t gap = ring_gap(thread, count);

    if (unlikely(!ring_window_open(thread) || ring_head(thread) + gap + count > thread->check_at)) {
        struct cap_record *slot = ring_slot_slow(thread, room, count);

        if (!slot) return NULL;
    }
    if (unlikely(gap > 0)) {
        struct cap_record *pad = &thread->slots[ring_head(thread) & thread->mask];

        pad->type = CAP_PAD;
        pad->slots = (uint8_t)gap;
    }
    return &thread->slots[(ring_head(thread) + gap) & thread->mask];
}

/* Makes the slots up to here the writer's. The window stays open. */
static inline void ring_publish(struct cap_ring *ring, uint64_t head)
{
    /* Release: the stores into the slots come before the store of head. */
    atomic_store_explicit(&ring->head, head, memory_order_release);
}
static inline void ring_advance(struct record_thread *thread, uint64_t count)
{
    ring_publish(thread->ring, ring_head(thread) + count);
}

static inline void ring_commit(struct record_thread *thread)
{
    ring_advance(thread, 1);
    ring_window_close(thread);
}

static inline void ring_commit_slots(struct record_thread *thread, unsigned count)
{
    ring_advance(thread, ring_gap(thread, count) + count);
    ring_window_close(thread);
}

/* One more record of this thread is lost. Inside of a window. */
static inline void ring_lose(struct record_thread *thread)
{
    /* The owner alone writes it: no read-modify-write needed. */
    atomic_store_explicit(&thread->ring->lost,
                          atomic_load_explicit(&thread->ring->lost, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

/* ---- off the hot path ---- */

/* Has the calling thread join this session, with a ring, and begins its open ranges there. False: none to be
 * had, or the session has ended. opener: the thread that opens the session; the session is not open yet, and
 * its ranges enclose the region. */
bool ring_acquire(struct record_thread *thread, uint64_t generation, bool opener);
/* Gives the ring back: its open spans end, the writer drains and frees it. */
void ring_retire(struct record_thread *thread);
/* Makes one more free ring; false: no room in the directory, the limit or the file. whole: with all of its
 * pages, else with the first of them and ring_populate() does the rest. */
bool ring_prepare(bool whole);
/* Brings in the pages that rings made in haste lack. */
void ring_populate(void);
/* Before the first session of a process in which sessions come and go. */
void rings_will_leave(void);
/* Waits until no thread touches a ring of the session whose generation is none any more, or is about to take
 * one. False: one did not leave in time, or the kernel cannot tell; the rings must stay where they are.
 * *calls: threads that are inside a call of this session. */
bool rings_leave(uint64_t generation, uint64_t *calls);
/* Unmaps all rings; leak: lets them be, and forgets them. */
void rings_unmap(bool leak);
/* Once for the process. */
void ring_init(void);
/* Ends the innermost open span of the thread, which the program never ended. */
void record_span_close(struct record_thread *thread);

static inline int32_t thread_tid(struct record_thread *thread)
{
    if (unlikely(!thread->tid)) thread->tid = (int32_t)gettid();
    return thread->tid;
}

/* The calling thread has a peer; false: no memory for one. */
bool ring_peer(struct record_thread *thread);
/* peer.c: the calling thread's own, made at first; false: no memory. */
bool peer_take(struct record_thread *thread);
/* Its thread has ended. */
void peer_give(struct record_thread *thread);
/* All that were ever made, the latest first. */
struct record_peer *peer_first(void);
/* In a forked child: the others' threads are not there. */
void peers_forked(void);

/* Records that found no room though they must be written: kept in memory until the writer takes them. */
struct deferred {
    struct cap_record record;
    uint32_t ring;
    int32_t tid;
};
/* Keeps it for this session; lets it go when that is not open any more. */
void deferred_add(uint64_t generation, const struct cap_record *record, uint32_t ring, int32_t tid);
struct deferred_block {
    struct deferred_block *next;
    uint32_t used;
    struct deferred items[1023];
};
/* All that there are, the oldest first; the caller unmaps each block. */
struct deferred_block *deferred_take(void);
/* Records of this session are kept from now on; 0: of none, and those that there are go. */
void deferred_open(uint64_t generation);

#endif
