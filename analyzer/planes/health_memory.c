/* Health of the storages: do allocations and frees pair (doc/spec/trace.md 10.1, steps 15 and 16)? What is
 * live is the same as in the logical profile, what counts as an alias is not: there another size does not
 * matter. */
#include <stdlib.h>

#include "analyzer/planes/health_steps.h"
#include "analyzer/planes/order.h"
#include "analyzer/planes/pair_map.h"

struct pairing {
    struct health_pass *pass;
    struct pair_map live;    /* (device, storage) to the row of its allocation */
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
    bool made;
    struct pair_entry *entry =
        pair_map_insert(&pairing->live, records->device[row], records->storage_id[row], &made);
    if (!entry) return false;
    if (made) {
        entry->value = row;
        return true;
    }
    uint32_t first = entry->value;
    if (records->bytes[first] != records->bytes[row]) {
        report_storage(pairing, HEALTH_ALLOCATION_SIZE_MISMATCH, row, records->bytes[row]);
        return true;
    }
    made = false;
    if (records->tensor_id[first] != records->tensor_id[row] &&
        !pair_map_insert(&pairing->aliases, first + 1, records->tensor_id[row], &made))
        return false;
    if (!made) report_storage(pairing, HEALTH_DUPLICATE_ALLOCATION, row, 0);
    return true;
}

static void pair_free(struct pairing *pairing, uint32_t row)
{
    const struct cg_memory *records = &pairing->pass->trace->memory;
    struct pair_entry *entry = pair_map_find(&pairing->live, records->device[row], records->storage_id[row]);
    if (!entry) {
        report_storage(pairing, HEALTH_UNPAIRED_FREE, row, 0);
        return;
    }
    if (records->bytes[entry->value] != records->bytes[row])
        report_storage(pairing, HEALTH_ALLOCATION_SIZE_MISMATCH, row, records->bytes[row]);
    pair_map_remove(&pairing->live, entry);
}

bool health_memory(struct health_pass *pass)
{
    const struct cg_memory *records = &pass->trace->memory;
    struct pairing pairing = {.pass = pass};
    uint32_t *order;
    if (!order_by_time(records->timestamp_ns, records->rows, &order)) return false;
    bool done = true;
    for (size_t place = 0; done && place < records->rows; place++) {
        uint32_t row = ordered_row(order, place);
        if (records->action[row] == CG_ACTION_ALLOC)
            done = pair_alloc(&pairing, row);
        else
            pair_free(&pairing, row);
    }
    if (pairing.live.count) report(pass, HEALTH_RETAINED_ALLOCATIONS, .number = pairing.live.count);
    free(order);
    pair_map_free(&pairing.live);
    pair_map_free(&pairing.aliases);
    return done;
}
