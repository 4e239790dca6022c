#include "analyzer/planes/device_clock.h"

#include <string.h>

const struct cg_device_clock *device_clock_find(const struct cg_trace *trace, cg_str clock_id)
{
    struct cg_text text = trace_text(trace, clock_id);
    for (size_t i = 0; trace->clocks && i < trace->clocks->count; i++) {
        const struct cg_device_clock *clock = &trace->clocks->items[i];
        if (strlen(clock->clock_id) == text.length && memcmp(clock->clock_id, text.bytes, text.length) == 0)
            return clock;
    }
    return NULL;
}

static struct host_time from_anchor(const struct cg_clock_anchor *anchor, uint64_t device_ns)
{
    __int128 distance = (__int128)device_ns - anchor->device_ns;
    uint64_t apart = (uint64_t)(distance < 0 ? -distance : distance);
    return (struct host_time){anchor->host_ns + distance,
                              cg_sat_add(anchor->uncertainty_ns, apart >> CLOCK_DRIFT_SHIFT)};
}

struct host_time device_clock_host(const struct cg_device_clock *clock, uint64_t device_ns)
{
    const struct cg_clock_anchor *first = &clock->anchors[0], *last = &clock->anchors[clock->count - 1];
    if (device_ns <= first->device_ns) return from_anchor(first, device_ns);
    if (device_ns >= last->device_ns) return from_anchor(last, device_ns);
    unsigned __int128 done = device_ns - first->device_ns, host = last->host_ns - first->host_ns;
    uint64_t wider =
        first->uncertainty_ns > last->uncertainty_ns ? first->uncertainty_ns : last->uncertainty_ns;
    return (struct host_time){first->host_ns + (__int128)(done * host / (last->device_ns - first->device_ns)),
                              wider};
}
