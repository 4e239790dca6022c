/* Contexts and their pairs of events. A slot for each context; its pairs are in one of three places: free, in
 * a hook, or pending (recorded, to be read). Free and pending ones stand on stacks that need no lock;
 * everything else of a slot is under its lock, which is held across the driver's calls that make, read and
 * destroy events and never while a program's call is under way. */
#ifndef CGTRACE_PRELOAD_DEVICE_CONTEXT_H
#define CGTRACE_PRELOAD_DEVICE_CONTEXT_H

#include "preload/device/device.h"
#include "preload/patience.h"
#include "preload/record/device.h"

enum {
    DEVICE_SLOTS = 250,  /* contexts; a slot number has 8 bits */
    DEVICE_PAIRS = 4096, /* of one context, at most */
    DEVICE_FILL = 64,    /* made at a time */
};

/* One line of the cache, which goes to the reader and back with each timed call. */
struct device_pair {
    _Atomic uint32_t next;  /* on a stack: 1 + number of the one below; 0: none */
    uint32_t after_it;      /* in the reader's queue, likewise */
    uint64_t before, after; /* ticks: before the first event was recorded, and after the last */
    struct record_work work;
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct device_pair) == 64, "device_take() fetches one line");

/* The events of the pair of the same number. They hardly ever change, so all threads have them in their
 * caches at the same time. */
struct device_events {
    _Atomic(CUevent) start; /* another one once it has become the anchor */
    CUevent end;
};

enum device_state {
    DEVICE_SLOT_FREE,
    DEVICE_SLOT_KNOWN, /* without events yet */
    DEVICE_SLOT_READY,
    DEVICE_SLOT_REFUSED, /* the driver does not let us */
    DEVICE_SLOT_ENDED,
};

/* The device's time line, measured from an anchor that moves along. */
struct device_clock {
    uint32_t number;
    bool running;
    CUevent anchor; /* recorded at device_ns; before the clock runs, one to spare */
    uint64_t device_ns;
    struct cap_device_anchor host; /* the last; host_tick 0: none yet */
    uint64_t announced;            /* session that knows of the clock */
};

enum { DEVICE_PAIRS_BYTES = DEVICE_PAIRS * (sizeof(struct device_pair) + sizeof(struct device_events)) };

/* Three parts, each on lines of its own: what every call looks at, what every timed call changes, and what is
 * the reader's. */
struct device_context {
    _Atomic uint32_t state;       /* enum device_state */
    _Atomic uint32_t made;        /* changed under the lock */
    struct device_pair *pairs;    /* DEVICE_PAIRS of them, `made` have events */
    struct device_events *events; /* likewise */
    CUcontext handle;
    uint8_t device;
    _Atomic bool tied; /* an anchor was taken */
    /* Host tick of the last one, and in which session; both changed under the lock. */
    _Atomic uint64_t anchored, anchored_in;

    _Atomic uint64_t free_top __attribute__((aligned(64))); /* changes << 32 | 1 + number of a pair */
    _Atomic uint32_t pending_top;                           /* 1 + number of a pair */
    _Atomic uint32_t under_way; /* pairs that are pending or in the reader's queue */
    _Atomic(CUstream) last;     /* stream that was timed last; NULL: none, or destroyed */

    _Atomic uint32_t lock __attribute__((aligned(64)));
    _Atomic uint32_t wanted;  /* 1: pairs are short */
    uint32_t first, last_one; /* of the reader's queue: 1 + number; 0: empty */
    _Atomic uint32_t stale;   /* of those under way: of no session any more; changed under the lock */
    uint32_t failures;        /* one after the other */
    struct device_clock clock;
};
extern struct device_context device_contexts[DEVICE_SLOTS + 1];
extern _Atomic uint32_t device_slots_used; /* the greatest number in use */

static inline struct device_context *device_context(uint8_t slot)
{
    return slot && slot <= DEVICE_SLOTS ? &device_contexts[slot] : NULL;
}

static inline struct device_events *device_events(const struct device_context *context,
                                                  const struct device_pair *pair)
{
    return &context->events[pair - context->pairs];
}
static inline CUevent device_start_event(const struct device_context *context, const struct device_pair *pair)
{
    return atomic_load_explicit(&device_events(context, pair)->start, memory_order_relaxed);
}
static inline uint32_t device_number(const struct device_context *context, const struct device_pair *pair)
{
    return (uint32_t)(pair - context->pairs) + 1;
}

/* Takes a free pair; NULL: none. Lock-free. */
struct device_pair *device_take(struct device_context *context);
void device_give(struct device_context *context, struct device_pair *pair);
/* Gives several at once: they hang together by `next` from the first, on top, to the last. */
void device_give_all(struct device_context *context, struct device_pair *top, struct device_pair *bottom);
/* To be read. */
void device_put_pending(struct device_context *context, struct device_pair *pair);

/* With the slot's lock. Makes the context current and the thread's captures no concern of what follows
 * (stream captures forbid event calls otherwise, also to other threads). False: the driver refuses; nothing
 * is to be left then. */
struct device_visit {
    CUstreamCaptureMode mode;
};
bool device_visit(struct device_context *context, struct device_visit *visit);
void device_leave(struct device_visit *visit);
/* With the lock, inside a visit: more pairs. False: none could be made. */
bool device_fill(struct device_context *context);
/* With the lock, inside a visit: all events are given back to the driver. */
void device_empty(struct device_context *context);
/* Makes the first pairs, or more. Not while the program captures anything, but for the poller. */
void device_supply(struct device_context *context);

/* reader.c */
enum device_road { DEVICE_TO_RING, DEVICE_TO_MEMORY };
/* With the lock, inside a visit: reads what is ready, `limit` at most. Returns how many were. */
uint32_t device_read(struct device_context *context, enum device_road road, uint32_t limit);
/* Reads until nothing is under way that was recorded before this moment, as long as the patience lasts. */
void device_read_within(struct device_context *context, enum device_road road, struct patience *patience);
/* With the lock: what is still under way is given up and counted. It belongs to no session then, and is read
 * all the same, for its events' sake. */
void device_give_up(struct device_context *context, enum cap_untimed why);
/* With the lock, right behind that: it is not even read; its events are about to be destroyed. */
void device_forget(struct device_context *context);
/* See struct record_backend. */
void device_drain(unsigned limit_ms);
uint64_t device_pending(void);

/* clock.c: with the lock, inside a visit. */
enum device_answer { DEVICE_DONE, DEVICE_NOT_YET, DEVICE_NO_TIME, DEVICE_FAILED, DEVICE_GONE };
/* Reads a pair: the interval of its work. */
enum device_answer device_times(struct device_context *context, const struct device_pair *pair,
                                struct record_interval *interval);
/* Without the lock: after a wait for this stream, takes an anchor when one is due. */
void device_synchronize_clocks(struct device_context *context, const struct device_stream *waited);

/* budget.c */
/* Timing has cost the time between these ticks. */
void device_paid(uint64_t since, uint64_t until);
/* How many calls of this thread to leave out now. */
uint32_t device_gap(void);

/* poller.c */
/* Whether it slept: that took a system call. */
bool device_poller_wake(void);
bool device_poller_runs(void);
extern _Atomic bool device_exiting; /* exit() has begun: nothing more is timed */
/* sample.c: memory of each device in use. False: of none. */
bool device_sample(enum device_road road);

#endif
