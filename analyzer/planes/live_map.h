/* What is live while memory records are walked in the order of their times: (device, storage) to a number.
 *
 * Storages of the device that comes first are found by their string in an array, those of others in a map: a
 * step of a walk is 8 ns where a map alone took 32 ns, which for the 6 million memory records of a trace of
 * 10 million was 0.15 s for each of the planes that pair them. */
#ifndef CGTRACE_ANALYZER_PLANES_LIVE_MAP_H
#define CGTRACE_ANALYZER_PLANES_LIVE_MAP_H

#include "analyzer/planes/pair_map.h"
#include "analyzer/trace/trace.h"

struct live_map {
    cg_str device;          /* the one that comes first */
    uint32_t *of_storage;   /* by string: number + 1 of the device's storage; 0: not live */
    struct pair_map others; /* (device, storage) to number + 1 */
    size_t count;
};

/* An empty one. False when memory is short; live_map_free() takes it then too. */
bool live_map_make(struct live_map *map, const struct cg_trace *trace);
void live_map_free(struct live_map *map);
/* For live_map_enter(): the same of another device. */
bool live_map_enter_other(struct live_map *map, cg_str device, cg_str storage, uint32_t number,
                          uint32_t *before);
uint32_t live_map_take_other(struct live_map *map, cg_str device, cg_str storage);

/* Enters a storage that becomes live with this number; *before is CG_NONE then. Where it is live already
 * nothing changes, and *before is its number. False when memory is short. */
static inline bool live_map_enter(struct live_map *map, cg_str device, cg_str storage, uint32_t number,
                                  uint32_t *before)
{
    if (device != map->device) return live_map_enter_other(map, device, storage, number, before);
    uint32_t *slot = &map->of_storage[storage];
    *before = *slot - 1; /* CG_NONE for 0 */
    if (*slot == 0) {
        *slot = number + 1;
        map->count++;
    }
    return true;
}

/* Takes out a storage that is live no more, and returns its number; CG_NONE: it was not live. */
static inline uint32_t live_map_take(struct live_map *map, cg_str device, cg_str storage)
{
    if (device != map->device) return live_map_take_other(map, device, storage);
    uint32_t *slot = &map->of_storage[storage], number = *slot - 1;
    map->count -= *slot != 0;
    *slot = 0;
    return number;
}

#endif
