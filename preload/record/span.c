/* Spans: a stack for each thread. Explicit spans and pushed ranges stand on it together, in the order in
 * which they began; the stacks that ranges nest on (NVTX's domains) are those of its entries with one number.
 */
#include "common/event_table.h"
#include "preload/record/record.h"
#include "preload/record/session.h"

enum { SPAN_BLOCK = 1024 };

uint32_t span_number(struct record_thread *thread)
{
    if (thread->span_next == thread->span_limit) {
        thread->span_next = atomic_fetch_add_explicit(&session.span_block, SPAN_BLOCK, memory_order_relaxed);
        thread->span_limit = thread->span_next + SPAN_BLOCK;
    }
    return thread->span_next++;
}

uint16_t span_step(uint32_t name)
{
    uint32_t head = *(const uint32_t *)(session.strings + (uint64_t)name * 8);

    return (uint16_t)(CAP_STRING_STEP(head) << 4);
}

static uint16_t range_step(const struct record_range *range)
{
    return likely(!range->step_given) ? span_step(range->name) : (uint16_t)((range->step_given - 1) << 4);
}

void span_fill(struct cap_record *slot, uint64_t begin, uint32_t span, uint32_t parent,
               enum cap_span_source source, const struct record_range *range)
{
    slot->begin = begin;
    slot->span = span;
    slot->slots = 1;
    slot->session = 0;
    slot->device = CAP_NO_DEVICE;
    slot->api = 0;
    slot->flags = (uint16_t)(source | range_step(range) | (range->measured ? CAP_FLAG_MEASURED : 0));
    slot->result = 0;
    slot->ticks = 0;
    slot->span_data.name = range->name;
    slot->span_data.parent = parent;
    slot->span_data.domain = range->domain;
    slot->span_data.category = range->category;
    slot->span_data.kind = range->kind;
    slot->span_data.payload_type = range->payload_type;
    slot->span_data.has_color = range->has_color;
    slot->span_data.color = range->color;
    slot->span_data.payload = range->payload;
}

static void lost_begin(void)
{
    atomic_fetch_add_explicit(&session.lost_type[CAP_SPAN_BEGIN], 1, memory_order_relaxed);
}

/* Writes the begin of an entry whose source and range are set, as the innermost one. continues: the span that
 * it was before. Without room it stays, unrecorded. */
static void begin_entry(struct record_thread *thread, struct record_open_span *open, uint64_t tick,
                        uint32_t continues)
{
    struct cap_record *slot = ring_slot(thread, RING_MAY_DROP);

    open->begin = tick;
    open->span = 0;
    open->inside = thread->span;
    open->step = open->own_step ? open->own_step : thread->step;
    if (unlikely(!slot)) {
        lost_begin();
    } else {
        open->span = open->inside = span_number(thread);
        span_fill(slot, tick, open->span, thread->span, (enum cap_span_source)open->source, &open->range);
        slot->type = CAP_SPAN_BEGIN;
        slot->result = (int32_t)continues;
        ring_commit(thread);
    }
    thread->span = open->inside;
    thread->step = open->step;
}

/* What records belong to once the entries from depth on are gone. */
static inline void settle(struct record_thread *thread, uint32_t depth)
{
    thread->depth = depth;
    thread->span = depth ? thread->stack[depth - 1].inside : (uint32_t)CAP_SPAN_REGION;
    thread->step = depth ? thread->stack[depth - 1].step : 0;
}

/* The span that the begin of an entry named as its parent. */
static uint32_t span_around(const struct record_thread *thread, const struct record_open_span *open)
{
    return open > thread->stack ? open[-1].inside : (uint32_t)CAP_SPAN_REGION;
}

/* Writes the end of an entry. */
static void end_entry(struct record_thread *thread, const struct record_open_span *open, uint64_t tick,
                      uint16_t flags)
{
    struct cap_record *slot, deferred;

    if (unlikely(!open->span)) return;
    slot = ring_slot(thread, RING_MUST);
    if (unlikely(!slot)) slot = &deferred;
    slot->begin = open->begin;
    slot->span = open->span;
    slot->type = CAP_SPAN_END;
    slot->slots = 1;
    slot->session = 0;
    slot->device = CAP_NO_DEVICE;
    slot->api = 0;
    slot->flags = flags;
    slot->result = 0;
    slot->ticks = tick > open->begin ? tick - open->begin : 0;
    if (unlikely(open->call_edge)) {
        slot->flags |= CAP_FLAG_CALL_EDGE;
        slot->span_data.parent = span_around(thread, open);
    }
    if (likely(slot != &deferred))
        ring_commit(thread);
    else if (atomic_load_explicit(&record_page->state, memory_order_relaxed) == SESSION_OPEN)
        deferred_add(thread, slot);
}

void record_span_close(struct record_thread *thread)
{
    end_entry(thread, &thread->stack[thread->depth - 1], record_tick(), CAP_FLAG_CLIPPED_END);
    settle(thread, thread->depth - 1);
}

/* Ends the entry at `at`. Spans nest, so those inside of it end there too; the ranges among them go on behind
 * it, side by side with it, and so do explicit spans when all_go_on. */
static void end_at(struct record_thread *thread, uint32_t at, uint64_t tick, bool all_go_on)
{
    uint32_t depth = thread->depth;

    for (uint32_t i = depth; i-- > at;)
        end_entry(thread, &thread->stack[i], tick, 0);
    settle(thread, at);
    for (uint32_t i = at + 1; i < depth; i++) {
        struct record_open_span *open = &thread->stack[thread->depth];

        if (thread->stack[i].handle && !all_go_on) continue;
        *open = thread->stack[i];
        open->call_edge = false;
        open->range.measured = false; /* there is one measured span: the part before */
        begin_entry(thread, open, tick, open->span);
        thread->depth++;
    }
}

/* ---- explicit spans ---- */

uint32_t record_span_open(const struct record_call *call, enum cap_span_source source,
                          const struct record_range *range)
{
    struct record_thread *thread = call->thread;
    uint32_t span = 0;

    if (unlikely(thread->depth == RECORD_DEPTH_MAX)) {
        ring_lose(thread);
        lost_begin();
    } else if (session.families & CG_RECORD_SPAN) {
        struct record_open_span *open = &thread->stack[thread->depth];

        open->source = (uint8_t)source;
        open->call_edge = false;
        open->level = 0;
        open->own_step = range_step(range);
        open->range = *range;
        begin_entry(thread, open, call->begin, 0);
        span = open->handle = open->span;
        if (likely(span))
            thread->depth++;
        else
            settle(thread, thread->depth);
    }
    return span;
}

uint32_t record_span_begin(enum cap_span_source source, uint32_t name)
{
    const struct record_range range = {.name = name};
    struct record_call call;
    uint32_t span;

    if (!record_enter(&call, 0)) return 0;
    span = record_span_open(&call, source, &range);
    record_leave(&call);
    return span;
}

/* 1 + the place of an explicit span on the thread's stack, 0: it is not there. *inner: explicit ones are open
 * inside of it. */
static inline uint32_t explicit_place(const struct record_thread *thread, uint32_t span, bool *inner)
{
    uint32_t depth = thread->depth;

    *inner = false;
    for (; depth > 0 && thread->stack[depth - 1].handle != span; depth--)
        *inner |= thread->stack[depth - 1].handle != 0;
    return depth;
}

void record_span_end(uint32_t span)
{
    struct record_call call;
    uint32_t place;
    bool inner;

    if (span == 0 || !record_enter_quiet(&call, 0)) return;
    place = explicit_place(call.thread, span, &inner);
    if (place > 0)
        end_at(call.thread, place - 1, call.begin, false);
    else
        record_gap(RECORD_GAP_UNKNOWN_SPAN_END, 1);
    record_leave(&call);
}

enum record_span_place record_span_close_explicit(const struct record_call *call, uint32_t span)
{
    struct record_thread *thread = call->thread;
    bool inner;
    uint32_t place = explicit_place(thread, span, &inner);

    if (unlikely(!place)) return RECORD_SPAN_NOT_OPEN;
    if (unlikely(inner)) return RECORD_SPAN_NOT_INNERMOST;
    if (likely(place == thread->depth)) {
        end_entry(thread, &thread->stack[place - 1], call->begin, 0);
        settle(thread, place - 1);
    } else {
        end_at(thread, place - 1, call->begin, true);
    }
    return RECORD_SPAN_FOUND;
}

enum record_span_place record_span_call_edge(const struct record_call *call, uint32_t caller, uint32_t callee)
{
    struct record_thread *thread = call->thread;
    bool inner;
    uint32_t place = explicit_place(thread, callee, &inner), around;

    if (!place) return RECORD_SPAN_NOT_OPEN;
    around = place - 1;
    if (caller && (around == 0 || thread->stack[around - 1].handle != caller)) return RECORD_SPAN_NOT_AROUND;
    thread->stack[place - 1].call_edge = true;
    return RECORD_SPAN_FOUND;
}

/* ---- ranges ---- */

/* 1 + the place of the innermost range of a stack, 0: it has none. */
static inline uint32_t innermost(const struct record_thread *thread, uint32_t stack)
{
    uint32_t depth = thread->depth;

    while (depth > 0 && (thread->stack[depth - 1].handle || thread->stack[depth - 1].range.stack != stack))
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

    ring_lose(thread);
    lost_begin();
    if (!count) return 0;
    thread->any_beyond = true;
    return ++*count;
}

int record_range_push(struct record_call *call, const struct record_range *range)
{
    struct record_thread *thread = call->thread;
    uint32_t around = innermost(thread, range->stack);
    uint32_t level = around ? thread->stack[around - 1].level + 1 : 0;

    if (unlikely(thread->depth == RECORD_DEPTH_MAX ||
                 (thread->any_beyond && beyond(thread, range->stack, false)))) {
        uint32_t count = push_beyond(thread, range->stack);

        if (count) level += count - 1;
    } else {
        struct record_open_span *open = &thread->stack[thread->depth];

        open->source = CAP_SOURCE_NVTX;
        open->handle = 0;
        open->level = level;
        open->own_step = span_step(range->name);
        open->range = *range;
        begin_entry(thread, open, call->begin, 0);
        thread->depth++;
    }
    record_leave(call);
    return (int)level;
}

int record_range_pop(struct record_call *call, uint32_t stack)
{
    struct record_thread *thread = call->thread;
    uint32_t at = innermost(thread, stack);
    uint32_t *count = unlikely(thread->any_beyond) ? beyond(thread, stack, false) : NULL;
    int level = at ? (int)thread->stack[at - 1].level : -1;

    if (unlikely(count != NULL)) {
        level += (int)(*count)--;
        thread->any_beyond = false;
        for (uint32_t i = 0; i < RECORD_BEYOND_MAX; i++)
            thread->any_beyond |= thread->beyond[i].count > 0;
    } else if (likely(at > 0 && at == thread->depth)) {
        end_entry(thread, &thread->stack[at - 1], call->begin, 0);
        settle(thread, at - 1);
    } else if (at > 0) {
        end_at(thread, at - 1, call->begin, true);
    } else {
        record_gap(RECORD_GAP_UNKNOWN_SPAN_END, 1);
    }
    record_leave(call);
    return level;
}

void record_mark(struct record_call *call, const struct record_range *range)
{
    struct record_thread *thread = call->thread;
    struct cap_record *slot = ring_slot(thread, RING_MAY_DROP);

    if (likely(slot != NULL)) {
        span_fill(slot, call->begin, span_number(thread), thread->span, CAP_SOURCE_NVTX, range);
        slot->type = CAP_SPAN;
        ring_commit(thread);
    } else {
        atomic_fetch_add_explicit(&session.lost_type[CAP_SPAN], 1, memory_order_relaxed);
    }
    record_leave(call);
}
