/* The return addresses of the calling thread's calls. */
#ifndef CGTRACE_PRELOAD_RECORD_UNWIND_H
#define CGTRACE_PRELOAD_RECORD_UNWIND_H

/* Opens the unwinder, once for the process. Calls dlopen: off the hot path. */
void unwind_open(void);

/* Which one answers: libgcc or none. */
const char *unwind_name(void);

/* The addresses, innermost first, at most limit of them; returns how many. Calls of this library come first.
 */
int unwind_stack(void **addresses, int limit);

#endif
