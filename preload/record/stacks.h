/* The calls that led to a record. A stack is kept once for the process and known by a number there; each
 * session's capture file has those that its records name. */
#ifndef CGTRACE_PRELOAD_RECORD_STACKS_H
#define CGTRACE_PRELOAD_RECORD_STACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/record/ring.h"

/* Makes the stacks' place and opens the unwinder, once for the process. Where there is no memory, there are
 * no stacks. */
void stacks_ready(void);

/* The calling thread's stack without the calls of this library, the CUDA runtime and the driver on its top:
 * its number in the process; 0: none is to be had. Takes no lock when the thread has met the stack lately;
 * allocates from the heap in a thread's first call alone; keeps errno. */
uint32_t stacks_here(struct record_thread *thread);

/* From now on stacks are put into the capture file of this session. False: no room. */
bool stacks_attach(uint64_t generation);
void stacks_detach(void);
/* The stack's number in that session's capture file, where its first use puts it; 0: no room, or another
 * session's turn. */
uint32_t stacks_place(uint32_t stack, uint64_t generation);

/* Around a dlclose. */
void stacks_unloading(void);
void stacks_unloaded(void);

#endif
