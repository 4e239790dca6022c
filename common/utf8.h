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

/* Puts '?' in place of every byte of a control (U+0000 to U+001F, U+007F to U+009F) up to the NUL: a line for a
 * terminal stays one, and sends it no escape sequences. */
void utf8_no_controls(char *text);

/* Writes a code point (not a surrogate, at most U+10FFFF); returns its 1 to 4 bytes. */
unsigned utf8_encode(uint32_t code, char out[4]);

#endif
