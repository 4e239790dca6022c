/* Kinds that read the graph: slowest-host, slowest-device, heaviest, spans, tensors, gradients. */
#include <stdlib.h>

#include "analyzer/cmd/query.h"

static const struct evidence *evidence_of(const void *object)
{
    return &((const struct query *)object)->input->evidence;
}

static void emit_entrypoint(struct json_doc *doc, const struct evidence *evidence)
{
    doc_key(doc, "entrypoint");
    struct cg_text text = trace_text(evidence->trace, evidence->trace->run.entrypoint);
    doc_string_bytes(doc, text.bytes, text.length);
}

/* ---- slowest-host ---- */

static void emit_slowest_host(struct json_doc *doc, const void *object)
{
    const struct evidence *evidence = evidence_of(object);
    const struct graph *graph = &evidence->graph;
    doc_object(doc);
    emit_entrypoint(doc, evidence);
    doc_member_u64(doc, "outer_wall_time_ns", graph->effective_ns[graph->measured]);
    doc_key(doc, "slowest_host_spans");
    doc_array(doc);
    for (size_t i = 0; i < graph->host_count; i++)
        emit_host_cost(doc, evidence, &graph->host[i]);
    doc_array_end(doc);
    doc_object_end(doc);
}

const struct query_kind query_slowest_host = {
    .name = "slowest-host",
    .about = "the 8 spans with the most host time of their own in the measured region",
    .graph = true,
    .rows = "slowest_host_spans",
    .emit = emit_slowest_host,
};

/* ---- slowest-device ---- */

static void emit_slowest_device(struct json_doc *doc, const void *object)
{
    const struct evidence *evidence = evidence_of(object);
    doc_object(doc);
    emit_entrypoint(doc, evidence);
    doc_key(doc, "slowest_device_spans");
    doc_array(doc);
    for (size_t i = 0; i < evidence->graph.device_count; i++)
        emit_device_cost(doc, evidence, &evidence->graph.device[i]);
    doc_array_end(doc);
    doc_object_end(doc);
}

const struct query_kind query_slowest_device = {
    .name = "slowest-device",
    .about = "the 8 spans with the most busy time on one device clock",
    .graph = true,
    .rows = "slowest_device_spans",
    .emit = emit_slowest_device,
};

/* ---- heaviest ---- */

static void emit_heaviest(struct json_doc *doc, const void *object)
{
    const struct evidence *evidence = evidence_of(object);
    uint32_t ops[QUERY_ROWS];
    uint64_t total;
    size_t count = evidence_heaviest_ops(evidence, ops, QUERY_ROWS, &total);
    doc_object(doc);
    emit_entrypoint(doc, evidence);
    doc_key(doc, "heaviest_ops");
    doc_array(doc);
    for (size_t i = 0; i < count; i++)
        emit_row(doc, evidence, LIST_NODES, ops[i]);
    doc_array_end(doc);
    doc_key(doc, "heaviest_spans");
    doc_array(doc);
    for (size_t i = 0; i < evidence->graph.heaviest_count; i++)
        emit_heavy_span(doc, evidence, evidence->graph.heaviest[i]);
    doc_array_end(doc);
    doc_object_end(doc);
}

const struct query_kind query_heaviest = {
    .name = "heaviest",
    .about = "the 8 spans and the 50 operations that allocated the most",
    .graph = true,
    .needs = {.parts = EVIDENCE_NODES},
    .rows = "*",
    .emit = emit_heaviest,
};

/* ---- kinds with pages ---- */

static bool label_matches(const struct query *query, enum evidence_list list, uint64_t row)
{
    struct cg_text label = evidence_row_label(evidence_of(query), list, row);
    return query_keeps(query, &label, 1);
}

#define LIST_PAGE(name, list)                                                                                \
    static bool name##_matches(const struct query *query, uint64_t row)                                      \
    {                                                                                                        \
        return label_matches(query, list, row);                                                              \
    }                                                                                                        \
    static void name##_row(struct json_doc *doc, const struct query *query, uint64_t row)                    \
    {                                                                                                        \
        emit_row(doc, evidence_of(query), list, row);                                                        \
    }                                                                                                        \
    static struct page name##_page(const struct query *query)                                                \
    {                                                                                                        \
        struct page page = {.query = query,                                                                  \
                            .total = evidence_rows(evidence_of(query), list),                                \
                            .matches = name##_matches,                                                       \
                            .row = name##_row};                                                              \
        page_count(&page);                                                                                   \
        return page;                                                                                         \
    }

static const struct json_member page_members[] = {PAGE_MEMBERS};

#define LIST_QUERY(name)                                                                                     \
    static void emit_##name(struct json_doc *doc, const void *object)                                        \
    {                                                                                                        \
        struct page page = name##_page(object);                                                              \
        doc_members(doc, page_members, sizeof page_members / sizeof *page_members, &page);                   \
    }

/* ---- spans: nodes, and all edges with them ---- */

LIST_PAGE(node, LIST_NODES)

static bool edges_shown(const struct query *query)
{
    return query->all && !query_filtered(query);
}

static void emit_edges(struct json_doc *doc, const void *object)
{
    const struct query *query = ((const struct page *)object)->query;
    if (!edges_shown(query)) {
        doc_null(doc);
        return;
    }
    uint64_t count = evidence_rows(evidence_of(query), LIST_EDGES);
    doc_array(doc);
    for (uint64_t row = 0; row < count; row++)
        emit_row(doc, evidence_of(query), LIST_EDGES, row);
    doc_array_end(doc);
}

static void emit_edges_reason(struct json_doc *doc, const void *object)
{
    const struct query *query = ((const struct page *)object)->query;
    if (edges_shown(query))
        doc_null(doc);
    else if (query_filtered(query))
        doc_string(doc, "edges are left out when nodes are filtered: their other ends may be missing");
    else
        doc_string(doc, "edges are left out of pages: --all --output FILE writes them");
}

static void emit_edges_total(struct json_doc *doc, const void *object)
{
    const struct query *query = ((const struct page *)object)->query;
    doc_u64(doc, evidence_rows(evidence_of(query), LIST_EDGES));
}

static void emit_spans(struct json_doc *doc, const void *object)
{
    static const struct json_member members[] = {PAGE_MEMBERS,
                                                 {"edges", emit_edges, NULL},
                                                 {"edges_reason", emit_edges_reason, NULL},
                                                 {"edges_total", emit_edges_total, NULL}};
    struct page page = node_page(object);
    doc_members(doc, members, sizeof members / sizeof *members, &page);
}

const struct query_kind query_spans = {
    .name = "spans",
    .about = "nodes of the graph: spans, operations, tensors",
    .graph = true,
    .pages = true,
    .needs = {.parts = EVIDENCE_NODES | EVIDENCE_EDGES},
    .rows = "rows",
    .emit = emit_spans,
};

/* ---- tensors ---- */

LIST_PAGE(tensor, LIST_TENSORS)
LIST_QUERY(tensor)

const struct query_kind query_tensors = {
    .name = "tensors",
    .about = "records of tensors, in the order of the trace",
    .graph = true,
    .pages = true,
    .rows = "rows",
    .emit = emit_tensor,
};

/* ---- gradients: by key, or by root and key ---- */

static bool gradient_matches(const struct query *query, uint64_t row)
{
    const struct evidence *evidence = evidence_of(query);
    const struct cg_text parts[] = {
        evidence_gradient_root(evidence, row), {"/", 1}, evidence_row_label(evidence, LIST_GRADIENTS, row)};
    return query_keeps(query, parts + 2, 1) || query_keeps(query, parts, 3);
}

static void gradient_row(struct json_doc *doc, const struct query *query, uint64_t row)
{
    emit_row(doc, evidence_of(query), LIST_GRADIENTS, row);
}

static void emit_gradients(struct json_doc *doc, const void *object)
{
    struct page page = {.query = object,
                        .total = evidence_rows(evidence_of(object), LIST_GRADIENTS),
                        .matches = gradient_matches,
                        .row = gradient_row};
    page_count(&page);
    doc_members(doc, page_members, sizeof page_members / sizeof *page_members, &page);
}

const struct query_kind query_gradients = {
    .name = "gradients",
    .about = "gradients of parameters, in the order of the trace",
    .graph = true,
    .pages = true,
    .rows = "rows",
    .emit = emit_gradients,
};

/* ---- tensor-stats: needs no graph, but is a list like the others ---- */

LIST_PAGE(tensor_stats, LIST_TENSOR_STATS)
LIST_QUERY(tensor_stats)

const struct query_kind query_tensor_stats = {
    .name = "tensor-stats",
    .about = "statistics of tensors, in the order of the trace",
    .pages = true,
    .rows = "rows",
    .emit = emit_tensor_stats,
};
