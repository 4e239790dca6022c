#include "analyzer/planes/interval_set.h"

#include <stdlib.h>

#include "analyzer/planes/array.h"

bool interval_set_add(struct interval_set *set, uint64_t start, uint64_t end)
{
    if (start >= end) return true;
    if (!array_room(&set->at, set->count, &set->room, sizeof *set->at)) return false;
    set->at[set->count++] = (struct interval){start, end};
    return true;
}

void interval_set_settle(struct interval_set *set)
{
    size_t kept = 0;
    if (set->count == 0) return;
    interval_sort(set->at, set->count);
    for (size_t i = 1; i < set->count; i++) {
        if (set->at[i].start > set->at[kept].end)
            set->at[++kept] = set->at[i];
        else if (set->at[i].end > set->at[kept].end)
            set->at[kept].end = set->at[i].end;
    }
    set->count = kept + 1;
}

bool interval_set_subtract(const struct interval_set *a, const struct interval_set *b,
                           struct interval_set *rest)
{
    size_t next = 0;
    for (size_t i = 0; i < a->count; i++) {
        uint64_t start = a->at[i].start, end = a->at[i].end;
        while (next < b->count && b->at[next].end <= start)
            next++;
        for (size_t j = next; j < b->count && b->at[j].start < end; j++) {
            if (!interval_set_add(rest, start, b->at[j].start)) return false;
            start = b->at[j].end;
        }
        if (!interval_set_add(rest, start, end)) return false;
    }
    return true;
}

uint64_t interval_set_length(const struct interval_set *set)
{
    uint64_t length = 0;
    for (size_t i = 0; i < set->count; i++)
        length += set->at[i].end - set->at[i].start;
    return length;
}

void interval_set_free(struct interval_set *set)
{
    free(set->at);
    *set = (struct interval_set){0};
}
