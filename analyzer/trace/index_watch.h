/* Whether somebody writes into an index while it is mapped. What was held against its checksums and bounds
 * may be anything then: nothing holds of what is made of it. A file that is replaced, as cg-analyze itself
 * does it, stays as it was for those who have it mapped. */
#ifndef CGTRACE_ANALYZER_TRACE_INDEX_WATCH_H
#define CGTRACE_ANALYZER_TRACE_INDEX_WATCH_H

#include <stdbool.h>

#define INDEX_WATCH_TEXT "an index was written into while it was looked at"

/* One file. Not freed before the process ends: a signal's handler may look at it. */
struct index_watch;

/* Begins to watch, before anything of the file is looked at; the descriptor stays the caller's. NULL with
 * errno.
 */
struct index_watch *index_watch_begin(int fd);
/* From now on what the program says rests on the file. False when it was written into since it is watched. */
bool index_watch_rely(struct index_watch *watch);
/* NULL: nothing. */
void index_watch_end(struct index_watch *watch);

/* Whether a file that is watched was written into. Safe in a signal's handler. */
bool index_watch_any_written(void);
/* Whether one was that something rests on, or rested. */
bool index_watch_broken(void);

#endif
