/* Intervals of devices, where their clocks stand, and samples of their memory. */
#include "common/jsonl_parts.h"

#define INTERVAL_KEY(id, wire, type, presence, argument, meaning) KEYS(interval, id, wire)
CG_DEVICE_INTERVAL_FIELDS(INTERVAL_KEY)
CG_DEVICE_INTERVAL_EXTRAS(INTERVAL_KEY)
#define DEVICE_MEMORY_KEY(id, wire, type, presence, argument, meaning) KEYS(device_memory, id, wire)
CG_DEVICE_MEMORY_FIELDS(DEVICE_MEMORY_KEY)
CG_DEVICE_MEMORY_EXTRAS(DEVICE_MEMORY_KEY)

#define ACTIVITY(suffix, wire, name) {wire, name},
static const struct {
    const char *wire, *name;
} activities[] = {CAP_ACTIVITIES(ACTIVITY)};

static uint32_t activity_name(const struct cap_record *record)
{
    return (uint32_t)record->ticks;
}

char *jsonl_clock_id(char *out, uint8_t device, uint32_t number)
{
    out = jsonl_literal(out, "cuda:");
    out = jsonl_u64(out, device);
    out = jsonl_literal(out, "/ctx:");
    return jsonl_u64(out, number);
}

/* Times are those of the device's clock: no host time is here. */
char *jsonl_interval(struct jsonl_state *state, char *out, const struct cap_record *record)
{
    unsigned activity = record->flags & CAP_FLAG_DETAIL;
    uint32_t head, stream = record->interval.stream;
    const char *name = jsonl_string_at(state, stream, &head);
    bool replaced;

    if (activity >= CAP_ACTIVITY_COUNT) activity = CAP_ACTIVITY_KERNEL;
    out = jsonl_literal(out, begin_device_interval);
    out = jsonl_literal(out, interval_q_span_id);
    out = put_span_id(out, record->span);
    *out++ = '"';
    out = jsonl_literal(out, interval_q_device);
    out = jsonl_put_ordinal(state, out, record->device);
    *out++ = '"';
    out = jsonl_literal(out, interval_q_stream_id);
    out = jsonl_text(out, name, jsonl_prefix(name, CAP_STRING_LENGTH(head), JSONL_NAME_MAX), &replaced);
    *out++ = '"';
    out = jsonl_literal(out, interval_q_clock_id);
    out = jsonl_clock_id(out, record->device, (uint32_t)(record->ticks >> 32));
    *out++ = '"';
    out = jsonl_literal(out, interval_q_backend);
    out = jsonl_literal(out, "cuda_events\"");
    out = put_field(out, interval_start_ns, record->interval.start_ns);
    out = put_field(out, interval_duration_ns, record->interval.duration_ns);
    out = jsonl_literal(out, interval_q_activity);
    out = put_text(out, activities[activity].wire);
    *out++ = '"';
    name = jsonl_string_at(state, activity_name(record), &head);
    out = jsonl_literal(out, interval_q_name);
    if (CAP_STRING_LENGTH(head) > 0)
        out = jsonl_put_name(out, name, CAP_STRING_LENGTH(head), &replaced);
    else
        out = put_text(out, activities[activity].name);
    *out++ = '"';
    out = put_field(out, interval_correlation, record->interval.correlation);
    if (record->begin) out = put_field(out, interval_bytes, record->begin);
    out = put_field(out, interval_uncertainty_ns, record->interval.uncertainty_ns);
    return jsonl_literal(out, "}\n");
}

/* ---- clocks ---- */

size_t jsonl_clocks_bound(void)
{
    return 64 + CAP_CLOCKS_MAX * (64 + 2 * 128);
}

static char *put_anchor(char *out, const struct cap_clock *clock, const struct cap_device_anchor *anchor)
{
    out = jsonl_literal(out, "{\"device_ns\":");
    out = jsonl_u64(out, anchor->device_ns);
    out = jsonl_literal(out, ",\"host_ns\":");
    out = jsonl_u64(out, cap_ns(clock, anchor->host_tick));
    out = jsonl_literal(out, ",\"uncertainty_ns\":");
    out = jsonl_u64(out, anchor->uncertainty_ns);
    *out++ = '}';
    return out;
}

char *jsonl_clocks(char *out, const struct cap_header *header)
{
    /* Acquire: an entry is filled before it is counted. */
    uint32_t used = atomic_load_explicit(&header->device_clocks, memory_order_acquire);

    *out++ = '{';
    for (uint32_t i = 0; i < used && i < CAP_CLOCKS_MAX; i++) {
        const struct cap_device_clock *clock = &header->device_clock[i];
        unsigned anchors = atomic_load_explicit(&clock->anchors, memory_order_acquire);

        if (i) *out++ = ',';
        *out++ = '"';
        out = jsonl_clock_id(out, clock->device, clock->number);
        out = jsonl_literal(out, "\":[");
        if (anchors > 0) out = put_anchor(out, &header->clock, &clock->anchor[0]);
        if (anchors > 1) *out++ = ',';
        if (anchors > 1) out = put_anchor(out, &header->clock, &clock->anchor[1]);
        *out++ = ']';
    }
    *out++ = '}';
    return out;
}

char *jsonl_sample(struct jsonl_state *state, char *out, const struct cap_record *record)
{
    uint64_t ns = jsonl_begin_ns(state, record);

    saw(state, ns);
    out = jsonl_literal(out, begin_device_memory);
    out = put_field(out, device_memory_timestamp_ns, ns);
    out = jsonl_literal(out, device_memory_q_device);
    if (record->flags & CAP_FLAG_DEVICE_TEXT)
        out = jsonl_put_device(state, out, (uint32_t)record->result);
    else
        out = jsonl_put_ordinal(state, out, record->device);
    *out++ = '"';
    if (record->sample.used != UINT64_MAX)
        out = put_field(out, device_memory_used_bytes, record->sample.used);
    if (record->sample.free != UINT64_MAX)
        out = put_field(out, device_memory_free_bytes, record->sample.free);
    if (record->sample.reserved != UINT64_MAX)
        out = put_field(out, device_memory_reserved_bytes, record->sample.reserved);
    if (record->sample.capacity != UINT64_MAX)
        out = put_field(out, device_memory_capacity_bytes, record->sample.capacity);
    if (record->ticks) out = put_field(out, device_memory_pool_used_bytes, record->ticks - 1);
    return jsonl_literal(out, "}\n");
}
