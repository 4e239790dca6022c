/* Records of a capture file as lines of candle-graph/trace/10 (doc/spec/trace.md 3, 14). Used by the writer
 * thread in the profiled process and by `cg-analyze recover`: the same record gives the same line.
 *
 * No allocation, no stdio, no locale: the caller owns all memory. */
#ifndef CGTRACE_COMMON_JSONL_H
#define CGTRACE_COMMON_JSONL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/capture.h"
#include "common/symbols.h"

#define JSONL_NAME_MAX 256 /* longer names are written whole once, then shortened */

/* An entry point's name and how much of it is the op's name (without version and stream suffix). */
struct jsonl_api {
    const char *name;
    uint16_t length, base_length;
};

struct jsonl_state {
    struct cap_clock clock;
    const char *strings;    /* the capture file's string area */
    uint64_t strings_bytes; /* how much of it may be read */
    const struct jsonl_api *apis;
    uint32_t api_count;
    uint64_t *whole;            /* one bit for each string number: its long name was written whole */
    uint64_t whole_limit;       /* string numbers that `whole` has bits for */
    const char *stacks;         /* the capture file's stack area; stacks_bytes 0: there is none */
    uint64_t stacks_bytes;      /* how much of it may be read */
    uint64_t *stack_whole;      /* one bit for each number: the stack was written whole */
    uint64_t stack_limit;       /* numbers that it has bits for */
    struct symbols *symbols;    /* NULL: frames get no symbol */
    struct cap_written written; /* kept by jsonl_record() */
};

/* Room that the line or lines of this record need at most. */
size_t jsonl_bound(const struct jsonl_state *state, const struct cap_record *record);

/* The line or the two lines (op and memory) of a record at out, where there is jsonl_bound() of room. ring
 * and slot: where it stands. Returns the cursor behind them; out itself for a record that has no line. */
char *jsonl_record(struct jsonl_state *state, char *out, const struct cap_record *record, uint32_t ring,
                   uint64_t slot, int32_t tid);

/* The span_start of the session's root, and that of its measured region (nothing when the region is a span of
 * the program's own). Room: 6 * length + 256, and jsonl_region_bound(). */
char *jsonl_root(char *out, const char *name, size_t length);
size_t jsonl_region_bound(const struct jsonl_state *state, const struct cap_region *region);
char *jsonl_region(struct jsonl_state *state, char *out, const struct cap_region *region);

/* The span_end of a span that the program did not end, or of the session's own, in 256 bytes of room. */
enum jsonl_clipped { JSONL_CLIPPED_NOT, JSONL_CLIPPED_START, JSONL_CLIPPED_END, JSONL_CLIPPED_BOTH };
char *jsonl_span_end(char *out, uint32_t span, uint64_t duration_ns, enum jsonl_clipped clipped);

/* The name of a clock of device intervals: cuda:0/ctx:1. Room: 40 bytes. */
char *jsonl_clock_id(char *out, uint8_t device, uint32_t number);

/* Where the clocks of device intervals stand to the host's, as the object that meta.clock.devices is: for
 * each clock its anchors. At most jsonl_clocks_bound() bytes. */
size_t jsonl_clocks_bound(void);
char *jsonl_clocks(char *out, const struct cap_header *header);

/* Fills apis[0..count) from the string area; a name that is no identifier becomes "unknown". Returns false
 * when the names do not lie in it. */
bool jsonl_apis(struct jsonl_api *apis, uint32_t count, uint32_t first, const char *strings, uint64_t bytes);

/* The string of this number: its bytes, or the empty string when there is none. *head is its head. */
const char *jsonl_string_at(const struct jsonl_state *state, uint32_t number, uint32_t *head);

#endif
