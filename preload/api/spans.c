/* Spans. What the recorder calls a handle is what the caller holds (record.h). */
#include "common/event_table.h"
#include "preload/api/api.h"
#include "preload/record/clock.h"
#include "preload/record/region.h"
#include "preload/record/session.h"
#include "preload/record/span_plain.h"
#include "preload/signals.h"

_Static_assert((int)CGTRACE_KIND_OP == (int)CG_SPAN_KIND_OP &&
                   (int)CGTRACE_KIND_MODULE == (int)CG_SPAN_KIND_MODULE &&
                   (int)CGTRACE_STEP_OPTIMIZER == 2 + (int)CG_STEP_OPTIMIZER,
               "kinds as in the event table, steps as in record_range.step_given");

/* Every other case than the plain one: a text that is new, a thread outside of the session, a ring that is
 * full, ... */
static __attribute__((noinline)) cgtrace_span begin_slowly(const char *name, uint8_t kind, uint8_t step_given,
                                                           bool measured)
{
    struct record_range range = {.kind = kind, .step_given = step_given, .measured = measured};
    struct record_call call;
    uint64_t span;
    int wrong = api_needs(name, CGTRACE_NAME_MAX);

    if (wrong != CGTRACE_OK) return wrong;
    if (!record_enter_followed(&call, 0)) return 0;
    range.name = record_text(name);
    if (!range.name) return api_leave(&call, CGTRACE_E_FULL);
    span = record_span_open(&call, CAP_SOURCE_API, &range);
    record_leave(&call);
    return (cgtrace_span)span;
}

/* The plain case, but for a text that it takes a look at, or for numbers and room that are to be had first.
 */
static __attribute__((noinline)) cgtrace_span begin_known(const char *name, uint8_t kind, uint8_t step_given)
{
    struct record_plain call;
    uint64_t span;
    uint32_t known = api_known_slowly(name, CGTRACE_NAME_MAX);

    if (known && !region_is(known, 0) && record_enter_plain(&call)) {
        bool may = span_plain_prepare(&call);

        if (may) span = span_plain_begin(&call, known, span_named_step(known), kind, step_given);
        record_leave_plain(&call);
        if (may) return (cgtrace_span)span;
    }
    return begin_slowly(name, kind, step_given, false);
}

/* Whatever it leaves to others it leaves for good: so no register needs to be saved for behind them. */
static inline __attribute__((always_inline)) cgtrace_span begin(const char *name, uint8_t kind,
                                                                uint8_t step_given)
{
    struct record_plain call;
    uint64_t span;
    uint32_t own_step, known = api_known_at_once(name, &own_step);

    if (unlikely(!known || region_choice.count)) return begin_known(name, kind, step_given);
    if (unlikely(!record_enter_plain(&call))) return begin_slowly(name, kind, step_given, false);
    if (unlikely(!span_plain_may_open(&call))) {
        record_leave_plain(&call);
        return begin_known(name, kind, step_given);
    }
    span = span_plain_begin(&call, known, own_step, kind, step_given);
    record_leave_plain(&call);
    return (cgtrace_span)span;
}

cgtrace_span api_cgtrace_span_begin(const char *name)
{
    return begin(name, CG_SPAN_KIND_FUNCTION, 0);
}

cgtrace_span api_cgtrace_span_begin_as(const char *name, enum cgtrace_kind kind, enum cgtrace_step step)
{
    if ((unsigned)kind > CGTRACE_KIND_MODULE || (unsigned)step > CGTRACE_STEP_OPTIMIZER)
        return CGTRACE_E_VALUE;
    return begin(name, (uint8_t)kind, (uint8_t)step);
}

cgtrace_span api_cgtrace_measured_begin(const char *name)
{
    struct record_call call;
    cgtrace_span span;
    int wrong = api_needs(name, CGTRACE_NAME_MAX);

    if (wrong != CGTRACE_OK) return wrong;
    if (!record_enter(&call, 0)) return 0;
    SIGNALS_HELD; /* or the place would be taken by one that did not come to be */
    if (!session.region.own || atomic_exchange_explicit(&session.measured, true, memory_order_relaxed))
        return api_leave(&call, CGTRACE_E_MEASURED);
    record_leave(&call);
    span = begin_slowly(name, CG_SPAN_KIND_FUNCTION, 0, true);
    /* One that did not come to be leaves the place to another. */
    if (span <= 0) atomic_store_explicit(&session.measured, false, memory_order_relaxed);
    return span;
}

static int mistake(enum record_span_place place)
{
    switch (place) {
    case RECORD_SPAN_FOUND:
        return CGTRACE_OK;
    case RECORD_SPAN_NOT_OPEN:
        return CGTRACE_E_NOT_OPEN;
    case RECORD_SPAN_OTHER_THREAD:
        return CGTRACE_E_THREAD;
    case RECORD_SPAN_NOT_INNERMOST:
        return CGTRACE_E_ORDER;
    case RECORD_SPAN_NOT_AROUND:
        return CGTRACE_E_PARENT;
    case RECORD_SPAN_NOT_RECORDED:
        return CGTRACE_OFF;
    }
    return CGTRACE_OFF;
}

static __attribute__((noinline)) int end_slowly(cgtrace_span span)
{
    struct record_call call;
    enum record_span_place place;

    if (span <= 0) return span == 0 || span < INT32_MIN ? CGTRACE_OFF : (int)span;
    if (!record_enter_end(&call, 0)) return CGTRACE_OFF;
    place = record_span_close_explicit(&call, (uint64_t)span);
    record_leave(&call);
    return mistake(place);
}

int api_cgtrace_span_end(cgtrace_span span)
{
    struct record_plain call;
    bool ended;

    /* No span has the handle 0, but ranges that were pushed stand on the thread's stack with it. */
    if (likely(span > 0 && record_enter_plain(&call))) {
        ended = span_plain_end(&call, (uint64_t)span);
        record_leave_plain(&call);
        if (likely(ended)) return CGTRACE_OK;
    }
    return end_slowly(span);
}

int api_cgtrace_call_edge(cgtrace_span caller, cgtrace_span callee)
{
    struct record_call call;
    enum record_span_place place;

    if (callee <= 0 || caller < 0) return CGTRACE_OFF;
    if (!record_enter_quiet(&call, 0)) return CGTRACE_OFF;
    place = record_span_call_edge(&call, (uint64_t)caller, (uint64_t)callee);
    record_leave(&call);
    return mistake(place);
}

/* ---- spans that are over, and times ---- */

cgtrace_span api_cgtrace_span_complete(const char *name, enum cgtrace_kind kind, uint64_t start_ns,
                                       uint64_t duration_ns)
{
    struct record_call call;
    struct record_range range = {.kind = (uint8_t)kind};
    uint64_t now, span;
    int wrong = api_needs(name, CGTRACE_NAME_MAX);

    if (wrong != CGTRACE_OK) return wrong;
    if ((unsigned)kind > CGTRACE_KIND_MODULE) return CGTRACE_E_VALUE;
    if (!duration_ns) return CGTRACE_E_TIME;
    if (!record_enter(&call, 0)) return 0;
    now = api_now(&call);
    if (duration_ns > now || start_ns > now - duration_ns) return api_leave(&call, CGTRACE_E_TIME);
    range.name = record_text(name);
    if (!range.name) return api_leave(&call, CGTRACE_E_FULL);
    span = record_span_past(&call, &range, start_ns, duration_ns);
    record_leave(&call);
    return (cgtrace_span)span;
}

bool api_span_of(const struct record_call *call, cgtrace_span span, uint32_t *number)
{
    return span > 0 && record_span_number(call->thread, (uint64_t)span, number);
}

int api_cgtrace_now(uint64_t *ns)
{
    struct record_call call;

    if (!ns) return CGTRACE_E_NULL;
    if (!record_enter(&call, 0)) return CGTRACE_OFF;
    *ns = api_now(&call);
    return api_leave(&call, CGTRACE_OK);
}

int api_cgtrace_from_monotonic(uint64_t monotonic_ns, uint64_t *ns)
{
    struct record_call call;
    struct cap_anchor anchor;
    uint64_t now, ago;

    if (!ns) return CGTRACE_E_NULL;
    if (!record_enter(&call, 0)) return CGTRACE_OFF;
    session_wait_for_rate();
    clock_anchor(&anchor);
    now = cap_ns(&session.header->clock, anchor.tick);
    ago = (uint64_t)anchor.monotonic_ns - monotonic_ns;
    if (monotonic_ns > (uint64_t)anchor.monotonic_ns || ago > now) return api_leave(&call, CGTRACE_E_TIME);
    *ns = now - ago;
    return api_leave(&call, CGTRACE_OK);
}

int api_cgtrace_recording(void)
{
    uint32_t state;

    session_load();
    state = atomic_load_explicit(&record_page->state, memory_order_relaxed);
    return state == SESSION_OPEN ||
           (state == SESSION_CLOSED && !session.settings.disable && session.settings_good);
}
