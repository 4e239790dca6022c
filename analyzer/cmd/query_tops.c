/* Kinds beyond the format: kernels, copies, api. Each shows the 50 rows with the most device time and the 50
 * with the most host time, says how they were made, and how much was left out. */
#include <stdlib.h>

#include "analyzer/cmd/query.h"
#include "analyzer/cmd/suspect_view.h"
#include "analyzer/cmd/tops.h"

struct top_list {
    const struct cg_trace *trace;
    const struct tallies *tallies;
    enum top_kind kind;
    bool device;
};

static int prepare(struct query *query, enum top_kind kind, struct cg_error *error)
{
    struct tops *tops = calloc(1, sizeof *tops);
    query->state = tops;
    if (tops && tops_make(query->input->trace, &query->input->work, &query->input->suspects, kind, tops))
        return 0;
    free(tops);
    return cg_out_of_memory(error);
}

static void release(struct query *query)
{
    tops_free(query->state);
    free(query->state);
}

static void emit_tally(struct json_doc *doc, const void *object, uint64_t i)
{
    const struct top_list *list = object;
    const struct tally *row = &list->tallies->rows[i];
    doc_object(doc);
    doc_member_text(doc, "name", trace_text(list->trace, row->name));
    if (list->device) {
        doc_member_text(doc, "device", trace_text(list->trace, row->device));
        doc_member_text(doc, "clock_id", trace_text(list->trace, row->clock_id));
    } else if (list->kind == TOP_KERNELS) {
        doc_member_text(doc, "api", trace_text(list->trace, row->api));
    }
    doc_member_u64(doc, "count", row->count);
    doc_member_u64(doc, "total_ns", row->total_ns);
    doc_member_u64(doc, "average_ns", row->total_ns / row->count);
    doc_member_u64(doc, "minimum_ns", row->minimum_ns);
    doc_member_u64(doc, "maximum_ns", row->maximum_ns);
    if (list->kind == TOP_COPIES) doc_member_u64(doc, "bytes", row->bytes);
    if (list->kind == TOP_COPIES && list->device) {
        doc_key(doc, "bytes_per_second");
        if (row->total_ns > 0)
            doc_double(doc, (double)row->bytes / (double)row->total_ns * 1e9);
        else
            doc_null(doc);
    }
    if (!list->device) doc_member_u64(doc, "errors", row->errors);
    doc_object_end(doc);
}

static void emit_tops(struct json_doc *doc, const struct query *query, enum top_kind kind,
                      const char *definition)
{
    const struct tops *tops = query->state;
    struct top_list device = {query->input->trace, &tops->device, kind, true};
    struct top_list host = {query->input->trace, &tops->host, kind, false};
    doc_object(doc);
    doc_member_string(doc, "definition", definition);
    if (query->input->trace->devices) {
        doc_key(doc, "devices");
        emit_device_list(doc, query->input->trace->devices);
    }
    doc_member_u64(doc, "calls", tops->calls);
    doc_member_u64(doc, "calls_timed", tops->calls_timed);
    doc_member_u64(doc, "intervals", tops->tally.records);
    doc_member_u64(doc, "unassigned_intervals", tops->unassigned);
    doc_key(doc, "by_device_time");
    emit_bounded(doc, tops->device.count, QUERY_ROWS, emit_tally, &device);
    doc_key(doc, "by_host_time");
    emit_bounded(doc, tops->host.count, QUERY_ROWS, emit_tally, &host);
    doc_key(doc, "suspects");
    emit_suspect_tally(doc, SUSPECT_INTERVALS, &tops->tally);
    doc_object_end(doc);
}

#define SUMS                                                                                                 \
    "Times are sums of durations: work that runs at once counts in full. Clocks of devices are never "       \
    "added. "                                                                                                \
    "Suspect intervals are left out and counted."

#define TOP_QUERY(symbol, wire, top, sentence, text)                                                         \
    static int prepare_##symbol(struct query *query, struct cg_error *error)                                 \
    {                                                                                                        \
        return prepare(query, top, error);                                                                   \
    }                                                                                                        \
    static void emit_##symbol(struct json_doc *doc, const void *object)                                      \
    {                                                                                                        \
        emit_tops(doc, object, top, text " " SUMS);                                                          \
    }                                                                                                        \
    const struct query_kind query_##symbol = {.name = wire,                                                  \
                                              .about = sentence,                                             \
                                              .needs = {.extras = true, .work = true},                       \
                                              .rows = "*",                                                   \
                                              .prepare = prepare_##symbol,                                   \
                                              .release = release,                                            \
                                              .emit = emit_##symbol};

TOP_QUERY(kernels, "kernels", TOP_KERNELS,
          "the kernels with the most device time, and the most host time to launch",
          "by_device_time: device intervals of kernels by name, device and clock. by_host_time: operations "
          "with a grid, by name and entry point.")
TOP_QUERY(copies, "copies", TOP_COPIES,
          "the copies and memsets with the most device time and the most host time",
          "by_device_time: device intervals of copies and memsets by name, device and clock. by_host_time: "
          "calls of copies and memsets by entry point.")
TOP_QUERY(api, "api", TOP_API, "the calls with the most host time, and the most device time that they issued",
          "by_device_time: device intervals by the entry point that issued them, device and clock. "
          "by_host_time: operations by entry point, or by their name where a producer gives none.")
