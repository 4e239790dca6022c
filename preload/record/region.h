/* Regions: the occurrences of one range that CGTRACE_RANGE and CGTRACE_STEP select, each a session of its own
 * (doc: README, "Regions"). span.c and range.c say when a range begins and ends. */
#ifndef CGTRACE_PRELOAD_RECORD_REGION_H
#define CGTRACE_PRELOAD_RECORD_REGION_H

#include <stdbool.h>
#include <stdint.h>

#include "common/capture.h"
#include "preload/record/record.h"

/* A range that is looked for: its name alone, or in a domain. */
enum { REGION_NAMES = 16 };
struct region_name {
    uint32_t name, domain; /* string numbers */
};
struct region_choice {
    uint32_t count;                         /* 0: no range is looked for */
    struct region_name names[REGION_NAMES]; /* the first is that of any domain */
};
extern HIDDEN struct region_choice region_choice;

/* From the settings; once for the process. */
void region_choose(void);

bool region_is_chosen(uint32_t name, uint32_t domain);
static inline bool region_is(uint32_t name, uint32_t domain)
{
    return unlikely(region_choice.count != 0) && region_is_chosen(name, domain);
}

/* One occurrence of it begins: counted; a selected one opens a session when none is open. range: the number
 * of a range that belongs to no thread; 0: it is the innermost of the calling thread's stack. */
void region_met(struct record_call *call, enum cap_span_source source, const struct record_range *what,
                uint64_t range);

/* The range that is the region is about to end on its thread, or by another one, when it belongs to none.
 * Closes the session. */
void region_ends(struct record_call *call);
/* Whether this is the number of the range that is the region. */
bool region_is_range(uint64_t range);

/* The thread ends, and the region with it when it is its. */
void region_thread_ends(struct record_thread *thread);

/* What is to be said at the end of the process of occurrences that did not come: false, nothing. *count: how
 * often the range began. */
bool region_missed(uint64_t *count, uint64_t *selected);

#endif
