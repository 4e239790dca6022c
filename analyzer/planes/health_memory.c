/* Health of the storages: do allocations and frees pair (doc/spec/trace.md 10.1, steps 15 and 16)? What is
 * live is the same as in the logical profile, what counts as an alias is not: there another size does not
 * matter. */
#include <stdlib.h>

#include "analyzer/planes/health_steps.h"
#include "analyzer/planes/live_map.h"
#include "analyzer/planes/order.h"
#include "analyzer/planes/pair_map.h"

struct pairing {
    struct health_pass *pass;
    struct live_map live;    /* to the row of its allocation */
    struct pair_map aliases; /* (row of the allocation + 1, tensor id): ids beyond the allocation's own */
};

static void report_storage(struct pairing *pairing, enum health_code code, uint32_t row, uint64_t bytes)
{
    const struct cg_memory *records = &pairing->pass->trace->memory;
    report(pairing->pass, (uint8_t)code, .subject = records->storage_id[row], .object = records->device[row],
           .number = bytes);
}

static bool pair_alloc(struct pairing *pairing, uint32_t row)
{
    const struct cg_memory *records = &pairing->pass->trace->memory;
    bool made = false;
    uint32_t first;
    if (!live_map_enter(&pairing->live, records->device[row], records->storage_id[row], row, &first))
        return false;
    if (first == CG_NONE) return true;
    if (records->bytes[first] != records->bytes[row]) {
        report_storage(pairing, HEALTH_ALLOCATION_SIZE_MISMATCH, row, records->bytes[row]);
        return true;
    }
    if (records->tensor_id[first] != records->tensor_id[row] &&
        !pair_map_insert(&pairing->aliases, first + 1, records->tensor_id[row], &made))
        return false;
    if (!made) report_storage(pairing, HEALTH_DUPLICATE_ALLOCATION, row, 0);
    return true;
}

static void pair_free(struct pairing *pairing, uint32_t row)
{
    const struct cg_memory *records = &pairing->pass->trace->memory;
    uint32_t first = live_map_take(&pairing->live, records->device[row], records->storage_id[row]);
    if (first == CG_NONE)
        report_storage(pairing, HEALTH_UNPAIRED_FREE, row, 0);
    else if (records->bytes[first] != records->bytes[row])
        report_storage(pairing, HEALTH_ALLOCATION_SIZE_MISMATCH, row, records->bytes[row]);
}

/* Is every record the beginning or the end of a lifetime, and has the end its size? Then nothing is to be
 * said of any. */
static bool all_paired(const struct cg_trace *trace, const struct logical_memory *memory)
{
    return memory->frees_alike &&
           memory->lifetime_count + memory->matched_storage_free_count == trace->memory.rows;
}

static bool pair_records(struct health_pass *pass, size_t *retained)
{
    const struct cg_memory *records = &pass->trace->memory;
    struct pairing pairing = {.pass = pass};
    uint32_t *order;
    if (!order_by_time(records->timestamp_ns, records->rows, &order)) return false;
    bool done = live_map_make(&pairing.live, pass->trace);
    for (size_t place = 0; done && place < records->rows; place++) {
        uint32_t row = ordered_row(order, place);
        if (records->action[row] == CG_ACTION_ALLOC)
            done = pair_alloc(&pairing, row);
        else
            pair_free(&pairing, row);
    }
    *retained = pairing.live.count;
    free(order);
    live_map_free(&pairing.live);
    pair_map_free(&pairing.aliases);
    return done;
}

bool health_memory(struct health_pass *pass)
{
    const struct logical_memory *memory = pass->memory;
    size_t retained;
    if (memory && all_paired(pass->trace, memory))
        retained = memory->lifetime_count - memory->matched_storage_free_count;
    else if (!pair_records(pass, &retained))
        return false;
    if (retained) report(pass, HEALTH_RETAINED_ALLOCATIONS, .number = retained);
    return true;
}
