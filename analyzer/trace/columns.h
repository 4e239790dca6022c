/* The columns of a trace while they are being filled. Made from the event table. */
#ifndef CGTRACE_ANALYZER_TRACE_COLUMNS_H
#define CGTRACE_ANALYZER_TRACE_COLUMNS_H

#include <pthread.h>

#include "analyzer/trace/decode.h"

/* What rows there is room for, and who writes into them. Rows are claimed by one thread at a time, in the
 * order of the file. They are written by any, several batches at once, and the columns grow when nobody
 * does. */
struct columns_room {
    size_t of[CG_KIND_COUNT]; /* rows of each kind */
    pthread_mutex_t lock;     /* for storing */
    pthread_cond_t stored;    /* storing is 0 */
    unsigned storing;         /* batches of which rows are claimed and not yet written */
};
void columns_room_init(struct columns_room *room);
void columns_room_destroy(struct columns_room *room);

enum columns_answer { COLUMNS_DONE, COLUMNS_NO_MEMORY, COLUMNS_TOO_MANY };

/* Claims the row behind the last one of the kind for a record of a resolved batch, and settles what depends
 * on the order of records: a stack becomes its number. Kinds with rows only: not meta, span_end and terminal.
 * The columns of extra fields exist when the decoder keeps them. */
enum columns_answer columns_claim(struct cg_trace *trace, struct columns_room *room, enum cg_kind kind,
                                  const struct decoder *decoder, struct record *record);
/* The rows claimed since the last call are about to be written, until columns_end_storing(). Before another
 * thread claims. */
void columns_begin_storing(struct columns_room *room);
/* Writes a record into the row that was claimed for it. */
void columns_store(struct cg_trace *trace, enum cg_kind kind, const struct decoder *decoder,
                   const struct record *record, size_t row);
void columns_end_storing(struct columns_room *room);

/* meta and everything in it; false when memory is short. trace_free() frees it, also half made. */
bool columns_set_run(struct cg_trace *trace, const struct decoder *decoder, const struct record *record);

/* Puts the spans into byte order of their ids and fills parent and span_of_string; false when memory is
 * short. */
bool columns_sort_spans(struct cg_trace *trace);

/* Gives back what was reserved for growth. */
void columns_trim(struct cg_trace *trace, bool extras);
void columns_free(struct cg_trace *trace);

#endif
