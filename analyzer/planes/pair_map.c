#include "analyzer/planes/pair_map.h"

#include <stdlib.h>

#include "analyzer/planes/array.h"

/* The finalizer of splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014). */
static size_t slot_of(const struct pair_map *map, uint32_t first, uint32_t second)
{
    uint64_t hash = (uint64_t)first << 32 | second;
    hash = (hash ^ hash >> 30) * 0xbf58476d1ce4e5b9u;
    hash = (hash ^ hash >> 27) * 0x94d049bb133111ebu;
    return (size_t)(hash ^ hash >> 31) & (map->capacity - 1);
}

/* The entry of the key, or the free one where it would stand. */
static struct pair_entry *probe(const struct pair_map *map, uint32_t first, uint32_t second)
{
    size_t slot = slot_of(map, first, second);
    for (;;) {
        struct pair_entry *entry = &map->entries[slot];
        if (!entry->first || (entry->first == first && entry->second == second)) return entry;
        slot = (slot + 1) & (map->capacity - 1);
    }
}

struct pair_entry *pair_map_look(const struct pair_map *map, uint32_t first, uint32_t second)
{
    if (!map->count) return NULL;
    struct pair_entry *entry = probe(map, first, second);
    return entry->first ? entry : NULL;
}

static bool enlarge(struct pair_map *map)
{
    struct pair_map larger = *map;
    larger.capacity = map->capacity ? map->capacity * 2 : 64;
    larger.entries = array_zeroed(larger.capacity, sizeof *larger.entries);
    if (!larger.entries) return false;
    for (size_t i = 0; i < map->capacity; i++) {
        const struct pair_entry *entry = &map->entries[i];
        if (entry->first) *probe(&larger, entry->first, entry->second) = *entry;
    }
    free(map->entries);
    *map = larger;
    return true;
}

struct pair_entry *pair_map_enter(struct pair_map *map, uint32_t first, uint32_t second, bool *made)
{
    /* At most half full. */
    if ((map->count + 1) * 2 > map->capacity && !enlarge(map)) return NULL;
    struct pair_entry *entry = probe(map, first, second);
    if (made) *made = !entry->first;
    if (!entry->first) {
        *entry = (struct pair_entry){first, second, 0};
        map->count++;
    }
    map->recent[(first ^ second) % 16] = (uint32_t)(entry - map->entries);
    return entry;
}

void pair_map_remove(struct pair_map *map, struct pair_entry *entry)
{
    size_t mask = map->capacity - 1;
    size_t hole = (size_t)(entry - map->entries);
    /* What follows moves into the hole unless its own place lies after the hole: no marks of deleted entries,
     * so searches stay short however many entries have come and gone. */
    for (size_t next = (hole + 1) & mask; map->entries[next].first; next = (next + 1) & mask) {
        size_t home = slot_of(map, map->entries[next].first, map->entries[next].second);
        if (((next - home) & mask) < ((next - hole) & mask)) continue;
        map->entries[hole] = map->entries[next];
        hole = next;
    }
    map->entries[hole].first = 0;
    map->count--;
}

void pair_map_free(struct pair_map *map)
{
    free(map->entries);
    *map = (struct pair_map){0};
}
