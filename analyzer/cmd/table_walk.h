/* A document as people see it: sections of named values, lists, and tables of rows. The walk goes over the
 * events of a document twice: the first time it learns which members, columns and widths there are, the
 * second time it prints. So a table of any length needs no memory but its shape. */
#ifndef CGTRACE_ANALYZER_CMD_TABLE_WALK_H
#define CGTRACE_ANALYZER_CMD_TABLE_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/cmd/json_events.h"
#include "analyzer/cmd/units.h"

/* One member, the same for all elements of an array. */
struct shape {
    char *key;   /* "" for the document and for elements of arrays */
    char *label; /* for people: without its unit, safe on a terminal */
    size_t label_width;
    enum unit unit;
    bool name; /* its value is a name, a path or an id */
    struct shape *parent, *first, *last, *next;

    size_t scalars, objects, arrays; /* how often it was each; null is a scalar */
    size_t nulls;
    uint64_t number; /* the last whole number that it was */
    size_t width;    /* widest text, in columns */
    bool textual;    /* some value was a text or a list: left-aligned */

    /* of an array of objects, or of an object shown as a table, its columns */
    bool table, map;
    uint64_t rows;
    struct shape **columns;
    size_t column_count, column_index; /* index: of a column in its table */
};

struct text {
    char *bytes;
    size_t length, room;
};
/* 0 or ENOMEM */
int text_add(struct text *text, const char *bytes, size_t length);

/* What a walk meets. Texts are ready for the terminal and valid during the call. 0 or an errno value. */
struct walk_handler {
    int (*open)(void *context, struct shape *section);
    int (*close)(void *context, struct shape *section);
    int (*value)(void *context, struct shape *member, const char *text, size_t length);
    int (*item)(void *context, struct shape *list, const char *text, size_t length);
    int (*empty)(void *context, struct shape *member); /* {} or [] */
    int (*cell)(void *context, struct shape *column, const char *text, size_t length);
    /* All cells of a row have come. name is the member that a row of a map is, else NULL. */
    int (*row)(void *context, struct shape *table, const struct shape *name);
};

enum walk_role { WALK_SECTION, WALK_LIST, WALK_ROW, WALK_PART, WALK_CELL };
struct walk_frame {
    enum walk_role role;
    bool array, any; /* any: a member has come */
    struct shape *shape;
};
struct walk {
    const struct walk_handler *handler;
    void *context;
    bool again; /* the second pass: nothing is learnt */
    bool raw;   /* values as in JSON, without units and unescaped: for CSV */
    struct shape root;
    struct walk_frame frames[64];
    unsigned depth;
    struct shape *member; /* the member whose value is next */
    struct text scratch, cell;
};

void walk_start(struct walk *walk, const struct walk_handler *handler, void *context, bool raw);
/* Before the document comes again. */
void walk_again(struct walk *walk, const struct walk_handler *handler, void *context);
void walk_free(struct walk *walk);
json_event_handler walk_event;

struct document;
/* Sends a document through the walk once; 0 or an errno value. */
int walk_document(struct walk *walk, const struct document *document);
/* The handler of the first pass: the walk learns by itself. */
extern const struct walk_handler walk_learn;

/* After the first pass: finds the tables and their columns. False when memory is short. */
bool shape_columns(struct shape *root);
/* The number of columns of the table that has most. */
size_t shape_most_columns(const struct shape *root);
/* The same as shape_column_name() for people: labels instead of keys. */
size_t shape_column_heading(const struct shape *table, const struct shape *column, char *out, size_t size);
/* Name of a column of a table: keys from the row on, joined by dots. Returns the length. */
size_t shape_column_name(const struct shape *table, const struct shape *column, char *out, size_t size);

#endif
