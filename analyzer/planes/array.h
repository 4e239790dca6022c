/* Arrays that grow by doubling. */
#ifndef CGTRACE_ANALYZER_PLANES_ARRAY_H
#define CGTRACE_ANALYZER_PLANES_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

/* Room for one more element beyond count in *array of *capacity elements of size bytes; false when memory is
 * short, and the array is as it was. */
static inline bool array_room(void *array, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity) return true;
    size_t larger = *capacity ? *capacity * 2 : 16;
    void *moved = reallocarray(*(void **)array, larger, size);
    if (!moved) return false;
    *(void **)array = moved;
    *capacity = larger;
    return true;
}

/* Gives back what lies beyond count elements. */
static inline void array_trim(void *array, size_t count, size_t size)
{
    if (!count) {
        free(*(void **)array);
        *(void **)array = NULL;
        return;
    }
    void *moved = reallocarray(*(void **)array, count, size);
    if (moved) *(void **)array = moved;
}

/* calloc() that never returns NULL for zero elements. */
static inline void *array_zeroed(size_t count, size_t size)
{
    return calloc(count ? count : 1, size);
}

/* The same without zeroes. */
static inline void *array_raw(size_t count, size_t size)
{
    return reallocarray(NULL, count ? count : 1, size);
}

#endif
