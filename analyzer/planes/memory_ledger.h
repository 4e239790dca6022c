/* One ledger of a device's memory: what storages hold, what pools have reserved, what the device says is in
 * use, and what remains that neither explains; at each sample of the device. All on the host's clock. */
#ifndef CGTRACE_ANALYZER_PLANES_MEMORY_LEDGER_H
#define CGTRACE_ANALYZER_PLANES_MEMORY_LEDGER_H

#include "analyzer/planes/planes.h"

struct ledger_row {
    uint32_t sample;             /* row of trace->device_memory */
    uint32_t device;             /* of memory_ledger.devices */
    uint64_t logical_bytes;      /* storages alive on the device */
    uint64_t logical_pool_bytes; /* those of them in pools */
    /* Those of a framework's allocator on a device where the trace has storages of the driver too: they lie
     * within these and explain nothing more. */
    uint64_t framework_bytes;
    /* used_bytes is known: what storages and pools explain, and what is left of it. More can be explained
     * than is used where storages do not lie on the device (managed memory): then over_bytes says by how
     * much. */
    bool used_known;
    uint64_t attributed_bytes, unattributed_bytes, over_bytes;
};
struct ledger_device {
    cg_str device;
    uint64_t samples, with_used, with_reserved;
    uint32_t most_used, most_unattributed; /* rows of the ledger, the earliest of equal ones; CG_NONE: none */
};
struct memory_ledger {
    struct ledger_row *rows; /* by time, device, file order */
    size_t count;
    struct ledger_device *devices; /* byte order */
    size_t device_count;
};

/* device: only samples of it; CG_ABSENT: all. Rows of trace->device_memory with a byte set in left_out (NULL:
 * none) are left out. The trace must have been loaded with its extra fields, which
 * tell pools apart. n log n. False when memory is short. */
bool memory_ledger_make(const struct cg_trace *trace, const struct logical_memory *memory, cg_str device,
                        const uint8_t *left_out, struct memory_ledger *ledger);
void memory_ledger_free(struct memory_ledger *ledger);

#endif
