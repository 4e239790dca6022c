/* malloc and calloc of a program that is to see its heap being entered: each calls enter(), which whoever
 * includes this defines, before the C library's own. */
#ifndef CGTRACE_TESTS_FAULTS_ENTERED_HEAP_H
#define CGTRACE_TESTS_FAULTS_ENTERED_HEAP_H

#include <stddef.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);

static void enter(void);

void *malloc(size_t size)
{
    enter();
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    enter();
    return __libc_calloc(count, size);
}

#endif
