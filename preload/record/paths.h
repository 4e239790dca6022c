/* Names and places of a session's files. */
#ifndef CGTRACE_PRELOAD_RECORD_PATHS_H
#define CGTRACE_PRELOAD_RECORD_PATHS_H

#include <stdbool.h>
#include <stddef.h>

/* Creates `.part` (session.part) under a name that is free, and sets session.trace_path to the absolute path
 * of the trace that it will become. 0, or an errno; *path then tells what could not be made. */
int paths_create_part(const char **path);

/* Creates the capture file (session.capture) and takes its first `bytes`: beside the trace where shared
 * mappings are safe there, else in /dev/shm, $TMPDIR, /tmp or memory. 0, or an errno. *elsewhere: it is not
 * beside the trace. */
int paths_create_capture(size_t bytes, bool *elsewhere);

/* Renames `.part` to the trace, or to a numbered name when something has taken that; session.trace_path is
 * where it went. 0, or an errno. */
int paths_place_trace(void);

/* The name of all traces of this process, with * for the number. */
void paths_pattern(char *out, size_t size);

#endif
