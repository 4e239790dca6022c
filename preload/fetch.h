/* Fetching a line of memory before it is written to. */
#ifndef CGTRACE_PRELOAD_FETCH_H
#define CGTRACE_PRELOAD_FETCH_H

/* Brings the line at this address into the processor's cache, for stores to come. Any address will do:
 * nothing happens where no memory is. */
static inline void fetch_line(const void *at)
{
#if defined(__x86_64__)
    /* What the compiler makes of its own function fetches a line to be read, which another processor may have
     * as well; the store then waits for that one to let go. Older processors take this for no operation. */
    __asm__ volatile("prefetchw %0" : : "m"(*(const char *)at));
#else
    __builtin_prefetch(at, 1);
#endif
}

#endif
