/* The common case of an explicit span, inline: of a recorded thread, with nothing that begins or ends beside
 * it. Does what record_span_open() and record_span_close_explicit() do then (span.c), and says so when it is
 * not that case. */
#ifndef CGTRACE_PRELOAD_RECORD_SPAN_PLAIN_H
#define CGTRACE_PRELOAD_RECORD_SPAN_PLAIN_H

#include "preload/record/record.h"
#include "preload/record/region.h"
#include "preload/record/session.h"

/* 0: not that case. The span is the program's own, of this name, kind and step (record_range.step_given). */
static inline __attribute__((always_inline)) uint64_t
span_plain_begin(struct record_call *call, uint32_t name, uint8_t kind, unsigned step_given)
{
    struct record_thread *thread = call->thread;
    struct record_peer *peer = thread->peer;
    uint32_t depth = peer->depth, around = thread->span, span;
    struct record_open_span *open = &peer->stack[depth];
    struct cap_record *slot;
    uint16_t own_step, step;
    uint32_t head;

    if (unlikely(call->outside || depth == RECORD_DEPTH_MAX || thread->span_next == thread->span_limit ||
                 thread->head >= thread->check_at || !(session.families & CG_RECORD_SPAN) ||
                 region_is(name, 0) || !ring_window_open(thread)))
        return 0;
    span = thread->span_next++;
    memcpy(&head, session.strings + (uint64_t)name * 8, sizeof head);
    own_step = (uint16_t)((step_given ? step_given - 1u : CAP_STRING_STEP(head)) << 4);
    step = own_step ? own_step : thread->step;
    slot = &thread->slots[thread->head & thread->mask];
    memset(slot, 0, sizeof *slot);
    slot->begin = call->begin;
    slot->span = span;
    slot->type = CAP_SPAN_BEGIN;
    slot->slots = 1;
    slot->device = CAP_NO_DEVICE;
    slot->flags = (uint16_t)(CAP_SOURCE_API | own_step);
    slot->span_data.name = name;
    slot->span_data.parent = around;
    slot->span_data.kind = kind;
    ring_commit(thread);
    memset(open, 0, sizeof *open);
    open->begin = call->begin;
    open->span = open->inside = span;
    open->handle = span | thread->handle_base;
    open->own_step = own_step;
    open->step = step;
    open->source = CAP_SOURCE_API;
    open->range.name = name;
    open->range.kind = kind;
    open->range.step_given = (uint8_t)step_given;
    thread->span = span;
    thread->step = step;
    peer->depth = depth + 1;
    return span | thread->handle_base;
}

/* False: not that case, or the span is not the innermost one. */
static inline __attribute__((always_inline)) bool span_plain_end(struct record_call *call, uint64_t handle)
{
    struct record_thread *thread = call->thread;
    struct record_peer *peer = thread->peer;
    uint32_t depth = peer->depth;
    const struct record_open_span *open = &peer->stack[depth - 1];
    struct cap_record *slot;

    if (unlikely(call->outside || depth <= thread->around || open->handle != handle || !open->span ||
                 open->call_edge || thread->head >= thread->check_at || !ring_window_open(thread)))
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
    peer->depth = --depth;
    thread->span = depth ? open[-1].inside : thread->base;
    thread->step = depth ? open[-1].step : 0;
    return true;
}

#endif
