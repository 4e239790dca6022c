/* The session: one for each process that records something, from its first recordable event to its end. */
#ifndef CGTRACE_PRELOAD_RECORD_SESSION_H
#define CGTRACE_PRELOAD_RECORD_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/capture.h"
#include "preload/file.h"
#include "preload/record/ring.h"
#include "common/settings.h"

enum session_state {
    SESSION_CLOSED, /* nothing recorded yet (also: a forked child) */
    SESSION_OPEN,
    SESSION_CLOSING,
    SESSION_ENDED,
    SESSION_DISABLED, /* by a setting, or because it could not be opened */
};

/* What of a ring is in this process' own memory. */
struct ring_view {
    struct cap_record *slots;
    struct record_open_span *stack; /* of the owner */
    struct record_open_span *open;  /* the writer's: spans begun and written, not ended; depth of them */
    uint32_t open_depth;
    _Atomic bool populated; /* all of its pages are there */
    uint64_t drained;       /* the writer's: slots that it has formatted */
};

struct session_device {
    bool known;
    uint64_t bytes;
    char name[120];
};
enum { SESSION_DEVICES = 64 };

struct session {
    struct settings settings;
    bool settings_good;
    char settings_error[512];
    bool quiet;
    pid_t pid;
    int32_t rank;
    unsigned families; /* enum cg_record_family */

    struct file capture, part;
    size_t map_bytes;
    struct cap_header *header; /* the capture file up to the slots */
    struct cap_publication *publication;
    struct cap_ring *rings;
    char *strings;
    uint64_t slots_offset;             /* of the first slot in the file */
    uint64_t slots_bytes, slots_limit; /* given to rings, and at most */
    struct ring_view views[CAP_RINGS_MAX];

    _Atomic uint32_t span_block; /* next block of span numbers; see span_number() */
    _Atomic uint64_t storage;    /* last number of a storage */
    _Atomic bool writer_failed;
    _Atomic bool
        rate_known; /* the clock's rate is for good: a time in nanoseconds that is told now stays right */
    _Atomic uint64_t lost_type[CAP_TYPE_COUNT]; /* dropped for want of room, by type */
    uint64_t fixed_ns;                          /* time spent on opening */
    uint32_t record_ns_1024;                    /* cost of one record, 1024ths of a nanosecond */

    char trace_path[1024];
    char host[65], entrypoint[256], run_id[64], timestamp[32];
    int driver;
    struct session_device devices[SESSION_DEVICES];
};
extern struct session session;

/* span.c: the next number of a span. */
uint32_t span_number(struct record_thread *thread);
/* The step that a name says, in CAP_FLAG_STEP form. */
uint16_t span_step(uint32_t name);
/* Fills a slot, but for its own type: what a range says of itself. */
void span_fill(struct cap_record *slot, uint64_t begin, uint32_t span, uint32_t parent,
               enum cap_span_source source, const struct record_range *range);

/* Reads the settings, once; the library's constructor, for those that may come before it. */
void session_load(void);
/* Opens the session when none is open; safe from several threads. False: none, and none can be had. */
bool session_open(void);

/* rate.c: fixes the clock's rate for good; safe from several threads. */
void session_fix_rate(void);
/* The same once it can be measured well: up to CLOCK_RATE_NS after the opening it waits. */
void session_wait_for_rate(void);

/* session.header->gaps and its kind, without a session too. */
uint64_t session_lost(uint32_t ring);

/* strings.c: empties the table of known strings; part of opening. */
bool strings_reset(void);
/* Takes over a parent's strings, each under its number: what hooks remember of them stays right in a forked
 * child. False: no room. */
bool strings_inherit(const char *strings, uint64_t bytes);
/* Appends without looking whether it is known; 0: no room. */
uint32_t strings_append(const char *bytes, size_t length, unsigned step);

/* range.c: forgets all open ranges; part of opening. */
void ranges_reset(void);
/* The open ranges one by one, taken out, as spans that end at this tick. False: no more. */
bool ranges_take(struct cap_record *record, uint64_t end_tick, int32_t *tid);

/* names.c. Names may be added from now on; part of opening. */
void names_reset(void);
/* No more are added; then names_write() writes them as a JSON array at out, in names_bound() of room. */
void names_freeze(void);
size_t names_bound(void);
char *names_write(char *out);

/* record.c: what passed unseen before the session opened, into its header. */
void record_early_gaps(void);

#endif
