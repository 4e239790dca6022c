/* The last line of a trace (doc/spec/trace.md 3.11) with what is ours: losses, coverage, cost. */
#ifndef CGTRACE_COMMON_JSONL_END_H
#define CGTRACE_COMMON_JSONL_END_H

#include <stddef.h>
#include <stdint.h>

#include "common/capture.h"

struct jsonl_lost {
    int32_t tid;
    uint64_t lost;
};

struct jsonl_end {
    const char *reason; /* NULL: complete; else failed */
    uint64_t ns;
    const char *end;           /* how the program ended, as far as it is known */
    const uint64_t *recorded;  /* by type, of enum cap_type */
    const uint64_t *lost_type; /* likewise; NULL: not known by type */
    const uint64_t *gaps;      /* by enum cap_gap */
    const uint64_t *untimed;   /* by enum cap_untimed */
    uint64_t unread;           /* work on devices whose events were not read, and no reason counted */
    uint64_t timing_ns;        /* host time that timing has cost */
    const struct jsonl_lost *threads;
    size_t thread_count;
    uint64_t lost;         /* of all threads */
    uint64_t without_ring; /* of these: records of threads that had no ring */
    uint64_t not_written;  /* of these: records that could not be written */
    uint64_t overhead_ns;  /* UINT64_MAX: not known */
};

/* Room that the line needs at most. */
size_t jsonl_end_bound(const struct jsonl_end *end);
char *jsonl_end_write(char *out, const struct jsonl_end *end);

#endif
