/* Memory whose pages are all there. */
#ifndef CGTRACE_PRELOAD_RECORD_PAGES_H
#define CGTRACE_PRELOAD_RECORD_PAGES_H

#include <stddef.h>
#include <sys/mman.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

/* Brings in the pages of memory of zeros that nobody writes to yet. */
static inline void pages_bring(void *memory, size_t bytes)
{
    if (madvise(memory, bytes, MADV_POPULATE_WRITE) == 0) return;
    for (size_t at = 0; at < bytes; at += 4096)
        *((volatile char *)memory + at) = 0;
}

#endif
