/* Lines for the user, on the standard error that the program was started with. */
#ifndef CGTRACE_PRELOAD_SAY_H
#define CGTRACE_PRELOAD_SAY_H

#include <stdbool.h>
#include <stdint.h>

/* Remembers what descriptor 2 is now. */
void say_init(void);
/* Writes "cgtrace: " and the parts, up to a NULL, as one line; nothing when quiet, or when descriptor 2 is no
 * longer what it was at say_init(). */
void say(int quiet, ...) __attribute__((sentinel));
/* value in decimal digits, in text (21 bytes); returns text. */
const char *say_u64(char text[21], uint64_t value);
/* What an errno means, in English whatever the locale. */
const char *say_error(int error);

#endif
