/* Spans: a stack for each thread. Explicit spans and pushed ranges stand on it together, in the order in
 * which they began; the stacks that ranges nest on (NVTX's domains) are those of its entries with one number.
 * Where sessions come and go a thread's stack is kept between them: what is open when one begins is cut
 * there.
 */
#include <string.h>

#include "common/event_table.h"
#include "preload/record/owned.h"
#include "preload/record/record.h"
#include "preload/record/region.h"
#include "preload/record/session.h"
#include "preload/record/span_plain.h"
#include "preload/record/write.h"

enum { SPAN_BLOCK = 1024 };

/* A handle says which thread began the span, so that another's is told from one that is not open. Of one that
 * was recorded it holds its number, and in which session (the low bits of its generation), so that it can be
 * named when it is over. Of one that was not it holds a number that is unique in the process.
 *
 *     number | thread << 32 | generation << 54            recorded; a thread's number is below 2^22
 * (PID_MAX_LIMIT) number | thread << 32 | 1 << 62                     not recorded */
enum {
    TID_AT = 32,
    TID_BITS = 22,
    GENERATION_AT = TID_AT + TID_BITS,
    GENERATION_BITS = 8,
    UNRECORDED_AT = 62
};

static __attribute__((noinline, cold)) void take_numbers(struct record_thread *thread)
{
    uint64_t first = atomic_fetch_add_explicit(&session.span_block, SPAN_BLOCK, memory_order_relaxed);

    record_take_block(&thread->span_next, &thread->span_limit,
                      first | (uint64_t)span_type_half(CAP_SPAN_BEGIN) << 32, SPAN_BLOCK);
}

bool span_plain_prepare(struct record_plain *call)
{
    struct record_thread *thread = call->thread;

    if (thread->span_next >= thread->span_limit) take_numbers(thread);
    if (!record_plain_room(call)) ring_look(thread);
    return span_plain_may_open(call);
}

uint32_t span_number(struct record_thread *thread)
{
    if (unlikely(thread->span_next >= thread->span_limit)) take_numbers(thread);
    return (uint32_t)thread->span_next++;
}

uint8_t span_step(uint32_t name)
{
    return (uint8_t)span_named_step(name);
}

struct cap_record span_record(enum cap_type type, uint64_t begin, uint32_t span, uint32_t parent,
                              enum cap_span_source source, const struct record_range *range)
{
    return span_describe(type, begin, span, parent, span_flags(source, range), range);
}

static void lost_begin(const struct record_thread *thread)
{
    if (thread->generation == atomic_load_explicit(&record_page->generation, memory_order_relaxed))
        atomic_fetch_add_explicit(&session.lost_type[CAP_SPAN_BEGIN], 1, memory_order_relaxed);
}

/* A span is lost because the stack is full. */
static void lost_beyond(struct record_thread *thread)
{
    if (ring_window_open(thread)) {
        ring_lose(thread);
        lost_begin(thread);
    }
    ring_window_close(thread);
}

/* Writes the begin of an entry whose source and range are set, as the innermost one. continues: the span that
 * it was before. Without room it stays, unrecorded. */
static void begin_entry(struct record_thread *thread, struct record_open_span *open, uint64_t tick,
                        uint32_t continues, uint16_t flags)
{
    const struct record_range *range = &open->range;
    struct cap_record *slot = ring_slot(thread, unlikely(range->measured) ? RING_MUST : RING_MAY_DROP);

    open->begin = tick;
    open->recorded = false;
    open->inside = thread->span;
    open->step = span_step_in(open, thread->step);
    if (unlikely(!slot)) {
        lost_begin(thread);
    } else {
        uint32_t span = span_number(thread);

        *slot = span_describe(CAP_SPAN_BEGIN, tick, span, thread->span, (unsigned)open->flags | flags, range);
        slot->result = (int32_t)continues;
        open->inside = span;
        open->recorded = true;
        ring_commit(thread);
    }
    record_set_inside(thread, span_inside(open));
}

/* What records belong to once the entries from depth on are gone. */
static inline void settle(struct record_thread *thread, uint32_t depth)
{
    thread->peer->depth = depth;
    record_set_inside(thread, span_inside(&thread->peer->open[depth]));
}

/* Writes the end of an entry. */
static void end_entry(struct record_thread *thread, const struct record_open_span *open, uint64_t tick,
                      uint16_t flags)
{
    struct cap_record *slot, deferred;

    if (unlikely(!open->recorded)) return;
    slot = ring_slot(thread, RING_MUST);
    if (unlikely(!slot)) slot = &deferred;
    span_store_end(slot, open, tick, flags | (open->call_edge ? CAP_FLAG_CALL_EDGE : 0u));
    if (open->call_edge) slot->span_data.parent = open[-1].inside; /* as its begin has it */
    if (likely(slot != &deferred))
        ring_commit(thread);
    else
        deferred_add(thread->generation, slot, thread->ring_index, thread->tid);
}

void record_span_close(struct record_thread *thread)
{
    uint32_t depth = thread->peer->depth;

    end_entry(thread, &thread->peer->open[depth], record_tick(), CAP_FLAG_CLIPPED_END);
    settle(thread, depth - 1);
}

void span_cut(struct record_thread *thread, uint64_t tick)
{
    struct record_open_span *open = thread->peer->open;

    for (uint32_t i = thread->peer->depth; i > thread->around; i--) {
        end_entry(thread, &open[i], tick, CAP_FLAG_CLIPPED_END);
        open[i].recorded = false;
    }
}

/* The last record that the thread has committed in its session. False: none, or not the beginning of a
 * span's.
 */
static bool last_span_record(struct record_thread *thread, struct cap_record *last)
{
    bool found = false;

    if (ring_window_open(thread) && ring_head(thread) > 0) {
        *last = thread->slots[(ring_head(thread) - 1) & thread->mask];
        /* The rest of a longer record has strings' numbers there, which are smaller. */
        found = (last->type == CAP_SPAN_BEGIN || last->type == CAP_SPAN_END) && last->slots == 1 &&
                last->device == CAP_NO_DEVICE;
    }
    ring_window_close(thread);
    return found;
}

void span_left(struct record_thread *thread)
{
    const struct record_peer *peer = thread->peer;
    uint32_t depth = peer->depth;
    struct cap_record last;

    if (peer == &record_nobody) return;
    /* Out of an entry's being taken out, which the depth tells first (take_out()). */
    if (thread->around > depth) thread->around = depth;
    if (!last_span_record(thread, &last)) {
        settle(thread, depth); /* outside of sessions the depth alone tells */
        return;
    }
    while (depth > thread->around && !(peer->open[depth].recorded && peer->open[depth].inside == last.span))
        depth--;
    if (last.type == CAP_SPAN_END && depth > thread->around) {
        settle(thread, depth - 1); /* with those inside of it, whose ends came before */
        return;
    }
    if (last.type == CAP_SPAN_BEGIN && depth == thread->around)
        end_entry(thread,
                  &(struct record_open_span){.begin = last.begin, .inside = last.span, .recorded = true},
                  record_tick(), CAP_FLAG_CLIPPED_END);
    settle(thread, peer->depth);
}

void span_forget(struct record_thread *thread)
{
    if (thread->peer != &record_nobody) thread->peer->depth = 0;
    thread->step = 0;
    thread->around = 0;
    thread->region_here = false;
    memset(thread->beyond, 0, sizeof thread->beyond);
    thread->any_beyond = false;
    /* Last: left in between, it is done again. */
    atomic_signal_fence(memory_order_seq_cst);
    thread->of_parent = false;
}

void span_join(struct record_thread *thread, bool opener)
{
    struct record_open_span *open = thread->peer->open;
    uint32_t depth = thread->peer->depth;
    uint64_t opened = atomic_load_explicit(&session.opened, memory_order_relaxed);
    bool regions = opener && !session.region.own;

    thread->handle_base = (uint64_t)(uint32_t)thread->tid << TID_AT |
                          (thread->generation & ((1u << GENERATION_BITS) - 1)) << GENERATION_AT;
    open[0].inside = regions ? (uint32_t)CAP_SPAN_REGION : session.region.outside;
    thread->around = regions ? depth : 0;
    thread->region_here = false;
    for (uint32_t i = 1; i <= thread->around; i++) {
        open[i].recorded = false;
        open[i].inside = open[0].inside;
    }
    settle(thread, thread->around);
    for (uint32_t i = thread->around + 1; i <= depth; i++) {
        bool before = open[i].begin < opened;

        begin_entry(thread, &open[i], before ? opened : open[i].begin, 0,
                    before ? CAP_FLAG_CLIPPED_START : 0);
        thread->peer->depth++;
    }
}

/* Ends the at-th entry. Spans nest, so those inside of it end there too, and go on behind it, side by side
 * with it. */
static void end_at(struct record_thread *thread, uint32_t at, uint64_t tick)
{
    struct record_peer *peer = thread->peer;
    uint32_t depth = peer->depth;

    for (uint32_t i = depth; i >= at; i--)
        end_entry(thread, &peer->open[i], tick, 0);
    settle(thread, at - 1);
    for (uint32_t i = at + 1; i <= depth; i++) {
        struct record_open_span *open = &peer->open[peer->depth + 1];

        *open = peer->open[i];
        open->call_edge = false;
        open->range.measured = false; /* there is one measured span: the part before */
        begin_entry(thread, open, tick, open->recorded ? open->inside : 0, 0);
        thread->peer->depth++;
    }
}

/* ---- outside of the trace ---- */

/* Puts the entry behind the innermost one on the stack: in the trace, or kept for a session to come. */
static void place(struct record_call *call, struct record_open_span *open)
{
    struct record_thread *thread = call->thread;
    bool held;

    if (likely(!call->outside)) {
        begin_entry(thread, open, call->begin, 0, 0);
        thread->peer->depth++;
        return;
    }
    open->begin = call->begin;
    open->recorded = false;
    open->inside = thread->peer->open[0].inside;
    thread->step = open->step = span_step_in(open, thread->step);
    held = peer_hold(thread->peer);
    thread->peer->depth++;
    if (held) peer_let_go(thread->peer);
}

/* The range by its place on the stack: what the caller put together need not be in memory then. */
static __attribute__((noinline, cold)) void meet_region(struct record_call *call,
                                                        const struct record_open_span *open)
{
    const struct record_range range = open->range;

    region_met(call, span_source(open), &range, 0);
}

/* The entries inside of the at-th one move down, and their steps are what is around them now. */
static void move_down(struct record_peer *peer, uint32_t at)
{
    memmove(&peer->open[at], &peer->open[at + 1], (peer->depth - at) * sizeof *peer->open);
    for (uint32_t i = at; i < peer->depth; i++)
        peer->open[i].step = span_step_in(&peer->open[i], peer->open[i - 1].step);
}

/* Takes the at-th entry, which is no span of the trace, out of the thread's stack. */
static void take_out(struct record_thread *thread, uint32_t at)
{
    struct record_peer *peer = thread->peer;
    bool inner = at < peer->depth, held;

    if (unlikely(inner)) signals_hold();
    held = peer_hold(peer);
    if (unlikely(inner)) move_down(peer, at);
    peer->depth--;
    if (held) peer_let_go(peer);
    thread->step = peer->open[peer->depth].step;
    if (at <= thread->around) thread->around--;
    if (unlikely(inner)) signals_release();
}

/* Ends an entry that is no span of the trace: of no session's, around the region, or the region itself. */
static void end_outside(struct record_call *call, uint32_t at)
{
    struct record_thread *thread = call->thread;

    if (!call->outside && thread->region_here && at == thread->around) region_ends(call);
    take_out(thread, at);
}

static inline bool is_outside(const struct record_call *call, uint32_t at)
{
    return call->outside || at <= call->thread->around;
}

/* ---- explicit spans ---- */

static uint64_t recorded_handle(const struct record_thread *thread, uint32_t span)
{
    return span | thread->handle_base;
}

static uint64_t unrecorded_handle(struct record_thread *thread)
{
    static _Atomic uint64_t blocks;

    if (unlikely(thread->handle_next >= thread->handle_limit))
        record_take_block(&thread->handle_next, &thread->handle_limit,
                          atomic_fetch_add_explicit(&blocks, SPAN_BLOCK, memory_order_relaxed), SPAN_BLOCK);
    return (uint32_t)thread->handle_next++ | (uint64_t)(uint32_t)thread_tid(thread) << TID_AT |
           UINT64_C(1) << UNRECORDED_AT;
}

uint64_t record_span_open(struct record_call *call, enum cap_span_source source,
                          const struct record_range *range)
{
    struct record_thread *thread = call->thread;
    struct record_open_span *open;
    uint64_t handle;

    if (unlikely(call->outside && !ring_peer(thread))) return 0;
    if (unlikely(thread->peer->depth == RECORD_DEPTH_MAX)) {
        lost_beyond(thread);
        return 0;
    }
    if (!(session.families & CG_RECORD_SPAN)) return 0;
    open = &thread->peer->open[thread->peer->depth + 1];
    open->call_edge = false;
    open->level = 0;
    open->flags = (uint16_t)span_flags(source, range);
    open->range = *range;
    open->handle = 1; /* of an explicit span, whichever */
    place(call, open);
    open->handle = handle =
        likely(open->recorded) ? recorded_handle(thread, open->inside) : unrecorded_handle(thread);
    if (unlikely(region_is(range->name, range->domain))) meet_region(call, open);
    return handle;
}

/* The place of an explicit span on the thread's stack, 0: it is not there. *inner: explicit ones are open
 * inside of it. */
static inline uint32_t explicit_place(const struct record_thread *thread, uint64_t span, bool *inner)
{
    const struct record_open_span *open = thread->peer->open;
    uint32_t depth = thread->peer->depth;

    *inner = false;
    for (; depth > 0 && open[depth].handle != span; depth--)
        *inner |= open[depth].handle != 0;
    return depth;
}

static enum record_span_place not_here(struct record_thread *thread, uint64_t span)
{
    uint64_t tid = span >> TID_AT & ((1u << TID_BITS) - 1);

    return tid == (uint32_t)thread_tid(thread) ? RECORD_SPAN_NOT_OPEN : RECORD_SPAN_OTHER_THREAD;
}

enum record_span_place record_span_close_explicit(struct record_call *call, uint64_t span)
{
    struct record_thread *thread = call->thread;
    bool inner;
    uint32_t place = explicit_place(thread, span, &inner);

    if (unlikely(!place)) return not_here(thread, span);
    if (unlikely(inner)) return RECORD_SPAN_NOT_INNERMOST;
    if (unlikely(is_outside(call, place))) {
        bool region = !call->outside && thread->region_here && place == thread->around;

        end_outside(call, place);
        return region ? RECORD_SPAN_FOUND : RECORD_SPAN_NOT_RECORDED;
    }
    if (likely(place == thread->peer->depth)) {
        end_entry(thread, &thread->peer->open[place], call->begin, 0);
        settle(thread, place - 1);
    } else {
        end_at(thread, place, call->begin);
    }
    return RECORD_SPAN_FOUND;
}

enum record_span_place record_span_call_edge(const struct record_call *call, uint64_t caller, uint64_t callee)
{
    struct record_thread *thread = call->thread;
    struct record_open_span *open = thread->peer->open;
    bool inner;
    uint32_t place = explicit_place(thread, callee, &inner), around;

    if (!place) return not_here(thread, callee);
    if (is_outside(call, place) || !open[place].recorded) return RECORD_SPAN_NOT_RECORDED;
    around = place - 1;
    if (caller && (around == 0 || open[around].handle != caller)) return RECORD_SPAN_NOT_AROUND;
    open[place].call_edge = true;
    return RECORD_SPAN_FOUND;
}

uint64_t record_span_past(const struct record_call *call, const struct record_range *range, uint64_t start_ns,
                          uint64_t duration_ns)
{
    struct record_thread *thread = call->thread;
    struct cap_record *slot = ring_slot(thread, RING_MAY_DROP);
    uint32_t span;

    if (!slot) {
        if (thread->generation == atomic_load_explicit(&record_page->generation, memory_order_relaxed))
            atomic_fetch_add_explicit(&session.lost_type[CAP_SPAN], 1, memory_order_relaxed);
        return 0;
    }
    span = span_number(thread);
    *slot = span_record(CAP_SPAN, start_ns, span, session.region.outside, CAP_SOURCE_API, range);
    slot->flags |= CAP_FLAG_NS;
    slot->ticks = duration_ns;
    ring_commit(thread);
    return recorded_handle(thread, span);
}

bool record_span_number(const struct record_thread *thread, uint64_t span, uint32_t *number)
{
    const uint64_t generation = thread->generation & ((1u << GENERATION_BITS) - 1);
    bool inner;
    uint32_t place = explicit_place(thread, span, &inner);

    if (place > 0) {
        *number = thread->peer->open[place].inside;
        return true;
    }
    *number = (uint32_t)span;
    return span >> UNRECORDED_AT == 0 && span >> GENERATION_AT == generation && *number > CAP_SPAN_REGION &&
           *number < atomic_load_explicit(&session.span_block, memory_order_relaxed);
}

bool record_spans_open(const struct record_thread *thread)
{
    const struct record_peer *peer = thread->peer;

    for (uint32_t i = thread->around + 1; i <= peer->depth; i++)
        if (peer->open[i].handle &&
            peer->open[i].begin > atomic_load_explicit(&session.opened, memory_order_relaxed))
            return true;
    return false;
}

uint64_t record_span_since(const struct record_thread *thread)
{
    const struct record_peer *peer = thread->peer;

    for (uint32_t i = peer->depth; i > thread->around; i--)
        if (peer->open[i].recorded && peer->open[i].inside == thread->span) return peer->open[i].begin;
    return atomic_load_explicit(&session.opened, memory_order_relaxed);
}

/* ---- ranges ---- */

/* The place of the innermost range of a stack, 0: it has none. */
static inline uint32_t innermost(const struct record_thread *thread, uint32_t stack)
{
    const struct record_open_span *open = thread->peer->open;
    uint32_t depth = thread->peer->depth;

    while (depth > 0 && (open[depth].handle || open[depth].range.stack != stack))
        depth--;
    return depth;
}

/* The count of a stack's ranges that have no place; NULL: it has none, and with `add`: nor a count. */
static uint32_t *beyond(struct record_thread *thread, uint32_t stack, bool add)
{
    struct record_beyond *empty = NULL;

    for (uint32_t i = 0; i < RECORD_BEYOND_MAX; i++) {
        struct record_beyond *entry = &thread->beyond[i];

        if (entry->count && entry->stack == stack) return &entry->count;
        if (!entry->count && !empty) empty = entry;
    }
    if (!add || !empty) return NULL;
    empty->stack = stack;
    return &empty->count;
}

/* How many ranges that have no place this stack has, after adding one; 0: it can't be counted either. */
static uint32_t push_beyond(struct record_thread *thread, uint32_t stack)
{
    uint32_t *count = beyond(thread, stack, true);

    lost_beyond(thread);
    if (!count) return 0;
    thread->any_beyond = true;
    return ++*count;
}

int record_range_push(struct record_call *call, const struct record_range *range)
{
    struct record_thread *thread = call->thread;
    uint32_t around, level;

    if (unlikely(call->outside && !ring_peer(thread))) {
        record_leave(call);
        return -1;
    }
    around = innermost(thread, range->stack);
    level = around ? thread->peer->open[around].level + 1 : 0;
    if (unlikely(thread->peer->depth == RECORD_DEPTH_MAX ||
                 (thread->any_beyond && beyond(thread, range->stack, false)))) {
        uint32_t count = push_beyond(thread, range->stack);

        if (count) level += count - 1;
    } else {
        struct record_open_span *open = &thread->peer->open[thread->peer->depth + 1];

        open->call_edge = false;
        open->handle = 0;
        open->level = (uint16_t)level;
        open->flags = (uint16_t)span_flags(CAP_SOURCE_NVTX, range);
        open->range = *range;
        place(call, open);
        if (unlikely(region_is(range->name, range->domain))) meet_region(call, open);
    }
    record_leave(call);
    return (int)level;
}

/* Takes one off the count of ranges that have no place. */
static void pop_beyond(struct record_thread *thread, uint32_t *count)
{
    bool any = false;

    --*count;
    for (uint32_t i = 0; i < RECORD_BEYOND_MAX; i++)
        any |= thread->beyond[i].count > 0;
    thread->any_beyond = any; /* whole: a call that is left in between must not hide those that there are */
}

int record_range_pop(struct record_call *call, uint32_t stack)
{
    struct record_thread *thread = call->thread;
    uint32_t at = innermost(thread, stack);
    uint32_t *count = unlikely(thread->any_beyond) ? beyond(thread, stack, false) : NULL;
    int level = at ? (int)thread->peer->open[at].level : -1;

    if (unlikely(count != NULL)) {
        level += (int)*count;
        pop_beyond(thread, count);
    } else if (unlikely(at == 0)) {
        record_gap(RECORD_GAP_UNKNOWN_SPAN_END, 1);
    } else if (unlikely(is_outside(call, at))) {
        end_outside(call, at);
    } else if (likely(at == thread->peer->depth)) {
        end_entry(thread, &thread->peer->open[at], call->begin, 0);
        settle(thread, at - 1);
    } else {
        end_at(thread, at, call->begin);
    }
    record_leave(call);
    return level;
}

void record_mark(struct record_call *call, const struct record_range *range)
{
    struct record_thread *thread = call->thread;
    struct cap_record *slot = ring_slot(thread, RING_MAY_DROP);

    if (likely(slot != NULL)) {
        *slot = span_record(CAP_SPAN, call->begin, span_number(thread), thread->span, CAP_SOURCE_NVTX, range);
        ring_commit(thread);
    } else if (thread->generation == atomic_load_explicit(&record_page->generation, memory_order_relaxed)) {
        atomic_fetch_add_explicit(&session.lost_type[CAP_SPAN], 1, memory_order_relaxed);
    }
    record_leave(call);
}
