/* Spans: a stack for each thread, which holds those that are recorded. */
#include <errno.h>

#include "preload/record/record.h"
#include "preload/record/session.h"

enum { SPAN_BLOCK = 1024 };

static uint32_t next_span(struct record_thread *thread)
{
    if (thread->span_next == thread->span_limit) {
        thread->span_next = atomic_fetch_add_explicit(&session.span_block, SPAN_BLOCK, memory_order_relaxed);
        thread->span_limit = thread->span_next + SPAN_BLOCK;
    }
    return thread->span_next++;
}

static uint16_t name_step(uint32_t name)
{
    uint32_t head = *(const uint32_t *)(session.strings + (uint64_t)name * 8);

    return (uint16_t)(CAP_STRING_STEP(head) << 4);
}

static uint32_t begin_span(struct record_call *call, enum cap_span_source source, uint32_t name)
{
    struct record_thread *thread = call->thread;
    struct record_open_span *open;
    struct cap_record *slot;
    uint16_t step = name_step(name);

    bool deep = thread->depth == RECORD_DEPTH_MAX;

    if (unlikely(deep)) ring_lose(thread);
    if (unlikely(deep) || !(slot = ring_slot(thread, RING_MAY_DROP))) {
        atomic_fetch_add_explicit(&session.lost_type[CAP_SPAN_BEGIN], 1, memory_order_relaxed);
        return 0;
    }
    open = &thread->stack[thread->depth];
    open->begin = call->begin;
    open->span = next_span(thread);
    open->step = step ? step : thread->step;
    slot->begin = call->begin;
    slot->span = open->span;
    slot->type = CAP_SPAN_BEGIN;
    slot->slots = 1;
    slot->session = 0;
    slot->device = CAP_NO_DEVICE;
    slot->api = 0;
    slot->flags = (uint16_t)(source | step);
    slot->result = 0;
    slot->ticks = 0;
    slot->span_data.name = name;
    slot->span_data.parent = thread->span;
    slot->span_data.domain = slot->span_data.category = 0;
    slot->span_data.kind = 0;
    slot->span_data.color = 0;
    slot->span_data.payload = 0;
    ring_commit(thread);
    thread->depth++;
    thread->span = open->span;
    thread->step = open->step;
    return open->span;
}

uint32_t record_span_begin(enum cap_span_source source, uint32_t name)
{
    struct record_call call;
    uint32_t span = 0;

    if (!record_enter(&call, 0)) return 0;
    if (session.families & CG_RECORD_SPAN) span = begin_span(&call, source, name);
    record_leave(&call);
    return span;
}

/* Ends the innermost open span at this tick. */
static void end_span(struct record_thread *thread, uint64_t tick)
{
    struct record_open_span *open = &thread->stack[--thread->depth];
    struct cap_record *slot = ring_slot(thread, RING_MUST), deferred;

    if (unlikely(!slot)) slot = &deferred;
    slot->begin = open->begin;
    slot->span = open->span;
    slot->type = CAP_SPAN_END;
    slot->slots = 1;
    slot->session = 0;
    slot->device = CAP_NO_DEVICE;
    slot->api = 0;
    slot->flags = 0;
    slot->result = 0;
    slot->ticks = tick > open->begin ? tick - open->begin : 0;
    if (likely(slot != &deferred))
        ring_commit(thread);
    else if (atomic_load_explicit(&record_page->state, memory_order_relaxed) == SESSION_OPEN)
        deferred_add(thread, slot);
    thread->span = thread->depth ? thread->stack[thread->depth - 1].span : (uint32_t)CAP_SPAN_REGION;
    thread->step = thread->depth ? thread->stack[thread->depth - 1].step : 0;
}

void record_span_close(struct record_thread *thread)
{
    end_span(thread, record_tick());
}

/* Inner ones that were left open end with it. */
static void end_spans(struct record_thread *thread, uint32_t span, uint64_t tick)
{
    uint32_t depth = thread->depth;

    while (depth > 0 && thread->stack[depth - 1].span != span)
        depth--;
    if (depth == 0) {
        record_gap(RECORD_GAP_UNKNOWN_SPAN_END, 1);
        return;
    }
    while (thread->depth >= depth)
        end_span(thread, tick);
}

void record_span_end(uint32_t span)
{
    struct record_call call;

    if (span == 0 || !record_enter_quiet(&call, 0)) return;
    end_spans(call.thread, span, call.begin);
    record_leave(&call);
}
