/* The end of the process: a destructor for exit() and a return from main(), wrappers for _exit() and _Exit(),
 * a handler for quick_exit(); and wrappers for exit() and abort() in threads that come upon another's exit().
 */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/jsonl_text.h"
#include "preload/drain/state.h"
#include "preload/patience.h"
#include "preload/record/paths.h"
#include "preload/record/record.h"
#include "preload/record/region.h"
#include "preload/record/session.h"
#include "preload/say.h"
#include "preload/signals.h"
#include "preload/unnoticed.h"

enum { EXIT_LIMIT_MS = 2000, PATIENCE_MS = 60000 };

static char *put(char *out, const char *text)
{
    return jsonl_bytes(out, text, strlen(text));
}

/* Of the selected occurrences some did not come: " range X occurred N times, ...". "" when all did. */
static void describe_missing(char *out)
{
    uint64_t count, selected;

    *out = '\0';
    if (!region_missed(&count, &selected)) return;
    out = put(out, "range ");
    out = jsonl_bytes(out, session.settings.range, strnlen(session.settings.range, 200));
    out = put(out, " occurred ");
    out = jsonl_u64(out, count);
    out = put(out, count == 1 ? " time" : " times");
    if (session.placed.traces > 0) {
        out = put(out, ", ");
        out = jsonl_u64(out, session.placed.traces);
        out = put(out, " of ");
        out = jsonl_u64(out, selected);
        out = put(out, " selected ones captured");
    } else {
        out = put(out, "; nothing captured");
    }
    *out = '\0';
}

/* The one line at the end. */
static void say_result(void)
{
    const struct session_sum *sum = &session.placed;
    char records[21], lost[21], traces[40] = "", permille[24], missing[512], pattern[1024];
    uint64_t share = sum->overhead_ns * 1000 / (sum->time_ns + 1);

    describe_missing(missing);
    if (sum->traces == 0) {
        if (*missing) say(session.quiet, missing, NULL);
        return;
    }
    say_u64(permille, share / 10);
    size_t length = strlen(permille);
    permille[length] = '.';
    permille[length + 1] = (char)('0' + share % 10);
    permille[length + 2] = '\0';
    if (sum->traces > 1) {
        paths_pattern(pattern, sizeof pattern);
        *put(jsonl_u64(traces, sum->traces), " traces, ") = '\0';
    }
    say(session.quiet, sum->traces > 1 ? pattern : sum->first, ": ", traces, say_u64(records, sum->records),
        " records, ", say_u64(lost, sum->lost), " lost, overhead about ", permille, " %",
        *missing ? "; " : "", missing, "; next: cg-analyze overview ", sum->first, NULL);
}

/* Another thread opens or closes a region just now: until it has. */
static uint32_t wait_for_others(unsigned limit_ms)
{
    unsigned waited = 0;
    uint32_t state;

    for (;;) {
        /* Acquire: what that thread has put in place. */
        state = atomic_load_explicit(&record_page->state, memory_order_acquire);
        if ((state != SESSION_OPENING && state != SESSION_CLOSING) || waited >= limit_ms) return state;
        nap_ns(1000000);
        waited++;
    }
}

/* ---- threads that go on while another one is in exit() ---- */

/* Without us the process would be gone at once when its driver is: a thread that learns of that from its next
 * call has no time to act on it, and must not have any because we still write. BEGIN_MS: for handlers and
 * destructors of the program between the driver's handler and ours, which may wait for the thread; once in a
 * process. CLOSING_MS: it may hold what the writer needs, the loader's lock. */
void record_hold(void)
{
    enum { BEGIN_MS = 10, CLOSING_MS = 2000, LOOK_NS = 1000 * 1000 };
    const struct record_thread *thread = &record_self;
    uintptr_t leaver = atomic_load(&record_page->leaver);
    struct patience begin, closing;

    if (likely(!leaver) || leaver == (uintptr_t)thread || thread->ours || record_is_inside(thread)) return;
    begin = patience_ms(BEGIN_MS);
    closing = patience_ms(CLOSING_MS);
    while (atomic_load(&record_page->leaver) && patience_lasts(&closing)) {
        if (atomic_load(&record_page->state) < SESSION_CLOSING &&
            (atomic_load(&record_page->held_long) || !patience_lasts(&begin))) {
            atomic_store(&record_page->held_long, true);
            return;
        }
        nap_ns(LOOK_NS);
    }
}

/* Handlers of exit() run in the reverse order of their registration: the driver, which registers its own
 * when it is initialised, is still there. */
static void before_driver(void)
{
    if (session.pid == getpid() && atomic_load(&record_page->state) == SESSION_OPEN)
        atomic_store(&record_page->leaver, (uintptr_t)&record_self);
}

void record_watch_exit(void)
{
    static _Atomic bool watched;
    ERRNO_KEPT;

    /* Where it cannot be had, threads are held from our own turn on. */
    if (!atomic_exchange(&watched, true)) atexit(before_driver);
}

/* ---- the end ---- */

static void end_session(unsigned limit_ms, const char *how)
{
    CANCEL_HELD;
    const struct session_end end = {.how = how, .limit_ms = limit_ms, .clipped = session.comes_and_goes};
    uint32_t state;
    int past = errno;
    uintptr_t busy = record_self.busy, leaver = (uintptr_t)&record_self;
    bool inside =
        record_is_inside(&record_self); /* a signal's handler, and who opens or closes may be its own */

    /* A vfork child shares our memory and is not us; a forked one has a session of its own or none. */
    if (session.pid != getpid()) return;
    record_self.busy = record_frame();
    if (strcmp(how, "exit") == 0) atomic_store(&record_page->leaver, leaver);
    do {
        state = wait_for_others(inside ? 0 : limit_ms ? limit_ms : PATIENCE_MS);
    } while ((state == SESSION_OPEN || state == SESSION_WAITING) &&
             !atomic_compare_exchange_strong(&record_page->state, &state,
                                             state == SESSION_OPEN ? SESSION_CLOSING : SESSION_ENDED));
    if (state == SESSION_OPEN && !session_close(&end) && !writer.error)
        say(session.quiet, "the trace was not complete in time; cg-analyze recover ", session.capture.path,
            " makes it", NULL);
    else if (state == SESSION_OPEN || state == SESSION_WAITING)
        say_result();
    if (state == SESSION_OPEN) atomic_store(&record_page->state, SESSION_ENDED);
    record_self.busy = busy;
    atomic_compare_exchange_strong(&record_page->leaver, &leaver, 0);
    errno = past;
}

void record_finish(unsigned limit_ms)
{
    end_session(limit_ms, "finish");
}

static void quick(void)
{
    record_hold();
    end_session(EXIT_LIMIT_MS, "quick_exit");
}

/* Of the library behind us, which may have something to do there (sanitizers have); looked up beforehand,
 * since a handler of signals may end the process. */
static void (*next__exit)(int status), (*next_exit)(int status), (*next_abort)(void);

static void find_next(void)
{
    next__exit = (void (*)(int))dlsym(RTLD_NEXT, "_exit");
    next_exit = (void (*)(int))dlsym(RTLD_NEXT, "exit");
    next_abort = (void (*)(void))dlsym(RTLD_NEXT, "abort");
}

__attribute__((constructor)) static void watch(void)
{
    ERRNO_KEPT;

    at_quick_exit(quick);
    find_next();
}

__attribute__((destructor)) static void unload(void)
{
    end_session(0, "exit");
}

static _Noreturn void leave(int status)
{
    if (next__exit) next__exit(status);
    /* What the C library's own do: end every thread of the process, at once. */
    for (;;)
        syscall(SYS_exit_group, status);
}

__attribute__((visibility("default"))) _Noreturn void _exit(int status)
{
    record_hold();
    end_session(EXIT_LIMIT_MS, "_exit");
    leave(status);
}

__attribute__((visibility("default"))) _Noreturn void _Exit(int status)
{
    record_hold();
    end_session(EXIT_LIMIT_MS, "_exit");
    leave(status);
}

/* Not before another thread's exit() is over: this one would end the process while we close. */
__attribute__((visibility("default"))) _Noreturn void exit(int status)
{
    record_hold();
    /* A constructor may call it before ours had its turn. */
    if (!next_exit) find_next();
    if (next_exit) next_exit(status);
    leave(status);
}

__attribute__((visibility("default"))) _Noreturn void abort(void)
{
    record_hold();
    if (!next_abort) find_next();
    if (next_abort) next_abort();
    leave(128 + SIGABRT);
}
