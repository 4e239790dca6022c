/* What every peer prints, so that all are measured alike: nanoseconds for one, the median of rounds with time
 * between them for what was recorded to be read. C and C++. */
#ifndef CGTRACE_TESTS_BENCH_PEER_H
#define CGTRACE_TESTS_BENCH_PEER_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { PEER_COUNT = 4096, PEER_ROUNDS = 41 };

static inline double peer_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int peer_ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* run does the thing PEER_COUNT times. */
static inline void peer_report(void (*run)(void))
{
    const struct timespec pause = {0, 25 * 1000000};
    double of[PEER_ROUNDS];

    for (int i = 0; i < PEER_ROUNDS; i++) {
        double begin = peer_now();
        run();
        of[i] = (peer_now() - begin) / PEER_COUNT;
        nanosleep(&pause, NULL);
    }
    qsort(of, PEER_ROUNDS, sizeof *of, peer_ascending);
    printf("NS %.3f\n", of[PEER_ROUNDS / 2]);
    fflush(stdout);
}

#endif
