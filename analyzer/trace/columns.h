/* The columns of a trace while they are being filled. Made from the event table. */
#ifndef CGTRACE_ANALYZER_TRACE_COLUMNS_H
#define CGTRACE_ANALYZER_TRACE_COLUMNS_H

#include "analyzer/trace/decode.h"

/* Rows that the columns of each kind have room for. */
struct columns_capacity {
    size_t of[CG_KIND_COUNT];
};

enum columns_answer { COLUMNS_DONE, COLUMNS_NO_MEMORY, COLUMNS_TOO_MANY };

/* Writes a record of a resolved batch into the row behind the last one of its kind and counts it. Kinds with
 * rows only: not meta, span_end and terminal. The columns of extra fields exist when the decoder keeps them.
 */
enum columns_answer columns_append(struct cg_trace *trace, struct columns_capacity *capacity,
                                   enum cg_kind kind, const struct decoder *decoder,
                                   const struct record *record);

/* meta and everything in it; false when memory is short. trace_free() frees it, also half made. */
bool columns_set_run(struct cg_trace *trace, const struct decoder *decoder, const struct record *record);

/* Puts the spans into byte order of their ids and fills parent and span_of_string; false when memory is
 * short. */
bool columns_sort_spans(struct cg_trace *trace);

/* Gives back what was reserved for growth. */
void columns_trim(struct cg_trace *trace, bool extras);
void columns_free(struct cg_trace *trace);

#endif
