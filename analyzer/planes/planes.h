/* The derived planes: pure functions from a trace to results. No I/O; a result keeps pointers into nothing
 * but itself, and names strings by their numbers in the trace it was made from.
 *
 * Every *_make() returns false only when memory is short; *_free() takes a zeroed or made result.
 *
 * Results that an index holds have no padding, but a member `unused`: so whoever fills one in sets every
 * byte, and the file is the same each time (evidence/evidence_index.c asserts it). */
#ifndef CGTRACE_ANALYZER_PLANES_PLANES_H
#define CGTRACE_ANALYZER_PLANES_PLANES_H

#include "analyzer/trace/trace.h"

/* ---- health (doc/spec/trace.md 10 and 11) ---- */

enum health_severity { HEALTH_ERROR, HEALTH_WARNING };

/* enum health_code { HEALTH_RUN_PROVENANCE_INVALID, ... } comes from the table in health_codes.h. */
/* One finding. The text is made on demand, so that a trace with millions of faults costs 24 bytes each. */
struct health_issue {
    uint8_t severity; /* enum health_severity */
    uint8_t code;     /* enum health_code */
    uint16_t detail;  /* which of the code's causes; see health_codes.h */
    cg_str subject;   /* the ids that the message names; CG_ABSENT when the code has none */
    cg_str object;
    uint32_t unused;
    uint64_t number; /* the count that the message states, or 0 */
};

/* What is counted, in output order: C(member). */
#define HEALTH_COVERAGE(C)                                                                                   \
    C(spans)                                                                                                 \
    C(closed_spans)                                                                                          \
    C(root_spans)                                                                                            \
    C(measured_spans)                                                                                        \
    C(operations)                                                                                            \
    C(tensors)                                                                                               \
    C(memory_events)                                                                                         \
    C(device_memory_samples)                                                                                 \
    C(device_intervals)                                                                                      \
    C(gradients) C(call_edges) C(data_edges) C(forward_spans) C(backward_spans) C(optimizer_spans)
#define HEALTH_COVERAGE_MEMBER(name) uint64_t name;
struct health_coverage {
    HEALTH_COVERAGE(HEALTH_COVERAGE_MEMBER)
};

struct health {
    bool structurally_valid;
    bool capture_complete;
    uint16_t unused;
    /* Row of the issue gradient_contract_invalid, whose message says why; CG_NONE when there is none. */
    uint32_t gradient_contract_fault;
    struct health_issue *issues; /* in emission order */
    size_t issue_count;
    struct health_coverage coverage;
};
bool health_make(const struct cg_trace *trace, struct health *health);
/* The same, quicker by what the logical memory of the trace (with all its rows) says already. */
struct logical_memory;
bool health_make_beside(const struct cg_trace *trace, const struct logical_memory *memory,
                        struct health *health);
void health_free(struct health *health);
/* One sentence for people, UTF-8, ended by NUL; ids are quoted, controls in them escaped, long ones
 * shortened. */
#define HEALTH_MESSAGE_SIZE 1024
void health_message(const struct cg_trace *trace, const struct health_issue *issue,
                    char message[HEALTH_MESSAGE_SIZE]);
/* Wire name of a code, such as "open_span". */
const char *health_code_name(int code);

/* The digest of a contract's expected gradients (doc/spec/trace.md 4.5): "sha256:" and 64 hex digits. False
 * when memory is short. */
#define GRADIENT_DIGEST_SIZE 72
bool gradient_manifest_digest(const struct cg_trace *trace,
                              const struct CG_OBJECT_GRADIENT_CONTRACT *contract,
                              char digest[GRADIENT_DIGEST_SIZE]);

/* ---- trace summary (doc/spec/trace.md 9) ---- */

struct trace_summary {
    uint64_t op_count, total_ns, span_count, root_span_count, max_depth, alloc_count, free_count;
    uint64_t logical_peak_bytes;
    bool logical_peak_known;
};

/* ---- timing (doc/spec/planes.md 2) ---- */

struct timing_span {
    cg_str span_id, device, clock_id;
    struct cg_list backends, streams; /* into timing.strings, byte order */
    uint32_t unused;
    uint64_t interval_count, busy_ns;
};
struct timing_clock {
    cg_str device, clock_id;
    uint64_t interval_count, busy_ns;
};
struct timing {
    enum cg_value_COVERAGE device_coverage;
    uint32_t unused;
    struct timing_span *spans; /* byte order of span id, device, clock */
    size_t span_count;
    struct timing_clock *clocks; /* byte order of device, clock */
    size_t clock_count;
    cg_str *strings;
};
bool timing_make(const struct cg_trace *trace, struct timing *timing);
void timing_free(struct timing *timing);

/* ---- memory (doc/spec/planes.md 3 and 5) ---- */

/* A storage from its allocation on: 16 bytes, everything else is in the rows of trace->memory that it names.
 */
struct lifetime {
    uint32_t
        row; /* the allocation: device, storage_id, span_id, op_name, bytes, shape, dtype, category, start */
    uint32_t end_row;       /* the freeing record; CG_NONE when retained */
    struct cg_list tensors; /* into logical_memory.tensor_rows */
};
/* Live bytes of one device or category at a point; exact, clamped on output. */
struct live_bytes {
    uint32_t key; /* device: cg_str; category: enum */
    unsigned __int128 bytes;
};
struct memory_device {
    cg_str device;
    bool peak_known;
    uint8_t unused[3];
    uint64_t storage_allocation_count, matched_storage_free_count, total_allocated_bytes;
    uint64_t peak_live_bytes, peak_timestamp_ns;
};
struct logical_memory {
    bool present;
    bool peak_known;
    bool frees_alike; /* each record that frees a storage has the bytes of the one that allocated it */
    bool unnamed;     /* no record that allocates a storage names an operation */
    uint32_t unused;
    uint64_t storage_allocation_count, matched_storage_free_count, total_allocated_bytes;
    uint64_t peak_live_bytes, peak_timestamp_ns;
    uint64_t point_count;       /* distinct timestamps */
    struct lifetime *lifetimes; /* order of doc/spec/planes.md 3.4 */
    size_t lifetime_count;
    /* For each tensor id of a lifetime, in byte order of the ids, the first row of trace->memory that showed
     * it: trace->memory.tensor_id[] is the id, trace->memory.timestamp_ns[] when it became known. */
    uint32_t *tensor_rows;
    struct memory_device *devices; /* byte order */
    size_t device_count;
    uint32_t *order; /* rows of trace->memory by (time, file order); NULL when the file is in that order */
    const uint8_t *left_out; /* as given to logical_memory_make_without(), not owned; NULL: none */
};
struct physical_device {
    cg_str device;
    bool used_known, reserved_known, free_known, capacity_known;
    uint64_t sample_count, used_sample_count, free_sample_count, reserved_sample_count, capacity_sample_count;
    uint64_t peak_used_bytes, peak_used_ns, peak_reserved_bytes, peak_reserved_ns, minimum_free_bytes,
        minimum_free_ns, maximum_capacity_bytes;
};
struct physical_memory {
    bool present;
    uint8_t unused[7];
    uint32_t *order; /* rows of trace->device_memory by (time, device, file order) */
    struct physical_device *devices;
    size_t device_count;
};
bool logical_memory_make(const struct cg_trace *trace, struct logical_memory *memory);
/* As if the rows of trace->memory with a byte set in left_out (NULL: none) were not there: not the plane of
 * the format. Storages must be left out whole. */
bool logical_memory_make_without(const struct cg_trace *trace, const uint8_t *left_out,
                                 struct logical_memory *memory);
void logical_memory_free(struct logical_memory *memory);
bool physical_memory_make(const struct cg_trace *trace, struct physical_memory *memory);
void physical_memory_free(struct physical_memory *memory);

/* One point of the timeline. by_device holds each device with a live storage, in byte order; by_category
 * likewise, in byte order of the categories' names. Valid during the call only. */
struct memory_point {
    uint64_t timestamp_ns;
    unsigned __int128 live_bytes;
    const struct live_bytes *by_device, *by_category;
    size_t device_count, category_count;
};
/* Calls visit for each point in ascending time; the timeline is never built in memory. */
bool logical_memory_points(const struct cg_trace *trace, const struct logical_memory *memory,
                           void (*visit)(void *context, const struct memory_point *point), void *context);
/* Calls visit for the peak's point alone (nothing when there is none). */
bool logical_memory_peak_point(const struct cg_trace *trace, const struct logical_memory *memory,
                               void (*visit)(void *context, const struct memory_point *point), void *context);
static inline uint64_t lifetime_start(const struct cg_trace *trace, const struct lifetime *lifetime)
{
    return trace->memory.timestamp_ns[lifetime->row];
}
/* UINT64_MAX when retained; ask end_row whether it is. */
static inline uint64_t lifetime_end(const struct cg_trace *trace, const struct lifetime *lifetime)
{
    return lifetime->end_row == CG_NONE ? UINT64_MAX : trace->memory.timestamp_ns[lifetime->end_row];
}
/* Was it live after the peak's point (3.7)? Its tensor ids known by then are those whose time is not after
 * peak_timestamp_ns. False when there is no peak. */
bool lifetime_live_at_peak(const struct cg_trace *trace, const struct logical_memory *memory,
                           const struct lifetime *lifetime);

bool trace_summary_make(const struct cg_trace *trace, const struct logical_memory *memory,
                        struct trace_summary *summary);

/* ---- node memory metrics (doc/spec/planes.md 4); only for complete and valid traces ---- */

struct node_memory {
    uint8_t *allocated_set;    /* by span row */
    uint64_t *allocated_bytes; /* direct */
    uint8_t *subtree_set;
    uint64_t *peak_live_bytes, *residual_bytes; /* both there where subtree_set */
    uint8_t *op_allocated_set;                  /* by op row */
    uint64_t *op_allocated_bytes;
};
bool node_memory_make(const struct cg_trace *trace, const struct logical_memory *memory,
                      struct node_memory *metrics);
void node_memory_free(struct node_memory *metrics);

/* ---- shared by planes: ancestors and children of spans ---- */

/* The walk span -> parent -> ... of every span (doc/spec/trace.md 9 and 15.1). */
struct span_walk {
    uint32_t *depth; /* by span row: distinct ids met on the way */
    uint8_t *cyclic; /* the walk meets an id again */
};
bool span_walk_make(const struct cg_trace *trace, struct span_walk *walk);
void span_walk_free(struct span_walk *walk);

/* Children in compressed rows: those of span s are child[first[s]] .. child[first[s + 1] - 1], ascending; the
 * spans without a known parent are child[first[rows]] .. child[first[rows + 1] - 1]. Cycles hang under nobody
 * but themselves. */
struct span_children {
    uint32_t *first;
    uint32_t *child;
};
bool span_children_make(const struct cg_trace *trace, struct span_children *children);
void span_children_free(struct span_children *children);

/* Half-open interval, end saturated. */
struct interval {
    uint64_t start, end;
};
/* By their starts. */
void interval_sort(struct interval *intervals, size_t count);
/* Sorts the intervals and gives the saturating length of their union; touching ones join
 * (doc/spec/planes.md 2.3). */
uint64_t interval_union(struct interval *intervals, size_t count);

#endif
