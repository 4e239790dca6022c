/* What every peer prints, so that all are measured alike: nanoseconds for one, as rounds.h has them, with
 * time between rounds for what was recorded to be read. C and C++. */
#ifndef CGTRACE_TESTS_BENCH_PEER_H
#define CGTRACE_TESTS_BENCH_PEER_H

#include "tests/bench/rounds.h"

enum { PEER_COUNT = 4096, PEER_S = 15 };

/* run does the thing PEER_COUNT times. */
static inline void peer_report(void (*run)(void))
{
    double of[2][ROUNDS_ANY]; /* of rounds that shared the core, of those alone */
    double end = now_ns() + PEER_S * 1e9;
    int count[2] = {0, 0};

    while (count[true] < ROUNDS && (now_ns() < end || count[false] < ROUNDS_ANY)) {
        bool alone = true;

        core_seek(ROUNDS_SEEK_MS);
        double ns = time_round(run, PEER_COUNT, &alone);
        if (count[alone] < ROUNDS_ANY) of[alone][count[alone]++] = ns;
        pause_ms(25);
    }
    core_anywhere();
    bool judged = count[true] >= ROUNDS_LEAST;
    printf("ALONE %d\nNS %.3f\n", count[true], part(of[judged], count[judged], judged ? 4 : 2));
    fflush(stdout);
}

#endif
