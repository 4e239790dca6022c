/* Text on a screen of some width: blanks, colours, wrapped values, cells. */
#ifndef CGTRACE_ANALYZER_CMD_SCREEN_H
#define CGTRACE_ANALYZER_CMD_SCREEN_H

#include <stdbool.h>

#include "analyzer/cmd/output.h"
#include "analyzer/cmd/units.h"

struct screen {
    struct output *output;
    size_t width; /* SIZE_MAX: no screen, nothing is cut or wrapped */
    bool colour;
    size_t blanks; /* held back until something follows them, so that no line ends in one */
};

enum { SCREEN_INDENT = 2, SCREEN_GAP = 2 };
enum screen_colour { SCREEN_PLAIN, SCREEN_BOLD, SCREEN_DIM };
/* How a cell stands in its row (bits). CELL_NAME: what has no room loses its middle, not its end. */
enum { CELL_LEFT = 1, CELL_LAST = 2, CELL_NAME = 4 };

/* on_stdout: the output is standard output, which may be a terminal. Width from COLUMNS, else from the
 * terminal; colours unless NO_COLOR is set or TERM is dumb. */
struct screen screen_of(struct output *output, bool on_stdout);
bool screen_is_real(const struct screen *screen);

void screen_put(struct screen *screen, const char *text);
void screen_put_bytes(struct screen *screen, const char *text, size_t length);
/* Text of at most so many columns; returns those that it took. "…" stands for what is left out of a longer
 * one: the end, or of a name the middle, since names that begin alike (paths of spans, kernels of one
 * library) are told apart by their ends. */
size_t screen_cut(struct screen *screen, const char *text, size_t length, size_t columns, bool name);
void screen_pad(struct screen *screen, size_t columns);
void screen_colour(struct screen *screen, enum screen_colour colour);

/* Bytes of text for one line of so many columns: up to the last blank that fits, else as many as fit. */
size_t screen_line(const char *text, size_t length, size_t room);
/* Writes text from column on, broken between words, and ends the line; further lines begin at column.
 * Verdicts ("complete", "failed") are coloured. */
void screen_wrapped(struct screen *screen, const char *text, size_t length, size_t column);
/* A name and its value: the name padded to width columns, on a line of its own when it is wider. */
void screen_pair(struct screen *screen, size_t indent, const char *name, size_t width, const char *text,
                 size_t length);
/* The most columns that names may take before their values. */
size_t screen_name_width(const struct screen *screen, size_t widest);
/* Text cut to width columns and padded to them, then a gap unless it is the last of its row; how: CELL_ bits.
 */
void screen_cell(struct screen *screen, const char *text, size_t length, size_t width, unsigned how);

#endif
