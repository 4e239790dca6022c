/* Ours and a floor in turns, so that both meet the same machine, round by round.
 *
 * A hardware thread beside ours on the same core (another guest's, on a virtual machine) takes half of its
 * units. A floor that waits for the clock does not feel that, and what has more instructions does, so such
 * rounds compare nothing: in each round it is looked, before and behind what is timed, whether four chains of
 * additions take a quarter of the time of one. Seen for a span: 23 ns against 19 where they take up to 0.30
 * of it, 38 against 20 where they take more than 0.38, and nothing between. */
#ifndef CGTRACE_TESTS_BENCH_ROUNDS_H
#define CGTRACE_TESTS_BENCH_ROUNDS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Rounds are made until ROUNDS of them had the core alone, or ROUNDS_TRIED were tried. With fewer than
 * ROUNDS_LEAST the first ROUNDS_ANY count, whatever they had, and it is said. */
enum { ROUNDS = 41, ROUNDS_LEAST = 5, ROUNDS_ANY = 41, ROUNDS_TRIED = 1000 };

static inline double now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

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

#if defined(__x86_64__)
/* Ticks of a thousand times eight additions: each waits for the one before, or they are four chains. */
static inline uint64_t additions(bool chains)
{
    uint64_t a = 0, b = 0, c = 0, d = 0, begin = __builtin_ia32_rdtsc();

    for (int i = 0; i < 1000 && !chains; i++)
        __asm__ volatile("add $1, %0\n add $1, %0\n add $1, %0\n add $1, %0\n"
                         "add $1, %0\n add $1, %0\n add $1, %0\n add $1, %0"
                         : "+r"(a));
    for (int i = 0; i < 1000 && chains; i++)
        __asm__ volatile("add $1, %0\n add $1, %1\n add $1, %2\n add $1, %3\n"
                         "add $1, %0\n add $1, %1\n add $1, %2\n add $1, %3"
                         : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
    return __builtin_ia32_rdtsc() - begin;
}

static inline bool core_is_alone(void)
{
    uint64_t before = additions(false), chains = additions(true), behind = additions(false);

    /* The shorter one: an interrupt in it would make the chains look fast. A third: between the quarter that
     * they take alone and the half. */
    return chains * 3 < (before < behind ? before : behind);
}
#else
static inline bool core_is_alone(void)
{
    return true;
}
#endif

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
    int tried, count[2]; /* of any rounds, of those alone; likewise: */
    double ns[2][ROUNDS_THINGS][ROUNDS_ANY + 1];
};

static inline bool rounds_go_on(const struct rounds *rounds)
{
    return rounds->tried < ROUNDS_TRIED && rounds->count[true] < ROUNDS;
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
 * looks only adds; the median of any rounds else. */
static inline double rounds_ns(struct rounds *rounds, int thing)
{
    bool judged = rounds_judged(rounds);

    return part(rounds->ns[judged][thing], rounds->count[judged], judged ? 4 : 2);
}

static inline void rounds_say(const struct rounds *rounds, const char *name)
{
    printf("# %s: %d of %d rounds had the core alone%s\n", name, rounds->count[true], rounds->tried,
           rounds_judged(rounds) ? "" : ", too few to judge by: the figure is that of a shared core");
}

/* Prints the row of a bench, in nanoseconds for one of `count`. */
static inline void compare_rounds(const char *name, void (*ours)(void), void (*floor_)(void), int count,
                                  const char *goal)
{
    struct rounds rounds = {.tried = 0};

    while (rounds_go_on(&rounds)) {
        bool alone = true;
        double ns[2] = {time_round(floor_, count, &alone), 0};
        struct timespec pause = {0, 5 * 1000000};

        if (rounds_take(&rounds, alone)) {
            ns[1] = time_round(ours, count, &alone);
            pause.tv_nsec = 25 * 1000000;
        }
        rounds_add(&rounds, ns, 2, alone);
        nanosleep(&pause, NULL);
    }
    double a = rounds_ns(&rounds, 1), b = rounds_ns(&rounds, 0);
    rounds_say(&rounds, name);
    printf("BENCH %s %.2f %.2f %.3f %s ns\n", name, a, b, a / b, goal);
}

#endif
