#include "analyzer/planes/array.h"

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

void array_expect(size_t bytes)
{
    void *room = bytes < ARRAY_LARGE ? NULL : malloc(bytes);
    free(array_advised(room, bytes)); /* never touched */
}
