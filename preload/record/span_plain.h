/* The common case of a span, inline: of a thread that has joined the session, with nothing that begins or
 * ends beside it, and with room. Does what span.c does then, and says so when it is not that case. What the
 * caller has just put together goes from registers into its places: copied through memory, in words wider
 * than its stores were, it would have to wait for them (1.4 against 2.1 times two bare slots for a push and
 * its pop).
 *
 * A span cannot be cheaper than its two readings of the clock, 18.95 ns on a core of Zen 4 that nobody
 * shares: all else is to run meanwhile, and what does not fit adds to it. With 220 instructions and 33
 * stores a begin and its end took 19.93 ns, with 140 and 29 it is 19.35. Of the rest most is that each record
 * is a new line for the first cache: 19.1 when all were stored into one. */
#ifndef CGTRACE_PRELOAD_RECORD_SPAN_PLAIN_H
#define CGTRACE_PRELOAD_RECORD_SPAN_PLAIN_H

#include "preload/record/record.h"
#include "preload/record/region.h"
#include "preload/record/session.h"

/* ---- records ---- */

/* The step that a range has by itself, in CAP_FLAG_STEP form. named: that of its name. */
static inline __attribute__((always_inline)) uint32_t span_own_step(const struct record_range *range,
                                                                    uint32_t named)
{
    return unlikely(range->step_given) ? (range->step_given - 1u) << 4 : named;
}
static inline uint32_t span_named_step(uint32_t name)
{
    uint32_t head;

    memcpy(&head, session.strings + (uint64_t)name * 8, sizeof head);
    return CAP_STRING_STEP(head) << 4;
}

/* record_open_span.flags, and what they tell. */
static inline __attribute__((always_inline)) uint32_t span_flags(enum cap_span_source source,
                                                                 const struct record_range *range)
{
    return source | span_own_step(range, span_named_step(range->name));
}
static inline enum cap_span_source span_source(const struct record_open_span *open)
{
    return (enum cap_span_source)(open->flags & CAP_FLAG_DETAIL);
}
/* The step of what is in it. around: of what is around it. */
static inline uint32_t span_step_in(const struct record_open_span *open, uint32_t around)
{
    return open->flags & CAP_FLAG_STEP ? open->flags & CAP_FLAG_STEP : around;
}

/* What records directly in it belong to, for record_set_inside(). */
static inline uint64_t span_inside(const struct record_open_span *open)
{
    uint64_t both;

    memcpy(&both, &open->inside, sizeof both);
    return both;
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

/* What stands beside a span's number, in one word with it. */
static inline __attribute__((always_inline)) uint32_t span_type_half(enum cap_type type)
{
    return type | 1u << 8 | (uint32_t)CAP_NO_DEVICE << 24;
}
_Static_assert(offsetof(struct cap_record, slots) == offsetof(struct cap_record, type) + 1 &&
                   offsetof(struct cap_record, device) == offsetof(struct cap_record, type) + 3 &&
                   offsetof(struct cap_record, flags) == offsetof(struct cap_record, api) + 2,
               "members are shifted to where they stand in words");

/* A slot of a begin, as span_describe() has it. flags: as there. */
static inline __attribute__((always_inline)) void span_store_begin(struct cap_record *slot, uint64_t begin,
                                                                   uint64_t span_and_type, uint32_t parent,
                                                                   uint64_t flags,
                                                                   const struct record_range *range)
{
    record_store_word(&slot->begin, begin);
    record_store_word(&slot->span, span_and_type);
    record_store(&slot->api, (flags | (range->measured ? CAP_FLAG_MEASURED : 0u)) << 16, 0);
    record_store(&slot->span_data.name, range->name | (uint64_t)parent << 32,
                 range->domain | (uint64_t)range->category << 32);
    record_store(&slot->span_data.kind,
                 range->kind | (uint64_t)range->payload_type << 8 | (uint64_t)range->has_color << 16 |
                     (uint64_t)range->color << 32,
                 range->payload);
}

/* A slot of an end, but for what an edge needs. */
static inline __attribute__((always_inline)) void
span_store_end(struct cap_record *slot, const struct record_open_span *open, uint64_t tick, unsigned flags)
{
    uint64_t begin = open->begin, ticks;

    /* Clocks of two processors may differ by a little. */
    if (__builtin_sub_overflow(tick, begin, &ticks)) ticks = 0;
    record_store_word(&slot->begin, begin);
    record_store_half(&slot->span, open->inside);
    record_store_half(&slot->type, span_type_half(CAP_SPAN_END));
    record_store(&slot->api, (uint64_t)flags << 16, ticks);
}

/* An entry of a thread's stack, of a span that is recorded. inside: both members of that, in one word. */
static inline __attribute__((always_inline)) void
span_store_open(struct record_open_span *open, uint64_t begin, uint64_t inside, uint64_t handle,
                uint32_t level, uint64_t flags, const struct record_range *range)
{
    record_store_word(&open->begin, begin);
    record_store_word(&open->inside, inside);
    record_store_word(&open->handle, handle);
    record_store_word(&open->level, level | flags << 16 | UINT64_C(1) << 32);
    record_store(&open->range.name, range->name | (uint64_t)range->domain << 32,
                 range->category | (uint64_t)range->stack << 32 | (uint64_t)range->payload_type << 48 |
                     (uint64_t)range->kind << 56);
    record_store(&open->range.step_given,
                 range->step_given | (uint64_t)range->measured << 8 | (uint64_t)range->has_color << 16 |
                     (uint64_t)range->color << 32,
                 range->payload);
}

/* ---- begin and end ---- */

/* Whether one can begin so. */
static inline __attribute__((always_inline)) bool span_plain_may_open(const struct record_plain *call)
{
    const struct record_thread *thread = call->thread;

    return likely(record_plain_room(call) && call->peer->depth < RECORD_DEPTH_MAX &&
                  thread->span_next < thread->span_limit);
}

/* The same after having made it so, if that can be: numbers, and the room that the writer has given back. */
bool span_plain_prepare(struct record_plain *call);

/* Begins a span as the innermost one, where span_plain_may_open(). level: ranges around it on its stack;
 * explicit: it has a handle, else it is a range that was pushed. Returns its handle, or number. */
static inline __attribute__((always_inline)) uint64_t span_plain_open(struct record_plain *call,
                                                                      unsigned flags,
                                                                      const struct record_range *range,
                                                                      uint32_t level, bool explicit)
{
    struct record_thread *thread = call->thread;
    struct record_peer *peer = call->peer;
    uint64_t word = thread->span_next++, handle, step;
    uint32_t depth, span = (uint32_t)word;

    span_store_begin(record_plain_slot(call), call->begin, word, thread->span, flags, range);
    record_plain_publish(call);
    step = record_pinned(thread->step);
    if (flags & CAP_FLAG_STEP) step = flags & CAP_FLAG_STEP;
    depth = peer->depth;
    handle = explicit ? span | thread->handle_base : span;
    span_store_open(record_pinned(&peer->open[depth + 1]), call->begin, span | step << 32,
                    explicit ? handle : 0, level, flags, range);
    record_set_inside(thread, span | step << 32);
    peer->depth = depth + 1;
    return handle;
}

/* Its end is a record, and nothing else: no more than `recorded` is set. */
static inline bool span_is_plain(const struct record_open_span *open)
{
    uint16_t both;

    memcpy(&both, &open->recorded, sizeof both);
    return both == 1;
}
_Static_assert(offsetof(struct record_open_span, call_edge) ==
                   offsetof(struct record_open_span, recorded) + 1,
               "read as one word");

/* Ends the innermost one, which is `open`. False: not that case; of what is around the region too. */
static inline __attribute__((always_inline)) bool span_plain_close(struct record_plain *call,
                                                                   const struct record_open_span *open)
{
    struct record_thread *thread = call->thread;

    if (unlikely(!record_plain_room(call) || !span_is_plain(open))) return false;
    span_store_end(record_plain_slot(call), open, call->begin, 0);
    record_plain_publish(call);
    call->peer->depth--;
    record_set_inside(thread, span_inside(open - 1));
    return true;
}

/* ---- explicit spans ---- */

/* Where span_plain_may_open(). The handle. The span is the program's own, of this name, kind and step
 * (record_range.step_given). named_step: span_named_step() of its name. */
static inline __attribute__((always_inline)) uint64_t span_plain_begin(struct record_plain *call,
                                                                       uint32_t name, uint32_t named_step,
                                                                       uint8_t kind, uint8_t step_given)
{
    const struct record_range range = {.name = name, .kind = kind, .step_given = step_given};

    return span_plain_open(call, CAP_SOURCE_API | span_own_step(&range, named_step), &range, 0, true);
}

/* False: not that case, or the span is not the innermost one. */
static inline __attribute__((always_inline)) bool span_plain_end(struct record_plain *call, uint64_t handle)
{
    const struct record_open_span *open = record_pinned(&call->peer->open[call->peer->depth]);

    return likely(open->handle == handle) && span_plain_close(call, open);
}

/* ---- ranges that are pushed and popped ---- */

/* The number of ranges around it on its stack; -1: not that case. */
static inline __attribute__((always_inline)) int range_plain_push(struct record_plain *call,
                                                                  const struct record_range *range)
{
    const struct record_thread *thread = call->thread;
    uint32_t depth = call->peer->depth, level = 0;

    if (unlikely(thread->any_beyond || region_is(range->name, range->domain) || !span_plain_may_open(call)))
        return -1;
    if (depth > 0) {
        const struct record_open_span *open = record_pinned(&call->peer->open[depth]);

        if (unlikely(open->handle || open->range.stack != range->stack)) return -1;
        level = open->level + 1;
    }
    span_plain_open(call, span_flags(CAP_SOURCE_NVTX, range), range, level, false);
    return (int)level;
}

/* The number of ranges around the one that has ended; -1: not that case. */
static inline __attribute__((always_inline)) int range_plain_pop(struct record_plain *call, uint32_t stack)
{
    const struct record_open_span *open = record_pinned(&call->peer->open[call->peer->depth]);

    if (unlikely(call->thread->any_beyond || open->handle || open->range.stack != stack)) return -1;
    return span_plain_close(call, open) ? (int)open->level : -1;
}

#endif
