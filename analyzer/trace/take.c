#include "analyzer/trace/take.h"

#include <inttypes.h>
#include <string.h>

#include "analyzer/trace/columns_table.h"
#include "analyzer/trace/meta_extras.h"
#include "common/dense.h"
#include "common/utf8.h"

/* Places of a tensor's fields in its record. */
enum {
#define TENSOR_FIELD(name, wire, type, presence, argument, meaning) TENSOR_FIELD_##name,
    CG_TENSOR_FIELDS(TENSOR_FIELD)
#undef TENSOR_FIELD
};

bool taker_init(struct taker *taker, const char *name, struct cg_trace *trace, struct cg_error *error)
{
    *taker = (struct taker){.name = name, .trace = trace, .error = error, .sequence.trace = trace};
    columns_room_init(&taker->room);
    return interned_init(&taker->interned, trace->strings);
}

void taker_free(struct taker *taker)
{
    interned_free(&taker->interned);
    columns_room_destroy(&taker->room);
}

/* errors */

/* In a line with a byte that is not UTF-8 that is the defect, unless another one comes before it. */
static int line_fault(struct taker *taker, const struct batch *batch)
{
    const struct decode_fault *fault = &batch->decoder.fault;
    const struct defect *defect = &batch->defect;
    const char *line = defect->text, *end = rawmemchr(line, '\n'), *text = fault->text, *field = fault->field;
    const char *record = defect->kind < CG_KIND_COUNT ? schema_objects[defect->kind].name : "";
    const char *broken = line + utf8_valid_length(line, (size_t)(end - line));
    const char *at = fault->at != NULL ? fault->at : line;
    if (broken < end && (broken <= at || fault->at == NULL)) {
        at = broken;
        text = "not valid UTF-8";
        field = NULL;
    }
    uint64_t byte = (uint64_t)(at - line) + 1;
    bool last = end + 1 == batch->block.lines + batch->block.length;
    const char *cut = at == end && last && batch->block.cut ? " (the file is cut off here)" : "";
    return cg_fail(taker->error, CG_EXIT_INPUT, "%s:%" PRIu64 ":%" PRIu64 ": %s%s%s%s%s%s%s", taker->name,
                   taker->line, byte, record, record[0] != '\0' ? ": " : "", field != NULL ? "field \"" : "",
                   field != NULL ? field : "", field != NULL ? "\": " : "", text, cut);
}

int taker_no_memory(struct taker *taker)
{
    return cg_fail(taker->error, CG_EXIT_IO, "%s: out of memory", taker->name);
}

static int sequence_fault(struct taker *taker)
{
    if (taker->sequence.no_memory) return taker_no_memory(taker);
    return cg_fail(taker->error, CG_EXIT_INPUT, "%s:%" PRIu64 ": %s", taker->name, taker->line,
                   taker->sequence.fault);
}

/* rows */

static bool resolve(struct taker *taker, cg_str dtype, struct cg_list shape, uint64_t *bytes)
{
    unsigned slot = dtype % DTYPE_CACHE;
    struct cg_text text = trace_text(taker->trace, dtype);
    if (taker->dtype_cache[slot].dtype != dtype) {
        taker->dtype_cache[slot].dtype = dtype;
        taker->dtype_cache[slot].bytes = dense_element_bytes(text.bytes, text.length);
    }
    return taker->dtype_cache[slot].bytes != 0 &&
           dense_bytes(taker->interned.u64_pool + shape.first, shape.count, text.bytes, text.length, bytes);
}

/* doc/spec/trace.md 8: a footprint that the producer left out. */
static void resolve_dense_bytes(struct taker *taker, const struct decoder *decoder, struct record *record,
                                unsigned dtype, unsigned shape, unsigned bytes)
{
    union value *value = record->value;
    uint64_t resolved;
    if (record->present >> bytes & 1) return;
    if (!resolve(taker, decoder_string(decoder, value[dtype]), decoder_numbers(decoder, value[shape]),
                 &resolved))
        return;
    value[bytes].u = resolved;
    record->present |= UINT32_C(1) << bytes;
}

static int take_meta(struct taker *taker, const struct batch *batch, const struct waiting *waiting)
{
    const char *text = waiting->text;
    size_t length = (size_t)((const char *)rawmemchr(text, '\n') - text);
    return columns_set_run(taker->trace, &batch->decoder, &waiting->record) &&
                   meta_extras_read(taker->trace, text, length)
               ? 0
               : taker_no_memory(taker);
}

static int claim_row(struct taker *taker, const struct batch *batch, struct waiting *waiting)
{
    switch (columns_claim(taker->trace, &taker->room, waiting->kind, &batch->decoder, &waiting->record)) {
    case COLUMNS_NO_MEMORY:
        return taker_no_memory(taker);
    case COLUMNS_TOO_MANY:
        return cg_fail(taker->error, CG_EXIT_INPUT,
                       "%s:%" PRIu64 ": more than 4294967294 records of one kind", taker->name, taker->line);
    case COLUMNS_DONE:
        break;
    }
    return 0;
}

static int take_record(struct taker *taker, const struct batch *batch, struct waiting *waiting)
{
    const struct decoder *decoder = &batch->decoder;
    struct record *record = &waiting->record;
    enum cg_kind kind = waiting->kind;
    if (!sequence_record(&taker->sequence, kind, decoder, record)) return sequence_fault(taker);
    if (kind == CG_KIND_META) return take_meta(taker, batch, waiting);
    if (kind == CG_KIND_OP) {
        if (record->present >> OP_FIELD_error & 1)
            taker->trace->out_of_memory_count += record->value[OP_FIELD_error].u == CG_OUT_OF_MEMORY;
        resolve_dense_bytes(taker, decoder, record, OP_FIELD_dtype, OP_FIELD_shape,
                            OP_FIELD_output_dense_bytes);
    } else if (kind == CG_KIND_TENSOR) {
        resolve_dense_bytes(taker, decoder, record, TENSOR_FIELD_dtype, TENSOR_FIELD_shape,
                            TENSOR_FIELD_dense_bytes);
    }
    return claim_row(taker, batch, waiting);
}

static int take_defect(struct taker *taker, const struct batch *batch)
{
    taker->line = taker->lines_before + batch->line;
    if (batch->decoder.fault.no_memory) return taker_no_memory(taker);
    return sequence_may_follow(&taker->sequence) ? line_fault(taker, batch) : sequence_fault(taker);
}

/* Of each kind: the row that the next record gets. */
static void note_rows(const struct cg_trace *trace, size_t *rows)
{
#define ROWS_OF(suffix, member, fields, extra_fields) rows[CG_KIND_##suffix] = trace->member.rows;
    TABLES(ROWS_OF)
}

int take_batch(struct taker *taker, struct batch *batch, bool more)
{
    int status;
    if (!decoder_resolve(&batch->decoder, &taker->interned)) return taker_no_memory(taker);
    note_rows(taker->trace, batch->first_row);
    for (struct waiting *waiting = NULL; (waiting = batch_record(batch, waiting)) != NULL;) {
        taker->line = taker->lines_before + waiting->line;
        if ((status = take_record(taker, batch, waiting)) != 0) return status;
    }
    if (batch->defect.text != NULL) return take_defect(taker, batch);
    if (!more) taker->lines_before += batch->line;
    columns_begin_storing(&taker->room);
    return 0;
}

void take_store(struct taker *taker, struct batch *batch)
{
    size_t rows[CG_KIND_COUNT];
    memcpy(rows, batch->first_row, sizeof rows);
    for (struct waiting *waiting = NULL; (waiting = batch_record(batch, waiting)) != NULL;)
        columns_store(taker->trace, waiting->kind, &batch->decoder, &waiting->record, rows[waiting->kind]++);
    columns_end_storing(&taker->room);
}

int take_end(struct taker *taker, bool extras)
{
    taker->line = taker->lines_before;
    if (!sequence_end(&taker->sequence)) return sequence_fault(taker);
    strings_finish(taker->trace->strings);
    columns_trim(taker->trace, extras);
    if (!columns_sort_spans(taker->trace)) return taker_no_memory(taker);
    interned_give(&taker->interned, taker->trace);
    return 0;
}
