/* Pages of memory: how large they are here, and that they are all there. */
#ifndef CGTRACE_PRELOAD_RECORD_PAGES_H
#define CGTRACE_PRELOAD_RECORD_PAGES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

/* What addresses and offsets of mappings are multiples of: 4 KiB on x86-64; 4, 16 or 64 KiB elsewhere, by the
 * kernel. Safe in a signal's handler. */
static inline uint64_t pages_size(void)
{
    return (uint64_t)sysconf(_SC_PAGESIZE);
}

static inline uint64_t pages_down(uint64_t bytes)
{
    return bytes & ~(pages_size() - 1);
}

static inline uint64_t pages_up(uint64_t bytes)
{
    return pages_down(bytes + pages_size() - 1);
}

/* Brings in the pages of memory that others may be writing to. Each is written to without a change, besides:
 * of a guest whose hypervisor has tables of its own the kernel's pages are not all, and the first store into
 * one takes 8 us there. The processor does that as one, whatever others store; to the thread sanitizer it
 * would be a race with their plain stores. */
static inline void pages_bring(void *memory, size_t bytes)
{
#if defined(__SANITIZE_THREAD__)
    const bool stored_to = false;
#else
    const bool stored_to = true;
#endif
    enum { SMALLEST_PAGE = 4096 };

    if (madvise(memory, bytes, MADV_POPULATE_WRITE) == 0 && !stored_to) return;
    for (size_t at = 0; at < bytes; at += SMALLEST_PAGE)
        atomic_fetch_or_explicit((_Atomic char *)memory + at, 0, memory_order_relaxed);
}

#endif
