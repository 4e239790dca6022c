/* The records of a dead program's rings, held against each other and against what was written already. */
#include "analyzer/recover/frameworks.h"
#include "analyzer/recover/recovery.h"

/* Work of a device may be of a span that has ended. */
static bool span_known(const struct recovery *r, const struct cap_record *record)
{
    return number_set_has(&r->part.open_spans, record->span) ||
           ((record->type == CAP_INTERVAL || record->type == CAP_API_INTERVAL) &&
            number_set_has(&r->part.spans, record->span));
}

/* Times that no session reaches, of a damaged record; in ns, a century and a half. */
#define TIME_LIMIT (UINT64_C(1) << 62)

static bool in_time(const struct recovery *r, const struct cap_record *record)
{
    const struct cap_clock *clock = &r->file.header->clock;
    uint64_t end;

    if (record->type == CAP_INTERVAL) /* its own clock's, and not in this place */
        return record->interval.start_ns < TIME_LIMIT && record->interval.duration_ns < TIME_LIMIT;
    if (record->begin > UINT64_MAX / 2) return false;
    end = record->begin + (record->type == CAP_SAMPLE ? 0 : record->ticks);
    if (record->type != CAP_SAMPLE && record->ticks > UINT64_MAX / 2) return false;
    return end < TIME_LIMIT &&
           (end <= clock->tick0 ||
            (unsigned __int128)(end - clock->tick0) * clock->mult >> clock->shift < TIME_LIMIT);
}

static void mend(struct recovery *r, struct cap_record *record, bool *no_memory)
{
    struct number_set *spans = &r->part.open_spans, *storages = &r->part.live_storages;
    uint32_t outside = r->file.header->region.outside;
    bool good = true;

    switch (record->type) {
    case CAP_SPAN_BEGIN:
        if (!number_set_has(spans, record->span_data.parent)) record->span_data.parent = outside;
        good = number_set_add(spans, record->span, no_memory);
        break;
    case CAP_SPAN_END:
        good = record->span > CAP_SPAN_REGION && number_set_remove(spans, record->span);
        if (!number_set_has(spans, record->span_data.parent)) record->flags &= (uint16_t)~CAP_FLAG_CALL_EDGE;
        break;
    case CAP_SPAN:
        if (!number_set_has(spans, record->span_data.parent)) record->span_data.parent = outside;
        good = !number_set_has(spans, record->span);
        break;
    case CAP_FREE:
    case CAP_END:
        if (!(record->flags & CAP_FLAG_NO_STORAGE) && !number_set_remove(storages, record->memory.storage)) {
            record->flags |= CAP_FLAG_NO_STORAGE;
            r->report->ring_dropped++;
        }
        break;
    case CAP_CALL:
    case CAP_GRAPH:
    case CAP_LAUNCH:
    case CAP_COPY:
    case CAP_ALLOC:
    case CAP_SAMPLE:
    case CAP_API_OP:
    case CAP_TENSOR:
    case CAP_STATS:
    case CAP_SCALAR:
    case CAP_API_ALLOC:
    case CAP_API_FREE:
    case CAP_GRADIENT:
        break;
    case CAP_API_INTERVAL:
        good = record->ticks > 0;
        break;
    case CAP_DATA_EDGE: /* its tensors may have been told in what is missing */
        good = r->part.fd >= 0 && !r->report->part_dropped;
        break;
    case CAP_INTERVAL:
        good = record->interval.duration_ns > 0;
        break;
    default:
        good = false;
    }
    if (record->type != CAP_SPAN_BEGIN && record->type != CAP_SPAN_END && record->type != CAP_SPAN &&
        !span_known(r, record))
        record->span = outside;
    if (good || record->type == CAP_PAD) return;
    r->report->ring_dropped++;
    record->type = CAP_PAD;
}

void recovery_mend_slots(struct recovery *r)
{
    for (uint32_t i = 0; i < r->file.ring_count; i++)
        for (uint64_t n = 0; n < r->rests[i].count; n += r->rests[i].slots[n].slots) {
            struct cap_record *record = &r->rests[i].slots[n];

            if (record->slots >= 1 && record->slots <= r->rests[i].count - n) {
                if (in_time(r, record)) continue;
                record->type = CAP_PAD;
                r->report->ring_dropped++;
                continue;
            }
            *record = (struct cap_record){.type = CAP_PAD, .slots = 1};
            r->report->ring_dropped++;
        }
}

bool recovery_has_intervals(const struct recovery *r)
{
    for (uint32_t i = 0; i < r->file.ring_count; i++)
        for (uint64_t n = 0; n < r->rests[i].count; n += r->rests[i].slots[n].slots)
            if (r->rests[i].slots[n].type == CAP_INTERVAL || r->rests[i].slots[n].type == CAP_API_INTERVAL)
                return true;
    return false;
}

/* All spans that the rings begin, and allocations: a storage may be freed by another thread than made it. */
static void mend_begins(struct recovery *r, bool *no_memory)
{
    for (uint32_t i = 0; i < r->file.ring_count; i++)
        for (uint64_t n = 0; n < r->rests[i].count; n += r->rests[i].slots[n].slots) {
            struct cap_record *record = &r->rests[i].slots[n];

            if (record->type == CAP_ALLOC && !(record->flags & CAP_FLAG_NO_STORAGE) &&
                !number_set_add(&r->part.live_storages, record->memory.storage, no_memory))
                record->flags |= CAP_FLAG_NO_STORAGE;
            if (record->type == CAP_SPAN_BEGIN || record->type == CAP_SPAN)
                number_set_add(&r->part.spans, record->span, no_memory);
        }
}

bool recovery_mend(struct recovery *r)
{
    bool no_memory = false;
    size_t dropped = frameworks_mend(r->rests, r->file.ring_count, &r->state, &r->part.live_frameworks);

    if (dropped == SIZE_MAX) return false;
    r->report->ring_dropped += dropped;

    number_set_add(&r->part.open_spans, CAP_SPAN_ROOT, &no_memory);
    if (!r->file.header->region.own) number_set_add(&r->part.open_spans, CAP_SPAN_REGION, &no_memory);
    mend_begins(r, &no_memory);
    for (uint32_t i = 0; i < r->file.ring_count; i++)
        for (uint64_t n = 0; n < r->rests[i].count; n += r->rests[i].slots[n].slots)
            mend(r, &r->rests[i].slots[n], &no_memory);
    return !no_memory;
}
