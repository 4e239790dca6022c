/* The common case of a span, inline: of a thread that has joined the session, with nothing that begins or
 * ends beside it, and with room. Does what span.c does then, and says so when it is not that case. What the
 * caller has just put together goes from registers into its places: copied through memory, in words wider
 * than its stores were, it would have to wait for them (1.4 against 2.1 times two bare slots for a push and
 * its pop). */
#ifndef CGTRACE_PRELOAD_RECORD_SPAN_PLAIN_H
#define CGTRACE_PRELOAD_RECORD_SPAN_PLAIN_H

#include "preload/record/record.h"
#include "preload/record/region.h"
#include "preload/record/session.h"

/* Begins a span as the innermost one. level: ranges around it on its stack; explicit: it has a handle, else
 * it is a range that was pushed. Returns its number; 0: not that case. */
static inline __attribute__((always_inline)) uint32_t span_plain_open(struct record_call *call,
                                                                      enum cap_span_source source,
                                                                      const struct record_range *range,
                                                                      uint32_t level, bool explicit)
{
    struct record_thread *thread = call->thread;
    struct record_peer *peer = thread->peer;
    uint32_t depth = peer->depth, around = thread->span, span, head;
    struct record_open_span *open = &peer->stack[depth];
    struct cap_record *slot;
    uint16_t own_step, step;

    if (unlikely(depth == RECORD_DEPTH_MAX || thread->span_next == thread->span_limit ||
                 thread->head >= thread->check_at || region_is(range->name, range->domain) ||
                 !ring_window_open(thread)))
        return 0;
    span = thread->span_next++;
    memcpy(&head, session.strings + (uint64_t)range->name * 8, sizeof head);
    own_step = (uint16_t)((range->step_given ? range->step_given - 1u : CAP_STRING_STEP(head)) << 4);
    step = own_step ? own_step : thread->step;
    slot = &thread->slots[thread->head & thread->mask];
    memset(slot, 0, sizeof *slot);
    slot->begin = call->begin;
    slot->span = span;
    slot->type = CAP_SPAN_BEGIN;
    slot->slots = 1;
    slot->device = CAP_NO_DEVICE;
    slot->flags = (uint16_t)(source | own_step);
    slot->span_data.name = range->name;
    slot->span_data.parent = around;
    slot->span_data.domain = range->domain;
    slot->span_data.category = range->category;
    slot->span_data.kind = range->kind;
    slot->span_data.payload_type = range->payload_type;
    slot->span_data.has_color = range->has_color;
    slot->span_data.color = range->color;
    slot->span_data.payload = range->payload;
    ring_commit(thread);
    memset(open, 0, sizeof *open);
    open->begin = call->begin;
    open->span = open->inside = span;
    open->handle = explicit ? span | thread->handle_base : 0;
    open->level = level;
    open->own_step = own_step;
    open->step = step;
    open->source = (uint8_t)source;
    open->range = *range;
    thread->span = span;
    thread->step = step;
    peer->depth = depth + 1;
    return span;
}

/* Ends the innermost one, which is `open`. False: not that case. */
static inline __attribute__((always_inline)) bool span_plain_close(struct record_call *call,
                                                                   const struct record_open_span *open)
{
    struct record_thread *thread = call->thread;
    struct cap_record *slot;
    uint32_t depth = thread->peer->depth - 1;

    if (unlikely(!open->span || open->call_edge || thread->head >= thread->check_at ||
                 !ring_window_open(thread)))
        return false;
    slot = &thread->slots[thread->head & thread->mask];
    slot->begin = open->begin;
    slot->span = open->span;
    slot->type = CAP_SPAN_END;
    slot->slots = 1;
    slot->session = 0;
    slot->device = CAP_NO_DEVICE;
    slot->api = 0;
    slot->flags = 0;
    slot->result = 0;
    slot->ticks = call->begin > open->begin ? call->begin - open->begin : 0;
    ring_commit(thread);
    thread->peer->depth = depth;
    thread->span = depth ? open[-1].inside : thread->base;
    thread->step = depth ? open[-1].step : 0;
    return true;
}

/* ---- explicit spans ---- */

/* The handle; 0: not that case. The span is the program's own, of this name, kind and step
 * (record_range.step_given). */
static inline __attribute__((always_inline)) uint64_t
span_plain_begin(struct record_call *call, uint32_t name, uint8_t kind, uint8_t step_given)
{
    const struct record_range range = {.name = name, .kind = kind, .step_given = step_given};
    uint32_t span;

    if (unlikely(!(session.families & CG_RECORD_SPAN))) return 0;
    span = span_plain_open(call, CAP_SOURCE_API, &range, 0, true);
    return span ? span | call->thread->handle_base : 0;
}

/* False: not that case, or the span is not the innermost one. */
static inline __attribute__((always_inline)) bool span_plain_end(struct record_call *call, uint64_t handle)
{
    const struct record_thread *thread = call->thread;
    uint32_t depth = thread->peer->depth;
    const struct record_open_span *open = &thread->peer->stack[depth - 1];

    return likely(depth > thread->around && open->handle == handle) && span_plain_close(call, open);
}

/* ---- ranges that are pushed and popped ---- */

/* The number of ranges around it on its stack; -1: not that case. */
static inline __attribute__((always_inline)) int range_plain_push(struct record_call *call,
                                                                  const struct record_range *range)
{
    const struct record_thread *thread = call->thread;
    uint32_t depth = thread->peer->depth, level = 0;

    if (unlikely(thread->any_beyond)) return -1;
    if (depth > 0) {
        const struct record_open_span *open = &thread->peer->stack[depth - 1];

        if (unlikely(open->handle || open->range.stack != range->stack)) return -1;
        level = open->level + 1;
    }
    return span_plain_open(call, CAP_SOURCE_NVTX, range, level, false) ? (int)level : -1;
}

/* The number of ranges around the one that has ended; -1: not that case. */
static inline __attribute__((always_inline)) int range_plain_pop(struct record_call *call, uint32_t stack)
{
    const struct record_thread *thread = call->thread;
    uint32_t depth = thread->peer->depth;
    const struct record_open_span *open = &thread->peer->stack[depth - 1];

    if (unlikely(depth <= thread->around || thread->any_beyond || open->handle || open->range.stack != stack))
        return -1;
    return span_plain_close(call, open) ? (int)open->level : -1;
}

#endif
