#include "preload/record/region.h"

#include <errno.h>
#include <string.h>

#include "preload/record/capture_session.h"
#include "preload/record/session.h"
#include "preload/say.h"
#include "preload/signals.h"

enum { THREAD_LIMIT_MS = 2000 };

struct region_choice region_choice;

/* Of the range, in the process and in those that it was forked from. */
static _Atomic uint64_t occurrences;
static _Atomic uint64_t captured; /* of the selected ones: those whose trace is in place */
/* The range that is the region and belongs to no thread; 0: none. */
static _Atomic uint64_t open_range;

void region_choose(void)
{
    const char *text = session.settings.range;
    size_t length = strlen(text);

    if (!length || region_choice.count) return;
    region_choice.names[0].name = record_string(text, length);
    region_choice.count = 1;
    for (const char *slash = strchr(text, '/'); slash && region_choice.count < REGION_NAMES;
         slash = strchr(slash + 1, '/')) {
        size_t domain = (size_t)(slash - text);

        if (domain == 0 || domain + 1 == length) continue;
        region_choice.names[region_choice.count++] = (struct region_name){
            .name = record_string(slash + 1, length - domain - 1), .domain = record_string(text, domain)};
    }
}

static bool is_selected(uint64_t occurrence)
{
    return *session.settings.step ? settings_has_number(session.settings.step, occurrence) : occurrence == 1;
}

bool region_is_chosen(uint32_t name, uint32_t domain)
{
    const struct region_choice *choice = &region_choice;

    if (name == choice->names[0].name) return name != 0;
    for (uint32_t i = 1; i < choice->count; i++)
        if (name == choice->names[i].name && domain == choice->names[i].domain) return true;
    return false;
}

bool region_missed(uint64_t *count, uint64_t *selected)
{
    *count = atomic_load_explicit(&occurrences, memory_order_relaxed);
    *selected = *session.settings.step ? settings_count_numbers(session.settings.step) : 1;
    return *session.settings.range && atomic_load_explicit(&captured, memory_order_relaxed) < *selected;
}

bool region_is_range(uint64_t range)
{
    return range && range == atomic_load_explicit(&open_range, memory_order_relaxed);
}

/* ---- the region begins ---- */

/* The ranges around it on its thread, outermost first; of too many the outermost. */
static void fill_enclosing(struct cap_region *region, const struct record_peer *peer, uint32_t depth)
{
    for (uint32_t i = 0; i < depth && region->enclosing_count < CAP_ENCLOSING_MAX; i++)
        region->enclosing[region->enclosing_count++] = peer->open[1 + i].range.name;
}

static void open_region(struct record_call *call, enum cap_span_source source,
                        const struct record_range *what, uint64_t range, uint64_t occurrence,
                        bool synchronised)
{
    struct record_thread *thread = call->thread;
    uint32_t waiting = SESSION_WAITING, depth = thread->peer->depth, around = range ? depth : depth - 1;
    const struct capture_request request = {
        .synchronised = synchronised, .capture_step = occurrence, .warmup_steps = UINT64_MAX};
    struct cap_region region = {.name = what->name,
                                .domain = what->domain,
                                .tid = thread_tid(thread),
                                .outside = CAP_SPAN_ROOT,
                                .step = span_step(what->name),
                                .source = (uint8_t)source};
    const char *wrong;

    /* Acquire: the session before has been put away. */
    if (!atomic_compare_exchange_strong_explicit(&record_page->state, &waiting, SESSION_OPENING,
                                                 memory_order_acquire, memory_order_relaxed))
        return; /* inside another one, or beside it */
    fill_enclosing(&region, thread->peer, around);
    atomic_store_explicit(&open_range, range, memory_order_relaxed);
    wrong = session_open(&request, &region, thread);
    if (wrong) {
        say(session.quiet, wrong, "; the program runs on unprofiled", NULL);
        atomic_store_explicit(&record_page->state, SESSION_DISABLED, memory_order_release);
        return;
    }
    thread->region_here = !range;
}

static bool synchronised_start(void)
{
    CANCEL_HELD;

    if (session.settings.sync != CG_SYNC_BOTH && session.settings.sync != CG_SYNC_START) return false;
    return record_synchronise && record_synchronise();
}

void region_met(struct record_call *call, enum cap_span_source source, const struct record_range *what,
                uint64_t range)
{
    uint64_t occurrence = atomic_fetch_add_explicit(&occurrences, 1, memory_order_relaxed) + 1;
    int past = errno;

    if (call->outside && is_selected(occurrence) && ring_peer(call->thread) &&
        atomic_load_explicit(&record_page->state, memory_order_relaxed) == SESSION_WAITING) {
        bool synchronised = synchronised_start(); /* may take long: with the program's signals */
        SIGNALS_HELD;

        open_region(call, source, what, range, occurrence, synchronised);
    }
    errno = past;
}

/* ---- and ends ---- */

/* It is the caller that ends the session, from here on. */
static bool begin_closing(void)
{
    uint32_t open = SESSION_OPEN;

    return atomic_compare_exchange_strong(&record_page->state, &open, SESSION_CLOSING);
}

static void close_region(const struct session_end *end)
{
    uint64_t range = atomic_load_explicit(&open_range, memory_order_relaxed);

    atomic_fetch_add_explicit(&captured, session_close(end), memory_order_relaxed);
    /* By then another region may have begun. */
    if (range)
        atomic_compare_exchange_strong_explicit(&open_range, &range, 0, memory_order_relaxed,
                                                memory_order_relaxed);
}

static bool synchronised_end(void)
{
    CANCEL_HELD;

    if (session.settings.sync != CG_SYNC_BOTH && session.settings.sync != CG_SYNC_END) return false;
    return record_synchronise && record_synchronise();
}

void region_ends(struct record_call *call)
{
    struct session_end end = {.how = "region"};
    struct record_thread *thread = call->thread;
    int past = errno;
    bool synchronised = synchronised_end();
    SIGNALS_HELD;

    if (thread->region_here || thread_tid(thread) == session.region.tid) {
        end.tick = record_tick();
        span_cut(thread, end.tick);
    }
    if (begin_closing()) {
        session.run.synchronised &= synchronised;
        thread->region_here = false;
        close_region(&end);
    }
    errno = past;
}

void region_thread_ends(struct record_thread *thread)
{
    struct session_end end = {.clipped = true, .how = "thread", .limit_ms = THREAD_LIMIT_MS};

    if (!thread->region_here ||
        thread->generation != atomic_load_explicit(&record_page->generation, memory_order_relaxed))
        return;
    SIGNALS_HELD;
    thread->busy = record_frame();
    if (begin_closing()) {
        session.run.synchronised = false;
        close_region(&end);
    }
    thread->busy = 0;
}
