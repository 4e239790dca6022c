#include "analyzer/evidence/permutation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef __int128 wide;

static wide magnitude(wide value)
{
    return value < 0 ? -value : value;
}

/* The generator of the bootstrap (doc/spec/compare.md 1.9). */
static uint64_t draw(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void finish_drawn(uint64_t hits, struct permutation_test *test)
{
    double draws = PERMUTATION_DRAWS;
    double p = (1.0 + (double)hits) / (1.0 + draws);
    *test = (struct permutation_test){false, PERMUTATION_DRAWS, p, sqrt(p * (1.0 - p) / draws)};
}

static void finish_exact(uint64_t hits, uint64_t assignments, struct permutation_test *test)
{
    *test = (struct permutation_test){true, assignments, (double)hits / (double)assignments, 0.0};
}

/* ---- two cohorts ---- */

/* All values, of which the candidate's are `chosen`. The difference of means, times both counts, is
 * sum(chosen) * count - total * chosen. */
struct pool {
    uint64_t *values;
    size_t count, chosen;
    wide total, observed;
};

static wide difference(const struct pool *pool, wide sum)
{
    return magnitude(sum * (wide)pool->count - pool->total * (wide)pool->chosen);
}

/* count over chosen, or limit + 1 when it is more than limit. */
static uint64_t combinations(size_t count, size_t chosen, uint64_t limit)
{
    uint64_t ways = 1;
    if (chosen > count - chosen) chosen = count - chosen;
    for (size_t i = 1; i <= chosen; i++) {
        ways = (uint64_t)((wide)ways * (wide)(count - chosen + i) / (wide)i);
        if (ways > limit) return limit + 1;
    }
    return ways;
}

/* Every choice in lexicographic order; at holds the places chosen, ascending. */
static uint64_t count_all(const struct pool *pool, size_t *at)
{
    uint64_t hits = 0;
    size_t chosen = pool->chosen;
    for (size_t i = 0; i < chosen; i++)
        at[i] = i;
    for (;;) {
        wide sum = 0;
        for (size_t i = 0; i < chosen; i++)
            sum += pool->values[at[i]];
        hits += difference(pool, sum) >= pool->observed;
        size_t last = chosen;
        while (last > 0 && at[last - 1] == pool->count - chosen + last - 1)
            last--;
        if (last == 0) return hits;
        at[last - 1]++;
        for (size_t i = last; i < chosen; i++)
            at[i] = at[i - 1] + 1;
    }
}

/* Random choices: the first places of a partial shuffle. */
static uint64_t count_drawn(struct pool *pool)
{
    uint64_t hits = 0, state = BOOTSTRAP_SEED;
    for (unsigned k = 0; k < PERMUTATION_DRAWS; k++) {
        wide sum = 0;
        for (size_t i = 0; i < pool->chosen; i++) {
            size_t other = i + (size_t)(draw(&state) % (pool->count - i));
            uint64_t value = pool->values[other];
            pool->values[other] = pool->values[i];
            pool->values[i] = value;
            sum += value;
        }
        hits += difference(pool, sum) >= pool->observed;
    }
    return hits;
}

bool permutation_unpaired(const uint64_t *baseline, size_t baseline_count, const uint64_t *candidate,
                          size_t candidate_count, struct permutation_test *test)
{
    struct pool pool = {.count = baseline_count + candidate_count, .chosen = candidate_count};
    size_t *at = calloc(candidate_count, sizeof *at);
    wide sum = 0;
    pool.values = calloc(pool.count, sizeof *pool.values);
    if (at && pool.values) {
        memcpy(pool.values, candidate, candidate_count * sizeof *candidate);
        memcpy(pool.values + candidate_count, baseline, baseline_count * sizeof *baseline);
        for (size_t i = 0; i < pool.count; i++)
            pool.total += pool.values[i];
        for (size_t i = 0; i < candidate_count; i++)
            sum += candidate[i];
        pool.observed = difference(&pool, sum);
        uint64_t ways = combinations(pool.count, pool.chosen, PERMUTATION_EXACT_MAX);
        if (ways <= PERMUTATION_EXACT_MAX)
            finish_exact(count_all(&pool, at), ways, test);
        else
            finish_drawn(count_drawn(&pool), test);
    }
    bool ok = at && pool.values;
    free(at);
    free(pool.values);
    return ok;
}

/* ---- pairs ---- */

static wide pair_difference(const struct sample_pair *pair)
{
    return (wide)pair->candidate - (wide)pair->baseline;
}

/* Every choice of signs, one flipped at a time (Gray code). */
static uint64_t count_signs(const struct sample_pair *pairs, size_t count, wide observed)
{
    uint64_t assignments = UINT64_C(1) << count, flipped = 0, hits = 0;
    wide sum = observed;
    for (uint64_t k = 1;; k++) {
        hits += magnitude(sum) >= magnitude(observed);
        if (k == assignments) return hits;
        unsigned which = (unsigned)__builtin_ctzll(k);
        wide change = 2 * pair_difference(&pairs[which]);
        sum += flipped >> which & 1 ? change : -change;
        flipped ^= UINT64_C(1) << which;
    }
}

void permutation_paired(const struct sample_pair *pairs, size_t count, struct permutation_test *test)
{
    wide observed = 0;
    for (size_t i = 0; i < count; i++)
        observed += pair_difference(&pairs[i]);
    if (count < 64 && UINT64_C(1) << count <= PERMUTATION_EXACT_MAX) {
        finish_exact(count_signs(pairs, count, observed), UINT64_C(1) << count, test);
        return;
    }
    uint64_t hits = 0, state = BOOTSTRAP_SEED;
    for (unsigned k = 0; k < PERMUTATION_DRAWS; k++) {
        wide sum = 0;
        for (size_t i = 0; i < count; i++)
            sum += draw(&state) >> 63 ? pair_difference(&pairs[i]) : -pair_difference(&pairs[i]);
        hits += magnitude(sum) >= magnitude(observed);
    }
    finish_drawn(hits, test);
}
