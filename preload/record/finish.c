/* The end of the process: a destructor for exit() and a return from main(), wrappers for _exit() and _Exit(),
 * a handler for quick_exit(). */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/jsonl_text.h"
#include "preload/drain/state.h"
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

static void end_session(unsigned limit_ms, const char *how)
{
    CANCEL_HELD;
    const struct session_end end = {.how = how, .limit_ms = limit_ms, .clipped = session.comes_and_goes};
    uint32_t state;
    int past = errno;
    uintptr_t busy = record_self.busy;
    bool inside =
        record_is_inside(&record_self); /* a signal's handler, and who opens or closes may be its own */

    /* A vfork child shares our memory and is not us; a forked one has a session of its own or none. */
    if (session.pid != getpid()) return;
    record_self.busy = record_frame();
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
    errno = past;
}

void record_finish(unsigned limit_ms)
{
    end_session(limit_ms, "finish");
}

static void quick(void)
{
    end_session(EXIT_LIMIT_MS, "quick_exit");
}

/* Of the library behind us, which may have something to do there (sanitizers have); looked up beforehand,
 * since a handler of signals may end the process. */
static void (*next_exit)(int status);

__attribute__((constructor)) static void watch(void)
{
    int past = errno;

    at_quick_exit(quick);
    next_exit = (void (*)(int))dlsym(RTLD_NEXT, "_exit");
    errno = past;
}

__attribute__((destructor)) static void unload(void)
{
    end_session(0, "exit");
}

static _Noreturn void leave(int status)
{
    if (next_exit) next_exit(status);
    /* What the C library's own do: end every thread of the process, at once. */
    for (;;)
        syscall(SYS_exit_group, status);
}

__attribute__((visibility("default"))) _Noreturn void _exit(int status)
{
    end_session(EXIT_LIMIT_MS, "_exit");
    leave(status);
}

__attribute__((visibility("default"))) _Noreturn void _Exit(int status)
{
    end_session(EXIT_LIMIT_MS, "_exit");
    leave(status);
}
