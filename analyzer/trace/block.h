/* Arrays that grow to hundreds of megabytes: the columns, pools and tables of a trace.
 *
 * Like realloc() and free(), with two differences for large ones. They lie in huge pages where the system has
 * them: under a hypervisor a first touch costs about 10 us a page of 4 KiB, which for the columns of a 1 GB
 * trace was more than the whole scan. And they grow by moving page tables, so that a copy and its memory are
 * never needed. */
#ifndef CGTRACE_ANALYZER_TRACE_BLOCK_H
#define CGTRACE_ANALYZER_TRACE_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Resizes a block (NULL: a new one). The first bytes are kept, what is added has any value. NULL when memory
 * is short, and the block is then unchanged. The block is aligned to 64 bytes. */
void *block_resize(void *block, size_t size);
/* The same, but only the first used bytes are kept, and all others are zero. Of large blocks they take no
 * memory until they are written. */
void *block_resize_zeroed(void *block, size_t used, size_t size);
/* A new block of zero bytes. */
void *block_zeroed(size_t size);
void block_free(void *block);

/* Room for more elements behind count, in an array that is a block; array_address: of the pointer to it,
 * capacity: its elements, 0 with NULL. False, and nothing is changed, when memory is short or the elements
 * would be 2^32-1: their numbers have 32 bits, of which one value stands for none. */
bool block_reserve_larger(void *array_address, size_t *capacity, size_t least, size_t element);
static inline bool block_reserve(void *array_address, size_t *capacity, size_t count, size_t more,
                                 size_t element)
{
    return __builtin_expect(count + more <= *capacity, 1) ||
           block_reserve_larger(array_address, capacity, count + more, element);
}

#endif
