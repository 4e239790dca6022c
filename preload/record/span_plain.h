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

/* ---- records ---- */

/* The step that a range has by itself, in CAP_FLAG_STEP form. */
static inline __attribute__((always_inline)) uint8_t span_own_step(const struct record_range *range)
{
    uint32_t head;

    if (unlikely(range->step_given)) return (uint8_t)((range->step_given - 1) << 4);
    memcpy(&head, session.strings + (uint64_t)range->name * 8, sizeof head);
    return (uint8_t)(CAP_STRING_STEP(head) << 4);
}

/* The record of a span but for its end. flags: all but what the range says. */
static inline __attribute__((always_inline)) struct cap_record span_describe(enum cap_type type,
                                                                             uint64_t begin, uint32_t span,
                                                                             uint32_t parent, unsigned flags,
                                                                             const struct record_range *range)
{
    return (struct cap_record){.begin = begin,
                               .span = span,
                               .type = (uint8_t)type,
                               .slots = 1,
                               .device = CAP_NO_DEVICE,
                               .flags = (uint16_t)(flags | (range->measured ? CAP_FLAG_MEASURED : 0)),
                               .span_data = {.name = range->name,
                                             .parent = parent,
                                             .domain = range->domain,
                                             .category = range->category,
                                             .kind = range->kind,
                                             .payload_type = range->payload_type,
                                             .has_color = range->has_color,
                                             .color = range->color,
                                             .payload = range->payload}};
}

/* A slot from such a record. */
static inline __attribute__((always_inline)) void span_store(struct cap_record *slot,
                                                             const struct cap_record *from)
{
    record_store_head(slot, from);
    record_store(&slot->span_data.name, from->span_data.name | (uint64_t)from->span_data.parent << 32,
                 from->span_data.domain | (uint64_t)from->span_data.category << 32);
    record_store(&slot->span_data.kind,
                 from->span_data.kind | (uint64_t)from->span_data.payload_type << 8 |
                     (uint64_t)from->span_data.has_color << 16 | (uint64_t)from->span_data.color << 32,
                 from->span_data.payload);
}

/* A slot of an end, but for what an edge needs. */
static inline __attribute__((always_inline)) void
span_store_end(struct cap_record *slot, const struct record_open_span *open, uint64_t tick, unsigned flags)
{
    record_store_head(slot, &(struct cap_record){.begin = open->begin,
                                                 .span = open->span,
                                                 .type = CAP_SPAN_END,
                                                 .slots = 1,
                                                 .device = CAP_NO_DEVICE,
                                                 .flags = (uint16_t)flags,
                                                 .ticks = tick > open->begin ? tick - open->begin : 0});
}

/* An entry of a thread's stack. */
static inline __attribute__((always_inline)) void span_store_open(struct record_open_span *open,
                                                                  const struct record_open_span *from)
{
    const struct record_range *range = &from->range;

    record_store(&open->begin, from->begin, from->span | (uint64_t)from->inside << 32);
    record_store(&open->handle, from->handle,
                 from->level | (uint64_t)from->own_step << 16 | (uint64_t)from->step << 24 |
                     (uint64_t)from->source << 32 | (uint64_t)from->call_edge << 40 |
                     (uint64_t)from->clipped << 48);
    record_store(&open->range.name, range->name | (uint64_t)range->domain << 32,
                 range->category | (uint64_t)range->stack << 32 | (uint64_t)range->payload_type << 48 |
                     (uint64_t)range->kind << 56);
    record_store(&open->range.step_given,
                 range->step_given | (uint64_t)range->measured << 8 | (uint64_t)range->has_color << 16 |
                     (uint64_t)range->color << 32,
                 range->payload);
}

/* ---- begin and end ---- */

/* Begins a span as the innermost one. level: ranges around it on its stack; explicit: it has a handle, else
 * it is a range that was pushed. Returns its number; 0: not that case. */
static inline __attribute__((always_inline)) uint32_t span_plain_open(struct record_plain *call,
                                                                      enum cap_span_source source,
                                                                      const struct record_range *range,
                                                                      uint32_t level, bool explicit)
{
    struct record_thread *thread = call->thread;
    struct record_peer *peer = call->peer;
    struct cap_record *slot = record_plain_slot(call), record;
    uint32_t depth = peer->depth, span;
    uint8_t own_step, step;

    if (unlikely(!slot || depth == RECORD_DEPTH_MAX || thread->span_next == thread->span_limit ||
                 region_is(range->name, range->domain)))
        return 0;
    span = thread->span_next++;
    own_step = span_own_step(range);
    step = own_step ? own_step : (uint8_t)thread->step;
    record =
        span_describe(CAP_SPAN_BEGIN, call->begin, span, thread->span, (unsigned)source | own_step, range);
    span_store(slot, &record);
    record_plain_publish(call);
    span_store_open(&peer->stack[depth],
                    &(struct record_open_span){.begin = call->begin,
                                               .span = span,
                                               .inside = span,
                                               .handle = explicit ? span | thread->handle_base : 0,
                                               .level = (uint16_t)level,
                                               .own_step = own_step,
                                               .step = step,
                                               .source = (uint8_t)source,
                                               .range = *range});
    record_set_span(thread, span, step);
    peer->depth = depth + 1;
    return span;
}

/* Ends the innermost one, which is `open`. False: not that case. */
static inline __attribute__((always_inline)) bool span_plain_close(struct record_plain *call,
                                                                   const struct record_open_span *open)
{
    struct record_thread *thread = call->thread;
    struct cap_record *slot = record_plain_slot(call);
    uint32_t depth = call->peer->depth - 1;

    if (unlikely(!slot || !open->span || open->call_edge)) return false;
    span_store_end(slot, open, call->begin, 0);
    record_plain_publish(call);
    call->peer->depth = depth;
    record_set_span(thread, depth ? open[-1].inside : thread->base, depth ? open[-1].step : 0);
    return true;
}

/* ---- explicit spans ---- */

/* The handle; 0: not that case. The span is the program's own, of this name, kind and step
 * (record_range.step_given). */
static inline __attribute__((always_inline)) uint64_t
span_plain_begin(struct record_plain *call, uint32_t name, uint8_t kind, uint8_t step_given)
{
    const struct record_range range = {.name = name, .kind = kind, .step_given = step_given};
    uint32_t span;

    span = span_plain_open(call, CAP_SOURCE_API, &range, 0, true);
    return span ? span | call->thread->handle_base : 0;
}

/* False: not that case, or the span is not the innermost one. */
static inline __attribute__((always_inline)) bool span_plain_end(struct record_plain *call, uint64_t handle)
{
    const struct record_thread *thread = call->thread;
    uint32_t depth = call->peer->depth;
    const struct record_open_span *open = &call->peer->stack[depth - 1];

    return likely(depth > thread->around && open->handle == handle) && span_plain_close(call, open);
}

/* ---- ranges that are pushed and popped ---- */

/* The number of ranges around it on its stack; -1: not that case. */
static inline __attribute__((always_inline)) int range_plain_push(struct record_plain *call,
                                                                  const struct record_range *range)
{
    const struct record_thread *thread = call->thread;
    uint32_t depth = call->peer->depth, level = 0;

    if (unlikely(thread->any_beyond)) return -1;
    if (depth > 0) {
        const struct record_open_span *open = &call->peer->stack[depth - 1];

        if (unlikely(open->handle || open->range.stack != range->stack)) return -1;
        level = open->level + 1;
    }
    return span_plain_open(call, CAP_SOURCE_NVTX, range, level, false) ? (int)level : -1;
}

/* The number of ranges around the one that has ended; -1: not that case. */
static inline __attribute__((always_inline)) int range_plain_pop(struct record_plain *call, uint32_t stack)
{
    const struct record_thread *thread = call->thread;
    uint32_t depth = call->peer->depth;
    const struct record_open_span *open = &call->peer->stack[depth - 1];

    if (unlikely(depth <= thread->around || thread->any_beyond || open->handle || open->range.stack != stack))
        return -1;
    return span_plain_close(call, open) ? (int)open->level : -1;
}

#endif
