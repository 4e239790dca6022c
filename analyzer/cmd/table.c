/* Tables for people. */
#include "analyzer/cmd/table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "analyzer/cmd/table_walk.h"

enum {
    INDENT = 2,
    GAP = 2,           /* between columns */
    NARROWEST = 12,    /* a column of text is cut down to this */
    SCREEN_ROWS = 100, /* rows of one table on a screen */
    WIDEST_LABEL = 40, /* names of values are padded to at most this */
};

static const char bold[] = "\033[1m", dim[] = "\033[2m", red[] = "\033[31m", yellow[] = "\033[33m",
                  green[] = "\033[32m", plain[] = "\033[0m";

struct table {
    struct output *output;
    size_t width; /* of the screen; SIZE_MAX: none */
    bool colour;
    size_t blanks;               /* held back */
    bool begun;                  /* something was printed */
    const struct shape *section; /* whose values were printed last */
    const struct shape *shown;   /* the table whose header was printed last */
    uint64_t rows;               /* of it, so far */
    size_t widths[256];          /* of its columns */
    bool records;                /* it is written member by member */
    struct text cells[256];      /* of the row that comes */
};

/* Blanks are held back until something follows them, so that no line ends in one. */
static void put_bytes(struct table *table, const char *text, size_t length)
{
    static const char blanks[] = "                                ";
    if (length == 0) return;
    if (text[0] == '\n') table->blanks = 0;
    while (table->blanks > 0) {
        size_t some = table->blanks < sizeof blanks - 1 ? table->blanks : sizeof blanks - 1;
        output_write(table->output, blanks, some);
        table->blanks -= some;
    }
    output_write(table->output, text, length);
}

static void put(struct table *table, const char *text)
{
    put_bytes(table, text, strlen(text));
}

static void pad(struct table *table, size_t columns)
{
    table->blanks += columns;
}

static void colour(struct table *table, const char *sequence)
{
    if (table->colour) put(table, sequence);
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

static void put_caption(struct table *table, const struct shape *section)
{
    const struct shape *matched = member(section, "matched"), *offset = member(section, "offset"),
                       *next = member(section, "next_offset");
    uint64_t total = member(section, "total")->number, of = matched ? matched->number : total;
    char text[160];
    int used = snprintf(text, sizeof text, "%llu of %llu",
                        (unsigned long long)member(section, "displayed")->number, (unsigned long long)of);
    if (of != total)
        used += snprintf(text + used, sizeof text - (size_t)used, " that match, %llu in all",
                         (unsigned long long)total);
    if (offset && offset->number)
        used += snprintf(text + used, sizeof text - (size_t)used, ", from %llu on",
                         (unsigned long long)offset->number);
    if (next && !next->nulls)
        snprintf(text + used, sizeof text - (size_t)used, "; more: --offset %llu",
                 (unsigned long long)next->number);
    put(table, text);
}

/* ---- names ---- */

static void put_name(struct table *table, const char *name, size_t length)
{
    for (size_t i = 0; i < length; i++)
        put_bytes(table, name[i] == '_' ? " " : &name[i], 1);
}

/* The name of a member as a heading: all keys that lead to it. */
static void put_heading(struct table *table, const struct shape *shape)
{
    const struct shape *path[64];
    size_t depth = 0;
    for (const struct shape *at = shape; at && depth < 64; at = at->parent)
        if (at->key[0] && !caption_list(at->parent, at)) path[depth++] = at;
    if (table->begun && (depth || shape->key[0])) put(table, "\n");
    colour(table, bold);
    for (size_t i = depth; i-- > 0;) {
        put_name(table, path[i]->key, path[i]->bare);
        if (i > 0) put(table, " / ");
    }
    colour(table, plain);
    table->section = NULL;
    table->begun = true;
}

/* Verdicts stand out; everything else is plain. */
static const char *verdict_colour(const char *text, size_t length)
{
    static const struct {
        const char *word, *sequence;
    } verdicts[] = {
        {"complete", green}, {"available", green}, {"present", green}, {"bound", green},
        {"partial", yellow}, {"warning", yellow},  {"zero", yellow},   {"unavailable", dim},
        {"missing", yellow}, {"invalid", red},     {"error", red},     {"failed", red},
        {"non_finite", red}, {"mismatch", red},
    };
    for (size_t i = 0; i < sizeof verdicts / sizeof *verdicts; i++)
        if (strlen(verdicts[i].word) == length && memcmp(verdicts[i].word, text, length) == 0)
            return verdicts[i].sequence;
    return NULL;
}

static void put_value(struct table *table, const char *text, size_t length)
{
    const char *sequence = table->colour ? verdict_colour(text, length) : NULL;
    if (sequence) put(table, sequence);
    put_bytes(table, text, length);
    if (sequence) put(table, plain);
}

/* Writes text from column on, broken between words; further lines begin at the same column. */
static void put_wrapped(struct table *table, const char *text, size_t length, size_t column)
{
    size_t room = table->width > column + 10 ? table->width - column : 10;
    while (length > 0) {
        size_t fit = terminal_fit(text, length, room), cut = fit;
        if (fit == 0) fit = cut = length; /* a character wider than the screen */
        if (fit < length) {
            while (cut > 0 && text[cut] != ' ')
                cut--;
            if (cut == 0) cut = fit;
        }
        put_value(table, text, cut);
        text += cut;
        length -= cut;
        while (length > 0 && *text == ' ') {
            text++;
            length--;
        }
        put(table, "\n");
        if (length > 0) pad(table, column);
    }
}

/* ---- sections ---- */

/* Columns that the names of a section's values take. */
static size_t label_width(const struct shape *section)
{
    size_t widest = 0;
    for (const struct shape *child = section->first; child; child = child->next)
        if (child->scalars && child->bare > widest && !in_caption(child)) widest = child->bare;
    return widest < WIDEST_LABEL ? widest : WIDEST_LABEL;
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
    put(table, "\n");
    table->section = section;
    return table->output->failure;
}

static int on_close(void *context, struct shape *section)
{
    (void)section;
    return ((struct table *)context)->output->failure;
}

static void put_label(struct table *table, const struct shape *value)
{
    size_t width = label_width(value->parent);
    pad(table, INDENT);
    put_name(table, value->key, value->bare);
    pad(table, (width > value->bare ? width - value->bare : 0) + GAP);
}

static size_t value_column(const struct shape *value)
{
    size_t width = label_width(value->parent);
    return INDENT + (width > value->bare ? width : value->bare) + GAP;
}

static int on_value(void *context, struct shape *value, const char *text, size_t length)
{
    struct table *table = context;
    if (in_caption(value)) return 0;
    if (table->section != value->parent) { /* it comes after other sections */
        if (table->begun && !value->parent->key[0]) put(table, "\n");
        if (value->parent->key[0]) put_heading(table, value->parent);
        if (value->parent->key[0]) put(table, "\n");
        table->section = value->parent;
    }
    put_label(table, value);
    if (length == 0)
        put(table, "\"\"\n");
    else
        put_wrapped(table, text, length, value_column(value));
    table->begun = true;
    table->shown = NULL;
    return table->output->failure;
}

/* The heading of a list or table, with its caption; ends the line. */
static void put_list_heading(struct table *table, const struct shape *list)
{
    bool caption = caption_list(list->parent, list) != NULL;
    put_heading(table, list);
    if (caption && list->parent->key[0]) put(table, ": ");
    if (caption) put_caption(table, list->parent);
    if (caption || list->key[0]) put(table, "\n");
}

static int on_empty(void *context, struct shape *empty)
{
    struct table *table = context;
    if (!empty->objects) put_list_heading(table, empty);
    pad(table, INDENT);
    put(table, "none\n");
    table->shown = NULL;
    return table->output->failure;
}

static int on_item(void *context, struct shape *list, const char *text, size_t length)
{
    struct table *table = context;
    if (table->shown != list) {
        put_list_heading(table, list);
        table->shown = list;
        table->rows = 0;
    }
    pad(table, INDENT);
    put(table, "- ");
    put_wrapped(table, text, length, INDENT + 2);
    return table->output->failure;
}

/* ---- tables ---- */

enum { HEADER_SIZE = 256 };

/* A column's heading: its keys, without the unit. */
static size_t column_heading(const struct shape *table_shape, const struct shape *column,
                             char heading[HEADER_SIZE])
{
    size_t length = shape_column_name(table_shape, column, heading, HEADER_SIZE);
    size_t unit = strlen(column->key) - column->bare;
    if (length > unit) length -= unit;
    for (size_t i = 0; i < length; i++)
        if (heading[i] == '_') heading[i] = ' ';
    return length;
}

static size_t name_width(const struct shape *map)
{
    size_t widest = 0;
    for (const struct shape *child = map->first; child; child = child->next)
        if (strlen(child->key) > widest) widest = strlen(child->key);
    return widest;
}

/* Takes columns of text down to NARROWEST, widest first, until the row fits; false when it cannot. */
static bool fit_columns(struct table *table, const struct shape *shape, size_t used)
{
    while (used > table->width) {
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
        size_t over = used - table->width, spare = table->widths[widest] - second;
        size_t cut = over < spare ? over : spare > 0 ? spare : 1;
        table->widths[widest] -= cut;
        used -= cut;
    }
    return true;
}

static void lay_out(struct table *table, const struct shape *shape)
{
    char heading[HEADER_SIZE];
    size_t used = INDENT + (shape->map ? name_width(shape) + GAP : 0);
    for (size_t i = 0; i < shape->column_count; i++) {
        size_t width = column_heading(shape, shape->columns[i], heading);
        table->widths[i] = shape->columns[i]->width > width ? shape->columns[i]->width : width;
        used += table->widths[i] + (i + 1 < shape->column_count ? GAP : 0);
    }
    table->records = !fit_columns(table, shape, used);
}

static void put_cell(struct table *table, const char *text, size_t length, size_t width, bool left, bool last)
{
    size_t columns = terminal_width(text, length);
    if (columns > width) {
        size_t fit = terminal_fit(text, length, width - 1);
        put_bytes(table, text, fit);
        put(table, "…");
        columns = terminal_width(text, fit) + 1;
        length = 0;
        left = true;
    }
    if (!left) pad(table, width - columns);
    if (length) put_value(table, text, length);
    if (left && !last) pad(table, width - columns);
    if (!last) pad(table, GAP);
}

static void begin_table(struct table *table, const struct shape *shape)
{
    char heading[HEADER_SIZE];
    put_list_heading(table, shape);
    lay_out(table, shape);
    table->shown = shape;
    table->rows = 0;
    if (table->records) return;
    pad(table, INDENT);
    colour(table, dim);
    if (shape->map) pad(table, name_width(shape) + GAP);
    for (size_t i = 0; i < shape->column_count; i++) {
        size_t length = column_heading(shape, shape->columns[i], heading);
        put_cell(table, heading, length, table->widths[i], shape->columns[i]->textual,
                 i + 1 == shape->column_count);
    }
    colour(table, plain);
    put(table, "\n");
}

static int on_cell(void *context, struct shape *column, const char *text, size_t length)
{
    struct table *table = context;
    if (column->column_index >= sizeof table->cells / sizeof *table->cells) return EOVERFLOW;
    struct text *cell = &table->cells[column->column_index];
    cell->length = 0;
    return text_add(cell, text, length);
}

static void put_grid_row(struct table *table, const struct shape *shape, const char *name)
{
    pad(table, INDENT);
    if (name) {
        put_name(table, name, strlen(name));
        pad(table, name_width(shape) - strlen(name) + GAP);
    }
    for (size_t i = 0; i < shape->column_count; i++) {
        const struct text *cell = &table->cells[i];
        put_cell(table, cell->bytes, cell->length, table->widths[i], shape->columns[i]->textual,
                 i + 1 == shape->column_count);
    }
    put(table, "\n");
}

/* One line for each value of the row. */
static void put_record(struct table *table, const struct shape *shape, const char *name)
{
    char heading[HEADER_SIZE], number[32];
    size_t widest = 0;
    for (size_t i = 0; i < shape->column_count; i++) {
        size_t width = column_heading(shape, shape->columns[i], heading);
        if (width > widest) widest = width;
    }
    pad(table, INDENT);
    snprintf(number, sizeof number, "%llu", (unsigned long long)table->rows);
    colour(table, dim);
    if (name)
        put_name(table, name, strlen(name));
    else
        put(table, number);
    colour(table, plain);
    put(table, "\n");
    for (size_t i = 0; i < shape->column_count; i++) {
        if (table->cells[i].length == 0) continue;
        size_t length = column_heading(shape, shape->columns[i], heading);
        pad(table, 2 * INDENT);
        put_bytes(table, heading, length);
        pad(table, widest - length + GAP);
        put_wrapped(table, table->cells[i].bytes, table->cells[i].length, 2 * INDENT + widest + GAP);
    }
}

static int on_row(void *context, struct shape *shape, const char *name)
{
    struct table *table = context;
    if (shape->column_count > sizeof table->widths / sizeof *table->widths) return EOVERFLOW;
    if (table->shown != shape) begin_table(table, shape);
    table->rows++;
    bool screen = table->width != SIZE_MAX;
    if (screen && table->rows > SCREEN_ROWS) {
        char more[80];
        snprintf(more, sizeof more, "… %llu more: --format json or csv shows them all\n",
                 (unsigned long long)(shape->rows - SCREEN_ROWS));
        if (table->rows == SCREEN_ROWS + 1) {
            pad(table, INDENT);
            put(table, more);
        }
    } else if (table->records) {
        put_record(table, shape, name);
    } else {
        put_grid_row(table, shape, name);
    }
    for (size_t i = 0; i < shape->column_count; i++)
        table->cells[i].length = 0;
    return table->output->failure;
}

/* ---- both passes ---- */

static int no_section(void *context, struct shape *shape)
{
    (void)context, (void)shape;
    return 0;
}
static int no_text(void *context, struct shape *shape, const char *text, size_t length)
{
    (void)context, (void)shape, (void)text, (void)length;
    return 0;
}
static int no_row(void *context, struct shape *shape, const char *name)
{
    (void)context, (void)shape, (void)name;
    return 0;
}
const struct walk_handler walk_learn = {.open = no_section,
                                        .close = no_section,
                                        .value = no_text,
                                        .item = no_text,
                                        .empty = no_section,
                                        .cell = no_text,
                                        .row = no_row};

int walk_document(struct walk *walk, const struct document *document)
{
    struct json_events events;
    json_events_start(&events, walk_event, walk);
    struct json_doc *doc = doc_start(DOC_COMPACT, DOC_DECLARED, json_events_sink, &events);
    if (!doc) return ENOMEM;
    (document->people ? document->people : document->emit)(doc, document->object);
    int failure = doc_finish(doc);
    json_events_end(&events);
    return failure;
}

static size_t screen_width(void)
{
    struct winsize size;
    const char *columns = getenv("COLUMNS");
    if (columns && atoi(columns) > 0) return (size_t)atoi(columns);
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
    return 80;
}

static bool want_colour(void)
{
    const char *no_colour = getenv("NO_COLOR"), *terminal = getenv("TERM");
    return !(no_colour && *no_colour) && !(terminal && strcmp(terminal, "dumb") == 0);
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
    struct table *table = calloc(1, sizeof *table);
    if (!table) return ENOMEM;
    bool screen = to_stdout && isatty(STDOUT_FILENO);
    table->output = output;
    table->width = screen ? screen_width() : SIZE_MAX;
    table->colour = screen && want_colour();

    struct walk walk;
    walk_start(&walk, &walk_learn, NULL, false);
    int failure = walk_document(&walk, document);
    if (!failure && !shape_columns(&walk.root)) failure = ENOMEM;
    if (!failure) {
        walk_again(&walk, &show, table);
        failure = walk_document(&walk, document);
    }
    walk_free(&walk);
    for (size_t i = 0; i < sizeof table->cells / sizeof *table->cells; i++)
        free(table->cells[i].bytes);
    free(table);
    return failure;
}
