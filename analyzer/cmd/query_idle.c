/* Kind beyond the format: idle: where the time of each device went, and what it waited for. */
#include <math.h>
#include <stdlib.h>

#include "analyzer/cmd/query.h"
#include "analyzer/cmd/suspect_view.h"
#include "analyzer/evidence/statistics.h"
#include "analyzer/planes/idle.h"

/* A part of the window from which on a verdict is yes. */
#define BOUND_SHARE 0.1

static const struct {
    const char *cause, *meaning;
} causes[IDLE_CAUSE_COUNT] = {
#define CAUSE_TEXT(suffix, cause, meaning) {cause, meaning},
    IDLE_CAUSES(CAUSE_TEXT)
#undef CAUSE_TEXT
};

struct view {
    const struct query *query;
    struct idle_options options;
    struct idle idle;
};

static const struct view *of(const void *object)
{
    return ((const struct query *)object)->state;
}

static void release(struct query *query)
{
    struct view *view = query->state;
    idle_free(&view->idle);
    free(view);
}

static int prepare(struct query *query, struct cg_error *error)
{
    const struct option_value *wait = argument(query->arguments, "kernel-wait-ns"),
                              *gap = argument(query->arguments, "launch-gap-ns");
    struct view *view = calloc(1, sizeof *view);
    query->state = view;
    if (!view) return cg_out_of_memory(error);
    view->query = query;
    view->options.kernel_wait_ns = wait->given ? wait->number : IDLE_KERNEL_WAIT_NS;
    view->options.launch_gap_ns = gap->given ? gap->number : IDLE_LAUNCH_GAP_NS;
    int status = query_span_name(query, "input", &view->options.input, error);
    const struct command_input *input = query->input;
    if (status == 0 && !idle_make(input->trace, &input->work, &input->suspects, &view->options, &view->idle))
        status = cg_out_of_memory(error);
    if (status != 0) release(query);
    return status;
}

/* ---- parts of one clock: members of an open object ---- */

static void emit_part(struct json_doc *doc, const char *key, uint64_t part, uint64_t whole)
{
    doc_member_double_or_null(doc, key, whole > 0, whole > 0 ? (double)part / (double)whole : 0);
}

static uint64_t window_ns(const struct view *view)
{
    return cg_sat_sub(view->idle.window.end, view->idle.window.start);
}

static void emit_id(struct json_doc *doc, const struct view *view, const struct idle_clock *clock)
{
    const struct cg_trace *trace = view->query->input->trace;
    const struct work_clock *of_work = &view->query->input->work.clocks[clock->clock];
    doc_member_text(doc, "device", trace_text(trace, of_work->device));
    doc_member_text(doc, "clock_id", trace_text(trace, of_work->clock_id));
}

static void emit_sums(struct json_doc *doc, const struct view *view, const struct idle_clock *clock)
{
    uint64_t host =
        clock->cause_ns[IDLE_INPUT] + clock->cause_ns[IDLE_LAUNCHING] + clock->cause_ns[IDLE_HOST];
    bool known = clock->anchored;
    doc_member_u64(doc, "intervals", clock->intervals);
    doc_member_u64(doc, "busy_ns", clock->busy_ns);
    emit_part(doc, "busy_share", clock->busy_ns, window_ns(view));
    doc_member_u64(doc, "busy_may_be_less_by_ns", clock->busy_uncertain_ns);
    doc_member_u64(doc, "idle_ns", clock->idle_ns);
    emit_part(doc, "idle_share", clock->idle_ns, window_ns(view));
    doc_member_u64_or_null(doc, "host_wait_ns", known, host);
    doc_member_double_or_null(doc, "unattributed_share", known && clock->idle_ns > 0,
                              (double)clock->cause_ns[IDLE_OTHER] / (double)clock->idle_ns);
    doc_member_u64_or_null(doc, "gaps", known, clock->gaps);
    doc_member_u64_or_null(doc, "longest_gap_ns", known, clock->longest_gap_ns);
    doc_member_u64_or_null(doc, "anchor_uncertainty_ns", known, clock->anchor_uncertainty_ns);
}

static void emit_cause(struct json_doc *doc, const struct view *view, const struct idle_clock *clock,
                       unsigned cause)
{
    doc_member_string(doc, "cause", causes[cause].cause);
    doc_member_u64(doc, "idle_ns", clock->cause_ns[cause]);
    emit_part(doc, "share_of_idle", clock->cause_ns[cause], clock->idle_ns);
    emit_part(doc, "share_of_window", clock->cause_ns[cause], window_ns(view));
}

static void emit_delays(struct json_doc *doc, const struct view *view, const struct idle_clock *clock)
{
    static const struct {
        const char *key;
        double q;
    } quantiles[] = {
        {"minimum_ns", 0}, {"median_ns", 0.5}, {"p90_ns", 0.9}, {"p99_ns", 0.99}, {"maximum_ns", 1}};
    (void)view;
    doc_member_u64(doc, "launches", clock->delay_count);
    doc_member_u64(doc, "began_before_return", clock->began_before);
    for (size_t i = 0; i < sizeof quantiles / sizeof *quantiles; i++)
        doc_member_u64_or_null(
            doc, quantiles[i].key, clock->delay_count > 0,
            (uint64_t)llround(quantile_sorted(clock->delays, clock->delay_count, quantiles[i].q)));
}

static void emit_depths(struct json_doc *doc, const struct view *view, const struct idle_clock *clock)
{
    uint64_t full = 0, empty = clock->depth_count ? clock->at_depth[0] : 0;
    double mean = 0;
    for (size_t depth = 0; depth < clock->depth_count; depth++) {
        mean += (double)depth * (double)clock->at_depth[depth];
        if (depth >= IDLE_QUEUE_FULL) full += clock->at_depth[depth];
    }
    doc_member_double_or_null(doc, "mean", window_ns(view) > 0, mean / (double)window_ns(view));
    doc_member_u64(doc, "median", idle_depth_quantile(clock, 0.5));
    doc_member_u64(doc, "p90", idle_depth_quantile(clock, 0.9));
    doc_member_u64(doc, "p99", idle_depth_quantile(clock, 0.99));
    doc_member_u64(doc, "maximum", clock->depth_count ? clock->depth_count - 1 : 0);
    emit_part(doc, "share_empty", empty, window_ns(view));
    emit_part(doc, "share_full", full, window_ns(view));
}

static const char *const overlap_names[] = {"copies", "communication"};
enum { OVERLAPS = sizeof overlap_names / sizeof *overlap_names };

static void emit_overlap(struct json_doc *doc, const struct view *view, const struct idle_clock *clock,
                         unsigned which)
{
    const struct idle_overlap *overlap = which ? &clock->communication : &clock->copies;
    (void)view;
    doc_member_string(doc, "work", overlap_names[which]);
    doc_member_u64(doc, "total_ns", overlap->total_ns);
    doc_member_u64(doc, "while_computing_ns", overlap->computing_ns);
    emit_part(doc, "share", overlap->computing_ns, overlap->total_ns);
}

static const struct {
    const char *name;
    enum idle_cause cause;
} verdicts[] = {{"launch_bound", IDLE_LAUNCHING}, {"input_bound", IDLE_INPUT}};
enum { VERDICTS = sizeof verdicts / sizeof *verdicts };

static void emit_verdict(struct json_doc *doc, const struct view *view, const struct idle_clock *clock,
                         unsigned which)
{
    enum idle_cause cause = verdicts[which].cause;
    uint64_t whole = window_ns(view), part = clock->cause_ns[cause];
    bool known = clock->anchored && whole > 0 && (cause != IDLE_INPUT || view->idle.input_known);
    doc_member_string(doc, "verdict", verdicts[which].name);
    doc_member_bool_or_null(doc, "is", known, (double)part >= BOUND_SHARE * (double)whole);
    doc_member_u64_or_null(doc, "idle_ns", known, part);
    doc_member_double_or_null(doc, "share_of_window", known, known ? (double)part / (double)whole : 0);
    doc_member_double(doc, "yes_from_share", BOUND_SHARE);
}

typedef void part_row(struct json_doc *doc, const struct view *view, const struct idle_clock *clock,
                      unsigned which);

static void emit_part_rows(struct json_doc *doc, const struct view *view, const struct idle_clock *clock,
                           part_row *row, unsigned count, bool with_id)
{
    for (unsigned i = 0; i < count; i++) {
        doc_object(doc);
        if (with_id) emit_id(doc, view, clock);
        row(doc, view, clock, i);
        doc_object_end(doc);
    }
}

/* ---- the clocks: each with its parts, or for people each part with all clocks ---- */

static unsigned cause_rows(const struct idle_clock *clock)
{
    return clock->anchored ? IDLE_CAUSE_COUNT : 0;
}

static void emit_rows_of(struct json_doc *doc, const struct view *view, const struct idle_clock *clock,
                         const char *key, part_row *row, unsigned count)
{
    doc_key(doc, key);
    doc_array(doc);
    emit_part_rows(doc, view, clock, row, count, false);
    doc_array_end(doc);
}

static void
emit_object_of(struct json_doc *doc, const struct view *view, const struct idle_clock *clock, const char *key,
               void (*members)(struct json_doc *doc, const struct view *view, const struct idle_clock *clock))
{
    doc_key(doc, key);
    if (!clock->anchored) {
        doc_null(doc);
        return;
    }
    doc_object(doc);
    members(doc, view, clock);
    doc_object_end(doc);
}

static void emit_clocks(struct json_doc *doc, const void *object)
{
    const struct view *view = of(object);
    doc_array(doc);
    for (size_t i = 0; i < view->idle.clock_count; i++) {
        const struct idle_clock *clock = &view->idle.clocks[i];
        doc_object(doc);
        emit_id(doc, view, clock);
        emit_sums(doc, view, clock);
        emit_rows_of(doc, view, clock, "causes", emit_cause, cause_rows(clock));
        emit_object_of(doc, view, clock, "launch_delay", emit_delays);
        emit_object_of(doc, view, clock, "queue_depth", emit_depths);
        emit_rows_of(doc, view, clock, "overlap", emit_overlap, OVERLAPS);
        emit_rows_of(doc, view, clock, "verdicts", emit_verdict, VERDICTS);
        doc_object_end(doc);
    }
    doc_array_end(doc);
}

static void emit_flat(struct json_doc *doc, const struct view *view, bool anchored,
                      void (*members)(struct json_doc *doc, const struct view *view,
                                      const struct idle_clock *clock))
{
    doc_array(doc);
    for (size_t i = 0; i < view->idle.clock_count; i++) {
        const struct idle_clock *clock = &view->idle.clocks[i];
        if (anchored && !clock->anchored) continue;
        doc_object(doc);
        emit_id(doc, view, clock);
        members(doc, view, clock);
        doc_object_end(doc);
    }
    doc_array_end(doc);
}

static void emit_flat_sums(struct json_doc *doc, const void *object)
{
    emit_flat(doc, of(object), false, emit_sums);
}
static void emit_flat_delays(struct json_doc *doc, const void *object)
{
    emit_flat(doc, of(object), true, emit_delays);
}
static void emit_flat_depths(struct json_doc *doc, const void *object)
{
    emit_flat(doc, of(object), true, emit_depths);
}

static void emit_flat_rows(struct json_doc *doc, const struct view *view, part_row *row, unsigned count)
{
    doc_array(doc);
    for (size_t i = 0; i < view->idle.clock_count; i++) {
        const struct idle_clock *clock = &view->idle.clocks[i];
        emit_part_rows(doc, view, clock, row, row == emit_cause ? cause_rows(clock) : count, true);
    }
    doc_array_end(doc);
}

static void emit_flat_causes(struct json_doc *doc, const void *object)
{
    emit_flat_rows(doc, of(object), emit_cause, IDLE_CAUSE_COUNT);
}
static void emit_flat_overlaps(struct json_doc *doc, const void *object)
{
    emit_flat_rows(doc, of(object), emit_overlap, OVERLAPS);
}
static void emit_flat_verdicts(struct json_doc *doc, const void *object)
{
    emit_flat_rows(doc, of(object), emit_verdict, VERDICTS);
}

/* ---- the result ---- */

static void emit_definition(struct json_doc *doc, const void *object)
{
    (void)object;
    doc_string(
        doc,
        "Busy is the union of a clock's intervals, idle is the measured region less busy. Launch delay is "
        "from "
        "the end of a call to the start of the first work that it issued; where that began before the call "
        "returned there is none. Queue depth is the calls whose work is not finished, weighted by time; full "
        "is 1024. An overlap is the share of the time copying, or communicating (kernels of NCCL), while "
        "other work computes. Launch-bound: the device is idle, nothing is enqueued, and the host is "
        "inside or between launches. Input-bound: the same while the host is in a span of the input. "
        "Suspect intervals are left out and counted.");
}

static void emit_window(struct json_doc *doc, const void *object)
{
    const struct view *view = of(object);
    doc_object(doc);
    doc_member_string(doc, "of", view->idle.whole_run ? "the whole capture" : "the measured region");
    doc_member_u64(doc, "start_ns", view->idle.window.start);
    doc_member_u64(doc, "duration_ns", window_ns(view));
    doc_object_end(doc);
}

static void emit_options(struct json_doc *doc, const void *object)
{
    const struct view *view = of(object);
    doc_object(doc);
    doc_member_text(doc, "input_span", trace_text(view->query->input->trace, view->options.input));
    doc_member_u64_or_null(doc, "input_ns", view->idle.input_known, view->idle.input_ns);
    doc_member_u64(doc, "kernel_wait_ns", view->options.kernel_wait_ns);
    doc_member_u64(doc, "launch_gap_ns", view->options.launch_gap_ns);
    doc_object_end(doc);
}

static void emit_meanings(struct json_doc *doc, const void *object)
{
    (void)object;
    doc_array(doc);
    for (unsigned cause = 0; cause < IDLE_CAUSE_COUNT; cause++) {
        doc_object(doc);
        doc_member_string(doc, "cause", causes[cause].cause);
        doc_member_string(doc, "meaning", causes[cause].meaning);
        doc_object_end(doc);
    }
    doc_array_end(doc);
}

static void emit_notes(struct json_doc *doc, const void *object)
{
    const struct view *view = of(object);
    doc_array(doc);
    if (view->idle.clock_count == 0) doc_string(doc, "the trace has no device intervals");
    bool anchored = true;
    for (size_t i = 0; i < view->idle.clock_count; i++)
        anchored &= view->idle.clocks[i].anchored;
    if (!anchored)
        doc_string(
            doc, "clocks whose place on the host's clock is not in the trace have no causes, launch delays, "
                 "queue depths and verdicts");
    if (view->idle.untimed_calls > 0)
        doc_string(doc, "some launches and copies were not timed: what is idle here may be their work");
    if (view->idle.whole_run)
        doc_string(doc, "there is not exactly one measured region: the whole capture stands for it");
    doc_array_end(doc);
}

static void emit_untimed(struct json_doc *doc, const void *object)
{
    doc_u64(doc, of(object)->idle.untimed_calls);
}

static void emit_names(struct json_doc *doc, const void *object)
{
    emit_device_list(doc, of(object)->query->input->trace->devices);
}
static bool has_names(const void *object)
{
    return of(object)->query->input->trace->devices != NULL;
}

static void emit_suspects(struct json_doc *doc, const void *object)
{
    const struct suspects *suspects = &((const struct query *)object)->input->suspects;
    emit_suspect_tally(doc, SUSPECT_INTERVALS, &suspects->tally[SUSPECT_INTERVALS]);
}

#define BEFORE_CLOCKS                                                                                        \
    {"definition", emit_definition, NULL}, {"window", emit_window, NULL}, {"options", emit_options, NULL},   \
    {                                                                                                        \
        "devices", emit_names, has_names                                                                     \
    }
#define BEHIND_CLOCKS                                                                                        \
    {"cause_meanings", emit_meanings, NULL}, {"untimed_calls", emit_untimed, NULL},                          \
        {"suspects", emit_suspects, NULL},                                                                   \
    {                                                                                                        \
        "notes", emit_notes, NULL                                                                            \
    }

static void emit(struct json_doc *doc, const void *object)
{
    static const struct json_member members[] = {BEFORE_CLOCKS, {"clocks", emit_clocks, NULL}, BEHIND_CLOCKS};
    doc_members(doc, members, sizeof members / sizeof *members, object);
}

static void emit_people(struct json_doc *doc, const void *object)
{
    static const struct json_member members[] = {BEFORE_CLOCKS,
                                                 {"clocks", emit_flat_sums, NULL},
                                                 {"causes", emit_flat_causes, NULL},
                                                 {"launch_delay", emit_flat_delays, NULL},
                                                 {"queue_depth", emit_flat_depths, NULL},
                                                 {"overlap", emit_flat_overlaps, NULL},
                                                 {"verdicts", emit_flat_verdicts, NULL},
                                                 BEHIND_CLOCKS};
    doc_members(doc, members, sizeof members / sizeof *members, object);
}

static const char *const options[] = {"input", "kernel-wait-ns", "launch-gap-ns", NULL};

const struct query_kind query_idle = {
    .name = "idle",
    .about =
        "where the time of devices went: busy, idle by cause, launch delays, queue depth, overlap, verdicts",
    .options = options,
    .needs = {.extras = true, .work = true},
    .rows = "*",
    .prepare = prepare,
    .release = release,
    .emit = emit,
    .people = emit_people,
};
