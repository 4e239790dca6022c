/* The states of a process: nothing met, waiting, a session open, over. */
#include "preload/record/session.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "preload/drain/meta.h"
#include "preload/limits.h"
#include "preload/record/clock.h"
#include "preload/record/device.h"
#include "preload/record/live.h"
#include "preload/record/lock.h"
#include "preload/record/pages.h"
#include "preload/record/record.h"
#include "preload/record/region.h"
#include "preload/record/stacks.h"
#include "preload/say.h"
#include "preload/signals.h"

/* A session takes about 60 MiB of address space at once. Where a limit leaves less than this, the program may
 * want what we would take. */
#define MEMORY_LEFT (UINT64_C(256) << 20)

struct session session = {.rank = -1};

static struct record_page first_page; /* until the constructor has the real one */
struct record_page *record_page = &first_page;

/* ---- the first event ---- */

/* What a child has from its parent and must not touch. */
static void forget_parent(void)
{
    if (session.pid == 0) return;
    rings_unmap(false);
    strings_detach();
    stacks_detach();
    file_close(&session.capture);
    file_close(&session.part);
    session.number = 0;
    session.storage = 0;
    session.placed = (struct session_sum){0};
    live_reset();
    ranges_reset();
}

/* Everything of the process that a session needs. False: nothing is to be recorded here. */
static bool make_ready(void)
{
    char error[512];
    const char *wrong = NULL;

    forget_parent();
    session.pid = getpid();
    if (session.settings.disable) return false;
    if (!session.settings_good) wrong = session.settings_error;
    session.rank = settings_rank();
    if (!wrong && session.rank >= 0 && !settings_has_rank(session.settings.ranks, (uint32_t)session.rank))
        return false;
    if (!wrong && limits_memory_left() < MEMORY_LEFT)
        wrong = "the limit of memory (RLIMIT_AS or RLIMIT_DATA) leaves no room for a capture";
    if (!wrong) wrong = meta_read_files(error, sizeof error);
    if (!wrong && !strings_ready()) wrong = "no memory for names";
    if (wrong) {
        say(session.quiet, wrong, "; the program runs unprofiled", NULL);
        return false;
    }
    stacks_ready();
    session.families = session.settings.record;
    if (*session.settings.range) session.families |= CG_RECORD_SPAN;
    run_describe_process();
    region_choose();
    return true;
}

static bool open_whole(void)
{
    static const char name[] = "process";
    const struct capture_request request = {.capture_step = 1};
    const struct cap_region region = {.name = record_string(name, sizeof name - 1),
                                      .source = CAP_SOURCE_REGION,
                                      .outside = CAP_SPAN_REGION};
    const char *wrong = session_open(&request, &region, NULL);

    if (wrong) say(session.quiet, wrong, "; the program runs unprofiled", NULL);
    return wrong == NULL;
}

/* Called with open_lock held, in state CLOSED. */
static uint32_t leave_closed(bool opens)
{
    if (!session.comes_and_goes && !opens) return SESSION_CLOSED;
    if (!make_ready()) return SESSION_DISABLED;
    if (session.comes_and_goes) return SESSION_WAITING;
    return open_whole() ? SESSION_OPEN : SESSION_DISABLED;
}

uint32_t session_first(bool opens)
{
    SIGNALS_HELD;
    uint32_t state;

    session_load();
    lock_take(&record_page->open_lock);
    state = atomic_load_explicit(&record_page->state, memory_order_relaxed);
    if (state == SESSION_CLOSED) {
        state = leave_closed(opens);
        /* Release: what was made ready comes before the state that says so. An open session's is stored
         * already. */
        if (state != SESSION_OPEN) atomic_store_explicit(&record_page->state, state, memory_order_release);
    }
    lock_give(&record_page->open_lock);
    return state;
}

void session_come_and_go(void)
{
    lock_take(&record_page->open_lock);
    if (atomic_load_explicit(&record_page->state, memory_order_relaxed) == SESSION_CLOSED) {
        session.comes_and_goes = true;
        rings_will_leave();
    }
    lock_give(&record_page->open_lock);
}

/* ---- loading ---- */

/* A signal's handler has forked while its thread was storing into its ring, which the child shares with its
 * parent: what is left of that call goes into memory of the child's own. */
static void part_from_ring(const struct record_thread *thread)
{
    enum { PROTECTION = PROT_READ | PROT_WRITE, FLAGS = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED };
    const struct ring_view *view = &session.views[thread->ring_index];
    uintptr_t first = (uintptr_t)pages_down((uintptr_t)thread->ring), end = (uintptr_t)(thread->ring + 1);
    int past = errno;

    if (thread->ring == &record_no_ring || !view->slots || !peer_is_at_slot(thread->peer)) return;
    /* Where it fails there is no other place for what is left of the call. */
    (void)mmap((void *)first, end - first, PROTECTION, FLAGS, -1, 0);
    (void)mmap(view->slots, (size_t)view->slot_count * CAP_SLOT, PROTECTION, FLAGS, -1, 0);
    errno = past;
}

static void child(void)
{
    struct record_thread *thread = &record_self;

    part_from_ring(thread);
    peers_forked();
    thread->tid = 0;
    /* A call that a signal's handler has forked in goes on with the stack as it knows it: then the next one
     * begins anew. */
    thread->of_parent = true;
    if (!record_is_inside(thread)) span_forget(thread);
}

static void child_by_hand(void)
{
    memset(record_page, 0, sizeof *record_page);
    child();
}

/* Texts of settings stand in the environment, and programs write over that (to show a title of theirs in the
 * list of processes). False: no memory for copies. */
static bool keep_settings(struct settings *settings)
{
#define SETTING(member, name, type, initial, allowed, meaning)                                               \
    _Generic(settings->member, const char * : (const char **)(void *)&settings->member, default : NULL),
    const char **const texts[] = {CG_SETTINGS(SETTING)};
#undef SETTING
    enum { COUNT = sizeof texts / sizeof *texts };
    size_t bytes = 0;
    char *room;

    for (int i = 0; i < COUNT; i++)
        bytes += texts[i] ? strlen(*texts[i]) + 1 : 0;
    room = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED) return false;
    for (int i = 0; i < COUNT; i++) {
        const char *text = texts[i] ? *texts[i] : NULL;

        if (!text) continue;
        *texts[i] = room;
        room = stpcpy(room, text) + 1;
    }
    return true;
}

/* Nothing is recorded in this process, which is told. */
static void refuse(const char *why)
{
    session.settings_good = false;
    strcpy(session.settings_error, why);
}

void record_no_forks(void)
{
    refuse("no memory to be told of forks");
}

static void read_settings(void)
{
    const char *quiet = getenv("CGTRACE_QUIET");

    session.settings_good =
        settings_read(&session.settings, session.settings_error, sizeof session.settings_error);
    if (session.settings_good && !keep_settings(&session.settings)) refuse("no memory for settings");
    session.quiet = quiet && strcmp(quiet, "1") == 0;
}

/* Two copies of this library, preloaded by two names: the one that programs meet first records. */
static bool second_copy(void)
{
    const void *table = dlsym(RTLD_DEFAULT, "cgtrace_api_1");
    Dl_info first, own;

    return table && dladdr(table, &first) && dladdr((void *)session_load, &own) &&
           first.dli_fbase != own.dli_fbase;
}

/* Early: other libraries' constructors may record before this one's turn (session_first() calls it then). */
__attribute__((constructor(101))) void session_load(void)
{
    static bool loaded;

    if (loaded) return;
    loaded = true;
    size_t bytes = pages_up(sizeof *record_page);
    void *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool wiped = page != MAP_FAILED && madvise(page, bytes, MADV_WIPEONFORK) == 0;

    say_init();
    clock_choose();
    ring_init();
    read_settings();
    if (second_copy()) session.settings.disable = true;
    if (page != MAP_FAILED) record_page = page;
    if (pthread_atfork(NULL, NULL, wiped ? child : child_by_hand)) record_no_forks();
    if (session.settings_good && !session.settings.disable && *session.settings.range) {
        session.comes_and_goes = true;
        rings_will_leave();
    }
}
