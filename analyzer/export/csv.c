/* CSV (RFC 4180): a file for each kind of record. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/export/export.h"

struct csv {
    struct export_job *job;
    int failure;
};

static void put(struct csv *csv, const char *bytes, size_t length)
{
    if (!csv->failure) csv->failure = csv->job->sink(csv->job->context, bytes, length);
}

/* An empty text is quoted, so that it is told from an absent one. */
static void put_text(struct csv *csv, struct cg_text text)
{
    bool quote = text.length == 0;
    for (size_t i = 0; i < text.length && !quote; i++)
        // NOLINTNEXTLINE(bugprone-not-null-terminated-result): the four, and no NUL
        quote = memchr(",\"\r\n", text.bytes[i], 4) != NULL;
    if (quote) put(csv, "\"", 1);
    for (size_t i = 0; quote && i < text.length; i++)
        put(csv, text.bytes[i] == '"' ? "\"\"" : &text.bytes[i], text.bytes[i] == '"' ? 2 : 1);
    if (!quote) put(csv, text.bytes, text.length);
    if (quote) put(csv, "\"", 1);
}

static void put_cell(struct csv *csv, const struct cell *cell)
{
    char number[40];
    int length = 0;
    switch (cell->type) {
    case CELL_ABSENT:
        return;
    case CELL_TEXT:
        put_text(csv, cell->text);
        return;
    case CELL_U64:
        length = snprintf(number, sizeof number, "%" PRIu64, cell->u64);
        break;
    case CELL_F64:
        length = (int)json_double_text(number, cell->f64);
        break;
    case CELL_BOOL:
        length = snprintf(number, sizeof number, "%s", cell->u64 ? "true" : "false");
        break;
    }
    put(csv, number, (size_t)length);
}

static int on_row(void *context, const struct cell *cells)
{
    struct csv *csv = context;
    for (size_t c = 0; c < csv->job->table->column_count; c++) {
        if (c) put(csv, ",", 1);
        put_cell(csv, &cells[c]);
    }
    put(csv, "\r\n", 2);
    csv->job->records++;
    return csv->failure;
}

static int write_csv(struct export_job *job)
{
    struct csv csv = {.job = job};
    const struct table *table = job->table;
    for (size_t c = 0; c < table->column_count; c++) {
        if (c) put(&csv, ",", 1);
        put(&csv, table->columns[c].name, strlen(table->columns[c].name));
    }
    put(&csv, "\r\n", 2);
    return csv.failure ? csv.failure : table_each(job->trace, table, on_row, &csv);
}

static const char *const losses[] = {
    "the run's own facts, contract, identity and tags are left out",
    "lists are JSON text in one field; a call stack is its id, and its frames are in the table stack",
    "fields of graphs and fields that nobody knows are left out",
    "an absent value is an empty field, an empty text a quoted one: readers that take both alike cannot tell",
    NULL,
};
const struct export_format export_csv = {
    .name = "csv",
    .about = "a directory with a file of comma-separated values for each kind of record",
    .tabular = true,
    .losses = losses,
    .write = write_csv,
};
