/* The walk by kept rules against libgcc's own, in frames of many kinds: the same addresses, or no walk at
 * all. Prints TAP lines. Built with frame pointers and without. */
#include "preload/record/unwind.c"

#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __clang__ /* knows no noclone, and makes no clones */
#define FRAME __attribute__((noinline))
#else
#define FRAME __attribute__((noinline, noclone))
#endif
#define STAYS() __asm__ volatile("" ::: "memory")

static int tests, early_count;
static void *early[2][64];

enum { LIMIT = 200 };

/* EITHER: as the compiler counts the frame, from rbp or from rsp. */
enum expected { LEFT, SAME, EITHER };

/* The first address lies in whoever walks, the second in check(). */
FRAME static void check(const char *name, enum expected expected)
{
    void *fast[LIMIT], *slow[LIMIT];
    int count = on_own_stack() ? walk(fast, LIMIT) : 0, again = walk(fast, LIMIT);
    struct trace trace = {slow, 0, LIMIT};
    bool same;

    backtrace_of(add, &trace);
    same = count == trace.count && count > 2 &&
           memcmp(fast + 1, slow + 1, (size_t)(count - 1) * sizeof *fast) == 0;
#if !defined(__x86_64__)
    expected = LEFT;
#endif
    if (expected == EITHER) expected = count < 0 ? LEFT : SAME;
    printf("%s %d - %s: %s\n", count == again && (expected == SAME ? same : count < 0) ? "ok" : "not ok",
           ++tests, name, expected == SAME ? "the same as libgcc's" : "left to libgcc");
    if (expected == SAME && !same) printf("# %d frames, %d by libgcc\n", count, trace.count);
}

FRAME static void recursive(unsigned level)
{
    if (level)
        recursive(level - 1);
    else
        check("recursion", SAME);
    STAYS();
}

FRAME static void variable(size_t bytes)
{
    volatile char *room = alloca(bytes);

    room[0] = room[bytes - 1] = 1;
    check("a frame of variable size", SAME);
    STAYS();
}

FRAME static void large(void)
{
    volatile char room[30000];

    room[0] = room[sizeof room - 1] = 1;
    check("a frame of 30 KB", SAME);
    STAYS();
}

FRAME static void too_large(void)
{
    volatile char room[40000];

    room[0] = room[sizeof room - 1] = 1;
    check("a frame of 40 KB", EITHER);
    STAYS();
}

FRAME static void many(int count, ...)
{
    va_list list;
    double sum = 0;

    va_start(list, count);
    while (count-- > 0)
        sum += va_arg(list, double);
    va_end(list);
    check("variable arguments", sum == 3 ? SAME : LEFT);
    STAYS();
}

static int compared;
static int compare(const void *a, const void *b)
{
    if (!compared++) check("called back by libc", SAME);
    return *(const int *)a - *(const int *)b;
}

static void *thread(void *unused)
{
    check("a thread", SAME);
    return unused;
}

static void handler(int number)
{
    check("a signal's handler", LEFT);
    (void)number;
}

static void at_exit(void)
{
    check("at exit", SAME);
    printf("1..%d\n", tests);
}

static bool forget_all;
static bool stays(uintptr_t address)
{
    (void)address;
    return !forget_all;
}

/* Early: called by the loader, whose frames lie below. */
__attribute__((constructor)) static void constructor(void)
{
    struct trace trace = {early[1], 0, 64};

    unwind_open(stays);
    early_count = on_own_stack() ? walk(early[0], 64) : 0;
    backtrace_of(add, &trace);
    if (early_count != trace.count) early_count = 0;
}

int main(void)
{
    int numbers[] = {3, 1, 2};
    pthread_t id;

    atexit(at_exit);
    recursive(20);
    for (size_t bytes = 16; bytes < 10000; bytes *= 8)
        variable(bytes);
    large();
    too_large();
    many(2, 1.0, 2.0);
    qsort(numbers, 3, sizeof *numbers, compare);
    pthread_create(&id, NULL, thread, NULL);
    pthread_join(id, NULL);
    signal(SIGUSR1, handler);
    raise(SIGUSR1);
    unwind_forget();
    recursive(3);
    forget_all = true;
    recursive(4);
    printf("%s %d - in a constructor\n",
#if defined(__x86_64__)
           early_count > 2 &&
                   memcmp(early[0] + 1, early[1] + 1, (size_t)(early_count - 1) * sizeof(void *)) == 0
#else
           early_count == 0
#endif
               ? "ok"
               : "not ok",
           ++tests);
    return 0;
}
