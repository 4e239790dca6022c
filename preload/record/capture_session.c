#include "preload/record/capture_session.h"

#include <string.h>

#include "common/jsonl_text.h"
#include "preload/record/record.h"
#include "preload/record/session.h"
#include "preload/signals.h"
#include "preload/unnoticed.h"

/* The open session is one of these; whoever makes it false ends it. */
static _Atomic bool explicit_open;
static _Thread_local char last_error[512];

static enum capture_result fail(enum capture_result result, const char *why)
{
    size_t length = strnlen(why, sizeof last_error - 1);

    memcpy(last_error, why, length);
    last_error[length] = '\0';
    return result;
}

const char *capture_error(void)
{
    return last_error;
}

bool capture_is_open(void)
{
    return atomic_load_explicit(&explicit_open, memory_order_relaxed) &&
           atomic_load_explicit(&record_page->state, memory_order_relaxed) == SESSION_OPEN;
}

static enum capture_result refused(uint32_t state)
{
    if (state > SESSION_LAST_LIVE) return fail(CAPTURE_DISABLED, "nothing is recorded in this process");
    return fail(CAPTURE_BUSY, "a session is open");
}

/* From CLOSED to a process in which sessions come and go; a state after that stays. */
static uint32_t explicit_state(void)
{
    uint32_t state = atomic_load_explicit(&record_page->state, memory_order_acquire);

    if (state != SESSION_CLOSED) return state;
    session_come_and_go();
    return session_first(false);
}

enum capture_result capture_explicit_only(void)
{
    ERRNO_KEPT;
    uint32_t state = explicit_state();

    return state == SESSION_WAITING ? CAPTURE_DONE : refused(state);
}

static enum capture_result open_waiting(const struct capture_request *asked, struct record_thread *thread,
                                        bool synchronised)
{
    SIGNALS_HELD;
    static const char nameless[] = "region";
    struct capture_request request = *asked;
    const char *name = request.region ? request.region : nameless;
    uint32_t state = SESSION_WAITING;
    struct cap_region region = {.outside = CAP_SPAN_ROOT,
                                .source = CAP_SOURCE_API,
                                .own = request.own_region,
                                .tid = thread_tid(thread)};
    const char *wrong;

    /* Acquire: the session before has been put away. */
    if (!atomic_compare_exchange_strong_explicit(&record_page->state, &state, SESSION_OPENING,
                                                 memory_order_acquire, memory_order_relaxed))
        return refused(state);
    request.synchronised = synchronised;
    region.name = record_string(name, strlen(name));
    region.step = span_step(region.name);
    for (uint32_t i = 1; i <= thread->peer->depth && i <= CAP_ENCLOSING_MAX && !region.own; i++)
        region.enclosing[region.enclosing_count++] = thread->peer->open[i].range.name;
    wrong = session_open(&request, &region, thread);
    if (wrong) {
        atomic_store_explicit(&record_page->state, SESSION_WAITING, memory_order_release);
        return fail(CAPTURE_IO, wrong);
    }
    atomic_store_explicit(&explicit_open, true, memory_order_release);
    return CAPTURE_DONE;
}

static enum capture_result begin(const struct capture_request *request, struct record_thread *thread)
{
    uint32_t state = explicit_state();

    if (state != SESSION_WAITING) return refused(state);
    if (!ring_peer(thread)) return fail(CAPTURE_IO, "no memory");
    /* May take long: with the program's signals. */
    return open_waiting(request, thread, record_synchronise && record_synchronise());
}

/* The calling thread is inside of a call of ours: nothing that we do is recorded. False: it is already. */
static bool enter(struct record_thread *thread, uintptr_t frame)
{
    if (record_is_inside(thread) && record_is_still_inside(thread, frame)) return false;
    thread->busy = frame;
    atomic_signal_fence(memory_order_seq_cst);
    return true;
}

static void leave(struct record_thread *thread)
{
    atomic_signal_fence(memory_order_seq_cst);
    thread->busy = 0;
}

enum capture_result capture_begin(const struct capture_request *request)
{
    struct record_thread *thread = &record_self;
    enum capture_result result;
    CANCEL_HELD;
    ERRNO_KEPT;

    session_load();
    if (!enter(thread, record_frame())) return fail(CAPTURE_BUSY, "called from inside another call");
    result = begin(request, thread);
    leave(thread);
    return result;
}

/* When the thread is the region's, its spans end with the region, now. */
static void end_own(struct record_thread *thread, struct session_end *end)
{
    if (thread->generation != session.generation || thread_tid(thread) != session.region.tid) return;
    end->tick = record_tick();
    span_cut(thread, end->tick);
}

static enum capture_result close_session(struct record_thread *thread, struct session_end *end,
                                         bool synchronised)
{
    SIGNALS_HELD;
    uint32_t open = SESSION_OPEN;

    end_own(thread, end);
    if (!atomic_exchange(&explicit_open, false) ||
        !atomic_compare_exchange_strong(&record_page->state, &open, SESSION_CLOSING))
        return fail(CAPTURE_NONE, "another thread ends it, or the program does");
    session.run.synchronised = synchronised;
    return session_close(end) ? CAPTURE_DONE
                              : fail(CAPTURE_IO, "the trace is not complete; cg-analyze recover makes it");
}

enum capture_result capture_end(bool failed, const char *reason, char *path, size_t size)
{
    struct record_thread *thread = &record_self;
    struct session_end end = {.how = "session", .reason = failed ? reason : NULL};
    enum capture_result result;
    bool synchronised;
    CANCEL_HELD;
    ERRNO_KEPT;

    if (!capture_is_open()) return fail(CAPTURE_NONE, "no session of the program's own is open");
    if (!enter(thread, record_frame())) return fail(CAPTURE_BUSY, "called from inside another call");
    synchronised = session.run.synchronised && record_synchronise && record_synchronise();
    result = close_session(thread, &end, synchronised);
    if (result != CAPTURE_NONE && path && size > 0) {
        size_t length = strnlen(session.trace_path, size - 1);
        memcpy(path, session.trace_path, length);
        path[length] = '\0';
    }
    leave(thread);
    return result;
}
