/* Kind activations: the profile without its operations, and its rankings (doc/spec/cli.md 6.4). */
#include <stdio.h>
#include <stdlib.h>

#include "analyzer/cmd/query.h"
#include "analyzer/cmd/rankings.h"

struct list {
    const struct evidence *evidence;
    const struct ranked *ranked;
};

static int prepare(struct query *query, struct cg_error *error)
{
    struct rankings *rankings = calloc(1, sizeof *rankings);
    if (!rankings) return cg_out_of_memory(error);
    int status = rankings_make(&query->input->evidence, rankings, error);
    query->state = rankings;
    if (status != 0) free(rankings);
    return status;
}

static void release(struct query *query)
{
    rankings_free(query->state);
    free(query->state);
}

static void emit_operation(struct json_doc *doc, const void *object, uint64_t i)
{
    const struct list *list = object;
    emit_activation_operation(doc, list->evidence,
                              &list->evidence->activations.operations[list->ranked->rows[i]]);
}

static void emit_ranked(struct json_doc *doc, const struct evidence *evidence, const struct ranked *ranked)
{
    struct list list = {evidence, ranked};
    emit_bounded(doc, ranked->total, QUERY_ROWS, emit_operation, &list);
}

/* A bounded list with the clock that it belongs to. */
static void emit_ranked_device(struct json_doc *doc, const struct evidence *evidence,
                               const struct ranked_device *device)
{
    struct list list = {evidence, &device->ranked};
    doc_object(doc);
    doc_member_text(doc, "clock_id", trace_text(evidence->trace, device->clock_id));
    doc_member_text(doc, "device", trace_text(evidence->trace, device->device));
    emit_bounded_members(doc, device->ranked.total, QUERY_ROWS, emit_operation, &list);
    doc_object_end(doc);
}

/* For a table, a list of lists becomes an object of lists: their names are their numbers. */
static void emit_rankings(struct json_doc *doc, const struct query *query, bool people)
{
    const struct evidence *evidence = &query->input->evidence;
    const struct rankings *rankings = query->state;
    char number[32];
    doc_object(doc);
    doc_key(doc, "device_busy");
    if (people)
        doc_object(doc);
    else
        doc_array(doc);
    for (size_t i = 0; i < rankings->device_count; i++) {
        snprintf(number, sizeof number, "clock %zu", i + 1);
        if (people) doc_key(doc, number);
        emit_ranked_device(doc, evidence, &rankings->devices[i]);
    }
    if (people)
        doc_object_end(doc);
    else
        doc_array_end(doc);
    for (unsigned i = 0; i < RANKING_COUNT; i++) {
        doc_key(doc, ranking_name[i]);
        emit_ranked(doc, evidence, &rankings->by[i]);
    }
    doc_object_end(doc);
}

static void emit_profile(struct json_doc *doc, const struct query *query, bool people)
{
    const struct evidence *evidence = &query->input->evidence;
    const struct activations *activations = &evidence->activations;
    doc_object(doc);
    doc_key(doc, "definition");
    emit_activation_definition(doc, evidence);
    doc_member_u64(doc, "operation_count", activations->operation_count);
    doc_member_u64(doc, "unattributed_activation_storages", activations->unattributed_storages);
#define EMIT_STATE(name)                                                                                     \
    doc_key(doc, #name);                                                                                     \
    emit_activation_state(doc, evidence, &activations->name);
    if (people) {
        doc_key(doc, "states");
        doc_object(doc);
    }
    ACTIVATION_STATES(EMIT_STATE)
    if (people) doc_object_end(doc);
#undef EMIT_STATE
    doc_key(doc, "rankings");
    emit_rankings(doc, query, people);
    doc_object_end(doc);
}

static void emit_activation_profile(struct json_doc *doc, const void *object)
{
    emit_profile(doc, object, false);
}

static void emit_activation_tables(struct json_doc *doc, const void *object)
{
    emit_profile(doc, object, true);
}

const struct query_kind query_activations = {
    .name = "activations",
    .about = "operations whose output is an activation, ranked by time and by memory",
    .needs = {.parts = EVIDENCE_NODES},
    .rows = "*",
    .prepare = prepare,
    .release = release,
    .emit = emit_activation_profile,
    .people = emit_activation_tables,
};
