/* The session: what is captured into one trace. One for each process that records something, from its first
 * recordable event to its end; or several, one after the other, each of a region of the program. */
#ifndef CGTRACE_PRELOAD_RECORD_SESSION_H
#define CGTRACE_PRELOAD_RECORD_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/capture.h"
#include "common/settings.h"
#include "preload/file.h"
#include "preload/record/capture_session.h"
#include "preload/record/ring.h"

/* What of a ring is in this process' own memory. */
struct ring_view {
    struct cap_record *slots;
    uint32_t slot_count;
    uint32_t open_depth;
    struct record_open_span *open; /* the writer's: spans begun and written, not ended; open_depth of them */
    _Atomic bool populated;        /* all of its pages are there */
    uint64_t drained;              /* the writer's: slots that it has formatted */
};

struct session_device {
    bool known;
    uint64_t bytes;
    char name[120];
};
enum { SESSION_DEVICES = 64 };

/* What the first line says of the run: the settings', or what a session was asked for with. */
struct session_run {
    char entrypoint[256];
    unsigned phase; /* enum cg_phase_setting */
    uint64_t capture_step, warmup_steps;
    struct capture_text correlation;              /* empty: the format's default */
    struct capture_text identity, contract, tags; /* JSON objects; empty: none, of tags: the setting's */
    struct capture_text more_tags;                /* of cgtrace_tag(), behind those */
    bool own_identity, own_contract; /* the request's: what is declared later does not replace them */
    bool synchronised;               /* with the device, at both ends of the region */
    void *copies;                    /* where the texts are, when they are the session's own */
    size_t copies_bytes;
};

/* The traces of this process that are in place. */
struct session_sum {
    uint64_t traces, records, lost, overhead_ns, time_ns;
    char first[1024];
};

struct session {
    struct settings settings;
    bool settings_good;
    _Atomic bool comes_and_goes; /* several, one after the other, each of a region; not the whole process */
    char settings_error[512];
    bool quiet;
    pid_t pid;
    int32_t rank;
    unsigned families; /* enum cg_record_family */

    struct capture_text identity, contract; /* of the settings' files */
    uint64_t number;                        /* of the session in the process, from 1 */
    uint64_t generation;
    struct session_sum placed;
    const char *output;    /* template of its path, where it was asked for with one */
    _Atomic bool measured; /* the program has begun its own measured span */
    struct session_run run;
    struct cap_region region;
    _Atomic uint64_t opened; /* tick of time 0 */

    struct file capture, part;
    size_t map_bytes;          /* kept for header to strings: the same place for every session */
    struct cap_header *header; /* the capture file up to the slots */
    struct cap_publication *publication;
    struct cap_ring *rings;
    const char *_Atomic strings;       /* strings.c: the process' own, not those of the file */
    char *stacks;                      /* the file's */
    uint32_t api_first;                /* number of the name of entry point 0 */
    uint64_t slots_offset;             /* of the first slot in the file */
    uint64_t slots_bytes, slots_limit; /* given to rings, and at most */
    struct ring_view views[CAP_RINGS_MAX];

    _Atomic uint32_t span_block; /* next block of span numbers; see span_number() */
    _Atomic uint64_t storage;    /* last number of a storage that a thread took: of the process */
    _Atomic bool writer_failed;
    _Atomic bool
        rate_known; /* the clock's rate is for good: a time in nanoseconds that is told now stays right */
    _Atomic uint64_t lost_type[CAP_TYPE_COUNT]; /* dropped for want of room or not written, by type */
    uint64_t fixed_ns;                          /* time spent on opening */
    uint64_t stack_ticks;                       /* peers_cost_ticks() at its beginning */
    uint32_t record_ns_1024;                    /* cost of one record, 1024ths of a nanosecond */

    char trace_path[1024];
    char host[65], run_id[64], timestamp[32];
    int driver;
    struct session_device devices[SESSION_DEVICES];
};
extern HIDDEN struct session session;

/* Of all strings of a process, and of the stacks in one capture file. */
enum { STRINGS_BYTES = 16 << 20, STACKS_BYTES = 16 << 20 };
_Static_assert(STRINGS_BYTES <= CAP_AREA_MAX && STACKS_BYTES <= CAP_AREA_MAX, "numbers fit");

/* span.c: the next number of a span. */
uint32_t span_number(struct record_thread *thread);
/* The thread has just joined the session: begins its open ranges there, cut at the session's start. opener:
 * they enclose the region instead. */
void span_join(struct record_thread *thread, bool opener);
/* The region ends on this thread at this tick: what is open inside of it ends in the trace. */
void span_cut(struct record_thread *thread, uint64_t tick);
/* In a forked child: what the thread has open is its parent's. */
void span_forget(struct record_thread *thread);
/* The thread's last call was left for good, perhaps between a span's record and the stack: that is put right.
 */
void span_left(struct record_thread *thread);
/* The step that a name says, in CAP_FLAG_STEP form. */
uint8_t span_step(uint32_t name);
/* The record of a span, up to its end: what a range says of itself. */
struct cap_record span_record(enum cap_type type, uint64_t begin, uint32_t span, uint32_t parent,
                              enum cap_span_source source, const struct record_range *range);

/* Reads the settings, once; the library's constructor, for those that may come before it. */
void session_load(void);
/* The first thing that the process meets: opens the session of the whole process if this opens one, or makes
 * ready for those that come and go. The state after it. */
uint32_t session_first(bool opens);

/* rate.c: fixes the clock's rate for good; safe from several threads. */
void session_fix_rate(void);
/* The same once it can be measured well: up to CLOCK_RATE_NS after the opening it waits. */
void session_wait_for_rate(void);

struct capture_request;
/* Opens a session, from WAITING (or CLOSED, when it is the whole process'). The caller has made the state
 * OPENING, and is the only one. thread: the opener, who joins it; NULL: nobody yet. NULL, and the session is
 * open; or why not, and what is made so far is gone again. */
const char *session_open(const struct capture_request *request, const struct cap_region *region,
                         struct record_thread *thread);

/* From CLOSED on: sessions come and go. */
void session_come_and_go(void);

struct session_end {
    uint64_t tick;      /* end of the region; 0: when the last record was made */
    uint64_t last;      /* read after the last record was made, where that is known; 0: it is not */
    bool clipped;       /* the region was not ended by the program */
    const char *how;    /* the word for terminal.end */
    const char *reason; /* NULL: complete; else failed */
    unsigned limit_ms;  /* how long to wait for the writer at most; 0: as long as it makes progress */
};
/* Closes the session, whose state the caller has made CLOSING: drains, ends the trace, puts it in place, and
 * makes ready for the next one, with state WAITING, where there may be one. False: the trace is not complete.
 */
bool session_close(const struct session_end *end);

/* capture_run.c: what is the process'; then what is the session's. */
void run_describe_process(void);
/* 0, or an errno. */
int run_describe(const struct capture_request *request);
void run_describe_time(int64_t realtime_ns);
/* What is declared now is the open session's too; holds the declarations until declared_let_go(). */
void run_redeclare(void);
void run_forget(void);
/* Room that session.run and what belongs to it needs in the first line at most. */
size_t run_bound(void);

/* strings.c: makes the strings' place, once for the process; false: no memory. */
bool strings_ready(void);
/* From now on each string is in the capture file too; those that there are at once. False: no room. */
bool strings_attach(void);
void strings_detach(void);

/* range.c: forgets all open ranges; for a forked child. */
void ranges_reset(void);
/* Before ranges_next(). */
void ranges_rewind(void);
/* The open ranges one by one, as spans that end at this tick. False: no more. */
bool ranges_next(struct cap_record *record, uint64_t end_tick, int32_t *tid);
/* The same of the open ranges of threads that have not joined this session. */
void peers_rewind(void);
bool peers_next(struct cap_record *record, uint64_t end_tick, int32_t *tid);
/* What the stacks of all threads have cost since the process began, in ticks. */
uint64_t peers_cost_ticks(enum record_cost cost);

/* names.c. Names may be added from now on; part of opening. */
void names_reset(void);
/* No more are added; then names_write() writes them as a JSON array at out, in names_bound() of room. */
void names_freeze(void);
size_t names_bound(void);
char *names_write(char *out);

/* record.c: what passed unseen before the session opened, into its header. */
void record_early_gaps(void);

#endif
