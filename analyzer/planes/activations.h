/* The activation profile: operations whose output is an activation, with their host time, device time, dense
 * footprint and logical storage, never merged (doc/spec/evidence.md 10). */
#ifndef CGTRACE_ANALYZER_PLANES_ACTIVATIONS_H
#define CGTRACE_ANALYZER_PLANES_ACTIVATIONS_H

#include "analyzer/planes/capability.h"
#include "analyzer/planes/planes.h"

/* What counts as an activation operation: the constant member `definition`. */
extern const char activation_definition[];

/* source is static, "none" when unavailable. */
struct activation_state {
    enum capability_level level;
    const char *source;
    char reason[160];
};

/* The states, in output order: A(member). */
#define ACTIVATION_STATES(A)                                                                                 \
    A(coverage)                                                                                              \
    A(host_time) A(device_time) A(dense_output) A(logical_memory) A(physical_memory_attribution)

struct activation_operation {
    uint32_t op;        /* row of trace->op: name, output, shape, dtype, device, duration, dense bytes */
    uint32_t op_index;  /* among the ops of its span_id, from 0 */
    bool dedicated;     /* its id is that of its span, else <span_id>/op/<op_index> */
    bool tensor_output; /* the classification sources, in output order */
    bool logical_storage;
    bool logical_known;     /* allocated_bytes and storage_count are there */
    bool interval_known;    /* live_duration_ns and byte_nanoseconds are there */
    bool retained_known;    /* retained_bytes is there */
    struct cg_list timings; /* into timing.spans; empty unless dedicated */
    uint64_t allocated_bytes, storage_count, live_duration_ns, retained_bytes;
    unsigned __int128 byte_nanoseconds;
};

struct activations {
#define ACTIVATION_STATE_MEMBER(name) struct activation_state name;
    ACTIVATION_STATES(ACTIVATION_STATE_MEMBER)
#undef ACTIVATION_STATE_MEMBER
    uint64_t unattributed_storages;
    struct activation_operation *operations; /* order of the ops in the file */
    size_t operation_count;
};

/* The capabilities that the states depend on, after downgrades (doc/spec/evidence.md 5.5). */
struct activation_inputs {
    const struct health *health;
    const struct timing *timing;
    const struct logical_memory *memory;
    enum capability_level nested_device_time, logical_memory_coverage;
};
bool activations_make(const struct cg_trace *trace, const struct activation_inputs *inputs,
                      struct activations *activations);
void activations_free(struct activations *activations);

/* Metrics that operations are ranked by. */
enum activation_metric {
    ACTIVATION_HOST_DURATION,
    ACTIVATION_DENSE_OUTPUT,
    ACTIVATION_LOGICAL_ALLOCATED,
    ACTIVATION_LIVE_DURATION,
    ACTIVATION_BYTE_NANOSECONDS,
    ACTIVATION_RETAINED
};
/* Fills rows with the first `limit` of the operations that have the metric: descending, ties by the bytes of
 * the id, then by order (10.1). Returns how many have it, which may be more. rows has room for the smaller of
 * limit and operation_count; nothing is sorted beyond it. */
size_t activations_ranked(const struct cg_trace *trace, const struct activations *activations,
                          enum activation_metric metric, size_t limit, uint32_t *rows);
/* The same for device busy time on one clock of one device. */
size_t activations_ranked_by_device(const struct cg_trace *trace, const struct activations *activations,
                                    const struct timing *timing, cg_str device, cg_str clock_id, size_t limit,
                                    uint32_t *rows);

#endif
