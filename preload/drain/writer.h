/* The writer: one thread that turns what the rings hold into lines of `.part` (common/capture.h says in which
 * order). */
#ifndef CGTRACE_PRELOAD_DRAIN_WRITER_H
#define CGTRACE_PRELOAD_DRAIN_WRITER_H

#include <stdbool.h>

/* Memory and first lines, in the buffer; 0, or an errno. Then the thread, which waits; a thread that cannot
 * be had is no error: writer_finish() does its work. Then it begins. */
int writer_open(void);
void writer_start(void);
void writer_go(void);

/* Asks the writer to look now. Callable from any thread, any time: a store, and a system call when it sleeps.
 */
void writer_wake(void);

/* Waits until everything that was committed before is in `.part` and published. False: it cannot be written.
 */
bool writer_flush(void);

/* Drains, ends the trace, puts it in place or leaves it for recovery: writer.error. False: the time was over,
 * and it still works; the capture file and `.part` stay. */
struct session_end;
bool writer_finish(const struct session_end *end);

#endif
