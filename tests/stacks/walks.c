/* The walk by kept rules against libgcc's own, in frames of many kinds: the same addresses, or no walk at
 * all, whatever stack was walked before. Prints TAP lines. Built with frame pointers and without. */
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
static uintptr_t early[2][64];

enum { LIMIT = UNWIND_MAX };

/* EITHER: as the compiler counts the frame, from rbp or from rsp. */
enum expected { LEFT, SAME, EITHER };

static void judge(bool good, const char *name, const char *what)
{
    printf("%s %d - %s: %s\n", good ? "ok" : "not ok", ++tests, name, what);
}

/* The first address lies in whoever walks, the second in check(). Walks without a stack to go by, by that one
 * again, and by the one of the check before; from one place, so that the second can find the first one's. */
FRAME static void check(const char *name, enum expected expected)
{
    static struct unwind_frames before, none;
    static uintptr_t slow[LIMIT];
    static struct unwind_frames fast[3];
    const bool own = on_own_stack();
    struct trace trace = {slow, 0, LIMIT};
    int count[3] = {0};
    bool same, agree, found = true;

    for (volatile int i = 0; i < 3; i++) {
        struct unwind_frames *last = i == 0 ? &none : i == 1 ? &fast[0] : &before;

        count[i] = own ? walk(last, &fast[i], LIMIT) : 0;
        if (i == 0 && count[i] < 0) fast[i].count = 0;
        if (i == 1) found = (count[i] == AS_LAST) == (count[0] > 0 && fast[0].to_top);
        if (count[i] != AS_LAST) continue;
        fast[i] = *last;
        count[i] = last->all;
    }
    if (count[2] >= 0) before = fast[2];
    backtrace_of(add, &trace);
    agree = found && count[0] == count[1] && count[0] == count[2];
    same = agree && count[0] == trace.count && count[0] > 2;
    for (int i = 0; i < 3; i++)
        same = same && memcmp(fast[i].addresses + 1, slow + 1, (size_t)(count[0] - 1) * sizeof *slow) == 0;
#if !defined(__x86_64__)
    expected = LEFT;
#endif
    if (expected == EITHER) expected = count[0] < 0 ? LEFT : SAME;
    judge(agree && (expected == SAME ? same : count[0] < 0), name,
          expected == SAME ? "the same as libgcc's" : "left to libgcc");
    if (expected == SAME && !same)
        printf("# %d, %d, %d frames, %d by libgcc, %sfound again\n", count[0], count[1], count[2],
               trace.count, found ? "" : "not ");
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

/* Two frames of variable size that have the same room together: below them all is where it was the time
 * before, but rbp. What they had left there is overwritten. */
FRAME static void inner(size_t bytes)
{
    memset(alloca(bytes), 0x11, bytes);
    check("a frame that has moved below the same ones", SAME);
    STAYS();
}
FRAME static void moved(size_t bytes, size_t all)
{
    memset(alloca(bytes), 0x11, bytes);
    inner(all - bytes);
    STAYS();
}

/* One function's frame in place of another's: at some size of the room around it check() has the same place.
 */
FRAME static void narrow(void)
{
    char room[24];

    memset(room, 0x11, sizeof room);
    __asm__ volatile("" : : "r"(room) : "memory");
    check("a narrow frame", SAME);
    STAYS();
}
FRAME static void wide(void)
{
    char room[200];

    memset(room, 0x11, sizeof room);
    __asm__ volatile("" : : "r"(room) : "memory");
    check("a wide frame, where a narrow one was", SAME);
    STAYS();
}
FRAME static void either(size_t bytes, void (*function)(void))
{
    memset(alloca(bytes), 0x11, bytes);
    function();
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
    static struct unwind_frames none, frames;
    struct trace trace = {early[1], 0, 64};

    unwind_open(stays);
    early_count = on_own_stack() ? walk(&none, &frames, 64) : 0;
    memcpy(early[0], frames.addresses, sizeof early[0]);
    backtrace_of(add, &trace);
    if (early_count != trace.count) early_count = 0;
}

/* ---- what a walk goes by ---- */

static const void *(*true_find_entry)(void *address, struct bases *bases);
static int looked_up;
static const void *count_find_entry(void *address, struct bases *bases)
{
    looked_up++;
    return true_find_entry(address, bases);
}

FRAME static void take(struct unwind_last *last)
{
    struct unwind_frames *frames;

    looked_up = 0;
    unwind_stack(last, LIMIT, true, &frames);
    STAYS();
}

FRAME static void deep(unsigned level, int times, struct unwind_last *last)
{
    if (level)
        deep(level - 1, times, last);
    else
        while (times--)
            take(last);
    STAYS();
}

/* Rules are looked up again when code was unloaded; those of code that may change are not gone by. */
static void check_rules(void)
{
#if defined(__x86_64__)
    static struct unwind_last last;

    true_find_entry = find_entry;
    find_entry = count_find_entry;
    for (volatile int times = 2; times > 0; times--) {
        deep(5, times, &last);
        if (times == 2)
            judge(looked_up == 0 && last.frames[last.current].count > 7, "a stack that was met before",
                  "no look at the tables");
        else
            judge(looked_up > 7, "a stack from before an unloading", "the tables are looked at");
        unwind_forget();
    }
    forget_all = true;
    deep(5, 2, &last);
    judge(looked_up > 7 && last.frames[last.current].count == 0, "code that does not stay",
          "nothing of it is kept");
    forget_all = false;
    find_entry = true_find_entry;
#endif
}

/* ---- any stack behind any other ---- */

static uint32_t chance(uint32_t below)
{
    static uint32_t state = 1;

    state = state * 1664525 + 1013904223;
    return (state >> 8) % below;
}

static struct {
    struct unwind_last last;
    int walked, wrong, again;
} wander;

FRAME static void arrive(void)
{
    static uintptr_t slow[LIMIT];
    struct trace trace = {slow, 0, LIMIT};
    struct unwind_frames *frames;
    int limit = chance(8) ? LIMIT : 5 + (int)chance(10);
    int count = unwind_stack(&wander.last, limit, true, &frames);
    uint64_t hash = 1;

    backtrace_of(add, &trace);
    for (int i = 0; i < count; i++)
        hash = (hash ^ frames->addresses[i]) * UINT64_C(0x100000001b3) | 1;
    wander.walked++;
    wander.again += frames->hash != 0;
    /* unwind_stack() is called from here, and so is backtrace_of(): the frames above are the same. */
    if ((frames->hash && frames->hash != hash) || (limit == LIMIT && count != trace.count + 1) ||
        count > limit || memcmp(frames->addresses + 2, slow + 1, (size_t)(count - 2) * sizeof *slow) != 0)
        wander.wrong++;
    frames->hash = hash;
}

FRAME static void wander_on(unsigned level);

FRAME static void wander_plain(unsigned level)
{
    wander_on(level);
    STAYS();
}
/* As many values as there are registers that a call leaves alone, rbp among them. */
FRAME static void wander_keeping(unsigned level)
{
    uintptr_t kept[6];

    for (int i = 0; i < 6; i++)
        kept[i] = chance(3);
    __asm__ volatile("" : "+r"(kept[0]), "+r"(kept[1]), "+r"(kept[2]), "+r"(kept[3]), "+r"(kept[4]));
    wander_on(level);
    __asm__ volatile("" : : "r"(kept[0]), "r"(kept[1]), "r"(kept[2]), "r"(kept[3]), "r"(kept[4]));
}
FRAME static void wander_variable(unsigned level)
{
    size_t bytes = 16 + 16 * chance(3);

    memset(alloca(bytes), 0x11, bytes);
    wander_on(level);
    STAYS();
}
FRAME static void wander_wide(unsigned level)
{
    char room[48];

    memset(room, 0x11, sizeof room);
    __asm__ volatile("" : : "r"(room) : "memory");
    wander_on(level);
    STAYS();
}

FRAME static void wander_on(unsigned level)
{
    static void (*const ways[])(unsigned) = {wander_plain, wander_keeping, wander_variable, wander_wide};

    if (level == 0)
        for (uint32_t times = 1 + chance(3); times > 0; times--)
            arrive();
    else
        for (uint32_t times = 1 + chance(2); times > 0; times--)
            ways[chance(4)](level - 1);
    STAYS();
}

static void check_any(void)
{
    for (int i = 0; i < 2000; i++)
        wander_on(1 + chance(6));
    printf("# %d stacks, %d of them as the one before\n", wander.walked, wander.again);
    judge(wander.wrong == 0 && wander.walked > 10000, "any stack behind any other", "the same as libgcc's");
#if defined(__x86_64__)
    judge(wander.again > wander.walked / 4, "stacks that come again", "are found to");
#endif
}

int main(void)
{
    int numbers[] = {3, 1, 2};
    pthread_t id;

    atexit(at_exit);
    recursive(20);
    for (size_t bytes = 16; bytes < 10000; bytes *= 8)
        variable(bytes);
    for (size_t bytes = 16; bytes < 256; bytes += 48)
        moved(bytes, 256);
    for (size_t bytes = 16; bytes < 256; bytes += 16) {
        either(256, narrow);
        either(bytes, wide);
    }
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
    check_rules();
    check_any();
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
