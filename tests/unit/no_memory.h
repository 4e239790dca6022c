/* Allocations that can be told to fail, one after the other, and are counted; where CAN_FAIL is not defined
 * they cannot, and a test that includes this is the main() below, unless it says by OTHER_TESTS_TOO that it
 * has more. Only through the C library itself: valgrind puts its own allocator in place of these. */
#ifndef CGTRACE_TESTS_UNIT_NO_MEMORY_H
#define CGTRACE_TESTS_UNIT_NO_MEMORY_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && defined(__GLIBC__)
#define CAN_FAIL 1
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *old);

static long allowed = -1; /* allocations until the failing one; -1: none fails */
static long held;         /* blocks that were not given back */

static bool fails(void)
{
    if (allowed > 0)
        allowed--;
    else if (allowed == 0)
        return true;
    return false;
}

static void *counted(void *block)
{
    held += block != NULL;
    return block;
}

void *malloc(size_t size)
{
    return fails() ? NULL : counted(__libc_malloc(size));
}
void *calloc(size_t count, size_t size)
{
    return fails() ? NULL : counted(__libc_calloc(count, size));
}
void free(void *old)
{
    held -= old != NULL;
    __libc_free(old);
}
void *realloc(void *old, size_t size)
{
    if (fails()) return NULL;
    void *block = __libc_realloc(old, size);
    held += (block != NULL) - (old != NULL && (block != NULL || size == 0));
    return block;
}
void *reallocarray(void *old, size_t count, size_t size)
{
    size_t bytes;
    return __builtin_mul_overflow(count, size, &bytes) ? NULL : realloc(old, bytes);
}
/* analyzer/trace/block.c's small blocks. */
int posix_memalign(void **block, size_t alignment, size_t size)
{
    void *made = fails() ? NULL : counted(__libc_memalign(alignment, size));
    if (made != NULL) *block = made;
    return made != NULL ? 0 : ENOMEM;
}
#elif !defined(OTHER_TESTS_TOO)
int main(void)
{
    puts("1..1\nok 1 - each_allocation # SKIP the allocator of this build cannot be told to fail");
    return 0;
}
#endif

#endif
