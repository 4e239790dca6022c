#include "preload/hooks/handles.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>

#include "preload/record/lock.h"

#define FIRST_SLOTS 1024u
#define NOBODY      UINT64_MAX

HANDLE_MAP(handle_streams);
HANDLE_MAP(handle_stream_names);
HANDLE_MAP(handle_functions);
HANDLE_MAP(handle_contexts);

static struct handle_lock *listed_locks;

void handle_list_lock(struct handle_lock *listed)
{
    listed->next = listed_locks;
    listed_locks = listed;
}

void handle_open_locks(void)
{
    for (struct handle_lock *listed = listed_locks; listed; listed = listed->next)
        atomic_store_explicit(listed->lock, 0, memory_order_relaxed);
}

static size_t table_bytes(uint64_t slots)
{
    return sizeof(struct handle_table) + slots * sizeof(struct handle_slot);
}

/* The slot of a handle, or where it is to go: the first forgotten one on its way, else the free one at the
 * end of it. There is always a free one. */
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
    uint64_t past = atomic_load_explicit(&slot->handle, memory_order_relaxed);
    if (!past) table->used++;
    /* Another handle's place: it is taken away first, or a reader would give that one's value for this one's.
     * No free place may come to be on the way of a search, so it becomes a handle that nobody has. */
    if (past && past != handle) atomic_store_explicit(&slot->handle, NOBODY, memory_order_relaxed);
    slot->owner = owner;
    /* Release: orders the store above before this one. */
    atomic_store_explicit(&slot->value, value, memory_order_release);
    /* Release: orders the value before the handle that readers look for. */
    atomic_store_explicit(&slot->handle, handle, memory_order_release);
}

/* An empty table: the one that was replaced last, if it has the size, else a new one. A reader may still be
 * in it: it finds nothing there or what is right (see handle_get()). */
static struct handle_table *empty_table(struct handle_map *map, uint64_t slots)
{
    struct handle_table *table = map->spare;
    if (table && table->mask + 1 == slots) {
        map->spare = NULL;
        for (uint64_t i = 0; i < slots; i++) {
            atomic_store_explicit(&table->slot[i].handle, 0, memory_order_relaxed);
            atomic_store_explicit(&table->slot[i].value, 0, memory_order_relaxed);
        }
        table->used = 0;
        return table;
    }
    table = mmap(NULL, table_bytes(slots), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (table == MAP_FAILED) return NULL;
    table->mask = slots - 1;
    return table;
}

/* A table with room for one more. When half of it is taken, what is not forgotten moves to another one, at
 * least four times as large as that; the two take turns as long as that is the same size. */
static struct handle_table *with_room(struct handle_map *map)
{
    struct handle_table *table = atomic_load_explicit(&map->table, memory_order_relaxed);
    if (table && table->used * 2 <= table->mask) return table;
    uint64_t slots = table ? table->mask + 1 : FIRST_SLOTS, live = 0;
    for (uint64_t i = 0; table && i <= table->mask; i++)
        live += atomic_load_explicit(&table->slot[i].value, memory_order_relaxed) != 0;
    while (slots < live * 4)
        slots *= 2;
    struct handle_table *next = empty_table(map, slots);
    if (!next) return NULL;
    for (uint64_t i = 0; table && i <= table->mask; i++) {
        uint64_t handle = atomic_load_explicit(&table->slot[i].handle, memory_order_relaxed);
        uint64_t value = atomic_load_explicit(&table->slot[i].value, memory_order_relaxed);
        if (handle && value) set(next, handle, value, table->slot[i].owner);
    }
    /* Release: orders the contents before the address, which handle_get() acquires. */
    atomic_store_explicit(&map->table, next, memory_order_release);
    map->spare = table;
    return next;
}

void handle_put(struct handle_map *map, uint64_t handle, uint64_t value, uint64_t owner)
{
    if (!handle) return;
    int kept = errno;
    lock_take(&map->lock);
    struct handle_table *table = with_room(map);
    if (table) set(table, handle, value, owner);
    lock_give(&map->lock);
    errno = kept;
}

void handle_forget(struct handle_map *map, uint64_t handle)
{
    if (!handle_get(map, handle)) return;
    lock_take(&map->lock);
    struct handle_slot *slot = find(atomic_load_explicit(&map->table, memory_order_relaxed), handle);
    atomic_store_explicit(&slot->value, 0, memory_order_relaxed);
    lock_give(&map->lock);
}

uint64_t handle_owner(struct handle_map *map, uint64_t handle)
{
    if (!handle_get(map, handle)) return 0;
    lock_take(&map->lock);
    uint64_t owner = find(atomic_load_explicit(&map->table, memory_order_relaxed), handle)->owner;
    lock_give(&map->lock);
    return owner;
}

unsigned handle_list(struct handle_map *map, uint64_t *handles, unsigned limit)
{
    unsigned count = 0;
    lock_take(&map->lock);
    struct handle_table *table = atomic_load_explicit(&map->table, memory_order_relaxed);
    for (uint64_t i = 0; table && i <= table->mask && count < limit; i++)
        if (atomic_load_explicit(&table->slot[i].value, memory_order_relaxed))
            handles[count++] = atomic_load_explicit(&table->slot[i].handle, memory_order_relaxed);
    lock_give(&map->lock);
    return count;
}

static void forget(struct handle_map *map, bool all, uint64_t owner)
{
    lock_take(&map->lock);
    struct handle_table *table = atomic_load_explicit(&map->table, memory_order_relaxed);
    for (uint64_t i = 0; table && i <= table->mask; i++) {
        struct handle_slot *slot = &table->slot[i];
        if (all || slot->owner == owner || !slot->owner)
            atomic_store_explicit(&slot->value, 0, memory_order_relaxed);
    }
    lock_give(&map->lock);
}
void handle_forget_owner(struct handle_map *map, uint64_t owner)
{
    forget(map, false, owner);
}
void handle_forget_all(struct handle_map *map)
{
    forget(map, true, 0);
}
