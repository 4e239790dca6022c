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
    /* Where keys stood that were inserted or asked for by pair_map_insert(), by their lowest bits: maps of
     * few keys, such as clocks, streams and threads, are asked for them with every record, which by the hash
     * takes three times as long. */
    uint32_t recent[16];
};

/* For pair_map_find() and pair_map_insert(): by the hash. */
struct pair_entry *pair_map_look(const struct pair_map *map, uint32_t first, uint32_t second);
struct pair_entry *pair_map_enter(struct pair_map *map, uint32_t first, uint32_t second, bool *made);

/* The entry of the key if it stands where it, or another one, was met. No mark of what has moved is needed:
 * the entry there is the key's, or it is not. */
static inline struct pair_entry *pair_map_recent(const struct pair_map *map, uint32_t first, uint32_t second)
{
    if (!map->count) return NULL;
    struct pair_entry *entry = &map->entries[map->recent[(first ^ second) % 16]];
    return entry->first == first && entry->second == second ? entry : NULL;
}

/* The entry with this key, else NULL. Valid until the next insertion or removal. */
static inline struct pair_entry *pair_map_find(const struct pair_map *map, uint32_t first, uint32_t second)
{
    struct pair_entry *entry = pair_map_recent(map, first, second);
    return entry ? entry : pair_map_look(map, first, second);
}

/* The entry with this key, made with the value 0 where there is none (*made tells; may be NULL). NULL when
 * memory is short. */
static inline struct pair_entry *pair_map_insert(struct pair_map *map, uint32_t first, uint32_t second,
                                                 bool *made)
{
    struct pair_entry *entry = pair_map_recent(map, first, second);
    if (!entry) return pair_map_enter(map, first, second, made);
    if (made) *made = false;
    return entry;
}
/* Removes an entry that pair_map_find() returned. */
void pair_map_remove(struct pair_map *map, struct pair_entry *entry);
void pair_map_free(struct pair_map *map);

#endif
