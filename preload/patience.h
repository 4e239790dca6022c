/* How long to wait for something that is looked at over and over. A clock that jumps, or a process that stood
 * still meanwhile (stopped, its machine suspended), takes no more of it than one step. */
#ifndef CGTRACE_PRELOAD_PATIENCE_H
#define CGTRACE_PRELOAD_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

enum { PATIENCE_STEP_NS = 1000 * 1000 * 1000 }; /* far more than from one look to the next */

struct patience {
    uint64_t rest_ns, looked_ns;
};

static inline uint64_t monotonic_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline struct patience patience_ms(uint64_t ms)
{
    return (struct patience){ms * 1000000u, monotonic_ns()};
}

/* Called at each look. False: it is over. */
static inline bool patience_lasts(struct patience *patience)
{
    uint64_t now = monotonic_ns(), step = now > patience->looked_ns ? now - patience->looked_ns : 0;

    if (step > PATIENCE_STEP_NS) step = PATIENCE_STEP_NS;
    patience->looked_ns = now;
    patience->rest_ns -= step < patience->rest_ns ? step : patience->rest_ns;
    return patience->rest_ns > 0;
}

#endif
