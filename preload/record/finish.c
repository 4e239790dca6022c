/* The end of the process: a destructor for exit() and a return from main(), wrappers for _exit() and _Exit(),
 * a handler for quick_exit(). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/drain/state.h"
#include "preload/drain/writer.h"
#include "preload/record/device.h"
#include "preload/record/lock.h"
#include "preload/record/record.h"
#include "preload/record/session.h"
#include "preload/say.h"

enum { EXIT_LIMIT_MS = 2000 };

static void say_result(void)
{
    char records[21], lost[21], permille[24];
    uint64_t total = 0, share;

    for (int type = 0; type < CAP_TYPE_COUNT; type++)
        total += writer.state.written.records[type];
    share =
        writer.end.overhead_ns * 1000 / (writer.end_ns + session.fixed_ns + 1); /* opening is before time 0 */
    say_u64(permille, share / 10);
    size_t length = strlen(permille);
    permille[length] = '.';
    permille[length + 1] = (char)('0' + share % 10);
    permille[length + 2] = '\0';
    say(session.quiet, session.trace_path, ": ", say_u64(records, total), " records, ",
        say_u64(lost, writer.end.lost), " lost, overhead about ", permille, " %; next: cg-analyze overview ",
        session.trace_path, NULL);
}

static void end_session(unsigned limit_ms, const char *how)
{
    uint32_t open = SESSION_OPEN;
    int past = errno;

    /* A vfork child shares our memory and is not us; a forked one has a session of its own or none. */
    if (session.pid != getpid() ||
        !atomic_compare_exchange_strong(&record_page->state, &open, SESSION_CLOSING))
        return;
    record_device_drain(atomic_load(&record_page->generation), limit_ms / 2);
    atomic_store(&record_page->generation, RECORD_GENERATION_NONE);
    if (writer_finish(limit_ms, how)) {
        if (!writer.error) say_result();
    } else {
        say(session.quiet, "the trace was not complete in time; cg-analyze recover ", session.capture.path,
            " makes it", NULL);
    }
    atomic_store(&record_page->state, SESSION_ENDED);
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

__attribute__((constructor)) static void watch(void)
{
    at_quick_exit(quick);
}

__attribute__((destructor)) static void unload(void)
{
    end_session(0, "exit");
}

/* What the C library's own do: end every thread of the process, at once. */
static _Noreturn void leave(int status)
{
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
