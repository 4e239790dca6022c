/* Kind beyond the format: oom: every allocation that failed for want of memory, with who held the memory. */
#include <stdio.h>
#include <stdlib.h>

#include "analyzer/cmd/query.h"
#include "analyzer/cmd/suspect_view.h"
#include "analyzer/evidence/oom_view.h"

static const struct oom_view *of(const struct query *query)
{
    return query->state;
}

static int prepare(struct query *query, struct cg_error *error)
{
    struct oom_view *view = calloc(1, sizeof *view);
    query->state = view;
    const struct command_input *input = query->input;
    const struct suspects *known = input->suspects.clocks ? &input->suspects : NULL; /* the page has them */
    if (view && oom_view_make(input->trace, &input->evidence, known, view)) return 0;
    free(view);
    return cg_out_of_memory(error);
}

static void release(struct query *query)
{
    oom_view_free(query->state);
    free(query->state);
}

static uint64_t row_count(const struct query *query)
{
    return of(query)->failures.count;
}

static struct cg_text row_name(const struct query *query, uint64_t row)
{
    const struct cg_trace *trace = of(query)->trace;
    return trace_text(trace, trace->op.op_name[of(query)->failures.ops[row]]);
}

static bool row_matches(const struct query *query, uint64_t row)
{
    struct cg_text name = row_name(query, row);
    return query_keeps(query, &name, 1);
}

static void emit_failure(struct json_doc *doc, const struct query *query, uint64_t row)
{
    emit_oom_failure(doc, of(query), row);
}

static const struct query_rows rows = {
    .count = row_count, .name = row_name, .matches = row_matches, .emit = emit_failure};

static void emit_definition(struct json_doc *doc, const void *page)
{
    (void)page;
    doc_string(doc, OOM_DEFINITION);
}

static void emit_suspects(struct json_doc *doc, const void *page)
{
    const struct oom_view *view = of(((const struct page *)page)->query);
    emit_suspect_tally(doc, SUSPECT_STORAGES, &view->suspects->tally[SUSPECT_STORAGES]);
}

static void emit(struct json_doc *doc, const void *object)
{
    static const struct json_member members[] = {
        {"definition", emit_definition, NULL}, {"suspects", emit_suspects, NULL}, PAGE_MEMBERS};
    struct page page = page_of(object);
    doc_members(doc, members, sizeof members / sizeof *members, &page);
}

/* Calls write for each failure that is shown. */
static void each_shown(struct json_doc *doc, const struct query *query, const struct oom_view *view,
                       void (*write)(struct json_doc *doc, const struct oom_view *view, uint64_t row))
{
    struct page page = page_of(query);
    uint64_t skip = query->offset, left = page.displayed;
    for (uint64_t row = 0; left > 0; row++) {
        if (!row_matches(query, row) || (skip > 0 && skip--)) continue;
        write(doc, view, row);
        left--;
    }
}

static void write_brief(struct json_doc *doc, const struct oom_view *view, uint64_t row)
{
    emit_oom_brief(doc, view, row);
}

static void write_section(struct json_doc *doc, const struct oom_view *view, uint64_t row)
{
    char number[32];
    snprintf(number, sizeof number, "failure %llu", (unsigned long long)row + 1);
    doc_key(doc, number);
    emit_oom_failure(doc, view, row);
}

/* For a table a list of all, which CSV takes, and then a section for each. */
static void emit_people(struct json_doc *doc, const void *object)
{
    const struct query *query = object;
    struct oom_view view = *of(query);
    struct page page = page_of(query);
    view.people = true;
    doc_object(doc);
    doc_member_string(doc, "definition", OOM_DEFINITION);
    doc_member_u64(doc, "failures", page.total);
    doc_member_u64(doc, "failures_shown", page.displayed);
    doc_key(doc, "in_brief");
    doc_array(doc);
    each_shown(doc, query, &view, write_brief);
    doc_array_end(doc);
    each_shown(doc, query, &view, write_section);
    doc_object_end(doc);
}

const struct query_kind query_oom = {
    .name = "oom",
    .about = "allocations that failed for want of memory: what was asked for, and who held the memory",
    .pages = &rows,
    .needs = {.extras = true},
    .rows = "in_brief",
    .prepare = prepare,
    .release = release,
    .emit = emit,
    .people = emit_people,
};
