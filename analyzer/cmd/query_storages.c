/* Kinds beyond the format: leaks, temporaries, peak, churn: which storages they are, in groups of one call
 * site, span, category or size. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/cmd/output.h"
#include "analyzer/cmd/query.h"
#include "analyzer/cmd/suppressions.h"
#include "analyzer/cmd/suspect_view.h"
#include "analyzer/evidence/storage_view.h"
#include "analyzer/evidence/text.h"

static const struct {
    const char *word, *meaning;
} groupings[] = {
#define GROUPING(suffix, word, meaning) {word, meaning},
    STORAGE_GROUPINGS(GROUPING)
#undef GROUPING
};

bool storage_grouping_words(size_t index, const char **word, const char **about)
{
    if (index >= sizeof groupings / sizeof *groupings) return false;
    *word = groupings[index].word;
    *about = groupings[index].meaning;
    return true;
}

enum storage_kind { STORAGES_LEAK, STORAGES_TEMPORARY, STORAGES_AT_PEAK, STORAGES_CHURNED };

/* A group that is shown. */
struct row {
    const struct storage_group *group;
    struct cg_text name;
};
/* What was left out. */
struct left_out {
    uint64_t groups, storages, bytes;
};

struct storages {
    enum storage_kind kind;
    const struct cg_trace *trace;
    const struct suspects *suspects;
    cg_str device, step_span;
    uint64_t after_steps, within_events, minimum_bytes;
    enum storage_grouping by;
    struct logical_memory memory;
    struct span_paths paths;
    struct training_steps steps;
    struct storage_groups groups;
    struct text_arena arena; /* owns the names */
    struct row *rows;
    size_t count;
    struct suppressions suppressions;
    struct left_out suppressed, small;
    uint64_t peak_ns;
    bool peak_known, people;
};

static const struct storages *of(const struct query *query)
{
    return query->state;
}

static struct storage_view view_of(const struct storages *storages)
{
    return (struct storage_view){storages->trace, &storages->paths, &storages->groups, storages->people};
}

/* ---- options ---- */

static enum storage_grouping grouping_of(const struct option_value *by)
{
    size_t index = 0;
    while (by->given && strcmp(groupings[index].word, by->text) != 0)
        index++; /* the parser takes no other word */
    return (enum storage_grouping)index;
}

static int read_options(const struct query *query, struct storages *storages, struct cg_error *error)
{
    const struct option_value *within = argument(query->arguments, "within-events"),
                              *file = argument(query->arguments, "suppressions");

    storages->by = grouping_of(argument(query->arguments, "by"));
    storages->after_steps = argument(query->arguments, "after-steps")->number;
    storages->within_events = within->given ? within->number : 1;
    storages->minimum_bytes = argument(query->arguments, "min-bytes")->number;
    int status = query_device(query, &storages->device, error);
    if (status == 0) status = query_span_name(query, "step-span", &storages->step_span, error);
    if (status != 0 || !file->given) return status;
    status = output_check(argument(query->arguments, "output")->text, NULL, &file->text, 1, error);
    return status != 0 ? status : suppressions_read(file->text, &storages->suppressions, error);
}

/* ---- which storages, which groups ---- */

static bool select_storages(struct storages *storages, uint8_t *selected)
{
    const struct cg_trace *trace = storages->trace;
    switch (storages->kind) {
    case STORAGES_LEAK:
        select_leaks(trace, &storages->memory, &storages->steps, storages->after_steps, selected);
        break;
    case STORAGES_TEMPORARY:
        if (!select_temporaries(trace, &storages->memory, storages->within_events, selected)) return false;
        break;
    case STORAGES_AT_PEAK:
        storages->peak_known =
            select_peak(trace, &storages->memory, storages->device, &storages->peak_ns, selected);
        break;
    case STORAGES_CHURNED:
        memset(selected, 1, storages->memory.lifetime_count);
        break;
    }
    if (storages->device != CG_ABSENT) select_device(trace, &storages->memory, storages->device, selected);
    return true;
}

static bool suppresses(void *context, const char *name)
{
    return suppressions_find(context, &name, 1) != NULL;
}

static void leave_out(struct left_out *left_out, const struct storage_group *group)
{
    left_out->groups++;
    left_out->storages += group->selected;
    left_out->bytes = cg_sat_add(left_out->bytes, group->selected_bytes);
}

/* The groups that are neither too small nor suppressed, and what they are called. */
static bool make_rows(struct storages *storages)
{
    struct storage_view view = view_of(storages);
    char name[STORAGE_NAME_SIZE];
    storages->rows = calloc(storages->groups.count + 1, sizeof *storages->rows);
    if (!storages->rows) return false;
    for (size_t i = 0; i < storages->groups.count; i++) {
        const struct storage_group *group = &storages->groups.groups[i];
        if (group->selected_bytes < storages->minimum_bytes) {
            leave_out(&storages->small, group);
        } else if (storage_group_each_name(&view, group, suppresses, &storages->suppressions)) {
            leave_out(&storages->suppressed, group);
        } else {
            struct row *row = &storages->rows[storages->count++];
            size_t length = storage_group_name(&view, group, name);
            *row = (struct row){group, arena_text(&storages->arena, name, length)};
            if (!row->name.bytes) return false;
        }
    }
    return true;
}

static bool make_steps(struct storages *storages, const uint8_t *wanted)
{
    return training_steps_make(storages->trace, &storages->memory, storages->step_span, wanted,
                               &storages->steps);
}

static bool work_out(const struct evidence *evidence, struct storages *storages)
{
    const struct cg_trace *trace = storages->trace;
    bool steps = storages->kind == STORAGES_LEAK; /* the other kinds say nothing of them */
    bool whole = storages->kind == STORAGES_TEMPORARY || storages->kind == STORAGES_CHURNED;
    bool first = steps && storages->after_steps > 0; /* which storages leak follows from their steps */
    if (!evidence_trusted_logical(evidence, trace, storages->suspects, &storages->memory) ||
        (storages->by == GROUP_BY_SPAN && !span_paths_make(trace, &storages->paths)) ||
        (first && !make_steps(storages, NULL)))
        return false;
    uint8_t *selected = calloc(storages->memory.lifetime_count + 1, 1);
    bool ok = selected && select_storages(storages, selected) &&
              (!steps || first || make_steps(storages, selected)) &&
              storage_groups_make(trace, &storages->memory, &storages->paths, steps ? &storages->steps : NULL,
                                  storages->by, storages->device, selected, whole, &storages->groups) &&
              make_rows(storages);
    free(selected);
    return ok;
}

static void release(struct query *query)
{
    struct storages *storages = query->state;
    if (!storages) return;
    suppressions_free(&storages->suppressions);
    arena_free(&storages->arena);
    free(storages->rows);
    storage_groups_free(&storages->groups);
    training_steps_free(&storages->steps);
    span_paths_free(&storages->paths);
    evidence_logical_free(&query->input->evidence, &storages->memory);
    free(storages);
}

static int prepare(struct query *query, enum storage_kind kind, struct cg_error *error)
{
    struct storages *storages = calloc(1, sizeof *storages);
    query->state = storages;
    if (!storages) return cg_out_of_memory(error);
    storages->kind = kind;
    storages->trace = query->input->trace;
    storages->suspects = &query->input->suspects;
    int status = read_options(query, storages, error);
    if (status == 0 && !work_out(&query->input->evidence, storages)) status = cg_out_of_memory(error);
    if (status != 0) release(query);
    return status;
}

/* ---- rows ---- */

static uint64_t row_count(const struct query *query)
{
    return of(query)->count;
}

static struct cg_text row_name(const struct query *query, uint64_t row)
{
    return of(query)->rows[row].name;
}

static bool row_matches(const struct query *query, uint64_t row)
{
    return query_keeps(query, &of(query)->rows[row].name, 1);
}

static double share(uint64_t part, uint64_t whole)
{
    return (double)part / (double)whole;
}

static void emit_selected(struct json_doc *doc, const struct storages *storages,
                          const struct storage_group *group)
{
    doc_member_u64(doc, "storages", group->selected);
    doc_member_u64(doc, "bytes", group->selected_bytes);
    doc_member_u64(doc, "largest_bytes", group->largest_bytes);
    doc_member_u64(doc, "first_timestamp_ns", group->first_ns);
    if (storages->kind == STORAGES_LEAK && storages->steps.count) doc_member_u64(doc, "steps", group->steps);
    if (storages->kind == STORAGES_TEMPORARY) {
        doc_member_u64(doc, "allocations", group->allocations);
        doc_member_double(doc, "share_of_allocations", share(group->selected, group->allocations));
    }
    if (storages->kind == STORAGES_AT_PEAK)
        doc_member_double_or_null(doc, "share_of_peak", storages->groups.selected_bytes > 0,
                                  share(group->selected_bytes, storages->groups.selected_bytes));
}

static void emit_churned(struct json_doc *doc, const struct storage_group *group)
{
    doc_member_u64(doc, "allocations", group->allocations);
    doc_member_u64(doc, "allocated_bytes", group->allocated_bytes);
    doc_member_u64(doc, "frees", group->frees);
    doc_member_u64(doc, "freed_bytes", group->freed_bytes);
    doc_member_u64_or_null(doc, "mean_lifetime_ns", group->frees > 0,
                           group->frees ? (uint64_t)(group->freed_lifetime_ns / group->frees) : 0);
}

static void emit_group(struct json_doc *doc, const struct query *query, uint64_t number)
{
    const struct storages *storages = of(query);
    const struct row *row = &storages->rows[number];
    struct storage_view view = view_of(storages);
    doc_object(doc);
    doc_member_bytes(doc, "name", row->name.bytes, row->name.length);
    if (storages->kind == STORAGES_CHURNED)
        emit_churned(doc, row->group);
    else
        emit_selected(doc, storages, row->group);
    emit_storage_group_place(doc, &view, row->group);
    doc_object_end(doc);
}

static const struct query_rows rows = {
    .count = row_count, .name = row_name, .matches = row_matches, .emit = emit_group};

/* ---- what stands beside the rows ---- */

static const struct storages *of_page(const void *page)
{
    return of(((const struct page *)page)->query);
}

static void emit_by(struct json_doc *doc, const void *page)
{
    doc_string(doc, groupings[of_page(page)->by].word);
}

static void emit_device(struct json_doc *doc, const void *page)
{
    struct cg_text device = trace_text(of_page(page)->trace, of_page(page)->device);
    if (device.bytes)
        doc_string_bytes(doc, device.bytes, device.length);
    else
        doc_null(doc);
}

static void leak_definition(const struct storages *storages, char *text, size_t size)
{
    int used =
        snprintf(text, size,
                 "A storage is a leak candidate when it is alive at the end of the capture, or was ended "
                 "by the end of its context and not by the program");
    if (storages->after_steps)
        used += snprintf(text + used, size - (size_t)used,
                         ", or was made during a step and is alive when %" PRIu64
                         " further steps of that step's thread have ended",
                         storages->after_steps);
    snprintf(text + used, size - (size_t)used, ". Storages that were there before the capture are none.");
}

static void emit_definition(struct json_doc *doc, const void *page)
{
    const struct storages *storages = of_page(page);
    char text[1024] = "";
    switch (storages->kind) {
    case STORAGES_LEAK:
        leak_definition(storages, text, sizeof text);
        break;
    case STORAGES_TEMPORARY:
        snprintf(text, sizeof text,
                 "A storage is temporary when the thread that made it freed it within %" PRIu64
                 " memory records of its own, the free included.",
                 storages->within_events);
        break;
    case STORAGES_AT_PEAK:
        snprintf(text, sizeof text,
                 "The storages that are alive at the earliest moment at which most bytes are, %s.",
                 storages->device == CG_ABSENT ? "all devices together" : "on this device");
        break;
    case STORAGES_CHURNED:
        snprintf(
            text, sizeof text,
            "All storages: what was allocated and freed over the capture; the mean lifetime is that of the "
            "storages that were freed.");
        break;
    }
    size_t used = strlen(text);
    snprintf(text + used, sizeof text - used, " A group is %s. Suspect storages are left out and counted.",
             groupings[storages->by].meaning);
    doc_string(doc, text);
}

static void emit_suspects(struct json_doc *doc, const void *page)
{
    emit_suspect_tally(doc, SUSPECT_STORAGES, &of_page(page)->suspects->tally[SUSPECT_STORAGES]);
}

static void emit_left_out(struct json_doc *doc, const struct left_out *left_out)
{
    doc_member_u64(doc, "groups", left_out->groups);
    doc_member_u64(doc, "storages", left_out->storages);
    doc_member_u64(doc, "bytes", left_out->bytes);
}

static void emit_suppressed(struct json_doc *doc, const void *page)
{
    const struct storages *storages = of_page(page);
    doc_object(doc);
    emit_left_out(doc, &storages->suppressed);
    doc_key(doc, "patterns");
    doc_array(doc);
    for (size_t i = 0; i < storages->suppressions.count; i++) {
        doc_object(doc);
        doc_member_string(doc, "pattern", storages->suppressions.patterns[i].pattern);
        doc_member_u64(doc, "groups", storages->suppressions.patterns[i].groups);
        doc_object_end(doc);
    }
    doc_array_end(doc);
    doc_object_end(doc);
}

static void emit_small(struct json_doc *doc, const void *page)
{
    doc_object(doc);
    doc_member_u64(doc, "minimum_bytes", of_page(page)->minimum_bytes);
    emit_left_out(doc, &of_page(page)->small);
    doc_object_end(doc);
}

static void emit_totals(struct json_doc *doc, const void *page)
{
    const struct storage_groups *groups = &of_page(page)->groups;
    doc_object(doc);
    doc_member_u64(doc, "groups", groups->count);
    doc_member_u64(doc, "storages", groups->selected);
    doc_member_u64(doc, "bytes", groups->selected_bytes);
    doc_member_u64(doc, "storages_with_stack", groups->with_stack);
    doc_object_end(doc);
}

static bool is_leaks(const void *page)
{
    return of_page(page)->kind == STORAGES_LEAK;
}
static bool is_peak(const void *page)
{
    return of_page(page)->kind == STORAGES_AT_PEAK;
}
static bool has_minimum(const void *page)
{
    return of_page(page)->minimum_bytes > 0;
}
static bool has_suppressions(const void *page)
{
    return of_page(page)->suppressions.count > 0;
}

static void emit_steps(struct json_doc *doc, const void *page)
{
    const struct storages *storages = of_page(page);
    doc_object(doc);
    doc_member_u64(doc, "steps", storages->steps.count);
    doc_key(doc, "step_span");
    struct cg_text name = trace_text(storages->trace, storages->step_span);
    if (name.bytes)
        doc_string_bytes(doc, name.bytes, name.length);
    else
        doc_null(doc);
    doc_member_u64_or_null(doc, "after_steps", storages->after_steps > 0, storages->after_steps);
    doc_object_end(doc);
}

/* Why this may say less, or more, than it seems. */
static void emit_notes(struct json_doc *doc, const void *page)
{
    const struct storages *storages = of_page(page);
    doc_array(doc);
    if (!storages->memory.present) doc_string(doc, "the trace has no memory records");
    if (storages->kind == STORAGES_LEAK && storages->trace->terminal.outcome == CG_OUTCOME_FAILED)
        doc_string(doc, "the capture failed: the program may have had no chance to free what was alive then");
    if (storages->kind == STORAGES_LEAK && storages->after_steps &&
        storages->steps.count <= storages->after_steps)
        doc_string(doc, "the trace has too few steps for any storage to be alive after so many further ones");
    if (storages->groups.of_driver > 0 && storages->groups.of_driver < storages->groups.selected)
        doc_string(doc,
                   "some storages are of a framework's allocator and lie within those of the driver: sums "
                   "count both");
    if (storages->by == GROUP_BY_STACK && storages->groups.with_stack < storages->groups.selected)
        doc_string(doc, "some storages have no stack: they are grouped by operation or entry point");
    doc_array_end(doc);
}

static void emit_peak_time(struct json_doc *doc, const void *page)
{
    if (of_page(page)->peak_known)
        doc_u64(doc, of_page(page)->peak_ns);
    else
        doc_null(doc);
}

static void emit(struct json_doc *doc, const void *object)
{
    static const struct json_member members[] = {{"definition", emit_definition, NULL},
                                                 {"by", emit_by, NULL},
                                                 {"device", emit_device, NULL},
                                                 {"peak_timestamp_ns", emit_peak_time, is_peak},
                                                 {"training_steps", emit_steps, is_leaks},
                                                 {"totals", emit_totals, NULL},
                                                 {"left_out", emit_small, has_minimum},
                                                 {"suppressed", emit_suppressed, has_suppressions},
                                                 {"suspects", emit_suspects, NULL},
                                                 {"notes", emit_notes, NULL},
                                                 PAGE_MEMBERS};
    struct page page = page_of(object);
    doc_members(doc, members, sizeof members / sizeof *members, &page);
}

static void emit_people(struct json_doc *doc, const void *object)
{
    struct query query = *(const struct query *)object;
    struct storages storages = *of(&query);
    storages.people = true;
    query.state = &storages;
    emit(doc, &query);
}

/* ---- the kinds ---- */

static const char *const leak_options[] = {"by",        "device",       "after-steps", "step-span",
                                           "min-bytes", "suppressions", NULL};
static const char *const temporary_options[] = {"by",        "device",       "within-events",
                                                "min-bytes", "suppressions", NULL};
static const char *const other_options[] = {"by", "device", "min-bytes", NULL};

#define STORAGE_QUERY(symbol, storage_kind, kind_options, sentence)                                          \
    static int prepare_##symbol(struct query *query, struct cg_error *error)                                 \
    {                                                                                                        \
        return prepare(query, storage_kind, error);                                                          \
    }                                                                                                        \
    const struct query_kind query_##symbol = {.name = #symbol,                                               \
                                              .about = sentence,                                             \
                                              .pages = &rows,                                                \
                                              .options = kind_options,                                       \
                                              .needs = {.extras = true, .work = true},                       \
                                              .rows = "rows",                                                \
                                              .prepare = prepare_##symbol,                                   \
                                              .release = release,                                            \
                                              .emit = emit,                                                  \
                                              .people = emit_people};

STORAGE_QUERY(leaks, STORAGES_LEAK, leak_options,
              "storages that are still alive at the end, or after further training steps, by call site")
STORAGE_QUERY(temporaries, STORAGES_TEMPORARY, temporary_options,
              "storages that are freed as soon as they are made, by call site")
STORAGE_QUERY(peak, STORAGES_AT_PEAK, other_options,
              "the storages that make the peak of memory, by call site")
STORAGE_QUERY(churn, STORAGES_CHURNED, other_options,
              "how much is allocated and freed over the capture and how long it lives, by call site")
