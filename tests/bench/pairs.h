/* What a pair of records costs a program, against the floor: two bare slots of a prefaulted shared mapping
 * with one clock read each, in turns, the writer running. */
#ifndef CGTRACE_TESTS_BENCH_PAIRS_H
#define CGTRACE_TESTS_BENCH_PAIRS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "common/capture.h"

enum { ROUNDS = 41, PAIRS = 4096, SLOTS = 1 << 16 };

static double now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static uint64_t tick(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    return (uint64_t)now_ns();
#endif
}

static struct cap_record *slots;
static _Atomic uint64_t *head;
static uint64_t at;

static void run_floor(void)
{
    for (int i = 0; i < 2 * PAIRS; i++) {
        struct cap_record *slot = &slots[at & (SLOTS - 1)];
        uint64_t begin = tick();

        memset(slot, 0, sizeof *slot);
        slot->begin = begin;
        atomic_store_explicit(head, ++at, memory_order_release);
    }
}

static bool open_floor(void)
{
    char *map = mmap(NULL, (SLOTS + 64) * CAP_SLOT, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

    if (map == MAP_FAILED) return false;
    head = (_Atomic uint64_t *)map;
    slots = (struct cap_record *)(map + 64 * CAP_SLOT);
    return true;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* records: of each, two for each of PAIRS. */
static void compare(const char *name, void (*ours)(void), const char *goal)
{
    const struct timespec pause = {0, 25 * 1000000};
    double of_ours[ROUNDS], of_floor[ROUNDS];

    for (int i = 0; i < ROUNDS; i++) {
        double begin = now_ns();
        run_floor();
        double middle = now_ns();
        ours();
        of_floor[i] = (middle - begin) / PAIRS;
        of_ours[i] = (now_ns() - middle) / PAIRS;
        nanosleep(&pause, NULL);
    }
    qsort(of_ours, ROUNDS, sizeof *of_ours, ascending);
    qsort(of_floor, ROUNDS, sizeof *of_floor, ascending);
    /* A core that another thread shares gives half of its units: the floor, which waits for the clock, does
     * not feel that, and what has more instructions does. */
    printf("# %s: a quarter of the rounds took at most %.2f ns, the floor's %.2f\n", name,
           of_ours[ROUNDS / 4], of_floor[ROUNDS / 4]);
    double a = of_ours[ROUNDS / 2], b = of_floor[ROUNDS / 2];
    printf("BENCH %s %.2f %.2f %.3f %s ns\n", name, a, b, a / b, goal);
}

#endif
