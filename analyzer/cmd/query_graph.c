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

/* The rows of one list of the packet, filtered by its names. */
#define LIST_ROWS(symbol, list)                                                                              \
    static uint64_t symbol##_count(const struct query *query)                                                \
    {                                                                                                        \
        return evidence_rows(evidence_of(query), list);                                                      \
    }                                                                                                        \
    static struct cg_text symbol##_name(const struct query *query, uint64_t row)                             \
    {                                                                                                        \
        return evidence_row_label(evidence_of(query), list, row);                                            \
    }                                                                                                        \
    static void symbol##_emit(struct json_doc *doc, const struct query *query, uint64_t row)                 \
    {                                                                                                        \
        emit_row(doc, evidence_of(query), list, row);                                                        \
    }

#define LIST_MATCHES(symbol)                                                                                 \
    static bool symbol##_matches(const struct query *query, uint64_t row)                                    \
    {                                                                                                        \
        struct cg_text name = symbol##_name(query, row);                                                     \
        return query_keeps(query, &name, 1);                                                                 \
    }

#define QUERY_ROWS_OF(symbol)                                                                                \
    static const struct query_rows symbol##_rows = {                                                         \
        .count = symbol##_count, .name = symbol##_name, .matches = symbol##_matches, .emit = symbol##_emit};

static void emit_page(struct json_doc *doc, const void *object)
{
    static const struct json_member members[] = {PAGE_MEMBERS};
    struct page page = page_of(object);
    doc_members(doc, members, sizeof members / sizeof *members, &page);
}

/* ---- spans: nodes, and all edges with them ---- */

LIST_ROWS(node, LIST_NODES)
LIST_MATCHES(node)
QUERY_ROWS_OF(node)

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
    struct page page = page_of(object);
    doc_members(doc, members, sizeof members / sizeof *members, &page);
}

const struct query_kind query_spans = {
    .name = "spans",
    .about = "nodes of the graph: spans, operations, tensors",
    .graph = true,
    .pages = &node_rows,
    .needs = {.parts = EVIDENCE_NODES | EVIDENCE_EDGES},
    .rows = "rows",
    .emit = emit_spans,
};

/* ---- tensors ---- */

LIST_ROWS(tensor, LIST_TENSORS)
LIST_MATCHES(tensor)
QUERY_ROWS_OF(tensor)

const struct query_kind query_tensors = {
    .name = "tensors",
    .about = "records of tensors, in the order of the trace",
    .graph = true,
    .pages = &tensor_rows,
    .rows = "rows",
    .emit = emit_page,
};

/* ---- gradients: by key, or by root and key ---- */

LIST_ROWS(gradient, LIST_GRADIENTS)

static bool gradient_matches(const struct query *query, uint64_t row)
{
    const struct evidence *evidence = evidence_of(query);
    const struct cg_text parts[] = {
        evidence_gradient_root(evidence, row), {"/", 1}, evidence_row_label(evidence, LIST_GRADIENTS, row)};
    return query_keeps(query, parts + 2, 1) || query_keeps(query, parts, 3);
}

QUERY_ROWS_OF(gradient)

const struct query_kind query_gradients = {
    .name = "gradients",
    .about = "gradients of parameters, in the order of the trace",
    .graph = true,
    .pages = &gradient_rows,
    .rows = "rows",
    .emit = emit_page,
};

/* ---- tensor-stats: needs no graph, but is a list like the others ---- */

LIST_ROWS(tensor_stats, LIST_TENSOR_STATS)
LIST_MATCHES(tensor_stats)
QUERY_ROWS_OF(tensor_stats)

const struct query_kind query_tensor_stats = {
    .name = "tensor-stats",
    .about = "statistics of tensors, in the order of the trace",
    .pages = &tensor_stats_rows,
    .rows = "rows",
    .emit = emit_page,
};
