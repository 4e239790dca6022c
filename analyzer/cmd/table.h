/* Results for people and for spreadsheets. */
#ifndef CGTRACE_ANALYZER_CMD_TABLE_H
#define CGTRACE_ANALYZER_CMD_TABLE_H

#include "analyzer/cmd/document.h"
#include "analyzer/cmd/output.h"

/* Sections of named values and tables, with units. On a screen (standard output is a terminal) no line is
 * wider than it, columns that have no room are cut or rows written member by member, long tables are cut to
 * their first rows, and colours are used unless NO_COLOR is set. 0 or an errno value. */
int table_write(const struct document *document, bool to_stdout, struct output *output);

/* RFC 4180, one header line, numbers in full, an empty field for what is absent or null. 0 or an errno value.
 */
int csv_write(const struct document *document, struct output *output);

#endif
