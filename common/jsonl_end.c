#include "common/jsonl_end.h"

#include <stdbool.h>
#include <string.h>

#include "common/event_table.h"
#include "common/jsonl_text.h"

#define TERMINAL_KEY(id, wire, type, presence, argument, meaning)                                            \
    static const char terminal_##id[] = ",\"" wire "\":";
CG_TERMINAL_FIELDS(TERMINAL_KEY)
#define TERMINAL_BEGIN(suffix, member, wire, fields, extras, meaning)                                        \
    static const char begin_##member[] __attribute__((unused)) = "{\"kind\":\"" wire "\"";
CG_KINDS(TERMINAL_BEGIN)

/* Families of terminal.coverage: which types of records are counted in each. */
static const struct {
    const char *name;
    uint32_t types;
} families[] = {
    {"memory", 1u << CAP_ALLOC | 1u << CAP_FREE | 1u << CAP_END},
    {"launch", 1u << CAP_LAUNCH},
    {"copy", 1u << CAP_COPY},
    {"call", 1u << CAP_CALL | 1u << CAP_GRAPH},
    {"span", 1u << CAP_SPAN_BEGIN | 1u << CAP_SPAN},
    {"sample", 1u << CAP_SAMPLE},
    {"api_op", 1u << CAP_API_OP},
    {"api_tensor", 1u << CAP_TENSOR},
    {"api_statistics", 1u << CAP_STATS | 1u << CAP_SCALAR},
    {"api_storage", 1u << CAP_API_ALLOC | 1u << CAP_API_FREE},
    {"api_interval", 1u << CAP_API_INTERVAL},
    {"api_gradient", 1u << CAP_GRADIENT},
    {"api_edge", 1u << CAP_DATA_EDGE},
};
enum { FAMILIES = sizeof families / sizeof *families };

#define GAP_NAME(suffix, wire, meaning) wire,
static const char *const gap_names[] = {CAP_GAPS(GAP_NAME)};
#define UNTIMED_NAME(suffix, wire, meaning) wire,
static const char *const untimed_names[] = {CAP_UNTIMEDS(UNTIMED_NAME)};

static char *put_string(char *out, const char *text)
{
    return jsonl_string(out, text, strlen(text));
}

static char *put_count(char *out, const char *key, uint64_t count, bool *first)
{
    if (!*first) *out++ = ',';
    *first = false;
    out = put_string(out, key);
    *out++ = ':';
    return jsonl_u64(out, count);
}

static uint64_t sum(const uint64_t *counts, uint32_t types)
{
    uint64_t total = 0;

    for (int type = 0; type < CAP_TYPE_COUNT; type++)
        if (types >> type & 1) total += counts[type];
    return total;
}

static char *put_lost(char *out, const struct jsonl_end *end)
{
    bool first = true;

    out = jsonl_literal(out, ",\"lost\":{");
    out = put_count(out, "total", end->lost, &first);
    if (end->without_ring) out = put_count(out, "without_ring", end->without_ring, &first);
    if (end->not_written) out = put_count(out, "not_written", end->not_written, &first);
    out = jsonl_literal(out, ",\"threads\":{");
    first = true;
    for (size_t i = 0; i < end->thread_count; i++) {
        char tid[24];

        *jsonl_i64(tid, end->threads[i].tid) = '\0';
        out = put_count(out, tid, end->threads[i].lost, &first);
    }
    return jsonl_literal(out, "}}");
}

/* How much of the devices' work has its time in the trace, and why the rest has not. */
static char *put_timing(char *out, const struct jsonl_end *end)
{
    bool first = true;

    out = jsonl_literal(out, "\"device_timing\":{");
    out = put_count(out, "timed", end->recorded[CAP_INTERVAL], &first);
    out = jsonl_literal(out, ",\"untimed\":{");
    first = true;
    for (int why = 0; why < CAP_UNTIMED_COUNT; why++)
        if (end->untimed[why]) out = put_count(out, untimed_names[why], end->untimed[why], &first);
    if (end->unread) out = put_count(out, "unread", end->unread, &first);
    out = jsonl_literal(out, "},\"cost_ns\":");
    out = jsonl_u64(out, end->timing_ns);
    return jsonl_literal(out, "},");
}

static char *put_coverage(char *out, const struct jsonl_end *end)
{
    bool first = true;

    out = jsonl_literal(out, ",\"coverage\":{");
    for (int i = 0; i < FAMILIES; i++) {
        uint64_t recorded = sum(end->recorded, families[i].types);

        out = put_string(out, families[i].name);
        out = jsonl_literal(out, ":{");
        first = true;
        if (end->lost_type) {
            uint64_t lost = sum(end->lost_type, families[i].types);

            out = put_count(out, "seen", recorded + lost, &first);
            out = put_count(out, "recorded", recorded, &first);
            out = put_count(out, "lost", lost, &first);
        } else {
            out = put_count(out, "recorded", recorded, &first);
        }
        out = jsonl_literal(out, "},");
    }
    out = put_timing(out, end);
    out = jsonl_literal(out, "\"not_covered\":{");
    first = true;
    for (int gap = 0; gap < CAP_GAP_COUNT; gap++)
        out = put_count(out, gap_names[gap], end->gaps[gap], &first);
    return jsonl_literal(out, "}}");
}

size_t jsonl_end_bound(const struct jsonl_end *end)
{
    return 4096 + 48 * end->thread_count + (end->reason ? 6 * strlen(end->reason) : 0) + 6 * strlen(end->end);
}

char *jsonl_end_write(char *out, const struct jsonl_end *end)
{
    out = jsonl_literal(out, begin_terminal);
    out = jsonl_literal(out, terminal_outcome);
    out = put_string(out, cg_name_OUTCOME[end->reason ? CG_OUTCOME_FAILED : CG_OUTCOME_COMPLETE]);
    out = jsonl_literal(out, terminal_timestamp_ns);
    out = jsonl_u64(out, end->ns);
    if (end->reason) {
        out = jsonl_literal(out, terminal_reason);
        out = put_string(out, end->reason);
    }
    out = put_lost(out, end);
    out = put_coverage(out, end);
    if (end->overhead_ns != UINT64_MAX) {
        out = jsonl_literal(out, ",\"overhead_ns\":");
        out = jsonl_u64(out, end->overhead_ns);
    }
    out = jsonl_literal(out, ",\"end\":");
    out = put_string(out, end->end);
    return jsonl_literal(out, "}\n");
}
