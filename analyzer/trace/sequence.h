/* The rules about the order of records and about the whole stream (doc/spec/trace.md 6.2 and 6.3). */
#ifndef CGTRACE_ANALYZER_TRACE_SEQUENCE_H
#define CGTRACE_ANALYZER_TRACE_SEQUENCE_H

#include "analyzer/trace/decode.h"

struct sequence {
    struct cg_trace *trace;
    uint64_t records;
    bool terminal, trace_9;
    size_t span_capacity; /* of trace->span_of_string, which maps ids to rows in file order while reading */
    char fault[256];      /* what is wrong, when a function has returned false */
    bool no_memory;
};

/* Nothing may follow the terminal record, be it a record or not. */
bool sequence_may_follow(struct sequence *sequence);

/* Checks a record of a resolved batch against all that came before it, before it is written into the columns.
 * An end is noted in the columns of its span here. */
bool sequence_record(struct sequence *sequence, enum cg_kind kind, const struct decoder *decoder,
                     const struct record *record);

/* At the end of the stream: fills trace->latest_host_ns. */
bool sequence_end(struct sequence *sequence);

#endif
