/* Kind beyond the format: ledger: storages, pools, what the device says is in use, and what remains. */
#include <stdlib.h>
#include <string.h>

#include "analyzer/cmd/query.h"
#include "analyzer/cmd/suspect_view.h"
#include "analyzer/planes/memory_ledger.h"

struct ledger {
    const struct cg_trace *trace;
    const struct capability *capabilities;
    struct logical_memory memory;
    struct memory_ledger ledger;
};

static const struct ledger *of(const struct query *query)
{
    return query->state;
}

static void release(struct query *query)
{
    struct ledger *ledger = query->state;
    memory_ledger_free(&ledger->ledger);
    evidence_logical_free(&query->input->evidence, &ledger->memory);
    free(ledger);
}

static int prepare(struct query *query, struct cg_error *error)
{
    const struct cg_trace *trace = query->input->trace;
    cg_str wanted;
    int status = query_device(query, &wanted, error);
    if (status != 0) return status;
    struct ledger *ledger = calloc(1, sizeof *ledger);
    query->state = ledger;
    if (!ledger) return cg_out_of_memory(error);
    ledger->trace = trace;
    ledger->capabilities = query->input->evidence.capabilities;
    const struct suspects *suspects = &query->input->suspects;
    if (evidence_trusted_logical(&query->input->evidence, trace, suspects, &ledger->memory) &&
        memory_ledger_make(trace, &ledger->memory, wanted, suspects->rule[SUSPECT_SAMPLES], &ledger->ledger))
        return 0;
    release(query);
    return cg_out_of_memory(error);
}

/* ---- rows ---- */

static uint64_t row_count(const struct query *query)
{
    return of(query)->ledger.count;
}

static struct cg_text row_name(const struct query *query, uint64_t row)
{
    const struct memory_ledger *ledger = &of(query)->ledger;
    return trace_text(of(query)->trace, ledger->devices[ledger->rows[row].device].device);
}

static bool row_matches(const struct query *query, uint64_t row)
{
    struct cg_text name = row_name(query, row);
    return query_keeps(query, &name, 1);
}

static void emit_entry(struct json_doc *doc, const struct query *query, uint64_t number)
{
    const struct ledger_row *row = &of(query)->ledger.rows[number];
    const struct cg_device_memory *samples = &of(query)->trace->device_memory;
    uint32_t sample = row->sample;
    doc_object(doc);
    doc_member_text(doc, "device", row_name(query, number));
    doc_member_u64(doc, "timestamp_ns", samples->timestamp_ns[sample]);
    doc_member_u64(doc, "logical_bytes", row->logical_bytes);
    doc_member_u64(doc, "logical_in_pools_bytes", row->logical_pool_bytes);
    doc_member_u64(doc, "logical_of_framework_bytes", row->framework_bytes);
    doc_member_u64_or_null(doc, "reserved_bytes", samples->reserved_bytes_set[sample],
                           samples->reserved_bytes[sample]);
    doc_member_u64_or_null(doc, "used_bytes", samples->used_bytes_set[sample], samples->used_bytes[sample]);
    doc_member_u64_or_null(doc, "attributed_bytes", row->used_known, row->attributed_bytes);
    doc_member_u64_or_null(doc, "unattributed_bytes", row->used_known, row->unattributed_bytes);
    doc_member_u64_or_null(doc, "over_attributed_bytes", row->used_known, row->over_bytes);
    doc_object_end(doc);
}

static const struct query_rows rows = {
    .count = row_count, .name = row_name, .matches = row_matches, .emit = emit_entry};

/* ---- what stands beside the rows ---- */

static const struct ledger *of_page(const void *page)
{
    return of(((const struct page *)page)->query);
}

static void emit_definition(struct json_doc *doc, const void *page)
{
    (void)page;
    doc_string(
        doc,
        "At each sample of a device: logical is what its storages hold, reserved is what pools took from "
        "the device, used is what the device says is in use. Attributed is what storages outside of pools "
        "hold and what pools have reserved (what their storages hold, where that is not known); "
        "unattributed is used less attributed. What a framework's allocator gives out lies within storages "
        "of "
        "the driver, where the trace has both, and is not attributed again. More can be attributed than is "
        "used where storages do not "
        "lie on the device, as managed memory may. Suspect storages and samples are left out and counted.");
}

static void emit_suspects(struct json_doc *doc, const void *page)
{
    const struct suspects *suspects = &((const struct page *)page)->query->input->suspects;
    doc_object(doc);
    for (enum suspect_plane plane = SUSPECT_STORAGES; plane < SUSPECT_PLANE_COUNT; plane++) {
        doc_key(doc, suspect_plane_kind[plane]);
        emit_suspect_tally(doc, plane, &suspects->tally[plane]);
    }
    doc_object_end(doc);
}

/* covered: what the capability says, where the trace has such records at all. */
static void emit_plane(struct json_doc *doc, const char *plane, uint64_t records,
                       const struct capability *covered)
{
    static const struct capability none = {.level = CAPABILITY_UNAVAILABLE,
                                           .source = {"none", sizeof "none" - 1},
                                           .reason = {"no record says so", sizeof "no record says so" - 1}};
    doc_object(doc);
    doc_member_string(doc, "plane", plane);
    doc_member_string(doc, "clock", "host");
    doc_member_u64(doc, "records", records);
    doc_key(doc, "coverage");
    emit_capability(doc, records > 0 ? covered : &none);
    doc_object_end(doc);
}

static void emit_planes(struct json_doc *doc, const void *page)
{
    const struct ledger *ledger = of_page(page);
    const struct capability *logical = &ledger->capabilities[CAPABILITY_KIND_LOGICAL_MEMORY],
                            *physical = &ledger->capabilities[CAPABILITY_KIND_PHYSICAL_MEMORY];
    uint64_t used = 0, reserved = 0;
    for (size_t i = 0; i < ledger->ledger.device_count; i++) {
        used += ledger->ledger.devices[i].with_used;
        reserved += ledger->ledger.devices[i].with_reserved;
    }
    bool logical_weaker = capability_weakest(logical->level, physical->level) == logical->level;
    doc_array(doc);
    emit_plane(doc, "logical", ledger->trace->memory.rows, logical);
    emit_plane(doc, "reserved", reserved, physical);
    emit_plane(doc, "used", used, physical);
    emit_plane(doc, "unattributed", used, logical_weaker ? logical : physical);
    doc_array_end(doc);
}

static void emit_devices(struct json_doc *doc, const void *page)
{
    const struct ledger *ledger = of_page(page);
    doc_array(doc);
    for (size_t i = 0; i < ledger->ledger.device_count; i++) {
        const struct ledger_device *device = &ledger->ledger.devices[i];
        doc_object(doc);
        doc_member_text(doc, "device", trace_text(ledger->trace, device->device));
        doc_member_u64(doc, "samples", device->samples);
        doc_member_u64(doc, "samples_with_used", device->with_used);
        doc_member_u64(doc, "samples_with_reserved", device->with_reserved);
        doc_object_end(doc);
    }
    doc_array_end(doc);
}

/* A row for each device that has one. */
static void emit_most(struct json_doc *doc, const struct page *page, bool unattributed)
{
    const struct memory_ledger *ledger = &of(page->query)->ledger;
    doc_array(doc);
    for (size_t i = 0; i < ledger->device_count; i++) {
        const struct ledger_device *device = &ledger->devices[i];
        uint32_t row = unattributed ? device->most_unattributed : device->most_used;
        if (row != CG_NONE) emit_entry(doc, page->query, row);
    }
    doc_array_end(doc);
}
static void emit_most_used(struct json_doc *doc, const void *page)
{
    emit_most(doc, page, false);
}
static void emit_most_unattributed(struct json_doc *doc, const void *page)
{
    emit_most(doc, page, true);
}

static void emit(struct json_doc *doc, const void *object)
{
    static const struct json_member members[] = {{"definition", emit_definition, NULL},
                                                 {"planes", emit_planes, NULL},
                                                 {"devices", emit_devices, NULL},
                                                 {"suspects", emit_suspects, NULL},
                                                 {"most_used", emit_most_used, NULL},
                                                 {"most_unattributed", emit_most_unattributed, NULL},
                                                 PAGE_MEMBERS};
    struct page page = page_of(object);
    doc_members(doc, members, sizeof members / sizeof *members, &page);
}

static const char *const options[] = {"device", NULL};

const struct query_kind query_ledger = {
    .name = "ledger",
    .about =
        "over time: what storages hold, what pools have reserved, what the device has in use, what remains",
    .pages = &rows,
    .options = options,
    .needs = {.extras = true, .work = true},
    .rows = "rows",
    .prepare = prepare,
    .release = release,
    .emit = emit,
};
