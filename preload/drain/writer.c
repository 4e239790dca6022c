#include "preload/drain/writer.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/jsonl_text.h"
#include "preload/drain/meta.h"
#include "preload/drain/state.h"
#include "preload/own_thread.h"
#include "preload/patience.h"
#include "preload/record/clock.h"
#include "preload/record/device.h"
#include "preload/record/lock.h"
#include "preload/record/record.h"
#include "preload/record/session.h"
#include "preload/unnoticed.h"

enum {
    BUSY_NS = 5 * 1000 * 1000,  /* between two rounds that had something to do */
    FIRST_NS = 1 * 1000 * 1000, /* after a round without; doubled up to */
    IDLE_NS = 50 * 1000 * 1000,
    SPARE_RINGS = 2,
};

static _Atomic uint32_t go;   /* 1: the session is open; futex */
static _Atomic uint32_t stop; /* 1: end the trace */
static _Atomic uint32_t done; /* 1: it is ended; futex */
static _Atomic uint32_t rounds;
static _Atomic bool running;
static struct session_end session_end;
static sigset_t program_signals; /* blocked in the thread that opened the session */

void writer_wake(void)
{
    if (atomic_exchange_explicit(&record_page->wake, 1, memory_order_release) == 0)
        futex_wake(&record_page->wake, 1);
}

static void rest(uint64_t ns)
{
    futex_wait(&record_page->wake, 0, ns);
    /* Acquire: what the waker stored before is seen in the round that follows. */
    atomic_exchange_explicit(&record_page->wake, 0, memory_order_acquire);
}

static bool stopping(void)
{
    return atomic_load_explicit(&stop, memory_order_acquire) != 0;
}

/* Rings whose owners are gone without a word: a thread that records in the last of its destructors takes a
 * ring after ours has given the first one back. */
static void retire_dead(uint32_t used)
{
    for (uint32_t i = 0; i < used; i++) {
        uint32_t owned = CAP_RING_OWNED;

        if (atomic_load_explicit(&session.rings[i].state, memory_order_acquire) != owned) continue;
        if (session.views[i].open_depth > 0 ||
            syscall(SYS_tgkill, session.pid, session.rings[i].tid, 0) == 0 || errno != ESRCH)
            continue;
        atomic_compare_exchange_strong(&session.rings[i].state, &owned, CAP_RING_RETIRED);
    }
}

/* Rings for threads that are yet to come, so that they need not wait for their pages. */
static void keep_spares(void)
{
    uint32_t used = atomic_load_explicit(&session.header->rings_used, memory_order_acquire), spare = 0;

    ring_populate();
    for (uint32_t i = 0; i < used; i++)
        spare += atomic_load_explicit(&session.rings[i].state, memory_order_relaxed) == CAP_RING_FREE;
    if (spare < SPARE_RINGS) retire_dead(used);
    while (spare < SPARE_RINGS && ring_prepare(true))
        spare++;
}

static void wait_for_rate(void)
{
    struct cap_anchor now;

    while (!session.rate_known) {
        clock_anchor(&now);
        int64_t past = now.monotonic_ns - session.header->first.monotonic_ns;
        if (past < 0 || past >= CLOCK_RATE_NS || stopping()) return; /* negative: that clock has jumped */
        rest((uint64_t)(CLOCK_RATE_NS - past));
    }
}

static void finish(void)
{
    FLOATS_HELD;
    uint64_t end_tick;

    drain_fix_rate();
    drain_round(&end_tick);
    end_trace(session_end.last ? session_end.last : end_tick, &session_end);
    /* Release: the trace is in place before it is said so. */
    atomic_store_explicit(&done, 1, memory_order_release);
    futex_wake(&done, INT32_MAX);
}

/* Whether every thread of the program has ended, its first by pthread_exit() (which stays as a zombie): a
 * process ends with its last thread, and that must not be this one. Takes no descriptor, which a program near
 * its limit, or one that counts on the lowest free number, would miss, and which may not be had.
 *
 * Of a thread that has ended the kernel forgets the list of robust mutexes, and the program that it ran.
 * Where only the former tells, this thread leaves rather than keep a process for good: then records are
 * drained at the end alone. */
static bool alone(void)
{
    void *list = NULL;
    size_t bytes;
    struct stat tasks;
    bool told = syscall(SYS_get_robust_list, getpid(), &list, &bytes) == 0, counted;
    unsigned helpers;
    char program;

    if (told && list) return false;
    counted = stat("/proc/self/task", &tasks) == 0;
    if (counted ? readlink("/proc/self/exe", &program, 1) >= 0 || (errno != ENOENT && !told) : !told)
        return false;
    /* A folder's two links, and one for each thread. The one that reads events and the one that has the file
     * on its disk are ours too: they go first. */
    helpers = (unsigned)record_backend_thread + writer.sync.made;
    if (!counted || tasks.st_nlink == 2 + 2 + helpers) {
        if (record_backend_thread) record_device_retire();
        early_sync_end(&writer.sync);
    }
    return !counted || tasks.st_nlink == 2 + 2;
}

/* By its return this thread, now the last, has the C library call exit(0), as the program's last would have:
 * the handlers that run then are the program's, and the session ends among them. */
static void *leave_last(void)
{
    running = false;
    atomic_store_explicit(&session.writer_failed, true, memory_order_relaxed); /* nobody gives room now */
    record_self.busy = 0;
    pthread_sigmask(SIG_SETMASK, &program_signals, NULL);
    return NULL;
}

static void *run(void *unused)
{
    FLOATS_HELD;
    uint64_t pause = FIRST_NS, end_tick;

    prctl(PR_SET_NAME, "cgtrace", 0, 0, 0);
    record_self.busy = record_frame(); /* nothing that this thread does is recorded */
    /* Acquire: all of the session comes before its being open. */
    while (!atomic_load_explicit(&go, memory_order_acquire))
        futex_wait(&go, 0, IDLE_NS); /* looks again by itself: a sandbox may forbid the call that wakes it */
    keep_spares();
    wait_for_rate();
    drain_fix_rate();
    while (!stopping()) {
        if (drain_round(&end_tick) > 0)
            pause = BUSY_NS;
        else if (alone())
            return leave_last();
        else if ((pause *= 2) > IDLE_NS)
            pause = IDLE_NS;
        keep_spares();
        clock_anchor(&session.header->last);
        atomic_fetch_add_explicit(&rounds, 1, memory_order_relaxed);
        if (!stopping()) rest(pause);
    }
    finish();
    return unused;
}

/* ---- opening ---- */

/* Made once, and used by every session after that. */
static bool open_state(void)
{
    struct jsonl_api *apis;
    struct jsonl_state *state = &writer.state;
    const uint64_t numbers = STRINGS_BYTES / 8, stacks = STACKS_BYTES / 8;
    const size_t bits = numbers / 8, stack_bits = stacks / 8, symbols = sizeof(struct symbols);
    size_t bytes = WRITER_BUFFER + bits + stack_bits + symbols + hook_api_count * sizeof(struct jsonl_api);
    char *memory = writer.buffer, *areas;

    if (!memory) memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return false;
    areas = memory + WRITER_BUFFER;
    apis = (struct jsonl_api *)(areas + bits + stack_bits + symbols);
    memset(&writer, 0, sizeof writer);
    writer.buffer = memory;
    memset(areas, 0, bits + stack_bits);
    *state = (struct jsonl_state){.strings = session.strings,
                                  .strings_bytes = session.header->strings_used,
                                  .apis = apis,
                                  .api_count = hook_api_count,
                                  .whole = (uint64_t *)areas,
                                  .whole_limit = numbers,
                                  .stacks = session.stacks,
                                  .stack_whole = (uint64_t *)(areas + bits),
                                  .stack_limit = stacks,
                                  .symbols = (struct symbols *)(areas + bits + stack_bits)};
    return jsonl_apis(apis, hook_api_count, session.api_first, session.strings, state->strings_bytes);
}

int writer_open(void)
{
    size_t bound;
    char *out;

    if (!open_state()) return ENOMEM;
    writer.told = true; /* a failure here is the opening's to tell */
    writer.meta_room = strlen(session.header->meta) + META_RESERVE;
    bound = jsonl_region_bound(&writer.state, &session.region);
    if (writer.meta_room + 6 * sizeof session.run.entrypoint + 1024 + bound > WRITER_BUFFER) return EFBIG;
    out = writer.buffer;
    memset(out, ' ', writer.meta_room);
    out[writer.meta_room] = '\n';
    out += writer.meta_room + 1;
    out = jsonl_root(out, session.run.entrypoint, strlen(session.run.entrypoint));
    out = jsonl_region(&writer.state, out, &session.region);
    writer.used = (size_t)(out - writer.buffer);
    return 0;
}

void writer_start(void)
{
    pthread_t thread;

    go = stop = done = rounds = 0;
    running = false;
    session.writer_failed = true; /* without it nobody gives room to those who wait */
    signals_of_program(&program_signals);
    /* Before the thread is there: it may be the last one soon. */
    running = true;
    if (!own_thread_begin(&thread, PTHREAD_CREATE_DETACHED, run, NULL)) running = false;
    session.writer_failed = !running;
    if (running) early_sync_open(&writer.sync);
}

void writer_go(void)
{
    atomic_store_explicit(&go, 1, memory_order_release);
    futex_wake(&go, 1);
}

/* ---- ending ---- */

bool writer_flush(void)
{
    enum { LIMIT_MS = 30000, LOOK_NS = 1000 * 1000 };
    struct patience patience = patience_ms(LIMIT_MS);
    uint32_t first = atomic_load_explicit(&rounds, memory_order_acquire), now = first;

    /* A round that is under way may have looked at our ring already. */
    while (running && !session.writer_failed && !stopping() && now - first < 2 && patience_lasts(&patience)) {
        writer_wake();
        futex_wait(&rounds, now, LOOK_NS);
        now = atomic_load_explicit(&rounds, memory_order_acquire);
    }
    return now - first >= 2 && !session.writer_failed;
}

bool writer_finish(const struct session_end *end)
{
    enum { STALLED_MS = 30000 };
    struct patience patience = patience_ms(end->limit_ms ? end->limit_ms : STALLED_MS);
    uint32_t seen = atomic_load_explicit(&record_page->progress, memory_order_relaxed);

    session_end = *end;
    if (!running) {
        finish();
        return true;
    }
    /* Release: how the session ended comes before the request. */
    atomic_store_explicit(&stop, 1, memory_order_release);
    writer_wake();
    while (!atomic_load_explicit(&done, memory_order_acquire)) {
        uint32_t progress = atomic_load_explicit(&record_page->progress, memory_order_relaxed);

        if (progress != seen && !end->limit_ms) patience = patience_ms(STALLED_MS);
        seen = progress;
        if (!patience_lasts(&patience)) return false;
        futex_wait(&done, 0, 10 * 1000 * 1000);
    }
    return true;
}
