/* Kind labels: which names can be filtered for, and in which kinds (doc/spec/cli.md 6.4). */
#include <stdlib.h>
#include <string.h>

#include "analyzer/cmd/query.h"

/* In the order of the member `kinds`. */
enum { FROM_GRADIENTS, FROM_SPANS, FROM_TENSOR_STATS, FROM_TENSORS, FROM_COUNT };
static const char *const source_name[FROM_COUNT] = {"gradients", "spans", "tensor-stats", "tensors"};
static const enum evidence_list source_list[FROM_COUNT] = {LIST_GRADIENTS, LIST_NODES, LIST_TENSOR_STATS,
                                                           LIST_TENSORS};

struct label_row {
    struct cg_text label;
    uint64_t counts[FROM_COUNT];
};
struct labels {
    struct label_row *rows;
    size_t count;
    char *joined; /* texts of gradients: root/key */
};
struct occurrence {
    struct cg_text label;
    unsigned source;
};

static int compare_occurrences(const void *left, const void *right)
{
    const struct occurrence *a = left, *b = right;
    int order = text_compare(a->label, b->label);
    return order ? order : (a->source > b->source) - (a->source < b->source);
}

/* Bytes that the joined texts of all gradients take. */
static size_t joined_size(const struct evidence *evidence)
{
    size_t size = 1;
    uint64_t rows = evidence_rows(evidence, LIST_GRADIENTS);
    for (uint64_t row = 0; row < rows; row++)
        size += evidence_gradient_root(evidence, row).length + 1 +
                evidence_row_label(evidence, LIST_GRADIENTS, row).length;
    return size;
}

static struct cg_text join_gradient(const struct evidence *evidence, uint64_t row, char **end)
{
    struct cg_text root = evidence_gradient_root(evidence, row);
    struct cg_text key = evidence_row_label(evidence, LIST_GRADIENTS, row);
    char *begin = *end;
    memcpy(begin, root.bytes, root.length);
    begin[root.length] = '/';
    memcpy(begin + root.length + 1, key.bytes, key.length);
    *end = begin + root.length + 1 + key.length;
    return (struct cg_text){begin, root.length + 1 + key.length};
}

/* Every name that occurs, in byte order. */
static struct occurrence *collect(const struct evidence *evidence, struct labels *labels, size_t *count)
{
    size_t total = 0;
    for (unsigned source = 0; source < FROM_COUNT; source++)
        total += evidence_rows(evidence, source_list[source]);
    struct occurrence *all = calloc(total + 1, sizeof *all);
    labels->joined = malloc(joined_size(evidence));
    if (!all || !labels->joined) {
        free(all);
        return NULL;
    }
    char *end = labels->joined;
    for (unsigned source = 0; source < FROM_COUNT; source++) {
        uint64_t rows = evidence_rows(evidence, source_list[source]);
        for (uint64_t row = 0; row < rows; row++) {
            struct cg_text label = source == FROM_GRADIENTS
                                       ? join_gradient(evidence, row, &end)
                                       : evidence_row_label(evidence, source_list[source], row);
            all[(*count)++] = (struct occurrence){label, source};
        }
    }
    qsort(all, *count, sizeof *all, compare_occurrences);
    return all;
}

static void release(struct query *query)
{
    struct labels *labels = query->state;
    if (!labels) return;
    free(labels->rows);
    free(labels->joined);
    free(labels);
}

static int prepare(struct query *query, struct cg_error *error)
{
    struct labels *labels = calloc(1, sizeof *labels);
    query->state = labels;
    size_t count = 0, distinct = 0;
    struct occurrence *all = labels ? collect(&query->input->evidence, labels, &count) : NULL;
    for (size_t i = 0; i < count; i++)
        distinct += i == 0 || text_compare(all[i - 1].label, all[i].label) != 0;
    if (all) labels->rows = calloc(distinct + 1, sizeof *labels->rows);
    if (!all || !labels->rows) {
        free(all);
        release(query);
        return cg_out_of_memory(error);
    }
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || text_compare(all[i - 1].label, all[i].label) != 0)
            labels->rows[labels->count++].label = all[i].label;
        labels->rows[labels->count - 1].counts[all[i].source]++;
    }
    free(all);
    return 0;
}

static const struct labels *labels_of(const struct query *query)
{
    return query->state;
}

static uint64_t label_count(const struct query *query)
{
    return labels_of(query)->count;
}

static struct cg_text label_name(const struct query *query, uint64_t row)
{
    return labels_of(query)->rows[row].label;
}

static bool label_matches(const struct query *query, uint64_t row)
{
    return query_keeps(query, &labels_of(query)->rows[row].label, 1);
}

static void label_emit(struct json_doc *doc, const struct query *query, uint64_t number)
{
    const struct label_row *row = &labels_of(query)->rows[number];
    uint64_t sum = 0;
    for (unsigned source = 0; source < FROM_COUNT; source++)
        sum += row->counts[source];
    doc_object(doc);
    doc_member_bytes(doc, "label", row->label.bytes, row->label.length);
    doc_member_u64(doc, "count", sum);
    doc_key(doc, "kinds");
    doc_object(doc);
    for (unsigned source = 0; source < FROM_COUNT; source++)
        if (row->counts[source]) doc_member_u64(doc, source_name[source], row->counts[source]);
    doc_object_end(doc);
    doc_object_end(doc);
}

static const struct query_rows label_rows = {
    .count = label_count, .name = label_name, .matches = label_matches, .emit = label_emit};

static void emit_unavailable_kinds(struct json_doc *doc, const void *object)
{
    const struct page *page = object;
    doc_array(doc);
    for (unsigned source = 0; source < FROM_COUNT; source++)
        if (source != FROM_TENSOR_STATS && !page->query->input->evidence.has_graph)
            doc_string(doc, source_name[source]);
    doc_array_end(doc);
}

static void emit_labels(struct json_doc *doc, const void *object)
{
    static const struct json_member members[] = {PAGE_MEMBERS,
                                                 {"unavailable_kinds", emit_unavailable_kinds, NULL}};
    struct page page = page_of(object);
    doc_members(doc, members, sizeof members / sizeof *members, &page);
}

const struct query_kind query_labels = {
    .name = "labels",
    .about = "the names that rows can be filtered for, and how often each occurs",
    .pages = &label_rows,
    .needs = {.parts = EVIDENCE_NODES},
    .rows = "rows",
    .prepare = prepare,
    .release = release,
    .emit = emit_labels,
};
