/* What every peer prints, so that all are measured alike: nanoseconds for one, as rounds.h has them, with
 * time between rounds for what was recorded to be read. C and C++. */
#ifndef CGTRACE_TESTS_BENCH_PEER_H
#define CGTRACE_TESTS_BENCH_PEER_H

#include "tests/bench/rounds.h"

enum { PEER_COUNT = 4096, PEER_S = 15 };

/* run does the thing PEER_COUNT times. */
static inline void peer_report(void (*run)(void))
{
    struct rounds rounds;

    rounds_begin(&rounds, PEER_S);
    while (rounds_go_on(&rounds)) {
        bool alone = true;

        core_seek(ROUNDS_SEEK_MS);
        double ns = time_round(run, PEER_COUNT, &alone);
        rounds_add(&rounds, &ns, 1, alone);
        pause_ms(25);
    }
    core_anywhere();
    printf("ALONE %d\nNS %.3f\n", rounds.count[true], rounds_ns(&rounds, 0));
    fflush(stdout);
}

#endif
