/* The stack that the calling thread was given. Asking the C library allocates from the heap, where a signal's
 * handler may have interrupted the thread. */
#ifndef CGTRACE_PRELOAD_RECORD_OWN_STACK_H
#define CGTRACE_PRELOAD_RECORD_OWN_STACK_H

#include <stdint.h>

struct own_stack {
    uintptr_t low, bytes; /* bytes 0: not known */
};

/* Reads the process' list of mappings: once for each thread, off the hot path. Allocates nothing. */
struct own_stack own_stack_find(void);

#endif
