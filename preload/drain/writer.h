/* The writer: one thread that turns what the rings hold into lines of `.part` (common/capture.h says in which
 * order). */
#ifndef CGTRACE_PRELOAD_DRAIN_WRITER_H
#define CGTRACE_PRELOAD_DRAIN_WRITER_H

#include <stdbool.h>

/* Memory and first lines; then the thread. A thread that cannot be had is no error: writer_finish() does its
 * work. 0, or an errno. */
int writer_open(void);
void writer_start(void);

/* Asks the writer to look now. Callable from any thread, any time: a store, and a system call when it sleeps.
 */
void writer_wake(void);

/* Drains, ends the trace, puts it in place. limit_ms: how long to wait at most, 0: as long as there is
 * progress. how: the word for terminal.end. False: the time was over, or it could not be written; the capture
 * file and `.part` stay. */
bool writer_finish(unsigned limit_ms, const char *how);

#endif
