/* Arrays that grow by doubling, and arrays of rows: memory of malloc(), for free(). */
#ifndef CGTRACE_ANALYZER_PLANES_ARRAY_H
#define CGTRACE_ANALYZER_PLANES_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

/* Large arrays lie in huge pages as far as they cover them, where the system has them: making the page of a
 * trace of 10 million records had 220,000 page faults without, 4,000 with them, which took 0.5 s of 3.0 s
 * under a hypervisor. For array_raw() and its like; returns the array (NULL: nothing is done). */
enum { ARRAY_LARGE = 4 << 20 };
void *array_advised(void *array, size_t size);

/* What is freed stays with the process from now on, for the next plane's arrays, whichever thread makes them:
 * giving it back and getting it anew, cleared, took 0.3 s of 2.6 s when the page of a trace of 10 million
 * records was made. Before other threads run. */
void arrays_keep_memory(void);

/* Says that arrays of about so many bytes in all will be made: where malloc() keeps what is freed it
 * gets the room for them at once, in huge pages throughout. Of the 24,000 page faults that were left when the
 * page of 10 million records was made 1,400 remain, which saves 40 ms of 1,040 ms after reading. */
void array_expect(size_t bytes);

/* Room for one more element beyond count in *array of *capacity elements of size bytes; false when memory is
 * short, and the array is as it was. */
static inline bool array_room(void *array, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity) return true;
    size_t larger = *capacity ? *capacity * 2 : 16;
    void *moved = reallocarray(*(void **)array, larger, size);
    if (!moved) return false;
    *(void **)array = larger * size < ARRAY_LARGE ? moved : array_advised(moved, larger * size);
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
    void *array = calloc(count ? count : 1, size);
    return count * size < ARRAY_LARGE ? array : array_advised(array, count * size);
}

/* The same without zeroes. */
static inline void *array_raw(size_t count, size_t size)
{
    void *array = reallocarray(NULL, count ? count : 1, size);
    return count * size < ARRAY_LARGE ? array : array_advised(array, count * size);
}

#endif
