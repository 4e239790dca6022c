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
#include "tests/bench/rounds.h"

enum { PAIRS = 4096, SLOTS = 1 << 16 };

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

/* records: of each, two for each of PAIRS. */
static void compare(const char *name, void (*ours)(void), const char *goal)
{
    compare_rounds(name, ours, run_floor, PAIRS, goal);
}

#endif
