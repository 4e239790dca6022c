/* Ours and a floor in turns, so that both meet the same machine, round by round. Rounds count that had the
 * core alone (core.h): it is looked before and behind what is timed. */
#ifndef CGTRACE_TESTS_BENCH_ROUNDS_H
#define CGTRACE_TESTS_BENCH_ROUNDS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/bench/core.h"

/* Rounds are made until ROUNDS of them had the core alone, for ROUNDS_S at most. With fewer than ROUNDS_LEAST
 * the first ROUNDS_ANY that shared it count, and it is said. */
enum { ROUNDS = 41, ROUNDS_LEAST = 5, ROUNDS_ANY = 41, ROUNDS_S = 60, ROUNDS_SEEK_MS = 200 };

static inline int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The value below which a half (2) or a quarter (4) of them lie. */
static inline double part(double *values, int count, int parts)
{
    qsort(values, (size_t)count, sizeof *values, ascending);
    return values[count / parts];
}

/* Nanoseconds of each of `count`. Done once before: the pause between rounds, in which the writer reads, is
 * the bench's, and what it has cooled down is not the cost of a record (6 us of the first hundred spans). */
static inline double time_round(void (*run)(void), int count, bool *alone)
{
    run();
    *alone &= core_is_alone();
    double begin = now_ns();
    run();
    double ns = (now_ns() - begin) / count;
    *alone &= core_is_alone();
    return ns;
}

/* What rounds found, of each of a few things that were measured in turns. */
enum { ROUNDS_THINGS = 3 };
struct rounds {
    double end;          /* of the time for them, as now_ns() has it */
    int tried, count[2]; /* of rounds that shared the core, of those alone; likewise: */
    double ns[2][ROUNDS_THINGS][ROUNDS_ANY + 1];
};

static inline void rounds_begin(struct rounds *rounds, int seconds)
{
    rounds->tried = rounds->count[false] = rounds->count[true] = 0;
    rounds->end = now_ns() + seconds * 1e9;
}

static inline bool rounds_go_on(const struct rounds *rounds)
{
    return rounds->count[true] < ROUNDS && (now_ns() < rounds->end || rounds->count[false] < ROUNDS_ANY);
}

/* Whether a round counts that had the core alone so far, or had not. */
static inline bool rounds_take(const struct rounds *rounds, bool alone)
{
    return alone || rounds->count[false] < ROUNDS_ANY;
}

static inline void rounds_add(struct rounds *rounds, const double *ns, int things, bool alone)
{
    rounds->tried++;
    if (!rounds_take(rounds, alone)) return;
    for (int i = 0; i < things; i++)
        rounds->ns[alone][i][rounds->count[alone]] = ns[i];
    rounds->count[alone]++;
}

static inline bool rounds_judged(const struct rounds *rounds)
{
    return rounds->count[true] >= ROUNDS_LEAST;
}

/* The lower quartile of the rounds that had the core alone, since sharing that began and ended between two
 * looks only adds; the median of the others else. */
static inline double rounds_ns(struct rounds *rounds, int thing)
{
    bool judged = rounds_judged(rounds);

    return part(rounds->ns[judged][thing], rounds->count[judged], judged ? 4 : 2);
}

static inline void rounds_say(const struct rounds *rounds, const char *name)
{
    printf("%s %s %d of %d rounds had the core alone%s\n", rounds_judged(rounds) ? "#" : "NOTE", name,
           rounds->count[true], rounds->tried,
           rounds_judged(rounds) ? "" : ", too few to judge by: the figure is that of a shared core");
}

/* Prints the row of a bench, in nanoseconds for one of `count`. */
static inline void compare_rounds(const char *name, void (*ours)(void), void (*floor_)(void), int count,
                                  const char *goal)
{
    struct rounds rounds;

    rounds_begin(&rounds, ROUNDS_S);
    while (rounds_go_on(&rounds)) {
        bool alone = true;

        core_seek(ROUNDS_SEEK_MS);
        double ns[2] = {time_round(floor_, count, &alone), 0};
        bool taken = rounds_take(&rounds, alone);

        if (taken) ns[1] = time_round(ours, count, &alone);
        rounds_add(&rounds, ns, 2, alone);
        pause_ms(taken ? 25 : 5);
    }
    core_anywhere();
    double a = rounds_ns(&rounds, 1), b = rounds_ns(&rounds, 0);
    rounds_say(&rounds, name);
    printf("BENCH %s %.2f %.2f %.3f %s ns\n", name, a, b, a / b, goal);
}

#endif
