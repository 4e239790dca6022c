/* Rankings of activation operations, for queries and for the heads of an overview (doc/spec/evidence.md
 * 10.1): both show the same rows, so both ask here. */
#ifndef CGTRACE_ANALYZER_CMD_RANKINGS_H
#define CGTRACE_ANALYZER_CMD_RANKINGS_H

#include "analyzer/evidence/evidence.h"

/* Rankings by one number, in byte order of their names: R(name, metric). */
#define ACTIVATION_RANKINGS(R)                                                                               \
    R(dense_output, ACTIVATION_DENSE_OUTPUT)                                                                 \
    R(host_duration, ACTIVATION_HOST_DURATION)                                                               \
    R(logical_allocated, ACTIVATION_LOGICAL_ALLOCATED)                                                       \
    R(logical_byte_nanoseconds, ACTIVATION_BYTE_NANOSECONDS)                                                 \
    R(logical_retained, ACTIVATION_RETAINED)
#define RANKING_CONSTANT(name, metric) RANKING_##name,
enum ranking { ACTIVATION_RANKINGS(RANKING_CONSTANT) RANKING_COUNT };
#undef RANKING_CONSTANT
extern const char *const ranking_name[RANKING_COUNT];

/* The first rows of one ranking; total counts those left out too. */
enum { RANKED_ROWS = 50 };
struct ranked {
    uint64_t total;
    uint32_t rows[RANKED_ROWS]; /* of activations.operations */
};
struct ranked_device {
    cg_str device, clock_id;
    struct ranked ranked;
};
struct rankings {
    struct ranked by[RANKING_COUNT];
    struct ranked_device *devices; /* byte order of device and clock; those with an operation */
    size_t device_count;
};

/* 0 or CG_EXIT_IO when memory is short. */
int rankings_make(const struct evidence *evidence, struct rankings *rankings, struct cg_error *error);
void rankings_free(struct rankings *rankings);

/* Busy time of an operation on one clock; false when it has none. */
bool activation_busy(const struct evidence *evidence, const struct activation_operation *operation,
                     cg_str device, cg_str clock_id, uint64_t *busy_ns);

#endif
