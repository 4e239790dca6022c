#include "analyzer/cmd/rankings.h"

#include <stdlib.h>
#include <string.h>

#define RANKING_NAME(name, metric) #name,
const char *const ranking_name[RANKING_COUNT] = {ACTIVATION_RANKINGS(RANKING_NAME)};
#define RANKING_METRIC(name, metric) metric,
static const enum activation_metric ranking_metric[RANKING_COUNT] = {ACTIVATION_RANKINGS(RANKING_METRIC)};

int rankings_make(const struct evidence *evidence, struct rankings *rankings, struct cg_error *error)
{
    const struct cg_trace *trace = evidence->trace;
    const struct activations *activations = &evidence->activations;
    const struct timing *timing = &evidence->timing;
    *rankings = (struct rankings){0};
    rankings->devices = calloc(timing->clock_count + 1, sizeof *rankings->devices);
    if (!rankings->devices) {
        rankings_free(rankings);
        return cg_out_of_memory(error);
    }
    for (unsigned i = 0; i < RANKING_COUNT; i++)
        rankings->by[i].total =
            activations_ranked(trace, activations, ranking_metric[i], RANKED_ROWS, rankings->by[i].rows);
    for (size_t i = 0; i < timing->clock_count; i++) {
        const struct timing_clock *clock = &timing->clocks[i];
        struct ranked_device *device = &rankings->devices[rankings->device_count];
        device->device = clock->device;
        device->clock_id = clock->clock_id;
        device->ranked.total = activations_ranked_by_device(
            trace, activations, timing, clock->device, clock->clock_id, RANKED_ROWS, device->ranked.rows);
        if (device->ranked.total > 0) rankings->device_count++;
    }
    return 0;
}

void rankings_free(struct rankings *rankings)
{
    free(rankings->devices);
    *rankings = (struct rankings){0};
}

bool activation_busy(const struct evidence *evidence, const struct activation_operation *operation,
                     cg_str device, cg_str clock_id, uint64_t *busy_ns)
{
    for (uint32_t i = 0; i < operation->timings.count; i++) {
        const struct timing_span *span = &evidence->timing.spans[operation->timings.first + i];
        if (span->device != device || span->clock_id != clock_id) continue;
        *busy_ns = span->busy_ns;
        return true;
    }
    return false;
}
