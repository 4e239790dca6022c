/* What hooks, NVTX and the API call to record something. Everything here keeps errno, takes no lock and
 * allocates nothing once a thread has its ring (see ring.h), and does nothing at all when the thread is
 * already inside a hook, in a forked child that has not recorded yet, or when nothing is being captured.
 *
 * A hook:
 *
 *     struct record_call call;
 *     if (!record_enter(&call, HOOK_cuMemAlloc_v2)) return real(...);    // pass through
 *     CUresult result = real(...);
 *     record_alloc(&call, result, ...);                                  // stamps the end, writes, leaves
 *     return result;
 *
 * Exactly one of the record_*() functions below, or record_leave(), follows each record_enter() that returned
 * true. */
#ifndef CGTRACE_PRELOAD_RECORD_RECORD_H
#define CGTRACE_PRELOAD_RECORD_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "common/capture.h"
#include "preload/record/ring.h"

/* Names of the entry points by the numbers that record_enter() is given; from the hooks' tables. */
extern const char *const hook_api_names[];
extern const uint32_t hook_api_count;

struct record_call {
    struct record_thread *thread;
    uint64_t begin; /* tick */
    uint64_t last;  /* tick; the latest reading of the clock for its record, when there is one */
    uint16_t api;
    uint8_t device; /* filled in by the hook before recording; CAP_NO_DEVICE when not known */
    bool captured;  /* filled in likewise: the call does no work, its stream is being captured into a graph */
    bool skipped;   /* likewise, of launches and copies: their work is not timed, to keep the budget */
    bool outside;   /* no session is open that the thread could join: what outlives sessions is kept alone */
};

/* What a call is for a recorder that is not recording. */
enum record_interest {
    RECORD_QUIET = 0,   /* nothing */
    RECORD_OPENS = 1,   /* it opens the session of the whole process */
    RECORD_OUTSIDE = 2, /* where sessions come and go it is followed also between them (call.outside) */
};

/* The thread has not joined the open session: has it join, or enters it outside, or refuses. */
enum record_entered { RECORD_REFUSED, RECORD_JOINED, RECORD_IS_OUTSIDE };
enum record_entered record_enter_slow(struct record_call *call, uint16_t api, unsigned interest,
                                      uintptr_t frame);
void record_nested(void);

static inline bool record_enter_as(struct record_call *call, uint16_t api, unsigned interest)
{
    struct record_thread *thread = &record_self;

    if (unlikely(thread->generation !=
                 atomic_load_explicit(&record_page->generation, memory_order_relaxed))) {
        enum record_entered entered = record_enter_slow(call, api, interest, record_frame());

        if (entered != RECORD_JOINED) return entered == RECORD_IS_OUTSIDE;
    }
    if (unlikely(record_is_inside(thread)) && record_is_still_inside(thread, record_frame())) {
        record_nested();
        return false;
    }
    thread->busy = record_frame();
    /* For a signal handler on this thread: busy before everything that it guards. */
    atomic_signal_fence(memory_order_seq_cst);
    atomic_store_explicit(&thread->peer->at, RECORD_AT_CALL, memory_order_relaxed);
    call->thread = thread;
    call->api = api;
    call->device = CAP_NO_DEVICE;
    call->captured = call->skipped = call->outside = false;
    call->begin = record_tick();
    return true;
}

/* The plainest case alone, of a call that is no more than its record: the thread has joined the open session
 * and is in no call. Enters with the ring's window open, and nothing else: that alone tells a signal's
 * handler that the thread is in a call. False: it is another case, and nothing was done. */
struct record_plain {
    struct record_thread *thread;
    struct record_peer *peer; /* of the thread */
    uint64_t head;            /* of the ring */
    uint64_t begin;           /* tick */
};
static inline __attribute__((always_inline)) bool record_enter_plain(struct record_plain *call)
{
    struct record_thread *thread = &record_self;
    uint64_t joined = thread->plain;
    struct record_peer *peer = thread->peer;
    struct cap_ring *ring = thread->ring;
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);

    /* The clock before all else: checks and the store that opens the window run while it is read, and what
     * stands before it does not (20.5 in place of 19.7 ns for a span). What a signal's handler records in
     * between is later than this call and must not come before it: then head has moved. Or it has ended the
     * session, and the thread has another one's ring: head may be the same there, the session is not. */
    atomic_signal_fence(memory_order_seq_cst);
    call->begin = record_counter();
    /* Of no call: of one that has left, at is RECORD_AT_NOTHING before busy is 0. */
    if (unlikely((thread->busy | peer_own_at(peer)) != 0)) return false;
    atomic_store_explicit(&peer->at, record_frame() + RECORD_AT_SLOT, memory_order_relaxed);
    /* As in ring_window_open_as(): before the load of the generation. The processor's part is the closer's.
     */
    atomic_signal_fence(memory_order_seq_cst);
    if (unlikely(joined != atomic_load_explicit(&record_page->generation, memory_order_relaxed) ||
                 head != atomic_load_explicit(&ring->head, memory_order_relaxed))) {
        ring_window_leave(peer);
        return false;
    }
    call->thread = thread;
    call->peer = peer;
    call->head = head;
    return true;
}
/* Whether there is certainly room for a record. */
static inline bool record_plain_room(const struct record_plain *call)
{
    return likely(call->head < call->thread->check_at);
}
/* The next slot, to be filled and published. */
static inline struct cap_record *record_plain_slot(const struct record_plain *call)
{
    const struct record_thread *thread = call->thread;

    return record_pinned(&thread->slots[call->head & thread->mask]);
}
static inline void record_plain_publish(const struct record_plain *call)
{
    ring_publish(call->thread->ring, call->head + 1);
}
static inline void record_leave_plain(struct record_plain *call)
{
    ring_window_leave(call->peer);
}

/* Enters a hook: opens the session when this is its first recordable event, takes the thread's ring, reads
 * the clock. False: call the real function and record nothing. */
static inline bool record_enter(struct record_call *call, uint16_t api)
{
    return record_enter_as(call, api, RECORD_OPENS);
}
/* The same for calls that must not open a session (look-ups, cuInit): false while none is open. */
static inline bool record_enter_quiet(struct record_call *call, uint16_t api)
{
    return record_enter_as(call, api, RECORD_QUIET);
}
/* For what is followed between sessions too: storages begin, ranges begin. call.outside says which it is; all
 * record_*() functions below know what to do with either. */
static inline bool record_enter_followed(struct record_call *call, uint16_t api)
{
    return record_enter_as(call, api, RECORD_OPENS | RECORD_OUTSIDE);
}
/* Likewise, where they end: that opens none. */
static inline bool record_enter_end(struct record_call *call, uint16_t api)
{
    return record_enter_as(call, api, RECORD_OUTSIDE);
}
/* Leaves without a record, or behind it. */
static inline void record_leave(struct record_call *call)
{
    ring_window_leave(call->thread->peer);
    /* For a signal handler on this thread: busy after everything that it guards. */
    atomic_signal_fence(memory_order_seq_cst);
    call->thread->busy = 0;
}
/* Leaves with one slot filled. */
static inline void record_leave_with_slot(struct record_call *call)
{
    ring_advance(call->thread, 1);
    record_leave(call);
}

/* finish.c. The driver is initialised in this process: from now on exit() is seen before the driver's own
 * handler. Once is enough. */
void record_watch_exit(void);
/* A call of the driver has failed, and is recorded. Where another thread is in exit() the driver may be gone,
 * and so would the process be but for us: what this thread has learned waits until we are done. */
void record_hold(void);

/* A call without payload. bytes is written only when not 0. */
void record_op(struct record_call *call, int result, uint32_t stream, uint64_t bytes);

struct record_launch {
    uint32_t name; /* record_string() of the kernel's mangled name */
    uint32_t grid[3];
    uint32_t block[3];
    uint32_t shared_bytes;
    uint32_t stream;
};
void record_launch(struct record_call *call, int result, const struct record_launch *launch);

/* A call that makes a graph ready. nodes: number of a node type << 32 | how many; kernels: string of a name
 * << 32 | how many nodes. */
struct record_graph {
    uint32_t number;
    unsigned node_count, kernel_count; /* at most CAP_NODE_TYPE_COUNT and CAP_GRAPH_KERNELS_MAX */
    uint32_t kernels_left_out;
    uint64_t nodes[CAP_NODE_TYPE_COUNT], kernels[CAP_GRAPH_KERNELS_MAX];
};
void record_graph(struct record_call *call, int result, const struct record_graph *graph);
/* The launch of a graph, with what it is made of where this session has not been told yet; graph NULL:
 * without. */
void record_graph_launch(struct record_call *call, int result, uint32_t number, uint32_t stream,
                         const struct record_graph *graph);
/* Before such a launch: its record will then be the next one of the ring. */
void record_graph_align(struct record_call *call, const struct record_graph *graph);

enum record_copy_kind {
    RECORD_COPY_HTOD,
    RECORD_COPY_DTOH,
    RECORD_COPY_DTOD,
    RECORD_COPY_HTOH,
    RECORD_COPY_PEER,
    RECORD_COPY_UNIFIED, /* direction not told by the call */
    RECORD_COPY_MEMSET,
};
void record_copy(struct record_call *call, int result, enum record_copy_kind kind, uint64_t destination,
                 uint64_t source, uint64_t bytes, uint32_t stream);

/* An allocation. On success the storage enters the live table after the real call and is stamped there; on
 * failure the call is recorded with its error and the bytes asked for. owner: the context, or the pool, whose
 * end ends the storage. */
void record_alloc(struct record_call *call, int result, enum cap_memory_kind kind, uint64_t address,
                  uint64_t bytes, uint32_t stream, uint64_t owner);

/* An allocation was made at this address, and will be recorded in a moment: memory that this needs is fetched
 * meanwhile. */
void record_alloc_expect(uint64_t address);

/* A free, in two steps, so that another thread may be given the address as soon as the real call has freed
 * it: record_free_begin() takes the storage out of the live table and stamps it before the real call;
 * record_free() writes it, or puts it back when the real call failed. A storage that is not in the table is
 * counted, and the call recorded. */
struct record_storage {
    uint64_t address, bytes, owner, alloc_tick;
    uint64_t storage;    /* its number, of the process: the same in every session */
    uint64_t generation; /* of the last session that its allocation is in; 0: in none yet */
    int32_t tid;
    uint32_t stack;     /* stacks_here() of the call that made it */
    uint16_t api, step; /* of the call, and of the span it was made in, CAP_FLAG_STEP form */
    uint8_t kind, device;
    bool known; /* it was in the live table */
};
void record_free_begin(struct record_call *call, uint64_t address, struct record_storage *storage);
void record_free(struct record_call *call, int result, const struct record_storage *storage, uint32_t stream);

/* Storages that begin and end inside a call whose record is another one (the launch of a graph, an
 * unmapping); the call goes on. The storage to end was taken out by record_free_begin(). */
void record_storage_begin(struct record_call *call, enum cap_memory_kind kind, uint8_t device,
                          uint64_t address, uint64_t bytes);
void record_storage_end(struct record_call *call, const struct record_storage *storage);
/* A live storage is from now on found under another number. */
void record_storage_moved(uint64_t from, uint64_t to);

/* Every live storage of this owner ends now, without a call of its own. */
void record_owner_end(struct record_call *call, uint64_t owner, enum cap_end_reason reason);

/* A sample of a device's memory at this moment; UINT64_MAX for what is not known. Does not end the call. */
void record_sample(struct record_call *call, uint8_t device, uint64_t used, uint64_t free, uint64_t reserved,
                   uint64_t capacity);

/* Spans, inside of a call that the caller has entered and leaves. A begin gives the handle to end it with,
 * unique in the process, 0 when there was no place for it. Ends always have room (see ring.h). An explicit
 * span ends only when no other one is open in it on its thread; ranges that are open in it go on. */
uint64_t record_span_open(struct record_call *call, enum cap_span_source source,
                          const struct record_range *range);
enum record_span_place {
    RECORD_SPAN_FOUND,
    RECORD_SPAN_NOT_RECORDED,  /* done; but it is no span of the open session */
    RECORD_SPAN_NOT_OPEN,      /* from here on: nothing was done */
    RECORD_SPAN_OTHER_THREAD,  /* it was begun there */
    RECORD_SPAN_NOT_INNERMOST, /* explicit ones are open in it */
    RECORD_SPAN_NOT_AROUND,    /* the other one is not directly around it */
};
enum record_span_place record_span_close_explicit(struct record_call *call, uint64_t span);
/* Has the end of an open span write a call edge as well, from the one around it. caller: 0, or the explicit
 * one that must be that. */
enum record_span_place record_span_call_edge(const struct record_call *call, uint64_t caller,
                                             uint64_t callee);
/* A span that is over, at these nanoseconds of the session; its handle, 0: there was no room. */
uint64_t record_span_past(const struct record_call *call, const struct record_range *range, uint64_t start_ns,
                          uint64_t duration_ns);
/* The number of a span in the session that the thread has joined: one that is open on the thread, or that was
 * recorded in this session. False: it is neither. */
bool record_span_number(const struct record_thread *thread, uint64_t span, uint32_t *number);
/* Explicit spans that the thread has begun in its session are open. */
bool record_spans_open(const struct record_thread *thread);

/* Ranges that are pushed and popped: they nest on each of a thread's stacks (range.stack), and those stacks
 * may interleave. All of them end the call.
 *
 * Push gives the number of ranges around the new one on its stack, pop that of the one that it ended, or -1
 * when there was none: counted. A range that is not the innermost of the thread is taken out from between:
 * those inside of it are cut there, and go on as new spans. */
int record_range_push(struct record_call *call, const struct record_range *range);
int record_range_pop(struct record_call *call, uint32_t stack);
/* A span without length. */
void record_mark(struct record_call *call, const struct record_range *range);

/* Ranges that belong to no thread: start gives a number that is unique in the process, 0 when there is no
 * room; any thread may end it. They may overlap anything, so they hang under the measured region. */
uint64_t record_range_start(struct record_call *call, const struct record_range *range);
void record_range_end(struct record_call *call, uint64_t range);

/* What the program calls a thing that the trace mentions, written into meta.names: kind "thread", "stream" or
 * "device", its identity as the trace has it. The last name counts. Any time, also before the session opens.
 */
void record_name(const char *kind, const char *identity, const char *name, size_t length);

/* The number of a string, which it keeps for the life of the process, and in forked children. Lock-free when
 * it is known already; for use on a first encounter (kernel names, range names), and to be cached by the
 * caller. 0 is the empty string; also when there is no room, or nothing is ever recorded. */
uint32_t record_string(const char *bytes, size_t length);

/* The same for a text that ends with NUL; quick for one that the calling thread has given before from the
 * same address. NULL is the empty string. */
uint32_t record_text(const char *text);
/* Copies a string, its end cut off where it does not fit. */
void record_string_copy(uint32_t number, char *out, size_t size);

/* Before anything is met: a child would not hear of its being one, and would go on with what is its parent's.
 * Nothing is recorded then. */
void record_no_forks(void);

/* Told by the hooks when they learn it; written into meta.cuda. Any time, also before the session opens. */
void record_driver(int version);
void record_device(uint8_t ordinal, const char *name, uint64_t bytes);

/* Counted and written into the terminal record's coverage: a route by which work passes unseen. */
enum record_gap {
#define RECORD_GAP(suffix, wire, meaning) RECORD_GAP_##suffix = CAP_GAP_##suffix,
    CAP_GAPS(RECORD_GAP)
#undef RECORD_GAP
};
void record_gap(enum record_gap gap, uint64_t count);

/* Waits until the device has done all that the program has asked of it so far. False: some of it may be
 * left. Given by the hooks, called at the ends of regions on the thread that they begin and end on. */
extern bool (*record_synchronise)(void);
/* The end of the process as a program sees it: drain, write, rename. Idempotent. limit_ms bounds the wait for
 * the writer; 0 means as long as it makes progress. */
void record_finish(unsigned limit_ms);

#endif
