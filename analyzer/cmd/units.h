/* Values as people read them, and texts as a terminal may show them. */
#ifndef CGTRACE_ANALYZER_CMD_UNITS_H
#define CGTRACE_ANALYZER_CMD_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum unit { UNIT_NONE, UNIT_BYTES, UNIT_NANOSECONDS };

/* The unit of a member, told by its key ("peak_live_bytes", "busy_ns"), and how many bytes of the key are
 * left when the unit is taken off its end. */
enum unit unit_of_key(const char *key, size_t length, size_t *bare);

/* Is it the key of a map, whose members are named by data (tags, devices) and not by the format? */
bool key_names_map(const char *key);

/* Is the value of that key a name, a path or an id: something that a program, a run or a file system has
 * called so? */
bool key_holds_name(const char *key);

/* A count of bytes in B, KiB to EiB, or of nanoseconds in ns, µs, ms, s; three to four figures, exact below
 * the first step. Returns the length. */
enum { UNIT_TEXT_SIZE = 32 };
size_t unit_text(char text[UNIT_TEXT_SIZE], enum unit unit, uint64_t value);

/* Columns that UTF-8 text takes on the screen. */
size_t terminal_width(const char *text, size_t length);
/* How many bytes of text fit into so many columns. */
size_t terminal_fit(const char *text, size_t length, size_t columns);
/* How many bytes at its end do, without marks that combine with what stands before them. */
size_t terminal_fit_end(const char *text, size_t length, size_t columns);

#endif
