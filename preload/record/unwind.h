/* The return addresses of the calling thread's calls. */
#ifndef CGTRACE_PRELOAD_RECORD_UNWIND_H
#define CGTRACE_PRELOAD_RECORD_UNWIND_H

#include <stdbool.h>
#include <stdint.h>

/* Opens the unwinder, once for the process. Calls dlopen: off the hot path. stays: whether the code at an
 * address is there until unwind_forget() is called; of other code, such as a just-in-time compiler's, nothing
 * is kept. */
void unwind_open(bool (*stays)(uintptr_t address));

/* Which one answers: libgcc or none. */
const char *unwind_name(void);

/* The addresses, innermost first, at most limit of them; returns how many. Calls of this library come first.
 * None on a stack that the program has made itself (a coroutine's, an alternate signal stack). The first call
 * of a thread asks libc for the thread's stack, which allocates from the heap.
 * steady: no code is being unloaded, so that what was learned of addresses holds. */
int unwind_stack(void **addresses, int limit, bool steady);

/* Code was unloaded: what was learned of addresses is forgotten. Still between unsteady calls. */
void unwind_forget(void);

#endif
