/* The session's clock: which counter, and its rate. */
#ifndef CGTRACE_PRELOAD_RECORD_CLOCK_H
#define CGTRACE_PRELOAD_RECORD_CLOCK_H

#include <stdbool.h>

#include "common/capture.h"

/* Chooses the counter; once for the process, before the first record_tick(). */
void clock_choose(void);
/* The three clocks, read as close together as they can be. */
void clock_anchor(struct cap_anchor *anchor);
/* The rate between two anchors; false: they are too close, clock is left alone. */
bool clock_rate(struct cap_clock *clock, const struct cap_anchor *from, const struct cap_anchor *to);
enum { CLOCK_RATE_NS = 20 * 1000 * 1000 }; /* over how long a rate is measured at least to be the session's */

/* A clock that starts now. True: its rate is for good, measured since clock_choose(); else it is roughly
 * known. */
bool clock_start(struct cap_clock *clock, struct cap_anchor *first);

#endif
