#include "analyzer/evidence/evidence.h"

#include <stdlib.h>

#include "analyzer/evidence/evidence_index.h"
#include "analyzer/evidence/evidence_private.h"
#include "analyzer/trace/jobs.h"

#define CAPABILITY_NAMES(constant, member, kind, spelling, row) {#member, kind, spelling, row},
const struct capability_names capability_names[CAPABILITY_KIND_COUNT] = {CAPABILITIES(CAPABILITY_NAMES)};

uint32_t evidence_measured_span(const struct cg_trace *trace)
{
    for (size_t s = 0; s < trace->span.rows; s++)
        if (trace->span.measured[s] && trace->span.closed[s]) return (uint32_t)s;
    return CG_NONE;
}

/* Takes over *gpu, or stands for it, and binds it to the run. */
static bool take_gpu(struct evidence *evidence, struct gpu_evidence *gpu)
{
    const struct cg_trace *trace = evidence->trace;
    if (gpu)
        evidence->gpu = *gpu;
    else if (!gpu_make_empty(&evidence->gpu, GPU_UNAVAILABLE,
                             "no Nsight directory was given: GPU activity was not looked at"))
        return false;
    return gpu_bind(&evidence->gpu, trace_text(trace, trace->run.run_id),
                    trace_text(trace, trace->run.correlation_id));
}

/* ---- what depends on the trace alone ---- */

struct planes {
    struct evidence *evidence;
    struct node_memory nodes; /* of complete captures: only they can have a graph */
};

static bool make_health(void *context)
{
    struct evidence *evidence = context;
    return health_make_beside(evidence->trace, &evidence->logical, &evidence->health);
}

static bool make_timing(void *context)
{
    struct evidence *evidence = context;
    return timing_make(evidence->trace, &evidence->timing);
}

static bool make_logical(void *context)
{
    struct evidence *evidence = context;
    return logical_memory_make(evidence->trace, &evidence->logical);
}

static bool make_nodes(void *context)
{
    struct planes *planes = context;
    const struct cg_trace *trace = planes->evidence->trace;
    return trace->terminal.outcome != CG_OUTCOME_COMPLETE ||
           node_memory_make(trace, &planes->evidence->logical, &planes->nodes);
}

static bool make_physical(void *context)
{
    struct evidence *evidence = context;
    return physical_memory_make(evidence->trace, &evidence->physical);
}

/* Those that take longest come first. */
static bool make_planes(struct planes *planes, unsigned threads)
{
    struct evidence *evidence = planes->evidence;
    if (evidence_index_take(evidence)) return true;
    struct job jobs[] = {{.run = make_logical, .context = evidence},
                         {.run = make_timing, .context = evidence},
                         {.run = make_nodes, .context = planes, .after = {&jobs[0]}},
                         {.run = make_health, .context = evidence, .after = {&jobs[0]}},
                         {.run = make_physical, .context = evidence}};
    return jobs_run(jobs, sizeof jobs / sizeof *jobs, threads);
}

/* ---- what depends on those ---- */

struct graph_job {
    struct planes *planes;
    unsigned parts;
    struct cg_error *error; /* set when it fails */
};

static bool make_graph(void *context)
{
    const struct graph_job *job = context;
    struct evidence *evidence = job->planes->evidence;
    const struct cg_trace *trace = evidence->trace;
    if (!evidence->health.structurally_valid || !evidence->health.capture_complete) return true;
    if (!evidence->indexed &&
        graph_make(trace, &evidence->timing, &job->planes->nodes, &evidence->graph, job->error))
        return false;
    evidence->has_graph = true;
    if (!job->parts) return true;
    if ((!evidence->indexed || graph_count_tensors(trace, &evidence->graph)) &&
        graph_list(trace, &evidence->graph, job->parts & EVIDENCE_EDGES))
        return true;
    cg_fail(job->error, CG_EXIT_IO, "out of memory for the graph");
    return false;
}

static bool make_activations(void *context)
{
    struct evidence *evidence = context;
    struct activation_inputs inputs = {
        .health = &evidence->health,
        .timing = &evidence->timing,
        .memory = &evidence->logical,
        .nested_device_time = evidence->capabilities[CAPABILITY_KIND_NESTED_DEVICE_TIME].level,
        .logical_memory_coverage = evidence->capabilities[CAPABILITY_KIND_LOGICAL_MEMORY].level};
    return activations_make(evidence->trace, &inputs, &evidence->activations);
}

int evidence_make(const struct cg_trace *trace, struct gpu_evidence *gpu, unsigned parts,
                  struct evidence *evidence, struct cg_error *error)
{
    unsigned threads = jobs_threads(trace->file_bytes, trace->threads);
    *evidence = (struct evidence){.trace = trace};
    *error = (struct cg_error){0};
    struct planes planes = {.evidence = evidence};
    struct graph_job graph = {&planes, parts, error};
    struct job jobs[] = {{.run = make_graph, .context = &graph},
                         {.run = make_activations, .context = evidence}};
    bool enough = take_gpu(evidence, gpu) && make_planes(&planes, threads) && capabilities_make(evidence) &&
                  jobs_run(jobs, sizeof jobs / sizeof *jobs, threads) && findings_make(evidence) &&
                  gaps_make(evidence) && facts_make(evidence);
    node_memory_free(&planes.nodes);
    if (enough) return 0;
    if (!error->status) cg_fail(error, CG_EXIT_IO, "out of memory for the evidence");
    evidence_free(evidence);
    return error->status;
}

void evidence_free(struct evidence *evidence)
{
    if (evidence->indexed) evidence_index_release(evidence);
    health_free(&evidence->health);
    timing_free(&evidence->timing);
    logical_memory_free(&evidence->logical);
    physical_memory_free(&evidence->physical);
    graph_free(&evidence->graph);
    activations_free(&evidence->activations);
    gpu_free(&evidence->gpu);
    free(evidence->gaps);
    free(evidence->findings);
    free(evidence->facts);
    if (evidence->stored) stored_free(evidence);
    arena_free(&evidence->arena);
    *evidence = (struct evidence){0};
}

bool evidence_logical(const struct evidence *evidence, const struct cg_trace *trace,
                      struct logical_memory *memory)
{
    if (evidence->stored || evidence->trace != trace) return logical_memory_make(trace, memory);
    *memory = evidence->logical;
    return true;
}

bool evidence_trusted_logical(const struct evidence *evidence, const struct cg_trace *trace,
                              const struct suspects *suspects, struct logical_memory *memory)
{
    const uint8_t *left_out = suspects->rule[SUSPECT_STORAGES];
    return left_out ? logical_memory_make_without(trace, left_out, memory)
                    : evidence_logical(evidence, trace, memory);
}

void evidence_logical_free(const struct evidence *evidence, struct logical_memory *memory)
{
    /* Whatever has records has devices. */
    if (memory->devices != evidence->logical.devices) logical_memory_free(memory);
    *memory = (struct logical_memory){0};
}
