#include "analyzer/planes/planes.h"

bool trace_summary_make(const struct cg_trace *trace, const struct logical_memory *memory,
                        struct trace_summary *summary)
{
    *summary = (struct trace_summary){
        .op_count = trace->op.rows,
        .span_count = trace->span.rows,
        .logical_peak_bytes = memory->peak_live_bytes,
        .logical_peak_known = memory->peak_known,
    };
    struct span_walk walk;
    if (!span_walk_make(trace, &walk)) return false;
    for (size_t i = 0; i < trace->span.rows; i++) {
        if (trace->span.measured[i])
            summary->total_ns = cg_sat_add(summary->total_ns, trace->span.duration_ns[i]);
        summary->root_span_count += trace->span.parent_id[i] == CG_ABSENT;
        if (walk.depth[i] > summary->max_depth) summary->max_depth = walk.depth[i];
    }
    span_walk_free(&walk);
    for (size_t i = 0; i < trace->memory.rows; i++)
        summary->alloc_count += trace->memory.action[i] == CG_ACTION_ALLOC;
    summary->free_count = trace->memory.rows - summary->alloc_count;
    return true;
}
