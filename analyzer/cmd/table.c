/* Tables for people. */
#include "analyzer/cmd/table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/cmd/screen.h"
#include "analyzer/cmd/table_walk.h"

enum {
    NARROWEST = 12,    /* a column of text is cut down to this */
    SCREEN_ROWS = 100, /* rows of one table on a screen */
    HEADING_SIZE = 512,
    CAPTION_SIZE = 160
};

struct table {
    struct screen screen;
    bool begun;                  /* something was printed */
    const struct shape *section; /* whose values were printed last */
    const struct shape *shown;   /* the table whose header was printed last */
    uint64_t rows;               /* of it, so far */
    bool records;                /* it is written member by member */
    size_t column_room;          /* columns of the widest table */
    size_t *widths;              /* of the columns of `shown` */
    struct text *cells;          /* of the row that comes */
};

static int failure_of(const struct table *table)
{
    return table->screen.output->failure;
}

/* ---- lists with a caption: sections that say which of how many rows they hold ---- */

static const struct shape *member(const struct shape *section, const char *key)
{
    for (const struct shape *child = section->first; child; child = child->next)
        if (strcmp(child->key, key) == 0) return child;
    return NULL;
}

/* The rows of such a section, or NULL; with only, NULL unless they are that member. */
static const struct shape *caption_list(const struct shape *section, const struct shape *only)
{
    if (!section || !member(section, "displayed") || !member(section, "total")) return NULL;
    const struct shape *rows = member(section, "rows");
    return rows && (!only || rows == only) ? rows : NULL;
}

/* Members that the caption says. */
static bool in_caption(const struct shape *value)
{
    static const char *const keys[] = {"displayed", "total",  "truncated",  "limit",
                                       "matched",   "offset", "next_offset"};
    if (!caption_list(value->parent, NULL)) return false;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(keys[i], value->key) == 0) return true;
    return false;
}

static void write_caption(const struct shape *section, char text[CAPTION_SIZE])
{
    const struct shape *matched = member(section, "matched"), *offset = member(section, "offset"),
                       *next = member(section, "next_offset");
    uint64_t total = member(section, "total")->number, of = matched ? matched->number : total;
    int used = snprintf(text, CAPTION_SIZE, "%llu of %llu",
                        (unsigned long long)member(section, "displayed")->number, (unsigned long long)of);
    if (of != total)
        used += snprintf(text + used, CAPTION_SIZE - (size_t)used, " that match, %llu in all",
                         (unsigned long long)total);
    if (offset && offset->number)
        used += snprintf(text + used, CAPTION_SIZE - (size_t)used, ", from %llu on",
                         (unsigned long long)offset->number);
    if (next && !next->nulls)
        snprintf(text + used, CAPTION_SIZE - (size_t)used, "; more: --offset %llu",
                 (unsigned long long)next->number);
}

/* ---- headings ---- */

/* All keys that lead to a member, of which those at the front are left out where the screen is too narrow.
 * Returns the columns that it took. */
__attribute__((nonnull)) static size_t put_heading(struct table *table, const struct shape *shape)
{
    const struct shape *path[64];
    size_t depth = 0, shown = 0, columns = 0;
    for (const struct shape *at = shape; at && depth < 64; at = at->parent)
        if (at->key[0] && !caption_list(at->parent, at)) path[depth++] = at;
    while (shown < depth && (shown == 0 || columns + path[shown]->label_width + 6 <= table->screen.width))
        columns += path[shown++]->label_width + 3;
    if (table->begun && shape->key[0]) screen_put(&table->screen, "\n");
    screen_colour(&table->screen, SCREEN_BOLD);
    if (shown < depth) screen_put(&table->screen, "…/ ");
    for (size_t i = shown; i-- > 0;) {
        const char *label = path[i]->label;
        screen_cut(&table->screen, label, strlen(label), table->screen.width, false);
        if (i > 0) screen_put(&table->screen, " / ");
    }
    screen_colour(&table->screen, SCREEN_PLAIN);
    table->section = NULL;
    table->begun = true;
    return columns;
}

/* The heading of a list or table, with its caption; ends the line. */
static void put_list_heading(struct table *table, const struct shape *list)
{
    char caption[CAPTION_SIZE] = "";
    size_t columns = put_heading(table, list);
    if (caption_list(list->parent, list)) write_caption(list->parent, caption);
    if (caption[0] && columns > 0) {
        bool room = columns + 2 + strlen(caption) <= table->screen.width;
        screen_put(&table->screen, room ? ": " : "\n");
        if (!room) screen_pad(&table->screen, SCREEN_INDENT);
    }
    screen_put(&table->screen, caption);
    if (caption[0] || list->key[0]) screen_put(&table->screen, "\n");
}

/* ---- sections ---- */

static size_t name_width(const struct table *table, const struct shape *section)
{
    size_t widest = 0;
    for (const struct shape *child = section->first; child; child = child->next)
        if (child->scalars && child->label_width > widest && !in_caption(child)) widest = child->label_width;
    return screen_name_width(&table->screen, widest);
}

static int on_open(void *context, struct shape *section)
{
    struct table *table = context;
    if (!section->key[0]) return 0;
    bool values = !section->first;
    for (const struct shape *child = section->first; child && !values; child = child->next)
        values = child->scalars > 0 && !in_caption(child);
    if (!values) return 0;
    put_heading(table, section);
    screen_put(&table->screen, "\n");
    table->section = section;
    return failure_of(table);
}

static int on_close(void *context, struct shape *section)
{
    (void)section;
    return failure_of(context);
}

static int on_value(void *context, struct shape *value, const char *text, size_t length)
{
    struct table *table = context;
    if (in_caption(value)) return 0;
    if (table->section != value->parent) { /* it comes after other sections */
        if (value->parent->key[0]) put_heading(table, value->parent);
        if (table->begun) screen_put(&table->screen, "\n");
        table->section = value->parent;
    }
    if (length == 0) text = "\"\"", length = 2;
    screen_pair(&table->screen, SCREEN_INDENT, value->label, name_width(table, value->parent), text, length);
    table->begun = true;
    table->shown = NULL;
    return failure_of(table);
}

static int on_empty(void *context, struct shape *empty)
{
    struct table *table = context;
    if (!empty->objects) put_list_heading(table, empty);
    screen_pad(&table->screen, SCREEN_INDENT);
    screen_put(&table->screen, "none\n");
    table->shown = NULL;
    return failure_of(table);
}

static int on_item(void *context, struct shape *list, const char *text, size_t length)
{
    struct table *table = context;
    if (table->shown != list) {
        put_list_heading(table, list);
        table->shown = list;
    }
    screen_pad(&table->screen, SCREEN_INDENT);
    screen_put(&table->screen, "- ");
    screen_wrapped(&table->screen, text, length, SCREEN_INDENT + 2);
    return failure_of(table);
}

/* ---- tables ---- */

static size_t map_name_width(const struct shape *map)
{
    size_t widest = 0;
    for (const struct shape *child = map->first; child; child = child->next)
        if (child->label_width > widest) widest = child->label_width;
    return widest;
}

/* Takes columns of text down to NARROWEST, widest first, until the row fits; false when it cannot. */
static bool fit_columns(struct table *table, const struct shape *shape, size_t used)
{
    while (used > table->screen.width) {
        size_t widest = SIZE_MAX, second = NARROWEST;
        for (size_t i = 0; i < shape->column_count; i++) {
            if (!shape->columns[i]->textual || table->widths[i] <= NARROWEST) continue;
            if (widest == SIZE_MAX || table->widths[i] > table->widths[widest]) {
                if (widest != SIZE_MAX) second = table->widths[widest];
                widest = i;
            } else if (table->widths[i] > second) {
                second = table->widths[i];
            }
        }
        if (widest == SIZE_MAX) return false;
        size_t over = used - table->screen.width, spare = table->widths[widest] - second;
        size_t cut = over < spare ? over : spare > 0 ? spare : 1;
        table->widths[widest] -= cut;
        used -= cut;
    }
    return true;
}

/* Columns of the longest word of a heading. */
static size_t word_width(const char *heading)
{
    size_t widest = 0;
    while (*heading) {
        size_t length = strcspn(heading, " "), width = terminal_width(heading, length);
        if (width > widest) widest = width;
        heading += length + (heading[length] == ' ');
    }
    return widest;
}

/* Widths of the columns for headings on one line, or broken between words; returns those of a row. */
static size_t measure(struct table *table, const struct shape *shape, bool broken)
{
    char heading[HEADING_SIZE];
    size_t used = SCREEN_INDENT + (shape->map ? map_name_width(shape) + SCREEN_GAP : 0);
    for (size_t i = 0; i < shape->column_count; i++) {
        size_t length = shape_column_heading(shape, shape->columns[i], heading, sizeof heading);
        size_t width = broken ? word_width(heading) : terminal_width(heading, length);
        table->widths[i] = shape->columns[i]->width > width ? shape->columns[i]->width : width;
        used += table->widths[i] + (i + 1 < shape->column_count ? SCREEN_GAP : 0);
    }
    return used;
}

/* The line of the headings that begins at these places in them; false when nothing was left. */
static bool put_heading_line(struct table *table, const struct shape *shape, size_t *places)
{
    char heading[HEADING_SIZE];
    bool more = false;
    screen_pad(&table->screen, SCREEN_INDENT);
    screen_colour(&table->screen, SCREEN_DIM);
    if (shape->map) screen_pad(&table->screen, map_name_width(shape) + SCREEN_GAP);
    for (size_t i = 0; i < shape->column_count; i++) {
        size_t length = shape_column_heading(shape, shape->columns[i], heading, sizeof heading);
        const char *rest = heading + places[i];
        size_t cut = screen_line(rest, length - places[i], table->widths[i]);
        screen_cell(&table->screen, rest, cut, table->widths[i],
                    (shape->columns[i]->textual ? CELL_LEFT : 0) |
                        (i + 1 == shape->column_count ? CELL_LAST : 0));
        places[i] += cut + (rest[cut] == ' ');
        more = more || places[i] < length;
    }
    screen_colour(&table->screen, SCREEN_PLAIN);
    screen_put(&table->screen, "\n");
    return more;
}

static int begin_table(struct table *table, const struct shape *shape)
{
    put_list_heading(table, shape);
    table->shown = shape;
    table->rows = 0;
    table->records = !fit_columns(table, shape, measure(table, shape, false)) &&
                     !fit_columns(table, shape, measure(table, shape, true));
    if (table->records) return 0;
    size_t *places = calloc(shape->column_count + 1, sizeof *places);
    if (!places) return ENOMEM;
    while (put_heading_line(table, shape, places))
        continue;
    free(places);
    return 0;
}

static int on_cell(void *context, struct shape *column, const char *text, size_t length)
{
    struct text *cell = &((struct table *)context)->cells[column->column_index];
    cell->length = 0;
    return text_add(cell, text, length);
}

static void put_grid_row(struct table *table, const struct shape *shape, const struct shape *name)
{
    screen_pad(&table->screen, SCREEN_INDENT);
    if (name) screen_cell(&table->screen, name->label, strlen(name->label), map_name_width(shape), CELL_LEFT);
    size_t column = SCREEN_INDENT + (name ? map_name_width(shape) + SCREEN_GAP : 0),
           last = shape->column_count - 1;
    for (size_t i = 0; i < last; i++) {
        const struct text *cell = &table->cells[i];
        screen_cell(&table->screen, cell->bytes, cell->length, table->widths[i],
                    (shape->columns[i]->textual ? CELL_LEFT : 0) | (shape->columns[i]->name ? CELL_NAME : 0));
        column += table->widths[i] + SCREEN_GAP;
    }
    /* The last one has nothing beside it: it is broken into lines, not cut. */
    const struct text *cell = &table->cells[last];
    if (!shape->columns[last]->textual)
        screen_cell(&table->screen, cell->bytes, cell->length, table->widths[last], CELL_LAST);
    if (shape->columns[last]->textual)
        screen_wrapped(&table->screen, cell->bytes, cell->length, column);
    else
        screen_put(&table->screen, "\n");
}

/* One line for each value of the row. */
static void put_record(struct table *table, const struct shape *shape, const struct shape *name)
{
    char heading[HEADING_SIZE], number[32];
    size_t widest = 0;
    for (size_t i = 0; i < shape->column_count; i++) {
        size_t length = shape_column_heading(shape, shape->columns[i], heading, sizeof heading);
        size_t width = terminal_width(heading, length);
        if (width > widest) widest = width;
    }
    widest = screen_name_width(&table->screen, widest);
    snprintf(number, sizeof number, "%llu", (unsigned long long)table->rows);
    screen_pad(&table->screen, SCREEN_INDENT);
    screen_colour(&table->screen, SCREEN_DIM);
    screen_put(&table->screen, name ? name->label : number);
    screen_colour(&table->screen, SCREEN_PLAIN);
    screen_put(&table->screen, "\n");
    for (size_t i = 0; i < shape->column_count; i++) {
        const struct text *cell = &table->cells[i];
        if (cell->length == 0) continue;
        shape_column_heading(shape, shape->columns[i], heading, sizeof heading);
        screen_pair(&table->screen, 2 * SCREEN_INDENT, heading, widest, cell->bytes, cell->length);
    }
}

static int on_row(void *context, struct shape *shape, const struct shape *name)
{
    struct table *table = context;
    if (table->shown != shape && begin_table(table, shape) != 0) return ENOMEM;
    table->rows++;
    bool hidden = screen_is_real(&table->screen) && table->rows > SCREEN_ROWS;
    if (hidden && table->rows == SCREEN_ROWS + 1) {
        char more[80];
        snprintf(more, sizeof more, "… %llu more: --format json has them all\n",
                 (unsigned long long)(shape->rows - SCREEN_ROWS));
        screen_pad(&table->screen, SCREEN_INDENT);
        screen_put(&table->screen, more);
    } else if (!hidden && table->records) {
        put_record(table, shape, name);
    } else if (!hidden) {
        put_grid_row(table, shape, name);
    }
    for (size_t i = 0; i < shape->column_count; i++)
        table->cells[i].length = 0;
    return failure_of(table);
}

static bool make_room(struct table *table, const struct shape *root)
{
    table->column_room = shape_most_columns(root);
    table->widths = calloc(table->column_room + 1, sizeof *table->widths);
    table->cells = calloc(table->column_room + 1, sizeof *table->cells);
    return table->widths && table->cells;
}

int table_write(const struct document *document, bool to_stdout, struct output *output)
{
    static const struct walk_handler show = {.open = on_open,
                                             .close = on_close,
                                             .value = on_value,
                                             .item = on_item,
                                             .empty = on_empty,
                                             .cell = on_cell,
                                             .row = on_row};
    struct table table = {.screen = screen_of(output, to_stdout)};
    struct walk walk;
    walk_start(&walk, &walk_learn, NULL, false);
    int failure = walk_document(&walk, document);
    if (!failure && (!shape_columns(&walk.root) || !make_room(&table, &walk.root))) failure = ENOMEM;
    if (!failure) {
        walk_again(&walk, &show, &table);
        failure = walk_document(&walk, document);
    }
    walk_free(&walk);
    for (size_t i = 0; table.cells && i < table.column_room; i++)
        free(table.cells[i].bytes);
    free(table.cells);
    free(table.widths);
    return failure;
}
