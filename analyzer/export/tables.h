/* The records of a trace as tables of plain values: one for each kind of record, one for the run, one for the
 * frames of stacks. Made from common/event_table.h. */
#ifndef CGTRACE_ANALYZER_EXPORT_TABLES_H
#define CGTRACE_ANALYZER_EXPORT_TABLES_H

#include "analyzer/trace/trace.h"

enum { TABLE_COLUMNS_MAX = 48 };

enum column_type {
    COLUMN_TEXT,
    COLUMN_U64,
    COLUMN_F64,
    COLUMN_BOOL,
    COLUMN_ENUM,
    COLUMN_U64_LIST, /* as JSON text */
    COLUMN_STR_LIST, /* as JSON text */
    COLUMN_STACK     /* as the stack's id */
};

/* offset and set are of pointers to columns in struct cg_trace; of the run, of the values themselves. */
struct column {
    const char *name;
    enum column_type type;
    bool optional_enum;       /* value + 1, 0 when absent */
    size_t offset, set;       /* set: 0 for none */
    const char *const *words; /* COLUMN_ENUM */
};

struct table {
    const char *name, *about;
    const struct column *columns;
    size_t column_count;
    size_t rows; /* offset of the number of rows; 0: one row, or the frames of stacks */
};

enum cell_type { CELL_ABSENT, CELL_TEXT, CELL_U64, CELL_F64, CELL_BOOL };
struct cell {
    enum cell_type type;
    struct cg_text text;
    uint64_t u64; /* CELL_BOOL: 0 or 1 */
    double f64;
};

extern const struct table tables[];
extern const size_t table_count;

/* Calls row for each record of the table in the trace's order, with a cell for each column, valid during the
 * call; row returns 0 or an errno value, which ends it. Returns that, ENOMEM, or 0. */
int table_each(const struct cg_trace *trace, const struct table *table,
               int (*row)(void *context, const struct cell *cells), void *context);

#endif
