/* A JSON object of plain values a line, for readers that load NDJSON into one wide table. */
#include <errno.h>

#include "analyzer/export/export.h"

struct flat {
    struct export_job *job;
    const struct table *table;
};

static void emit_cell(struct json_doc *doc, const char *name, const struct cell *cell)
{
    switch (cell->type) {
    case CELL_ABSENT:
        return;
    case CELL_TEXT:
        doc_member_bytes(doc, name, cell->text.bytes, cell->text.length);
        return;
    case CELL_U64:
        doc_member_u64(doc, name, cell->u64);
        return;
    case CELL_F64:
        doc_member_double(doc, name, cell->f64);
        return;
    case CELL_BOOL:
        doc_member_bool(doc, name, cell->u64);
        return;
    }
}

static int on_row(void *context, const struct cell *cells)
{
    struct flat *flat = context;
    struct json_doc *doc = doc_start(DOC_COMPACT, DOC_DECLARED, flat->job->sink, flat->job->context);
    if (!doc) return ENOMEM;
    doc_object(doc);
    doc_member_string(doc, "record", flat->table->name);
    for (size_t c = 0; c < flat->table->column_count; c++)
        emit_cell(doc, flat->table->columns[c].name, &cells[c]);
    doc_object_end(doc);
    flat->job->records++;
    return doc_finish(doc);
}

static int write_flat(struct export_job *job)
{
    int failure = 0;
    for (size_t t = 0; t < table_count && !failure; t++) {
        struct flat flat = {job, &tables[t]};
        failure = table_each(job->trace, &tables[t], on_row, &flat);
    }
    return failure;
}

static const char *const losses[] = {
    "the run's own facts, contract, identity and tags are left out",
    "lists are JSON text in one member; a call stack is its id, and its frames are records named stack",
    "fields of graphs and fields that nobody knows are left out",
    "records stand by kind, not in the order of the trace; absent values are left out",
    NULL,
};
const struct export_format export_ndjson_flat = {
    .name = "ndjson-flat",
    .about = "a JSON object of plain values for each record, one a line",
    .losses = losses,
    .write = write_flat,
};
