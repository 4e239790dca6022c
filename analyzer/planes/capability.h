/* Capability levels: what an analysis may rely on, and how declared coverage becomes one
 * (doc/spec/planes.md 1). */
#ifndef CGTRACE_ANALYZER_PLANES_CAPABILITY_H
#define CGTRACE_ANALYZER_PLANES_CAPABILITY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/event_table.h"

enum capability_level {
    CAPABILITY_UNAVAILABLE,
    CAPABILITY_PARTIAL,
    CAPABILITY_COMPLETE,
    CAPABILITY_INVALID,
    CAPABILITY_LEVEL_COUNT
};

/* Wire names by level. */
static const char *const capability_level_name[CAPABILITY_LEVEL_COUNT]
    __attribute__((unused)) = {"unavailable", "partial", "complete", "invalid"};

static inline bool capability_available(enum capability_level level)
{
    return level == CAPABILITY_PARTIAL || level == CAPABILITY_COMPLETE;
}

/* The declared level raised by observations: none becomes partial, nothing is ever lowered (1.1). */
static inline enum cg_value_COVERAGE coverage_raise(enum cg_value_COVERAGE declared, uint64_t observations)
{
    return observations > 0 && declared == CG_COVERAGE_NONE ? CG_COVERAGE_PARTIAL : declared;
}

/* The level of observed coverage (1.3). */
static inline enum capability_level capability_observed(enum cg_value_COVERAGE declared,
                                                        uint64_t observations)
{
    if (declared == CG_COVERAGE_COMPLETE) return observations ? CAPABILITY_COMPLETE : CAPABILITY_INVALID;
    return observations ? CAPABILITY_PARTIAL : CAPABILITY_UNAVAILABLE;
}

/* The weaker of two: invalid, else unavailable, else partial, else complete (1.2). */
static inline enum capability_level capability_weakest(enum capability_level a, enum capability_level b)
{
    static const enum capability_level by_weakness[] = {CAPABILITY_INVALID, CAPABILITY_UNAVAILABLE,
                                                        CAPABILITY_PARTIAL};
    for (unsigned i = 0; i < 3; i++)
        if (a == by_weakness[i] || b == by_weakness[i]) return by_weakness[i];
    return CAPABILITY_COMPLETE;
}

#endif
