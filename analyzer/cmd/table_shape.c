/* Which parts of a document are tables, and which columns they have. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/cmd/table_walk.h"

/* The next shape in depth-first order below top; NULL after the last. */
static struct shape *next_shape(const struct shape *top, struct shape *at)
{
    if (at->first) return at->first;
    while (at != top && !at->next)
        at = at->parent;
    return at == top ? NULL : at->next;
}

/* Values of a row: scalars, and lists, whatever is in them. */
static bool is_leaf(const struct shape *shape)
{
    return shape->objects == 0;
}

static bool has_leaves_only(const struct shape *shape)
{
    for (const struct shape *child = shape->first; child; child = child->next)
        if (!is_leaf(child) || child->rows > 0) return false;
    return true;
}

/* An object whose members are all alike, small objects (or null), reads best as a table with a row for each:
 * they have the same first member, and nothing in them but values. */
static bool is_map(const struct shape *shape)
{
    const struct shape *model = NULL;
    size_t members = 0;
    if (shape->arrays || !shape->objects) return false;
    for (const struct shape *child = shape->first; child; child = child->next) {
        members++;
        if (child->arrays || child->scalars > child->nulls) return false;
        if (!child->objects) continue;
        if (!child->first || !has_leaves_only(child)) return false;
        if (!model) model = child;
        if (strcmp(model->first->key, child->first->key) != 0) return false;
    }
    return members >= 2 && model;
}

static bool add_column(struct shape *table, struct shape *column)
{
    struct shape **columns = realloc(table->columns, (table->column_count + 1) * sizeof *columns);
    if (!columns) return false;
    table->columns = columns;
    column->column_index = table->column_count;
    columns[table->column_count++] = column;
    return true;
}

/* All leaves below the element of the array are its columns, in the order in which they first came. */
static bool row_columns(struct shape *table)
{
    struct shape *element = table->first;
    struct shape *at = element;
    while (at) {
        bool leaf = at != element && is_leaf(at);
        if (leaf && !add_column(table, at)) return false;
        /* What is inside a list belongs to the one cell. */
        if (leaf) {
            while (at != element && !at->next)
                at = at->parent;
            at = at == element ? NULL : at->next;
        } else {
            at = next_shape(element, at);
        }
    }
    return true;
}

/* The members of the map's objects, by key; equal ones share a column as wide as the widest. */
static bool map_columns(struct shape *map)
{
    for (struct shape *row = map->first; row; row = row->next)
        for (struct shape *cell = row->first; cell; cell = cell->next) {
            size_t i = 0;
            while (i < map->column_count && strcmp(map->columns[i]->key, cell->key) != 0)
                i++;
            if (i == map->column_count && !add_column(map, cell)) return false;
            struct shape *column = map->columns[i];
            cell->column_index = i;
            if (cell->width > column->width) column->width = cell->width;
            if (cell->textual) column->textual = true;
        }
    return true;
}

/* The next shape that is not inside of one. */
static struct shape *next_beside(const struct shape *at)
{
    while (at && !at->next)
        at = at->parent;
    return at ? at->next : NULL;
}

bool shape_columns(struct shape *root)
{
    struct shape *at = root;
    while (at) {
        if (at->arrays && at->rows) {
            at->table = true;
            if (!row_columns(at)) return false;
        } else if (is_map(at)) {
            at->table = at->map = true;
            at->rows = 0;
            if (!map_columns(at)) return false;
        }
        at = at->table ? next_beside(at) : at->first ? at->first : next_beside(at);
    }
    return true;
}

size_t shape_most_columns(const struct shape *root)
{
    size_t most = 0;
    for (const struct shape *at = root; at; at = at->first ? at->first : next_beside(at))
        if (at->column_count > most) most = at->column_count;
    return most;
}

static size_t join_path(const struct shape *table, const struct shape *column, bool labels, char *out,
                        size_t size)
{
    const struct shape *path[64];
    size_t depth = 0, used = 0;
    for (const struct shape *at = column; at && at != table && depth < 64; at = at->parent)
        if (at->key[0] && !(table->map && at->parent == table)) path[depth++] = at;
    out[0] = '\0';
    while (depth-- > 0 && used < size)
        used += (size_t)snprintf(out + used, size - used, "%s%s", used ? (labels ? ": " : ".") : "",
                                 labels ? path[depth]->label : path[depth]->key);
    return used < size ? used : size - 1;
}

size_t shape_column_name(const struct shape *table, const struct shape *column, char *out, size_t size)
{
    return join_path(table, column, false, out, size);
}

size_t shape_column_heading(const struct shape *table, const struct shape *column, char *out, size_t size)
{
    return join_path(table, column, true, out, size);
}
