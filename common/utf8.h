/* UTF-8: well-formedness, and white space at the ends of a text (doc/spec/trace.md 0 and 1). */
#ifndef CGTRACE_COMMON_UTF8_H
#define CGTRACE_COMMON_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Length in bytes (1 to 4) of the well-formed sequence at the start of bytes, 0 when there is none: no
 * surrogates, no overlong forms, nothing over U+10FFFF, nothing cut off by left. Source: The Unicode
 * Standard, table 3-7. */
unsigned utf8_sequence(const char *bytes, size_t left);

/* Length of the longest well-formed beginning; equal to length when all is well-formed. */
size_t utf8_valid_length(const char *bytes, size_t length);

/* Length of the White_Space character at the start of bytes, 0 when there is none. */
unsigned utf8_space(const char *bytes, size_t left);

/* Removes White_Space characters at both ends. */
void utf8_trim(const char **bytes, size_t *length);

/* Nothing but White_Space, or empty. */
bool utf8_blank(const char *bytes, size_t length);

/* Copies text for a terminal: controls (U+0000 to U+001F, U+007F to U+009F), those that order text anew
 * (U+202A to U+202E, U+2066 to U+2069) and bytes that are no part of a well-formed sequence as \xNN. What
 * comes out is UTF-8 of one line, sends the terminal no escape sequences, and reads in the order that it has.
 * At most room - 1 bytes, cut between characters, and a NUL; with room for 4 * length + 1 nothing is cut.
 * Returns its length. Safe in a signal handler. */
size_t utf8_shown(char *out, size_t room, const char *text, size_t length);

/* Writes a code point (not a surrogate, at most U+10FFFF); returns its 1 to 4 bytes. */
unsigned utf8_encode(uint32_t code, char out[4]);

#endif
