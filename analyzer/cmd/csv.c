/* CSV: the rows of a result. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/cmd/table.h"
#include "analyzer/cmd/table_walk.h"

enum { NAME_SIZE = 256 };

struct csv {
    struct output *output;
    const char *rows; /* as in struct document */
    char (*names)[NAME_SIZE];
    struct text *cells;
    size_t count;
    struct text path; /* scratch */
};

/* Keys that lead to a table, joined by dots, into csv->path. */
static int table_path(struct csv *csv, const struct shape *shape)
{
    const struct shape *path[64];
    size_t depth = 0;
    csv->path.length = 0;
    for (const struct shape *at = shape; at && depth < 64; at = at->parent)
        if (at->key[0]) path[depth++] = at;
    int status = text_add(&csv->path, "", 0);
    while (depth-- > 0 && status == 0) {
        if (csv->path.length) status = text_add(&csv->path, ".", 1);
        if (status == 0) status = text_add(&csv->path, path[depth]->key, strlen(path[depth]->key));
    }
    return status;
}

static bool all_lists(const struct csv *csv)
{
    return strcmp(csv->rows, "*") == 0;
}

/* Does this table go into the file? */
static bool is_chosen(struct csv *csv, const struct shape *shape)
{
    if (!shape->table) return false;
    if (all_lists(csv)) return true;
    return table_path(csv, shape) == 0 && csv->path.length == strlen(csv->rows) &&
           memcmp(csv->path.bytes ? csv->path.bytes : "", csv->rows, csv->path.length) == 0;
}

/* The number of a column in the file, added when it is new; SIZE_MAX when memory is short. */
static size_t column_number(struct csv *csv, const char *name)
{
    for (size_t i = 0; i < csv->count; i++)
        if (strcmp(csv->names[i], name) == 0) return i;
    char(*names)[NAME_SIZE] = realloc(csv->names, (csv->count + 1) * sizeof *names);
    if (names) csv->names = names;
    struct text *cells = realloc(csv->cells, (csv->count + 1) * sizeof *cells);
    if (cells) csv->cells = cells;
    if (!names || !cells) return SIZE_MAX;
    strcpy(names[csv->count], name);
    cells[csv->count] = (struct text){0};
    return csv->count++;
}

static bool add_columns(struct csv *csv, const struct shape *shape)
{
    char name[NAME_SIZE];
    if (all_lists(csv) && column_number(csv, "list") == SIZE_MAX) return false;
    if (shape->map && column_number(csv, "name") == SIZE_MAX) return false;
    for (size_t i = 0; i < shape->column_count; i++) {
        shape_column_name(shape, shape->columns[i], name, sizeof name);
        if (column_number(csv, name) == SIZE_MAX) return false;
    }
    return true;
}

static bool collect_columns(struct csv *csv, struct shape *root)
{
    struct shape *at = root;
    while (at) {
        if (is_chosen(csv, at) && !add_columns(csv, at)) return false;
        if (at->first) {
            at = at->first;
            continue;
        }
        while (at && !at->next)
            at = at->parent;
        if (at) at = at->next;
    }
    return true;
}

/* Commas, quotes and line breaks need quotes around, and quotes are doubled. */
static void put_field(struct csv *csv, const char *text, size_t length)
{
    bool quote = false;
    for (size_t i = 0; i < length && !quote; i++)
        quote = strchr(",\"\r\n", text[i]) != NULL;
    if (!quote) {
        output_write(csv->output, text, length);
        return;
    }
    output_write(csv->output, "\"", 1);
    for (size_t i = 0; i < length; i++)
        output_write(csv->output, text[i] == '"' ? "\"\"" : &text[i], text[i] == '"' ? 2 : 1);
    output_write(csv->output, "\"", 1);
}

static void put_line(struct csv *csv, bool header)
{
    for (size_t i = 0; i < csv->count; i++) {
        if (i > 0) output_write(csv->output, ",", 1);
        if (header)
            put_field(csv, csv->names[i], strlen(csv->names[i]));
        else
            put_field(csv, csv->cells[i].bytes, csv->cells[i].length);
        csv->cells[i].length = 0;
    }
    output_write(csv->output, "\r\n", 2);
}

static int set_cell(struct csv *csv, const char *name, const char *text, size_t length)
{
    struct text *cell = &csv->cells[column_number(csv, name)];
    cell->length = 0;
    return text_add(cell, text, length);
}

/* The table that a column belongs to. */
static const struct shape *table_of(const struct shape *column)
{
    const struct shape *at = column->parent;
    while (at && !at->table)
        at = at->parent;
    return at;
}

static int on_cell(void *context, struct shape *column, const char *text, size_t length)
{
    struct csv *csv = context;
    const struct shape *shape = table_of(column);
    char name[NAME_SIZE];
    if (!shape || !is_chosen(csv, shape)) return 0;
    shape_column_name(shape, column, name, sizeof name);
    return set_cell(csv, name, text, length);
}

static int on_row(void *context, struct shape *shape, const struct shape *name)
{
    struct csv *csv = context;
    if (!is_chosen(csv, shape)) return 0;
    int status = 0;
    if (all_lists(csv)) {
        status = table_path(csv, shape);
        if (status == 0) status = set_cell(csv, "list", csv->path.bytes, csv->path.length);
    }
    if (name && status == 0) status = set_cell(csv, "name", name->key, strlen(name->key));
    if (status == 0) put_line(csv, false);
    return status ? status : csv->output->failure;
}

int csv_write(const struct document *document, struct output *output)
{
    struct csv csv = {.output = output, .rows = document->rows};
    struct walk walk;
    walk_start(&walk, &walk_learn, NULL, true);
    int failure = walk_document(&walk, document);
    if (!failure && (!shape_columns(&walk.root) || !collect_columns(&csv, &walk.root))) failure = ENOMEM;
    if (!failure && csv.count > 0) {
        struct walk_handler write_rows = walk_learn;
        write_rows.cell = on_cell;
        write_rows.row = on_row;
        put_line(&csv, true);
        walk_again(&walk, &write_rows, &csv);
        failure = walk_document(&walk, document);
    }
    walk_free(&walk);
    for (size_t i = 0; i < csv.count; i++)
        free(csv.cells[i].bytes);
    free(csv.cells);
    free(csv.names);
    free(csv.path.bytes);
    return failure;
}
