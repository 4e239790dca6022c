/* What may take the calling thread away is held back while it has a lock of ours, or makes a file: a signal's
 * handler that jumps out, ends the thread, forks or calls us again, and its cancellation, would leave the
 * lock taken and what it guards half done. Two system calls, about 100 ns each: not for the fastest paths,
 * which have record/owned.h. */
#ifndef CGTRACE_PRELOAD_SIGNALS_H
#define CGTRACE_PRELOAD_SIGNALS_H

#include <signal.h>

/* From here to signals_release() no handler runs on this thread, and it is not cancelled. Nests. The signals
 * of faults are let through: when such a one is blocked the kernel ends the process. */
void signals_hold(void);
void signals_release(void);

/* The same to the end of the block. */
static inline void signals_release_block(const int *unused)
{
    (void)unused;
    signals_release();
}
#define SIGNALS_HELD                                                                                         \
    __attribute__((cleanup(signals_release_block), unused)) const int signals_held = (signals_hold(), 0)

/* For what may take long, such as waiting for the device: opens, writes and waits in there are no points of
 * cancellation, and handlers run. When one jumps out, signals_left() puts it right. To the end of the block.
 */
void cancel_hold(void);
void cancel_release(void);
static inline void cancel_release_block(const int *unused)
{
    (void)unused;
    cancel_release();
}
#define CANCEL_HELD                                                                                          \
    __attribute__((cleanup(cancel_release_block), unused)) const int cancel_held = (cancel_hold(), 0)

/* The calling thread's last call was left for good. */
void signals_left(void);

/* What the program has blocked on this thread, held back or not. */
void signals_of_program(sigset_t *blocked);

#endif
