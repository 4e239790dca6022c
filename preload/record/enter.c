/* A call that is not plainly inside of the open session: it may open one, join it, stand outside of it, or be
 * another one's inner call. And what was not recorded, counted. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "preload/record/maps.h"
#include "preload/record/owned.h"
#include "preload/record/record.h"
#include "preload/record/session.h"
#include "preload/signals.h"

static void enter_outside(struct record_call *call, uint16_t api, uintptr_t frame)
{
    struct record_thread *thread = &record_self;

    thread->busy = frame;
    /* For a signal handler on this thread: busy before everything that it guards. */
    atomic_signal_fence(memory_order_seq_cst);
    *call = (struct record_call){
        .thread = thread, .begin = record_tick(), .api = api, .device = CAP_NO_DEVICE, .outside = true};
}

/* The state of the process after this call's part in it: a first call opens its session, or is the first of a
 * process in which sessions come and go. */
static uint32_t state_for(unsigned interest)
{
    uint32_t state = atomic_load_explicit(&record_page->state, memory_order_acquire);

    if (state == SESSION_CLOSED && (interest & RECORD_OPENS || session.comes_and_goes))
        state = session_first(interest & RECORD_OPENS);
    return state;
}

static bool join(void)
{
    /* Acquire: all of the session, whose opener stores this last but for the state. */
    uint64_t generation = atomic_load_explicit(&record_page->generation, memory_order_acquire);

    return generation < RECORD_GENERATION_NONE && ring_acquire(&record_self, generation, false);
}

/* Frames of different stacks tell nothing of each other: both must be on the one that the thread was given,
 * where the C library keeps its own of a thread too. */
static bool on_own_stack(uintptr_t frame, uintptr_t now)
{
    static const char main_name[] = "[stack]";
    char buffer[512 + CAP_PATH_MAX];
    uintptr_t self = (uintptr_t)pthread_self();
    struct mapping stack;
    stack_t other;

    if (sigaltstack(NULL, &other) || other.ss_flags & SS_ONSTACK) return false;
    if (!maps_find(now, buffer, sizeof buffer, &stack) || frame < stack.begin) return false;
    return (self >= stack.begin && self < stack.end) ||
           (stack.name_length == sizeof main_name - 1 &&
            memcmp(stack.name, main_name, stack.name_length) == 0);
}

bool record_frame_is_gone(uintptr_t frame, uintptr_t now)
{
    int past = errno;
    bool gone = frame != 0 && now >= frame && on_own_stack(frame, now);

    errno = past;
    return gone;
}

bool record_is_still_inside(struct record_thread *thread, uintptr_t frame)
{
    struct record_peer *peer = thread->peer;
    uintptr_t at = atomic_load_explicit(&peer->at, memory_order_relaxed) & ~(uintptr_t)RECORD_AT_MASK;

    if (!record_frame_is_gone(thread->busy ? thread->busy : at, frame)) return true;
    thread->busy = frame;
    atomic_signal_fence(memory_order_seq_cst);
    owned_leave(thread);
    signals_left();
    span_left(thread);
    ring_window_leave(peer);
    atomic_signal_fence(memory_order_seq_cst);
    thread->busy = 0;
    record_gap(RECORD_GAP_ABANDONED, 1);
    return false;
}

enum record_entered record_enter_slow(struct record_call *call, uint16_t api, unsigned interest,
                                      uintptr_t frame)
{
    struct record_thread *thread = &record_self;
    uint32_t state = atomic_load_explicit(&record_page->state, memory_order_acquire);
    int past = errno;
    bool joined;

    if (state == SESSION_WAITING && !(interest & RECORD_OUTSIDE)) return RECORD_REFUSED;
    if (record_is_inside(thread) && record_is_still_inside(thread, frame)) {
        /* A handler's, in a call that joins; in one that opens it would be our own look-ups, too. */
        if (state == SESSION_OPEN) record_nested();
        return RECORD_REFUSED;
    }
    if (state > SESSION_LAST_LIVE || (state == SESSION_CLOSED && !interest)) return RECORD_REFUSED;
    thread->busy = frame;
    atomic_signal_fence(memory_order_seq_cst);
    if (unlikely(thread->of_parent)) span_forget(thread);
    state = state_for(interest);
    joined = state == SESSION_OPEN && join();
    atomic_signal_fence(memory_order_seq_cst);
    thread->busy = 0;
    errno = past;
    if (joined) return RECORD_JOINED;
    if (!(interest & RECORD_OUTSIDE) || state > SESSION_LAST_LIVE || state == SESSION_CLOSED ||
        !session.comes_and_goes)
        return RECORD_REFUSED;
    enter_outside(call, api, frame);
    return RECORD_IS_OUTSIDE;
}

void record_nested(void)
{
    record_gap(RECORD_GAP_NESTED, 1);
}

/* Gaps found while no session is open. What is found before the first one is the first one's: most look-ups
 * come before the first event. Where sessions come and go only routes that stay unseen concern those to come.
 */
static _Atomic uint64_t early_gaps[CAP_GAPS_MAX];

void record_gap(enum record_gap gap, uint64_t count)
{
    uint32_t state = atomic_load_explicit(&record_page->state, memory_order_acquire);
    bool stays = gap == RECORD_GAP_UNKNOWN_ENTRY_POINT && session.comes_and_goes;

    /* The header is never unmapped, only made another session's. */
    if (state == SESSION_OPEN)
        atomic_fetch_add_explicit(&session.header->gaps[gap], count, memory_order_relaxed);
    if (stays || (state == SESSION_CLOSED && !session.comes_and_goes))
        atomic_fetch_add_explicit(&early_gaps[gap], count, memory_order_relaxed);
}

void record_early_gaps(void)
{
    for (int gap = 0; gap < CAP_GAP_COUNT; gap++)
        atomic_store_explicit(&session.header->gaps[gap],
                              atomic_load_explicit(&early_gaps[gap], memory_order_relaxed),
                              memory_order_relaxed);
}
