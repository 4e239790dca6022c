#include "analyzer/planes/live_map.h"

#include <stdlib.h>

#include "analyzer/planes/array.h"

bool live_map_make(struct live_map *map, const struct cg_trace *trace)
{
    *map = (struct live_map){.device = trace->memory.rows > 0 ? trace->memory.device[0] : CG_ABSENT,
                             .of_storage =
                                 array_zeroed((size_t)trace_string_count(trace) + 1, sizeof(uint32_t))};
    return map->of_storage != NULL;
}

void live_map_free(struct live_map *map)
{
    free(map->of_storage);
    pair_map_free(&map->others);
    *map = (struct live_map){0};
}

bool live_map_enter_other(struct live_map *map, cg_str device, cg_str storage, uint32_t number,
                          uint32_t *before)
{
    bool made;
    struct pair_entry *entry = pair_map_insert(&map->others, device, storage, &made);
    if (!entry) return false;
    *before = entry->value - 1;
    if (made) {
        entry->value = number + 1;
        map->count++;
    }
    return true;
}

uint32_t live_map_take_other(struct live_map *map, cg_str device, cg_str storage)
{
    struct pair_entry *entry = pair_map_find(&map->others, device, storage);
    if (!entry) return CG_NONE;
    uint32_t number = entry->value - 1;
    pair_map_remove(&map->others, entry);
    map->count--;
    return number;
}
