#include "analyzer/recover/number_set.h"

#include <stdlib.h>

/* Open addressing, linear probing, deletion by shifting back (Knuth, TAOCP vol. 3, 6.4, algorithm R). */

static size_t home(const struct number_set *set, uint64_t number)
{
    return (size_t)(number * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (set->size - 1);
}

static size_t probe(const struct number_set *set, uint64_t number)
{
    size_t i = home(set, number);

    while (set->slots[i] && set->slots[i] != number + 1)
        i = (i + 1) & (set->size - 1);
    return i;
}

bool number_set_has(const struct number_set *set, uint64_t number)
{
    return set->count > 0 && set->slots[probe(set, number)] != 0;
}

static bool grow(struct number_set *set)
{
    struct number_set larger = {.size = set->size ? set->size * 2 : 1024, .count = set->count};

    larger.slots = calloc(larger.size, sizeof *larger.slots);
    if (!larger.slots) return false;
    for (size_t i = 0; i < set->size; i++)
        if (set->slots[i]) larger.slots[probe(&larger, set->slots[i] - 1)] = set->slots[i];
    free(set->slots);
    *set = larger;
    return true;
}

bool number_set_add(struct number_set *set, uint64_t number, bool *no_memory)
{
    size_t i;

    if ((set->count + 1) * 2 > set->size && !grow(set)) {
        *no_memory = true;
        return false;
    }
    i = probe(set, number);
    if (set->slots[i]) return false;
    set->slots[i] = number + 1;
    set->count++;
    return true;
}

bool number_set_remove(struct number_set *set, uint64_t number)
{
    size_t mask = set->size - 1, hole;

    if (set->count == 0 || !set->slots[hole = probe(set, number)]) return false;
    for (size_t i = (hole + 1) & mask; set->slots[i]; i = (i + 1) & mask) {
        if (((i - home(set, set->slots[i] - 1)) & mask) < ((i - hole) & mask)) continue;
        set->slots[hole] = set->slots[i];
        hole = i;
    }
    set->slots[hole] = 0;
    set->count--;
    return true;
}

void number_set_free(struct number_set *set)
{
    free(set->slots);
    *set = (struct number_set){0};
}
