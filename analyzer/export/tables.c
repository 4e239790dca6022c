#include "analyzer/export/tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/planes/array.h"
#include "analyzer/viewer/buffer.h"
#include "common/json_doc.h"

/* ---- columns: C_TYPE makes the column of a field of RECORD, which is a member of struct cg_trace ---- */

#define AT(field)                        offsetof(struct cg_trace, RECORD.field)
#define SET(field)                       AT(field##_set)
#define C_STR(field, wire, argument)     {.name = wire, .type = COLUMN_TEXT, .offset = AT(field)},
#define C_OPT_STR(field, wire, argument) C_STR(field, wire, argument)
#define C_U64(field, wire, argument)     {.name = wire, .type = COLUMN_U64, .offset = AT(field)},
#define C_OPT_U64(field, wire, argument)                                                                     \
    {.name = wire, .type = COLUMN_U64, .offset = AT(field), .set = SET(field)},
#define C_F64(field, wire, argument) {.name = wire, .type = COLUMN_F64, .offset = AT(field)},
#define C_OPT_F64(field, wire, argument)                                                                     \
    {.name = wire, .type = COLUMN_F64, .offset = AT(field), .set = SET(field)},
#define C_BOOL(field, wire, argument)     {.name = wire, .type = COLUMN_BOOL, .offset = AT(field)},
#define C_U64_LIST(field, wire, argument) {.name = wire, .type = COLUMN_U64_LIST, .offset = AT(field)},
#define C_STR_LIST(field, wire, argument) {.name = wire, .type = COLUMN_STR_LIST, .offset = AT(field)},
#define C_STACK(field, wire, argument)    {.name = wire, .type = COLUMN_STACK, .offset = AT(field)},
#define C_ENUM(field, wire, argument)                                                                        \
    {.name = wire, .type = COLUMN_ENUM, .offset = AT(field), .words = cg_name_##argument},
#define C_OPT_ENUM(field, wire, argument)                                                                    \
    {.name = wire,                                                                                           \
     .type = COLUMN_ENUM,                                                                                    \
     .offset = AT(field),                                                                                    \
     .words = cg_name_##argument,                                                                            \
     .optional_enum = true},
#define C(field, wire, type, presence, argument, meaning) C_##type(field, wire, argument)

#define RECORD span
static const struct column span_columns[] = {
    CG_SPAN_START_FIELDS(C){
        .name = "duration_ns", .type = COLUMN_U64, .offset = AT(duration_ns), .set = AT(closed)},
    CG_SPAN_START_EXTRAS(C)};
#undef RECORD
#define RECORD op
static const struct column op_columns[] = {CG_OP_FIELDS(C) CG_OP_EXTRAS(C)};
#undef RECORD
#define RECORD tensor
static const struct column tensor_columns[] = {CG_TENSOR_FIELDS(C)};
#undef RECORD
#define RECORD tensor_stats
static const struct column tensor_stats_columns[] = {CG_TENSOR_STATS_FIELDS(C)};
#undef RECORD
#define RECORD memory
static const struct column memory_columns[] = {CG_MEMORY_FIELDS(C) CG_MEMORY_EXTRAS(C)};
#undef RECORD
#define RECORD device_memory
static const struct column device_memory_columns[] = {CG_DEVICE_MEMORY_FIELDS(C) CG_DEVICE_MEMORY_EXTRAS(C)};
#undef RECORD
#define RECORD device_interval
static const struct column device_interval_columns[] = {CG_DEVICE_INTERVAL_FIELDS(C)
                                                            CG_DEVICE_INTERVAL_EXTRAS(C)};
#undef RECORD
#define RECORD gradient
static const struct column gradient_columns[] = {CG_GRADIENT_FIELDS(C)};
#undef RECORD
#define RECORD edge
static const struct column edge_columns[] = {CG_EDGE_FIELDS(C)};
#undef RECORD

#define COLUMNS(list) .columns = list, .column_count = sizeof(list) / sizeof *(list)
#define TABLE(kind, meaning)                                                                                 \
    {.name = #kind, .about = meaning, COLUMNS(kind##_columns), .rows = offsetof(struct cg_trace, kind.rows)},
/* Of a frame of a stack. */
static const struct column stack_columns[] = {
    {.name = "stack", .type = COLUMN_TEXT},    {.name = "depth", .type = COLUMN_U64},
    {.name = "frame", .type = COLUMN_TEXT},    {.name = "module", .type = COLUMN_TEXT},
    {.name = "build_id", .type = COLUMN_TEXT}, {.name = "offset", .type = COLUMN_U64},
    {.name = "symbol", .type = COLUMN_TEXT},
};
const struct table tables[] = {
    TABLE(span, "spans, with their durations") TABLE(op, "operations of the host")
        TABLE(tensor, "tensors observed") TABLE(tensor_stats, "statistics of tensors")
            TABLE(memory, "storages allocated and freed") TABLE(device_memory, "samples of devices")
                TABLE(device_interval, "work on devices, on their clocks")
                    TABLE(gradient, "gradients of parameters") TABLE(edge, "calls and data dependences"){
                        .name = "stack",
                        .about = "frames of the call stacks, innermost first",
                        COLUMNS(stack_columns)},
};
const size_t table_count = sizeof tables / sizeof *tables;

/* ---- cells ---- */

struct walk {
    const struct cg_trace *trace;
    struct buffer lists[TABLE_COLUMNS_MAX]; /* the texts of lists, by column */
    struct cell cells[TABLE_COLUMNS_MAX];
};

static struct cell text_cell(const struct cg_trace *trace, cg_str string)
{
    return (struct cell){.type = string == CG_ABSENT ? CELL_ABSENT : CELL_TEXT,
                         .text = trace_text(trace, string)};
}

/* As a JSON array; false when memory is short. */
static bool list_cell(struct walk *walk, size_t column, enum column_type type, struct cg_list list)
{
    struct buffer *buffer = &walk->lists[column];
    buffer->used = 0;
    struct json_doc *doc = doc_start(DOC_COMPACT, DOC_DECLARED, buffer_sink, buffer);
    if (!doc) return false;
    doc_array(doc);
    for (uint32_t i = list.first; i < list.first + list.count; i++) {
        struct cg_text text = {0};
        if (type == COLUMN_STR_LIST) text = trace_text(walk->trace, walk->trace->str_pool[i]);
        if (type == COLUMN_STR_LIST)
            doc_string_bytes(doc, text.bytes, text.length);
        else
            doc_u64(doc, walk->trace->u64_pool[i]);
    }
    doc_array_end(doc);
    if (doc_finish(doc) != 0 || buffer->failed) return false;
    /* Without the line feed that ends a document. */
    walk->cells[column] =
        (struct cell){.type = CELL_TEXT, .text = {(const char *)buffer->bytes, buffer->used - 1}};
    return true;
}

static struct cell enum_cell(const struct column *column, uint8_t value)
{
    if (column->optional_enum && value == 0) return (struct cell){0};
    const char *word = column->words[value - column->optional_enum];
    return (struct cell){.type = CELL_TEXT, .text = {word, strlen(word)}};
}

/* Sets the cell of a column; false when memory is short. */
static bool set_cell(struct walk *walk, const struct column *column, size_t number, size_t row)
{
    const char *trace = (const char *)walk->trace;
    const void *values = *(void *const *)(const void *)(trace + column->offset);
    const uint8_t *set = column->set ? *(uint8_t *const *)(const void *)(trace + column->set) : NULL;
    struct cell *cell = &walk->cells[number];
    *cell = (struct cell){0};
    if (set && !set[row]) return true;
    switch (column->type) {
    case COLUMN_TEXT:
        *cell = text_cell(walk->trace, ((const cg_str *)values)[row]);
        return true;
    case COLUMN_U64:
        *cell = (struct cell){.type = CELL_U64, .u64 = ((const uint64_t *)values)[row]};
        return true;
    case COLUMN_F64:
        *cell = (struct cell){.type = CELL_F64, .f64 = ((const double *)values)[row]};
        return true;
    case COLUMN_BOOL:
        *cell = (struct cell){.type = CELL_BOOL, .u64 = ((const uint8_t *)values)[row]};
        return true;
    case COLUMN_ENUM:
        *cell = enum_cell(column, ((const uint8_t *)values)[row]);
        return true;
    case COLUMN_STACK: {
        uint32_t stack = ((const uint32_t *)values)[row];
        if (stack != CG_NONE) *cell = text_cell(walk->trace, trace_stack_id(walk->trace, stack));
        return true;
    }
    case COLUMN_U64_LIST:
    case COLUMN_STR_LIST:
        break;
    }
    return list_cell(walk, number, column->type, ((const struct cg_list *)values)[row]);
}

static int each_frame(struct walk *walk, int (*row)(void *context, const struct cell *cells), void *context)
{
    const struct cg_trace *trace = walk->trace;
    char name[4096];
    for (uint32_t stack = 0; stack < trace_stack_count(trace); stack++) {
        uint32_t count;
        const uint32_t *frames = trace_stack_frames(trace, stack, &count);
        for (uint32_t i = 0; i < count; i++) {
            const struct cg_frame *frame = trace_frame(trace, frames[i]);
            size_t length = trace_frame_name(trace, frames[i], name, sizeof name);
            struct cell cells[] = {text_cell(trace, trace_stack_id(trace, stack)),
                                   {.type = CELL_U64, .u64 = i},
                                   {.type = CELL_TEXT, .text = {name, length}},
                                   text_cell(trace, frame->module),
                                   text_cell(trace, frame->build_id),
                                   {.type = CELL_U64, .u64 = frame->offset},
                                   text_cell(trace, frame->symbol)};
            int failure = row(context, cells);
            if (failure) return failure;
        }
    }
    return 0;
}

int table_each(const struct cg_trace *trace, const struct table *table,
               int (*row)(void *context, const struct cell *cells), void *context)
{
    struct walk walk = {.trace = trace};
    if (!table->rows) return each_frame(&walk, row, context);
    size_t rows = *(const size_t *)(const void *)((const char *)trace + table->rows);
    int failure = 0;
    for (size_t i = 0; i < rows && !failure; i++) {
        for (size_t c = 0; c < table->column_count && !failure; c++)
            if (!set_cell(&walk, &table->columns[c], c, i)) failure = ENOMEM;
        if (!failure) failure = row(context, walk.cells);
    }
    for (size_t c = 0; c < TABLE_COLUMNS_MAX; c++)
        buffer_free(&walk.lists[c]);
    return failure;
}
