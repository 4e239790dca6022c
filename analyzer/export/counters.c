#include "analyzer/export/counters.h"

#include <stdlib.h>

#include "analyzer/planes/array.h"
#include "analyzer/planes/planes.h"

struct walk {
    struct logical_memory memory;
    uint64_t *shown; /* by device of memory: its last value */
    live_bytes_visit *visit;
    void *context;
};

/* A device without a live storage is not in the point: its counter falls to 0. */
static void on_point(void *context, const struct memory_point *point)
{
    struct walk *walk = context;
    size_t next = 0;
    for (size_t d = 0; d < walk->memory.device_count; d++) {
        cg_str device = walk->memory.devices[d].device;
        unsigned __int128 bytes = 0;
        if (next < point->device_count && point->by_device[next].key == device)
            bytes = point->by_device[next++].bytes;
        uint64_t value = bytes > UINT64_MAX ? UINT64_MAX : (uint64_t)bytes;
        if (value == walk->shown[d]) continue;
        walk->shown[d] = value;
        walk->visit(walk->context, device, point->timestamp_ns, value);
    }
}

bool live_bytes_each(const struct cg_trace *trace, live_bytes_visit *visit, void *context)
{
    struct walk walk = {.visit = visit, .context = context};
    if (!logical_memory_make(trace, &walk.memory)) return false;
    walk.shown = array_zeroed(walk.memory.device_count, sizeof *walk.shown);
    bool good = walk.shown && logical_memory_points(trace, &walk.memory, on_point, &walk);
    free(walk.shown);
    logical_memory_free(&walk.memory);
    return good;
}
