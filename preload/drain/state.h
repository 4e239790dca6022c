/* The writer's state; written by the thread that drains: the writer's, or the one that ends the session when
 * there is no writer thread. */
#ifndef CGTRACE_PRELOAD_DRAIN_STATE_H
#define CGTRACE_PRELOAD_DRAIN_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/jsonl.h"
#include "common/jsonl_end.h"
#include "preload/early_sync.h"

/* The buffer holds any one line: a stack of 128 frames with the longest paths and symbols takes 1.2 MB. */
enum { WRITER_BUFFER = 2 << 20, WRITER_LOST_THREADS = 256 };

struct writer {
    struct jsonl_state state;
    struct cap_written published; /* as of part_bytes: what a failed write goes back to */
    char *buffer;
    size_t used;
    uint64_t part_bytes; /* whole, and published */
    struct early_sync sync;
    uint64_t kept_bytes; /* up to where space was taken */
    uint64_t sequence;
    uint64_t meta_room; /* bytes kept for the first line, without its end of line */
    int error;          /* errno of the write that failed; nothing more is written then */
    bool told;          /* the user knows of the first failure */
    uint64_t not_written;
    /* lost by threads that have ended; the last entry holds those for which there was no other */
    struct jsonl_lost lost[WRITER_LOST_THREADS + CAP_RINGS_MAX];
    size_t lost_count;
    uint64_t end_ns;
    struct jsonl_end end;
};
extern struct writer writer;

/* Formats and writes all that is committed now, publishes it, frees its slots, and rings whose threads have
 * ended. *end_tick: read after the last of it was committed. Returns how many records there were. */
uint64_t drain_round(uint64_t *end_tick);
/* Writes what the buffer holds. */
void drain_write(void);
/* Gives back what space was taken behind the end. */
void drain_give_space(void);
/* Writes and publishes it. */
void drain_flush(void);
/* Room for this many bytes at writer.buffer + writer.used, after a flush when needed. */
char *drain_room(size_t bytes);
/* Fixes the clock's rate for good. */
void drain_fix_rate(void);

/* While a session is being opened: a storage that is alive already, into the buffer; false: it cannot be
 * written. Then everything, published: 0, or an errno. */
struct record_storage;
bool drain_preexisting(const struct record_storage *storage);
bool drain_record(const struct cap_record *record, int32_t tid);
int drain_opened(void);

/* Ends what is open, writes the terminal and the first line, puts the trace in place. last_tick: read after
 * the last record was committed. */
struct session_end;
void end_trace(uint64_t last_tick, const struct session_end *end);

#endif
