/* What the process may still take of what its limits (setrlimit) count: what we take, the program lacks. */
#ifndef CGTRACE_PRELOAD_LIMITS_H
#define CGTRACE_PRELOAD_LIMITS_H

#include <stdint.h>

/* Bytes until RLIMIT_AS or RLIMIT_DATA is met, whichever comes first; UINT64_MAX: there is no limit. */
uint64_t limits_memory_left(void);
/* RLIMIT_FSIZE; UINT64_MAX: there is none. */
uint64_t limits_file_bytes(void);

#endif
