/* What calls.c and misuse.c share. */
#ifndef CGTRACE_TESTS_API_CALLS_H
#define CGTRACE_TESTS_API_CALLS_H

#include <stdio.h>

#include "preload/cgtrace.h"

static inline void say(const char *what, long long result)
{
    printf("%s %lld\n", what, result);
}
#define SAY(call) say(#call, (long long)(call))
/* Of a span only whether it was begun. */
static inline cgtrace_span began(const char *what, cgtrace_span span)
{
    say(what, span > 0 ? 1 : (long long)span);
    return span;
}
#define BEGAN(call) began(#call, (call))

extern const uint64_t two_by_three[2];
extern const struct cgtrace_identity_info identity;
extern const struct cgtrace_gradient_entry entries[2];
extern const struct cgtrace_gradient_family families[2];

void misuse(void);

#endif
