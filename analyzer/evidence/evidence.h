/* The evidence of one trace: everything that import, overview, summary and query show, and how each part of
 * it is written (doc/spec/evidence.md 4 to 9, doc/spec/cli.md 4.3).
 *
 * Emitters write exactly one value and work in documents of either order. Parts without bound are streamed.
 */
#ifndef CGTRACE_ANALYZER_EVIDENCE_EVIDENCE_H
#define CGTRACE_ANALYZER_EVIDENCE_EVIDENCE_H

#include "analyzer/evidence/gpu.h"
#include "analyzer/evidence/graph.h"
#include "analyzer/evidence/text.h"
#include "analyzer/planes/activations.h"
#include "analyzer/planes/capability.h"
#include "analyzer/planes/planes.h"
#include "analyzer/planes/suspects.h"
#include "common/json_doc.h"

#define EVIDENCE_SCHEMA       "candle-graph/evidence/5"
#define EVIDENCE_GRAPH_SCHEMA "candle-graph/graph/5"

/* Capabilities in output order: C(constant, member, kind on the wire, report spelling, report row). */
#define CAPABILITIES(C)                                                                                      \
    C(STRUCTURAL_TRACE, structural_trace, "structural_trace", "StructuralTrace", "structural trace")         \
    C(OUTER_WALL_TIME, outer_wall_time, "outer_wall_time", "OuterWallTime", "outer wall time")               \
    C(NESTED_HOST_TIME, nested_host_time, "nested_host_time", "NestedHostTime", "measured-scope host time")  \
    C(NESTED_DEVICE_TIME, nested_device_time, "nested_device_time", "NestedDeviceTime",                      \
      "nested device time")                                                                                  \
    C(OPERATIONS, operation_coverage, "operations", "Operations", "operations")                              \
    C(TENSORS, tensor_coverage, "tensors", "Tensors", "tensors")                                             \
    C(GRADIENTS, gradient_coverage, "gradients", "Gradients", "gradients")                                   \
    C(LOGICAL_MEMORY, logical_memory_coverage, "logical_memory", "LogicalMemory", "logical memory")          \
    C(PHYSICAL_MEMORY, physical_memory_coverage, "physical_memory", "PhysicalMemory", "physical memory")     \
    C(GPU_CORRELATION, gpu_correlation, "gpu_correlation", "GpuCorrelation", "GPU correlation")              \
    C(PROVENANCE_BINDING, provenance_binding, "provenance_binding", "ProvenanceBinding", "provenance binding")

#define CAPABILITY_CONSTANT(constant, member, kind, spelling, row) CAPABILITY_KIND_##constant,
enum capability_kind { CAPABILITIES(CAPABILITY_CONSTANT) CAPABILITY_KIND_COUNT };
#undef CAPABILITY_CONSTANT

struct capability_names {
    const char *member, *kind, *spelling, *row;
};
extern const struct capability_names capability_names[CAPABILITY_KIND_COUNT];

struct capability {
    enum capability_level level;
    struct cg_text source, reason;
};

enum fact_kind { FACT_DURATION_NS, FACT_BYTES, FACT_COUNT, FACT_TEXT };
struct fact {
    const char *code, *label;
    enum fact_kind kind;
    uint64_t number;
    struct cg_text text;
    const char *source;
    enum capability_kind capability;
};

struct finding {
    const char *code;
    struct cg_text summary, source;
    enum capability_kind requires[CAPABILITY_KIND_COUNT];
    unsigned require_count;
    enum capability_level qualification;
};

/* Derived from a trace (evidence_make), or read from a stored packet (evidence_read). In stored evidence the
 * rows, the lists of planes and everything that is only written again stay in the packet: the trace then
 * holds the run's metadata, and of ops only the columns by which activations are ranked; timing.spans are
 * those of activations; of the graph there are the numbers of nodes and summary rows, and the outer wall
 * time. */
struct evidence {
    const struct cg_trace *trace;   /* the caller's, which outlives the evidence; or the stored one's own */
    struct evidence_stored *stored; /* NULL when derived */
    bool indexed;                   /* planes and graph are those of the trace's index */
    struct text_arena arena;
    struct health health;
    struct timing timing;
    struct logical_memory logical;
    struct physical_memory physical;
    struct capability capabilities[CAPABILITY_KIND_COUNT];
    struct finding *findings;
    size_t finding_count;
    struct fact *facts;
    size_t fact_count;
    struct cg_text *gaps; /* byte order */
    size_t gap_count;
    bool has_graph; /* complete and valid */
    struct graph graph;
    struct activations activations;
    struct gpu_evidence gpu;
};

/* What evidence_make() prepares beyond the rest: rows of nodes; nodes and edges (import, report, view). */
enum { EVIDENCE_NODES = 1, EVIDENCE_EDGES = 2 };

/* Derives the evidence of a trace. gpu (loaded, not yet bound) is taken over, whatever the result; NULL means
 * that no Nsight directory was given. Returns 0, or the exit status: CG_EXIT_INPUT when two graph nodes share
 * an id, CG_EXIT_IO when memory is short; *evidence then needs no evidence_free(). */
int evidence_make(const struct cg_trace *trace, struct gpu_evidence *gpu, unsigned parts,
                  struct evidence *evidence, struct cg_error *error);
#define EVIDENCE_PADDING 64
/* Reads a stored packet (doc/spec/cli.md 1.5): evidence.json of a bundle whose files were verified. bytes
 * must have JSON_PADDING writable bytes behind length, is changed in place, and stays the caller's: it must
 * outlive the evidence. name stands for the document in messages. CG_EXIT_INPUT with a line that names byte,
 * member and defect. */
int evidence_read(const char *name, char *bytes, size_t length, struct evidence *evidence,
                  struct cg_error *error);
/* Is the run of this evidence the same, all known members (bundle.md 11, step 6)? False also when memory is
 * short. */
bool evidence_same_run(const struct evidence *evidence, const struct cg_trace *trace);
void evidence_free(struct evidence *evidence);
/* The logical memory of the trace with all its parts: that of the evidence where it was derived from this
 * very trace, else made anew. False when memory is short. evidence_logical_free() gives back what was made.
 */
bool evidence_logical(const struct evidence *evidence, const struct cg_trace *trace,
                      struct logical_memory *memory);
/* The same without the suspect storages, for kinds of ours. */
bool evidence_trusted_logical(const struct evidence *evidence, const struct cg_trace *trace,
                              const struct suspects *suspects, struct logical_memory *memory);
void evidence_logical_free(const struct evidence *evidence, struct logical_memory *memory);

/* ---- whole documents ---- */

/* The evidence packet (import, evidence.json); needs EVIDENCE_EDGES. */
void emit_packet(struct json_doc *doc, const struct evidence *evidence);
/* The Markdown report (9), through the sink; 0 or an errno value. */
int write_report_markdown(const struct evidence *evidence, json_sink *sink, void *context);

/* ---- parts ---- */

void emit_provenance(struct json_doc *doc, const struct evidence *evidence);
/* As overview shows it: lists and tags beyond 20 entries as bounded lists, long strings cut (cli.md 5.2). */
void emit_provenance_bounded(struct json_doc *doc, const struct evidence *evidence);
void emit_health(struct json_doc *doc, const struct evidence *evidence);
uint64_t evidence_issue_count(const struct evidence *evidence, enum health_severity severity);
void emit_capability(struct json_doc *doc, const struct capability *capability);
void emit_capabilities(struct json_doc *doc, const struct evidence *evidence);
void emit_finding(struct json_doc *doc, const struct finding *finding);
void emit_fact(struct json_doc *doc, const struct fact *fact);
void emit_findings(struct json_doc *doc, const struct evidence *evidence);
void emit_facts(struct json_doc *doc, const struct evidence *evidence);
void emit_gaps(struct json_doc *doc, const struct evidence *evidence);
void emit_timing(struct json_doc *doc, const struct evidence *evidence);
void emit_memory(struct json_doc *doc, const struct evidence *evidence);

/* ---- rows; a row number is a position in the packet's list ---- */

/* Lists of the packet: E(constant, emitter). Nodes and edges are empty without a graph, tensors and gradients
 * are the graph's lists (the trace's records), empty without one too. */
enum evidence_list { LIST_NODES, LIST_EDGES, LIST_TENSORS, LIST_GRADIENTS, LIST_TENSOR_STATS };
uint64_t evidence_rows(const struct evidence *evidence, enum evidence_list list);
void emit_row(struct json_doc *doc, const struct evidence *evidence, enum evidence_list list, uint64_t row);
/* What --label is compared with (cli.md 6.2): node name, tensor label or else id, tensor-stats label,
 * gradient key. Edges have none. */
struct cg_text evidence_row_label(const struct evidence *evidence, enum evidence_list list, uint64_t row);
struct cg_text evidence_gradient_root(const struct evidence *evidence, uint64_t row);
/* Tensor-stats events with non_finite > 0. */
uint64_t evidence_non_finite_events(const struct evidence *evidence);

/* ---- graph summary; only when has_graph ---- */

void emit_graph(struct json_doc *doc, const struct evidence *evidence);
void emit_graph_summary(struct json_doc *doc, const struct evidence *evidence);
void emit_host_cost(struct json_doc *doc, const struct evidence *evidence, const struct host_cost *cost);
void emit_device_cost(struct json_doc *doc, const struct evidence *evidence, const struct device_cost *cost);
void emit_heavy_span(struct json_doc *doc, const struct evidence *evidence, uint32_t span);
/* Nodes of kind op with known allocated bytes, descending by them, ties by id: at most room of them
 * (cli.md 6.4, heaviest_ops); needs EVIDENCE_NODES. Returns how many were filled, *total how many there are.
 */
size_t evidence_heaviest_ops(const struct evidence *evidence, uint32_t *nodes, size_t room, uint64_t *total);

/* ---- activations ---- */

/* Is there something to say of activations: are they declared, or were there any (evidence.md 8)? */
bool evidence_shows_activations(const struct evidence *evidence);
void emit_activations(struct json_doc *doc, const struct evidence *evidence);
void emit_activation_definition(struct json_doc *doc, const struct evidence *evidence);
/* state is one of evidence->activations. */
void emit_activation_state(struct json_doc *doc, const struct evidence *evidence,
                           const struct activation_state *state);
void emit_activation_operation(struct json_doc *doc, const struct evidence *evidence,
                               const struct activation_operation *operation);
/* The id of an operation: its span's id and, unless dedicated, "/op/<index>". */
void emit_activation_id(struct json_doc *doc, const struct evidence *evidence,
                        const struct activation_operation *operation);

#endif
