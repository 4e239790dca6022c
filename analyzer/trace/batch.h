/* Records that are decoded and not yet taken into the trace: those of a block of lines, or of as much of it
 * as there is room for. Each of the threads that read a trace has its own batch. */
#ifndef CGTRACE_ANALYZER_TRACE_BATCH_H
#define CGTRACE_ANALYZER_TRACE_BATCH_H

#include "analyzer/trace/decode.h"
#include "analyzer/trace/input.h"

/* A record and where it stands. In a batch it has room for the values of its kind alone. */
struct waiting {
    const char *text; /* its opening brace */
    uint64_t line;    /* of the block, from 1 */
    enum cg_kind kind;
    struct record record;
};

/* Why the lines end behind the records of the batch; decoder.fault says more. */
struct defect {
    const char *text;  /* the line; NULL: there is no defect */
    enum cg_kind kind; /* of its record; CG_KIND_COUNT: not known */
};

struct batch {
    struct input_block block;
    const char *next; /* the first line that is not decoded yet */
    uint64_t line;    /* of the block, from 1: that was decoded last, or has the defect */
    struct decoder decoder;
    struct defect defect;
    char *records;
    size_t used;
    size_t first_row[CG_KIND_COUNT]; /* that the records of each kind were given, when they are taken */
};

/* False when memory is short; batch_free() frees what was made. */
bool batch_init(struct batch *batch, const struct cg_load_options *options);
void batch_free(struct batch *batch);

/* To the beginning of a block that was filled. */
void batch_rewind(struct batch *batch);
/* Decodes the lines that come next. The batch holds their records instead of those before. False when the
 * block has no more, or the records end with a defect. */
bool batch_decode(struct batch *batch);

/* The record behind another one, the first one behind NULL; NULL when there is none. */
static inline struct waiting *batch_record(const struct batch *batch, struct waiting *before)
{
    char *at = batch->records;
    if (before != NULL) at = (char *)&before->record.value[schema_objects[before->kind].count];
    return at < batch->records + batch->used ? (struct waiting *)(void *)at : NULL;
}

#endif
