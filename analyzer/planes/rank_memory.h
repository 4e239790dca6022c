/* Memory of one rank, by device: a few numbers that outlive its trace. */
#ifndef CGTRACE_ANALYZER_PLANES_RANK_MEMORY_H
#define CGTRACE_ANALYZER_PLANES_RANK_MEMORY_H

#include "analyzer/planes/planes.h"
#include "analyzer/trace/strings.h"

struct rank_device {
    cg_str device; /* in the table that all ranks share */
    bool logical;  /* there are memory records of it */
    struct memory_device storages;
    uint64_t at_end_bytes, at_end_storages; /* alive when the capture ended */
    bool sampled;                           /* there are samples of it */
    struct physical_device samples;
};
struct rank_memory {
    struct rank_device *devices; /* byte order of the devices */
    size_t count;
};

/* The device's name in names is interned there; those in storages and samples mean nothing here. False when
 * memory is short. */
bool rank_memory_make(const struct cg_trace *trace, const struct logical_memory *logical,
                      const struct physical_memory *physical, struct cg_strings *names,
                      struct rank_memory *memory);
void rank_memory_free(struct rank_memory *memory);

#endif
