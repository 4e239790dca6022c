/* Inputs that a program left unfinished: its capture file read as the trace that recovery makes of it. */
#ifndef CGTRACE_ANALYZER_CMD_RECOVERED_INPUT_H
#define CGTRACE_ANALYZER_CMD_RECOVERED_INPUT_H

#include "analyzer/trace/trace.h"

/* The capture file that path stands for: path itself (FILE.cgt), the one beside FILE.part, or the one beside
 * the trace FILE that is not there. The caller's; NULL: none, or memory is short. */
char *capture_of_input(const char *path);

/* Makes the trace, of a program that still runs too, in a folder of its own for temporary files, and says so
 * on standard error. *trace_path is ended with recovered_input_remove(). 0 or the status of *error. */
int recovered_input_make(const char *capture, char **trace_path, struct cg_error *error);
/* Removes the trace and its folder; NULL is allowed. */
void recovered_input_remove(char *trace_path);

#endif
