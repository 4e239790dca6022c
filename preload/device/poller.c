/* The thread that reads pairs, keeps enough of them ready and samples memory; and what begins and ends it.
 *
 * It is not the writer's thread: a call into a driver that compiles or hangs must not keep the rings from
 * being emptied. While something is under way it looks once a millisecond; else it sleeps until something is.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "preload/device/context.h"
#include "preload/hooks/state.h"
#include "preload/own_thread.h"
#include "preload/record/lock.h"
#include "preload/record/session.h"
#include "preload/signals.h"
#include "preload/unnoticed.h"

enum {
    LOOK_NS = 1000 * 1000,
    LOOK_MAX_NS = 20 * 1000 * 1000,
    BATCH = 128,
    END_MS = 5000,
    RETIRE_MS = 200,
    AGAIN_NS = 500 * 1000 * 1000,
};

_Atomic uint8_t device_mode = DEVICE_UNASKED;
_Atomic bool device_touched, device_exiting;

static _Atomic uint32_t resting; /* 1: the poller sleeps until it is called; futex */
static _Atomic bool stop, started;
static pid_t owner;

static void on_exit_read(void);
static const struct record_backend backend;

/* ---- sleeping ---- */

bool device_poller_wake(void)
{
    /* Sequentially consistent: behind the store of what there is to do, and before the poller's look at it.
     */
    if (likely(!atomic_load(&resting)) || !atomic_exchange(&resting, 0)) return false;
    futex_wake(&resting, 1);
    return true;
}

bool device_poller_runs(void)
{
    return atomic_load_explicit(&record_backend_thread, memory_order_relaxed);
}

static bool any_under_way(void)
{
    uint32_t used = atomic_load_explicit(&device_slots_used, memory_order_acquire);

    for (uint32_t slot = 1; slot <= used; slot++) {
        struct device_context *context = &device_contexts[slot];
        if (atomic_load(&context->pending_top) || atomic_load(&context->wanted) ||
            (atomic_load_explicit(&context->under_way, memory_order_relaxed) &&
             atomic_load_explicit(&context->state, memory_order_relaxed) == DEVICE_SLOT_READY))
            return true;
    }
    return false;
}

static bool any_wanted(void)
{
    uint32_t used = atomic_load_explicit(&device_slots_used, memory_order_acquire);

    for (uint32_t slot = 1; slot <= used; slot++)
        if (atomic_load(&device_contexts[slot].wanted)) return true;
    return false;
}

/* Until there is work to read, or for ns. 0: woken by the first touch where that asks for a sample; it looks
 * again by itself as well, should the kernel refuse the call that wakes it. */
static void rest(uint64_t ns)
{
    atomic_store(&resting, 1);
    if (!stop && !any_under_way() &&
        (ns || !session.settings.memory_sample_ms || !atomic_load(&device_touched)))
        futex_wait(&resting, 1, ns ? ns : AGAIN_NS);
    atomic_store(&resting, 0);
}

/* ---- a round ---- */

static uint32_t visit_slot(struct device_context *context)
{
    struct device_visit visit;
    uint32_t read = 0;

    lock_take(&context->lock);
    if (atomic_load_explicit(&context->state, memory_order_relaxed) == DEVICE_SLOT_READY &&
        device_visit(context, &visit)) {
        read = device_read(context, DEVICE_TO_RING, BATCH);
        device_leave(&visit);
    }
    lock_give(&context->lock);
    return read;
}

/* A program that begins a capture finds enough pairs for what else it does: none are made in hooks then. */
static bool needs_pairs(struct device_context *context, uint32_t under_way)
{
    enum { ENOUGH = 4 * DEVICE_FILL };

    return atomic_load_explicit(&context->wanted, memory_order_relaxed) ||
           (atomic_load_explicit(&context->state, memory_order_acquire) == DEVICE_SLOT_READY &&
            context->made < DEVICE_PAIRS && (context->made < ENOUGH || under_way * 2 > context->made));
}

static uint32_t read_all(void)
{
    uint32_t used = atomic_load_explicit(&device_slots_used, memory_order_acquire), total = 0, read;
    struct record_call call;

    for (uint32_t slot = 1; slot <= used; slot++) {
        struct device_context *context = &device_contexts[slot];
        uint32_t under_way = atomic_load_explicit(&context->under_way, memory_order_relaxed);

        if (needs_pairs(context, under_way)) device_supply(context);
        if (!under_way || !record_enter_quiet(&call, 0)) continue;
        do
            total += read = visit_slot(context);
        while (read == BATCH && !stop);
        record_leave(&call);
    }
    return total;
}

/* Once at the beginning of a session, then every so often while there is work. */
static void sample_if_due(bool touched)
{
    static uint64_t sampled_ns, sampled_session;
    uint64_t period = session.settings.memory_sample_ms * UINT64_C(1000000), now = monotonic_ns(),
             open = record_session();
    struct record_call call;
    bool any;

    if (!period || !open || (open == sampled_session && (!touched || now - sampled_ns < period)) ||
        !record_enter_quiet(&call, 0))
        return;
    any = device_sample(DEVICE_TO_RING);
    record_leave(&call);
    if (!any) return; /* it is tried again in the next round */
    sampled_ns = now;
    sampled_session = open;
    /* What comes from here on asks for the next. */
    atomic_store(&device_touched, false);
}

static void *poll(void *unused)
{
    FLOATS_HELD;
    uint64_t look = LOOK_NS;

    prctl(PR_SET_NAME, "cgtrace-device", 0, 0, 0);
    record_self.ours = true;
    while (!stop) {
        bool touched = atomic_load(&device_touched);
        uint32_t read = read_all();

        sample_if_due(touched);
        if (any_under_way()) {
            look = read ? LOOK_NS : look * 2 < LOOK_MAX_NS ? look * 2 : LOOK_MAX_NS;
            if (!stop) nap_ns(look);
        } else {
            look = LOOK_NS;
            rest(atomic_load(&device_touched) ? session.settings.memory_sample_ms * UINT64_C(1000000) : 0);
            /* The first work is hardly done, and calls into a driver wait for each other: a look at once took
             * the launches behind it 800 ns instead of 250. Pairs that are wanted are wanted now. */
            if (!stop && any_under_way() && !any_wanted()) nap_ns(LOOK_NS);
        }
    }
    atomic_store(&record_backend_thread, false);
    return unused;
}

/* ---- its beginning ---- */

static void start(void)
{
    pthread_t thread;
    SIGNALS_HELD;

    if (atomic_exchange(&started, true)) return;
    if (owner == 0) atexit(on_exit_read);
    owner = getpid();
    record_backend_set(&backend);
    /* Without a writer nobody would end it behind the program's last thread: what there is is read at the
     * end. */
    if (session.writer_failed) return;
    /* Before the thread is there: who counts threads must know of it. */
    atomic_store(&record_backend_thread, true);
    if (!own_thread_begin(&thread, PTHREAD_CREATE_DETACHED, poll, NULL))
        atomic_store(&record_backend_thread, false);
}

static void ask_settings(void)
{
    uint8_t mode = session.settings.timing == CG_TIMING_EVENTS ? DEVICE_ALL
                   : session.settings.timing == CG_TIMING_AUTO ? DEVICE_BUDGET
                   : session.settings.memory_sample_ms         ? DEVICE_SAMPLES
                                                               : DEVICE_OFF;

    atomic_store(&device_mode, mode);
}

void device_touch_slow(void)
{
    int kept = errno;

    if (atomic_load_explicit(&device_mode, memory_order_relaxed) == DEVICE_UNASKED) ask_settings();
    if (atomic_load_explicit(&device_mode, memory_order_relaxed) != DEVICE_OFF && record_session() &&
        session.pid == getpid() && !atomic_load(&device_exiting)) {
        atomic_store(&device_touched, true);
        if (!atomic_load_explicit(&started, memory_order_relaxed)) start();
        device_poller_wake();
    }
    errno = kept;
}

/* ---- its end ---- */

static void retire(void)
{
    if (!atomic_load(&started)) return;
    atomic_store(&stop, true);
    atomic_store(&resting, 0);
    futex_wake(&resting, 1);
    for (int i = 0; i < RETIRE_MS * 10 && device_poller_runs(); i++)
        nap_ns(100 * 1000);
    if (device_poller_runs()) return; /* the driver does not let go of it: it ends when it comes back */
    /* The next session begins another one. */
    atomic_store(&stop, false);
    atomic_store(&device_touched, false);
    atomic_store(&started, false);
}

static const struct record_backend backend = {
    .drain = device_drain, .retire = retire, .pending = device_pending};

/* Handlers of exit() run in the reverse order of their registration, and this one was registered with the
 * first work: so the driver, which registers its own when it is initialised, is still there. No thread of
 * ours is in it when its handler runs. */
static void on_exit_read(void)
{
    if (owner != getpid()) return;
    retire();
    atomic_store(&started, true); /* none from here on */
    if (record_session()) device_drain(END_MS);
    atomic_store(&device_exiting, true);
}

void device_forked(void)
{
    for (unsigned slot = 1; slot <= DEVICE_SLOTS; slot++)
        if (device_contexts[slot].pairs) munmap(device_contexts[slot].pairs, DEVICE_PAIRS_BYTES);
    memset(device_contexts, 0, sizeof device_contexts);
    atomic_store(&device_slots_used, 0);
    atomic_store(&resting, 0);
    stop = started = false;
    atomic_store(&device_touched, false);
    atomic_store(&device_exiting, false);
    atomic_store(&record_backend_thread, false);
    atomic_store(&device_mode, DEVICE_UNASKED);
    device_thread = (struct device_thread){0};
}
