/* From decoded records to rows: what they refer to is interned, the rules of the stream are checked, in the
 * order of the file. */
#ifndef CGTRACE_ANALYZER_TRACE_TAKE_H
#define CGTRACE_ANALYZER_TRACE_TAKE_H

#include "analyzer/trace/batch.h"
#include "analyzer/trace/columns.h"
#include "analyzer/trace/sequence.h"

/* Sizes of the dtypes seen last, by the low bits of their number. */
enum { DTYPE_CACHE = 64 };

struct taker {
    const char *name; /* of the trace, for messages */
    struct cg_error *error;
    struct cg_trace *trace;
    struct interned interned;
    struct sequence sequence;
    struct columns_room room;
    uint64_t lines_before; /* the block in hand */
    uint64_t line;         /* from 1; of the record in hand */
    struct {
        cg_str dtype;
        unsigned bytes;
    } dtype_cache[DTYPE_CACHE];
};

/* The trace's strings are there. False when memory is short; taker_free() frees what was made. */
bool taker_init(struct taker *taker, const char *name, struct cg_trace *trace, struct cg_error *error);
void taker_free(struct taker *taker);

int taker_no_memory(struct taker *taker);
/* Takes the records of a batch, and then its defect: whatever depends on their order. more: of the same
 * block. 0, or the exit status with the error filled. After 0 take_store() must follow, at any time and from
 * any thread. */
int take_batch(struct taker *taker, struct batch *batch, bool more);
/* Writes their rows. */
void take_store(struct taker *taker, struct batch *batch);
/* What stands at the end of the stream: the rules about all of it, the order of the spans. */
int take_end(struct taker *taker, bool extras);

#endif
