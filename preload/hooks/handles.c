#include "preload/hooks/handles.h"

#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <sys/mman.h>

#define FIRST_SLOTS 1024u

struct handle_map handle_streams = {.lock = ATOMIC_FLAG_INIT};
struct handle_map handle_functions = {.lock = ATOMIC_FLAG_INIT};
struct handle_map handle_contexts = {.lock = ATOMIC_FLAG_INIT};
struct handle_map handle_pools = {.lock = ATOMIC_FLAG_INIT};

static void lock(struct handle_map *map)
{
    while (atomic_flag_test_and_set_explicit(&map->lock, memory_order_acquire))
        sched_yield();
}
static void unlock(struct handle_map *map)
{
    atomic_flag_clear_explicit(&map->lock, memory_order_release);
}

static size_t table_bytes(uint64_t slots)
{
    return sizeof(struct handle_table) + slots * sizeof(struct handle_slot);
}

/* The slot of a handle, or where it is to go: the first forgotten one on its way, else the free one at the
 * end of it. There is always a free one. A reader that is looking at a forgotten handle just then may read
 * the new one's value: only a program that uses a handle while it destroys it is there. */
static struct handle_slot *find(struct handle_table *table, uint64_t handle)
{
    struct handle_slot *forgotten = NULL;
    for (uint64_t at = handle_hash(handle) & table->mask;; at = (at + 1) & table->mask) {
        struct handle_slot *slot = &table->slot[at];
        uint64_t found = atomic_load_explicit(&slot->handle, memory_order_relaxed);
        if (found == handle) return slot;
        if (!found) return forgotten ? forgotten : slot;
        if (!forgotten && !atomic_load_explicit(&slot->value, memory_order_relaxed)) forgotten = slot;
    }
}

static void set(struct handle_table *table, uint64_t handle, uint64_t value, uint64_t owner)
{
    struct handle_slot *slot = find(table, handle);
    if (!atomic_load_explicit(&slot->handle, memory_order_relaxed)) table->used++;
    slot->owner = owner;
    atomic_store_explicit(&slot->value, value, memory_order_relaxed);
    /* Release: orders the value before the handle that readers look for. */
    atomic_store_explicit(&slot->handle, handle, memory_order_release);
}

/* A table with room for one more; the one that it replaces is left to readers that may still be in it, and is
 * never more than half as large. Forgotten handles are not taken along. */
static struct handle_table *with_room(struct handle_map *map)
{
    struct handle_table *table = atomic_load_explicit(&map->table, memory_order_relaxed);
    if (table && table->used * 2 <= table->mask) return table;
    uint64_t slots = table ? (table->mask + 1) * 2 : FIRST_SLOTS;
    struct handle_table *larger =
        mmap(NULL, table_bytes(slots), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (larger == MAP_FAILED) return NULL;
    larger->mask = slots - 1;
    for (uint64_t i = 0; table && i <= table->mask; i++) {
        uint64_t handle = atomic_load_explicit(&table->slot[i].handle, memory_order_relaxed);
        uint64_t value = atomic_load_explicit(&table->slot[i].value, memory_order_relaxed);
        if (value) set(larger, handle, value, table->slot[i].owner);
    }
    /* Release: orders the contents before the address, which handle_get() acquires. */
    atomic_store_explicit(&map->table, larger, memory_order_release);
    return larger;
}

void handle_put(struct handle_map *map, uint64_t handle, uint64_t value, uint64_t owner)
{
    if (!handle) return;
    int kept = errno;
    lock(map);
    struct handle_table *table = with_room(map);
    if (table) set(table, handle, value, owner);
    unlock(map);
    errno = kept;
}

void handle_forget(struct handle_map *map, uint64_t handle)
{
    if (!handle_get(map, handle)) return;
    lock(map);
    struct handle_slot *slot = find(atomic_load_explicit(&map->table, memory_order_relaxed), handle);
    atomic_store_explicit(&slot->value, 0, memory_order_relaxed);
    unlock(map);
}

uint64_t handle_owner(struct handle_map *map, uint64_t handle)
{
    if (!handle_get(map, handle)) return 0;
    lock(map);
    uint64_t owner = find(atomic_load_explicit(&map->table, memory_order_relaxed), handle)->owner;
    unlock(map);
    return owner;
}

static void forget(struct handle_map *map, bool all, uint64_t owner)
{
    lock(map);
    struct handle_table *table = atomic_load_explicit(&map->table, memory_order_relaxed);
    for (uint64_t i = 0; table && i <= table->mask; i++) {
        struct handle_slot *slot = &table->slot[i];
        if (all || slot->owner == owner || !slot->owner)
            atomic_store_explicit(&slot->value, 0, memory_order_relaxed);
    }
    unlock(map);
}
void handle_forget_owner(struct handle_map *map, uint64_t owner)
{
    forget(map, false, owner);
}
void handle_forget_all(struct handle_map *map)
{
    forget(map, true, 0);
}
