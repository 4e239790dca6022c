#include "analyzer/planes/array.h"

#include <limits.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { HUGE_PAGE = 2 << 20 };

void *array_advised(void *array, size_t size)
{
    uintptr_t first = ((uintptr_t)array + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    uintptr_t last = ((uintptr_t)array + size) / HUGE_PAGE * HUGE_PAGE;
    /* Advice: without huge pages all works the same. */
    if (array && first < last) madvise((void *)first, last - first, MADV_HUGEPAGE);
    return array;
}

void arrays_keep_memory(void)
{
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
    mallopt(M_ARENA_MAX, 1);
}

void array_expect(size_t bytes)
{
    void *room = bytes < ARRAY_LARGE ? NULL : malloc(bytes);
    free(array_advised(room, bytes)); /* never touched */
}
