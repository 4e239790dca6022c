/* Blocks of 4 KiB to 512 KiB in huge pages that they share, by the buddy system (D. E. Knuth, The Art of
 * Computer Programming, vol. 1, 2.5). For block.c alone.
 *
 * Growing columns pass through all these sizes. In pages of 4 KiB that was 3,000 page faults for a trace of
 * 40 MB, at 15 us each under a hypervisor more than half of the time of reading it; a huge page is one
 * fault of 130 us. A huge page is given back when none of its blocks is in use, but for one that stays for
 * what comes next: of small traces, read one after the other, that fault was most of the time. Safe for
 * threads. */
#ifndef CGTRACE_ANALYZER_TRACE_POOL_H
#define CGTRACE_ANALYZER_TRACE_POOL_H

#include <stdbool.h>
#include <stddef.h>

enum { HUGE_PAGE = 2 << 20, POOL_GRANULE = 4096, POOL_MAX = 512 << 10 };

/* A zeroed mapping whose address and size are multiples of a huge page; NULL when memory is short. */
void *map_huge(size_t size);

/* At a multiple of POOL_GRANULE, at most POOL_MAX bytes, with any content; NULL when memory is short. */
void *pool_allocate(size_t size);
void pool_free(void *block);

/* Bytes that the block has room for. */
size_t pool_capacity(const void *block);
/* A block for this size would be as large. */
bool pool_fits(const void *block, size_t size);

#endif
