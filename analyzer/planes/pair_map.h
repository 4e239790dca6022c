/* A hash map from pairs of numbers to a number, for keys such as (device, storage) or (span, name): open
 * addressing with linear probing, deletion by shifting back, so that a map of live things stays as small as
 * the greatest number of them. */
#ifndef CGTRACE_ANALYZER_PLANES_PAIR_MAP_H
#define CGTRACE_ANALYZER_PLANES_PAIR_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* first is never 0: interned strings and rows + 1 are fine. */
struct pair_entry {
    uint32_t first, second, value;
};

/* Zeroed is empty. */
struct pair_map {
    struct pair_entry *entries; /* first == 0: free */
    size_t capacity;            /* a power of two, or 0 */
    size_t count;
};

/* The entry with this key, else NULL. Valid until the next insertion or removal. */
struct pair_entry *pair_map_find(const struct pair_map *map, uint32_t first, uint32_t second);
/* The entry with this key, made with the value 0 where there is none (*made tells; may be NULL). NULL when
 * memory is short. */
struct pair_entry *pair_map_insert(struct pair_map *map, uint32_t first, uint32_t second, bool *made);
/* Removes an entry that pair_map_find() returned. */
void pair_map_remove(struct pair_map *map, struct pair_entry *entry);
void pair_map_free(struct pair_map *map);

#endif
