#include "preload/record/own_stack.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <unistd.h>

#include "preload/record/maps.h"

enum { BUFFER_BYTES = 4096 + 512 }; /* the longest path and what stands before it */

/* It grows down to its limit, or to what lies there. */
static struct own_stack of_first_thread(const struct mapping *mapping)
{
    struct own_stack stack = {.low = mapping->before};
    struct rlimit limit;

    if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < mapping->end - mapping->before)
        stack.low = mapping->end - limit.rlim_cur;
    if (stack.low > mapping->begin) stack.low = mapping->begin;
    stack.bytes = mapping->end - stack.low;
    return stack;
}

/* What the C library knows of a thread; the first one's is in memory of the loader's, which may have become
 * one mapping with anything. 0: the first thread has not been met. */
static uintptr_t first_self;

__attribute__((constructor)) static void meet_first_thread(void)
{
    if (getpid() == gettid()) first_self = (uintptr_t)pthread_self();
}

/* The kernel places its random bytes above
 * the first thread's, and the C library what it knows of another thread above that one's, behind a page that
 * nobody may touch. */
struct own_stack own_stack_find(void)
{
    uintptr_t self = (uintptr_t)pthread_self();
    bool first = first_self ? self == first_self : getpid() == gettid();
    struct own_stack stack = {0, 0};
    char buffer[BUFFER_BYTES];
    struct mapping mapping;
    int past = errno;

    if (maps_find(first ? getauxval(AT_RANDOM) : self, buffer, sizeof buffer, &mapping))
        stack = first ? of_first_thread(&mapping)
                      : (struct own_stack){.low = mapping.begin, .bytes = self - mapping.begin};
    errno = past;
    return stack;
}
