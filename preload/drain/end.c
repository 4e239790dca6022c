/* The end of a trace: open spans, terminal, first line, its place. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/jsonl_text.h"
#include "preload/drain/meta.h"
#include "preload/drain/state.h"
#include "preload/record/declared.h"
#include "preload/record/device.h"
#include "preload/record/paths.h"
#include "preload/record/session.h"
#include "preload/say.h"

static void put_span_end(uint32_t span, uint64_t begin_ns, uint64_t end_ns, enum jsonl_clipped clipped)
{
    char *out = drain_room(256);

    if (writer.error) return;
    writer.used = (size_t)(jsonl_span_end(out, span, end_ns - begin_ns, clipped) - writer.buffer);
}

/* Complete spans, of ranges that are still open: those that next() gives. */
static void put_open(bool (*next)(struct cap_record *, uint64_t, int32_t *), uint64_t end_tick)
{
    struct cap_record record;
    int32_t tid;

    while (!writer.error && next(&record, end_tick, &tid)) {
        char *out = drain_room(jsonl_bound(&writer.state, &record));

        if (!writer.error)
            writer.used = (size_t)(jsonl_record(&writer.state, out, &record, 0, 0, tid) - writer.buffer);
    }
}

/* Spans that nobody ended, the inner ones first; then the session's own. */
static void end_spans(uint64_t last_tick, const struct session_end *end)
{
    uint32_t rings = atomic_load_explicit(&session.header->rings_used, memory_order_acquire);
    uint64_t region_ns = end->tick ? cap_ns(&writer.state.clock, end->tick) : writer.end_ns;

    for (uint32_t i = 0; i < rings; i++) {
        struct ring_view *view = &session.views[i];

        while (view->open_depth > 0) {
            const struct record_open_span *open = &view->open[--view->open_depth];
            put_span_end(open->inside, cap_ns(&writer.state.clock, open->begin), writer.end_ns,
                         open->clipped ? JSONL_CLIPPED_BOTH : JSONL_CLIPPED_END);
        }
    }
    put_open(ranges_next, last_tick);
    put_open(peers_next, last_tick);
    if (!session.region.own)
        put_span_end(CAP_SPAN_REGION, 0, region_ns, end->clipped ? JSONL_CLIPPED_END : JSONL_CLIPPED_NOT);
    put_span_end(CAP_SPAN_ROOT, 0, writer.end_ns, JSONL_CLIPPED_NOT);
}

/* ---- what is known at the end ---- */

static void collect_losses(void)
{
    uint32_t rings = atomic_load_explicit(&session.header->rings_used, memory_order_acquire);
    static uint64_t lost_type[CAP_TYPE_COUNT], gaps[CAP_GAP_COUNT], untimed[CAP_UNTIMED_COUNT];
    struct jsonl_end *end = &writer.end;

    end->lost = end->without_ring = atomic_load(&session.header->lost_without_ring);
    end->not_written = writer.not_written;
    end->lost += end->not_written;
    for (uint32_t i = 0; i < rings; i++) {
        uint64_t lost = atomic_load_explicit(&session.rings[i].lost, memory_order_relaxed);

        if (lost) writer.lost[writer.lost_count++] = (struct jsonl_lost){session.rings[i].tid, lost};
    }
    for (size_t i = 0; i < writer.lost_count; i++)
        end->lost += writer.lost[i].lost;
    for (int type = 0; type < CAP_TYPE_COUNT; type++)
        lost_type[type] = atomic_load(&session.lost_type[type]);
    for (int gap = 0; gap < CAP_GAP_COUNT; gap++)
        gaps[gap] = atomic_load(&session.header->gaps[gap]);
    record_device_publish();
    for (int why = 0; why < CAP_UNTIMED_COUNT; why++)
        untimed[why] = atomic_load(&session.header->untimed[why]);
    untimed[CAP_UNTIMED_BUDGET] += writer.state.written.skipped;
    end->untimed = untimed;
    end->unread = atomic_load(&session.header->pending);
    end->timing_ns = atomic_load(&session.header->timing_ns);
    end->threads = writer.lost;
    end->thread_count = writer.lost_count;
    end->lost_type = lost_type;
    end->gaps = gaps;
    end->recorded = writer.state.written.records;
}

static uint64_t records_written(void)
{
    uint64_t total = 0;

    for (int type = 0; type < CAP_TYPE_COUNT; type++)
        total += writer.state.written.records[type];
    return total;
}

/* complete: at least one record, nothing lost, no route that is not covered. */
static enum cg_value_COVERAGE level(uint64_t lines, bool whole)
{
    return lines == 0 ? CG_COVERAGE_NONE : whole ? CG_COVERAGE_COMPLETE : CG_COVERAGE_PARTIAL;
}

/* Calls into a capture do no work. */
static bool all_timed(void)
{
    uint64_t untimed = writer.end.unread;

    for (int why = 0; why < CAP_UNTIMED_COUNT; why++)
        if (why != CAP_UNTIMED_CAPTURED) untimed += writer.end.untimed[why];
    return untimed == 0;
}

/* Ends of spans that were not open, and calls that were under way at the region's borders and so belong to it
 * with a part alone: of what lies inside nothing is missing. */
static bool lowers_nothing(int gap)
{
    return gap == CAP_GAP_UNKNOWN_SPAN_END || gap == CAP_GAP_STRADDLING || gap == CAP_GAP_STACK;
}

static void settle_levels(struct meta_settled *settled, bool whole)
{
    const unsigned all = CG_RECORD_MEMORY | CG_RECORD_LAUNCH | CG_RECORD_COPY | CG_RECORD_CALL;
    const struct cap_written *written = &writer.state.written;
    const uint64_t *records = written->records;
    enum cg_value_COVERAGE *seen = settled->seen, *undeclared = settled->undeclared;

    seen[META_operations] = level(written->op_lines, whole && (session.families & all) == all);
    seen[META_activations] =
        level(records[CAP_API_OP] && records[CAP_TENSOR] + records[CAP_API_ALLOC], whole);
    seen[META_tensors] = level(records[CAP_TENSOR], whole);
    seen[META_gradients] = level(records[CAP_GRADIENT], whole);
    seen[META_logical_memory] = level(written->memory_lines, whole);
    seen[META_physical_memory] = level(records[CAP_SAMPLE], false);
    seen[META_device_timing] = level(records[CAP_INTERVAL] + records[CAP_API_INTERVAL], whole && all_timed());
    /* Whether a program tells all of what it tells of itself, only it can know. */
    for (int i = 0; i < META_LEVELS; i++)
        undeclared[i] = CG_COVERAGE_PARTIAL;
    if (!records[CAP_API_OP]) undeclared[META_operations] = CG_COVERAGE_COMPLETE;
    if (!records[CAP_API_INTERVAL]) undeclared[META_device_timing] = CG_COVERAGE_COMPLETE;
    if (!records[CAP_API_ALLOC]) undeclared[META_logical_memory] = CG_COVERAGE_COMPLETE;
}

static void settle(struct meta_settled *settled)
{
    const uint32_t training = 1u << CG_STEP_BACKWARD | 1u << CG_STEP_OPTIMIZER;
    bool whole = writer.end.lost == 0 && !writer.error;

    for (int gap = 0; gap < CAP_GAP_COUNT; gap++)
        whole &= lowers_nothing(gap) || writer.end.gaps[gap] == 0;
    settle_levels(settled, whole);
    settled->first_device = writer.state.written.first_device;
    settled->synchronised = session.run.synchronised;
    settled->phase = session.run.phase == CG_PHASE_SET_TRAIN   ? CG_PHASE_TRAIN
                     : session.run.phase == CG_PHASE_SET_INFER ? CG_PHASE_INFER
                     : writer.state.written.steps & training   ? CG_PHASE_TRAIN
                                                               : CG_PHASE_INFER;
}

/* ---- the first line ---- */

/* It does not fit into the room kept for it: the file is written once more, behind a longer first line. */
static int rewrite(const char *meta, size_t length)
{
    struct file longer;
    char path[sizeof longer.path];
    uint64_t from = writer.meta_room + 1, to = length + 1;
    int error;

    if (strlen(session.part.path) + 2 > sizeof path) return ENAMETOOLONG;
    strcpy(path, session.part.path);
    strcat(path, "2");
    if ((error = file_create(&longer, path)) != 0) return error;
    error = file_write(&longer, meta, length, 0);
    if (!error) error = file_write(&longer, "\n", 1, length);
    while (!error && from < writer.part_bytes) {
        size_t part =
            writer.part_bytes - from < WRITER_BUFFER ? (size_t)(writer.part_bytes - from) : WRITER_BUFFER;

        error = file_read(&session.part, writer.buffer, part, from);
        if (!error) error = file_write(&longer, writer.buffer, part, to);
        from += part;
        to += part;
    }
    if (error) {
        unlink(path);
        file_close(&longer);
        return error;
    }
    unlink(session.part.path);
    file_close(&session.part);
    session.part = longer;
    return 0;
}

static int write_meta(void)
{
    struct meta_settled settled = {.names = true};
    size_t bound, length = 0;
    char *meta;
    int error = 0;

    names_freeze();
    settle(&settled);
    run_redeclare();
    bound = meta_bound() + names_bound() + META_RESERVE;
    meta = mmap(NULL, bound, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (meta == MAP_FAILED)
        error = errno;
    else
        length = (size_t)(meta_write(meta, &settled) - meta);
    declared_let_go();
    if (error) return error;
    error = length <= writer.meta_room ? file_write(&session.part, meta, length, 0) : rewrite(meta, length);
    munmap(meta, bound);
    return error;
}

static uint64_t stacks_ns(void)
{
    uint64_t ticks = peers_cost_ticks(RECORD_COST_STACKS) - session.stack_ticks;

    return cap_ns(&writer.state.clock, writer.state.clock.tick0 + ticks);
}

static void write_terminal(const struct session_end *how)
{
    static char reason[256];
    struct jsonl_end *end = &writer.end;
    char *out;

    end->reason = how->reason;

    if (writer.error) {
        *jsonl_bytes(jsonl_literal(reason, "writing the trace failed: "), say_error(writer.error),
                     strnlen(say_error(writer.error), 200)) = '\0';
        end->reason = reason;
    }
    end->end = how->how;
    end->ns = writer.end_ns;
    end->overhead_ns =
        session.fixed_ns + records_written() * session.record_ns_1024 / 1024 + end->timing_ns + stacks_ns();
    writer.error = 0; /* the space that the cut gave back may hold the end */
    out = drain_room(jsonl_end_bound(end));
    writer.used = (size_t)(jsonl_end_write(out, end) - writer.buffer);
    /* Not published: should the trace not come into its place, recovery writes the end. */
    drain_write();
    symbols_free(writer.state.symbols);
}

void end_trace(uint64_t last_tick, const struct session_end *how)
{
    struct session_end settled = *how, *end = &settled;
    int error, failed, late;

    /* A complete trace has one. */
    if (!end->reason && session.region.own && !session.measured)
        end->reason = "it ended before its measured region was begun";
    drain_fix_rate();
    writer.end_ns = cap_ns(&writer.state.clock, last_tick);
    if (writer.state.written.latest_ns > writer.end_ns) writer.end_ns = writer.state.written.latest_ns;
    /* Published with the ends of spans: a terminal record that recovery writes comes no earlier. */
    writer.state.written.latest_ns = writer.end_ns;
    /* doc/spec/trace.md 13.5: a failed one ends no span. */
    if (!writer.error && !end->reason) end_spans(last_tick, end);
    if (!writer.error) drain_flush();
    failed = writer.error;
    collect_losses();
    write_terminal(end);
    late = early_sync_end(&writer.sync);
    if (writer.error) return;
    drain_give_space();
    writer.error = failed;
    error = write_meta();
    if (!error) error = late;
    if (!error) error = file_sync(&session.part);
    if (!error) error = paths_place_trace();
    if (error) {
        writer.error = error;
        if (file_in_place(&session.capture))
            say(session.quiet, "cannot complete ", session.trace_path, ": ", say_error(error),
                "; cg-analyze recover ", session.capture.path, " makes the trace", NULL);
        else
            say(session.quiet, "cannot complete ", session.trace_path, ": ", say_error(error),
                "; its files were moved or removed under way", NULL);
        return;
    }
    atomic_store_explicit(&session.header->closed, 1, memory_order_release);
    if (session.capture.path[0]) unlink(session.capture.path);
}
